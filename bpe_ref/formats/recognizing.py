"""Which format a file has, by what it holds: names are of no help.

`tokenizer.model` is SentencePiece's in Llama 2 and tiktoken's in Llama 3, and
`.model` is minbpe's too; four formats are called `something.json`.

Definition
    minbpe             begins with the line `minbpe v1`
    merges text        begins with `#version`
    JSON               begins with `{` or `[`, after white space; and by its keys
        ids                has only numbers: `vocab.json`, `encoder.json`
        tokenizer.json     has `model`
        tekken             has `config` and `vocab`
        plain JSON         anything else
    tiktoken           the first line that is not empty is base64, a space, digits
    SentencePiece      begins with a field 1 to 5 of bytes, as Protocol Buffers write it
    tiktoken           anything else, so that its reader says what is wrong

    The order matters: a tiktoken file may begin with an empty line, whose byte is
    the first one of most SentencePiece files; and `model`, `config` and `vocab` are
    tokens of many a vocabulary.
"""

import re
from typing import Final, Literal, TypeAlias

from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.json_nodes import Node, parse_json

Format: TypeAlias = Literal[
    "minbpe",
    "merges text",
    "tokenizer.json",
    "tekken",
    "ids",
    "plain json",
    "tiktoken",
    "sentencepiece",
]

_TIKTOKEN: Final = re.compile(rb"[\r\n]*+[A-Za-z0-9+/]*+={0,2}+ [0-9]++[\r\n]")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MESSAGES: Final = frozenset(number << 3 | 2 for number in range(1, 6))


def format_of(content: bytes | Node, source: str) -> Format:
    r"""Return the format of a file's content, which may be JSON that is parsed already.

    `source` names it in errors. Raises `VocabularyFileError` for JSON that cannot be read.

    >>> format_of(b"minbpe v1\n\n0\n", "x"), format_of(b"YQ== 0\n", "x"), format_of(b"\n\x05", "x")
    ('minbpe', 'tiktoken', 'sentencepiece')
    """
    if not isinstance(content, bytes) or is_json(content):
        root = parse_json(content, source).fields()
        if {type(value) for value in root.values()} == {int}:
            return "ids"
        if "model" in root:
            return "tokenizer.json"
        return "tekken" if "config" in root and "vocab" in root else "plain json"
    if content.startswith(_BYTE_ORDER_MARK):
        raise VocabularyFileError(f"{source} must not begin with a byte order mark")
    if content.startswith(b"minbpe v1"):
        return "minbpe"
    if content.startswith(b"#version"):
        return "merges text"
    if _TIKTOKEN.match(content):
        return "tiktoken"
    return "sentencepiece" if content[:1] and content[0] in _MESSAGES else "tiktoken"


def is_json(content: bytes) -> bool:
    """Return whether a file holds JSON.

    >>> is_json(b" {}"), is_json(b"YQ== 0")
    (True, False)
    """
    return content[:1000].lstrip(b" \t\r\n").startswith((b"{", b"["))
