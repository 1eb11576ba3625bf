"""Tokenizers for the models that do not merge: Unigram, WordPiece and WordLevel."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from authoring.tokenizer_files.document import Content, Described, component, described, metaspace

_WORDS: Final = component("WhitespaceSplit")
_SPACED: Final = metaspace("always")
_PROSE: Final[Mapping[str, float]] = {
    "\u2581": -2.0,
    "\u2581the": -3.0,
    "\u2581t": -4.0,
    "\u2581o": -4.5,
    "he": -4.5,
    "t": -6.0,
    "o": -6.0,
    "r": -6.0,
    "h": -6.0,
    "e": -6.0,
    "th": -5.0,
    "er": -3.5,
    "ther": -9.5,
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
        "unigram_ties",
        "Of two equal sums the one counts whose last token is longer, also without a type",
        _untyped(_unigram(dict.fromkeys(["a", "b", "c", "ab", "bc", "cab", "aa"], -1.0))),
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
        "unigram_sums",
        "Two scores have a larger sum than the score of the whole, but an equal one in 32 bits",
        _unigram({"ab": -0.1, "c": -0.7, "abc": -0.8}),
        pre_tokenizer=_WORDS,
    )
    some = [f"<0x{byte:02X}>" for byte in (0x78, 0xC3, 0xA9, 0xE6, 0x97)]
    yield described(
        "unigram_bytes_partial",
        "Of the bytes five are tokens, so that other texts stay unknown as a whole",
        _unigram({**dict.fromkeys(some, -2.0), "a": -1.0, "b": -1.5}, byte_fallback=True),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "word_piece",
        "A word is divided into the longest tokens that fit, from the left",
        _word_piece(
            ["the", "th", "t", "a", "an", "and", "e", "s", "##e", "##s", "##es", "##é", "."]
        ),
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
        "A word of more than five characters is unknown, even a token; also without a type",
        _untyped(_word_piece(["a", "##a", "é", "##é", "aaaaaa"], limit=5)),
        pre_tokenizer=_WORDS,
    )
    words = ["<unk>", "the", "and"]
    yield described(
        "word_level",
        "A word that is no token is unknown, also without a type",
        {"unk_token": "<unk>", "vocab": _numbered(words)},
        pre_tokenizer=component("Whitespace"),
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


def _untyped(model: Content) -> Content:
    """Return a model without its type, by whose fields it is known."""
    return {key: value for key, value in model.items() if key != "type"}


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
