"""Which format a file has, by what it holds: names are of no help.

`tokenizer.model` is SentencePiece's in Llama 2 and tiktoken's in Llama 3, and `.model` is minbpe's
too; four formats are called `something.json`.

Definition
    GGUF               begins with `GGUF`
    minbpe             begins with the line `minbpe v1`
    merges text        begins with `#version`
    JSON               begins with `{"`, `[` and a value, or so, after white space; and by its keys
        ids                has only numbers: `vocab.json`, `encoder.json`
        tokenizer.json     has `model`
        tekken             has `config` and `vocab`
        plain JSON         has `tokens` or `rule`
    tiktoken           the first line that is not empty is base64, a space, digits
    SentencePiece      begins with a field 1 to 5 of bytes, as Protocol Buffers write it
    tiktoken           a text that nearly begins so, so that its reader says what is wrong

    Files of other kinds that are beside tokenizers, such as a pickle or a PNG, are recognised by
    how they begin (`data/other_files.json`), and refused by name.

    The order matters: a tiktoken file may begin with an empty line, whose byte is the first one of
    most SentencePiece files; and `model`, `config` and `vocab` are tokens of many a vocabulary.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from bpe_ref.data import document
from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.json_nodes import Node, parse_json

Format: TypeAlias = Literal[
    "gguf",
    "minbpe",
    "merges text",
    "tokenizer.json",
    "tekken",
    "ids",
    "plain json",
    "tiktoken",
    "sentencepiece",
]

_ONNX: Final = re.compile(rb"\x08[\x01-\x20](?:\x12|\x3a|\x1a|\x42)")
_SHOWN: Final = 1000  # bytes by which text is told from anything else
_TIKTOKEN: Final = re.compile(rb"[\r\n]*+[A-Za-z0-9+/]*+={0,2}+ [0-9]++[\r\n]")
_NEARLY_TIKTOKEN: Final = re.compile(rb"\s*[^\s=]*(=|[ \t]+[-+]?[0-9])")
_JSON: Final = re.compile(rb"[ \t\r\n]{0,1000}+(\{[ \t\r\n]*+[\"}]|\[[ \t\r\n]*+[]\"{[0-9-])")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MESSAGES: Final = frozenset(number << 3 | 2 for number in range(1, 6))


def format_of(content: bytes | Node, source: str) -> Format:
    r"""Return the format of a file's content, which may be JSON that is parsed already.

    `source` names it in errors. Raises `VocabularyFileError` for JSON that cannot be read, and for
    a file of another kind.

    >>> format_of(b"minbpe v1\n\n0\n", "x"), format_of(b"YQ== 0\n", "x"), format_of(b"\n\x05", "x")
    ('minbpe', 'tiktoken', 'sentencepiece')
    """
    if not isinstance(content, bytes) or is_json(content):
        return _format_of_json(parse_json(content, source).fields(), source)
    if content.startswith(_BYTE_ORDER_MARK):
        raise VocabularyFileError(f"{source} must not begin with a byte order mark")
    if content.startswith(b"GGUF"):
        return "gguf"
    if content.startswith(b"minbpe v1"):
        return "minbpe"
    if content.startswith(b"#version"):
        return "merges text"
    if _TIKTOKEN.match(content):
        return "tiktoken"
    other = _other(content)
    if other is not None:
        raise VocabularyFileError(f"{source} must be a tokenizer file, it is {other}")
    return "sentencepiece" if content[:1] and content[0] in _MESSAGES else "tiktoken"


def _format_of_json(root: Mapping[str, object], source: str) -> Format:
    """Return the format of a JSON object. Raises `VocabularyFileError` for one of another kind."""
    if {type(value) for value in root.values()} == {int}:
        return "ids"
    if "model" in root:
        return "tokenizer.json"
    if "config" in root and "vocab" in root:
        return "tekken"
    if "tokens" in root or "rule" in root:
        return "plain json"
    keys = ", ".join(list(root)[:3]) or "none"
    raise VocabularyFileError(
        f"{source} must be a tokenizer file, it is JSON with other keys: {keys:.80}"
    )


def _other(content: bytes) -> str | None:
    """Return what a file of another kind is, if it is one.

    >>> _other(b"%PDF-1.7"), _other(b"To be, or"), _other(b"YQ== 0")
    ('a PDF document', 'a plain text', None)
    """
    for place, magic, what in document("other_files")["files"]:
        if content.startswith(magic.encode("latin-1"), place):
            return str(what)
    if _ONNX.match(content):
        return "a model of ONNX"
    if b"\0" in content[:_SHOWN] and content[0] not in _MESSAGES:
        return "a binary file of unknown kind"
    is_text = content.strip() and not _CONTROL.search(content[:_SHOWN])
    if is_text and not _NEARLY_TIKTOKEN.match(content):
        if b"[UNK]" in content.split():
            return "a vocab.txt, words without rules: load the tokenizer.json next to it"
        return "a plain text"
    return None


def is_json(content: bytes) -> bool:
    """Return whether a file holds JSON, by its first two characters.

    >>> is_json(b" {}"), is_json(b"[PAD]")
    (True, False)
    """
    return _JSON.match(content) is not None
