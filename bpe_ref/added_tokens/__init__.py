r"""Added tokens: texts that become one token each, before anything is cut or merged.

Definition
    Go through a text from the left. Of the added tokens that start at a place,
    the longest matches; the search goes on behind it. A match is rejected if its
    token is a `single_word` and a letter (`\w`) stands right before or behind it, or
    if it is special and special tokens are to be read as text. With `lstrip` the
    match takes in the white space before it, up to the match before; with `rstrip`
    the white space behind it. The text of the token is all of that.

    Tokens that are not `normalized` are looked for in the text as it is. Then
    each stretch between them is normalized, and there the others are looked for,
    by their contents normalized too.

Source: `AddedVocabulary` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/added_vocabulary.rs).

What the source leaves open
    *Ids*: see `Profile.ids_from_vocabulary`. The next free id counts on from the
    number of tokens in the vocabulary, not from the greatest id: if ids have
    holes, an added token may get the id of another token, and that id then means
    the added one.
    *The same content twice*: the last one's flags count, but what was special
    once remains so.
    *Two contents become one when normalized*: the engine picks by the order of a
    hash table, which changes from run to run. Here the first one counts.
    *Content that normalization removes*: the engine dies at some texts. Here it
    is an error, when the tokenizer is built.
    *White space taken twice* (`Profile.stripped_text_repeats`): where a match
    with `lstrip` lies in white space that is taken already, the engine dies. Here
    it is an error, as is text that would be repeated without end.
    *Letters and white space*: as Unicode 16.0 has them, the joiners U+200C and
    U+200D being letters (`unicode_tables`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from bpe_ref.added_tokens.longest_matches import searcher_of
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Normalizer
from bpe_ref.errors import SpecialTokenError, VocabularyError
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges
from bpe_ref.profile import HUGGING_FACE, Profile
from bpe_ref.vocabulary.merges import TokenId

MOST_REPEATED: Final = 1 << 24
"""The most characters that the matches in one text may have together, beyond the text's own."""


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A text that is one token.

    Attributes:
        content: the text.
        single_word: whether it must not touch a letter.
        lstrip: whether it takes the white space before it.
        rstrip: whether it takes the white space behind it.
        normalized: whether it is looked for in the normalized text.
        special: whether decoding skips it.
        id: its id in the file, if there is one; see `Profile.ids_from_vocabulary`.

    >>> AddedToken("<s>", special=True, normalized=False).lstrip
    False

    """

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False
    id: TokenId | None = None


class Cut(NamedTuple):
    """A stretch of text, and the added token that it is, or None."""

    start: int
    stop: int
    token: TokenId | None


class AddedVocabulary:
    """The added tokens of a tokenizer, with their ids.

    Attributes:
        ids: from content to id.
        tokens: from id to token.
        strings: from id to what the token is called in encodings and in decoding.
        special: the contents of special tokens.

    >>> added = AddedVocabulary([AddedToken("<s>", normalized=False)], {"a": 0})
    >>> added.cut("a<s>", normalized=False)
    [Cut(start=0, stop=1, token=None), Cut(start=1, stop=4, token=1)]

    """

    def __init__(
        self,
        listed: Iterable[AddedToken],
        vocab: Mapping[str, TokenId],
        normalizer: Normalizer | None = None,
        profile: Profile = HUGGING_FACE,
    ) -> None:
        """Give the tokens their ids. Raises `VocabularyError` for tokens that contradict."""
        self.profile = profile
        self.ids: dict[str, TokenId] = {}
        self.tokens: dict[TokenId, AddedToken] = {}
        self.special: set[str] = set()
        forms: dict[TokenId, str] = {}
        free = len(vocab)
        taken = () if profile.ids_from_vocabulary else frozenset(vocab.values())
        for token in listed:
            if not token.content:
                continue
            if profile.ids_from_vocabulary:
                known = self.ids.get(token.content, vocab.get(token.content))
                id_ = free if known is None else known
                free += known is None
            else:
                id_ = self._own_id(token, vocab, taken)
            if token.normalized and normalizer is not None:
                forms[id_] = normalizer.normalize(AlignedText.of(token.content)).text
            self.ids[token.content] = id_
            self.tokens[id_] = token
            if token.special:
                self.special.add(token.content)
        shown = forms if profile.normalized_form_shown else {}
        self.strings = {id_: shown.get(id_, token.content) for id_, token in self.tokens.items()}
        self._by_text: dict[bool, dict[str, TokenId]] = {False: {}, True: {}}
        for id_, token in self.tokens.items():
            text = forms.get(id_, token.content) if token.normalized else token.content
            if not text:
                raise VocabularyError(
                    "an added token must not be empty once it is normalized, "
                    f"but {token.content!r:.80} is"
                )
            self._by_text[token.normalized].setdefault(text, id_)
        self._searchers = {which: searcher_of(list(by)) for which, by in self._by_text.items()}

    def has(self, *, normalized: bool) -> bool:
        """Return whether there are tokens to look for in the text, normalized or as it is."""
        return bool(self._by_text[normalized])

    def may_be_in(self, text: str, *, normalized: bool) -> bool:
        """Return whether to look for tokens in a text at all: if not, it is one stretch.

        >>> added = AddedVocabulary([AddedToken("<s>")], {})
        >>> added.may_be_in("a", normalized=True), added.may_be_in("<", normalized=True)
        (False, True)
        """
        return bool(self._by_text[normalized]) and self._searchers[normalized].may_match(text)

    def cut(self, text: str, *, normalized: bool, special_as_text: bool = False) -> list[Cut]:
        """Return the stretches of a text, in order, none of them empty.

        `normalized` tells whether the text is, and so which tokens to look for. Raises
        `SpecialTokenError` where the engine dies.

        >>> tokens = [AddedToken("<a>", rstrip=True), AddedToken("  ")]
        >>> [cut.stop for cut in AddedVocabulary(tokens, {}).cut("<a>  b", normalized=True)]
        [5, 5, 6]
        """
        if not self.has(normalized=normalized):
            return [Cut(0, len(text), None)] if text else []
        cuts: list[Cut] = []
        done = 0  # where the text not cut yet begins
        left = MOST_REPEATED + len(text)
        matches = self._searchers[normalized].matches(text)
        place = matches.next_place(0)
        while place is not None:
            lengths = matches.lengths_at(place)
            behind = place + 1
            for length in lengths:
                id_ = self._by_text[normalized][text[place : place + length]]
                if self._is_rejected(
                    id_, text, (place, place + length), special_as_text=special_as_text
                ):
                    if self.profile.rejected_match_hides:
                        behind = place + length
                        break
                    continue
                start, stop = self._stripped(self.tokens[id_], text, place, place + length, done)
                left -= stop - start
                if start > stop or left < 0:
                    raise SpecialTokenError(
                        "added tokens must not strip white space that others have stripped, but "
                        f"{self.tokens[id_].content!r:.80} does, at character {place}"
                    )
                if done < start:
                    cuts.append(Cut(done, start, None))
                if start < stop:
                    cuts.append(Cut(start, stop, id_))
                done = stop
                behind = place + length if self.profile.stripped_text_repeats else stop
                break
            place = matches.next_place(behind)
        if done < len(text):
            cuts.append(Cut(done, len(text), None))
        return cuts

    def is_skipped(self, id_: TokenId, string: str) -> bool:
        """Return whether decoding leaves out a token that is special."""
        if self.profile.normalized_form_shown:
            return string in self.special
        return id_ in self.tokens and self.tokens[id_].content in self.special

    def _own_id(
        self, token: AddedToken, vocab: Mapping[str, TokenId], taken: Iterable[TokenId]
    ) -> TokenId:
        """Return the id that the file gives, if nothing contradicts it."""
        known = vocab.get(token.content, token.id)
        if token.id is None or token.id != known:
            raise VocabularyError(
                f"the added token {token.content!r:.80} must have the id of the vocabulary, "
                f"{known}, got {token.id}"
            )
        other = self.tokens.get(token.id)
        if token.content in self.ids or other is not None:
            raise VocabularyError(
                f"added tokens must differ in content and id, but {token.content!r:.80} with "
                f"the id {token.id} comes twice"
            )
        if token.id in taken and token.content not in vocab:
            raise VocabularyError(
                f"the added token {token.content!r:.80} must have an id of its own, but "
                f"{token.id} is that of another token"
            )
        return token.id

    def _is_rejected(
        self, id_: TokenId, text: str, span: tuple[int, int], *, special_as_text: bool
    ) -> bool:
        token = self.tokens[id_]
        start, stop = span
        if special_as_text and token.content in self.special:
            return True
        if not token.single_word:
            return False
        is_letter = _one_of("word").match
        return (start > 0 and is_letter(text, start - 1) is not None) or (
            stop < len(text) and is_letter(text, stop) is not None
        )

    def _stripped(
        self, token: AddedToken, text: str, start: int, stop: int, done: int
    ) -> tuple[int, int]:
        """Return a match with the white space it takes, none of it before `done`."""
        is_space = _one_of("White_Space").match
        if token.lstrip:
            start = max(start, done)
            while start > done and is_space(text, start - 1):
                start -= 1
        if token.rstrip:
            stop = _run_of("White_Space").match(text, stop).end()  # type: ignore[union-attr]
        return start, stop


@cache
def _one_of(name: str) -> re.Pattern[str]:
    """Return a pattern for one character of a class."""
    ranges = to_ranges(TABLES["unicode-16.0"].code_points(name))
    letters = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{letters}]")


@cache
def _run_of(name: str) -> re.Pattern[str]:
    """Return a pattern for any number of characters of a class, which always matches."""
    return re.compile(f"{_one_of(name).pattern}*")
