"""What records are about: a vocabulary, or a whole tokenizer as its file describes it."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from bpe_ref import Vocabulary
from tokenref.engines.answers import Engine, LoadsTokenizers, Session, Unsupported
from tokenref.record import Case, canonical_json, op_of


@dataclass(frozen=True)
class TokenizerFile:
    """A tokenizer.json: every engine that reads such files is given it as it is."""

    name: str
    content: bytes

    def digest(self) -> str:
        """Return the sha256 of what the file says, however it is laid out.

        >>> TokenizerFile("one", b'{"a": 1}').digest() == TokenizerFile("two", b'{"a":1}').digest()
        True
        """
        return f"sha256:{sha256(canonical_json(json.loads(self.content))).hexdigest()}"


Subject: TypeAlias = Vocabulary | TokenizerFile


def load_subject(
    engine: Engine, subject: Subject, name: str, profile: str
) -> Session | Unsupported:
    """Load what a record is about, under the record's profile where there is a choice."""
    if isinstance(subject, Vocabulary):
        return engine.load(subject, name)
    if not isinstance(engine, LoadsTokenizers):
        return Unsupported("reads no tokenizer.json")
    return engine.load_tokenizer(subject.content, name, profile)


def together(case: Case) -> tuple[str, str, str]:
    """Return a key by which cases are sorted, so that what they are about is loaded once."""
    return case.vocab, case.profile, op_of(case)
