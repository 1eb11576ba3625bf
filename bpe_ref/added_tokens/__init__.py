r"""Added tokens: texts that become one token each, before anything is cut or merged.

Definition
    Go through a text from the left. Of the added tokens that start at a place, the longest matches;
    the search goes on behind it. A match is rejected if its token is a `single_word` and a letter
    (`\w`) is right before or behind it, or if it is special and special tokens are to be read as
    text. With `lstrip` the match takes in the white space before it, up to the match before; with
    `rstrip` the white space behind it. The text of the token is all of that.

    Tokens that are not `normalized` are looked for in the text as it is. Then each stretch between
    them is normalized, and there the others are looked for, by their contents normalized too.

Source: `AddedVocabulary` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/added_vocabulary.rs).

What the source leaves open
    *Ids*: see `Quirks.ids_from_vocabulary`. The next free id counts on from the number of tokens in
    the vocabulary, not from the greatest id: if ids have holes, an added token may get the id of
    another token, and that id then means the added one.
    *The same content twice*: the last one's flags count, but what was special once remains so.
    *Two contents become one when normalized*: the engine picks by the order of a hash table, which
    changes from run to run. Here the first one counts.
    *Content that normalization removes*: the engine dies at some texts. Here the tokenizer cannot
    be built.
    *White space taken twice* (`Quirks.stripped_text_repeats`): where a match with `lstrip` lies in
    white space that is taken already, the engine dies. Here it is an error, as is text that would
    be repeated without end.
    *Letters and white space*: as Unicode 16.0 has them, the joiners U+200C and U+200D being letters
    (`unicode_tables`).

Special tokens in a text
    tiktoken 0.14.0 (`Encoding.encode`, tiktoken/core.py and src/lib.rs) treats a special token that
    the text spells in one of three ways, and so do all tokenizers here; the argument is called
    `special`:

    recognise    it becomes its id; the text before and after it is encoded separately
    refuse       it is an error: whoever can put a special token into a prompt can end it
    ordinary     it is text like any other

    The engines do this with special tokens only. Added tokens that the file does not call special
    (`special: false`), such as `<think>` and `<tool_call>` of Qwen3 and the role markers of
    DeepSeek-V3, are recognised in any case, also in tokenizers with `encode_special_tokens`. Two
    more values, which no engine has, mean all added tokens:

    refuse_added    all added tokens are errors, but white space, such as Gemma 3's line ends
    ordinary_added  all added tokens are text like any other

    Neither kind of "ordinary" is a guarantee of safety: if the model takes whole pieces
    (`ignore_merges`) and has a token with the same spelling, the text still becomes it. A token
    that is to be read as text never hides one that is recognised, unless
    `Quirks.rejected_match_hides`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Normalizer
from bpe_ref.errors import ParameterError, SpecialTokenError, VocabularyError
from bpe_ref.patterns.stand_ins import set_source
from bpe_ref.patterns.unicode_tables import TABLES
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary.longest_matches import ByAutomaton, pattern_of_longest, searcher_of
from bpe_ref.vocabulary.merges import TokenId

MOST_REPEATED: Final = 1 << 24
"""The most characters that the matches in one text may have together, beyond the text's own."""

MOST_AT_ONCE: Final = 10_000
"""The most tokens that one regular expression looks for."""


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
        id: its id in the file, if there is one; see `Quirks.ids_from_vocabulary`.

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


@dataclass(frozen=True)
class AddedTokens:
    """The added tokens of a tokenizer, as its file lists them, and how they are treated.

    Attributes:
        tokens: in the order of the file.
        quirks: see `quirks`.
        ids_as_given: whether every token has the id that it names, whatever the model's tokens
            are called. Then two tokens may share an id, which decodes to the first of them.

    >>> AddedTokens([AddedToken("<s>")]).with_ids({"a": 0}).ids
    {'<s>': 1}

    """

    tokens: Sequence[AddedToken] = ()
    quirks: Quirks = field(default=HUGGING_FACE, repr=False)
    ids_as_given: bool = False

    def __repr__(self) -> str:
        """Return the number of tokens."""
        return f"<AddedTokens, {len(self.tokens)} tokens>"

    def with_ids(
        self, vocab: Mapping[str, TokenId], normalizer: Normalizer | None = None
    ) -> "AddedVocabulary":
        """Return the tokens with their ids. Raises `VocabularyError` if tokens contradict."""
        listed = [token for token in self.tokens if token.content]
        if self.ids_as_given:
            numbered = [(token, _given_id(token)) for token in listed]
        elif self.quirks.ids_from_vocabulary:
            numbered = list(_ids_from_vocabulary(listed, vocab))
        else:
            numbered = list(_ids_from_file(listed, vocab))
        return AddedVocabulary(numbered, normalizer, self.quirks, first_counts=self.ids_as_given)


@dataclass(frozen=True)
class Special:
    """Which special tokens in a text are recognised, and which are errors; all others are text.

    Attributes:
        recognise: contents of special tokens, or "all".
        refuse: likewise. "all" stands for every special token that is not recognised.

    >>> Special(recognise=frozenset({"<s>"}), refuse="all").refuse
    'all'

    """

    recognise: Literal["all"] | frozenset[str] = "all"
    refuse: Literal["all"] | frozenset[str] = frozenset()


Recognised: TypeAlias = (
    Literal["recognise", "refuse", "ordinary", "refuse_added", "ordinary_added"]
    | Collection[str]
    | Special
)
"""How to treat special tokens that a text spells, or all added tokens with the last two words.

A collection: recognise these, treat all others as ordinary text.
"""


class Treatment(NamedTuple):
    """What `Recognised` means for the special tokens of one tokenizer."""

    ordinary: frozenset[str]
    """The added tokens that are text like any other."""

    refused: frozenset[str]
    """The texts that must not be there."""

    def check(self, text: str) -> None:
        """Raise `SpecialTokenError` if the text spells what is refused.

        >>> Treatment(frozenset(), frozenset({"<b>"})).check("a<b>")
        Traceback (most recent call last):
        bpe_ref.errors.SpecialTokenError: text must not spell a refused special token, ...
        """
        if self.refused and (found := any_of(self.refused).search(text)):
            raise refusal(found.group(), found.start())


RECOGNISE_ALL: Final = Treatment(frozenset(), frozenset())


def refusal(content: str, place: int) -> SpecialTokenError:
    """Return the error for a special token that is refused.

    >>> raise refusal("<s>", 3)
    Traceback (most recent call last):
    bpe_ref.errors.SpecialTokenError: text must not spell a refused special token, got '<s>' ...
    """
    return SpecialTokenError(
        f"text must not spell a refused special token, got {content!r:.80} at character {place}; "
        'pass special="recognise" to get its id, or special="ordinary_added" to encode it as text'
    )


def treatment_of(
    special: Recognised, contents: Collection[str], added: Collection[str]
) -> Treatment:
    """Return what `special` means for special tokens, and all added ones, with these contents.

    Raises `ParameterError` unless it is one of the words or a collection of texts.

    >>> treatment_of({"<a>"}, {"<a>", "<b>"}, {"<a>", "<b>", "<c>"}).ordinary
    frozenset({'<b>'})
    >>> treatment_of("ordinary_added", {"<b>"}, {"<b>", "<c>"}).ordinary == {"<b>", "<c>"}
    True
    """
    everything = frozenset(contents)
    match special:
        case "recognise":
            return RECOGNISE_ALL
        case "refuse":
            return Treatment(frozenset(), everything)
        case "ordinary":
            return Treatment(everything, frozenset())
        case "refuse_added":
            return Treatment(frozenset(), without_white_space(frozenset(added)))
        case "ordinary_added":
            return Treatment(frozenset(added), frozenset())
        case Special(recognise=recognised, refuse=refused):
            pass
        case _:
            recognised, refused = _texts("special", special), frozenset()
    recognised = everything if recognised == "all" else _texts("recognise", recognised)
    refused = everything - recognised if refused == "all" else _texts("refuse", refused)
    return Treatment(everything - recognised, refused)


def _texts(name: str, choice: object) -> frozenset[str]:
    if isinstance(choice, str | bytes) or not isinstance(choice, Iterable):
        rule = (
            'must be "recognise", "refuse", "ordinary" (text), "refuse_added", "ordinary_added", '
            "a collection of texts or a Special"
        )
        raise ParameterError(name, choice, rule)
    texts = list(choice)
    if not all(isinstance(text, str) and text for text in texts):
        raise ParameterError(name, texts, "must contain non-empty texts only")
    return frozenset(texts)


@lru_cache(maxsize=64)
def any_of(texts: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the texts, the longest first.

    >>> any_of(frozenset({"a", "ab"})).findall("cab a")
    ['ab', 'a']
    """
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, longest_first)) if texts else "(?!)")


@lru_cache(maxsize=64)
def without_white_space(contents: frozenset[str]) -> frozenset[str]:
    """Return the contents that untrusted text should not spell.

    Line ends and runs of spaces, which are added tokens in Gemma 3's file, are in nearly any text.
    """
    return frozenset(text for text in contents if not text.isspace())


def spelled_in(text: str, contents: frozenset[str]) -> list[str]:
    r"""Return which of the contents a text spells, but white space, each once, in its order.

    >>> spelled_in("b\n<s>b", frozenset({"<s>", "b", "\n", "c"}))
    ['b', '<s>']
    """
    return list(dict.fromkeys(any_of(without_white_space(contents)).findall(text)))


class Cut(NamedTuple):
    """A stretch of text, and the added token that it is, or None."""

    start: int
    stop: int
    token: TokenId | None


class AddedVocabulary:
    """The added tokens of a tokenizer, with their ids.

    Attributes:
        ids: from content to id.
        tokens: from id to token; of two with one id the first, if ids are as given, else the last.
        strings: from id to what the token is called in encodings and in decoding.
        special: the contents of special tokens.

    >>> added = AddedTokens([AddedToken("<s>", normalized=False)]).with_ids({"a": 0})
    >>> added.cut("a<s>", normalized=False)
    [Cut(start=0, stop=1, token=None), Cut(start=1, stop=4, token=1)]

    """

    def __init__(
        self,
        numbered: Iterable[tuple[AddedToken, TokenId]],
        normalizer: Normalizer | None = None,
        quirks: Quirks = HUGGING_FACE,
        *,
        first_counts: bool = False,
    ) -> None:
        """Prepare the search. Raises `VocabularyError` if normalization removes a token."""
        self.quirks = quirks
        self.ids: dict[str, TokenId] = {}
        self.tokens: dict[TokenId, AddedToken] = {}
        self.special: set[str] = set()
        forms: dict[TokenId, str] = {}
        by_content: dict[str, tuple[AddedToken, TokenId]] = {}
        for token, id_ in numbered:
            if token.normalized and normalizer is not None:
                forms[id_] = normalizer.normalize(AlignedText.of(token.content)).text
            self.ids[token.content] = id_
            if not first_counts or id_ not in self.tokens:
                self.tokens[id_] = token
            by_content[token.content] = token, id_
            if token.special:
                self.special.add(token.content)
        shown = forms if quirks.normalized_form_shown else {}
        self.strings = {id_: shown.get(id_, token.content) for id_, token in self.tokens.items()}
        if not first_counts:  # a content whose id went to another one is not looked for
            by_content = {token.content: (token, id_) for id_, token in self.tokens.items()}
        self._by_text: dict[bool, dict[str, tuple[AddedToken, TokenId]]] = {False: {}, True: {}}
        for token, id_ in by_content.values():
            text = forms.get(id_, token.content) if token.normalized else token.content
            if not text:
                raise VocabularyError(
                    "an added token must not be empty once it is normalized, "
                    f"but {token.content!r:.80} is"
                )
            self._by_text[token.normalized].setdefault(text, (token, id_))
        self._searchers = {which: searcher_of(list(by)) for which, by in self._by_text.items()}
        self._longest = {
            which: self._pattern_of_longest(normalized=which) for which in self._by_text
        }

    def _pattern_of_longest(self, *, normalized: bool) -> re.Pattern[str] | None:
        """Return a pattern that finds all matches, if none can be rejected or take white space.

        None also if the tokens are too many, or may be too long.
        """
        by_text = self._by_text[normalized]
        plain = not any(t.single_word or t.lstrip or t.rstrip for t, _ in by_text.values())
        few = len(by_text) <= MOST_AT_ONCE
        if not (plain and few) or isinstance(self._searchers[normalized], ByAutomaton):
            return None
        return re.compile(f"({pattern_of_longest(sorted(by_text)) or '(?!)'})")

    def token_of(self, text: str) -> TokenId | None:
        """Return the token that a part of a text is, among those looked for in the text as it is.

        >>> AddedTokens([AddedToken("<s>", normalized=False)]).with_ids({}).token_of("<s>")
        0
        """
        found = self._by_text[False].get(text)
        return None if found is None else found[1]

    def split(self, text: str) -> list[str] | None:
        """Return the stretches between tokens that are looked for in the text as it is, and these.

        Stretches and tokens alternate; a stretch may be empty. None if only `cut` can tell.

        >>> added = AddedTokens([AddedToken("<s>", normalized=False)]).with_ids({})
        >>> added.split("a<s>")
        ['a', '<s>', '']
        """
        longest = self._longest[False]
        return None if longest is None else longest.split(text)

    def has(self, *, normalized: bool) -> bool:
        """Return whether there are tokens to look for in the text, normalized or as it is."""
        return bool(self._by_text[normalized])

    def contents(self, *, normalized: bool) -> Mapping[str, AddedToken]:
        """Return the tokens by the texts to look for, in the normalized text or as it is.

        >>> list(AddedTokens([AddedToken("<s>")]).with_ids({}).contents(normalized=True))
        ['<s>']
        """
        return {text: token for text, (token, _) in self._by_text[normalized].items()}

    def may_be_in(self, text: str, *, normalized: bool) -> bool:
        """Return whether to look for tokens in a text at all: if not, it is one stretch.

        >>> added = AddedTokens([AddedToken("<s>")]).with_ids({})
        >>> added.may_be_in("a", normalized=True), added.may_be_in("<", normalized=True)
        (False, True)
        """
        return bool(self._by_text[normalized]) and self._searchers[normalized].may_match(text)

    def __repr__(self) -> str:
        """Return the numbers of tokens."""
        return f"<AddedVocabulary, {len(self.ids)} tokens, {len(self.special)} of them special>"

    def cut(
        self, text: str, *, normalized: bool, treatment: Treatment = RECOGNISE_ALL
    ) -> list[Cut]:
        """Return the stretches of a text, in order, none of them empty.

        `normalized` tells whether the text is, and so which tokens to look for. Raises
        `SpecialTokenError` for a refused token, and where the engine dies.

        >>> tokens = [AddedToken("<a>", rstrip=True), AddedToken("  ")]
        >>> [cut.stop for cut in AddedTokens(tokens).with_ids({}).cut("<a>  b", normalized=True)]
        [5, 5, 6]
        """
        if not self.may_be_in(text, normalized=normalized):
            return [Cut(0, len(text), None)] if text else []
        longest = self._longest[normalized]
        if longest is None or treatment != RECOGNISE_ALL:
            return self._cut_by_rules(text, treatment, normalized=normalized)
        by_text = self._by_text[normalized]
        cuts: list[Cut] = []
        done = 0  # where the text not cut yet begins
        for match in longest.finditer(text):
            start, stop = match.span()
            if done < start:
                cuts.append(Cut(done, start, None))
            cuts.append(Cut(start, stop, by_text[match.group()][1]))
            done = stop
        if done < len(text):
            cuts.append(Cut(done, len(text), None))
        return cuts

    def _cut_by_rules(self, text: str, treatment: Treatment, *, normalized: bool) -> list[Cut]:
        """Do the same whatever the tokens and the treatment are."""
        by_text = self._by_text[normalized]
        cuts: list[Cut] = []
        done = 0
        left = MOST_REPEATED + len(text)
        matches = self._searchers[normalized].matches(text)
        place = matches.next_place(0)
        while place is not None:
            lengths = matches.lengths_at(place)
            behind = place + 1
            for length in lengths:
                token, id_ = by_text[text[place : place + length]]
                if _is_rejected(token, text, (place, place + length), treatment):
                    if self.quirks.rejected_match_hides:
                        behind = place + length
                        break
                    continue
                start, stop = self._stripped(token, text, place, place + length, done)
                left -= stop - start
                if start > stop or left < 0:
                    raise SpecialTokenError(
                        "added tokens must not strip white space that others have stripped, but "
                        f"{token.content!r:.80} does, at character {place}"
                    )
                if done < start:
                    cuts.append(Cut(done, start, None))
                if start < stop:
                    cuts.append(Cut(start, stop, id_))
                done = stop
                behind = place + length if self.quirks.stripped_text_repeats else stop
                break
            place = matches.next_place(behind)
        if done < len(text):
            cuts.append(Cut(done, len(text), None))
        return cuts

    def is_skipped(self, id_: TokenId, string: str) -> bool:
        """Return whether decoding leaves out a token that is special."""
        if self.quirks.normalized_form_shown:
            return string in self.special
        return id_ in self.tokens and self.tokens[id_].content in self.special

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


def _is_rejected(token: AddedToken, text: str, span: tuple[int, int], treatment: Treatment) -> bool:
    """Return whether a match does not count. Raises `SpecialTokenError` if it is refused."""
    if token.content in treatment.ordinary:
        return True
    start, stop = span
    is_letter = _one_of("word").match
    if token.single_word and (
        (start > 0 and is_letter(text, start - 1) is not None)
        or (stop < len(text) and is_letter(text, stop) is not None)
    ):
        return True
    if token.content in treatment.refused:
        raise refusal(token.content, start)
    return False


def _given_id(token: AddedToken) -> TokenId:
    if token.id is None:
        raise VocabularyError(f"the added token {token.content!r:.80} must have an id")
    return token.id


def _ids_from_vocabulary(
    listed: Iterable[AddedToken], vocab: Mapping[str, TokenId]
) -> Iterator[tuple[AddedToken, TokenId]]:
    """Yield each token with the id of the vocabulary, or the next free one."""
    free = len(vocab)
    ids: dict[str, TokenId] = {}
    for token in listed:
        id_ = ids.get(token.content, vocab.get(token.content))
        if id_ is None:
            id_, free = free, free + 1
        ids[token.content] = id_
        yield token, id_


def _ids_from_file(
    listed: Iterable[AddedToken], vocab: Mapping[str, TokenId]
) -> Iterator[tuple[AddedToken, TokenId]]:
    """Yield each token with the id that the file gives, if nothing contradicts it."""
    taken = frozenset(vocab.values())
    contents: set[str] = set()
    ids: set[TokenId] = set()
    for token in listed:
        known = vocab.get(token.content, token.id)
        if token.id is None or token.id != known:
            raise VocabularyError(
                f"the added token {token.content!r:.80} must have the id of the vocabulary, "
                f"{known}, got {token.id}"
            )
        if token.content in contents or token.id in ids:
            raise VocabularyError(
                f"added tokens must differ in content and id, but {token.content!r:.80} with "
                f"the id {token.id} comes twice"
            )
        if token.id in taken and token.content not in vocab:
            raise VocabularyError(
                f"the added token {token.content!r:.80} must have an id of its own, but "
                f"{token.id} is that of another token"
            )
        contents.add(token.content)
        ids.add(token.id)
        yield token, token.id


@cache
def _one_of(name: str) -> re.Pattern[str]:
    """Return a pattern for one character of a class."""
    return re.compile(set_source(TABLES["unicode-16.0"].code_points(name)))


@cache
def _run_of(name: str) -> re.Pattern[str]:
    """Return a pattern for any number of characters of a class, which always matches."""
    return re.compile(f"{_one_of(name).pattern}*")
