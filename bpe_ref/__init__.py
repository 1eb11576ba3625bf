"""Byte-pair encoding, readable: text to tokens and back.

merges, vocabulary     what a tokenizer has learned, and the two kinds of merge rule
encoders/              from symbols to tokens: the definition, and the clever ways
compatibility, tries   what the clever ways need
auditing, tracing      what is unusual about a vocabulary; the definition step by step
pretokenization        text to pieces, over pinned Unicode tables
special_tokens, normalization, decoding     the rest of the way
tokenizer              all of it, put together
learning, learning_incrementally, training     a vocabulary from text
formats/, registry, finding, models, loading     files, well-known vocabularies, `load`
"""

from bpe_ref.auditing import Audit, audit
from bpe_ref.encoders.table import ENCODERS, NOT_BPE, Encoder
from bpe_ref.errors import (
    BpeError,
    DecodingError,
    ParameterError,
    PatternError,
    SpecialTokenError,
    SymbolError,
    TokenIdError,
    UnknownVocabularyError,
    VocabularyError,
    VocabularyFileError,
)
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json, parse_plain_json
from bpe_ref.formats.tiktoken import parse_tiktoken, read_tiktoken, write_tiktoken
from bpe_ref.loading import load, load_vocabulary
from bpe_ref.merges import ByConcatenation, ByPair, Merge, MergeRule, Pair, TokenId
from bpe_ref.models import encoding_name_for_model
from bpe_ref.pretokenization import Pretokenizer
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.tokenizer import Steps, Tokenizer
from bpe_ref.tracing import MergeStep, render_trace, trace
from bpe_ref.training import train
from bpe_ref.vocabulary import (
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)

__all__ = [
    "ENCODERS",
    "NOT_BPE",
    "Audit",
    "BpeError",
    "ByConcatenation",
    "ByPair",
    "DecodingError",
    "Encoder",
    "Merge",
    "MergeRule",
    "MergeStep",
    "NamedVocabulary",
    "Pair",
    "ParameterError",
    "PatternError",
    "Pretokenizer",
    "SpecialTokenError",
    "Steps",
    "SymbolError",
    "TextRules",
    "TokenId",
    "TokenIdError",
    "Tokenizer",
    "UnknownVocabularyError",
    "Vocabulary",
    "VocabularyError",
    "VocabularyFileError",
    "audit",
    "dump_plain_json",
    "encoding_name_for_model",
    "load",
    "load_vocabulary",
    "parse_plain_json",
    "parse_tiktoken",
    "read_tiktoken",
    "render_trace",
    "tiny_vocabulary",
    "trace",
    "train",
    "vocabulary_by_concatenation",
    "vocabulary_by_pair",
    "write_tiktoken",
]
