"""The subjects of records: a vocabulary, a whole tokenizer, or samplers."""

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from bpe_ref import Tokenizer, Vocabulary, VocabularyFileError, load, tokenizer_of
from bpe_ref.errors import VocabularyError
from bpe_ref.finding import find
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.formats.recognising import is_json
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.quirks import QUIRKS
from tokenref.answers import (
    Crashed,
    Engine,
    LoadsForProfile,
    LoadsProfiles,
    LoadsTokenizers,
    Session,
    Unsupported,
    guarded,
)
from tokenref.files import load_tokenizer
from tokenref.record import Case, canonical_json, op_of


@dataclass(frozen=True)
class TokenizerFile:
    """A tokenizer.json, which engines receive unchanged."""

    name: str
    content: bytes

    def digest(self) -> str:
        """Return the sha256 of the file's content, whatever its formatting.

        >>> TokenizerFile("one", b'{"a": 1}').digest() == TokenizerFile("two", b'{"a":1}').digest()
        True
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return _digest_of(self.content)


@lru_cache(maxsize=4)
def _digest_of(content: bytes) -> str:
    """Return the digest. A copy next to records is read twice, and a large one takes a second."""
    return f"sha256:{sha256(canonical_json(json.loads(content))).hexdigest()}"


@dataclass(frozen=True)
class Samplers:
    """The subject of records about samplers, which need only a profile."""


SAMPLERS: Final = Samplers()

TokenizerSubject: TypeAlias = Vocabulary | TokenizerFile

Subject: TypeAlias = TokenizerSubject | Samplers


_READ_FILES: Final = 16
"""How many parsed tokenizer.json files are kept in memory; mutants use the same ones often."""


@lru_cache(maxsize=_READ_FILES)
def read_tokenizer(content: bytes, name: str, profile: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json. The last few are cached."""
    return parse_tokenizer_json(content, name, QUIRKS[profile])


def load_bytes(name_or_path: str | Path) -> Vocabulary:
    """Return the vocabulary of bytes that a name or a file stands for.

    Raises `BpeError` if it stands for none, or for a tokenizer of another kind.

    >>> len(load_bytes("tiny").tokens)
    2000
    """
    model = load(name_or_path).model
    if not isinstance(model, ByteBPE):
        raise VocabularyFileError(
            f"{name_or_path} must be a byte-level BPE, but its model is {type(model).__name__}"
        )
    return model.vocabulary


def load_text_subject(
    name_or_path: str, pattern: str | None = None
) -> tuple[TokenizerSubject, Tokenizer]:
    """Return what engines get of a name or a file, and the reference's tokenizer of it.

    It is a vocabulary of bytes, or else a whole tokenizer.json, which is written for a file of
    another format. Raises `BpeError` if there can be neither.

    >>> subject, tokenizer = load_text_subject("tiny")
    >>> type(subject).__name__, tokenizer.name
    ('Vocabulary', 'tiny')
    """
    tokenizer = load_tokenizer(name_or_path, pattern=pattern)
    if isinstance(tokenizer.model, ByteBPE):
        vocabulary = tokenizer.model.vocabulary
        made = tokenizer_of(vocabulary, name=tokenizer.name)
        return vocabulary, made.replace(notes=tokenizer.notes)
    path = find(name_or_path)
    path = path / "tokenizer.json" if path.is_dir() else path
    content = read_unpacked(path) if path.is_file() else b""
    if is_json(content):
        return TokenizerFile(path.name, content), tokenizer
    try:
        return TokenizerFile(path.name, dump_tokenizer_json(tokenizer)), tokenizer
    except VocabularyError as error:
        kind = type(tokenizer.model).__name__
        raise VocabularyFileError(
            f"{name_or_path} must be a byte-level BPE, or what a tokenizer.json can hold, because "
            f"records and engines have one of the two, but its model is {kind}, and {error}; use "
            "the tokenizer.json of the same model, which save_pretrained of its fast tokenizer in "
            "transformers writes"
        ) from None


def encoding_of(subject: TokenizerSubject) -> tuple[str, str]:
    """Return the operation that encodes a text with a subject, and its profile.

    >>> encoding_of(TokenizerFile("one", b"{}"))
    ('tokenize', 'hugging-face')
    """
    if isinstance(subject, Vocabulary):
        return "encode", "definition"
    return "tokenize", "hugging-face"


def load_subject(
    engine: Engine, subject: Subject, name: str, profile: str
) -> Session | Unsupported:
    """Load the subject of a record, under the record's profile if the engine has several."""
    if isinstance(subject, Samplers):
        if not isinstance(engine, LoadsProfiles):
            return Unsupported("has no samplers")
        return engine.load_profile(profile)
    if isinstance(subject, Vocabulary):
        if isinstance(engine, LoadsForProfile):
            return engine.load_for_profile(subject, name, profile)
        return engine.load(subject, name)
    if not isinstance(engine, LoadsTokenizers):
        return Unsupported("cannot read a tokenizer.json")
    return engine.load_tokenizer(subject.content, name, profile)


class OneSession:
    """An engine with one loaded subject at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._about: tuple[Subject | None, str] = (None, "")
        self.session: Session | Unsupported | Crashed = Unsupported("nothing is loaded yet")

    def load(self, subject: Subject, name: str, profile: str) -> Session | Unsupported | Crashed:
        """Return a session for a subject, the current one if it fits."""
        if self._about[0] is not subject or self._about[1] != profile:
            self.session = guarded(lambda: load_subject(self._engine, subject, name, profile))
            self._about = subject, profile
        return self.session


def together(case: Case) -> tuple[str, str, str]:
    """Return a sort key for cases, so that each subject is loaded once."""
    return case.vocab or "", case.profile, op_of(case)
