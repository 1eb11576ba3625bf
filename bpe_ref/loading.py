"""From a name or a path to a vocabulary or a tokenizer.

A name is `tiny` (which is part of this package) or one of the registry. A path
leads to a file in the tiktoken format, or to one of our own JSON files.
"""

import os
from pathlib import Path

from bpe_ref import finding
from bpe_ref.errors import ParameterError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.plain_json import parse_plain_json
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import Vocabulary


def load_vocabulary(name_or_path: str | Path) -> Vocabulary:
    """Return a vocabulary.

    Raises `UnknownVocabularyError` for a name that is not known or found
    nowhere, and `VocabularyFileError` for a file that holds none.

    >>> len(load_vocabulary("tiny").tokens) > 1000
    True
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise ParameterError("name_or_path", name_or_path, "must be a name or a path")
    if name_or_path == "tiny":
        return tiny_vocabulary()
    path = Path(name_or_path)
    if path.suffix == ".json" and path.is_file():
        return parse_plain_json(read_unpacked(path), str(path)).vocabulary
    return finding.load_vocabulary(name_or_path)


def load(name_or_path: str | Path) -> Tokenizer:
    """Return a tokenizer; raises what `load_vocabulary` raises.

    >>> tokenizer = load("tiny")
    >>> tokenizer.decode(tokenizer.encode("Hello, world!"))
    'Hello, world!'
    """
    return Tokenizer(load_vocabulary(name_or_path), name=str(name_or_path))
