"""Run the findings about kitoken."""

import json
import os
from collections.abc import Callable

from kitoken import Kitoken

GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def tokenizer(tokens: str, merges: list[list[str]], **parts: object) -> Kitoken:
    """Return the tokenizer of words in the order of their ids, and other parts of the file."""
    model = {"type": "BPE", "vocab": {word: i for i, word in enumerate(tokens.split("|"))}}
    content = {"version": "1.0", "added_tokens": [], "model": {**model, "merges": merges}, **parts}
    return Kitoken.from_tokenizers(json.dumps(content).encode())


def merges_not_listed() -> tuple[str, str]:
    return "[0, 1]", outcome(lambda: tokenizer("a|b|ab", []).encode("ab"))


def whole_pieces() -> tuple[str, str]:
    merges = [["b", "c"]]
    return "[0, 3]", outcome(lambda: tokenizer("a|b|c|bc|abc", merges).encode("abc"))


def duplicate_merge() -> tuple[str, str]:
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    return "[0, 4]", outcome(lambda: tokenizer("a|b|c|ab|bc", merges).encode("abc"))


def missing_letter() -> tuple[str, str]:
    return "an error", outcome(lambda: tokenizer("a", []).encode("x"))


def white_space_split() -> tuple[str, str]:
    made = tokenizer("a|b| ", [], pre_tokenizer={"type": "WhitespaceSplit"})
    return "[0, 1]", outcome(lambda: made.encode("a b"))


def long_run_of_spaces() -> tuple[str, str]:
    split = {"type": "Split", "pattern": {"Regex": GPT4}, "behavior": "Isolated", "invert": False}
    made = tokenizer("a| ", [], pre_tokenizer=split)
    child = os.fork()
    if not child:
        os.close(2)
        made.encode(" " * 1_000_000 + "a")
        os._exit(0)
    signalled = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return "1000001 tokens", "the process is aborted" if signalled else "1000001 tokens"


FINDINGS = [
    merges_not_listed,
    whole_pieces,
    duplicate_merge,
    missing_letter,
    white_space_split,
    long_run_of_spaces,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
