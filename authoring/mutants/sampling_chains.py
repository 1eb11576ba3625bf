"""Mutants of whole chains: the order of steps, defaults, batches, and calls on one sampler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from math import inf
from types import MappingProxyType
from typing import Any, Final

from authoring.mutants.mutant import Mutant, mutant
from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    other_answer,
    other_question,
    question,
    row_request,
)
from authoring.reordered import with_step_at
from sampling_ref import PROFILES, Profile
from tokenref.answers import Answer, Ok
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.record import ROW_OPS


def _without(profile: Profile, *steps: str) -> Profile:
    return replace(profile, stages=tuple(s for s in profile.stages if s.step not in steps))


def reordered(
    profile: str,
    *,
    row: Sequence[float] = (3.0, 2.5, 2.0, 1.0, 0.0),
    history: Sequence[int] = (),
    **params: Any,
) -> Callable[[Callable[[Profile], Profile]], Mutant]:
    """Return a decorator: the function changes the steps of an engine or their order."""

    def engine(label: str, change: Callable[[Profile], Profile]) -> ReferenceEngine:
        profiles = dict(PROFILES) | {profile: change(PROFILES[profile])}
        tools = SamplerTools(profiles=MappingProxyType(profiles))
        return ReferenceEngine(label, sampler_tools=tools)

    return mutant(
        question("chain", row_request(row, history, 0, **params), profile=profile),
        engine,
        ops=("chain", "distribution", "sample"),
        profiles={profile},
    )


@reordered("transformers", temperature=2.0, top_p=0.75, top_k=0)
def temperature_after_top_p(profile: Profile) -> Profile:
    """top-p is applied before the temperature; fish-speech#1150, sglang-jax#289."""
    return with_step_at(profile, "temperature", -1)


@reordered("llama.cpp", temp=2.0, top_p=0.75, min_p=0.0)
def temperature_before_the_filters(profile: Profile) -> Profile:
    """The temperature is applied first where it must be last; llama.cpp#4091."""
    return with_step_at(profile, "temperature", 1)


@reordered("mlx-lm", temp=2.0, top_p=0.75)
def filters_on_the_tempered_row(profile: Profile) -> Profile:
    """top-p, min-p and XTC are applied to the row after temperature; mlxcel#1379."""
    return with_step_at(profile, "temperature", 0)


@reordered("transformers", row=(2.0, 2.0, 2.0, 1.0), top_k=2, top_p=0.5)
def top_p_before_top_k(profile: Profile) -> Profile:
    """The two filters are in the wrong order."""
    return with_step_at(
        profile, "top_k", 1 + [s.step for s in _without(profile, "top_k").stages].index("top_p")
    )


@reordered("llama.cpp", top_k=1, top_n_sigma=3.0)
def top_n_sigma_replaces_the_chain(profile: Profile) -> Profile:
    """With top-n-sigma all other filters are skipped; llama.cpp#13264."""
    return _without(profile, "top_k", "top_p", "min_p", "typical", "xtc")


@reordered("vllm", temperature=2.0, min_p=0.125)
def chain_applies_its_temperature_twice(profile: Profile) -> Profile:
    """Both the server and the sampler divide; RL-Kernel#81."""
    twice = [s for stage in profile.stages for s in [stage] * (1 + (stage.step == "temperature"))]
    return replace(profile, stages=tuple(twice))


@reordered("llama.cpp", min_p=0.5)
def chain_has_no_min_p(profile: Profile) -> Profile:
    """One filter of the chain is missing."""
    return _without(profile, "min_p")


@reordered("sglang", history=[0, 0], frequency_penalty=2.0, top_k=1)
def chain_has_no_penalties(profile: Profile) -> Profile:
    """Penalties are accepted and not applied in the chain; sglang#28179."""
    return _without(profile, "frequency_penalty", "presence_penalty", "repetition_penalty")


@reordered("llama.cpp", history=[0, 0], repeat_penalty=4.0, top_k=1)
def penalties_after_the_filters(profile: Profile) -> Profile:
    """Penalties are applied to a row that is already filtered."""
    return with_step_at(profile, "penalties", -1)


@reordered("llama.cpp", logit_bias={4: 10.0}, top_k=1)
def bias_after_the_filters(profile: Profile) -> Profile:
    """A bias has no effect on a token that is already removed."""
    return with_step_at(profile, "logit_bias", -1)


@reordered("vllm", temperature=2.0, min_p=0.375)
def min_p_before_the_temperature(profile: Profile) -> Profile:
    """min-p is applied to the row before temperature; sglang-jax#1563."""
    return with_step_at(profile, "min_p", 0)


@reordered("llama.cpp", row=(3.0, 2.5, 2.0, 1.0, 0.0), top_k=2, top_p=0.6, min_p=0.0)
def top_p_is_a_share_of_the_whole_row(profile: Profile) -> Profile:
    """top-p ignores that the filters before it removed probability."""
    stages = (
        replace(stage, choices={**stage.choices, "base": "the whole row"})
        if stage.step == "top_p"
        else stage
        for stage in profile.stages
    )
    return replace(profile, stages=tuple(stages))


# ---- batches


def _batch(change: Callable[[list[dict[str, Any]], int], Mapping[str, Any]]) -> SamplerHandler:
    """Answer a batch with rows changed, given by the parts that differ."""

    @wraps(change)
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        rows = request["rows"]
        return {"rows": [{**row, **change(rows, place)} for place, row in enumerate(rows)]}

    return other_question(changed)


def _from_row(rows: list[dict[str, Any]], place: int, part: str, other: int) -> Mapping[str, Any]:
    """Return a part of another row, if both rows have it."""
    return {part: rows[other][part]} if part in rows[place] and part in rows[other] else {}


def _two(op: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": op, "rows": [dict(first), dict(second)]}


def _top_k(*row: float, k: int) -> dict[str, Any]:
    return {"probs": pack(row), "params": pack_parameters({"k": k})}


_PAIR: Final = _two("top_k", _top_k(0.5, 0.25, 0.25, k=1), _top_k(0.25, 0.25, 0.5, k=2))


@answering("batch", _PAIR)
@_batch
def batch_uses_the_first_row_s_parameters(
    rows: list[dict[str, Any]], place: int
) -> Mapping[str, Any]:
    """All rows get the parameters of the first."""
    return _from_row(rows, place, "params", 0)


@answering("batch", _PAIR)
@_batch
def batch_uses_the_largest_k(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    """A kernel sorts for the largest k of the batch and cuts no row shorter."""
    given = [unpack_parameters(row.get("params", {})) for row in rows]
    name = next((name for name in ("k", "top_k") if name in given[place]), None)
    if name is None:
        return {}
    largest = max(each.get(name) or 0 for each in given)
    return {"params": pack_parameters({**given[place], name: largest})}


@answering("batch", _PAIR)
@_batch
def batch_uses_the_neighbour_s_parameters(
    rows: list[dict[str, Any]], place: int
) -> Mapping[str, Any]:
    """Parameters are off by one row."""
    return _from_row(rows, place, "params", (place + 1) % len(rows))


@answering(
    "batch",
    _two(
        "top_k",
        {"logits": pack([1.0, 0.0]), "params": pack_parameters({"k": 1})},
        {"logits": pack([0.0, 1.0]), "params": pack_parameters({"k": 1})},
    ),
)
@_batch
def batch_reads_the_neighbour_s_logits(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    """The stride between rows is wrong; vllm#42684."""
    return _from_row(rows, place, "logits", (place + 1) % len(rows))


@answering(
    "batch",
    _two(
        "repetition_penalty",
        row_request([1.0, 1.0], [0], 0, penalty=2.0),
        row_request([1.0, 1.0], [1], 0, penalty=2.0),
    ),
)
@_batch
def batch_uses_the_neighbour_s_history(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    """Penalties of one text are applied to another."""
    return _from_row(rows, place, "history", (place + 1) % len(rows))


@answering(
    "batch",
    _two(
        "draw",
        {"probs": pack([0.5, 0.5]), "uniforms": pack([0.25])},
        {"probs": pack([0.5, 0.5]), "uniforms": pack([0.75])},
    ),
)
@_batch
def batch_throws_one_coin(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    """One random number is used for all rows; mlx-lm (S16)."""
    return _from_row(rows, place, "uniforms", 0)


@answering("batch", _PAIR)
@other_answer
def batch_returns_rows_in_another_order(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The answers are those of other rows; exllamav3#256."""
    return {"rows": [*out["rows"][1:], out["rows"][0]]}


@answering(
    "batch",
    {
        "op": "top_k",
        "rows": [{"logits": pack([1.0, 1.0]), "params": pack_parameters({"top_k": 1})}] * 8,
    },
    profile="vllm",
)
@other_answer
def batch_of_8_breaks_ties_otherwise(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """From 8 rows on another kernel runs, which keeps exactly k tokens; vllm#50979."""
    if len(request["rows"]) < 8:
        return out
    rows = []
    every = request["rows"] * request.get("calls", 1)
    for row, answer in zip(every, out["rows"], strict=True):
        params = unpack_parameters(row.get("params", {}))
        k = params.get("k", params.get("top_k"))
        keep = answer.get("keep", [])
        rows.append({**answer, "keep": keep[:k]} if k and len(keep) > k else answer)
    return {"rows": rows}


# ---- calls on one sampler


def _deaf_to(kind: str, session: SamplerSession, op: str, request: Request) -> Answer:
    """Leave out calls of a kind; their answers are null."""
    right = session.answer(op, request)
    heard = [place for place, call in enumerate(request["calls"]) if kind not in call]
    if not isinstance(right, Ok) or not heard:
        return right
    answer = session.answer(op, {**request, "calls": [request["calls"][place] for place in heard]})
    if not isinstance(answer, Ok):
        return answer
    answers: list[Any] = [None] * len(request["calls"])
    for place, token in zip(heard, answer.out["answers"], strict=True):
        answers[place] = token
    return Ok({"answers": answers})


def _sequence(
    calls: Sequence[Mapping[str, Any]], prompt: Sequence[int] = (), **params: Any
) -> dict[str, Any]:
    return {"params": pack_parameters(params), "prompt": list(prompt), "calls": list(calls)}


_SAMPLE: Final = {"sample": {"logits": pack([1.0, 0.75]), "uniforms": pack([0.25, 0.25])}}
_ONE_NUMBER: Final = {"sample": {"logits": pack([1.0, 0.75]), "uniforms": pack([0.25])}}
_PENALISED: Final[Mapping[str, Any]] = {"repeat_penalty": 4.0, "top_k": 1}


@answering("sequence", _sequence([_ONE_NUMBER, _ONE_NUMBER], **_PENALISED), profile="llama.cpp")
def sampler_accepts_by_itself(session: SamplerSession, op: str, request: Request) -> Answer:
    """Drawing a token adds it to the history, even if it is rejected later."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    calls: list[dict[str, Any]] = []
    places: list[int] = []
    for call in request["calls"]:
        places.append(len(calls))
        calls.append(call)
        if "sample" in call:
            so_far = session.answer(op, {**request, "calls": calls})
            if not isinstance(so_far, Ok):
                return so_far
            calls.append({"accept": so_far.out["answers"][-1]})
    answer = session.answer(op, {**request, "calls": calls})
    if not isinstance(answer, Ok):
        return answer
    return Ok({"answers": [answer.out["answers"][place] for place in places]})


@answering(
    "sequence",
    _sequence([_ONE_NUMBER, {"accept": 0}, _ONE_NUMBER], **_PENALISED),
    profile="llama.cpp",
)
def sampler_does_not_accept(session: SamplerSession, op: str, request: Request) -> Answer:
    """Accepted tokens do not reach the penalties; vllm#18902 under speculation."""
    return _deaf_to("accept", session, op, request)


@answering(
    "sequence",
    _sequence([{"accept": 0}, {"reset": True}, _ONE_NUMBER], **_PENALISED),
    profile="llama.cpp",
)
def sampler_does_not_reset(session: SamplerSession, op: str, request: Request) -> Answer:
    """The history of the previous text is kept."""
    return _deaf_to("reset", session, op, request)


@answering(
    "sequence",
    _sequence([{"accept": 0}, {"truncate": 0}, _ONE_NUMBER], **_PENALISED),
    profile="llama.cpp",
)
def sampler_does_not_truncate(session: SamplerSession, op: str, request: Request) -> Answer:
    """Rejected drafts stay in the history."""
    return _deaf_to("truncate", session, op, request)


@answering(
    "sequence",
    _sequence(
        [
            {"sample": {"logits": pack([4.0, 3.0, 2.0, 1.0]), "uniforms": pack([u])}}
            for u in (0.5, 0.9375, 0.9375, 0.9375, 0.9375)
        ],
        mirostat=2,
        mirostat_tau=0.5,
        mirostat_eta=1.0,
    ),
    profile="llama.cpp",
)
def sampler_forgets_its_state(session: SamplerSession, op: str, request: Request) -> Answer:
    """Mirostat's mu is reset for every token; llama-cpp-python#914, LLamaSharp#71."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    answers: list[Any] = []
    before: list[dict[str, Any]] = []
    for call in request["calls"]:
        if "sample" in call:
            alone = session.answer(op, {**request, "calls": [*before, call]})
            if not isinstance(alone, Ok):
                return alone
            answers.append(alone.out["answers"][-1])
        else:
            answers.append(None)
            before.append(call)
    return Ok({"answers": answers})


@answering(
    "sequence", _sequence([_SAMPLE], prompt=[0, 0], frequency_penalty=2.0, top_k=1), profile="vllm"
)
def sampler_takes_the_prompt_for_output(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """Tokens of the prompt are penalised as if generated; transformers#36642, vmlx-swift#294."""
    right = session.answer(op, request)
    if not isinstance(right, Ok) or not request["prompt"]:
        return right
    start = [{"accept": token} for token in request["prompt"]]
    calls: list[Mapping[str, Any]] = list(start)
    for call in request["calls"]:
        calls += [call, *start] if "reset" in call else [call]
    truncated = [
        {"truncate": call["truncate"] + len(start)} if "truncate" in call else call
        for call in calls
    ]
    answer = session.answer(op, {**request, "prompt": [], "calls": truncated})
    if not isinstance(answer, Ok):
        return answer
    found, answers = iter(answer.out["answers"][len(start) :]), []
    for call in request["calls"]:
        answers.append(next(found))
        if "reset" in call:
            for _ in start:
                next(found)
    return Ok({"answers": answers})


@answering(
    "sequence",
    _sequence(
        [{"sample": {"logits": pack([0.0, 0.0]), "uniforms": pack([u])}} for u in (0.25, 0.75)]
    ),
    profile="llama.cpp",
)
@other_question
def sampler_starts_its_stream_again(request: dict[str, Any]) -> Mapping[str, Any]:
    """Each token is drawn with the same random numbers; private-mind#255, aiter#2035."""
    calls = request["calls"]
    first = next((call["sample"]["uniforms"] for call in calls if "sample" in call), None)
    same = {"uniforms": first}
    return {
        "calls": [{"sample": call["sample"] | same} if "sample" in call else call for call in calls]
    }


# ---- what no step does alone


@answering(
    ("distribution", "sample", "softmax", "greedy"), {"logits": pack([-inf, -inf])}, op="softmax"
)
def impossible_row_becomes_uniform(session: SamplerSession, op: str, request: Request) -> Answer:
    """Minus infinity becomes -1e30, so a row without possible tokens can draw any token; sglang
    (S14).
    """
    row = unpack(request["logits"]) if "logits" in request else []
    if row and all(number == -inf for number in row):
        given = {**request, "logits": pack([0.0] * len(row))}
        return session.answer(op, given)
    return session.answer(op, request)


@answering(ROW_OPS, row_request([-inf, 1.0], temperature=0.5), op="temperature")
@other_answer
def banned_tokens_come_back(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """A token removed by an earlier step gets a small logit again."""
    if "logits" not in out:
        return out
    row = [-1024.0 if logit == -inf else logit for logit in unpack(out["logits"])]
    return {"logits": pack(row, type_of(out["logits"]))}
