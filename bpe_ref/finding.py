"""Find the file of a vocabulary, check its digest, and read it.

Where a file is looked for, in this order
    1. A name with a path separator in it is a path and is taken as it is; so is the name of an
       existing file, unless it is a registered name.
    2. Each folder in the environment variable `TOKENREF_VOCABULARIES`, separated as in `PATH`,
       under the file's own name: r50k_base.tiktoken also for gpt2, or the same with .gz.
    3. tiktoken's cache: the folder `TIKTOKEN_CACHE_DIR`, or `DATA_GYM_CACHE_DIR`, or data-gym-cache
       in the temporary folder. An empty variable means none.
    4. An installed `bpe-openai`, which carries three of the files. It is not imported.
    5. The folder tokenref in the user's cache, which `tokenref vocabulary fetch` downloads to
       unless a folder is named (`default_folder`).

A name that is not registered is also that of a tokenizer which this command downloaded to one of
these folders (2 and 5): qwen3 is the file qwen3/tokenizer.json there.

The first file found is the one that is read. If its sha256 is wrong, that is an error: the next
place is not tried, for the wrong file would never be noticed.

Source of tiktoken's cache: openai/tiktoken 0.14.0, `tiktoken/load.py`.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from bpe_ref.errors import UnknownVocabularyError, VocabularyFileError
from bpe_ref.formats.files import read_unpacked, seen
from bpe_ref.formats.tiktoken import parse_tiktoken
from bpe_ref.registry import (
    MODELS,
    REGISTRY,
    RegisteredVocabulary,
    encoding_name_for_model,
    registered,
)
from bpe_ref.vocabulary import Vocabulary, vocabulary_by_concatenation

_FETCHED: Final = ("/tokenizer.json", ".model", ".json")
"""The endings of downloaded tokenizers, see `tokenref vocabulary fetch`."""

CARRIED: Final = ("cl100k_base", "o200k_base", "voyage3_base")
"""The files in bpe-openai."""

_MORE: Final = "those of `tokenref vocabulary list`"


def default_folder() -> Path:
    """Return the folder that vocabularies are downloaded to.

    The first folder in `TOKENREF_VOCABULARIES`, or tokenref in the user's cache:
    `XDG_CACHE_HOME` if that is an absolute path, as the XDG base directory
    specification asks, else ~/.cache.

    >>> default_folder().is_absolute() or "TOKENREF_VOCABULARIES" in os.environ
    True
    """
    named = _named_folders()
    return named[0] if named else _user_folder()


def find(name: str) -> Path:
    """Return the path of a vocabulary's file; the module's docstring has the order.

    Raises `UnknownVocabularyError` for a name that is not registered, and for
    one whose file is nowhere. A path is not looked at: reading will tell.

    >>> find("folder/my.tiktoken").name
    'my.tiktoken'
    """
    if os.sep in name or (os.altsep and os.altsep in name):
        return Path(name)
    if name and name not in REGISTRY and seen(Path(name).exists):
        return Path(name)
    if name not in REGISTRY:
        for folder in (*_named_folders(), _user_folder()):
            for ending in _FETCHED:
                if name and seen((folder / f"{name}{ending}").is_file):
                    return folder / f"{name}{ending}"
        raise _unknown(name)
    entry = registered(name)
    missing: list[str] = []
    for candidate in _candidates(entry):
        if seen(candidate.is_file):
            return candidate
        missing.append(str(candidate))
    remedies = [] if entry.url is None else [f"run `tokenref vocabulary fetch {name}`"]
    if entry.file in CARRIED:
        remedies.append("install the package bpe-openai, which carries it")
    here = f"; ./{name} is what this folder has by that name" * seen(Path(name).exists)
    raise UnknownVocabularyError(
        f"vocabulary {name} was found nowhere: there is no {', no '.join(missing)}; "
        f"{', or '.join(remedies)}, or name its folder in TOKENREF_VOCABULARIES{here}"
    )


def _unknown(name: str) -> UnknownVocabularyError:
    """Return the error for a name that is neither registered nor that of a file."""
    reason = f"there is no file {name!r}, and no vocabulary of that name"
    with suppress(UnknownVocabularyError):
        return UnknownVocabularyError(reason, uses=used_by(name))
    known = ["tiny", "book", "odd", *_fetched(), *REGISTRY]
    near = " or ".join(map(repr, similar_names(name, known)))
    every = "" if near else f"; known names are {', '.join(known)}, and {_MORE}"
    return UnknownVocabularyError(reason + every, similar=near)


def used_by(model: str) -> str:
    """Return the vocabulary's name for a model, however upper case and punctuation are written.

    Raises `UnknownVocabularyError` as `encoding_name_for_model` does.

    >>> used_by("GPT4o"), used_by("GPT-4o-mini")
    ('o200k_base', 'o200k_base')
    """
    known = {_letters(each): each for each in MODELS}
    return encoding_name_for_model(known.get(_letters(model), model.lower()))


def _fetched() -> list[str]:
    """Return the names of the tokenizers that were downloaded."""
    names: set[str] = set()
    for folder in (*_named_folders(), _user_folder()):
        with suppress(OSError):
            for path in folder.iterdir():
                name = path.name.partition(".")[0]
                if (
                    name
                    and name not in REGISTRY
                    and any(seen((folder / f"{name}{ending}").is_file) for ending in _FETCHED)
                ):
                    names.add(name)
    return sorted(names)


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to four known names that may be meant: those that begin so, or else similar ones.

    Upper case and punctuation do not count.

    >>> similar_names("Llama-3.1", ["llama3_1", "gptoss"]), similar_names("gptoss", ["gpt2"])
    (['llama3_1'], [])
    """
    listed, typed = list(known), _letters(name[:100])
    found = [each for each in listed if typed and _letters(each).startswith(typed)]
    return found[:4] or get_close_matches(name.lower()[:100], listed, 2, 0.61)  # gptoss is not gpt2


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def registered_vocabulary(name: str) -> Vocabulary:
    """Return a vocabulary by its registered name: the tokens of its file, and the registry's rules.

    Raises `UnknownVocabularyError` as `find` does, and `VocabularyFileError` for a file that is not
    the registered one by its sha256.

    >>> registered_vocabulary("gpt5")
    Traceback (most recent call last):
    bpe_ref.errors.UnknownVocabularyError: a registered vocabulary must be one of gpt2, ...
    """
    entry = registered(name)
    path = find(name)
    content = read_unpacked(path)
    check_sha256(entry, content, str(path))
    return vocabulary_by_concatenation(
        parse_tiktoken(content, str(path)),
        text=entry.text_rules(),
        special_tokens=dict(entry.special_tokens),
    )


def check_sha256(entry: RegisteredVocabulary, content: bytes, source: str) -> None:
    """Raise `VocabularyFileError` unless `content` is the registered vocabulary's file.

    `source` is what the sentence calls the content.

    >>> check_sha256(REGISTRY["gpt2"], b"", "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example must be r50k_base.tiktoken with sha256 306c..., ...
    """
    from hashlib import sha256

    found = sha256(content).hexdigest()
    if found != entry.sha256:
        raise VocabularyFileError(
            f"{source} must be {entry.file}.tiktoken with sha256 {entry.sha256}, got {found}"
        )


def _candidates(entry: RegisteredVocabulary) -> Iterator[Path]:
    """Yield every path that a vocabulary's file may have, in order."""
    for folder in _named_folders():
        yield from _in_folder(folder, entry)
    cache = _tiktoken_cache()
    if entry.url is not None and cache is not None:
        from hashlib import sha1  # tiktoken's key, and only a name here

        yield cache / sha1(entry.url.encode(), usedforsecurity=False).hexdigest()
    package = _bpe_openai_folder()
    if package is not None:
        yield package / "data" / f"{entry.file}.tiktoken.gz"
    yield from _in_folder(_user_folder(), entry)


def _in_folder(folder: Path, entry: RegisteredVocabulary) -> tuple[Path, Path]:
    return folder / f"{entry.file}.tiktoken", folder / f"{entry.file}.tiktoken.gz"


def _named_folders() -> list[Path]:
    """Return the folders in `TOKENREF_VOCABULARIES`; empty entries name none."""
    listed = os.environ.get("TOKENREF_VOCABULARIES", "").split(os.pathsep)
    return [Path(folder) for folder in listed if folder]


def _user_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "tokenref"


def _tiktoken_cache() -> Path | None:
    """Return the folder that tiktoken keeps its downloads in; None if it was told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        folder = os.environ.get(variable)
        if folder is not None:
            return Path(folder) if folder else None
    import tempfile

    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _bpe_openai_folder() -> Path | None:
    """Return where the Python package bpe-openai is installed, without importing it, or None."""
    from importlib.util import find_spec

    try:
        spec = find_spec("bpe_openai")
    except ValueError:  # a stand-in without a spec is already imported under that name
        return None
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    return Path(folders[0]) if folders else None
