"""From a name or a path to a vocabulary or a tokenizer.

A name is `tiny` (which is part of this package) or one of the registry. A path
leads to a file of any format in `formats`; what it is, the content tells
(`formats.recognizing`). Two formats have two files, and either one leads to both:

    merges.txt   beside vocab.json
    vocab.bpe    beside encoder.json

A path may lead to a folder, too. The first file counts that is there, of
tokenizer.json, tekken.json, tokenizer.model, vocab.json, encoder.json.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Union

from bpe_ref import finding
from bpe_ref.errors import ParameterError, VocabularyFileError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.gpt2 import read_gpt2
from bpe_ref.formats.merges_text import read_merges_text
from bpe_ref.formats.minbpe import parse_minbpe
from bpe_ref.formats.plain_json import parse_plain_json
from bpe_ref.formats.recognizing import format_of
from bpe_ref.formats.tekken import parse_tekken
from bpe_ref.formats.tiktoken import parse_tiktoken
from bpe_ref.registry import REGISTRY
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import Vocabulary, vocabulary_by_concatenation

if TYPE_CHECKING:
    from bpe_ref.hugging_face.pipeline import Pipeline
    from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer

AnyTokenizer: TypeAlias = Union[Tokenizer, "Pipeline", "SentencePieceTokenizer"]
"""What `load_tokenizer` returns: all have `encode`, `decode` and `count`."""

_TINY: Final = "tiny"
_IN_FOLDERS: Final = (
    *("tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "encoder.json"),
)
_BESIDE: Final = {
    "merges.txt": "vocab.json",
    "vocab.json": "merges.txt",
    "vocab.bpe": "encoder.json",
    "encoder.json": "vocab.bpe",
}


def load_vocabulary(name_or_path: str | Path) -> Vocabulary:
    """Return a vocabulary.

    Raises `UnknownVocabularyError` for a name that is not known or found
    nowhere, and `VocabularyFileError` for a file that holds none, or a
    tokenizer that is more than one (then `load_tokenizer` takes it).

    >>> len(load_vocabulary("tiny").tokens) > 1000
    True
    """
    path = _path(name_or_path)
    if path is None:
        return tiny_vocabulary() if name_or_path == _TINY else finding.load_vocabulary(name_or_path)
    loaded = _load(path)
    if not isinstance(loaded, Vocabulary):
        raise VocabularyFileError(
            f"{path} must hold a vocabulary of bytes, it holds a {type(loaded).__name__}: "
            "load_tokenizer loads it"
        )
    return loaded


def load(name_or_path: str | Path) -> Tokenizer:
    """Return the tokenizer of a vocabulary; raises what `load_vocabulary` raises.

    >>> tokenizer = load("tiny")
    >>> tokenizer.decode(tokenizer.encode("Hello, world!"))
    'Hello, world!'
    """
    return Tokenizer(load_vocabulary(name_or_path), name=str(name_or_path))


def load_tokenizer(name_or_path: str | Path) -> AnyTokenizer:
    """Return the tokenizer that a name or a file of any format stands for.

    For a `tokenizer.json` that is a `Pipeline`, for a SentencePiece model a
    `SentencePieceTokenizer`, for all else a `Tokenizer`. Raises
    `UnknownVocabularyError` for a name that is not known or found nowhere, and
    `VocabularyFileError` for a file that holds no tokenizer.

    >>> load_tokenizer("tiny")
    <Tokenizer tiny, 2000 tokens>
    """
    path = _path(name_or_path)
    if path is None:
        return load(name_or_path)
    loaded = _load(path)
    if isinstance(loaded, Vocabulary):
        return Tokenizer(loaded, name=str(name_or_path))
    return loaded


def _path(name_or_path: str | Path) -> Path | None:
    """Return the file to read, or None for a name."""
    if not isinstance(name_or_path, str | os.PathLike):
        raise ParameterError("name_or_path", name_or_path, "must be a name or a path")
    if isinstance(name_or_path, str) and (name_or_path == _TINY or name_or_path in REGISTRY):
        return None
    path = Path(name_or_path)
    if isinstance(name_or_path, str):
        path = finding.find(name_or_path)
    for name in _IN_FOLDERS:
        if _is_file(path / name):
            return path / name
    if _is_folder(path):
        raise VocabularyFileError(
            f"{path} must hold one of {', '.join(_IN_FOLDERS)}, it is a folder without any"
        )
    return path


def _load(path: Path) -> "Vocabulary | Pipeline | SentencePieceTokenizer":
    """Return what a file holds; raise `VocabularyFileError`."""
    # The readers of whole tokenizers are imported where they are needed: they need many modules.
    content, source = read_unpacked(path), str(path)
    match format_of(content, source):
        case "tokenizer.json":
            from bpe_ref.formats.hugging_face import (
                parse_tokenizer_json,
            )

            return parse_tokenizer_json(content, source)
        case "sentencepiece":
            from bpe_ref.formats.sentencepiece import (
                parse_sentencepiece,
            )
            from bpe_ref.sentencepiece.tokenizer import (
                SentencePieceTokenizer,
            )

            return SentencePieceTokenizer(parse_sentencepiece(content, source), name=source)
        case "tekken":
            return parse_tekken(content, source)
        case "minbpe":
            return parse_minbpe(content, source)
        case "plain json":
            return parse_plain_json(content, source).vocabulary
        case "tiktoken":
            return vocabulary_by_concatenation(parse_tiktoken(content, source))
        case _:
            return _load_pair(path)


def _load_pair(path: Path) -> Vocabulary:
    """Return the vocabulary of a file and the one beside it; raise `VocabularyFileError`."""
    name = path.name.removesuffix(".gz")
    beside = _BESIDE.get(name)
    if beside is None:
        raise VocabularyFileError(
            f"{path} must be called {', '.join(_BESIDE)}, "
            "for its other half is looked for by its name"
        )
    other = path.with_name(beside)
    files = {name: path, beside: other}
    if "vocab.bpe" in files:
        return read_gpt2(files["vocab.bpe"], files["encoder.json"])
    return read_merges_text(files["merges.txt"], files["vocab.json"])


def _is_file(path: Path) -> bool:
    """Return whether there is a file that can be seen."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a closed folder; a name with a NUL in it
        return False


def _is_folder(path: Path) -> bool:
    """Return whether there is a folder that can be seen."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # as above
        return False
