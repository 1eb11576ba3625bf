"""Vocabularies and tokenizers in a line of JSON: by name if everybody has them, else whole."""

import json
from functools import cache
from typing import Any, Final

from bpe_ref import NamedVocabulary, Vocabulary, dump_plain_json
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.catalogue import shipped_subject, shipped_subjects
from tokenref.goldens import own_subject
from tokenref.record import canonical_json
from tokenref.subjects import SAMPLERS, Samplers, Subject, TokenizerFile

LARGEST: Final = 20_000
"""Tokens of the largest vocabulary that is written whole; a larger one has a name."""


def written(subject: Subject, name: str) -> dict[str, Any] | None:
    """Return a subject as plain data: null for samplers, a name for what is shipped.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> sorted(written(vocabulary_by_concatenation({b"ac": 0}), ""))
    ['vocabulary']
    >>> written(shipped_subject("tiny"), "")
    {'name': 'tiny'}
    """
    if isinstance(subject, Samplers):
        return None
    shipped = shipped_name(subject)
    if shipped is not None:
        return {"name": shipped}
    if isinstance(subject, TokenizerFile):
        return {"tokenizer": json.loads(subject.content), "name": subject.name}
    if name and len(subject.tokens) > LARGEST:
        return {"name": name}
    named = NamedVocabulary(name or "drawn", "Drawn or made smaller by a campaign.", subject)
    return {"vocabulary": json.loads(dump_plain_json(named))}


def read_written(content: dict[str, Any] | None) -> Subject:
    """Return the subject that plain data stands for; the inverse of `written`.

    Raises `BpeError` for a vocabulary that is none, or that cannot be found.
    """
    if content is None:
        return SAMPLERS
    if "vocabulary" in content:
        data = canonical_json(content["vocabulary"])
        return parse_plain_json(data, "the vocabulary of a finding").vocabulary
    if "tokenizer" in content:
        return TokenizerFile(str(content["name"]), canonical_json(content["tokenizer"]))
    return named_subject(str(content["name"]))


def named_subject(name: str) -> Subject:
    """Return what a name or a path stands for; the fixtures' own names come first."""
    return shipped_subject(name) if name in shipped_subjects() else _own_subject(name)


_own_subject = cache(own_subject)


def shipped_name(subject: Vocabulary | TokenizerFile) -> str | None:
    """Return the name that the fixtures have for a subject, or None."""
    return _shipped().get(subject.digest())


@cache
def _shipped() -> dict[str, str]:
    return {entry.digest: name for name, entry in shipped_subjects().items()}
