"""SentencePiece models for the tests: trained, trained and then changed, and written by hand."""

import io
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

import sentencepiece

from bpe_ref.formats.sentencepiece import fields, parse_sentencepiece, sentencepiece_tokenizer
from bpe_ref.models.sentencepiece import Piece
from bpe_ref.tiny import tiny_corpus
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES

USER_DEFINED: Final = ["<a b>", "ab", "abc", "  ", "▁the", "e", "<|x|>", "\t", "bc"]

TRAINED: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {},
    "byte fallback": {"byte_fallback": True},
    "nmt_nfkc": {"normalization_rule_name": "nmt_nfkc"},
    "nfkc": {"normalization_rule_name": "nfkc"},
    "nmt_nfkc_cf": {"normalization_rule_name": "nmt_nfkc_cf"},
    "nfkc_cf": {"normalization_rule_name": "nfkc_cf"},
    "identity": {"normalization_rule_name": "identity"},
    "user-defined": {"user_defined_symbols": USER_DEFINED},
    "user-defined, all spaces": {
        "user_defined_symbols": USER_DEFINED,
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
    },
    "control": {"control_symbols": ["<c>", "the"], "pad_id": 3, "bos_id": -1},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix, all spaces": {
        "treat_whitespace_as_suffix": True,
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
    },
    "like Llama": {
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True,
        "byte_fallback": True,
        "split_digits": True,
    },
    "no prefix": {"add_dummy_prefix": False},
    "no prefix, all spaces": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "across words": {"split_by_whitespace": False},
    "other names": {
        "unk_piece": "[U]",
        "bos_piece": "[B]",
        "eos_piece": "[E]",
        "unk_surface": "▁U",
    },
    "unigram": {"model_type": "unigram", "vocab_size": 1450},
    "unigram, byte fallback, user-defined": {
        "model_type": "unigram",
        "vocab_size": 1450,
        "byte_fallback": True,
        "user_defined_symbols": USER_DEFINED,
    },
}


@cache
def trained(name: str) -> bytes:
    lines = [line for line in tiny_corpus().split("\n") if line.strip()]
    data = io.BytesIO()
    settings = {"vocab_size": 1800, "model_type": "bpe", "minloglevel": 2, **TRAINED[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=data, **settings
    )
    return data.getvalue()


# ---- models written by hand, and trained ones changed

KINDS: Final = {"normal": 1, "unknown": 2, "control": 3, "user-defined": 4, "unused": 5, "byte": 6}


def number(value: int) -> bytes:
    """Return a variable-length number."""
    digits = []
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def a_field(place: int, value: int | bytes | str | float) -> bytes:  # noqa: PYI041 - mypy sees no int in a float
    """Return one field of a message."""
    if isinstance(value, float):
        return number(place << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return number(place << 3) + number(value)
    content = value.encode() if isinstance(value, str) else value
    return number(place << 3 | 2) + number(len(content)) + content


def message(values: Mapping[int, int | bytes | str | float]) -> bytes:
    return b"".join(a_field(place, value) for place, value in values.items())


def a_piece(piece: Piece) -> bytes:
    return a_field(1, message({1: piece.text, 2: piece.score, 3: KINDS[piece.kind]}))


def a_model(
    pieces: Iterable[Piece],
    trainer: Mapping[int, int | str] | None = None,
    normalizer: Mapping[int, int | bytes] | None = None,
    more: bytes = b"",
) -> bytes:
    """Return a model file."""
    listed = b"".join(map(a_piece, pieces))
    settings = a_field(2, message({3: 2, **(trainer or {})}))
    return listed + settings + a_field(3, message(normalizer or {})) + more


UNKNOWN: Final = Piece("<unk>", kind="unknown")
BYTES: Final = [Piece(text, kind="byte") for text in BYTE_PIECES]


def with_pieces(name: str, change: Callable[[int, Piece], Piece]) -> bytes:
    """Return a trained model, with each piece changed by its id."""
    data = trained(name)
    model = parse_sentencepiece(data, name)
    rest = b"".join(
        a_field(entry.number, data[entry.start : entry.end])
        for entry in fields(data, 0, len(data), name)
        if entry.number != 1
    )
    return rest + b"".join(a_piece(change(at, piece)) for at, piece in enumerate(model.pieces))


def unused(at: int, piece: Piece) -> Piece:
    """Return every third normal piece as an unused one."""
    normal = piece.kind == "normal" and at % 3 == 0
    return Piece(piece.text, piece.score, "unused") if normal else piece


def tied(_: int, piece: Piece) -> Piece:
    """Return a piece with one of five scores."""
    return Piece(piece.text, float(-(len(piece.text) % 5)), piece.kind)


def renamed(at: int, piece: Piece) -> Piece:
    """Return the control pieces spelled like ordinary ones."""
    return Piece("▁the" if at == 1 else "in" if at == 2 else piece.text, piece.score, piece.kind)


@cache
def changed(name: str) -> bytes:
    match name:
        case "unused":
            return with_pieces("plain", unused)
        case "unused, byte fallback":
            return with_pieces("byte fallback", unused)
        case "ties":
            return with_pieces("like Llama", tied)
        case "ties and unused":
            return with_pieces("plain", lambda at, piece: unused(at, tied(at, piece)))
        case "unigram, ties and unused":
            return with_pieces("unigram", lambda at, piece: unused(at, tied(at, piece)))
        case "denormalized":
            rules = dict(normalizer_of(trained("nfkc_cf")))
            return trained("identity") + a_field(5, message({**rules, 3: 0, 4: 0, 5: 0}))
        case "denormalized with spaces":
            return trained("identity") + a_field(5, message(normalizer_of(trained("nmt_nfkc"))))
        case _:
            return trained(name)


def normalizer_of(data: bytes) -> dict[int, int | bytes]:
    """Return the normalizer spec of a model."""
    spec = next(entry for entry in fields(data, 0, len(data), "") if entry.number == 3)
    return {
        entry.number: entry.value if entry.wire_type == 0 else data[entry.start : entry.end]
        for entry in fields(data, spec.start, spec.end, "")
    }


CHANGED: Final = (
    "unused",
    "unused, byte fallback",
    "ties",
    "ties and unused",
    "unigram, ties and unused",
    "denormalized",
    "denormalized with spaces",
)
MODELS: Final = (*TRAINED, *CHANGED)


def both(data: bytes) -> tuple[Tokenizer, Any]:
    """Return our tokenizer and the library's."""
    return (
        sentencepiece_tokenizer(parse_sentencepiece(data, "a model")),
        sentencepiece.SentencePieceProcessor(model_proto=data),
    )
