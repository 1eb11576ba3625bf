"""Mutants of whole chains: the order of steps, defaults, batches, and calls on one sampler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import question, sampler_mutant
from authoring.mutants.sampling_rows import CHAINS, Request, asking, other_question, row_request
from sampling_ref import PROFILES, Profile
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.record import ROW_OPS
from tokenref.reordered import with_step_at

Reorder: TypeAlias = Callable[[Profile], Profile]

_MIXED: Final = (3.0, 2.5, 2.0, 1.0, 0.0)


def _without(profile: Profile, *steps: str) -> Profile:
    return replace(profile, stages=tuple(s for s in profile.stages if s.step not in steps))


def _twice(profile: Profile, step: str) -> Profile:
    stages = [s for stage in profile.stages for s in ([stage] * (1 + (stage.step == step)))]
    return replace(profile, stages=tuple(stages))


def reordered(
    name: str,
    story: str,
    profile: str,
    change: Reorder,
    *,
    row: Sequence[float] = _MIXED,
    history: Sequence[int] = (),
    uniforms: Sequence[float] = (),
    **params: Any,
) -> Mutant:
    """Return a mutant of an engine whose steps are others, or stand elsewhere."""
    profiles = dict(PROFILES) | {profile: change(PROFILES[profile])}
    request = row_request(row, history, 0, **params)
    if uniforms:
        request["uniforms"] = pack(uniforms)
    return sampler_mutant(
        name,
        story,
        question("chain", request, profile=profile),
        ops=CHAINS,
        profiles={profile},
        tools=SamplerTools(profiles=MappingProxyType(profiles)),
    )


ORDERS: Final = (
    reordered(
        "temperature-after-top-p",
        "The nucleus is taken before the temperature; fish-speech#1150, sglang-jax#289.",
        "transformers",
        lambda profile: with_step_at(profile, "temperature", -1),
        temperature=2.0,
        top_p=0.75,
        top_k=0,
    ),
    reordered(
        "temperature-before-the-filters",
        "The temperature comes first, where it must be last; llama.cpp#4091.",
        "llama.cpp",
        lambda profile: with_step_at(profile, "temperature", 1),
        temp=2.0,
        top_p=0.75,
        min_p=0.0,
    ),
    reordered(
        "filters-on-the-tempered-row",
        "top-p, min-p and XTC act on the tempered row; mlxcel#1379.",
        "mlx-lm",
        lambda profile: with_step_at(profile, "temperature", 0),
        temp=2.0,
        top_p=0.75,
    ),
    reordered(
        "top-p-before-top-k",
        "The two filters stand the other way round. Own.",
        "transformers",
        lambda profile: with_step_at(
            profile, "top_k", 1 + [s.step for s in _without(profile, "top_k").stages].index("top_p")
        ),
        row=(2.0, 2.0, 2.0, 1.0),
        top_k=2,
        top_p=0.5,
    ),
    reordered(
        "top-n-sigma-replaces-the-chain",
        "With top-n-sigma all other filters are left out; llama.cpp#13264.",
        "llama.cpp",
        lambda profile: _without(profile, "top_k", "top_p", "min_p", "typical", "xtc"),
        top_k=1,
        top_n_sigma=3.0,
    ),
    reordered(
        "chain-applies-its-temperature-twice",
        "The server divides, and the sampler again; RL-Kernel#81.",
        "vllm",
        lambda profile: _twice(profile, "temperature"),
        temperature=2.0,
        min_p=0.125,
    ),
    reordered(
        "chain-has-no-min-p",
        "One filter of the chain was forgotten. Own.",
        "llama.cpp",
        lambda profile: _without(profile, "min_p"),
        min_p=0.5,
    ),
    reordered(
        "chain-has-no-penalties",
        "Penalties are accepted and not applied in the chain; sglang#28179.",
        "sglang",
        lambda profile: _without(
            profile, "frequency_penalty", "presence_penalty", "repetition_penalty"
        ),
        history=[0, 0],
        frequency_penalty=2.0,
        top_k=1,
    ),
    reordered(
        "penalties-after-the-filters",
        "Penalties see a row that is cut already. Own.",
        "llama.cpp",
        lambda profile: with_step_at(profile, "penalties", -1),
        history=[0, 0],
        repeat_penalty=4.0,
        top_k=1,
    ),
    reordered(
        "bias-after-the-filters",
        "A bias of a token that is removed already does nothing. Own.",
        "llama.cpp",
        lambda profile: with_step_at(profile, "logit_bias", -1),
        logit_bias={4: 10.0},
        top_k=1,
    ),
    reordered(
        "min-p-before-the-temperature",
        "min-p is taken on the untempered row; sglang-jax#1563.",
        "vllm",
        lambda profile: with_step_at(profile, "min_p", 0),
        temperature=2.0,
        min_p=0.375,
    ),
)


# ---- batches


def _batch(change: Callable[[list[dict[str, Any]], int], Mapping[str, Any]]) -> Any:
    """Return what answers a batch with rows changed, given by the parts that differ."""

    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        rows = request["rows"]
        return {"rows": [{**row, **change(rows, place)} for place, row in enumerate(rows)]}

    return other_question(changed)


def _parameters_of_the_first(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    del place
    return {"params": rows[0]["params"]}


def _largest_k(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
    """Take the largest k of the batch for all."""
    given = [unpack_parameters(row.get("params", {})) for row in rows]
    name = next((name for name in ("k", "top_k") if name in given[place]), None)
    if name is None:
        return {}
    largest = max(each.get(name) or 0 for each in given)
    return {"params": pack_parameters({**given[place], name: largest})}


def _neighbours(part: str) -> Callable[[list[dict[str, Any]], int], Mapping[str, Any]]:
    def change(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
        other = rows[(place + 1) % len(rows)]
        fits = part in rows[place] and part in other
        return {part: other[part]} if fits else {}

    return change


def _of_the_first(part: str) -> Callable[[list[dict[str, Any]], int], Mapping[str, Any]]:
    def change(rows: list[dict[str, Any]], place: int) -> Mapping[str, Any]:
        fits = part in rows[place] and part in rows[0]
        return {part: rows[0][part]} if fits else {}

    return change


def _answers_moved(session: SamplerSession, op: str, request: Request) -> Answer:
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    rows = right.out["rows"]
    return Ok({"rows": [*rows[1:], rows[0]]})


def _equals_from_8_rows_on(session: SamplerSession, op: str, request: Request) -> Answer:
    """Keep equals of the k-th in small batches, and exactly k in large ones; vllm#50979."""
    right = session.answer(op, request)
    if not isinstance(right, Ok) or len(request["rows"]) < 8:
        return right
    rows = []
    for row, answer in zip(request["rows"], right.out["rows"], strict=True):
        params = unpack_parameters(row["params"])
        k = params.get("k", params.get("top_k"))
        keep = answer.get("keep", [])
        rows.append({**answer, "keep": keep[:k]} if k and len(keep) > k else answer)
    return Ok({"rows": rows})


def _two(op: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": op, "rows": [dict(first), dict(second)]}


def _top_k(*row: float, k: int) -> dict[str, Any]:
    return {"probs": pack(row), "params": pack_parameters({"k": k})}


_PAIR: Final = _two("top_k", _top_k(0.5, 0.25, 0.25, k=1), _top_k(0.25, 0.25, 0.5, k=2))

BATCHES: Final = (
    asking(
        "batch-uses-the-first-row-s-parameters",
        "All rows get the parameters of the first. Own.",
        {"batch"},
        _batch(_parameters_of_the_first),
        _PAIR,
    ),
    asking(
        "batch-uses-the-largest-k",
        "A kernel sorts for the largest k of the batch, and cuts no row shorter. Own.",
        {"batch"},
        _batch(_largest_k),
        _PAIR,
    ),
    asking(
        "batch-uses-the-neighbour-s-parameters",
        "Parameters are off by one row. Own.",
        {"batch"},
        _batch(_neighbours("params")),
        _PAIR,
    ),
    asking(
        "batch-reads-the-neighbour-s-logits",
        "The stride between rows is wrong; vllm#42684.",
        {"batch"},
        _batch(_neighbours("logits")),
        _two(
            "top_k",
            {"logits": pack([1.0, 0.0]), "params": pack_parameters({"k": 1})},
            {"logits": pack([0.0, 1.0]), "params": pack_parameters({"k": 1})},
        ),
    ),
    asking(
        "batch-uses-the-neighbour-s-history",
        "Penalties of one text fall on another. Own.",
        {"batch"},
        _batch(_neighbours("history")),
        _two(
            "repetition_penalty",
            row_request([1.0, 1.0], [0], 0, penalty=2.0),
            row_request([1.0, 1.0], [1], 0, penalty=2.0),
        ),
    ),
    asking(
        "batch-throws-one-coin",
        "One random number serves for all rows; mlx-lm (S16).",
        {"batch"},
        _batch(_of_the_first("uniforms")),
        _two(
            "draw",
            {"probs": pack([0.5, 0.5]), "uniforms": pack([0.25])},
            {"probs": pack([0.5, 0.5]), "uniforms": pack([0.75])},
        ),
    ),
    asking(
        "batch-returns-rows-in-another-order",
        "The answers are those of other rows; exllamav3#256.",
        {"batch"},
        _answers_moved,
        _PAIR,
    ),
    asking(
        "batch-of-8-breaks-ties-otherwise",
        "From 8 rows on another kernel runs, which keeps exactly k; vllm#50979.",
        {"batch"},
        _equals_from_8_rows_on,
        {
            "op": "top_k",
            "rows": [{"logits": pack([1.0, 1.0]), "params": pack_parameters({"top_k": 1})}] * 8,
        },
        profile="vllm",
    ),
)


# ---- calls on one sampler


def _calls(change: Callable[[list[dict[str, Any]]], Sequence[Mapping[str, Any]]]) -> Any:
    """Return what hears other calls than are made; answers to those it does not hear are null."""
    return other_question(lambda request: {"calls": list(change(request["calls"]))})


def _deaf_to(kind: str) -> Any:
    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        heard = [place for place, call in enumerate(request["calls"]) if kind not in call]
        given = {**request, "calls": [request["calls"][place] for place in heard]}
        if not heard:
            return right
        answer = session.answer(op, given)
        if not isinstance(answer, Ok):
            return answer
        answers: list[Any] = [None] * len(request["calls"])
        for place, token in zip(heard, answer.out["answers"], strict=True):
            answers[place] = token
        return Ok({"answers": answers})

    return ask


def _accepting_by_itself(session: SamplerSession, op: str, request: Request) -> Answer:
    """Make each drawn token part of the history at once."""
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


def _forgetting_each_time(session: SamplerSession, op: str, request: Request) -> Answer:
    """Lose what adaptive steps remember: the history is handed on, and nothing else."""
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


def _prompt_is_output(session: SamplerSession, op: str, request: Request) -> Answer:
    """Take the prompt for tokens that were generated."""
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


def _same_numbers(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw with the first random numbers each time: the stream starts again; private-mind#255."""
    first = next((call["sample"]["uniforms"] for call in calls if "sample" in call), None)
    return [
        {"sample": {**call["sample"], "uniforms": first}} if "sample" in call else call
        for call in calls
    ]


def _sequence(
    calls: Sequence[Mapping[str, Any]],
    prompt: Sequence[int] = (),
    **params: Any,
) -> dict[str, Any]:
    return {"params": pack_parameters(params), "prompt": list(prompt), "calls": list(calls)}


_SAMPLE: Final = {"sample": {"logits": pack([1.0, 0.75]), "uniforms": pack([0.25, 0.25])}}
_ONE_NUMBER: Final = {"sample": {"logits": pack([1.0, 0.75]), "uniforms": pack([0.25])}}
_PENALISED: Final[Mapping[str, Any]] = {"repeat_penalty": 4.0, "top_k": 1}

SEQUENCES: Final = (
    asking(
        "sampler-accepts-by-itself",
        "Drawing a token makes it part of the history, also where it is thrown away. Own.",
        {"sequence"},
        _accepting_by_itself,
        _sequence([_ONE_NUMBER, _ONE_NUMBER], **_PENALISED),
        profile="llama.cpp",
    ),
    asking(
        "sampler-does-not-accept",
        "Accepted tokens do not reach the penalties; vllm#18902 under speculation.",
        {"sequence"},
        _deaf_to("accept"),
        _sequence([_ONE_NUMBER, {"accept": 0}, _ONE_NUMBER], **_PENALISED),
        profile="llama.cpp",
    ),
    asking(
        "sampler-does-not-reset",
        "The history of the text before stays. Own.",
        {"sequence"},
        _deaf_to("reset"),
        _sequence([{"accept": 0}, {"reset": True}, _ONE_NUMBER], **_PENALISED),
        profile="llama.cpp",
    ),
    asking(
        "sampler-does-not-truncate",
        "Rejected drafts stay in the history. Own.",
        {"sequence"},
        _deaf_to("truncate"),
        _sequence([{"accept": 0}, {"truncate": 0}, _ONE_NUMBER], **_PENALISED),
        profile="llama.cpp",
    ),
    asking(
        "sampler-forgets-its-state",
        "Mirostat's mu starts anew for every token; llama-cpp-python#914, LLamaSharp#71.",
        {"sequence"},
        _forgetting_each_time,
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
    ),
    asking(
        "sampler-takes-the-prompt-for-output",
        "Tokens of the prompt are penalised as if generated; transformers#36642, vmlx-swift#294.",
        {"sequence"},
        _prompt_is_output,
        _sequence([_SAMPLE], prompt=[0, 0], frequency_penalty=2.0, top_k=1),
        profile="vllm",
    ),
    asking(
        "sampler-starts-its-stream-again",
        "Each token is drawn with the same random numbers; private-mind#255, aiter#2035.",
        {"sequence"},
        _calls(_same_numbers),
        _sequence(
            [{"sample": {"logits": pack([0.0, 0.0]), "uniforms": pack([u])}} for u in (0.25, 0.75)]
        ),
        profile="llama.cpp",
    ),
)


# ---- what no step does alone


def _shift(session: SamplerSession, op: str, request: Request) -> Answer:
    """Take minus infinity for a large finite number: a row of nothing becomes uniform."""
    row = unpack(request["logits"]) if "logits" in request else []
    if row and all(number == -inf for number in row):
        given = {**request, "logits": pack([0.0] * len(row))}
        return session.answer(op, given)
    return session.answer(op, request)


WHOLE: Final = (
    asking(
        "impossible-row-becomes-uniform",
        "Minus infinity becomes -1e30, so that a row of nothing draws anything; sglang (S14).",
        ("distribution", "sample", "softmax", "greedy"),
        _shift,
        {"logits": pack([-inf, -inf])},
        op="softmax",
    ),
    asking(
        "banned-tokens-come-back",
        "What an earlier step removed has a small logit again. Own.",
        ROW_OPS,
        lambda session, op, request: _finite(session.answer(op, request)),
        row_request([-inf, 1.0], temperature=0.5),
        op="temperature",
    ),
)


def _finite(answer: Answer) -> Answer:
    if not isinstance(answer, Ok) or "logits" not in answer.out:
        return answer
    (dtype,) = answer.out["logits"]
    row = unpack(answer.out["logits"])
    return Ok({"logits": pack([-1024.0 if n == -inf else n for n in row], dtype)})


CHAINED: Final[tuple[Mutant, ...]] = (*ORDERS, *BATCHES, *SEQUENCES, *WHOLE)
"""All mutants of chains, batches and sequences."""
