"""Run the findings about gigatoken."""

import json
import os
import resource
from collections.abc import Callable

os.environ["RUST_BACKTRACE"] = "0"

from gigatoken import Tokenizer

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
SHOWN = {*range(33, 127), *range(161, 173), *range(174, 256)}
HIDDEN = [byte for byte in range(256) if byte not in SHOWN]
LETTERS = {byte: chr(byte) for byte in SHOWN} | {b: chr(256 + i) for i, b in enumerate(HIDDEN)}
"""The letters of the byte-level alphabet; a space is U+0120."""


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def opened(words: list[str], merges: list[list[str]], **parts: object) -> Tokenizer:
    """Return a tokenizer with all bytes, and words from 256 on."""
    vocab = {LETTERS[byte]: byte for byte in range(256)}
    vocab |= {word: 256 + i for i, word in enumerate(words)}
    model = {"type": "BPE", "vocab": vocab, "merges": merges}
    content = {"version": "1.0", "added_tokens": [], "model": model, "decoder": BYTE_LEVEL}
    return Tokenizer.from_json(json.dumps({**content, "pre_tokenizer": BYTE_LEVEL, **parts}))


def ids(text: str, words: list[str], merges: list[list[str]], **parts: object) -> str:
    """Return the ids of a text, through the wrapper that is like Hugging Face's."""
    made = opened(words, merges, **parts)
    return outcome(lambda: made.as_hf().encode(text, add_special_tokens=False))


def duplicate_merge() -> tuple[str, str]:
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    return "[97, 257]", ids("abc", ["ab", "bc"], merges)


def single_word() -> tuple[str, str]:
    flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "special"), False)
    token = {**flags, "id": 256, "content": "b", "single_word": True}
    return "[97, 98]", ids("ab", [], [], added_tokens=[token])


def pattern_not_wanted() -> tuple[str, str]:
    part = {**BYTE_LEVEL, "use_regex": False}
    words = ["\u0120\u0120"]  # two spaces
    return "[97, 256, 98]", ids("a  b", words, [["\u0120", "\u0120"]], pre_tokenizer=part)


def unknown_token() -> tuple[str, str]:
    model = {"type": "BPE", "vocab": {"a": 0, "<unk>": 1, "<0x62>": 2}, "merges": []}
    model |= {"byte_fallback": True, "unk_token": "<unk>"}
    made = Tokenizer.from_json(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    return "[0, 1]", outcome(lambda: made.encode("ac").tolist())


def unknown_id() -> tuple[str, str]:
    return "an error", outcome(lambda: opened([], []).as_hf().decode([256]))


def high_id() -> tuple[str, str]:
    child = os.fork()
    if not child:
        os.close(2)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))
        words = [LETTERS[byte] for byte in range(256)]
        vocab = {word: i for i, word in enumerate(words)} | {"ab": 1 << 31}
        model = {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]]}
        content = {"version": "1.0", "added_tokens": [], "model": model, "decoder": BYTE_LEVEL}
        Tokenizer.from_json(json.dumps({**content, "pre_tokenizer": BYTE_LEVEL}))
        os._exit(0)
    signalled = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return "a tokenizer", "the process is aborted" if signalled else "a tokenizer"


FINDINGS = [duplicate_merge, single_word, pattern_not_wanted, unknown_token, unknown_id, high_id]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
