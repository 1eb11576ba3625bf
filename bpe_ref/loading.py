"""From a name, a file of any format, or a folder to a tokenizer.

A name is `tiny`, `book` or `odd` (which are part of this package) or one of the registry. A path
leads to a file of any format in `formats`; what it is, the content tells
(`formats.recognising`). Two formats have two files, and either one leads to both:

    merges.txt   beside vocab.json
    vocab.bpe    beside encoder.json

A path may lead to a folder, too. The first file counts that is there, of
tokenizer.json, tekken.json, tokenizer.model, vocab.json, encoder.json; without any
of them, the only GGUF file. The other files of the folder change nothing, unless the
tokenizer is loaded as transformers does (`formats.transformers`).
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from bpe_ref import finding
from bpe_ref.decoders import ByteLevel
from bpe_ref.errors import ParameterError, UnknownVocabularyError, VocabularyFileError
from bpe_ref.formats.files import no_collection, read_unpacked, seen
from bpe_ref.parameters import check_choice
from bpe_ref.registry import MODELS, REGISTRY, text_rules_of
from bpe_ref.tiny import SMALL, small_vocabulary, tiny_vocabulary
from bpe_ref.tokenizer import Tokenizer, tokenizer_of
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation

LIKE_TRANSFORMERS: Final = ("transformers-4", "transformers-5")
"""What `load(folder, like=...)` accepts."""

_TINY: Final = "tiny"
_FILES: Final = ("tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "encoder.json")
_ENDINGS: Final = ("tokenizer.json", "tekken.json", ".model", "vocab.json", ".tiktoken", ".gguf")
_WITHOUT_PATTERN: Final = ("tiktoken", "ids", "merges text")
_LLAMA3: Final = "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"
"""The sha256 of Llama 3's tokenizer.model, which its tokenizer.json has all tokens of."""

_BESIDE: Final = {
    "merges.txt": "vocab.json",
    "vocab.json": "merges.txt",
    "vocab.bpe": "encoder.json",
    "encoder.json": "vocab.bpe",
}


def load(
    name_or_path: str | os.PathLike[str], *, like: str | None = None, pattern: str | None = None
) -> Tokenizer:
    """Return the tokenizer that a name, a file of any format, or a folder stands for.

    With `like`, which is "transformers-4" or "transformers-5", it is what transformers makes of a
    folder with a tokenizer.json: other settings there change it. `changes` of the tokenizer says
    how. See `formats.transformers`.

    A file in the tiktoken format holds no pattern and no special tokens, and neither do the pairs
    of files above hold a pattern. `pattern` is the name of a registered vocabulary, such as
    "cl100k_base", whose pattern is used, or "llama3", or a regular expression. Without it each text
    is one piece, and `notes` of the tokenizer and `audit` say so. Raises `ParameterError` if any
    other file is given a pattern.

    A str without a path separator is a name, unless there is a file that is called so. The name of
    a model, such as "gpt-4o", stands for that of its vocabulary. Raises
    `UnknownVocabularyError` for a name that is not known or whose file is not found, and
    `VocabularyFileError` for a path without a file, or a file that holds no tokenizer. Both are
    `BpeError`.

    >>> tokenizer = load("tiny")
    >>> tokenizer
    <Tokenizer tiny, 2004 tokens, 4 of them special>
    >>> tokenizer.decode(tokenizer.encode("Hello, world!"))
    'Hello, world!'
    """
    try:
        path = _path(name_or_path)
    except UnknownVocabularyError as error:
        if name_or_path not in MODELS:
            raise
        return load(error.uses, like=like, pattern=pattern)
    name = str(name_or_path)
    if like is not None:
        _refuse_pattern(pattern, name)
        return _load_like(path, name, like)
    if path is not None:
        with no_collection():
            return _load(path, name, pattern)
    _refuse_pattern(pattern, name)
    if name in SMALL:
        return tokenizer_of(small_vocabulary(name), name=name)
    vocabulary = tiny_vocabulary() if name == _TINY else finding.registered_vocabulary(name)
    return tokenizer_of(vocabulary, name=name)


def _load_like(path: Path | None, name: str, like: str) -> Tokenizer:
    """Return what transformers makes of a folder, given the path of its tokenizer.json."""
    check_choice("like", like, LIKE_TRANSFORMERS)
    if path is None or path.name != _FILES[0]:
        raise VocabularyFileError(
            f"{name} must be a folder with a {_FILES[0]}, because it is loaded as {like} does"
        )
    from bpe_ref.formats.transformers import FILES, like_transformers

    folder = path.parent
    contents = {
        file: read_unpacked(folder / file) for file in FILES if seen((folder / file).is_file)
    }
    return like_transformers(load(path), contents, str(folder), like).replace(name=name)


def _path(name_or_path: str | os.PathLike[str]) -> Path | None:
    """Return the file to read, or None for a name."""
    if not isinstance(name_or_path, str | os.PathLike):
        raise ParameterError("name_or_path", name_or_path, "must be a name or a path")
    if isinstance(name_or_path, str) and (name_or_path == _TINY or name_or_path in REGISTRY):
        return None
    path = Path(name_or_path)
    if name_or_path in SMALL and not seen(path.exists):
        return None
    _refuse_unresolved(path, str(name_or_path))
    if isinstance(name_or_path, str):
        path = finding.find(name_or_path)
    for name in _FILES:
        if seen((path / name).is_file):
            return path / name
    if seen(path.is_dir):
        return _lone_gguf(path)
    return path


def is_read_in_folders(name: str) -> bool:
    """Return whether `load` may read a file because it is in the folder that it is given.

    >>> is_read_in_folders("tokenizer.json"), is_read_in_folders("goldens.jsonl")
    (True, False)
    """
    from bpe_ref.formats.transformers import FILES

    return name in {*_FILES, *_BESIDE, *FILES} or name.endswith(".gguf")


def _lone_gguf(folder: Path) -> Path:
    """Return the only GGUF file of a folder. Raises `VocabularyFileError` if there is not one."""
    files: list[Path] = []
    with suppress(OSError):
        files += [file for file in folder.iterdir() if file.name.endswith(".gguf")]
    if len(files) != 1 or not seen(files[0].is_file):
        raise _without_any(folder)
    return files[0]


def _refuse_unresolved(path: Path, name: str) -> None:
    """Raise `VocabularyFileError` for an address, and for what only a shell understands."""
    if seen(path.exists):
        return
    if name.lower().startswith(("http:/", "https:/")):
        raise VocabularyFileError(f"{name} must be a name or a path: nothing is downloaded")
    if name.startswith("~") and len(path.parts) > 1:
        raise VocabularyFileError(f"{name} cannot be read: ~ is not expanded; give the folder")
    is_model = len(path.parts) == 2 and not path.suffix[1:].isalpha()
    if is_model and "." not in path.parts[0] and not seen(path.parent.exists):
        rule = "cannot be read: there is no such file, and models are not downloaded"
        raise VocabularyFileError(f"{name} {rule}")


def _without_any(folder: Path) -> VocabularyFileError:
    """Return the error about a folder without a file that is looked for."""
    try:
        (folder / _FILES[0]).lstat()
    except PermissionError as error:
        return VocabularyFileError(f"{folder} cannot be read: {error.strerror}")
    except OSError:
        pass
    return VocabularyFileError(
        f"{folder} must hold one of {', '.join(_FILES)}, but it is a folder without any"
        f"{_instead(folder)}"
    )


def _instead(folder: Path) -> str:
    """Return the end of the sentence: a file in the folder that can be given by its own name."""
    with suppress(OSError):
        for file in sorted(folder.iterdir()):
            if file.name.removesuffix(".gz").endswith(_ENDINGS) and file.is_file():
                return f"; to load {file.name}, give its path: {file}"
    return ""


def _refuse_pattern(pattern: str | None, name: str) -> None:
    """Raise `ParameterError` if there is a pattern for what has its own."""
    if pattern is not None:
        rule = f"must not be given for {name}, which holds its own rules"
        raise ParameterError("pattern", pattern, rule)


def _load(path: Path, name: str, pattern: str | None) -> Tokenizer:
    from bpe_ref.formats.json_nodes import parse_json
    from bpe_ref.formats.recognising import format_of, is_json

    source = str(path)
    data = read_unpacked(path)
    content = parse_json(data, source) if is_json(data) else data
    kind = format_of(content, source)
    if kind not in _WITHOUT_PATTERN:
        _refuse_pattern(pattern, name)
    text = None if pattern is None else text_rules_of(pattern)
    match kind:
        case "tokenizer.json":
            from bpe_ref.formats.hugging_face import parse_tokenizer_json

            return parse_tokenizer_json(content, source, name=name)
        case "gguf":
            from bpe_ref.formats.gguf import parse_gguf

            return parse_gguf(data, source).replace(name=name)
        case "sentencepiece":
            from bpe_ref.formats.sentencepiece import parse_sentencepiece, sentencepiece_tokenizer

            return sentencepiece_tokenizer(parse_sentencepiece(data, source), name)
        case "tekken":
            from bpe_ref.formats.tekken import parse_tekken

            tekken = tokenizer_of(parse_tekken(content, source), name=name)
            decoder = ByteLevel(
                add_prefix_space=False, trim_offsets=False, joins_over_special=False
            )
            return tekken.replace(decoder=decoder)
        case "minbpe":
            from bpe_ref.formats.minbpe import parse_minbpe

            vocabulary = parse_minbpe(data, source)
        case "plain json":
            from bpe_ref.formats.plain_json import parse_plain_json

            vocabulary = parse_plain_json(content, source).vocabulary
        case "tiktoken":
            from bpe_ref.formats.tiktoken import parse_tiktoken

            vocabulary = vocabulary_by_concatenation(parse_tiktoken(data, source), text=text)
        case _:
            vocabulary = _load_pair(path, text)
    tokenizer = tokenizer_of(vocabulary, name=name)
    if text is None and kind in _WITHOUT_PATTERN:
        return tokenizer.replace(notes=(_no_pattern(name, data, kind),))
    return tokenizer


def _no_pattern(name: str, data: bytes, kind: str) -> str:
    """Return what to do about a file without a pattern. A registered one is known by its digest."""
    from hashlib import sha256

    digest = sha256(data).hexdigest()
    files = {each.sha256: each.file for each in REGISTRY.values()}
    known = "llama3" if digest == _LLAMA3 else files.get(digest)
    use = known or ("cl100k_base" if kind == "tiktoken" else "gpt2")
    why = f"its tokens are those of {known}" if known else f"to cut texts as {use} does"
    return (
        f"{name} holds no pattern, so each text is one piece; {why}, "
        f"use --pattern {use}, in Python pattern={use!r}"
    )


def _load_pair(path: Path, text: TextRules | None) -> Vocabulary:
    """Return the vocabulary of a file and the one beside it; raise `VocabularyFileError`.

    A list of merges is all there is: pieces that are tokens are not taken whole.
    """
    text = None if text is None else replace(text, whole_piece=False)
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
        from bpe_ref.formats.gpt2 import read_gpt2

        return read_gpt2(files["vocab.bpe"], files["encoder.json"], text=text)
    from bpe_ref.formats.merges_text import read_merges_text

    return read_merges_text(files["merges.txt"], files["vocab.json"], text=text)
