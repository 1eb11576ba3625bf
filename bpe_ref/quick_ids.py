"""The tokens of a text, without origins: the quick way beside the definition in `pieces`.

Definition: those of `Tokenizer.tokenize`, before anything is cut off or added.

The quick way
    Text is cut out, normalized and cut into pieces as bare strings, which know
    nothing of where they come from. What each piece becomes is remembered, by
    the piece as it stands in the text: where a byte level comes last, its
    letters are written for new pieces only. New ones that are not ASCII are cut
    once more by the model, between characters whose bytes no merge joins.
    Between added tokens, what a whole stretch of text becomes is remembered
    too: where line ends are such tokens, a stretch is a line.

Why this is the same answer
    *Bare strings*: every component has a way without origins that returns the
    same text, or else `reads_origins` says so, and this way is not taken.
    *Remembering*: pieces do not influence one another, so what a piece became
    once, it becomes again. With dropout nothing is remembered.
    *Stretches*: at each place the longest added token is taken, whatever stands around
    it. So none starts in a stretch, in the text or alone, and a token is found in its own
    text. What else becomes of a stretch depends on what is before it only if the
    pre-tokenizer `reads_start`; then stretches are not remembered.
    *Letters later*: a byte level that is not the only step cuts and writes each
    piece by itself, whatever stands around it.
    *Offsets* (`columns`): where nothing is inserted or removed, each character of the
    pieces stands for the one at its place. Tokens cover them in order, so where one ends
    is how many characters begin in it and in those before it. What a token covers does
    not depend on the text, or else `_Seen` says so; and if a character was left out,
    fewer begin than there are.
    *Cutting once more*: see `borders`. Text that nothing cuts is cut only there,
    and its words are remembered, not the text: see `partwise`.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate, chain, count, repeat
from operator import sub
from typing import Any, Final, TypeAlias

from bpe_ref.added_tokens import RECOGNISE_ALL, AddedVocabulary, Treatment
from bpe_ref.components import Draw, Model, Normalizer, PreTokenizer, steps_of
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.piece_cache import LONGEST_PIECE, PieceCache
from bpe_ref.pieces import BEGINS
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.sequence import Sequence, needs_alignment, reads_start
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary.byte_alphabet import from_letters, read_letters, to_letters
from bpe_ref.vocabulary.merges import TokenId

_LONGEST_STRETCH: Final = 2 * LONGEST_PIECE  # a line, if line ends are added tokens

_Cut: TypeAlias = Callable[[str, bool], list[str]]
"""Cuts a text; the flag tells whether the original begins with it."""

_Key: TypeAlias = TokenId | tuple[TokenId, str]
"""A token of the model, or an added one and its text."""

_Finish: TypeAlias = Callable[[str], list[str]]
"""Cuts a piece once more, whatever stands around it."""


class QuickIds:
    """Encodes texts, and remembers pieces.

    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> QuickIds(model, AddedVocabulary([]), None, None).ids("aba")
    [2, 0]
    """

    def __init__(
        self,
        model: Model,
        added: AddedVocabulary,
        normalizer: Normalizer | None,
        pre_tokenizer: PreTokenizer | None,
    ) -> None:
        """Take the components, of which `reads_origins` must be false."""
        self._model: Final = model
        self._added: Final = added
        self._normalize: Final = None if normalizer is None else normalizer.normalize_text
        self._cut, self._finish, self._cut_on = _cutting(pre_tokenizer)
        if self._finish is _unchanged and writes_letters(normalizer, pre_tokenizer):
            self._cut_on = lambda piece: [read_letters(piece)]
        self._reads_added: Final = writes_letters(normalizer, None)
        by_parts = isinstance(model, BPE) and model.always_merges and not _cuts(pre_tokenizer)
        self._uncut: Final = model.partwise if by_parts and isinstance(model, BPE) else None
        self._stretches: Final = PieceCache(self._stretch_ids, _LONGEST_STRETCH)
        self._splits: Final = not (model.drops_merges or reads_start(pre_tokenizer))
        self._remembers: Final = self._uncut is None and not model.drops_merges
        self._piece_ids = self._finished_ids
        if self._finish is _unchanged:
            self._piece_ids = model.ids
        elif isinstance(model, BPE) and self._finish is _in_letters:
            self._piece_ids = model.ids_of_text
        self._cache: Final = PieceCache(self._piece_ids)
        self._has_normalized: Final = added.has(normalized=True)
        self._seen: Final = _Seen(model, of_bytes=self._finish is _in_letters)
        self._steps: Final = steps_of(normalizer), steps_of(pre_tokenizer)
        self._swaps: Final = {getattr(s, "swaps", False) for s in steps_of(normalizer)} == {True}
        self._added_count: Final = len(added.ids)

    def ids(
        self, text: str, treatment: Treatment = RECOGNISE_ALL, draw: Draw | None = None
    ) -> list[TokenId]:
        """Return the ids; `draw` gives the random numbers for dropout."""
        if treatment.refused:
            treatment.check(text)
        searches = len(treatment.ordinary) < self._added_count
        if not (searches and self._added.may_be_in(text, normalized=False)):
            changed = text if self._normalize is None else self._normalize(text)
            if not (searches and self._added.may_be_in(changed, normalized=True)):
                pieces = self._cut(changed, True) if changed else []
                return self._cache.encode(pieces) if self._remembers else self._ids_of(pieces, draw)
        elif self._splits and treatment == RECOGNISE_ALL:
            stretches = self._added.split(text)
            if stretches is not None:
                one = len(stretches) == 1
                return self._stretch_ids(text) if one else self._stretches.encode(stretches)
        return self._ids_of_parts(text, treatment, draw)

    def _stretch_ids(self, text: str) -> list[TokenId]:
        """Return the ids of a stretch of text, or of an added token, where `added.split` cut."""
        token = self._added.token_of(text)
        if token is not None:
            return [token]
        changed = text if self._normalize is None else self._normalize(text)
        if self._has_normalized and self._added.may_be_in(changed, normalized=True):
            return self._ids_of_parts(text, RECOGNISE_ALL, None)
        pieces = self._cut(changed, True) if changed else []
        return self._piece_ids(pieces[0]) if len(pieces) == 1 else self._ids_of(pieces, None)

    def _ids_of_parts(self, text: str, treatment: Treatment, draw: Draw | None) -> list[TokenId]:
        """Return the ids of a text that may contain added tokens."""
        ids: list[TokenId] = []
        for pieces, token in self._parts(text, treatment):
            if token is None:
                ids += self._ids_of(pieces, draw)
            else:
                ids.append(token)
        return ids

    def pieces(self, text: str, treatment: Treatment = RECOGNISE_ALL) -> list[str]:
        """Return the pieces; those of added tokens are their texts.

        >>> QuickIds(BPE({"a": 0}, []), AddedVocabulary([]), None, None).pieces("aa")
        ['aa']
        """
        treatment.check(text)
        found: list[str] = []
        for pieces, token in self._parts(text, treatment):
            if token is None:
                found += chain.from_iterable(map(self._cut_on, pieces))
            else:
                reads = self._reads_added and self._added.tokens[token].normalized
                found += map(read_letters, pieces) if reads else pieces
        return found

    def columns(
        self, text: str, treatment: Treatment, word: int | None = None
    ) -> tuple[Iterable[Any], ...] | None:
        """Return ids, strings, offsets and words of the tokens; None if only `pieces` can tell.

        >>> quick = QuickIds(BPE({"a": 0}, []), AddedVocabulary([]), None, None)
        >>> list(map(list, quick.columns("aa", RECOGNISE_ALL)))
        [[0, 0], ['a', 'a'], [(0, 1), (1, 2)], [0, 0]]
        """
        if not self._keeps_places:
            return None
        treatment.check(text)
        covered: list[str] = []
        found: list[tuple[_Key, ...]] = []
        for pieces, added in self._parts(text, treatment):
            covered += pieces
            if added is None:
                found += map(self._cache.__getitem__, pieces)
            else:
                found.append(((added, pieces[0]),))
        if not self._swaps and "".join(covered) != text:
            return None
        try:
            tokens = list(map(self._seen.__getitem__, chain.from_iterable(found)))
        except KeyError:
            return None
        ids, strings, begun, inside = zip(*tokens, strict=True) if tokens else ((), (), (), ())
        ends = list(accumulate(begun, initial=0))
        if ends[-1] < len(text):
            return None  # a character was left out
        numbers = count() if word is None else repeat(word)
        words = chain.from_iterable(map(repeat, numbers, map(len, found)))
        return ids, strings, zip(map(sub, ends, inside), ends[1:], strict=True), words

    @cached_property
    def _keeps_places(self) -> bool:
        """Whether each character stands for itself if the pieces are as long as the text."""
        from bpe_ref.normalizers.nfc import PinnedNFC
        from bpe_ref.normalizers.normalization_forms import NFC

        model, (changes, cuts) = self._model, self._steps
        is_known = isinstance(model, ByteBPE)
        if isinstance(model, BPE) and model.spells_alike and not model.drops_merges:
            is_known = model.spells_bytes or self._finish is not _in_letters
        if cuts and isinstance(cuts[-1], ByteLevel) and not cuts[-1].add_prefix_space:
            cuts = cuts[:-1]
        return (
            is_known
            and not any(token.lstrip or token.rstrip for token in self._added.tokens.values())
            and (self._swaps or all(isinstance(step, NFC | PinnedNFC) for step in changes))
            and all(isinstance(cut, Pattern | Split) for cut in cuts)
            and self._finish in (_in_letters, _unchanged)
        )

    def _parts(self, text: str, treatment: Treatment) -> Iterator[tuple[list[str], TokenId | None]]:
        """Yield the pieces of each stretch, and each added token with its text."""
        cut = self._added.cut
        for start, stop, token in cut(text, normalized=False, treatment=treatment):
            stretch = text[start:stop]
            if token is not None:
                yield [stretch], token
                continue
            changed = stretch if self._normalize is None else self._normalize(stretch)
            for first, last, inner in cut(changed, normalized=True, treatment=treatment):
                part = changed[first:last]
                if inner is not None:
                    yield [part], inner
                else:
                    yield self._cut(part, start == 0 and first == 0), None

    def _ids_of(self, pieces: list[str], draw: Draw | None) -> list[TokenId]:
        if self._remembers:
            return self._cache.encode(pieces)
        if self._uncut is not None:
            return self._uncut.ids(pieces[0]) if pieces else []  # it is in one piece
        return [token for piece in pieces for token in self._piece_ids(piece, draw)]

    def _finished_ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        return [token for part in self._finish(piece) for token in self._model.ids(part, draw)]


class _Seen(dict[_Key, tuple[TokenId, str, int, bool]]):
    """What offsets need to know of each token that was seen.

    That is its id, its string, how many characters begin in it, and whether it begins inside one.
    Reading a token of which that depends on the text raises `KeyError`.
    """

    def __init__(self, model: Model, *, of_bytes: bool) -> None:
        """Take the model; `of_bytes` tells whether it gets bytes as letters."""
        super().__init__()
        self._model: Final = model
        self._of_bytes: Final = of_bytes

    def __missing__(self, key: _Key) -> tuple[TokenId, str, int, bool]:
        if isinstance(key, tuple):
            found = *key, len(key[1]), False
        else:
            string = self._model.strings[key]
            if isinstance(self._model, BPE) and not self._of_bytes:
                content = self._model.content_of(key)
            else:
                content = from_letters(string)
            begins = content.translate(BEGINS)
            found = key, string, sum(begins), not begins[0]
        self[key] = found
        return found


def reads_origins(normalizer: Normalizer | None, pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether cutting depends on where text comes from, in a way that text does not tell.

    >>> reads_origins(None, None)
    False
    """
    if getattr(normalizer, "may_insert_first", False):
        return True
    return needs_alignment(pre_tokenizer) or (normalizer is not None and reads_start(pre_tokenizer))


def writes_letters(normalizer: Normalizer | None, pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether a normalizer or a pre-tokenizer writes bytes as letters.

    >>> writes_letters(None, ByteLevel(add_prefix_space=False, trim_offsets=True))
    True
    """
    steps = steps_of(normalizer) + steps_of(pre_tokenizer)
    return any(getattr(step, "writes_letters", False) for step in steps)


def _cuts(pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether text is cut at all before the model gets it."""
    if isinstance(pre_tokenizer, Metaspace):
        return pre_tokenizer.split
    return pre_tokenizer is not None


def _cutting(pre_tokenizer: PreTokenizer | None) -> tuple[_Cut, _Finish, _Finish]:
    """Return how text is cut, what then becomes of each piece on its own, and its final pieces.

    What becomes of a piece are the strings that the model gets. Its final pieces are those strings
    before bytes are written as letters.
    """
    if pre_tokenizer is None:
        return _whole, _unchanged, _unchanged
    *before, last = steps_of(pre_tokenizer) or [pre_tokenizer]
    if not isinstance(last, ByteLevel):
        return pre_tokenizer.cut_text, _unchanged, _unchanged
    if not before:
        return lambda text, _: last.plain_pieces(text), _in_letters, _unchanged
    if not last.use_regex and not last.add_prefix_space:
        return Sequence(before).cut_text, _in_letters, _unchanged
    return Sequence(before).cut_text, last.cut_text, last.plain_pieces


def _whole(text: str, at_start: bool) -> list[str]:
    return [text]


def _unchanged(piece: str) -> list[str]:
    return [piece]


def _in_letters(piece: str) -> list[str]:
    return [to_letters(piece.encode())]
