"""The BPE model does what the library's does, byte by byte."""

import math
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bpe_ref.errors import ParameterError, SymbolError, VocabularyError
from bpe_ref.models import bpe as model_module
from bpe_ref.models import partwise
from bpe_ref.models.bpe import BPE
from bpe_ref.models.merging import (
    RankedMerges,
    Symbol,
    merge,
    merge_long,
    merge_short,
    merge_steps,
    merge_with_dropout,
)
from bpe_ref.quirks import STRICT
from tests.synthetic_tokenizers import Document, document, engine, trained_model
from tests.texts import drawn, text_of

MODELS: dict[str, Document] = {
    "plain": {},
    "all scripts": {"scripts": True},
    "unknown": {"unk": True},
    "unknown, fused": {"unk": True, "fuse_unk": True},
    "bytes": {"byte_tokens": 256},
    "some bytes": {"byte_tokens": 0xC8},
    "some bytes, unknown": {"byte_tokens": 0xC8, "unk": True},
    "some bytes, unknown, fused": {"byte_tokens": 0xE4, "unk": True, "fuse_unk": True},
    "prefix": {"prefix": "##", "words": True, "unk": True},
    "suffix": {"suffix": "</w>", "words": True},
    "prefix, suffix, bytes": {"prefix": "#", "suffix": "</w>", "byte_tokens": 256, "words": True},
    "long prefix": {"prefix": "é_", "unk": True, "fuse_unk": True},
    "whole": {"ignore_merges": True},
    "whole, suffix": {"suffix": "_", "ignore_merges": True, "unk": True},
}


def model_of(**flags: object) -> tuple[BPE, Tokenizer]:
    """Return our model and the library's."""
    content = trained_model(**flags)  # type: ignore[arg-type]
    fields = {key: value for key, value in content.items() if key not in {"type", "merges"}}
    merges = [(left, right) for left, right in content["merges"]]
    return BPE(merges=merges, **fields), engine(document(content))


@pytest.mark.parametrize("name", MODELS)
def test_tokens_and_their_bytes_are_the_librarys(name: str) -> None:
    ours, theirs = model_of(**MODELS[name])
    changed: list[bool] = []
    pieces = st.one_of(
        text_of(longest=8), st.lists(st.sampled_from(sorted(ours.vocab)), max_size=4).map("".join)
    )

    @drawn(250)
    @given(pieces)
    def check(piece: str) -> None:
        tokens = ours.tokenize(piece)
        expected = theirs.model.tokenize(piece)
        assert [(t.id, t.string, (t.start, t.end)) for t in tokens] == [
            (t.id, t.value, t.offsets) for t in expected
        ]
        assert ours.ids(piece) == [t.id for t in tokens]
        lengths = [(t.id, t.end - t.start) for t in tokens]
        if not (ours.ignore_merges and piece in ours.vocab):
            *_, merged = merge_steps(ours.ranked, ours.symbols(piece))
            assert merged == lengths
        changed.append(len(tokens) < len(ours.symbols(piece)) or not tokens)

    check()
    assert sum(changed) > len(changed) / 20


PLAIN = [name for name in MODELS if "fix" not in name]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("whole", [2, 5])
def test_long_pieces_cut_where_no_merge_crosses_have_the_same_tokens(
    name: str, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = model_of(**MODELS[name])
    monkeypatch.setattr(model_module, "SHORT", 1)
    monkeypatch.setattr(partwise, "_LONGEST_PART", 2)
    monkeypatch.setattr(partwise, "_WHOLE", whole)
    parts: list[int] = []
    spelled = st.lists(st.sampled_from(sorted(ours.vocab)), max_size=9).map("".join)

    @drawn(250)
    @given(st.one_of(text_of(longest=3), text_of(longest=20), spelled))
    def check(piece: str) -> None:
        *before, expected = ours.steps(piece)
        assert ours.ids(piece) == expected
        is_made = bool(before) and len(expected) == 1
        assert ours.last_steps(piece) == [*before[-1:][:is_made], expected]
        parts.append(len(ours.borders.cut(piece)))

    check()
    assert sum(count > 1 for count in parts) > len(parts) / 3


@st.composite
def tables_and_symbols(draw: st.DrawFn) -> tuple[RankedMerges, list[Symbol]]:
    """Draw merges of few tokens, so that they compete, and symbols to merge."""
    spellings = ["a", "b", "c"]
    ranks: dict[tuple[int, int], int] = {}
    results: list[int] = []
    for _ in range(draw(st.integers(0, 8))):
        pair = draw(st.tuples(*[st.integers(0, len(spellings) - 1)] * 2))
        spelling = spellings[pair[0]] + spellings[pair[1]]
        if spelling not in spellings:
            spellings.append(spelling)
        ranks[pair] = len(results)
        results.append(spellings.index(spelling))
    order = draw(st.permutations(range(len(results))))
    table = RankedMerges(
        {pair: order[rank] for pair, rank in ranks.items()},
        [results[order.index(rank)] for rank in range(len(results))],
    )
    tokens = draw(st.lists(st.integers(0, len(spellings) - 1), max_size=12))
    return table, [(token, draw(st.integers(1, 3))) for token in tokens]


@drawn(500)
@given(tables_and_symbols())
def test_every_way_to_merge_is_the_definition(
    table_and_symbols: tuple[RankedMerges, list[Symbol]],
) -> None:
    table, symbols = table_and_symbols
    *_, expected = merge_steps(table, symbols)
    assert merge(table, symbols) == expected
    assert merge_long(table, symbols) == expected
    assert merge_with_dropout(table, symbols, 0.0, lambda: 0.0) == expected
    tokens = [token for token, _ in symbols]
    merge_short(table, tokens)
    assert tokens == [token for token, _ in expected]


@drawn(200)
@given(tables_and_symbols(), st.floats(0, 1), st.randoms(use_true_random=False))
def test_dropout_covers_the_same_bytes_and_merges_nothing_else(
    table_and_symbols: tuple[RankedMerges, list[Symbol]], dropout: float, stream: random.Random
) -> None:
    table, symbols = table_and_symbols
    dropped = merge_with_dropout(table, symbols, dropout, stream.random)
    assert sum(length for _, length in dropped) == sum(length for _, length in symbols)
    if dropout == 1:
        assert dropped == symbols
    if dropout == 0:
        assert [dropped] == [*merge_steps(table, symbols)][-1:]


VOCAB = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}
MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")]


def ids(model: BPE, piece: str) -> list[int]:
    return [token.id for token in model.tokenize(piece)]


def test_the_last_place_of_a_merge_on_the_list_twice_counts() -> None:
    merges = [("a", "b"), ("b", "c"), ("a", "b")]
    assert ids(BPE(VOCAB, merges), "abc") == [0, 4]
    model = {"vocab": VOCAB, "merges": merges, "type": "BPE"}
    assert engine(document(model)).encode("abc").ids == [0, 4]


def test_merges_join_over_a_character_that_vanishes_and_positions_shift() -> None:
    vocab = {"a": 0, "c": 1, "ac": 2}
    model = BPE(vocab, [("a", "c")])
    [token] = model.tokenize("abc")
    assert (token.string, token.start, token.end) == ("ac", 0, 2)
    theirs = engine(document({"vocab": vocab, "merges": [["a", "c"]], "type": "BPE"}))
    assert theirs.encode("abc").offsets == [(0, 2)]
    with pytest.raises(SymbolError, match=r"^a text must be made of .*, got 'b', and"):
        BPE(vocab, [("a", "c")], quirks=STRICT).tokenize("abc")


def test_bytes_overtake_a_waiting_unknown_token_but_not_by_definition() -> None:
    vocab = {"<unk>": 0, "<0x61>": 1}
    flags = {"unk_token": "<unk>", "byte_fallback": True}
    assert ids(BPE(vocab, [], **flags), "ba") == [1, 0]  # type: ignore[arg-type]
    assert ids(BPE(vocab, [], quirks=STRICT, **flags), "ba") == [0, 1]  # type: ignore[arg-type]
    model = {"vocab": vocab, "merges": [], "type": "BPE", **flags}
    assert engine(document(model)).encode("ba").ids == [1, 0]


def test_whole_pieces_merge_all_the_same_where_merges_may_drop() -> None:
    always, never = lambda: 0.0, lambda: 0.99
    engines = BPE(VOCAB, MERGES, dropout=0.5, ignore_merges=True)
    assert [t.id for t in engines.tokenize("abc", always)] == [0, 1, 2]
    assert [t.id for t in engines.tokenize("abc", never)] == [5]
    strict = BPE(VOCAB, MERGES, dropout=0.5, ignore_merges=True, quirks=STRICT)
    assert [t.id for t in strict.tokenize("abc", always)] == [5]


def test_an_unknown_token_that_is_missing_is_an_error_only_where_it_is_needed() -> None:
    model = BPE(VOCAB, MERGES, unk_token="<unk>")  # noqa: S106 - no secret
    assert ids(model, "abc") == [5]
    with pytest.raises(SymbolError, match=r"^unk_token must be in the vocabulary to stand for 'x'"):
        model.tokenize("x")


def test_an_empty_piece_has_no_tokens_even_if_the_empty_text_is_one() -> None:
    assert BPE({"": 0}, [], ignore_merges=True).tokenize("") == []


def test_a_long_piece_takes_no_quadratic_time() -> None:
    model = BPE(VOCAB, MERGES)
    assert model.ids("abc" * 100_000) == [5] * 100_000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dropout": 1.5}, "dropout must be from 0 to 1, got 1.5"),
        ({"dropout": math.nan}, "dropout must be from 0 to 1, got nan"),
        ({"vocab": {"a": -1}, "merges": []}, "vocab must hold ids from 0 to 4294967295, got -1"),
        ({"vocab": {"a": 1 << 32}, "merges": []}, "vocab must hold ids from 0 to 4294967295"),
        ({"vocab": {"a": 1, "b": 1}, "merges": []}, "vocab must give each id to one token, but 1"),
        ({"merges": [("a", "x")]}, "merges[0] must be of tokens and make a token of the"),
        ({"merges": [("a", "b"), ("c", "a")]}, "but 'ca' is none"),
        (
            {"merges": [("a", "b")], "continuing_subword_prefix": "##"},
            "merges[0] must have a right side no shorter than continuing_subword_prefix, got 'b'",
        ),
    ],
)
def test_what_makes_no_model_is_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        BPE(**{"vocab": VOCAB, "merges": MERGES, **change})  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_dropout_without_random_numbers_is_an_error() -> None:
    with pytest.raises(ParameterError, match=r"^draw must be given, as dropout is 0.1, got None"):
        BPE(VOCAB, MERGES, dropout=0.1).tokenize("abc")


def frequencies(sample: Callable[[], tuple[int, ...]], count: int) -> Counter[tuple[int, ...]]:
    return Counter(sample() for _ in range(count))


@pytest.mark.parametrize(("piece", "dropout"), [("abcabc", 0.3), ("abab", 0.5), ("bcabcc", 0.8)])
def test_dropout_has_the_librarys_distribution(piece: str, dropout: float) -> None:
    """The statistic of two samples of 20,000 each exceeds the bound in one run of 10^7 or fewer.

    The library cannot be seeded, so the bound is generous: with k outcomes the statistic is
    chi-square with k - 1 degrees of freedom, and P(chi2(d) > d + 2 sqrt(d x) + 2 x) <= exp(-x)
    (Laurent and Massart, "Adaptive estimation of a quadratic functional", 2000, lemma 1).
    """
    ours = BPE(VOCAB, MERGES, dropout=dropout)
    content = {"vocab": VOCAB, "merges": MERGES, "type": "BPE", "dropout": dropout}
    theirs = engine(document(content)).model
    draw = random.Random(7).random
    count = 20_000
    a = frequencies(lambda: tuple(ours.ids(piece, draw)), count)
    b = frequencies(lambda: tuple(token.id for token in theirs.tokenize(piece)), count)
    # Outcomes too rare for the approximation are counted as one.
    common = [outcome for outcome in a | b if a[outcome] + b[outcome] >= 20]
    cells = [(a[outcome], b[outcome]) for outcome in common]
    cells.append((count - sum(x for x, _ in cells), count - sum(y for _, y in cells)))
    cells = [cell for cell in cells if any(cell)]
    statistic = sum((x - y) ** 2 / (x + y) for x, y in cells)
    degrees, x = len(cells) - 1, math.log(1e7)
    assert degrees > 2
    assert statistic <= degrees + 2 * math.sqrt(degrees * x) + 2 * x


def test_a_different_dropout_would_be_noticed() -> None:
    draw = random.Random(7).random
    models = [BPE(VOCAB, MERGES, dropout=dropout) for dropout in (0.3, 0.35)]
    a, b = (Counter(tuple(m.ids("abcabc", draw)) for _ in range(5000)) for m in models)
    assert sum((a[key] - b[key]) ** 2 / (a[key] + b[key]) for key in a | b) > 60
