"""Mutants of steps that change logits: penalties, biases, bans, temperature, softmax."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import exp, inf, isnan, log
from typing import Any, Final

from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    ignored,
    other_answer,
    other_parameters,
    other_question,
    other_row,
    other_rule,
    row_request,
    twice,
)
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters

PENALTIES: Final = ("repetition_penalty", "frequency_penalty", "presence_penalty", "penalties")


def _history(change: Callable[[list[int], int], Sequence[int]]) -> SamplerHandler:
    @wraps(change)
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        return {"history": list(change(request["history"], request["prompt_length"]))}

    return other_question(changed)


_REPEATED: Final = row_request([2.0, -2.0, 1.0], [0, 1, 0], 1, penalty=2.0)
_COUNTED: Final = row_request([2.0, -2.0, 1.0], [0, 1, 0], 1, penalty=0.5)


def _window(request: dict[str, Any]) -> int:
    """Return the length of a window that is shorter than the history, otherwise 0."""
    window = unpack_parameters(request["params"]).get("window")
    return window if isinstance(window, int) and 0 < window < len(request["history"]) else 0


@answering("repetition_penalty", _REPEATED)
def repetition_divides_negative_logits(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """A negative logit is divided and so becomes more likely; transformers#2302, NeMo#8194."""
    return other_rule(session, op, request, "method", {"by sign": "divide"})


@answering("repetition_penalty", _REPEATED)
def repetition_counts_each_occurrence(session: SamplerSession, op: str, request: Request) -> Answer:
    """The penalty is raised to the number of occurrences; lattice#312, transformers.js#1062."""
    return other_rule(
        session,
        op,
        request,
        "counting",
        {"distinct": "each occurrence", "each occurrence": "distinct"},
    )


@answering("repetition_penalty", _REPEATED)
def penalty_is_shifted_first(session: SamplerSession, op: str, request: Request) -> Answer:
    """The largest logit is subtracted first, which changes signs; text-generation-webui#3627."""
    right = session.answer(op, request)
    row = unpack(request["logits"])
    if not isinstance(right, Ok) or max(row) in (inf, -inf):
        return right
    try:
        moved = pack([number - max(row) for number in row], type_of(request["logits"]))
    except FloatsError:
        return right
    return session.answer(op, {**request, "logits": moved})


@answering(("frequency_penalty", "presence_penalty", "repetition_penalty"), _COUNTED)
def penalty_takes_the_prompt_for_output(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """Tokens of the prompt are counted as if generated; transformers#36642, vmlx-swift#294."""
    return other_rule(session, op, request, "scope", {"output": "all"})


@answering(("frequency_penalty", "presence_penalty", "repetition_penalty"), _COUNTED)
def penalty_sees_the_prompt_only(session: SamplerSession, op: str, request: Request) -> Answer:
    """Prompt and output are swapped; vllm-metal#69."""
    return other_rule(
        session, op, request, "scope", {"output": "prompt", "prompt": "output", "all": "prompt"}
    )


@answering(PENALTIES, _REPEATED)
def penalty_is_never_applied(session: SamplerSession, op: str, request: Request) -> Answer:
    """The parameter is accepted and ignored; sglang#28179, Rapid-MLX#470, MTPLX#120."""
    return ignored(session, op, request)


@answering(PENALTIES, _REPEATED)
def penalty_is_applied_twice(session: SamplerSession, op: str, request: Request) -> Answer:
    """Two layers of a server both apply it; sglang-omni#1360."""
    return twice(session, op, request)


@answering("repetition_penalty", _REPEATED)
def penalty_for_prompt_and_output(session: SamplerSession, op: str, request: Request) -> Answer:
    """A token that is in the prompt and in the output is penalised for each."""
    history, length = request["history"], request["prompt_length"]
    both = {*history[:length]} & {*history[length:]}

    def again(before: list[float], after: list[float], _: Request) -> Sequence[float]:
        return [
            new * (new / old) if token in both and old not in {0, inf, -inf} else new
            for token, (old, new) in enumerate(zip(before, after, strict=True))
        ]

    asked = other_row(again) if "scope" not in session.profile else SamplerSession.answer
    return asked(session, op, request)


@answering(PENALTIES, row_request([1.0, 2.0], [1], 0, penalty=2.0))
@_history
def penalty_counts_padding(history: list[int], _: int) -> Sequence[int]:
    """Token 0 pads the batch and is counted; TGI#1765."""
    return [0, *history, 0]


@answering(PENALTIES, row_request([1.0, 2.0, 3.0], [0, 1, 2], 0, penalty=2.0, window=1))
@other_question
def window_is_the_first_tokens(request: dict[str, Any]) -> Mapping[str, Any]:
    """The first N tokens are used instead of the last N; llama-cpp-python#1295."""
    window = _window(request)
    return {"history": request["history"][:window]} if window else {}


@answering(PENALTIES, row_request([1.0, 2.0, 3.0], [0, 1, 2], 0, penalty=2.0, window=2))
@other_question
def window_lacks_its_oldest_token(request: dict[str, Any]) -> Mapping[str, Any]:
    """A window of N covers N - 1 tokens; exllamav3 (S5)."""
    window = _window(request)
    return {"history": request["history"][1 - window :] if window > 1 else []} if window else {}


@answering(
    ("repetition_penalty", "frequency_penalty", "presence_penalty"),
    row_request([1.0, 2.0], [0, *[1] * 20], 0, penalty=2.0),
)
@_history
def window_of_20_by_default(history: list[int], _: int) -> Sequence[int]:
    """Only the last 20 tokens are used instead of all; vmlx-swift#296."""
    return history[-20:]


@answering(
    (*PENALTIES, "no_repeat_ngram", "bad_words"), row_request([1.0, 2.0], [1], 0, penalty=2.0)
)
@_history
def last_token_is_not_counted(history: list[int], prompt: int) -> Sequence[int]:
    """The newest token is not in the history yet, as in vllm#33433 for bad words."""
    return history[:-1] if len(history) > prompt else history


@answering(("frequency_penalty", "presence_penalty", "min_new_tokens"), _COUNTED)
@other_question
def prompt_length_is_off_by_one(request: dict[str, Any]) -> Mapping[str, Any]:
    """The prompt length is one too high; TensorRT-LLM#13633 shifted its arguments."""
    return {"prompt_length": min(request["prompt_length"] + 1, len(request["history"]))}


@answering("frequency_penalty", row_request([2.0, 1.0], [0, 0], 0, penalty=0.5))
@_history
def frequency_counts_once(history: list[int], _: int) -> Sequence[int]:
    """A frequency penalty ignores how often a token occurs, like a presence penalty."""
    return list(dict.fromkeys(history))


@answering(
    ("frequency_penalty", "presence_penalty"), row_request([2.0, 1.0], [0, 0], 0, penalty=0.5)
)
@other_parameters
def penalty_is_added(given: dict[str, Any]) -> Mapping[str, Any]:
    """Repeated tokens become more likely because the sign is wrong; mistral.rs#158."""
    names = ("penalty", "frequency_penalty", "presence_penalty")
    return {name: -given[name] for name in names if name in given}


@answering("presence_penalty", row_request([2.0, 1.0], [0, 0], 0, penalty=0.5))
def presence_counts_each_occurrence(session: SamplerSession, op: str, request: Request) -> Answer:
    """A presence penalty is subtracted once per occurrence."""
    return (
        SamplerSession("standard", session.tools).answer("frequency_penalty", request)
        if session.profile == "standard" and isinstance(session.answer(op, request), Ok)
        else session.answer(op, request)
    )


@answering("penalties", row_request([1.0, 0.0], [0, 0], 0, repetition=2.0, frequency=1.0))
def penalties_in_the_other_order(session: SamplerSession, op: str, request: Request) -> Answer:
    """Subtraction and division are swapped, which matters where signs differ; sglang (S13)."""
    return other_rule(
        session,
        op,
        request,
        "order",
        {"repetition first": "repetition last", "repetition last": "repetition first"},
    )


@answering("repetition_penalty", row_request([-0.0, 1.0], [0], 0, penalty=2.0))
@other_row
def zero_becomes_minus_zero(
    _before: list[float], after: list[float], _: Request
) -> Sequence[float]:
    """A logit of 0 loses its sign under a penalty."""
    return [0.0 if number == 0 else number for number in after]


# ---- biases, bans, lengths


_NGRAM_SIZES: Final = ("ngram_size", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size")
_NGRAMS: Final = row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, ngram_size=3)


@answering("logit_bias", row_request([0.0, 1.0], biases={0: 1.5}))
def logit_bias_is_never_applied(session: SamplerSession, op: str, request: Request) -> Answer:
    """The map of biases is accepted and ignored, as in sglang#28179."""
    return ignored(session, op, request)


@answering("logit_bias", row_request([0.0, 1.0], biases={0: 1.5}))
def logit_bias_is_applied_twice(session: SamplerSession, op: str, request: Request) -> Answer:
    """Two layers of a server both add it, as in sglang-omni#1360."""
    return twice(session, op, request)


@answering("logit_bias", row_request([2.0, 1.0], biases={0: 1.5}))
@other_row
def logit_bias_replaces_the_logit(
    before: list[float], after: list[float], _: Request
) -> Sequence[float]:
    """The bias replaces the logit instead of being added."""
    return [
        new - old if new != old and old > -inf and new > -inf else new
        for old, new in zip(before, after, strict=True)
    ]


@answering("logit_bias", row_request([0.0, 1.0], biases={0: -100.0}))
@other_parameters
def logit_bias_of_minus_100_bans(given: dict[str, Any]) -> Mapping[str, Any]:
    """A bias of -100 is treated as a ban."""
    biases = given.get("biases")
    if not isinstance(biases, dict):
        return {}
    return {"biases": {t: -inf if bias <= -100 else bias for t, bias in biases.items()}}


@answering(("no_repeat_ngram", "encoder_no_repeat_ngram"), _NGRAMS)
@other_parameters
def n_grams_are_one_longer(given: dict[str, Any]) -> Mapping[str, Any]:
    """The size of an n-gram is counted without its last token."""
    return {name: given[name] + 1 for name in _NGRAM_SIZES if name in given}


@answering(
    ("no_repeat_ngram", "encoder_no_repeat_ngram"),
    row_request([0.0] * 4, [0, 1, 2, 1], 0, ngram_size=3),
)
@other_parameters
def n_grams_are_one_shorter(given: dict[str, Any]) -> Mapping[str, Any]:
    """The size of an n-gram is counted with a token too many."""
    return {name: max(given[name] - 1, 1) for name in _NGRAM_SIZES if name in given}


@answering("no_repeat_ngram", row_request([0.0] * 2, [1, 1], 0, ngram_size=3))
@other_question
def n_grams_fit_a_short_history(request: dict[str, Any]) -> Mapping[str, Any]:
    """Where the history is shorter than an n-gram, all of it is compared instead of nothing."""
    given = unpack_parameters(request["params"])
    size, length = given.get("ngram_size"), len(request["history"])
    if not isinstance(size, int) or not 1 < length < size:
        return {}
    return {"params": pack_parameters({**given, "ngram_size": length})}


@answering(("min_length", "min_new_tokens"), row_request([0.0, 1.0], [1, 1], 0, length=2, ends=[0]))
@other_parameters
def minimum_ends_one_step_late(given: dict[str, Any]) -> Mapping[str, Any]:
    """The end is banned for one token too many; 1Cat-vLLM#533."""
    return {name: given[name] + 1 for name in ("length", "count") if name in given}


@answering(("min_length", "min_new_tokens"), row_request([0.0, 1.0], [1, 1], 0, length=3, ends=[0]))
@other_parameters
def minimum_ends_one_step_early(given: dict[str, Any]) -> Mapping[str, Any]:
    """The end is allowed one token too soon."""
    return {name: max(given[name] - 1, 0) for name in ("length", "count") if name in given}


@answering("min_new_tokens", row_request([0.0, 1.0], [1, 1], 2, count=1, ends=[0]))
@other_question
def minimum_counts_the_prompt(_: dict[str, Any]) -> Mapping[str, Any]:
    """New tokens are counted with the prompt."""
    return {"prompt_length": 0}


@answering(
    ("min_length", "min_new_tokens"), row_request([0.0, 1.0, 2.0], [], 0, length=3, ends=[0, 1])
)
@other_parameters
def only_the_first_end_is_banned(given: dict[str, Any]) -> Mapping[str, Any]:
    """Only the first of several end tokens is banned."""
    names = ("ends", "end_id", "eos_token_id", "stop_token_ids")
    return {name: given[name][:1] for name in names if isinstance(given.get(name), list)}


@answering(
    ("dry", "dry_nearby", "dry_longest"),
    row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=1),
)
@other_parameters
def dry_exponent_is_off_by_one(given: dict[str, Any]) -> Mapping[str, Any]:
    """The penalty grows one token too early; aprender#2160."""
    base = given.get("base", given.get("dry_base", 1.75))
    names = ("multiplier", "dry_multiplier")
    return {name: given[name] * base for name in names if name in given}


@answering(
    ("dry", "dry_nearby", "dry_longest"),
    row_request(
        [0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=1, breakers=[[1]]
    ),
    op="dry",
)
@other_parameters
def dry_runs_through_breakers(_: dict[str, Any]) -> Mapping[str, Any]:
    """Sequence breakers are parsed and never used; mlxcel#1128."""
    return {"breakers": []}


@answering(
    ("dry", "dry_nearby", "dry_longest"),
    row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=1),
)
@other_parameters
def dry_takes_the_length_for_the_base(given: dict[str, Any]) -> Mapping[str, Any]:
    """Base and allowed length are swapped; exllamav2 (S3)."""
    return {"base": float(max(given.get("allowed_length", 2), 1))}


@answering(
    ("dry", "dry_nearby", "dry_longest"),
    row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=2),
)
@other_parameters
def dry_allows_one_more(given: dict[str, Any]) -> Mapping[str, Any]:
    """A repeat of exactly the allowed length is not penalised."""
    return {"allowed_length": given.get("allowed_length", 2) + 1}


@answering("lz", row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, strength=0.5))
@other_row
def lz_penalty_has_the_wrong_sign(
    before: list[float], after: list[float], _: Request
) -> Sequence[float]:
    """The penalty is subtracted instead of added: the program of 2025 (S23)."""
    return [2 * old - new if old > -inf else new for old, new in zip(before, after, strict=True)]


# ---- temperature, softmax, greedy


@answering("temperature", row_request([1.0, 2.0], temperature=0.5))
@other_row
def temperature_multiplies(before: list[float], after: list[float], _: Request) -> Sequence[float]:
    """Logits are multiplied by the temperature instead of divided."""
    return [
        old * (old / new) if new not in {0, inf, -inf} else new
        for old, new in zip(before, after, strict=True)
    ]


@answering("temperature", row_request([1.0, 2.0], temperature=0.001))
@other_parameters
def temperature_is_at_least_0_01(given: dict[str, Any]) -> Mapping[str, Any]:
    """A lower temperature than 0.01 becomes 0.01."""
    low = 0 < given.get("temperature", 1.0) < 0.01
    return {"temperature": 0.01} if low else {}


@answering("temperature", row_request([1.0, 2.0], temperature=0.5))
def temperature_is_applied_twice(session: SamplerSession, op: str, request: Request) -> Answer:
    """Two layers of a server both apply it, which a test with temperature 1 never notices;
    RL-Kernel#81.
    """
    return twice(session, op, request)


@answering("temperature", row_request([1.0, 2.0], temperature=0.5))
def temperature_is_never_applied(session: SamplerSession, op: str, request: Request) -> Answer:
    """The parameter is accepted and ignored, as in sglang#28179."""
    return ignored(session, op, request)


@answering("temperature", {**row_request([1.0], temperature=0.7), "logits": pack([1.0], "f16")})
@other_question
def temperature_in_the_type_of_the_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """The temperature is rounded to the type of the logits."""
    given, dtype = unpack_parameters(request["params"]), type_of(request["logits"])
    given["temperature"] = nearest(given.get("temperature", 1.0), dtype)
    return {"params": pack_parameters(given)} if dtype in {"f16", "bf16"} else {}


@answering("softmax", {"logits": pack([0.0, -inf])})
@other_row
def softmax_adds_a_little(_before: list[float], after: list[float], _: Request) -> Sequence[float]:
    """A small number is added to each probability, so none is 0."""
    return [share + 1e-9 for share in after]


@answering("logprobs", {"logits": pack([0.0, -120.0])})
@other_row
def logprobs_of_rounded_shares(
    before: list[float], after: list[float], request: Request
) -> list[float]:
    """The logarithm of a rounded probability is returned, which is minus infinity for small
    ones.
    """
    dtype = type_of(request["logits"])
    shares = [nearest(exp(number), dtype) if number > -inf else 0.0 for number in after]
    del before
    return [log(share) if share > 0 else -inf for share in shares]


@answering("logprobs", {"logits": pack([0.0, 0.0])})
@other_row
def logprobs_have_base_2(_before: list[float], after: list[float], _: Request) -> Sequence[float]:
    """The logarithms are to base 2; aprender#2142 mixed bits and nats in mirostat."""
    return [number / log(2) for number in after]


@answering("greedy", {"logits": pack([1.0, 1.0])})
def greedy_takes_the_last_of_equals(session: SamplerSession, op: str, request: Request) -> Answer:
    """Among several largest logits the last one is chosen; tt-metal#50687."""
    return other_rule(session, op, request, "ties", {"first": "last", "last": "first"})


@answering("greedy", {"logits": pack([*[0.0] * 31, 1.0, 1.0])})
@other_answer
def greedy_takes_the_first_lane_of_equals(out: dict[str, Any], request: Request) -> dict[str, Any]:
    """A warp of 32 lanes finds the largest; among several, the lowest lane's is chosen."""
    row = unpack(request["logits"])
    best = [token for token, number in enumerate(row) if number == row[out["token"]]]
    return {"token": min(best, key=lambda token: token % 32)}


@answering("greedy", {"logits": {"f32": "3f8000007fc00000"}})
def greedy_takes_nan_for_the_largest(session: SamplerSession, op: str, request: Request) -> Answer:
    """A NaN wins every comparison; flashinfer#1575 read out of bounds on one."""
    row = unpack(request["logits"])
    if any(isnan(number) for number in row):
        return Ok({"token": next(token for token, number in enumerate(row) if isnan(number))})
    return session.answer(op, request)
