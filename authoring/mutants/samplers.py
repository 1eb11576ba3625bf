"""What sampler mutants are made of: other functions, other profiles, or other answers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from authoring.mutants.mutant import Mutant, Witness
from tokenref.answers import Answer
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.subjects import SAMPLERS

AskSampler: TypeAlias = Callable[[SamplerSession, str, Mapping[str, Any]], Answer]
"""How a request is passed on to the reference, and its answer back."""


@dataclass(frozen=True)
class AskedSamplers(ReferenceEngine):
    """A reference whose requests to samplers go through what `begin` returns.

    `begin` is called for each session, so that what a session remembers is its own.
    """

    begin: Callable[[], AskSampler] = lambda: SamplerSession.answer

    def load_profile(self, profile: str) -> "AskedSampler":
        """Take up a profile."""
        return AskedSampler(SamplerSession(profile, self.sampler_tools), self.begin())


@dataclass(frozen=True)
class AskedSampler:
    """A session of `AskedSamplers`."""

    right: SamplerSession
    ask: AskSampler

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        return self.ask(self.right, op, request)


def question(
    op: str,
    request: Mapping[str, Any],
    *,
    profile: str = "standard",
    before: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Witness:
    """Return the witness "this question to a sampler".

    >>> question("greedy", {"logits": {"f32": "3f000000"}}).profile
    'standard'
    """
    return Witness(SAMPLERS, op, request, before, rules=profile)


def sampler_mutant(
    name: str,
    story: str,
    witness: Witness,
    *,
    ops: Collection[str],
    profiles: Collection[str] | None = None,
    tools: SamplerTools | None = None,
    begin: Callable[[], AskSampler] | None = None,
) -> Mutant:
    """Return a mutant of samplers; `ops` and `profiles` say where its answers may differ."""
    label, tools = f"mutant {name}", tools or SamplerTools()
    engine: ReferenceEngine
    if begin is None:
        engine = ReferenceEngine(label, sampler_tools=tools)
    else:
        engine = AskedSamplers(label, sampler_tools=tools, begin=begin)
    scope = None if profiles is None else frozenset(profiles)
    return Mutant(name, story, engine, witness, frozenset(ops), scope)
