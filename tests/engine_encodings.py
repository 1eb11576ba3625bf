"""The encodings of Hugging Face tokenizers, asked for all they know, to compare with ours."""

import json
import os
from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st
from tokenizers import Tokenizer

from bpe_ref.encoding import Encoding
from bpe_ref.errors import BpeError

os.environ["RUST_BACKTRACE"] = "0"  # where the library panics, it spends most of the time on these

WORDS: Final = (
    *("a", "b", "Ġc", "Ġ", "ĠĠ", "dĠ", "ĠeĠ", " ", "  f", "g \u3000", "\u200b", "héĠ"),
    *("▁i", "\x1cj", "ĠĠk", "Ġ \n", "long", "longer"),
)
"""Tokens with white space at either end, as byte letters and as it is."""

FAILED: Final = "failed"
"""The answer of an engine that raises or panics, and ours that raises a `BpeError`."""


def tokenizer_of(**parts: object) -> Tokenizer:
    """Return the library's tokenizer of the words above, of which "|" stands between two."""
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "|"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "a",
        },
        **parts,
    }
    return Tokenizer.from_str(json.dumps(content))


def answer(ask: Callable[[], object], *, failures: type[BaseException]) -> object:
    """Return what a call returns, or `FAILED`."""
    try:
        return ask()
    except failures:
        return FAILED


def engine_answer(ask: Callable[[], object]) -> object:
    """Return the engine's answer. Its panics are a `BaseException`."""
    return answer(ask, failures=BaseException)


def our_answer(ask: Callable[[], object]) -> object:
    return answer(ask, failures=BpeError)


_PLAIN: Final = tokenizer_of()


def encoded(words: list[str]) -> Any:
    """Return the library's untruncated encoding, with nothing added."""
    return _PLAIN.encode("|".join(words))


def ours(encoding: Any) -> Encoding:
    """Return the same as ours; it must be of one text, with no ranges and nothing overflowing."""
    rows = zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids, strict=True)
    return Encoding.of(rows)


def words() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(WORDS), max_size=7)


def shown(encoding: Any, *, engine: bool) -> dict[str, object]:
    """Return all that an encoding can be asked for, and the fields of its overflowing parts."""
    size = len(encoding)
    return {
        **fields_of(encoding, engine=engine),
        "token_to_chars": [encoding.token_to_chars(token) for token in range(size + 2)],
        "token_to_word": [encoding.token_to_word(token) for token in range(size + 2)],
        "is_in_sequence": [
            encoding.token_to_sequence(token) is not None for token in range(size + 2)
        ],
        "by_sequence": [_by_sequence(encoding, sequence) for sequence in range(3)],
    }


def fields_of(encoding: Any, *, engine: bool) -> dict[str, object]:
    """Return the fields of an encoding, and those of its overflowing parts."""
    return {
        "ids": list(encoding.ids),
        "type_ids": list(encoding.type_ids),
        "tokens": list(encoding.tokens),
        "words": list(encoding.word_ids if engine else encoding.words),
        "offsets": list(encoding.offsets),
        "special_tokens_mask": list(encoding.special_tokens_mask),
        "attention_mask": list(encoding.attention_mask),
        "n_sequences": encoding.n_sequences,
        "sequence_ids": list(encoding.sequence_ids),
        "overflowing": [fields_of(part, engine=engine) for part in encoding.overflowing],
    }


def _by_sequence(encoding: Any, sequence: int) -> list[object]:
    places = range(0, 12, 2)
    return [
        [encoding.char_to_token(place, sequence) for place in places],
        [encoding.char_to_word(place, sequence) for place in places],
        [encoding.word_to_tokens(word, sequence) for word in range(5)],
        [encoding.word_to_chars(word, sequence) for word in range(5)],
    ]
