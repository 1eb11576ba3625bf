"""Questions about an engine's whole chain, and the proof that no rounding decides them.

A chain is *decided* if the answer is the same without rounding and with 32 bits after every
operation, if every filter on the way has a proven margin (`ambiguity.is_decided`), and if the
answer stays the same when all logits are scaled by 1 plus or minus 2**-20 and when every real
parameter is moved by four units in the last place. Rows in which equal logits meet a boundary
exactly are asked on purpose (`meets=True`): there all sums are exact, and nothing is moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.ambiguity import UNDEFINED_TIES, is_decided, set_of_ties
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose
from authoring.cases.sampling.rounded_filters import ROUNDED
from authoring.cases.sampling.rows_asking import in_32_bits
from sampling_ref import ParameterError
from sampling_ref.candidates import Candidates
from sampling_ref.evaluation import Evaluation, evaluation
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession, with_functions
from tokenref.floats import Floats, Type, nearest, pack, type_of, units_apart, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.verdicts import Alternative, Close, Either, Exact, Verdict

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

SCALES: Final = (1 - 2.0**-20, 1 + 2.0**-20)
ULPS: Final = 4
LONGEST_MOVED: Final = 4096
"""Longer rows are proven by two arithmetics and their margins alone, to save time."""


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


class Asked(NamedTuple):
    """What a chain's answer is under one arithmetic."""

    keep: tuple[int, ...]
    stages: tuple[tuple[str, tuple[int, ...]], ...]
    token: int | None


def asked(
    profile: str,
    request: Mapping[str, Any],
    *,
    precision: Any = "exact",
    logits: Sequence[float] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Asked:
    """Return an engine's answer to a question, perhaps with other logits or parameters."""
    evaluated = _evaluation(profile, request, precision, logits, params)
    run = evaluated.run()
    stages = tuple((applied.step, _kept(applied.after)) for applied in run.applied)
    token = evaluated.draw(run) if "uniforms" in request and _draws(evaluated) else None
    return Asked(_kept(run.candidates), stages, token)


def _draws(evaluated: Evaluation) -> bool:
    """Return whether the random numbers are for a draw, and not for a step on the way."""
    return not any(
        stage.step == "xtc" and not stage.is_off(evaluated.parameters)
        for stage in evaluated.profile.stages
    )


def _evaluation(
    profile: str,
    request: Mapping[str, Any],
    precision: Any,
    logits: Sequence[float] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Evaluation:
    return evaluation(
        profile,
        unpack(request["logits"]) if logits is None else logits,
        request["history"],
        with_functions(unpack_parameters(request["params"])) if params is None else params,
        prompt_length=request["prompt_length"],
        uniforms=unpack(request["uniforms"]) if "uniforms" in request else (),
        precision=precision,
    )


def _kept(candidates: Candidates) -> tuple[int, ...]:
    pairs = zip(candidates.tokens, candidates.logits, strict=True)
    return tuple(sorted(token for token, logit in pairs if logit != -inf))


def decided(profile: str, request: Mapping[str, Any], *, meets: bool = False) -> SamplerPurpose:
    """Return the purpose "no rounding decides the answer to this question"."""
    return lambda case: prove_decided(profile, request, meets=meets, name=case.id)


def prove_decided(
    profile: str, request: Mapping[str, Any], *, meets: bool = False, name: str = "a question"
) -> None:
    """Raise `PurposeError` if rounding decides the answer to a question.

    >>> prove_decided("vllm", chain_request([2.0, 1.0, 0.0], {"top_p": 0.75}))
    >>> prove_decided("vllm", chain_request([0.0, 0.0], {"top_p": 0.5}))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    authoring.cases.draft.PurposeError: a question: rounding decides: ...
    """
    right = asked(profile, request)
    for what, other in _others(profile, request, meets=meets):
        if other != right:
            raise PurposeError(f"{name}: rounding decides: {what} gives {other}, not {right}")
    if not meets:
        _check_margins(name, profile, request)


def _others(
    profile: str, request: Mapping[str, Any], *, meets: bool
) -> Iterator[tuple[str, Asked]]:
    """Yield what other arithmetics answer, and what is answered to numbers nearby."""
    logits = unpack(request["logits"])
    if all(nearest(logit, "f32") == logit for logit in set(logits)):
        yield "32 bits", asked(profile, request, precision="f32")
    if meets or len(logits) > LONGEST_MOVED:
        return
    for scale in SCALES:
        yield (
            f"scaled by {scale}",
            asked(profile, request, logits=[logit * scale for logit in logits]),
        )
    params = with_functions(unpack_parameters(request["params"]))
    for key, value in params.items():
        if not isinstance(value, float) or value in {0.0, 1.0}:
            continue
        for direction in (-1, 1):
            moved = nearest(value * (1 + direction * ULPS * 2.0**-23), "f32")
            try:
                yield f"{key} {moved!r}", asked(profile, request, params={**params, key: moved})
            except ParameterError:
                continue  # beyond the end of what is allowed


def _check_margins(name: str, profile: str, request: Mapping[str, Any]) -> None:
    """Hold that every filter of the chain has a proven margin."""
    for applied in _evaluation(profile, request, "exact").run().applied:
        values = dict(applied.values)
        logits = [float(logit) for logit in applied.before.true_logits()]
        if applied.step in ROUNDED and values.get("base") != "the whole row":
            values.pop("base", None)
            if applied.step == "xtc":
                values["uniform"] = (
                    0.5 if "uniforms" not in request else unpack(request["uniforms"])[0]
                )
            if not is_decided(logits, applied.step, values):
                raise PurposeError(f"{name}: {applied.step} has no margin")


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
                verdict = _either(profile, request)
            else:
                proofs.append(decided(profile, request, meets=meets))
            if tied and any(engine == profile for engine, _ in UNDEFINED_TIES):
                verdict = set_of_ties(unpack(request["logits"]), answer.out["keep"])
            if op == "distribution":
                verdict = close_shares(profile, request, unpack(answer.out["probs"]))
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


def _either(profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return what a chain leaves by several arithmetics, each under a name."""
    found = {asked(profile, request).keep: "exact"}
    for what, other in _others(profile, request, meets=False):
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


def close_shares(profile: str, request: Mapping[str, Any], right: Sequence[float]) -> Verdict:
    """Return how far probabilities may be off: as far as those of two arithmetics, and one.

    The two are the engine's own with 32 bits, and another that divides by a rounded sum.
    """
    dtype = type_of(request["logits"])
    apart = 0
    logits = unpack(request["logits"])
    if all(nearest(logit, "f32") == logit for logit in logits):
        evaluated = _evaluation(profile, request, "f32")
        rounded = evaluated.probabilities(evaluated.run().candidates)
        for first, second in zip(right, rounded, strict=True):
            apart = max(apart, int(units_apart(first, nearest(float(second), dtype), dtype)))
    whole = all(number in {0.0, 0.25, 0.5, 1.0} for number in right)
    return Exact() if apart == 0 and whole else Close(ulp=2 * apart + 2)
