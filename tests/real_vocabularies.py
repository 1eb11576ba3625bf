"""Real vocabularies for tests, and the reason to skip where one is absent.

Two files are rebuilt, byte for byte, from GPT-2's tokenizer.json.gz in a folder beside
the checkout: that file has every token of r50k_base, with the same ranks, written in
GPT-2's letters for bytes. p50k_base has the same tokens and, after the hole
for the special token 50256, the runs of 2 to 25 spaces. The others are looked for as
`bpe_ref.finding.find` does.
"""

import gzip
import json
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Final, TypedDict

import pytest

from bpe_ref.errors import UnknownVocabularyError
from bpe_ref.finding import check_sha256, find
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.tiktoken import parse_tiktoken
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary import Vocabulary, vocabulary_by_concatenation

GPT2_FILE: Final = (
    Path(__file__).resolve().parents[2] / "shared" / "tokenizers" / "gpt2.tokenizer.json.gz"
)

_SPECIAL_TOKEN: Final = 50256


class _Model(TypedDict):
    vocab: dict[str, int]
    merges: list[str]


def rebuilt_file(name: str) -> bytes | None:
    """Return r50k_base.tiktoken or p50k_base.tiktoken, rebuilt; None without the GPT-2 file."""
    model = _gpt2_model()
    if model is None:
        return None
    ranks = {_gpt2_bytes(letters): rank for letters, rank in model["vocab"].items()}
    del ranks[b"<|endoftext|>"]
    if name == "p50k_base":
        ranks |= {b" " * n: _SPECIAL_TOKEN + n - 1 for n in range(2, 26)}
    in_order = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(b"%b %d\n" % (b64encode(token), rank) for token, rank in in_order)


def gpt2_original_files() -> tuple[bytes, bytes] | None:
    """Return GPT-2's own vocab.bpe and encoder.json, rebuilt; None without the GPT-2 file."""
    model = _gpt2_model()
    if model is None:
        return None
    merges = "".join(f"{merge}\n" for merge in model["merges"])
    return f"#version: 0.2\n{merges}".encode(), json.dumps(model["vocab"]).encode()


@cache
def real_file(file: str) -> bytes:
    """Return a registered file, unpacked, by its name without extension, or skip the test."""
    rebuilt = rebuilt_file(file) if file in {"r50k_base", "p50k_base"} else None
    if rebuilt is not None:
        return rebuilt
    try:
        path = find(file)
    except UnknownVocabularyError as error:
        pytest.skip(str(error))
    content = read_unpacked(path)
    check_sha256(REGISTRY[file], content, str(path))
    return content


@cache
def real_vocabulary(name: str) -> Vocabulary:
    """Return a registered vocabulary, or skip the test."""
    entry = REGISTRY[name]
    return vocabulary_by_concatenation(
        parse_tiktoken(real_file(entry.file), entry.file),
        text=entry.text_rules(),
        special_tokens=dict(entry.special_tokens),
    )


@cache
def _gpt2_model() -> _Model | None:
    if not GPT2_FILE.is_file():
        return None
    model: _Model = json.loads(gzip.decompress(GPT2_FILE.read_bytes()))["model"]
    return model


@cache
def _gpt2_letters() -> dict[str, int]:
    """Return GPT-2's letter for each byte: itself if it can be seen, else one from U+0100 on."""
    seen = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    unseen = [byte for byte in range(256) if byte not in seen]
    letters = {chr(byte): byte for byte in seen}
    return letters | {chr(0x100 + place): byte for place, byte in enumerate(unseen)}


def _gpt2_bytes(letters: str) -> bytes:
    return bytes(_gpt2_letters()[letter] for letter in letters)
