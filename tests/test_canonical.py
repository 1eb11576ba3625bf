"""Canonical ids, and why two tokens may not stand side by side."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    ParameterError,
    SymbolError,
    TextRules,
    TokenIdError,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.canonical import is_canonical
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.models.byte_bpe import encode_bytes
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.compatibility import compatible_by_definition
from bpe_ref.vocabulary.heap import encode_heap
from bpe_ref.vocabulary.pair_report import explain_pair, render_pair
from tests.real_vocabularies import real_vocabulary
from tests.strategies import vocabularies
from tests.texts import drawn, text_of
from tokenref.engines.reference import byte_model

SPECIALS = {"<s>": 900, "<s>x": 901, "ab": 902, "<|end|>": 903}


def by_definition(vocabulary: Vocabulary, ids: Sequence[int]) -> bool:
    piece = b"".join(vocabulary.tokens[token] for token in ids)
    try:
        symbols = vocabulary.symbols(piece)
    except SymbolError:
        return False
    return encode_naive(vocabulary, symbols) == list(ids)


@drawn(500)
@given(st.data(), vocabularies())
def test_ids_are_canonical_if_and_only_if_encoding_gives_them_back(
    data: st.DataObject, vocabulary: Vocabulary
) -> None:
    ids = data.draw(st.lists(st.sampled_from(list(vocabulary.tokens)), max_size=6))
    assert is_canonical(vocabulary, ids) == by_definition(vocabulary, ids)
    piece = b"".join(vocabulary.tokens[token] for token in ids)
    if all(chr(byte) in vocabulary.symbol_of_letter for byte in piece):
        assert is_canonical(vocabulary, encode_heap(vocabulary, vocabulary.symbols(piece)))


WORDS = [b"ab", b"abc", b" a", b"  ", b"\n\n", b"\xc3\xa9", b"\xa9", b"'s", b"a's", b"e\xcc\x81"]
PATTERNS = [None, *(REGISTRY[name].pattern for name in ("gpt2", "cl100k_base", "o200k_base"))]


@st.composite
def tokenizers(draw: st.DrawFn) -> Tokenizer:
    """Draw a tokenizer over all bytes, with a pattern or none, normalizing or not."""
    words = draw(st.lists(st.sampled_from(WORDS), unique=True))
    tokens = [*(bytes([byte]) for byte in range(256)), *words]
    if draw(st.integers(0, 3)) == 0:
        tokens.reverse()  # then merges come before their parts, and pieces are found whole only
    rules = TextRules(
        draw(st.sampled_from(PATTERNS)),
        normalization=draw(st.sampled_from([None, None, "nfc"])),
        whole_piece=draw(st.booleans()),
    )
    ranks = {content: rank for rank, content in enumerate(tokens)}
    chosen = draw(st.sets(st.sampled_from(sorted(SPECIALS))))
    return tokenizer_of(
        vocabulary_by_concatenation(
            ranks, text=rules, special_tokens={text: SPECIALS[text] for text in sorted(chosen)}
        )
    )


def again(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """Decode and encode: at special tokens' texts the text is cut, the rest is encoded."""
    data = tokenizer.decode_bytes(ids)
    try:
        return tokenizer.encode(data.decode())
    except UnicodeDecodeError:
        pass
    specials = vocabulary_of(tokenizer).special_tokens
    found, start = list[int](), 0
    while True:
        at, _, text = min(
            (
                (data.index(text.encode(), start), -len(text), text)
                for text in specials
                if text.encode() in data[start:]
            ),
            default=(len(data), 0, ""),
        )
        found += encode_bytes(tokenizer, data[start:at])
        if not text:
            return found
        found.append(specials[text])
        start = at + len(text.encode())


@drawn(300)
@given(st.data(), tokenizers())
def test_a_tokenizers_ids_are_canonical_if_and_only_if_text_gives_them_back(
    data: st.DataObject, tokenizer: Tokenizer
) -> None:
    vocabulary = vocabulary_of(tokenizer)
    if data.draw(st.booleans()):
        ids = [*vocabulary.special_tokens.values(), *range(256, len(vocabulary.tokens)), *b"abc'< "]
        ids = data.draw(st.lists(st.sampled_from(ids), max_size=8))
    else:
        text = data.draw(text_of("<s>", "ab", "<s>x", " a's", longest=6))
        ids = tokenizer.encode(text)
        assert is_canonical(tokenizer, ids) or vocabulary.text.normalization
        if ids:
            at = data.draw(st.integers(0, len(ids) - 1))
            other = data.draw(st.sampled_from([*vocabulary.special_tokens.values(), ids[at]]))
            ids[at : at + data.draw(st.integers(0, 2))] = [other]
    assert is_canonical(tokenizer, ids) == (again(tokenizer, ids) == ids)


@drawn(300)
@given(text_of(longest=8), st.data())
def test_ids_of_a_real_vocabulary_are_canonical_until_one_is_cut(
    text: str, data: st.DataObject
) -> None:
    tokenizer = tokenizer_of(real_vocabulary("cl100k_base"))
    ids = tokenizer.encode(text, special="ordinary")
    assert is_canonical(tokenizer, ids)
    if len(ids) > 1:
        at = data.draw(st.integers(0, len(ids) - 2))
        ids[at : at + 1] = [
            *byte_model(tokenizer).ids_of_bytes(tokenizer.decode_bytes([ids[at]])[:1]),
            ids[at],
        ]
        assert is_canonical(tokenizer, ids) == (again(tokenizer, ids) == ids)


@pytest.mark.parametrize("ids", [[99], [-1], [True], ["a"], [None]])
def test_an_id_of_no_token_is_an_error(ids: list[int]) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1})
    for of in (vocabulary, tokenizer_of(vocabulary)):
        with pytest.raises(TokenIdError, match="token id must be "):
            is_canonical(of, ids)


def test_what_is_no_row_of_ids_is_an_error() -> None:
    with pytest.raises(ParameterError, match="ids must be a sequence of token ids"):
        is_canonical(vocabulary_by_concatenation({b"a": 0}), 5)  # type: ignore[arg-type]


def test_special_ids_are_canonical_where_the_text_has_them() -> None:
    tokenizer = tokenizer_of(
        vocabulary_by_concatenation({b"a": 0, b"b": 1}, special_tokens={"ab": 5, "b": 6})
    )
    assert is_canonical(tokenizer, [0, 5, 6])
    assert not is_canonical(tokenizer, [0, 6])  # spells "ab", which is special as a whole
    assert not is_canonical(tokenizer, [0, 0, 1])
    assert not is_canonical(vocabulary_of(tokenizer), [5])


# ---- pairs


@drawn(300)
@given(st.data(), vocabularies())
def test_a_report_says_what_the_definition_says(
    data: st.DataObject, vocabulary: Vocabulary
) -> None:
    left, right = (data.draw(st.sampled_from(list(vocabulary.tokens))) for _ in range(2))
    try:
        symbols = [*vocabulary.symbols(vocabulary.tokens[left])]
        symbols += vocabulary.symbols(vocabulary.tokens[right])
    except SymbolError:
        with pytest.raises(SymbolError):
            explain_pair(vocabulary, left, right)
        return
    report = explain_pair(vocabulary, left, right)
    compatible = compatible_by_definition(vocabulary, left, right)
    assert (report.verdict == "compatible") == compatible
    assert list(report.encoding) == encode_naive(vocabulary, symbols)
    assert (report.met is None) == (report.merge is None) == (report.verdict != "crossed")
    sentences = render_pair(vocabulary, report)
    assert ("cannot" not in sentences) == compatible
    if report.met is not None and report.merge is not None:
        assert vocabulary.merge(*report.met) == report.merge
        # the two that met are the end and the beginning of the two tokens
        met = [vocabulary.tokens[token] for token in report.met]
        assert vocabulary.tokens[left].endswith(met[0])
        assert vocabulary.tokens[right].startswith(met[1])
        assert all(vocabulary.merge(*pair) == merge for pair, merge in report.undone)
        assert all(str(merge.rank) in sentences for _, merge in report.undone)


@drawn(150)
@given(st.data(), vocabularies())
def test_a_merge_that_crosses_comes_before_those_it_undoes(
    data: st.DataObject, vocabulary: Vocabulary
) -> None:
    """Where ranks rise on the way to both tokens, nothing undone has a lower rank."""
    left, right = (data.draw(st.sampled_from(list(vocabulary.tokens))) for _ in range(2))
    try:
        report = explain_pair(vocabulary, left, right)
    except SymbolError:
        return
    ranks = [merge.rank for _, merge in report.undone]
    if report.merge is not None and ranks == sorted(ranks):
        assert all(rank >= report.merge.rank for rank in ranks)


def test_a_token_that_is_never_made_is_named() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"abab": 2})
    assert explain_pair(vocabulary, 2, 0).verdict == "left never made"
    assert explain_pair(vocabulary, 0, 2).verdict == "right never made"
    assert "Merging never makes 'abab' (2)" in render_pair(
        vocabulary, explain_pair(vocabulary, 0, 2)
    )
    assert "can stand" in render_pair(vocabulary, explain_pair(vocabulary, 0, 1))


@pytest.mark.parametrize("token", [7, -1, True, "a", None, [0]])
def test_only_ordinary_tokens_have_a_report(token: object) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0}, special_tokens={"<s>": 7})
    with pytest.raises(TokenIdError, match="token id must be an ordinary one"):
        explain_pair(vocabulary, 0, token)  # type: ignore[arg-type]


def test_an_empty_row_is_canonical() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0})
    assert is_canonical(vocabulary, [])
    assert is_canonical(tokenizer_of(vocabulary), [])
