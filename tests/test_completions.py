"""Stable tokens and completions: all of them, and tiktoken's."""

from collections.abc import Sequence
from itertools import product

import pytest
import tiktoken
from hypothesis import assume, given
from hypothesis import strategies as st

from bpe_ref import (
    SpecialTokenError,
    SymbolError,
    TextRules,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.completions import covers, encode_with_unstable
from bpe_ref.growing.eager import EagerEncoder
from bpe_ref.models.byte_bpe import encode_bytes
from bpe_ref.registry import REGISTRY
from tests.real_vocabularies import real_vocabulary
from tests.strategies import vocabularies_and_pieces
from tests.texts import drawn

Tokens = tuple[int, ...]

PATTERNS = [
    REGISTRY[name].pattern for name in ("gpt2", "cl100k_base", "o200k_base", "voyage3_base")
]
ALPHABETS = ["a'r e", "a \n!", "aA'r", "\n a", "a1 !", "ab"]


def covers_by_definition(
    tokenizer: Tokenizer, text: str, letters: Sequence[bytes], most: int
) -> set[Tokens]:
    """Return the covers of all continuations of up to `most` letters."""
    data = text.encode()
    found: set[Tokens] = set()
    for length in range(most + 1):
        for continuation in product(letters, repeat=length):
            cover: list[int] = []
            covered = 0
            for token in encode_bytes(tokenizer, data + b"".join(continuation)):
                if covered >= len(data):
                    break
                cover.append(token)
                covered += len(vocabulary_of(tokenizer).tokens[token])
            found.add(tuple(cover))
    return found - {()}


@drawn(150)
@given(vocabularies_and_pieces(longest=7))
def test_a_vocabulary_alone_has_every_cover_and_no_other(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    letters = [letter.encode("latin-1") for letter in vocabulary.symbol_of_letter]
    longest = max(map(len, vocabulary.tokens.values()))
    assume(piece.isascii() and len(letters) ** longest <= 600)
    tokenizer = tokenizer_of(vocabulary)
    expected = covers_by_definition(tokenizer, piece.decode(), letters, longest - 1)
    assert covers(tokenizer, piece.decode()) == expected
    # the stable tokens are what an eager encoder has out, but for a token that ends the text
    stable, completions = encode_with_unstable(tokenizer, piece.decode())
    emitted = EagerEncoder(vocabulary).extend(piece)
    assert emitted[: len(stable)] == stable
    assert len(emitted) - len(stable) in {0, 1}
    assert {(*stable, *rest) for rest in completions} == expected


@st.composite
def small_tokenizers(draw: st.DrawFn) -> tuple[Tokenizer, str, list[bytes]]:
    """Draw a tokenizer with a pattern, a text over its letters, and the letters."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    letters = [*map(str.encode, alphabet)]
    letters += draw(st.sampled_from([[], [], [b"\xff"], [b"\xc3", b"\xa9"]]))
    words = draw(st.lists(st.lists(st.sampled_from(letters), min_size=2, max_size=3), max_size=6))
    tokens = list(dict.fromkeys([*letters, *map(b"".join, words)]))
    if draw(st.booleans()):
        tokens = draw(st.permutations(tokens))
    rules = TextRules(
        draw(st.sampled_from([None, *PATTERNS])), whole_piece=draw(st.sampled_from([True, False]))
    )
    ranks = {content: rank for rank, content in enumerate(tokens)}
    text = draw(st.text(alphabet, min_size=1, max_size=5))
    return tokenizer_of(vocabulary_by_concatenation(ranks, text=rules)), text, letters


@drawn(150)
@given(small_tokenizers())
def test_a_tokenizer_has_every_cover_and_no_other(case: tuple[Tokenizer, str, list[bytes]]) -> None:
    tokenizer, text, letters = case
    most = {2: 5, 3: 5, 4: 4, 5: 4}.get(len(letters), 3)
    assert covers(tokenizer, text) == covers_by_definition(tokenizer, text, letters, most)


@drawn(100)
@given(small_tokenizers())
def test_what_is_stable_is_stable_and_no_less_is(case: tuple[Tokenizer, str, list[bytes]]) -> None:
    tokenizer, text, letters = case
    stable, completions = encode_with_unstable(tokenizer, text)
    found = covers_by_definition(tokenizer, text, letters, 3)
    assert all(cover[: len(stable)] == tuple(stable) for cover in found)
    assert all(cover[len(stable) :] in completions for cover in found)
    assert all(completions)
    firsts = {rest[0] for rest in completions}
    assert len(firsts) > 1 or any(len(rest) == 1 for rest in completions)


SPECIALS = {"<|endoftext|>": 1000, "<b>": 1001}
ATOMS = [
    *("a", "b", "ab", "A", "'s", "'", "r", "e", " ", "  ", "\n", "\n\n", "\t", "!", "1", "23"),
    *("é", "你", "\u3000", "<b>", "<|endoftext|>", "\u00a0", "S"),
]
texts = st.lists(st.sampled_from(ATOMS), max_size=8).map("".join)


@st.composite
def both(draw: st.DrawFn) -> tuple[Tokenizer, tiktoken.Encoding]:
    """Draw the same vocabulary for us and for tiktoken."""
    parts = st.sampled_from([b"a", b"b", b" ", b"\n", b"'", b"s", b"!", b"\xe4\xbd", b"\xc3", b"r"])
    words = draw(st.lists(st.lists(parts, min_size=2, max_size=3).map(b"".join), max_size=12))
    tokens = list(dict.fromkeys([*(bytes([byte]) for byte in range(256)), *words]))
    ranks = {content: rank for rank, content in enumerate(tokens)}
    pattern = draw(st.sampled_from(PATTERNS))
    ours = vocabulary_by_concatenation(
        ranks, text=TextRules(pattern, whole_piece=True), special_tokens=SPECIALS
    )
    return tokenizer_of(ours), tiktoken.Encoding(
        "drawn", pat_str=pattern, mergeable_ranks=ranks, special_tokens=SPECIALS
    )


@drawn(250)
@given(both(), st.lists(texts, min_size=1, max_size=6))
def test_tiktokens_answer_is_given_on_request(
    pair: tuple[Tokenizer, tiktoken.Encoding], some: list[str]
) -> None:
    ours, engine = pair
    for text in some:
        stable, completions = encode_with_unstable(ours, text, complete=False)
        theirs = engine.encode_with_unstable(text, allowed_special="all")
        assert stable == theirs[0]
        assert completions == set(map(tuple, theirs[1]))


@drawn(60)
@given(both(), texts)
def test_what_tiktoken_misses_is_not_missing_here(
    pair: tuple[Tokenizer, tiktoken.Encoding], text: str
) -> None:
    """Each single character that may follow gives a completion that is listed."""
    ours, engine = pair
    stable, completions = encode_with_unstable(ours, text, special="ordinary")
    for following in ["", "a", " ", "\n", " a", "'s", "!", "1", "é", "你", "re"]:
        tokens = engine.encode_ordinary(text + following)
        assert tokens[: len(stable)] == stable
        rest = tokens[len(stable) :]
        assert not text or any(tuple(rest[: len(one)]) == one for one in completions)


def test_a_real_vocabulary_has_the_completions_of_tiktokens_documentation() -> None:
    tokenizer = tokenizer_of(real_vocabulary("cl100k_base"))
    engine = tiktoken.Encoding(
        "cl100k",
        pat_str=REGISTRY["cl100k_base"].pattern,
        mergeable_ranks={v: k for k, v in vocabulary_of(tokenizer).tokens.items()},
        special_tokens={},
    )
    for text in ("hello fanta", "I don'", "x  ", "today\n", "", "naïve 你"):
        stable, completions = encode_with_unstable(tokenizer, text, complete=False)
        theirs = engine.encode_with_unstable(text)
        assert (stable, completions) == (theirs[0], set(map(tuple, theirs[1])))
    stable, completions = encode_with_unstable(tokenizer, "hello fanta")
    assert tokenizer.decode(stable) == "hello"
    whole = tokenizer.encode("hello fantastic")
    assert tuple(whole[len(stable) :]) in completions


def test_text_ends_with_a_special_token_or_goes_on_after_it() -> None:
    vocabulary = vocabulary_by_concatenation(
        {b"a": 0, b"b": 1, b"ab": 2}, special_tokens={"<b>": 9}
    )
    tokenizer = tokenizer_of(vocabulary)
    for complete in (True, False):
        known = encode_with_unstable(tokenizer, "a<b>", complete=complete)
        assert known == ([0, 9], set())
        known = encode_with_unstable(tokenizer, "<b>a", complete=complete)
        assert known == ([9], {(0,), (2,)})
        with pytest.raises(SpecialTokenError, match="text must not spell a refused special"):
            encode_with_unstable(tokenizer, "a<b>", special="refuse", complete=complete)
        with pytest.raises(SymbolError, match="byte 0x78 at position 1"):
            encode_with_unstable(tokenizer, "ax", complete=complete)


def test_o200k_may_take_back_what_tiktoken_calls_stable() -> None:
    ranks = {b"a": 0, b"'": 1, b"s": 2, b"a'": 3, b"x": 4}
    rules = TextRules(REGISTRY["o200k_base"].pattern)
    tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, text=rules))
    assert encode_with_unstable(tokenizer, "a'", complete=False) == ([0], {(1,)})
    assert encode_with_unstable(tokenizer, "a'") == ([], {(0, 1), (3,)})
