"""Byte-pair encoding, readable."""

from bpe_ref.auditing import Audit, audit
from bpe_ref.encoders.table import ENCODERS, NOT_BPE, Encoder
from bpe_ref.vocabulary import (
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)

__all__ = [
    "ENCODERS",
    "Audit",
    "TextRules",
    "Vocabulary",
    "audit",
    "vocabulary_by_concatenation",
    "vocabulary_by_pair",
]
