"""Texts on which tokenizers differ, made of atoms, and vocabularies that encoders get wrong.

Random characters rarely occur where a tokenizer makes a decision. So a text is a sequence of
*atoms*: contractions, runs of digits, white space, line ends, marks, scripts, emoji, and texts
that the vocabulary knows. Nothing separates two atoms, so words join special tokens, and marks
join spaces.

The tokens of a vocabulary are *trained* (each joins two neighbours in a text to which all earlier
merges were applied), *grown* (each joins any two earlier ones), or *odd* (arbitrary words, most of
which no merge produces). Then each property of a trained vocabulary may be broken: the order
(tokens that rank before their parts), the ids (holes, another order, beyond 16 bits), the ranks
(beyond 8, 16 or 24 bits), bytes without a token, duplicate merges, tokens made in two ways. With a
pattern, all bytes have tokens, and the words are those of a text. All vocabularies are small enough
to read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from hypothesis import find  # noqa: F401 - used in the examples
from hypothesis import strategies as st

from bpe_ref import TextRules, TokenId, Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.registry import REGISTRY

_Drawn = TypeVar("_Drawn")

ATOMS: Final[Mapping[str, Sequence[str]]] = json.loads(
    (Path(__file__).parent / "atoms.json").read_bytes()
)
"""The atoms of each kind. Some letters are of Unicode 16.0 and 17.0: older tables lack them."""

KINDS: Final = tuple(
    kind for name, kind in ATOMS.items() for _ in range(2 if name == "spaces" else 1)
)
"""The kinds of atoms. A kind is drawn first, so that large kinds do not dominate."""

_TIMES: Final = (*([1] * 24), 2, 2, 3, 4, 8)
"""How often an atom is repeated."""

RUNS: Final = (16, 32, 64, 100, 110, 128, 200, 255, 256, 300, 512)
"""Lengths where behaviour changes: a byte overflows, a piece is cut, another path is taken."""


@st.composite
def mostly(
    draw: st.DrawFn, usual: st.SearchStrategy[_Drawn], rare: st.SearchStrategy[_Drawn], times: int
) -> _Drawn:
    """Draw from `usual`, and once in `times` draws from `rare`.

    `one_of` cannot say that: it takes a strategy that is given twice only once.

    >>> find(mostly(st.just("usual"), st.just("rare"), 8), lambda drawn: True)
    'usual'
    """
    return draw(rare if draw(st.integers(0, times - 1)) == times - 1 else usual)


def atoms(*more: str) -> st.SearchStrategy[str]:
    """Return a strategy for one atom; `more` are atoms of the tokenizer under test.

    >>> find(atoms("<|end|>"), lambda atom: "|" in atom and "end" in atom)
    '<|end|>'
    """
    kinds = [*KINDS, *([more] * 6 if more else [])]
    characters = st.characters(exclude_categories=["Cs"])
    return mostly(st.sampled_from(kinds).flatmap(st.sampled_from), characters, len(kinds) + 1)


def texts(*more: str, longest: int = 12) -> st.SearchStrategy[str]:
    """Return a strategy for texts of up to `longest` atoms, some of them repeated.

    `more` are atoms of the tokenizer at hand: its words, its special tokens.

    >>> " " in find(texts(), lambda text: " " in text and not text.isascii())
    True
    """
    atom = st.builds(str.__mul__, atoms(*more), st.sampled_from(_TIMES))
    return st.lists(atom, max_size=longest).map("".join)


@st.composite
def long_runs(draw: st.DrawFn, words: Sequence[str]) -> str:
    """Draw a long run of one word, with something at either end, to test work done in chunks.

    >>> len(find(long_runs(["a"]), lambda text: True)) >= RUNS[0] - 1
    True
    """
    word = draw(st.sampled_from(words))
    length = draw(st.sampled_from(RUNS)) + draw(st.integers(-1, 2))
    before, after = (draw(st.sampled_from(["", *words])) for _ in range(2))
    return before + (word * length)[:length] + after


Word: TypeAlias = bytes
Split: TypeAlias = tuple[Word, Word]

_Item = TypeVar("_Item")

ALPHABETS: Final = (b"a", b"ab", b"abc", b"\x00\xff", b"#v", " \u00e9".encode())
"""Runs of one letter have most competing merges; the others are bytes that loaders mishandle."""

_REGISTERED: Final = ("cl100k_base", "o200k_base", "r50k_base")
PATTERNS: Final = (
    *(REGISTRY[each].pattern for each in _REGISTERED * 3),
    *(r"\w+|\W", "[a-z]+", r"a+$|a|\n", r"(?s).{9}"),
)
"""Patterns of engines, three times each, and some that skip text or look at its end."""

SPECIAL_TOKENS: Final[Sequence[Sequence[str]]] = (
    (),
    ("<|end|>",),
    ("<|a|>", "<|a|><|b|>", "<|b|>", "<|a|><"),
    ("<ab>", "b><c", "<c>", "<<ab>>"),
    ("bc", "abc", "ab", "cd", "\n"),
    ("[x]", "a.c", "$^", "(?i)", ".*"),
    ("\u00e9", "e\u0301", "\u00abend\u00bb"),
)

_NUMBERS: Final = (0, 0, 0, 1, 200, 250, 500, 65_530, 16_777_210, 2_147_483_640)
"""Offsets of ranks or ids, so that some are truncated by narrow integer types."""

_LONGEST_WORD: Final = 9


@st.composite
def trained_splits(draw: st.DrawFn, text: Sequence[Word], most: int = 7) -> list[Split]:
    """Draw merges, each of two tokens that are adjacent in a partly merged text.

    >>> find(trained_splits([b"a", b"b"]), lambda splits: splits)
    [(b'a', b'b')]
    """
    parts, splits = list(text), list[Split]()
    for _ in range(draw(st.integers(1, most))):
        if len(parts) < 2:
            break
        at = draw(st.integers(0, len(parts) - 2))
        pair = parts[at], parts[at + 1]
        splits.append(pair)
        place = 0
        while place < len(parts) - 1:
            if (parts[place], parts[place + 1]) == pair:
                parts[place : place + 2] = [pair[0] + pair[1]]
            place += 1
    return splits


@st.composite
def grown_splits(draw: st.DrawFn, letters: Sequence[Word]) -> list[Split]:
    """Draw merges, each of any two earlier tokens.

    >>> find(grown_splits([b"a"]), lambda splits: len(splits) == 2)
    [(b'a', b'a'), (b'a', b'a')]
    """
    words, splits = list(letters), list[Split]()
    for _ in range(draw(st.integers(0, 7))):
        left, right = draw(st.sampled_from(words)), draw(st.sampled_from(words))
        if len(left + right) <= _LONGEST_WORD:
            splits.append((left, right))
            words.append(left + right)
    return splits


@st.composite
def vocabularies_of_letters(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary of a few letters and no pattern, to test only the merges.

    >>> found = find(vocabularies_of_letters(), lambda vocabulary: len(vocabulary.tokens) > 1)
    >>> found.text.pattern is None
    True
    """
    letters = _letters(draw(st.sampled_from(ALPHABETS)))
    text = st.lists(st.sampled_from(letters), min_size=4, max_size=16)
    splits = draw(text.flatmap(trained_splits) | grown_splits(letters))
    if draw(st.integers(0, 7)) == 7:
        runs = [letters[0] * 2**power for power in range(9)]
        splits += zip(runs, runs, strict=True)
    kept = draw(_kept(letters))
    words = [left + right for left, right in splits] + draw(_odd_words(letters))
    rules = TextRules(whole_piece=draw(st.integers(0, 3)) == 3)
    if draw(st.booleans()):
        return draw(_by_concatenation([*kept, *words], rules))
    return draw(_by_pair([*kept, *words], splits, rules))


@st.composite
def vocabularies_of_texts(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary of all bytes and some words, with a pattern and special tokens.

    >>> found = find(vocabularies_of_texts(), lambda vocabulary: vocabulary.special_tokens)
    >>> len(found.tokens) >= 256, dict(found.special_tokens)
    (True, {'<|end|>': 256})
    """
    every_byte = [bytes([byte]) for byte in range(256)]
    words = list[Word]()
    if draw(st.booleans()):
        spelled = _letters(draw(texts(longest=6)).encode())
        words += [left + right for left, right in draw(trained_splits(spelled, 12))]
    words += draw(st.lists(texts(longest=2).map(str.encode).filter(len), max_size=3))
    specials = draw(st.sampled_from(SPECIAL_TOKENS))
    if specials and draw(st.integers(0, 3)) == 3:
        words.append(b"a" + draw(st.sampled_from(specials)).encode()[:1])
    tokens = list(dict.fromkeys([*every_byte, *words]))
    if draw(st.integers(0, 3)) == 3:
        tokens = tokens[255::-1] + tokens[256:]
    pattern = draw(mostly(st.sampled_from(PATTERNS), st.none(), 6))
    rules = TextRules(
        pattern,
        normalization="nfc" if draw(st.integers(0, 4)) == 4 else None,
        whole_piece=draw(st.booleans()),
    )
    first = len(tokens) + draw(st.sampled_from([0, 0, 1, 1000]))
    numbers = {text: first + place for place, text in enumerate(specials)}
    if len(specials) > 1 and draw(st.integers(0, 7)) == 7:
        numbers[specials[1]] = first
    return vocabulary_by_concatenation(
        {word: rank for rank, word in enumerate(tokens)}, text=rules, special_tokens=numbers
    )


def vocabularies() -> st.SearchStrategy[Vocabulary]:
    """Return a strategy for vocabularies of every kind.

    >>> find(vocabularies(), lambda vocabulary: vocabulary.text.pattern is None).text.tables
    'unicode-16.0'
    """
    return vocabularies_of_letters() | vocabularies_of_texts()


@st.composite
def disturbed(draw: st.DrawFn, items: Sequence[_Item]) -> list[_Item]:
    """Draw the items in another order: nearly the same, partly or completely shuffled.

    >>> find(disturbed([1, 2]), lambda items: True)
    [1, 2]
    """
    order = list(items)
    how = draw(st.sampled_from(["not at all", "one moves", "anyhow"]))
    if how == "one moves" and order:
        moved = order.pop(draw(st.integers(0, len(order) - 1)))
        order.insert(draw(st.integers(0, len(order))), moved)
    elif how == "anyhow":
        order = draw(st.permutations(order))
    return order


@st.composite
def _by_concatenation(draw: st.DrawFn, words: Iterable[Word], rules: TextRules) -> Vocabulary:
    tokens = list(dict.fromkeys(words))
    ordered = draw(disturbed(tokens))
    ranks = draw(_numbers(ordered)) if draw(st.booleans()) else _places(ordered)
    return vocabulary_by_concatenation(ranks, ids=draw(_ids(tokens)), text=rules)


@st.composite
def _by_pair(
    draw: st.DrawFn, words: Iterable[Word], splits: Sequence[Split], rules: TextRules
) -> Vocabulary:
    tokens = dict.fromkeys(words)
    others = [
        (word[:cut], word[cut:])
        for word in tokens
        for cut in range(1, len(word))
        if word[:cut] in tokens and word[cut:] in tokens
    ]
    more = draw(st.lists(st.sampled_from(others), max_size=4)) if others else []
    merges = [pair for pair in draw(disturbed([*splits, *more])) if tokens.keys() >= {*pair}]
    return vocabulary_by_pair(draw(_ids(list(tokens))), merges, text=rules)


@st.composite
def _numbers(draw: st.DrawFn, words: Sequence[Word]) -> dict[Word, int]:
    """Draw increasing numbers for the words, with gaps, some of them large."""
    number, numbers = -1, dict[Word, int]()
    for word in words:
        number += 1 + draw(st.sampled_from(_NUMBERS))
        numbers[word] = number
    return numbers


@st.composite
def _ids(draw: st.DrawFn, words: Sequence[Word]) -> dict[Word, TokenId]:
    """Draw ids: in order or shuffled, with gaps."""
    how = draw(st.sampled_from(["as listed", "holes", "another order"]))
    if how == "as listed":
        return _places(words)
    return draw(_numbers(draw(st.permutations(words)) if how == "another order" else words))


def _places(words: Sequence[Word]) -> dict[Word, int]:
    return {word: place for place, word in enumerate(words)}


@st.composite
def _kept(draw: st.DrawFn, letters: Sequence[Word]) -> list[Word]:
    """Draw the letters that are tokens: nearly always all, always at least one."""
    if len(letters) > 1 and draw(st.integers(0, 7)) == 7:
        missing = draw(st.sampled_from(letters))
        return [letter for letter in letters if letter != missing]
    return list(letters)


def _odd_words(letters: Sequence[Word]) -> st.SearchStrategy[list[Word]]:
    """Return a strategy for words that need not consist of tokens, some of them long."""
    word = st.lists(st.sampled_from(letters), min_size=2, max_size=6).map(b"".join)
    long = st.tuples(st.sampled_from(letters), st.sampled_from([16, 17, 40]))
    words = st.lists(word | long.map(lambda drawn: drawn[0] * drawn[1]), max_size=3)
    return words | st.just(list[Word]())


def _letters(content: bytes) -> list[Word]:
    return [content[at : at + 1] for at in range(len(content))]


def words_of(vocabulary: Vocabulary, most: int = 400) -> list[str]:
    r"""Return the texts of a vocabulary: its tokens that are UTF-8, its special tokens.

    Every n-th token of a large vocabulary is taken, so that there are at most `most`.

    >>> words_of(vocabulary_by_concatenation({b"a": 0, b"ab": 1, b"\xff": 2}))
    ['a', 'ab']
    """
    step = -(-len(vocabulary.tokens) // most)
    found = []
    for content in list(vocabulary.tokens.values())[::step]:
        try:
            found.append(content.decode())
        except UnicodeDecodeError:
            continue
    return [*found, *vocabulary.special_tokens]
