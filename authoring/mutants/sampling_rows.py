"""Mutants of steps that change logits: penalties, biases, bans, temperature, softmax."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import exp, inf, isnan, log, nan
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import question, sampler_mutant
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.rules import choices_of, points, rule_name

Request: TypeAlias = Mapping[str, Any]
Ask: TypeAlias = Callable[[SamplerSession, str, Request], Answer]

PENALTIES: Final = ("repetition_penalty", "frequency_penalty", "presence_penalty", "penalties")
CHAINS: Final = ("chain", "distribution", "sample")
"""What a mistake in a step shows in as well."""

_TWICE: Final = 2


def row_request(
    logits: Sequence[float],
    history: Sequence[int] = (),
    prompt_length: int = 0,
    **params: Any,
) -> dict[str, Any]:
    """Return the question about a row.

    >>> row_request([0.5], [0], penalty=2.0)["history"]
    [0]
    """
    return {
        "logits": pack(logits),
        "history": list(history),
        "prompt_length": prompt_length,
        "params": pack_parameters(params),
    }


def asking(
    name: str,
    story: str,
    ops: Collection[str],
    ask: Ask,
    request: Request,
    *,
    op: str | None = None,
    profile: str = "standard",
) -> Mutant:
    """Return a mutant that asks the reference something else, or changes what it says."""
    witness = question(op or next(iter(ops)), request, profile=profile)
    return sampler_mutant(name, story, witness, ops=ops, begin=lambda: ask)


def other_rule(point: str, choices: Mapping[Any, Any]) -> Ask:
    """Return what answers by another rule: at one point another choice than was asked for."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        asked = choices_of(op, session.profile)
        allowed = points(op).get(point)
        if asked is None or allowed is None:
            return session.answer(op, request)
        choice = asked.get(point, allowed[0])
        other = rule_name(op, **{**asked, point: choices.get(choice, choice)})
        return SamplerSession(other, session.tools).answer(op, request)

    return ask


def other_question(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Ask:
    """Return what answers another question, given by the parts that differ."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right  # what is refused is refused
        return session.answer(op, {**request, **change(dict(request))})

    return ask


def other_parameters(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Ask:
    """Return what answers with other parameters, given by those that differ."""

    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        given = unpack_parameters(request["params"])
        return {"params": pack_parameters({**given, **change(given)})}

    return other_question(changed)


def other_row(change: Callable[[list[float], list[float], Request], Sequence[float]]) -> Ask:
    """Return what changes the row that comes out, knowing the row that went in."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        (name,) = right.out
        dtype = type_of(right.out[name])
        row = change(unpack(request["logits"]), unpack(right.out[name]), request)
        return Ok({name: pack([nearest(number, dtype) for number in row], dtype)})

    return ask


def twice(session: SamplerSession, op: str, request: Request) -> Answer:
    """Apply a step to what it gave."""
    first = session.answer(op, request)
    if not isinstance(first, Ok):
        return first
    second = session.answer(op, {**request, "logits": first.out["logits"]})
    return second if isinstance(second, Ok) else first


def ignored(session: SamplerSession, op: str, request: Request) -> Answer:
    """Leave a step out."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    return Ok({"logits": pack(unpack(request["logits"]), type_of(request["logits"]))})


def _history(change: Callable[[list[int], int], Sequence[int]]) -> Ask:
    return other_question(
        lambda request: {"history": list(change(request["history"], request["prompt_length"]))}
    )


def _with_penalty(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Ask:
    return other_parameters(change)


_REPEATED: Final = row_request([2.0, -2.0, 1.0], [0, 1, 0], 1, penalty=2.0)
_COUNTED: Final = row_request([2.0, -2.0, 1.0], [0, 1, 0], 1, penalty=0.5)


def _windowed(first: bool) -> Ask:
    def change(request: dict[str, Any]) -> Mapping[str, Any]:
        window = unpack_parameters(request["params"]).get("window")
        history = request["history"]
        if not isinstance(window, int) or not 0 < window < len(history):
            return {}
        return {
            "history": history[:window] if first else history[1 - window :] if window > 1 else []
        }

    return other_question(change)


def _shifted(session: SamplerSession, op: str, request: Request) -> Answer:
    """Subtract the largest logit first: a penalty by sign then sees other signs."""
    right = session.answer(op, request)
    row = unpack(request["logits"])
    if not isinstance(right, Ok) or max(row) in (inf, -inf):
        return right
    try:
        moved = pack([number - max(row) for number in row], type_of(request["logits"]))
    except FloatsError:
        return right
    return session.answer(op, {**request, "logits": moved})


PENALTY_MUTANTS: Final = (
    asking(
        "repetition-divides-negative-logits",
        "A negative logit is divided and becomes likelier; transformers#2302, NeMo#8194.",
        {"repetition_penalty"},
        other_rule("method", {"by sign": "divide"}),
        _REPEATED,
    ),
    asking(
        "repetition-counts-each-occurrence",
        "The penalty is raised to the number of occurrences; lattice#312, transformers.js#1062.",
        {"repetition_penalty"},
        other_rule("counting", {"distinct": "each occurrence", "each occurrence": "distinct"}),
        _REPEATED,
    ),
    asking(
        "penalty-is-shifted-first",
        "The largest logit is subtracted first, which changes signs; text-generation-webui#3627.",
        {"repetition_penalty"},
        _shifted,
        _REPEATED,
    ),
    asking(
        "penalty-takes-the-prompt-for-output",
        "Tokens of the prompt are counted as if generated; transformers#36642, vmlx-swift#294.",
        {"frequency_penalty", "presence_penalty", "repetition_penalty"},
        other_rule("scope", {"output": "all"}),
        _COUNTED,
        op="frequency_penalty",
    ),
    asking(
        "penalty-sees-the-prompt-only",
        "Prompt and output are mixed up; vllm-metal#69.",
        {"frequency_penalty", "presence_penalty", "repetition_penalty"},
        other_rule("scope", {"output": "prompt", "prompt": "output", "all": "prompt"}),
        _COUNTED,
        op="frequency_penalty",
    ),
    asking(
        "penalty-is-never-applied",
        "The parameter is accepted and ignored; sglang#28179, Rapid-MLX#470, MTPLX#120.",
        PENALTIES,
        ignored,
        _REPEATED,
    ),
    asking(
        "penalty-is-applied-twice",
        "Two layers of a server both apply it; sglang-omni#1360.",
        PENALTIES,
        twice,
        _REPEATED,
    ),
    asking(
        "penalty-counts-padding",
        "Token 0 pads the batch, and is counted as if it had been there; TGI#1765.",
        PENALTIES,
        _history(lambda history, _: [0, *history, 0]),
        row_request([1.0, 2.0], [1], 0, penalty=2.0),
    ),
    asking(
        "window-is-the-first-tokens",
        "The first N tokens are looked at, not the last N; llama-cpp-python#1295.",
        PENALTIES,
        _windowed(first=True),
        row_request([1.0, 2.0, 3.0], [0, 1, 2], 0, penalty=2.0, window=1),
    ),
    asking(
        "window-lacks-its-oldest-token",
        "A window of N covers N - 1 tokens; exllamav3 (S5).",
        PENALTIES,
        _windowed(first=False),
        row_request([1.0, 2.0, 3.0], [0, 1, 2], 0, penalty=2.0, window=2),
    ),
    asking(
        "window-of-20-by-default",
        "Only the last 20 tokens are looked at where all should be; vmlx-swift#296.",
        ("repetition_penalty", "frequency_penalty", "presence_penalty"),
        _history(lambda history, _: history[-20:]),
        row_request([1.0, 2.0], [0, *[1] * 20], 0, penalty=2.0),
    ),
    asking(
        "last-token-is-not-counted",
        "The newest token is not in the history yet; as vllm#33433 in bad words.",
        (*PENALTIES, "no_repeat_ngram", "bad_words"),
        _history(lambda history, prompt: history[:-1] if len(history) > prompt else history),
        row_request([1.0, 2.0], [1], 0, penalty=2.0),
    ),
    asking(
        "prompt-length-is-off-by-one",
        "The prompt is taken to be one token longer; TensorRT-LLM#13633 shifted its arguments.",
        ("frequency_penalty", "presence_penalty", "min_new_tokens"),
        other_question(
            lambda request: {
                "prompt_length": min(request["prompt_length"] + 1, len(request["history"]))
            }
        ),
        _COUNTED,
    ),
    asking(
        "frequency-counts-once",
        "A frequency penalty that ignores how often: a presence penalty. Own.",
        {"frequency_penalty"},
        _history(lambda history, _: list(dict.fromkeys(history))),
        row_request([2.0, 1.0], [0, 0], 0, penalty=0.5),
    ),
    asking(
        "penalty-is-added",
        "Repeated tokens become likelier, by the wrong sign of what is added; mistral.rs#158.",
        ("frequency_penalty", "presence_penalty"),
        other_parameters(lambda given: {"penalty": -given["penalty"]}),
        row_request([2.0, 1.0], [0, 0], 0, penalty=0.5),
    ),
    asking(
        "presence-counts-each-occurrence",
        "A presence penalty is subtracted once per occurrence. Own.",
        {"presence_penalty"},
        lambda session, op, request: (
            SamplerSession("standard", session.tools).answer("frequency_penalty", request)
            if session.profile == "standard" and isinstance(session.answer(op, request), Ok)
            else session.answer(op, request)
        ),
        row_request([2.0, 1.0], [0, 0], 0, penalty=0.5),
    ),
    asking(
        "penalties-in-the-other-order",
        "Subtracting before dividing, or after, where signs differ; sglang (S13).",
        {"penalties"},
        other_rule(
            "order",
            {"repetition first": "repetition last", "repetition last": "repetition first"},
        ),
        row_request([1.0, 0.0], [0, 0], 0, repetition=2.0, frequency=1.0),
    ),
    asking(
        "zero-becomes-minus-zero",
        "A logit of 0 loses its sign under a penalty. Own.",
        {"repetition_penalty"},
        other_row(lambda _before, after, _: [0.0 if number == 0 else number for number in after]),
        row_request([-0.0, 1.0], [0], 0, penalty=2.0),
    ),
)


# ---- biases, bans, lengths


def _bias(change: Callable[[float], float]) -> Ask:
    def changed(given: dict[str, Any]) -> Mapping[str, Any]:
        biases = given.get("biases")
        if not isinstance(biases, dict):
            return {}
        return {"biases": {token: change(bias) for token, bias in biases.items()}}

    return other_parameters(changed)


def _one_more(name: str, by: int = 1) -> Ask:
    return other_parameters(
        lambda given: {name: given[name] + by} if isinstance(given.get(name), int) else {}
    )


_NGRAMS: Final = row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, ngram_size=3)

BANS: Final = (
    asking(
        "logit-bias-is-never-applied",
        "The map of biases is accepted and ignored; as sglang#28179.",
        {"logit_bias"},
        ignored,
        row_request([0.0, 1.0], biases={0: 1.5}),
    ),
    asking(
        "logit-bias-is-applied-twice",
        "Two layers of a server both add it; as sglang-omni#1360.",
        {"logit_bias"},
        twice,
        row_request([0.0, 1.0], biases={0: 1.5}),
    ),
    asking(
        "logit-bias-replaces-the-logit",
        "The bias is written over the logit, and not added. Own.",
        {"logit_bias"},
        other_row(
            lambda before, after, _: [
                new - old if new != old and old > -inf and new > -inf else new
                for old, new in zip(before, after, strict=True)
            ]
        ),
        row_request([2.0, 1.0], biases={0: 1.5}),
    ),
    asking(
        "logit-bias-of-minus-100-bans",
        "A bias of -100 is taken for a ban, which it is not. Own.",
        {"logit_bias"},
        _bias(lambda bias: -inf if bias <= -100 else bias),
        row_request([0.0, 1.0], biases={0: -100.0}),
    ),
    asking(
        "n-grams-are-one-longer",
        "The size of an n-gram is counted without its last token. Own.",
        ("no_repeat_ngram", "encoder_no_repeat_ngram"),
        _one_more("ngram_size"),
        _NGRAMS,
    ),
    asking(
        "n-grams-are-one-shorter",
        "The size of an n-gram is counted with a token too many. Own.",
        ("no_repeat_ngram", "encoder_no_repeat_ngram"),
        other_parameters(lambda given: {"ngram_size": max(given["ngram_size"] - 1, 1)}),
        row_request([0.0] * 4, [0, 1, 2, 1], 0, ngram_size=3),
    ),
    asking(
        "minimum-ends-one-step-late",
        "The end is banned for one token too many; 1Cat-vLLM#533.",
        ("min_length", "min_new_tokens"),
        other_parameters(
            lambda given: {name: given[name] + 1 for name in ("length", "count") if name in given}
        ),
        row_request([0.0, 1.0], [1, 1], 0, length=2, ends=[0]),
    ),
    asking(
        "minimum-ends-one-step-early",
        "The end is allowed one token too soon. Own.",
        ("min_length", "min_new_tokens"),
        other_parameters(
            lambda given: {
                name: max(given[name] - 1, 0) for name in ("length", "count") if name in given
            }
        ),
        row_request([0.0, 1.0], [1, 1], 0, length=3, ends=[0]),
    ),
    asking(
        "minimum-counts-the-prompt",
        "New tokens are counted with the prompt. Own.",
        {"min_new_tokens"},
        other_question(lambda _: {"prompt_length": 0}),
        row_request([0.0, 1.0], [1, 1], 2, count=1, ends=[0]),
    ),
    asking(
        "only-the-first-end-is-banned",
        "Of several tokens that end a text only the first is known. Own.",
        ("min_length", "min_new_tokens"),
        other_parameters(lambda given: {"ends": list(given["ends"])[:1]}),
        row_request([0.0, 1.0, 2.0], [], 0, length=3, ends=[0, 1]),
    ),
    asking(
        "dry-exponent-is-off-by-one",
        "The penalty grows from one token too early on; aprender#2160.",
        ("dry", "dry_nearby", "dry_longest"),
        _with_penalty(lambda given: {"multiplier": given["multiplier"] * given.get("base", 1.75)}),
        row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=1),
    ),
    asking(
        "dry-runs-through-breakers",
        "Sequence breakers are parsed and never used; mlxcel#1128.",
        ("dry", "dry_nearby", "dry_longest"),
        other_parameters(lambda _: {"breakers": []}),
        row_request(
            [0.0] * 4,
            [0, 1, 2, 0, 1],
            0,
            multiplier=1.0,
            base=2.0,
            allowed_length=1,
            breakers=[[1]],
        ),
        op="dry",
    ),
    asking(
        "dry-takes-the-length-for-the-base",
        "Base and allowed length are mixed up; exllamav2 (S3).",
        ("dry", "dry_nearby", "dry_longest"),
        _with_penalty(lambda given: {"base": float(max(given.get("allowed_length", 2), 1))}),
        row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=1),
    ),
    asking(
        "dry-allows-one-more",
        "A repeat of exactly the allowed length is not penalised. Own.",
        ("dry", "dry_nearby", "dry_longest"),
        other_parameters(lambda given: {"allowed_length": given.get("allowed_length", 2) + 1}),
        row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, multiplier=1.0, base=2.0, allowed_length=2),
    ),
    asking(
        "lz-penalty-has-the-wrong-sign",
        "The penalty is subtracted where it must be added: the program of 2025 (S23).",
        {"lz"},
        other_row(
            lambda before, after, _: [
                2 * old - new if old > -inf else new for old, new in zip(before, after, strict=True)
            ]
        ),
        row_request([0.0] * 4, [0, 1, 2, 0, 1], 0, strength=0.5),
    ),
)


# ---- temperature, softmax, greedy


def _unstable(before: list[float], after: list[float], request: Request) -> list[float]:
    """Take exponentials as they are: they overflow, and infinity over infinity is NaN."""
    del after
    dtype = type_of(request["logits"])
    sizes = []
    for logit in before:
        try:
            sizes.append(nearest(exp(logit), dtype))
        except OverflowError:
            sizes.append(inf)
    total = nearest(sum(sizes), dtype)
    return [nan if size == total == inf or total == 0 else size / total for size in sizes]


def _logarithm_of_rounded(before: list[float], after: list[float], request: Request) -> list[float]:
    """Take the logarithm of a rounded probability: minus infinity for a small one."""
    dtype = type_of(request["logits"])
    shares = [nearest(exp(number), dtype) if number > -inf else 0.0 for number in after]
    del before
    return [log(share) if share > 0 else -inf for share in shares]


def _nan_is_best(session: SamplerSession, op: str, request: Request) -> Answer:
    row = unpack(request["logits"])
    if any(isnan(number) for number in row):
        return Ok({"token": next(token for token, number in enumerate(row) if isnan(number))})
    return session.answer(op, request)


SHAPES: Final = (
    asking(
        "temperature-multiplies",
        "Logits are multiplied by the temperature, not divided. Own.",
        {"temperature"},
        other_row(
            lambda before, after, _: [
                old * (old / new) if new not in {0, inf, -inf} else new
                for old, new in zip(before, after, strict=True)
            ]
        ),
        row_request([1.0, 2.0], temperature=0.5),
    ),
    asking(
        "temperature-is-applied-twice",
        "Two layers of a server both apply it, which a test with 1 never notices; RL-Kernel#81.",
        {"temperature"},
        twice,
        row_request([1.0, 2.0], temperature=0.5),
    ),
    asking(
        "temperature-is-never-applied",
        "The parameter is accepted and ignored; as sglang#28179.",
        {"temperature"},
        ignored,
        row_request([1.0, 2.0], temperature=0.5),
    ),
    asking(
        "softmax-overflows",
        "The largest logit is not subtracted first. Own.",
        {"softmax"},
        other_row(_unstable),
        {"logits": pack([100.0, 100.0])},
    ),
    asking(
        "softmax-adds-a-little",
        "A small number is added to each probability, so that none is 0. Own.",
        {"softmax"},
        other_row(lambda _before, after, _: [share + 1e-9 for share in after]),
        {"logits": pack([0.0, -inf])},
    ),
    asking(
        "logprobs-of-rounded-shares",
        "The logarithm of a probability that was rounded: minus infinity for small ones. Own.",
        {"logprobs"},
        other_row(_logarithm_of_rounded),
        {"logits": pack([0.0, -120.0])},
    ),
    asking(
        "logprobs-have-base-2",
        "Logarithms to the base 2; aprender#2142 mixed bits and nats in mirostat.",
        {"logprobs"},
        other_row(lambda _before, after, _: [number / log(2) for number in after]),
        {"logits": pack([0.0, 0.0])},
    ),
    asking(
        "greedy-takes-the-last-of-equals",
        "Of several largest logits the last one; tt-metal#50687.",
        {"greedy"},
        other_rule("ties", {"first": "last", "last": "first"}),
        {"logits": pack([1.0, 1.0])},
    ),
    asking(
        "greedy-takes-nan-for-the-largest",
        "A NaN wins every comparison; flashinfer#1575 read out of bounds on one.",
        {"greedy"},
        _nan_is_best,
        {"logits": {"f32": "3f8000007fc00000"}},
    ),
)

ROWS: Final = (*PENALTY_MUTANTS, *BANS, *SHAPES)
"""All mutants of steps that change logits."""
