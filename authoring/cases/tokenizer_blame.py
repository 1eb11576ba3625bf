"""Which mutants of whole tokenizers a question would find: the same as `blame`, for tokenizers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from authoring.cases.draft import Draft, tells_apart
from authoring.mutants.mutant import PipelinesWithHandler, PipelineWithHandler
from authoring.mutants.table import MUTANTS
from authoring.tokenizer_files.table import fixture_tokenizers
from bpe_ref.tokenizer import Tokenizer
from tokenref.answers import Answer, Crashed, Ok, Refused, Session, guarded
from tokenref.engines.reference import PipelineSession, unknown_ids
from tokenref.subjects import read_tokenizer

PREFIXES: Final = {
    "tokenize": "tokenize-",
    "detokenize": "detokenize-",
    "detokenize_stream": "text-stream-",
}
"""What the names of an operation's mutants begin with."""

_MOST_NAMED: Final = 4

REFUSED: Final[list[str]] = []
"""What `blamed` returns, this very list, where a question has no answer and the engine dies."""


@dataclass(frozen=True)
class _Remembering(PipelineSession):
    """The right session, which remembers its last answer: every mutant asks for the same one."""

    _last: list[tuple[str, Mapping[str, Any], Ok | Refused]] = field(default_factory=list)

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        if not self._last or self._last[0][:2] != (op, request):
            self._last[:] = [
                (
                    op,
                    dict(request),
                    PipelineSession(self.tokenizer, self.unknown_ids).answer(op, request),
                )
            ]
        return self._last[0][2]


@cache
def _sessions(op: str, tokenizer: str, profile: str) -> list[tuple[str, Session]]:
    """Return the mutants that are not just the right tokenizer here, those of one part first."""
    content = fixture_tokenizers()[tokenizer].content
    right = read_tokenizer(content, tokenizer, profile)
    unknown = unknown_ids(profile)
    remembering = _Remembering(right, unknown)
    parts: list[tuple[str, Session]] = []
    others: list[tuple[str, Session]] = []
    for name, mutant in MUTANTS.items():
        if not name.startswith(PREFIXES[op]):
            continue
        engine = mutant.engine
        if isinstance(engine, PipelinesWithHandler):
            others.append((name, PipelineWithHandler(remembering, engine.begin())))
            continue
        prepared = guarded(lambda engine=engine: engine.prepare_tokenizer(right))  # type: ignore[misc]
        if prepared is not right and isinstance(prepared, Tokenizer):
            parts.append((name, PipelineSession(prepared, unknown)))
    return parts + others


def _answer(session: Session, op: str, request: dict[str, Any]) -> Answer | str:
    """Return what an engine says; of a refusal only the reason, as messages are not compared."""
    answer = guarded(lambda: session.answer(op, request))
    return answer.code if isinstance(answer, Refused) else answer


def right_answer(op: str, tokenizer: str, profile: str, request: Struct) -> Answer | str:
    """Return what the reference says; of a refusal only the reason."""
    content = fixture_tokenizers()[tokenizer].content
    session = PipelineSession(read_tokenizer(content, tokenizer, profile), unknown_ids(profile))
    return _answer(session, op, msgspec.to_builtins(request))


def blamed(op: str, tokenizer: str, profile: str, request: Struct) -> list[str]:
    """Return the mutants of an operation that answer otherwise than the reference.

    >>> from tokenref.questions.text import DetokenizeInput
    >>> request = DetokenizeInput(ids=[9999], skip_special_tokens=True)
    >>> blamed("detokenize", "unk", "hugging-face", request)
    ['detokenize-unknown-id-refused', 'detokenize-unknown-id-as-unk']
    """
    right = right_answer(op, tokenizer, profile, request)
    plain = msgspec.to_builtins(request)
    if isinstance(right, Crashed) or (op == "detokenize" and right == "INVALID_PREFIX"):
        return REFUSED
    return [
        name
        for name, session in _sessions(op, tokenizer, profile)
        if _answer(session, op, plain) != right
    ]


def blaming(
    op: str,
    topic: str,
    slug: str,
    tokenizer: str,
    request: Struct,
    fact: str,
    flags: Sequence[str],
    *,
    anchor: str,
    names: Sequence[str],
    profile: str = "hugging-face",
) -> Draft:
    """Return a case whose `why` is a fact and the first of the mutants that it finds."""
    named = names[:_MOST_NAMED]
    listed = ", ".join(name.removeprefix(PREFIXES[op]) for name in named)
    more = f" and {len(names) - len(named)} more" if len(names) > len(named) else ""
    return Draft(
        op=op,
        topic=topic,
        slug=slug,
        vocabulary=tokenizer,
        request=request,
        why=fact + (f" Fails with: {listed}{more}." if named else ""),
        flags=sorted(set(flags)),
        spec=f"docs/tokenizers.md#{anchor}",
        profile=profile,
        purposes=tuple(tells_apart(name, MUTANTS[name].engine) for name in named),
    )
