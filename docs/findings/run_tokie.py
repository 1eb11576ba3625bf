"""Run the findings about tokie."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["RUST_BACKTRACE"] = "0"

from tokie import Tokenizer

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def opened(tokens: object, merges: list[list[str]], **parts: object) -> Tokenizer:
    """Return a tokenizer. Tokens are words in the order of their ids, or numbered."""
    vocab = tokens if isinstance(tokens, dict) else {word: i for i, word in enumerate(tokens)}
    model = {"type": "BPE", "vocab": vocab, "merges": merges, **parts.pop("model", {})}
    content = {"version": "1.0", "added_tokens": [], "model": model, **parts}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(content))
        return Tokenizer.from_json(str(path))


def ids(
    text: str, tokens: object, merges: list[list[str]], *, added: bool = False, **parts: object
) -> str:
    """Return the ids of a text."""
    return outcome(lambda: opened(tokens, merges, **parts).encode(text, added).ids)


def merges_not_listed() -> tuple[str, str]:
    return "[0, 1]", ids("ab", ["a", "b", "ab"], [])


def duplicate_merge() -> tuple[str, str]:
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    return "[0, 4]", ids("abc", ["a", "b", "c", "ab", "bc"], merges)


def rank_order() -> tuple[str, str]:
    return "[2, 0]", ids("aaaa", ["a", "aa", "aaa"], [["aa", "a"], ["a", "a"]])


def longest_token() -> tuple[str, str]:
    return "[4, 2, 3]", ids("abcd", ["a", "b", "c", "d", "ab", "abc"], [["a", "b"]])


def missing_letter() -> tuple[str, str]:
    return "[1]", ids("xb", ["a", "b"], [])


def unknown_token() -> tuple[str, str]:
    return "[0, 1, 0]", ids("axa", ["a", "<unk>"], [], model={"unk_token": "<unk>"})


def long_token() -> tuple[str, str]:
    words = ["d" * 2**k for k in range(9)]
    return "[8]", ids("d" * 256, words, [[word, word] for word in words[:-1]])


def text_in_the_middle() -> tuple[str, str]:
    found = ids("a" * 10_002, ["a", "aa"], [["a", "a"]])
    return "5001 tokens", f"{len(json.loads(found))} tokens"


def id_with_a_gap() -> tuple[str, str]:
    return "[0, 2]", ids("ab", {"a": 0, "b": 2}, [])


def merged_id_with_a_gap() -> tuple[str, str]:
    return "[5]", ids("ab", {"a": 0, "b": 1, "ab": 5}, [["a", "b"]])


def pre_tokenizers() -> tuple[str, str]:
    white_space = {"type": "WhitespaceSplit"}
    marks = {"type": "Punctuation", "behavior": "Isolated"}
    digits = {"type": "Digits", "individual_digits": True}
    found = [
        ids("a b", ["a", "b", " "], [], pre_tokenizer=white_space),
        ids("a!", ["a", "!", "a!"], [["a", "!"]], pre_tokenizer=marks),
        ids("11", ["1", "11"], [["1", "1"]], pre_tokenizer=digits),
    ]
    return "[0, 1], [0, 1], [0, 0]", ", ".join(found)


def split_by_pattern() -> tuple[str, str]:
    split = {"type": "Split", "pattern": {"Regex": "-"}, "behavior": "Removed", "invert": False}
    return "[0, 1]", ids("a-b", ["a", "b", "-"], [], pre_tokenizer=split)


def normalizers() -> tuple[str, str]:
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    replace = {"type": "Replace", "pattern": {"String": "x"}, "content": "a"}
    prepend = {"type": "Prepend", "prepend": "b"}
    found = [
        ids(" a", ["a", " "], [], normalizer=strip),
        ids("xb", ["a", "b"], [], normalizer=replace),
        ids("a", ["a", "b"], [], normalizer=prepend),
    ]
    return "[0], [0, 1], [1, 0]", ", ".join(found)


def bert_processing() -> tuple[str, str]:
    processor = {"type": "BertProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2]}
    return "[1, 0, 2]", ids("a", ["a", "<s>", "</s>"], [], added=True, post_processor=processor)


def truncation() -> tuple[str, str]:
    part = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    return "[0, 0]", ids("aaa", ["a"], [], truncation=part)


def suffix() -> tuple[str, str]:
    merges = [["a", "b</w>"]]
    model = {"end_of_word_suffix": "</w>"}
    return "[3]", ids("ab", ["a", "b", "b</w>", "ab</w>"], merges, model=model)


def byte_fallback() -> tuple[str, str]:
    words = ["a", "<0xC3>", "<0xA9>"]
    return "[1, 2]", ids("é", words, [], model={"byte_fallback": True})


def decoded_special_token() -> tuple[str, str]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    token = {**flags, "id": 1, "content": "<s>", "special": True}
    made = opened(["a"], [], added_tokens=[token], pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
    return "'<s>'", outcome(lambda: made.decode([1]))


def decoded_bytes() -> tuple[str, str]:
    made = opened(["a", "<0xC3>", "<0xA9>"], [], decoder={"type": "ByteFallback"})
    return "'\u00e9'", outcome(lambda: made.decode([1, 2]))


def contraction_after_tab() -> tuple[str, str]:
    words = ["s", "'", "\u0109", "'s"]  # a tab is spelled with U+0109
    parts = {"pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL}
    return "[2, 3]", ids("\t's", words, [["'", "s"]], **parts)


FINDINGS = [
    merges_not_listed,
    duplicate_merge,
    rank_order,
    longest_token,
    missing_letter,
    unknown_token,
    long_token,
    text_in_the_middle,
    id_with_a_gap,
    merged_id_with_a_gap,
    pre_tokenizers,
    split_by_pattern,
    normalizers,
    bert_processing,
    truncation,
    suffix,
    byte_fallback,
    decoded_special_token,
    decoded_bytes,
    contraction_after_tab,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
