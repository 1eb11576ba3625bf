"""The order of a chain's steps: what each engine answers where another order would differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.chains_asking import ChainTopic, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose
from authoring.reordered import with_step_at
from sampling_ref import PROFILES
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.judge import judge
from tokenref.record import Case, op_of
from tokenref.subjects import SAMPLERS

TOPIC: Final = ChainTopic("orders", ("ChainOrder",), "docs/engines.md#the-order-of-the-steps")


@dataclass(frozen=True)
class _Order:
    """A question in which it matters that one step stands before another."""

    profile: str
    first: str
    then: str
    params: dict[str, Any]
    row: tuple[float, ...]
    history: tuple[int, ...]
    says: str


_ORDERS: Final = (
    _Order(
        "llama.cpp",
        "penalties",
        "top_k",
        {"repeat_penalty": 4.0, "repeat_last_n": 8, "top_k": 1, "top_p": 1.0, "min_p": 0.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that penalties push down is the one best before: cut first, it would stay",
    ),
    _Order(
        "transformers",
        "repetition_penalty",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that the penalty pushes down is the one best before: cut first, it would stay",
    ),
    _Order(
        "vllm",
        "repetition_penalty",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1, "temperature": 1.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that the penalty pushes down is the one best before: cut first, it would stay",
    ),
    _Order(
        "mistral.rs",
        "penalties",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1, "temperature": 1.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that penalties push down is the one best before: cut first, it would stay",
    ),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _ORDERS:
        yield SamplerDraft(
            op="chain",
            topic=TOPIC.name,
            slug=f"{each.first}-then-{each.then}.{each.profile}",
            profile=each.profile,
            request=chain_request(each.row, each.params, each.history),
            why=f"{each.says} ({each.profile}).",
            flags=TOPIC.flags,
            spec=TOPIC.spec,
            purposes=(_needs_its_order(each),),
        )


def _needs_its_order(each: _Order) -> SamplerPurpose:
    """Return the purpose "with the first step moved behind the other the answer is another"."""
    moved = with_step_at(PROFILES[each.profile], each.first, -1)
    tools = SamplerTools(profiles=MappingProxyType(dict(PROFILES) | {each.profile: moved}))

    def check(case: Case) -> None:
        request = msgspec.to_builtins(case.input)
        answer = SamplerSession(each.profile, tools).answer(op_of(case), request)
        if judge(case, answer, SAMPLERS).status == "pass":
            raise PurposeError(f"{case.id}: must tell apart where {each.first} stands")

    return check
