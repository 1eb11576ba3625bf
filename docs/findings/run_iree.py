"""Run the findings about iree-tokenizer."""

import json
from collections.abc import Callable

from iree.tokenizer import Tokenizer

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}
ADDED = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return ascii(action())
    except BaseException as error:
        return type(error).__name__


def opened(words: list[str], merges: list[list[str]], **parts: object) -> Tokenizer:
    """Return the tokenizer of words in the order of their ids, and other parts of the file."""
    model = {"type": "BPE", "vocab": {word: i for i, word in enumerate(words)}, "merges": merges}
    more = parts.pop("model", {})
    content = {"version": "1.0", "added_tokens": [], "model": {**model, **more}, **parts}
    return Tokenizer.from_str(json.dumps(content))


def ids(text: str, words: list[str], merges: list[list[str]], **parts: object) -> str:
    """Return the ids of a text."""
    return outcome(lambda: opened(words, merges, **parts).encode(text))


def text(numbers: list[int], words: list[str], **parts: object) -> str:
    """Return the text of tokens."""
    return outcome(lambda: opened(words, [], **parts).decode(numbers))


def added(token: int, content: str, **flags: bool) -> dict[str, object]:
    """Return an added token."""
    return {**ADDED, "id": token, "content": content, **flags}


def split(pattern: str) -> dict[str, object]:
    """Return the pre-tokenizer that cuts at a pattern."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def merge_order() -> tuple[str, str]:
    words = ["a", "e", "n", "r", "ar", "ear", "arn", "earn"]
    return "[5, 2]", ids("earn", words, [["a", "r"], ["e", "ar"], ["ar", "n"], ["e", "arn"]])


def duplicate_merge() -> tuple[str, str]:
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    return "[0, 4]", ids("abc", ["a", "b", "c", "ab", "bc"], merges)


def character_of_two_tokens() -> tuple[str, str]:
    return ascii("\u00e9"), text([0, 1], ["\u00c3", "\u00a9"], decoder=BYTE_LEVEL)


def half_a_character() -> tuple[str, str]:
    return ascii("\ufffd"), text([0, 1], ["\u00e2", "\u0124"], decoder=BYTE_LEVEL)


def no_decoder() -> tuple[str, str]:
    return "'a b'", text([0, 1], ["a", "b"])


def stripped_decoder() -> tuple[str, str]:
    replace = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    part = {"type": "Sequence", "decoders": [replace, {"type": "Fuse"}, strip]}
    return "'a a'", text([0, 0], ["\u2581a"], decoder=part)


def truncation() -> tuple[str, str]:
    part = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    return "[0, 0]", ids("aaa", ["a"], [], truncation=part)


def padding() -> tuple[str, str]:
    part = {"strategy": {"Fixed": 3}, "direction": "Right", "pad_to_multiple_of": None}
    part |= {"pad_id": 1, "pad_type_id": 0, "pad_token": "b"}
    return "[0, 1, 1]", ids("a", ["a", "b"], [], padding=part)


def single_word() -> tuple[str, str]:
    tokens = [added(1, "word", single_word=True)]
    return "[0]", ids("_word", ["_", "word"], [], added_tokens=tokens)


def white_space_after() -> tuple[str, str]:
    tokens = [added(3, "<l>", rstrip=True)]
    return "[3, 0]", ids("<l> \na", ["a", " ", "\n"], [], added_tokens=tokens)


def line_start() -> tuple[str, str]:
    part = {"type": "Replace", "pattern": {"Regex": "^b"}, "content": "x"}
    return "[0, 2, 3]", ids("a\nb", ["a", "b", "\n", "x"], [], normalizer=part)


def metaspace_letter() -> tuple[str, str]:
    part = {"type": "Metaspace", "replacement": "-", "prepend_scheme": "always", "split": True}
    return "[2]", ids("a", ["a", "-", "-a"], [["-", "a"]], pre_tokenizer=part)


def unknown_character() -> tuple[str, str]:
    return "[1]", ids("\u00e9", ["a", "<unk>"], [], model={"unk_token": "<unk>"})


def white_space_split() -> tuple[str, str]:
    part = {"type": "WhitespaceSplit"}
    return "[0, 0]", ids("a\u00a0a", ["a", "\u00a0"], [], pre_tokenizer=part)


def white_space_before_a_mark() -> tuple[str, str]:
    pattern = r"\s+$|\s+(?!\S)|\s|\S+"
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    words = [" ", "!", "  "]
    return "[0, 0, 1]", ids("  !", words, [[" ", " "]], pre_tokenizer=split)


def letter_lost() -> tuple[str, str]:
    found = opened(["a", "b", "c", "ab", "bc"], [["a", "b"], ["b", "c"]]).encode("acb" * 11)
    return "33 tokens", f"{len(found)} tokens"


def new_letter() -> tuple[str, str]:
    split = {
        "type": "Split",
        "pattern": {"Regex": r"\p{L}+"},
        "behavior": "Isolated",
        "invert": False,
    }
    return "[2]", ids("\u1c89a", ["a", "\u1c89", "\u1c89a"], [["\u1c89", "a"]], pre_tokenizer=split)


FINDINGS = [
    merge_order,
    duplicate_merge,
    letter_lost,
    character_of_two_tokens,
    half_a_character,
    no_decoder,
    stripped_decoder,
    truncation,
    padding,
    single_word,
    white_space_after,
    line_start,
    metaspace_letter,
    unknown_character,
    white_space_split,
    white_space_before_a_mark,
    new_letter,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
