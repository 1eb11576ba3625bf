"""What a program is to load before it is asked: a vocabulary or a whole tokenizer, as a file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from tokenref.subjects import TokenizerFile


@dataclass(frozen=True, eq=False)
class Loading:
    """What a program is to load: a vocabulary, or a whole tokenizer."""

    kind: Literal["vocab", "tokenizer"]
    digest: str
    name: str
    content: Callable[[], bytes] = field(repr=False)


def load_vocabulary(vocabulary: Vocabulary, name: str) -> Loading:
    """Return how a vocabulary is loaded: as a file like those of the fixtures."""
    named = NamedVocabulary(name, "", vocabulary)
    return Loading("vocab", vocabulary.digest(), name, lambda: dump_plain_json(named))


def load_tokenizer(content: bytes, name: str) -> Loading:
    """Return how a whole tokenizer is loaded: as its own file."""
    return Loading("tokenizer", TokenizerFile(name, content).digest(), name, lambda: content)
