"""The vocabulary that comes with the package: frozen, clean, and worth testing with."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import cast

import pytest
import tiktoken

from authoring.tables.make_tiny import train_tiny
from bpe_ref import ENCODERS, Vocabulary, tokenizer_of
from bpe_ref.auditing import audit
from bpe_ref.encoders import NOT_BPE
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.tiny import (
    TINY_SIZE,
    TINY_SPECIAL_TOKENS,
    TINY_TEXT_RULES,
    tiny_corpus,
    tiny_vocabulary,
)

FILE = files("bpe_ref") / "data" / "tiny.tiktoken"


@cache
def tiny() -> Vocabulary:
    return tiny_vocabulary()


@cache
def learned() -> set[bytes]:
    return {content for token, content in tiny().tokens.items() if token >= 256}


@cache
def learned_texts() -> set[str]:
    """Return the learned tokens that are whole characters."""
    return {
        content.decode()
        for content in learned()
        if content.decode(errors="ignore").encode() == content
    }


# ---- frozen


def test_training_tiny_anew_makes_the_file_byte_for_byte(tmp_path: Path) -> None:
    vocabulary = train_tiny()
    path = tmp_path / "tiny.tiktoken"
    write_tiktoken({content: token for token, content in vocabulary.tokens.items()}, path)
    assert path.read_bytes() == FILE.read_bytes()
    assert vocabulary.digest() == tiny().digest()


def test_the_file_and_the_corpus_are_the_ones_that_everybody_has() -> None:
    assert sha256(FILE.read_bytes()).hexdigest() == (
        "9df13a6f970b75981d0f341e25a06392530deae6c59ef0dfa6bf6fea06fa3731"
    )
    assert sha256(tiny_corpus().encode()).hexdigest() == (
        "b7ff3b0227b6883da47e8327799169ea99b234e15350071950f63dda782c6752"
    )


def test_tiny_means_what_it_always_meant() -> None:
    assert tiny().digest() == (
        "sha256:f19c45c33926f009a72f590fc96cef7974683c598c92e19218d9acc48854697f"
    )


# ---- clean


def test_ids_are_the_bytes_then_what_was_learned_then_the_special_tokens() -> None:
    assert sorted(tiny().tokens) == list(range(TINY_SIZE))
    assert [tiny().tokens[byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert list(tiny().special_tokens.items()) == [
        ("<|endoftext|>", 2000),
        ("<|fim_prefix|>", 2001),
        ("<|fim_middle|>", 2002),
        ("<|fim_suffix|>", 2003),
    ]
    assert len(TINY_SPECIAL_TOKENS) == 4


def test_text_is_cut_as_by_cl100k_base() -> None:
    assert tiny().text == TINY_TEXT_RULES
    assert tiny().text.whole_piece


def test_an_audit_of_tiny_finds_nothing() -> None:
    found = audit(tiny())
    assert (found.dead_tokens, found.improper_tokens, found.holes) == ((), (), ())
    assert (found.missing_bytes, found.ids_follow_ranks) == (b"", True)


def test_its_corpus_survives_encoding_and_decoding() -> None:
    tokenizer = tokenizer_of(tiny())
    assert tokenizer.decode(tokenizer.encode(tiny_corpus(), special="ordinary")) == tiny_corpus()


def test_all_encoders_agree_on_its_corpus() -> None:
    pieces = {
        piece.encode() for piece in tokenizer_of(tiny()).pieces(tiny_corpus(), special="ordinary")
    }
    exact = [encode for name, encode in ENCODERS.items() if name not in NOT_BPE]
    for piece in pieces:
        symbols = tiny().symbols(piece)
        assert len({tuple(encode(tiny(), symbols)) for encode in exact}) == 1


def test_tiktoken_encodes_its_corpus_the_same() -> None:
    engine = tiktoken.Encoding(
        "tiny",
        pat_str=cast("str", TINY_TEXT_RULES.pattern),
        mergeable_ranks={content: token for token, content in tiny().tokens.items()},
        special_tokens=dict(tiny().special_tokens),
    )
    text = tiny_corpus() + "<|fim_middle|>"
    tokenizer = tokenizer_of(tiny())
    assert tokenizer.encode(text, special="ordinary") == engine.encode_ordinary(text)
    ours = tokenizer.encode(text)
    assert ours == engine.encode(text, allowed_special="all")


def test_every_learned_token_is_used_by_its_corpus_or_made_into_one_that_is() -> None:
    used = set(tokenizer_of(tiny()).encode(tiny_corpus(), special="ordinary"))
    splits = audit(tiny()).splits
    for token in sorted(splits, reverse=True):
        if token in used:
            used |= set(splits[token])
    assert used >= set(range(256, TINY_SIZE))


# ---- worth testing with


@pytest.mark.parametrize(
    "token",
    [
        *("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"),
        *("'S", "'T", "'RE", "'VE", "'M", "'LL", "'D"),
        *(" the", " and", " of", " tokenizer", " implementation", "ther", "Hello"),
        *("  ", "   ", "    ", "       ", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\t\t"),
        *("  \n", " token", " encoding"),
        *("10", "20", "64", "99", "000", "123", "200", "255"),
        *("();\n", ");\n", " {\n", " ==", "->", "::", "//", " return", " def", " self", "```"),
        *(
            "다",
            "니다",
            " 있습니다",
            "す",
            "日",
            "的",
            "中国",
            "本語",
            "еловек",
            " не",
            " είναι",
            " και",
        ),
        *("á", "é", "ß", "ö", "ة", " ال", "ר", " של", "ा", "่", " —", "─", "🎉", "👍"),
    ],
)
def test_tiny_has_the_tokens_that_tests_need(token: str) -> None:
    assert token.encode() in learned()


def test_characters_of_two_three_and_four_bytes_are_whole_tokens() -> None:
    lengths = {len(text.encode()) for text in learned_texts() if len(text) == 1}
    assert lengths >= {2, 3, 4}


def test_many_characters_fall_apart_into_tokens() -> None:
    part_of_a_character = learned() - {text.encode() for text in learned_texts()}
    assert len(part_of_a_character) > 200
    for text in ["🌍", "🦀", "ש", "한국", "뷁", "𠮷", "Ω"]:
        assert len(tokenizer_of(tiny()).encode(text, special="ordinary")) > 1


def test_there_are_hundreds_of_tokens_that_two_tokens_make_in_several_ways() -> None:
    known = set(tiny().tokens.values())
    ways = [
        sum(content[:cut] in known and content[cut:] in known for cut in range(1, len(content)))
        for content in learned()
    ]
    assert sum(way > 1 for way in ways) > 300


def test_greedy_and_minimal_are_caught_on_its_corpus() -> None:
    pieces = {
        piece.encode() for piece in tokenizer_of(tiny()).pieces(tiny_corpus(), special="ordinary")
    }
    for name in NOT_BPE:
        wrong = [
            piece
            for piece in pieces
            if ENCODERS[name](tiny(), tiny().symbols(piece))
            != ENCODERS["naive"](tiny(), tiny().symbols(piece))
        ]
        assert len(wrong) > 100
