"""Which mutants a question would find: why a generated case is kept."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from authoring.cases.draft import Draft, Purpose, PurposeError, tells_apart
from authoring.cases.vocabularies import vocabulary_named
from authoring.mutants.table import MUTANTS
from tokenref.answers import Answer, Crashed, Refused, Session, guarded
from tokenref.engines.reference import ReferenceEngine


@cache
def _session(mutant: str, vocabulary: str) -> Session | None:
    named = vocabulary_named(vocabulary)
    engine = MUTANTS[mutant].engine if mutant else ReferenceEngine()
    loaded = guarded(lambda: engine.load(named, vocabulary))
    return loaded if hasattr(loaded, "answer") else None


def _answer(mutant: str, vocabulary: str, op: str, request: dict[str, Any]) -> Answer | str | None:
    """Return what an engine says; of a refusal only the reason, as messages are not compared."""
    session = _session(mutant, vocabulary)
    if session is None:
        return None
    answer = guarded(lambda: session.answer(op, request))
    return answer.code if isinstance(answer, Refused) else answer


def blamed(op: str, vocabulary: str, request: Struct) -> list[str]:
    """Return the mutants of an operation that answer otherwise than the reference.

    >>> from tokenref.questions.text import LimitInput
    >>> blamed("limit", "doubles", LimitInput(text="aa", limit=1))
    ['excluded']
    """
    plain = msgspec.to_builtins(request)
    right = _answer("", vocabulary, op, plain)
    if isinstance(right, Crashed):
        raise PurposeError(f"{op} with {vocabulary}: the reference crashes: {right.message}")
    prefix = f"{PREFIXES.get(op, op)}-"
    return sorted(
        name.removeprefix(prefix)
        for name in MUTANTS
        if name.startswith(prefix) and _answer(name, vocabulary, op, plain) != right
    )


PREFIXES = {"intervals": "interval", "grammar_mask": "grammar"}
"""What the names of an operation's mutants begin with, if not with its own."""


def finds(op: str, names: Sequence[str]) -> tuple[Purpose, ...]:
    """Return the purposes "these mutants fail here"."""
    prefix = PREFIXES.get(op, op)
    return tuple(tells_apart(name, MUTANTS[f"{prefix}-{name}"].engine) for name in names)


def blaming(
    op: str,
    topic: str,
    slug: str,
    vocabulary: str,
    request: Struct,
    fact: str,
    flags: Sequence[str],
    *,
    spec: str,
) -> Draft:
    """Return a case whose `why` is a fact and the mutants that it finds."""
    names = blamed(op, vocabulary, request)
    wrong = f" Fails with: {', '.join(names)}." if names else ""
    return Draft(
        op=op,
        topic=topic,
        slug=slug,
        vocabulary=vocabulary,
        request=request,
        why=fact + wrong,
        flags=sorted(flags),
        spec=spec,
        purposes=finds(op, names),
    )
