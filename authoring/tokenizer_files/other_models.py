"""Tokenizers for the models that do not merge: Unigram, WordPiece and WordLevel."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from authoring.tokenizer_files.document import (
    BYTE_TOKENS,
    Content,
    Described,
    component,
    described,
    metaspace,
    sequence,
)

_WORDS: Final = component("WhitespaceSplit")
_SPACED: Final = metaspace("always")
_PROSE: Final[Mapping[str, float]] = {
    "\u2581": -2.0,
    **dict.fromkeys("abcdefghilmnorstuvw.,'", -6.0),
    "\u2581the": -3.0,
    "the": -4.5,
    "\u2581t": -4.0,
    "he": -4.5,
    "\u2581other": -7.0,
    "\u2581o": -4.5,
    "ther": -5.5,
    "er": -3.5,
    "\u2581hand": -6.5,
    "\u2581and": -3.25,
    "an": -4.0,
    "and": -4.75,
    "in": -3.75,
    "ing": -4.25,
    "s": -3.0,
    "th": -5.0,
}


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    yield described(
        "unigram",
        "The tokens are those with the largest sum of scores",
        _unigram(_PROSE),
        pre_tokenizer=_SPACED,
        decoder=_SPACED,
    )
    yield described(
        "unigram_whole",
        "The tokens are those with the largest sum of scores, and nothing cuts the text",
        _unigram({**_PROSE, " ": -2.0, " the": -3.0, "e o": -5.0}),
    )
    yield described(
        "unigram_ties",
        "Of two equal sums the one counts whose last token is longer",
        _unigram(dict.fromkeys(["a", "b", "c", "ab", "bc", "abc", "cab", "aa", "bb"], -1.0)),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "unigram_near_ties",
        "Scores differ by less than a 32-bit float can hold",
        _unigram({"a": -1.0, "b": -1.0, "c": -2e-9, "ab": -2.0, "bc": -1 - 3e-9}),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "unigram_unknown",
        "An unknown character has the lowest score minus 10, and several are one token",
        _unigram({"a": 4.0, "b": 4.0, "abé": -12.0, "bé": -14.0, "éa": -3.0, "££": -16.0}),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "unigram_unknown_score",
        "The score of the unknown token itself counts only where the text spells it",
        _unigram({"a": 12.0, "b": -8.0, "xa": -20.0, "un": -1.0, "k>": -1.0}, unknown=-25.0),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "unigram_bytes",
        "An unknown text becomes its bytes, each of which covers all of it",
        _unigram({**dict.fromkeys(BYTE_TOKENS, 0.0), **_PROSE}, byte_fallback=True),
        pre_tokenizer=_SPACED,
        decoder=sequence("decoders", component("ByteFallback"), _SPACED),
    )
    some = [f"<0x{byte:02X}>" for byte in (0x78, 0xC3, 0xA9, 0xE6, 0x97)]
    yield described(
        "unigram_bytes_partial",
        "Of the bytes five are tokens, so that other texts stay unknown as a whole",
        _unigram({**dict.fromkeys(some, -2.0), "a": -1.0, "b": -1.5}, byte_fallback=True),
        pre_tokenizer=_WORDS,
    )
    untyped = _unigram({"a": -1.0, "b": -2.0, "ab": -2.5})
    yield described(
        "unigram_without_type",
        "A model without a type whose vocab is a list is a Unigram model",
        {key: untyped[key] for key in ("unk_id", "vocab")},
        pre_tokenizer=_WORDS,
    )
    prose = ["the", "th", "t", "h", "a", "and", "an", "other", "in", "un", "é", "日", "#"]
    inner = ["##e", "##he", "##er", "##d", "##ing", "##in", "##g", "##n", "##s", "##a", "##é"]
    yield described(
        "word_piece",
        "A word is divided into the longest tokens that fit, from the left",
        _word_piece([*prose, *inner, "##本", "##t", "##h", "##and", "."]),
        pre_tokenizer=component("BertPreTokenizer"),
        decoder=component("WordPiece", prefix="##", cleanup=True),
    )
    yield described(
        "word_piece_greedy",
        "The longest token is taken even if the rest of the word then cannot be divided",
        _word_piece(
            ["a", "ab", "abc", "abcd", "##de", "##b", "##c", "##cd", "##d", "##bcd", "é", "##é"]
        ),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "word_piece_limit",
        "A word of more than five characters is unknown, even if it is a token",
        _word_piece(["a", "##a", "é", "##é", "aaaaa", "aaaaaa", "日", "##日"], limit=5),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "word_piece_no_prefix",
        "The tokens that continue a word have no prefix",
        _word_piece(["the", "t", "he", "r", "e", "o", "s", "é"], prefix=""),
        pre_tokenizer=_WORDS,
    )
    untyped = _word_piece(["a", "##b", "ab"])
    yield described(
        "word_piece_without_type",
        "A model without a type but with a prefix and a limit is a WordPiece model",
        {key: untyped[key] for key in untyped if key != "type"},
        pre_tokenizer=_WORDS,
    )
    words = ["<unk>", "the", "The", "other", "and", "a", "é", "日本", ".", "hand"]
    yield described(
        "word_level",
        "A word that is no token is unknown",
        {"type": "WordLevel", "unk_token": "<unk>", "vocab": _numbered(words)},
        pre_tokenizer=component("Whitespace"),
    )
    yield described(
        "word_level_without_type",
        "A model without a type that has a vocabulary and an unknown token is a WordLevel model",
        {"unk_token": "a", "vocab": _numbered(words)},
        pre_tokenizer=_WORDS,
    )


def _unigram(
    scores: Mapping[str, float], *, unknown: float = 0.0, byte_fallback: bool = False
) -> Content:
    """Return a Unigram model; its first token is the unknown one."""
    vocab = [["<unk>", unknown], *([token, score] for token, score in scores.items())]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": byte_fallback}


def _word_piece(tokens: Iterable[str], *, prefix: str = "##", limit: int = 100) -> Content:
    """Return a WordPiece model; its first token is the unknown one."""
    return {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": limit,
        "vocab": _numbered(["[UNK]", *tokens]),
    }


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
