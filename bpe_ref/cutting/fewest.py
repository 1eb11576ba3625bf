r"""The fewest tokens that a text can have, however it is cut into pieces, and so where it may end.

Definition
    Let `longest` be a number such that no text of more than `longest * n` characters has n tokens.
    Let a *spelling* of a text be what its pieces are written in: characters, or the letters of
    bytes. Every token stands for a part of the spelling, which is its own string, or one letter
    that is no token. So a text has at least as many tokens as the shortest row of such strings that
    makes up its spelling. That is a shortest path: from each place lead as many edges as strings
    start there. It needs to know nothing of patterns, of merges or of scores.

    `places` returns the places up to which a text may have at most n tokens, or those from which it
    may. For ordinary text that is few places more than there are. Nothing beyond them need be
    counted: where no path of n strings ends, none of more letters does.

Why a token is a part of the spelling
    The model gives at least one token for each character, and drops none (`_strings_of_model`).
    Normalizer and pre-tokenizer change each character by itself, or keep it (`_change_of`,
    `_keeps_all`). Some remove characters. What is surely removed is not in the spelling, and where
    that is not sure all places count (`_removing`). A special token is spelled like any other text.
    What is put in front of a text or of a piece is not in the spelling; so every string that begins
    with it is also an edge without it. So is one without the prefix or suffix that the model puts
    on the symbols of a word. An added token that takes the white space beside it stands for more
    than its string, so all places count if one is there.

Normalization forms
    Forms are closed under substrings: where a text is in the form already, so is each part, and its
    spelling is a part of the spelling. Otherwise the text is divided into units, each of which
    begins with a character that joins nothing before it (`begins_anew`), and changes by itself. A
    place inside a unit counts as possible if the place before (behind) the unit is not further than
    the longest string from one that can be reached. If an added token is there too, it may have
    been found before normalization joined its end with what is behind it, and all places count.

Longest
    A token stands for no more characters than its string has. Nothing may be removed, and
    normalizing must not make text shorter. What is put in front, and replaced by as much or more,
    makes none shorter. NFC and NFKC join: but the text has no more characters than its full
    decomposition, which is also that of its composed form, and no character decomposes canonically
    into more than `MOST_DECOMPOSED`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

from bpe_ref.components import Model, steps_of
from bpe_ref.cutting.long_pieces import Countable
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.sentencepiece import SentencePieceModel
from bpe_ref.models.unigram import Unigram
from bpe_ref.normalizers.nfc import PinnedNFC
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, NFKD, begins_anew
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.normalizers.sentencepiece import SPACE_SYMBOL, SentencePieceNormalizer
from bpe_ref.patterns.borders import borders_of
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import Digits, Punctuation
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.longest_matches import ByLength

MOST_DECOMPOSED: Final = 4
"""The most characters of a full canonical decomposition."""

_FORMS: Final = NFC | NFD | NFKC | NFKD | PinnedNFC
_MOST_LETTERS_TRIED: Final = 1 << 15  # at one place; more are in no real tokenizer
_MOST_UNITS: Final = 1 << 16
_FIRST_SIZE: Final = 4  # characters a token that are looked at first

Change = Callable[[str], str]


class _UnclearError(Exception):
    """What becomes of a character depends on others."""


class Fewest:
    """The least number of tokens of the parts of texts.

    >>> fewest = Fewest({"ab", "aba"}, longest=3)
    >>> [list(fewest.places("ababab", 0, 6, 2, forwards=way)[0]) for way in (True, False)]
    [[5, 4, 3, 2, 1], [2, 3, 4, 5]]
    """

    def __init__(
        self,
        strings: Collection[str],
        longest: int | None,
        forms: Sequence[Change] = (),
        changes: Sequence[Change] = (),
        prefixes: Sequence[str] = (),
        *,
        takes_spaces: bool = False,
    ) -> None:
        """Take the strings of tokens, `longest`, and what makes the spelling.

        These are normalization forms, what changes each character, and what may be put in front.
        `takes_spaces` is whether an added token may stand for more than its string.
        """
        self.longest = longest
        self._strings, self._takes_spaces = strings, takes_spaces
        self._forms, self._changes, self._prefixes = forms, changes, prefixes
        self._units: dict[str, str] = {}

    @cached_property
    def _searcher(self) -> ByLength | None:
        """What finds the strings; None if too many start alike to look for each."""
        found = set(self._strings)
        for prefix in self._prefixes:
            begins = [prefix[at:] for at in range(len(prefix))]
            found |= {one[len(part) :] for part in begins for one in found if one.startswith(part)}
        searcher = ByLength(frozenset(found - {""}))
        letters = max(map(sum, searcher.lengths.values()), default=0)
        return searcher if letters <= _MOST_LETTERS_TRIED else None

    @cached_property
    def _width(self) -> int:
        return max(map(len, self._strings), default=1)

    def places(
        self,
        text: str,
        start: int,
        stop: int,
        tokens: int,
        *,
        forwards: bool,
        has_added: bool = False,
    ) -> tuple[Iterable[int], int]:
        """Return the places behind `start` up to which at most `tokens` may be; the last first.

        And return how much of the text was read: whatever follows, there are no further places.
        Unless `forwards`, return the places before `stop` from which they may be, the first first.
        """
        size = _FIRST_SIZE * tokens + self._width
        while True:
            length = min(stop - start, size)
            near = text[start : start + length] if forwards else text[stop - length : stop]
            spelled = self._spelled(near, has_added=has_added)
            if spelled is None:
                return (range(stop, start, -1), stop) if forwards else (range(start, stop), stop)
            letters, at = spelled
            if not forwards:  # how much of the spelling is behind, counted from the end
                at = [len(letters) - letter if letter >= 0 else -1 for letter in reversed(at)]
            fewest, last = (self._forwards if forwards else self._backwards)(letters, tokens)
            behind = near[:0:-1] if forwards else near  # the characters behind the farthest places
            farthest = zip(reversed(at[1 : length + 1 - forwards]), behind, strict=True)
            firm = next((letter for letter, one in farthest if self._is_firm(one)), 0)
            if length == stop - start or last + self._width < firm:
                break
            size *= 2
        found: list[int] = []
        known = 0
        for distance, letter in enumerate(at[1:], 1):
            known = max(known, letter)
            if fewest[letter] <= tokens if letter >= 0 else known <= last + self._width:
                found.append(start + distance if forwards else stop - distance)
        return reversed(found), start + length

    def _forwards(self, letters: str, tokens: int) -> tuple[list[int], int]:
        """Return the fewest strings of each beginning, and the last place of at most `tokens`."""
        fewest = [0, *[tokens + 1] * len(letters)]
        lengths_at = self._lengths(letters)
        last = place = 0
        while place <= last and place < len(letters):
            count = fewest[place] + 1
            if count <= tokens:
                last = max(last, place + 1)
                fewest[place + 1] = min(fewest[place + 1], count)
                for length in lengths_at(place):
                    if fewest[place + length] > count:
                        fewest[place + length] = count
                        last = max(last, place + length)
            place += 1
        return fewest, last

    def _backwards(self, letters: str, tokens: int) -> tuple[list[int], int]:
        """Return the same for each end, by its length, and the longest of at most `tokens`."""
        fewest = [0, *[tokens + 1] * len(letters)]
        lengths_at = self._lengths(letters)
        last = 0
        for size in range(1, len(letters) + 1):
            if size > last + self._width:
                break
            lengths = lengths_at(len(letters) - size)
            best = min([fewest[size - length] for length in (1, *lengths)])
            if best < tokens:
                fewest[size], last = best + 1, size
        return fewest, last

    def _lengths(self, letters: str) -> Callable[[int], Sequence[int]]:
        """Return what returns the lengths of the strings at a place; fast where letters repeat."""
        assert self._searcher is not None  # noqa: S101 - `_spelled` said so
        matches, width = self._searcher.matches(letters), self._width
        seen, lengths = "", list[int]()

        def lengths_at(place: int) -> Sequence[int]:
            nonlocal seen, lengths
            ahead = letters[place : place + width]
            if ahead != seen:
                seen, lengths = ahead, [*matches.lengths_at(place)]
            return lengths

        return lengths_at

    def _spelled(self, text: str, *, has_added: bool) -> tuple[str, list[int]] | None:
        """Return the spelling, and at each place how much of it is before; -1 inside a unit.

        None if all places count.
        """
        is_kept = all(form(text) == text for form in self._forms)
        if self._searcher is None or (has_added and (self._takes_spaces or not is_kept)):
            return None
        try:
            return self._written_apart(text) if is_kept else self._written_by_units(text)
        except _UnclearError:
            return None

    def _written_apart(self, text: str) -> tuple[str, list[int]]:
        written = list(map(self._written, text))
        return "".join(written), [0, *accumulate(map(len, written))]

    def _written_by_units(self, text: str) -> tuple[str, list[int]]:
        places = [at for at in range(1, len(text)) if begins_anew(text[at])]
        at = [-1] * (len(text) + 1)
        letters: list[str] = []
        at[0] = size = 0
        for begin, end in pairwise((0, *places, len(text))):
            letters.append(self._written(text[begin:end]))
            size += len(letters[-1])
            at[end] = size
        return "".join(letters), at

    def _is_firm(self, character: str) -> bool:
        """Return whether the spelling before the character never depends on what follows."""
        return not self._forms or begins_anew(character)

    def _written(self, unit: str) -> str:
        found = self._units.get(unit)
        if found is None:
            found = unit
            for change in (*self._forms, *self._changes):
                found = change(found)
            if len(self._units) >= _MOST_UNITS:
                self._units.clear()
            self._units[unit] = found
        return found


def fewest_of(tokenizer: Countable) -> Fewest | None:
    """Return what is known of the fewest tokens; None if a token may stand for anything.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> model = BPE({"?": 0, "a": 1, "aa": 2}, [("a", "a")], unk_token="?")
    >>> fewest_of(Tokenizer(model)).longest
    2
    """
    steps = [*steps_of(tokenizer.normalizer), *steps_of(tokenizer.pre_tokenizer)]
    added, model = tokenizer.added, tokenizer.model
    strings = _strings_of_model(model, of_bytes=any(isinstance(step, ByteLevel) for step in steps))
    takers = [token for token in added.tokens.values() if token.lstrip or token.rstrip]
    if strings is None or any(token.single_word for token in takers):
        return None
    forms = [step.normalize_text for step in steps if isinstance(step, _FORMS)]
    if forms and not all(isinstance(step, _FORMS) for step in steps[: len(forms)]):
        return None
    changes: list[Change] = []
    prefixes: list[str] = []
    keeps_all = True
    for at, step in enumerate(steps):
        prefix, change = _prefix_of(step), _change_of(step)
        if change is None and not _keeps_all(step):
            keeps_all = False
            change = _removing(step, steps[at + 1 :])
            if change is None:
                return None
        if change is not None:
            changes.append(change)
            prefixes = list(map(change, prefixes))
        prefixes += [prefix if change is None else change(prefix)] if prefix else []
    if isinstance(model, ByteBPE):
        changes.append(_to_letters)
    contents = {*added.ids, *added.strings.values()}
    longest = max(map(len, strings | contents), default=1)
    frozen = getattr(model, "user_defined", None)
    spelled = contents | (frozen.pieces if frozen else set())
    for change in (*forms, *changes):
        spelled |= {_written_if_clear(change, text) for text in spelled}
    factor: int = MOST_DECOMPOSED ** len(forms)
    return Fewest(
        strings | spelled,
        max(1, factor * longest) if keeps_all and not takers else None,
        forms,
        changes,
        prefixes[::-1],
        takes_spaces=bool(takers),
    )


def _strings_of_model(model: Model, *, of_bytes: bool) -> set[str] | None:
    """Return the strings of the tokens; None if a character may become no token."""
    if isinstance(model, ByteBPE):
        return set(model.vocab)
    if isinstance(model, SentencePieceModel):
        return {piece.text for piece in model.pieces} if model.byte_fallback else None
    if isinstance(model, Unigram):
        return set(model.vocab) if model.gives_a_token else None
    if not isinstance(model, BPE) or model.drops_merges:
        return None
    prefix, suffix = model.continuing_subword_prefix or "", model.end_of_word_suffix or ""
    spells_bytes = of_bytes and model.spells_bytes and model.spells_alike
    if not spells_bytes and not model.gives_a_token:
        return None
    bare = {token.removeprefix(prefix).removesuffix(suffix) for token in model.vocab}
    return bare | {token.removesuffix(suffix) for token in model.vocab} | set(model.vocab)


def _keeps_all(step: object) -> bool:
    """Return whether a component drops nothing, and leaves each character as it is, or in a form.

    Not if `_change_of` knows how it changes them.
    """
    match step:
        case Pattern(borders=borders):
            return borders is not None and borders.covers_all
        case Split(Regex(source), "Removed", invert=True):
            borders = borders_of(source)
            return borders is not None and borders.covers_all
        case Split(behavior="Removed") | Punctuation(behavior="Removed"):
            return False
    return isinstance(step, _FORMS | Prepend | Split | Digits | Punctuation)


def _removing(step: object, later: Sequence[object]) -> Change | None:
    """Return how a component writes a character that removes some, if that is known.

    It removes what its pattern never matches; or, if it puts a text that others remove in the place
    of matches, what its pattern always matches. Raises `_UnclearError` for other characters.
    """
    match step:
        case Split(Regex(source), "Removed", invert=True):
            removes_matches = False
        case Replace(Regex(source), content):
            for other in later:
                change = _change_of(other) or (None if _keeps_all(other) else _removing(other, ()))
                content = content if change is None else _written_if_clear(change, content)
            if content:
                return None
            removes_matches = True
        case _:
            return None
    borders = borders_of(source)
    if borders is None:
        return None

    def one(character: str) -> str:
        if borders.always_matches(character):
            return "" if removes_matches else character
        if borders.may_match(character):
            raise _UnclearError
        return character if removes_matches else ""

    return lambda text: "".join(map(one, text))


def _written_if_clear(change: Change, text: str) -> str:
    """Return the changed text, or the text itself if it is not clear what it becomes."""
    try:
        return change(text)
    except _UnclearError:
        return text


def _prefix_of(step: object) -> str:
    """Return what a component may put in front of a text or a piece."""
    match step:
        case Prepend(prefix):
            return prefix
        case SentencePieceNormalizer(rules) if rules.add_dummy_prefix:
            return " "
        case Metaspace() if step.prepend_scheme != "never":
            return step.replacement
        case ByteLevel(add_prefix_space=True):
            return " "
    return ""


def _change_of(step: object) -> Change | None:
    """Return how a component writes a character, if it does not leave it as it is."""
    match step:
        case Lowercase():
            return step.normalize_text
        case Replace(Literal(pattern), content) if len(pattern) == 1 <= len(content):
            return lambda text: text.replace(pattern, content)
        case SentencePieceNormalizer(rules) if not (
            rules.charsmap or rules.remove_extra_whitespaces or rules.space_behind
        ):
            space = SPACE_SYMBOL if rules.escape_whitespaces else " "
            return lambda text: text.replace(" ", space)
        case Metaspace():
            return lambda text: text.replace(" ", step.replacement)
        case ByteLevel():
            return _to_letters
    return None


def _to_letters(text: str) -> str:
    return to_letters(text.encode())
