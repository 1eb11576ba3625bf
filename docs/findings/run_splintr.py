"""Run the findings about splintr-rs."""

import json
from collections.abc import Callable

from splintr import AnyTokenizer, from_json_bytes

ADDED = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def opened(tokens: list[str], merges: list[list[str]], **parts: object) -> AnyTokenizer:
    """Return the tokenizer of words in the order of their ids, and other parts of the file."""
    model = {"type": "BPE", "vocab": {word: i for i, word in enumerate(tokens)}, "merges": merges}
    more = parts.pop("model", {})
    content = {"version": "1.0", "added_tokens": [], "model": {**model, **more}, **parts}
    return from_json_bytes(json.dumps(content).encode())


def ids(text: str, tokens: list[str], merges: list[list[str]], **parts: object) -> str:
    """Return the ids of a text, without the special tokens of a template."""
    return outcome(lambda: opened(tokens, merges, **parts).encode_raw(text))


def text(numbers: list[int], tokens: list[str], **parts: object) -> str:
    """Return the text of tokens."""
    return outcome(lambda: opened(tokens, [], **parts).decode_with_special(numbers))


def added(token: int, content: str, **flags: bool) -> dict[str, object]:
    """Return an added token."""
    return {**ADDED, "id": token, "content": content, **flags}


def merges_not_listed() -> tuple[str, str]:
    return "[0, 1]", ids("ab", ["a", "b", "ab"], [])


def duplicate_merge() -> tuple[str, str]:
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    return "[0, 4]", ids("abc", ["a", "b", "c", "ab", "bc"], merges)


def merge_of_other_parts() -> tuple[str, str]:
    words = ["a", "e", "n", "r", "ar", "ear", "arn", "earn"]
    return "[5, 2]", ids("earn", words, [["a", "r"], ["e", "ar"], ["ar", "n"], ["e", "arn"]])


def truncation() -> tuple[str, str]:
    part = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    return "[0, 0]", ids("aaa", ["a"], [], truncation=part)


def padding() -> tuple[str, str]:
    part = {"strategy": {"Fixed": 3}, "direction": "Right", "pad_to_multiple_of": None}
    part |= {"pad_id": 1, "pad_type_id": 0, "pad_token": "b"}
    return "[0, 1, 1]", ids("a", ["a", "b"], [], padding=part)


def template_of_two() -> tuple[str, str]:
    special = {"id": "<s>", "ids": [1, 2], "tokens": ["<s>", "</s>"]}
    first, text_a = (
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    )
    part = {"type": "TemplateProcessing", "special_tokens": {"<s>": special}}
    part |= {
        "single": [first, text_a],
        "pair": [first, text_a, {"Sequence": {"id": "B", "type_id": 1}}],
    }
    tokens = [added(1, "<s>", special=True), added(2, "</s>", special=True)]
    made = opened(["a", "<s>", "</s>"], [], post_processor=part, added_tokens=tokens)
    return "[1, 2, 0]", outcome(lambda: made.encode("a"))


def single_word() -> tuple[str, str]:
    tokens = [added(3, "word", single_word=True)]
    words = ["_", "<unk>", "a"]
    model = {"unk_token": "<unk>", "fuse_unk": True}
    return "[0, 1]", ids("_word", words, [], added_tokens=tokens, model=model)


def normalized_added_token() -> tuple[str, str]:
    tokens = [added(1, "<s>", normalized=True)]
    return "[1, 0]", ids("<S>a", ["a"], [], added_tokens=tokens, normalizer={"type": "Lowercase"})


def bert_normalizer() -> tuple[str, str]:
    part = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    part |= {"strip_accents": None, "lowercase": False}
    made = [
        ids("\ta", ["a", " ", "\t"], [], normalizer=part),
        ids("\u4e2d", ["\u4e2d", " "], [], normalizer=part),
    ]
    return "[1, 0], [1, 0, 1]", ", ".join(made)


def metaspace_letter() -> tuple[str, str]:
    part = {"type": "Metaspace", "replacement": "-", "prepend_scheme": "always", "split": True}
    return "[2]", ids("a", ["a", "-", "-a"], [["-", "a"]], pre_tokenizer=part)


def unknown_with_suffix() -> tuple[str, str]:
    model = {"end_of_word_suffix": "</w>", "unk_token": "<unk>"}
    return "[1]", ids("x", ["a", "<unk>"], [], model=model)


def line_start() -> tuple[str, str]:
    part = {"type": "Replace", "pattern": {"Regex": "^b"}, "content": "x"}
    return "[0, 2, 3]", ids("a\nb", ["a", "b", "\n", "x"], [], normalizer=part)


def no_decoder() -> tuple[str, str]:
    return "'a b'", text([0, 1], ["a", "b"])


def metaspace_decoder() -> tuple[str, str]:
    part = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return "' a'", text([1, 0], ["\u2581a", "\u2581\u2581"], decoder=part)


def unknown_id() -> tuple[str, str]:
    return "ValueError", text([5], ["a"], decoder=BYTE_LEVEL)


FINDINGS = [
    merges_not_listed,
    duplicate_merge,
    merge_of_other_parts,
    truncation,
    padding,
    template_of_two,
    single_word,
    normalized_added_token,
    bert_normalizer,
    metaspace_letter,
    unknown_with_suffix,
    line_start,
    no_decoder,
    metaspace_decoder,
    unknown_id,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
