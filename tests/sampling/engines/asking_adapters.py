"""Questions to the adapters of engines that sample, and what they answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenref.answers import Answer, LoadsProfiles, Ok, Unsupported
from tokenref.engines.table import Unavailable, engine
from tokenref.floats import Type, pack, unpack
from tokenref.questions.sampling import pack_parameters


def question(
    row: Sequence[float],
    history: Sequence[int] = (),
    prompt: int = 0,
    *,
    dtype: Type = "f32",
    **params: Any,
) -> dict[str, Any]:
    return {
        "logits": pack(row, dtype),
        "history": list(history),
        "prompt_length": prompt,
        "params": pack_parameters(params),
    }


def out(answer: Answer) -> Mapping[str, Any]:
    assert isinstance(answer, Ok), answer
    return answer.out


def logits(answer: Answer) -> list[float]:
    return unpack(out(answer)["logits"])


def taken_up(name: str, profile: str) -> Any:
    found = engine(name)
    assert not isinstance(found, Unavailable)
    assert isinstance(found, LoadsProfiles)
    session = found.load_profile(profile)
    assert not isinstance(session, Unsupported), session.reason
    return session
