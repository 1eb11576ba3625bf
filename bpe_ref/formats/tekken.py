r"""Mistral's `tekken.json`: tokens by rank, behind a block of special tokens.

    {"config": {"pattern": ..., "default_vocab_size": 131072,
                "default_num_special_tokens": 1000, "version": "v3", ...},
     "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": "\u0000"}, ...],
     "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}, ...]}

Definition
    There are `default_num_special_tokens` special tokens, whose ids come first; the id of an
    ordinary token is its rank plus that number. Of `vocab` as many tokens are used as make
    `default_vocab_size` ids in all. Pairs merge by concatenation, and a piece that is a token is
    taken whole.

Source: mistralai/mistral-common (23 July 2026), src/mistral_common/tokens/tokenizers/tekken.py.

What the source leaves open, and what holds here
    *Without a list of special tokens* (versions up to v7) they are the twenty of
    `OLD_SPECIAL_TOKENS`. A later version must have a list. What is listed fills the first ids; the
    others are called `<SPECIAL_20>` and so on.
    *The rank of a special token* must be its place in the list. Mistral's program decodes by place
    and encodes by rank.
    *In text* Mistral's program finds no special tokens; they are put between encoded texts. So does
    `encode` with `special="ordinary"`.
    *`token_str`, `is_control`, `num_vocab_tokens`, `image`, `audio`, `multimodal`* and
    `model_settings_builder` change nothing about text and are passed over. Any other key is an
    error.
    *Which token ends a text* is not in the file; Mistral's program looks for the name `</s>`.
    *Base64* is checked as in the tiktoken format.
"""

import re
from collections.abc import Sequence
from typing import Final

from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.files import located
from bpe_ref.formats.json_nodes import Node, parse_json
from bpe_ref.formats.tiktoken import from_base64
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation
from bpe_ref.vocabulary.merges import ID_LIMIT

OLD_SPECIAL_TOKENS: Final = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
)
"""What a file without a list of special tokens has, by id."""

MAXIMUM_SPECIAL_TOKENS: Final = 1_000_000
"""More than any file has; each one that is not listed has a name made for it."""

_LAST_WITHOUT_LIST: Final = 7
_VERSION: Final = re.compile(r"v([0-9]{1,4})", re.ASCII)
_NO_BYTES: Final = 256
_OTHER_KEYS: Final = {
    *("special_tokens", "type", "version", "image", "audio", "multimodal"),
    "model_settings_builder",
}
_CONFIG_KEYS: Final = {"pattern", "default_vocab_size", "default_num_special_tokens", "version"}
_TOKEN_KEYS: Final = {"rank", "token_bytes", "token_str"}


def parse_tekken(data: bytes | Node, source: str) -> Vocabulary:
    """Return the vocabulary in the content of a `tekken.json`; `source` names it in errors.

    Raises `VocabularyFileError`.

    >>> parse_tekken(b'{"vocab": []}', "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example: the file must have the key 'config', got an object
    """
    root = parse_json(data, source)
    root.only({"config", "vocab"}, _OTHER_KEYS)
    config = root.field("config")
    config.only(_CONFIG_KEYS, {"num_vocab_tokens"})
    listed = root.field("vocab").elements()
    special_count = config.field("default_num_special_tokens").whole(MAXIMUM_SPECIAL_TOKENS)
    size = config.field("default_vocab_size")
    if not special_count < size.whole(ID_LIMIT) <= special_count + len(listed):
        size.fail(
            f"must be from {special_count + 1} to {special_count + len(listed)}, "
            "the number of all tokens"
        )
    names = _special_tokens(root, special_count)
    ranks = _ranks(listed[: size.value - special_count])
    text = TextRules(config.field("pattern").text(), whole_piece=True)
    with located(f"{source}: "):
        return vocabulary_by_concatenation(
            ranks,
            ids={token: special_count + rank for token, rank in ranks.items()},
            text=text,
            special_tokens={name: token for token, name in enumerate(names)},
        )


def _special_tokens(root: Node, count: int) -> Sequence[str]:
    """Return the special tokens by id; raise `VocabularyFileError`."""
    names: list[str] = []
    if root.value.get("special_tokens") is None:
        version = root.field("config").field("version")
        number = _VERSION.fullmatch(version.text())
        if not number or int(number[1]) > _LAST_WITHOUT_LIST:
            version.fail("must be v7 or earlier where there are no 'special_tokens'")
        names.extend(OLD_SPECIAL_TOKENS)
    else:
        for token, entry in enumerate(root.field("special_tokens").elements()):
            names.append(entry.field("token_str").text())
            _check_rank(entry, token)
    if len(names) > count:
        root.field("config").field("default_num_special_tokens").fail(
            f"must be at least {len(names)}, the number of special tokens there are"
        )
    names += [f"<SPECIAL_{token}>" for token in range(len(names), count)]
    first: dict[str, int] = {}
    for token, name in enumerate(names):
        if first.setdefault(name, token) != token:
            raise VocabularyFileError(
                f"{root.source}: special token {token} must have a name of its own, "
                f"{name!r:.80} is also token {first[name]}"
            )
    return names


def _ranks(listed: list[Node]) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for rank, entry in enumerate(listed):
        if entry.fields().keys() != _TOKEN_KEYS:
            entry.fail(f"must have the keys {', '.join(sorted(_TOKEN_KEYS))}")
        _check_rank(entry, rank)
        if not isinstance(entry.value["token_str"], str | None):
            entry.field("token_str").fail("must be text or null")
        encoded = entry.field("token_bytes")
        token = _from_base64(encoded)
        if rank < _NO_BYTES and token != bytes([rank]):
            encoded.fail(f"must be the byte 0x{rank:02X}")
        if token in ranks:
            encoded.fail(f"must be a new token, but it is token {ranks[token]}")
        ranks[token] = rank
    return ranks


def _check_rank(entry: Node, rank: int) -> None:
    """Raise `VocabularyFileError` unless an entry's rank is its place in the list."""
    found = entry.field("rank")
    if found.whole(ID_LIMIT) != rank:
        found.fail(f"must be {rank}")


def _from_base64(encoded: Node) -> bytes:
    """Return the bytes; raise `VocabularyFileError` unless this is their one spelling."""
    token = from_base64(encoded.text().encode())
    if not token:
        encoded.fail("must be canonical base64 of at least one byte")
    return token
