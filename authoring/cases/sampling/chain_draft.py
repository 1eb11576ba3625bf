"""Questions about an engine's whole chain."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose
from authoring.cases.sampling.row_draft import in_32_bits
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Floats, Type, nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rounding.margins import UNDEFINED_TIES, UndecidedError, set_of_ties
from tokenref.rounding.verdicts import asked, others, prove_decided, shares_verdict
from tokenref.verdicts import Alternative, Either, Exact, Verdict

ALONE: Final[Mapping[str, Mapping[str, Any]]] = {
    "transformers": {"top_k": 0},
    "llama.cpp": {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0},
    "candle": {"temperature": 1.0, "repeat_penalty": 1.0},
    "mlx-lm": {"temp": 1.0},
    "exllamav2": {"top_k": 0, "top_p": 0.0, "temperature": 1.0, "token_repetition_penalty": 1.0},
    "tensorrt-llm": {"temperature": 1.0},
    "antigravity": {"top_k": 99, "top_p": 1.0, "temperature": 1.0, "repetition_penalty": 1.0},
}
"""What switches an engine's defaults off, so that one step can be looked at alone."""


def alone(name: str, **params: Any) -> dict[str, Any]:
    """Return parameters under which an engine does what is given, and nothing else.

    >>> alone("transformers", top_p=0.5)
    {'top_k': 0, 'top_p': 0.5}
    """
    return {**ALONE.get(name, {}), **params}


def chain_request(
    logits: Sequence[float] | Floats,
    params: Mapping[str, Any],
    history: Sequence[int] = (),
    *,
    prompt_length: int = 0,
    uniforms: Sequence[float] | None = None,
    dtype: Type = "f32",
) -> dict[str, Any]:
    """Return a question about a chain, as a record has it.

    >>> sorted(chain_request([0.5], {"top_k": 1}))
    ['history', 'logits', 'params', 'prompt_length']
    """
    if isinstance(logits, Floats):
        row: Mapping[str, Any] = msgspec.to_builtins(logits)
    else:
        row = pack([nearest(float(logit), dtype) for logit in logits], dtype)
    request = {
        "logits": row,
        "history": list(history),
        "prompt_length": prompt_length,
        "params": pack_parameters(in_32_bits(params)),
    }
    if uniforms is not None:
        request["uniforms"] = pack(list(map(float, uniforms)), "f64")
    return request


def decided(profile: str, request: Mapping[str, Any], *, meets: bool = False) -> SamplerPurpose:
    """Return the purpose "no rounding decides the answer to this question"."""

    def check(case: Case) -> None:
        try:
            prove_decided(profile, request, meets=meets)
        except UndecidedError as error:
            raise PurposeError(f"{case.id}: {error}") from None

    return check


class ChainTopic(NamedTuple):
    """What the chains of one file have in common."""

    name: str
    flags: tuple[str, ...]
    spec: str = "docs/sampling.md#chains"

    def case(
        self,
        op: str,
        slug: str,
        profile: str,
        request: Mapping[str, Any],
        why: str,
        *purposes: SamplerPurpose,
        flags: Sequence[str] = (),
        meets: bool = False,
        spec: str = "",
        tied: bool = False,
        hangs: bool = False,
    ) -> SamplerDraft:
        """Return a case that is proven to be decided, or close if it asks for numbers.

        `tied` says that equals stand at the cut: if the engine's sort is not stable, any of
        them may stay. `hangs` says that rounding does decide: then every answer passes that
        an arithmetic or a number nearby gives.
        """
        verdict: Verdict = Exact()
        answer = SamplerSession(profile).answer(op, request)
        proofs: list[SamplerPurpose] = []
        if isinstance(answer, Ok):
            if hangs:
                verdict = chain_alternatives(profile, request)
            else:
                proofs.append(decided(profile, request, meets=meets))
            if tied and any(engine == profile for engine, _ in UNDEFINED_TIES):
                verdict = set_of_ties(unpack(request["logits"]), answer.out["keep"])
            if op == "distribution":
                verdict = shares_verdict(profile, request, unpack(answer.out["probs"]))
        return SamplerDraft(
            op,
            self.name,
            slug,
            profile,
            request,
            why,
            tuple({*self.flags, *flags}),
            verdict,
            spec or self.spec,
            (*proofs, *purposes),
        )


def chain_alternatives(profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return what a chain leaves by several arithmetics, each under a name."""
    found = {asked(profile, request).keep: "exact"}
    for what, other in others(profile, request, meets=False):
        found.setdefault(other.keep, what.replace(" ", "-"))
    if len(found) == 1:
        return Exact()
    return Either(
        alternatives=[
            Alternative(
                label=label,
                reason=f"The sum meets the threshold but for rounding; this is the answer {label}.",
                out={"keep": list(keep)},
            )
            for keep, label in found.items()
        ]
    )
