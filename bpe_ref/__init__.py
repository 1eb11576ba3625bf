"""Byte-pair encoding, readable: text to tokens and back.

vocabulary/            tokens, merges, and the byte alphabet
encoders/              from symbols to tokens: the definition, and faster algorithms
compatibility, tries   what the faster algorithms need
auditing, tracing      unusual properties of a vocabulary; the definition step by step
added_tokens/, normalizers/, pre_tokenizers/, models/, post_processors/, decoders/
                       the components of a tokenizer, one file each
patterns.pretokenizer   text to pieces, over pinned Unicode tables
tokenizer              all components together
learning/               a vocabulary from text
formats/, registry, finding, loading     files, well-known vocabularies, `load`

growing/, cutting/     text that grows; counting and cutting by tokens
streaming, completions, canonical, dropout     tokens one by one, and questions about them
patterns/                  regular expressions
like_tiktoken/, like_tokenizers/     the same under the names of tiktoken and of tokenizers
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

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
from bpe_ref.learning.training import train
from bpe_ref.loading import load, load_tokenizer, load_vocabulary
from bpe_ref.patterns.pretokenizer import Pretokenizer
from bpe_ref.registry import encoding_name_for_model
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.tokenizer import Steps, Tokenizer
from bpe_ref.tracing import MergeStep, render_trace, trace
from bpe_ref.vocabulary import (
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair, Merge, MergeRule, Pair, TokenId

if TYPE_CHECKING:
    from bpe_ref.added_tokens import AddedToken
    from bpe_ref.canonical import is_canonical
    from bpe_ref.completions import encode_with_unstable
    from bpe_ref.cutting.counting import TextIntervalCounter, count_till_limit
    from bpe_ref.cutting.growing import AppendCounter, PrependCounter
    from bpe_ref.cutting.pipelines import whole_pipeline, whole_sentencepiece
    from bpe_ref.cutting.reference import whole_tokenizer
    from bpe_ref.cutting.splitting import Chunk, chunks, split_at
    from bpe_ref.cutting.whole import Whole
    from bpe_ref.encoding import Encoding
    from bpe_ref.formats.byte_level_json import write_tokenizer_json
    from bpe_ref.formats.generation import GenerationSettings, read_generation_settings
    from bpe_ref.formats.hugging_face import parse_tokenizer_json, read_tokenizer_json
    from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
    from bpe_ref.growing.counting import IntervalCounter
    from bpe_ref.growing.eager import EagerEncoder
    from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
    from bpe_ref.hugging_face.as_vocabulary import vocabulary_of
    from bpe_ref.hugging_face.pipeline import Pipeline
    from bpe_ref.hugging_face.pipeline_stream import PipelineStream, stream_decoder
    from bpe_ref.like_tokenizers.decode_stream import DecodeStream
    from bpe_ref.profile import HUGGING_FACE, STRICT, Profile
    from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer
    from bpe_ref.streaming import StreamDecoder, printed
    from bpe_ref.vocabulary.pair_report import explain_pair, render_pair

_LATER: Final = {
    "AddedToken": "bpe_ref.added_tokens",
    "AppendCounter": "bpe_ref.cutting.growing",
    "AppendEncoder": "bpe_ref.growing.encoders",
    "Chunk": "bpe_ref.cutting.splitting",
    "DecodeStream": "bpe_ref.like_tokenizers.decode_stream",
    "EagerEncoder": "bpe_ref.growing.eager",
    "Encoding": "bpe_ref.encoding",
    "GenerationSettings": "bpe_ref.formats.generation",
    "HUGGING_FACE": "bpe_ref.profile",
    "IntervalCounter": "bpe_ref.growing.counting",
    "Pipeline": "bpe_ref.hugging_face.pipeline",
    "PrependCounter": "bpe_ref.cutting.growing",
    "PrependEncoder": "bpe_ref.growing.encoders",
    "PipelineStream": "bpe_ref.hugging_face.pipeline_stream",
    "Profile": "bpe_ref.profile",
    "STRICT": "bpe_ref.profile",
    "SentencePieceTokenizer": "bpe_ref.sentencepiece.tokenizer",
    "StreamDecoder": "bpe_ref.streaming",
    "TextIntervalCounter": "bpe_ref.cutting.counting",
    "Whole": "bpe_ref.cutting.whole",
    "chunks": "bpe_ref.cutting.splitting",
    "count_till_limit": "bpe_ref.cutting.counting",
    "dump_tokenizer_json": "bpe_ref.formats.hugging_face_writing",
    "encode_with_unstable": "bpe_ref.completions",
    "explain_pair": "bpe_ref.vocabulary.pair_report",
    "is_canonical": "bpe_ref.canonical",
    "parse_tokenizer_json": "bpe_ref.formats.hugging_face",
    "printed": "bpe_ref.streaming",
    "read_generation_settings": "bpe_ref.formats.generation",
    "read_tokenizer_json": "bpe_ref.formats.hugging_face",
    "render_pair": "bpe_ref.vocabulary.pair_report",
    "split_at": "bpe_ref.cutting.splitting",
    "stream_decoder": "bpe_ref.hugging_face.pipeline_stream",
    "vocabulary_of": "bpe_ref.hugging_face.as_vocabulary",
    "whole_pipeline": "bpe_ref.cutting.pipelines",
    "whole_sentencepiece": "bpe_ref.cutting.pipelines",
    "whole_tokenizer": "bpe_ref.cutting.reference",
    "write_tokenizer_json": "bpe_ref.formats.byte_level_json",
}
"""Names that few programs need, and where they are: read when they are first asked for."""

__all__ = [
    "ENCODERS",
    "HUGGING_FACE",
    "NOT_BPE",
    "STRICT",
    "AddedToken",
    "AppendCounter",
    "AppendEncoder",
    "Audit",
    "BpeError",
    "ByConcatenation",
    "ByPair",
    "Chunk",
    "DecodeStream",
    "DecodingError",
    "EagerEncoder",
    "Encoder",
    "Encoding",
    "GenerationSettings",
    "IntervalCounter",
    "Merge",
    "MergeRule",
    "MergeStep",
    "NamedVocabulary",
    "Pair",
    "ParameterError",
    "PatternError",
    "Pipeline",
    "PipelineStream",
    "PrependCounter",
    "PrependEncoder",
    "Pretokenizer",
    "Profile",
    "SentencePieceTokenizer",
    "SpecialTokenError",
    "Steps",
    "StreamDecoder",
    "SymbolError",
    "TextIntervalCounter",
    "TextRules",
    "TokenId",
    "TokenIdError",
    "Tokenizer",
    "UnknownVocabularyError",
    "Vocabulary",
    "VocabularyError",
    "VocabularyFileError",
    "Whole",
    "audit",
    "chunks",
    "count_till_limit",
    "dump_plain_json",
    "dump_tokenizer_json",
    "encode_with_unstable",
    "encoding_name_for_model",
    "explain_pair",
    "is_canonical",
    "load",
    "load_tokenizer",
    "load_vocabulary",
    "parse_plain_json",
    "parse_tiktoken",
    "parse_tokenizer_json",
    "printed",
    "read_generation_settings",
    "read_tiktoken",
    "read_tokenizer_json",
    "render_pair",
    "render_trace",
    "split_at",
    "stream_decoder",
    "tiny_vocabulary",
    "trace",
    "train",
    "vocabulary_by_concatenation",
    "vocabulary_by_pair",
    "vocabulary_of",
    "whole_pipeline",
    "whole_sentencepiece",
    "whole_tokenizer",
    "write_tiktoken",
    "write_tokenizer_json",
]


def __getattr__(name: str) -> object:
    """Return one of the names in `_LATER`: all of them at once would triple the time to import."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
