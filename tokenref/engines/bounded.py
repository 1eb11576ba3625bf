"""An engine that is not asked for more than it can do in reasonable time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bpe_ref import Vocabulary
from tokenref.answers import Answer, Engine, Session, Unsupported, request_text


@dataclass(frozen=True)
class BoundedEngine:
    """Another engine, for texts of at most `longest` characters or bytes.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.reference import ReferenceEngine
    >>> engine = BoundedEngine(ReferenceEngine("slow"), longest=2)
    >>> session = engine.load(vocabulary_by_concatenation({b"a": 0}), "one")
    >>> session.answer("count", {"text": "aaa"})
    Unsupported(reason='is not asked for texts of more than 2 characters: it takes quadratic time')
    """

    engine: Engine
    longest: int

    @property
    def name(self) -> str:
        """The name of the other engine."""
        return self.engine.name

    @property
    def version(self) -> str:
        """The version of the other engine."""
        return self.engine.version

    def load(self, vocabulary: Vocabulary, name: str) -> "BoundedSession | Unsupported":
        """Load a vocabulary."""
        session = self.engine.load(vocabulary, name)
        if isinstance(session, Unsupported):
            return session
        return BoundedSession(session, self.longest)


@dataclass(frozen=True)
class BoundedSession:
    """Another engine's session, for short texts."""

    session: Session
    longest: int

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request, unless its text is too long."""
        has_text = not {"text", "bytes", "recipe"}.isdisjoint(request)
        if has_text and len(request_text(request)) > self.longest:
            return Unsupported(
                f"is not asked for texts of more than {self.longest} characters: "
                "it takes quadratic time"
            )
        return self.session.answer(op, request)
