"""Run the findings about fastokens."""

import json
from collections.abc import Callable

from fastokens import Tokenizer

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def opened(tokens: dict[str, int], merges: list[list[str]], **parts: object) -> Tokenizer:
    """Return a tokenizer with other parts of the file."""
    model = {"type": "BPE", "vocab": tokens, "merges": merges, **parts.pop("model", {})}
    content = {"version": "1.0", "added_tokens": [], "model": model, **parts}
    return Tokenizer.from_json_str(json.dumps(content))


def ids(text: str, words: list[str], merges: list[list[str]], **parts: object) -> str:
    """Return the ids of a text. The tokens are words in the order of their ids."""
    tokens = {word: i for i, word in enumerate(words)}
    return outcome(lambda: opened(tokens, merges, **parts).encode(text).ids)


def text(numbers: list[int], words: list[str], **parts: object) -> str:
    """Return the text of tokens."""
    tokens = {word: i for i, word in enumerate(words)}
    return outcome(lambda: opened(tokens, [], **parts).decode(numbers))


def split(pattern: str) -> dict[str, object]:
    """Return the pre-tokenizer that cuts at a pattern, and then spells bytes as letters."""
    part = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    return {"type": "Sequence", "pretokenizers": [{**part, "invert": False}, BYTE_LEVEL]}


def mongolian_separator() -> tuple[str, str]:
    words = ["\u0120", "\u0120\u0120", "\u00e1", "\u0142", "\u0130"]  # a space, and U+180E
    parts = {"pre_tokenizer": split(r"\s+(?!\S)|\s+|\S+"), "decoder": BYTE_LEVEL}
    return "[0, 0, 2, 3, 4]", ids("  \u180e", words, [["\u0120", "\u0120"]], **parts)


def token_with_a_missing_letter() -> tuple[str, str]:
    return "[0]", ids("ab", ["a", "ab"], [])


def line_start() -> tuple[str, str]:
    part = {"type": "Replace", "pattern": {"Regex": "^b"}, "content": "x"}
    return "[0, 2, 3]", ids("a\nb", ["a", "b", "\n", "x"], [], normalizer=part)


def no_decoder() -> tuple[str, str]:
    return "'a b'", text([0, 1], ["a", "b"])


def byte_with_a_sign() -> tuple[str, str]:
    return r"'\x01'", text([0], ["<0x+1>"], decoder={"type": "ByteFallback"})


def ids_with_a_gap() -> tuple[str, str]:
    return "[0, 2]", outcome(lambda: opened({"a": 0, "b": 2}, []).encode("ab").ids)


FINDINGS = [
    mongolian_separator,
    token_with_a_missing_letter,
    line_start,
    no_decoder,
    byte_with_a_sign,
    ids_with_a_gap,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
