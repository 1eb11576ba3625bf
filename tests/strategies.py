"""Hypothesis strategies shared by the whole test suite.

A strategy says which values are valid and leaves their distribution to
Hypothesis, with two exceptions, made because mutants of the code under test
survived without them: texts spell tokens of their vocabulary, so that merges
really occur and compete; and vocabularies are drawn from all the kinds that
clever encoders are wrong about, rather than as one list of random words.

The kinds
    *trained*: every token is made from two neighbours in a text that all
    earlier merges were applied to. These are proper, and no token is dead.
    *grown*: every token joins two earlier ones, neighbours or not. *odd*: any
    words at all. Then the order may be disturbed (improper and dead tokens),
    ids need not be ranks (holes, another order), and a byte may be missing.
"""

from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from bpe_ref import Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.vocabulary.merges import TokenId
from tokenref.strategies.texts import disturbed, grown_splits
from tokenref.strategies.texts import trained_splits as splits_in_text
from tokenref.strategies.tokenizer_questions import pieces_of

ALPHABETS = (b"a", b"ab", b"abc", b"\x00\xff")
"""Runs of one letter compete most; 0x00 and 0xFF show that letters are bytes."""

LONGEST_PIECE = 40

Word: TypeAlias = bytes
Split: TypeAlias = tuple[Word, Word]


def examples(count: int) -> settings:
    """Return settings for that many examples, the same ones in every run."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def letters_of(alphabet: bytes) -> list[Word]:
    """Return the symbols of an alphabet, one byte each."""
    return [alphabet[place : place + 1] for place in range(len(alphabet))]


def trained_splits(letters: Sequence[Word]) -> st.SearchStrategy[list[Split]]:
    """Draw pairs that merge, each next to each other in a text merged so far."""
    return st.lists(st.sampled_from(letters), min_size=4, max_size=16).flatmap(splits_in_text)


def odd_words(alphabet: bytes) -> st.SearchStrategy[list[Word]]:
    """Draw words that need not be made of tokens."""
    word = st.lists(st.sampled_from(letters_of(alphabet)), min_size=2, max_size=6).map(b"".join)
    return st.lists(word, max_size=3)


@st.composite
def numberings(draw: st.DrawFn, words: Sequence[Word]) -> dict[Word, TokenId]:
    """Draw ids: as listed, or in another order and with holes."""
    if draw(st.booleans()):
        return {word: place for place, word in enumerate(words)}
    most = 2 * len(words) + 2
    ids = draw(
        st.lists(st.integers(0, most), min_size=len(words), max_size=len(words), unique=True)
    )
    return dict(zip(words, ids, strict=True))


@st.composite
def symbols_kept(draw: st.DrawFn, letters: Sequence[Word]) -> list[Word]:
    """Draw the letters that are tokens: nearly always all, never none."""
    if len(letters) > 1 and draw(st.integers(0, 7)) == 7:
        missing = draw(st.sampled_from(letters))
        return [letter for letter in letters if letter != missing]
    return list(letters)


@st.composite
def vocabularies_by_concatenation(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary whose pairs merge by concatenation, of any kind."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    letters = letters_of(alphabet)
    splits = draw(trained_splits(letters) | grown_splits(letters))
    words = [left + right for left, right in splits] + draw(odd_words(alphabet) | st.just([]))
    tokens = list(dict.fromkeys([*draw(symbols_kept(letters)), *words]))
    ordered = draw(disturbed(tokens))
    ranks = {word: rank for rank, word in enumerate(ordered)}
    if draw(st.booleans()):
        return vocabulary_by_concatenation(ranks)
    return vocabulary_by_concatenation(ranks, ids=draw(numberings(tokens)))


@st.composite
def vocabularies_by_pair(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary whose pairs merge if listed: twice, or in two ways, as it may be."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    letters = letters_of(alphabet)
    splits = draw(trained_splits(letters) | grown_splits(letters))
    tokens = list(dict.fromkeys([*letters, *(left + right for left, right in splits)]))
    other_splits = [
        (word[:cut], word[cut:])
        for word in tokens
        for cut in range(1, len(word))
        if word[:cut] in tokens and word[cut:] in tokens
    ]
    if other_splits:
        splits = splits + draw(st.lists(st.sampled_from(other_splits), max_size=4))
    merges = draw(disturbed(splits))
    unmade = [word for word in draw(odd_words(alphabet) | st.just([])) if word not in tokens]
    kept = draw(symbols_kept(letters))
    tokens = [word for word in dict.fromkeys(tokens + unmade) if len(word) > 1 or word in kept]
    merges = [pair for pair in merges if pair[0] in tokens and pair[1] in tokens]
    return vocabulary_by_pair(draw(numberings(tokens)), merges)


def vocabularies() -> st.SearchStrategy[Vocabulary]:
    """Draw a vocabulary of either rule."""
    return vocabularies_by_concatenation() | vocabularies_by_pair()


@st.composite
def vocabularies_and_pieces(
    draw: st.DrawFn,
    vocabulary: st.SearchStrategy[Vocabulary] | None = None,
    longest: int = LONGEST_PIECE,
) -> tuple[Vocabulary, bytes]:
    """Draw a vocabulary and a piece that it can encode."""
    drawn = draw(vocabularies() if vocabulary is None else vocabulary)
    return drawn, draw(pieces_of(drawn, longest))


@st.composite
def vocabularies_and_two_pieces(draw: st.DrawFn) -> tuple[Vocabulary, bytes, bytes]:
    """Draw a vocabulary and two pieces that it can encode."""
    drawn = draw(vocabularies())
    return drawn, draw(pieces_of(drawn)), draw(pieces_of(drawn))


def spellings_in_tokens(vocabulary: Vocabulary, piece: bytes) -> list[list[TokenId]]:
    """Return every sequence of tokens that spells the piece. For short pieces only."""
    by_end: list[list[list[TokenId]]] = [[[]]]
    for end in range(1, len(piece) + 1):
        by_end.append(
            [
                [*before, token]
                for token, content in vocabulary.tokens.items()
                if len(content) <= end and piece[end - len(content) : end] == content
                for before in by_end[end - len(content)]
            ]
        )
    return by_end[len(piece)]
