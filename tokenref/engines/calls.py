"""Several calls on one session, in order: how any engine answers `session` that has the calls.

What an engine keeps between two calls, it keeps in its session. So nothing has to be written
for an engine of this program: its calls are asked one after the other, and nothing in between.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tokenref.answers import Answer, Ok, Refused, Session

SESSION: Final = "session"

Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Answer]


def asked(session: Session, op: str, request: Mapping[str, Any]) -> Answer:
    """Return a session's answer to one question, which may be several calls.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.reference import ReferenceEngine
    >>> session = ReferenceEngine().load(vocabulary_by_concatenation({b"a": 0}), "one")
    >>> calls = [{"op": "count", "in": {"text": "aa"}}, {"op": "encode", "in": {"text": "b"}}]
    >>> asked(session, "session", {"calls": calls})
    Ok(out={'answers': [{'count': 2}, {'code': 'MISSING_BYTE'}]})
    """
    if op == SESSION:
        return in_order(session.answer, request)
    return session.answer(op, request)


def in_order(ask: Ask, request: Mapping[str, Any]) -> Answer:
    """Return the answers of all calls. A refusal is one of them; what is no answer ends them all.

    Stages are left out: a call is judged by what it gives.

    >>> from tokenref.answers import Unsupported
    >>> calls = [{"op": "a", "in": {}}]
    >>> in_order(lambda op, request: Unsupported(f"has no {op}"), {"calls": calls})
    Unsupported(reason='has no a')
    """
    answers: list[dict[str, Any]] = []
    for call in request["calls"]:
        answer = ask(call["op"], call["in"])
        if isinstance(answer, Ok):
            answers.append({key: part for key, part in answer.out.items() if key != "stages"})
        elif isinstance(answer, Refused):
            answers.append({"code": answer.code})
        else:
            return answer
    return Ok({"answers": answers})
