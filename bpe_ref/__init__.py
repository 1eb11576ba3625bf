"""Tokenizers in readable Python: text to tokens and back.

`load` returns a `Tokenizer` for a name, a file of any format, or a folder. To see how byte-pair
encoding works, start with `encoders.naive`.

tokenizer, loading     the class `Tokenizer`, and `load`
added_tokens/, normalizers/, pre_tokenizers/, models/, post_processors/, decoders/
                       the components of a tokenizer, one file each, or for a few of a kind
vocabulary/            tokens and merges; `vocabulary.compatibility`: which tokens may be
                       neighbours; `vocabulary.tries`; `vocabulary.heap`: the encoder of the models
encoders/              the definition, faster algorithms, and `encoders.dropout`
formats/, registry, finding     one file for each file format; well-known vocabularies
patterns/, data/       regular expressions, and the pinned Unicode tables
decoders.stream        text from tokens that come one at a time; through the decoders of a
                       `tokenizer.json`: `decoders.chain_stream`
growing/, cutting/     text that grows; counting and cutting by tokens
auditing, tracing      unusual properties of a vocabulary; the definition step by step
completions, canonical     what the end of a text may become; ids that an encoder returns
learning/              training
like_tiktoken/, like_tokenizers/     facades with the names of these libraries
"""

from importlib import import_module
from typing import TYPE_CHECKING

from bpe_ref.added_tokens import AddedToken, AddedTokens, Special
from bpe_ref.decoders.stream import printed
from bpe_ref.encoders import ENCODERS
from bpe_ref.encoding import Encoding
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
from bpe_ref.loading import load
from bpe_ref.registry import encoding_name_for_model
from bpe_ref.tokenizer import Tokenizer, tokenizer_of, vocabulary_of
from bpe_ref.vocabulary import (
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.merges import TokenId

if TYPE_CHECKING:
    __version__: str
    from bpe_ref.canonical import is_canonical
    from bpe_ref.completions import encode_with_unstable
    from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
    from bpe_ref.learning.training import train

_LATE = {
    "dump_tokenizer_json": "formats.hugging_face_writing",
    "encode_with_unstable": "completions",
    "is_canonical": "canonical",
    "train": "learning.training",
}

__all__ = [
    "ENCODERS",
    "AddedToken",
    "AddedTokens",
    "BpeError",
    "DecodingError",
    "Encoding",
    "ParameterError",
    "PatternError",
    "Special",
    "SpecialTokenError",
    "SymbolError",
    "TextRules",
    "TokenId",
    "TokenIdError",
    "Tokenizer",
    "UnknownVocabularyError",
    "Vocabulary",
    "VocabularyError",
    "VocabularyFileError",
    "dump_tokenizer_json",
    "encode_with_unstable",
    "encoding_name_for_model",
    "is_canonical",
    "load",
    "printed",
    "tokenizer_of",
    "train",
    "vocabulary_by_concatenation",
    "vocabulary_by_pair",
    "vocabulary_of",
]

if not TYPE_CHECKING:  # type checkers would believe that every name is there

    def __getattr__(name: str) -> object:
        """Return one of the names that few programs need, and load its module."""
        if name == "__version__":
            return import_module("importlib.metadata").version("tokenref")
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(f"bpe_ref.{_LATE[name]}"), name))

    def __dir__() -> list[str]:
        """Return the names in this module, those that are not loaded yet, too."""
        return sorted({*globals(), *__all__})
