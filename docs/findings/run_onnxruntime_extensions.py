"""Run the findings about onnxruntime-extensions."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from onnxruntime_extensions.pp_api import Tokenizer

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return ascii(action())
    except Exception as error:
        return type(error).__name__


def opened(words: list[str], merges: list[list[str]] | list[str], **parts: object) -> Tokenizer:
    """Return the tokenizer of words in the order of their ids, and other parts of the file."""
    model = {"type": "BPE", "vocab": {word: i for i, word in enumerate(words)}, "merges": merges}
    content = {"version": "1.0", "added_tokens": [], "model": model, "decoder": BYTE_LEVEL}
    content |= {"pre_tokenizer": BYTE_LEVEL, **parts}
    with TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(json.dumps(content))
        config = {"tokenizer_class": "PreTrainedTokenizerFast"}
        Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
        return Tokenizer(folder)


def ids(text: str, words: list[str], merges: list[list[str]], **parts: object) -> str:
    """Return the ids of a text."""
    return outcome(lambda: list(opened(words, merges, **parts).tokenize(text)))


def text(numbers: list[int], words: list[str], **parts: object) -> str:
    """Return the text of tokens."""
    return outcome(lambda: opened(words, [], **parts).detokenize(numbers)[0])


def ended(name: str) -> str:
    """Return how a process ends that opens the files below."""
    try:
        done = subprocess.run([sys.executable, __file__, name], check=False, timeout=3)
    except subprocess.TimeoutExpired:
        return "no end"
    return "a tokenizer" if done.returncode == 0 else "the process is aborted"


def version_line() -> tuple[str, str]:
    return "a tokenizer", ended("version_line")


def high_id() -> tuple[str, str]:
    return "a tokenizer", ended("high_id")


def merge_order() -> tuple[str, str]:
    return "[2, 1]", ids("aaaaa", ["a", "aa", "aaa"], [["aa", "a"], ["a", "aa"], ["a", "a"]])


def missing_letter() -> tuple[str, str]:
    return "[0]", ids("ab", ["a"], [])


def nul() -> tuple[str, str]:
    return "[0, 1, 0]", ids("a\0a", ["a", "\u0100"], [])


def token_without_merges() -> tuple[str, str]:
    return "[0, 1]", ids("ab", ["a", "b", "ab"], [])


def pattern_not_wanted() -> tuple[str, str]:
    return "[2, 3]", ids("!ab", ["a", "!", "!a", "b"], [["!", "a"]])


def prefix_space() -> tuple[str, str]:
    part = {**BYTE_LEVEL, "add_prefix_space": True}
    return "[1, 0]", ids("a", ["a", "\u0120"], [], pre_tokenizer=part)


def normalizer() -> tuple[str, str]:
    return "[0]", ids("A", ["a", "A"], [], normalizer={"type": "Lowercase"})


def digits() -> tuple[str, str]:
    parts = [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]
    part = {"type": "Sequence", "pretokenizers": parts}
    return "[0, 0]", ids("11", ["1", "11"], [["1", "1"]], pre_tokenizer=part)


def added_token_begins() -> tuple[str, str]:
    token = {**FLAGS, "id": 2, "content": "bbb"}
    return "[0, 1, 1]", ids("abb", ["a", "b", "bbb"], [], added_tokens=[token])


def invalid_byte() -> tuple[str, str]:
    return "'\\ufffda'", text([0, 1], ["\u00c3", "a"])


def no_text() -> tuple[str, str]:
    return "''", text([7], ["a"])


FINDINGS = [
    version_line,
    high_id,
    merge_order,
    missing_letter,
    nul,
    token_without_merges,
    pattern_not_wanted,
    prefix_space,
    normalizer,
    digits,
    added_token_begins,
    invalid_byte,
    no_text,
]

if __name__ == "__main__":
    if sys.argv[1:] == ["version_line"]:
        opened(["a", "b", "ab"], ["#version: 0.2", "a b"])
        sys.exit()
    if sys.argv[1:] == ["high_id"]:
        for count in range(1, 200):
            vocab = {f"<token {at}, with a long name>": at + 1 for at in range(count)}
            opened([], [], model={"type": "BPE", "vocab": vocab, "merges": []})
        sys.exit()
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
