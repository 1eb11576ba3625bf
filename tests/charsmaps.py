"""The rewrite rules inside a model that SentencePiece trains."""

import io
from collections.abc import Iterator

import pytest

RULE_NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
NORMALIZER_SPEC = 3  # fields of the model's protocol buffers
PRECOMPILED_CHARSMAP = 2


def trained_charsmap(rule_name: str) -> bytes:
    """Return the `precompiled_charsmap` of a model with that `normalization_rule_name`."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world abc"] * 10),
        model_writer=model,
        vocab_size=20,
        model_type="bpe",
        normalization_rule_name=rule_name,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    spec = dict(fields(model.getvalue()))[NORMALIZER_SPEC]
    return dict(fields(spec))[PRECOMPILED_CHARSMAP]


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each field of a protocol buffer that has bytes as content."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            _, at = varint(message, at)
        elif kind == 5:
            at += 4
        else:
            assert kind == 2, f"no field of kind {kind} was expected"
            size, at = varint(message, at)
            yield number, message[at : at + size]
            at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
