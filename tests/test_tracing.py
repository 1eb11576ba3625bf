"""The trace is the definition, and a reader can follow it."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.errors import SymbolError
from bpe_ref.tracing import MergeStep, render_details, render_trace, show_token, trace
from tests.strategies import examples, vocabularies_and_pieces

LETTERS = vocabulary_by_concatenation(
    {b"a": 0, b"b": 1, b" ": 2, b"\n": 3, b"\xe4": 4, b"ab": 5, b"aba": 6}
)


@examples(200)
@given(vocabularies_and_pieces())
def test_the_last_state_is_the_encoding(drawn: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = drawn
    symbols = vocabulary.symbols(piece)
    steps = trace(vocabulary, symbols)
    states = [tuple(symbols), *(step.tokens for step in steps)]
    assert list(states[-1]) == encode_naive(vocabulary, symbols)


@examples(200)
@given(vocabularies_and_pieces())
def test_each_step_merges_the_leftmost_pair_of_the_lowest_rank(
    drawn: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = drawn
    before = tuple(vocabulary.symbols(piece))
    for step in trace(vocabulary, before):
        ranks = [
            float("inf") if (merge := vocabulary.merge(left, right)) is None else merge.rank
            for left, right in pairwise(before)
        ]
        assert (step.rank, step.position) == (min(ranks), ranks.index(min(ranks)))
        before = step.tokens


@examples(200)
@given(vocabularies_and_pieces())
def test_each_step_replaces_its_pair_and_nothing_else(drawn: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = drawn
    before = tuple(vocabulary.symbols(piece))
    for step in trace(vocabulary, before):
        at = step.position
        assert before[at : at + 2] == (step.left, step.right)
        assert step.tokens == (*before[:at], step.result, *before[at + 2 :])
        merge = vocabulary.merge(step.left, step.right)
        assert merge is not None
        assert (step.rank, step.result) == merge
        before = step.tokens


def test_what_has_no_merge_has_no_step() -> None:
    assert trace(LETTERS, []) == []
    assert trace(LETTERS, LETTERS.symbols(b"ba")) == []


def test_a_merge_by_pair_has_the_rank_of_the_pair() -> None:
    vocabulary = vocabulary_by_pair({b"a": 0, b"aa": 1, b"aaa": 2}, [(b"a", b"aa"), (b"a", b"a")])
    steps = trace(vocabulary, vocabulary.symbols(b"aaaa"))
    assert steps == [
        MergeStep(position=0, left=0, right=0, result=1, rank=1, tokens=(1, 0, 0)),
        MergeStep(position=1, left=0, right=0, result=1, rank=1, tokens=(1, 1)),
    ]


def test_only_symbols_can_be_traced() -> None:
    with pytest.raises(SymbolError):
        trace(LETTERS, [5])


def test_the_table_has_a_line_for_the_symbols_and_one_for_each_merge() -> None:
    symbols = LETTERS.symbols(b"ab\naba\xe4 ")
    table = render_trace(LETTERS, symbols, trace(LETTERS, symbols))
    assert table.splitlines() == [
        "step  rank  place  merge         tokens",
        r"   0                             a b \n a b a \xe4 ␣",
        r"   1     5      0  a + b = ab    ab \n a b a \xe4 ␣",
        r"   2     5      2  a + b = ab    ab \n ab a \xe4 ␣",
        r"   3     6      2  ab + a = aba  ab \n aba \xe4 ␣",
    ]


@examples(100)
@given(vocabularies_and_pieces())
def test_the_pairs_that_lost_are_all_others_that_could_have_merged(
    drawn: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = drawn
    before = tuple(vocabulary.symbols(piece))
    for step in trace(vocabulary, before):
        possible = [
            (merge.rank, at)
            for at, (left, right) in enumerate(pairwise(before))
            if (merge := vocabulary.merge(left, right)) is not None
        ]
        assert [(step.rank, step.position), *step.lost] == sorted(possible)
        before = step.tokens


def test_the_details_have_the_ids_and_the_ranks_of_the_pairs_that_lost() -> None:
    symbols = LETTERS.symbols(b"ababab")
    lines = render_details(LETTERS, symbols, trace(LETTERS, symbols)).splitlines()
    assert lines[2] == "          ids 0 1 0 1 0 1"
    assert lines[4] == "          ids 5 0 1 0 1"
    assert lines[5] == "          instead of a + b (rank 5, place 2), a + b (rank 5, place 4)"
    many = LETTERS.symbols(b"ab" * 9)
    assert "place 10) and 3 more" in render_details(LETTERS, many, trace(LETTERS, many))


def test_the_table_of_nothing_is_its_head_and_an_empty_line() -> None:
    assert render_trace(LETTERS, [], []).splitlines() == [
        "step  rank  place  merge  tokens",
        "   0",
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b" the", "␣the"),
        (b"\r\n\t", r"\r\n\t"),
        (b"\\n", r"\\n"),
        ("é한🎉".encode(), "é한🎉"),
        ("한".encode()[:2], r"\xed\x95"),
        (b"a\xffb", r"a\xffb"),
        ("\x85".encode(), r"\u0085"),
        ("\xa0\u200d".encode(), r"\u00a0\u200d"),
        ("␣".encode(), r"\u2423"),
        ("\u0301te\u0301◌".encode(), "◌\u0301te\u0301\\u25cc"),
        ("\U000e0001".encode(), r"\U000e0001"),
        (b"\x00\x7f", r"\x00\x7f"),
    ],
)
def test_what_does_not_print_is_written_as_in_python(content: bytes, shown: str) -> None:
    assert show_token(content) == shown


def read_back(shown: str) -> bytes:
    """Return the bytes that a shown token stands for."""
    escape = re.compile(r"\\(x..|u....|U........|.)|(␣)|◌")

    def bytes_of(found: re.Match[str]) -> str:
        if found[0] == "◌":
            return ""
        if found[2]:
            return " "
        if found[1].startswith("x"):
            return bytes([int(found[1][1:], 16)]).decode(errors="surrogateescape")
        return found[0].encode().decode("unicode_escape")

    return escape.sub(bytes_of, shown).encode(errors="surrogateescape")


@examples(300)
@given(
    st.binary(max_size=6)
    | st.text(max_size=4).map(str.encode)
    | st.text("␣◌\u0301e\\").map(str.encode)
)
def test_what_is_shown_says_which_bytes_it_is(content: bytes) -> None:
    assert read_back(show_token(content)) == content
