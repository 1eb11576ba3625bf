"""All records about samplers with wrong answers: a run that passes one compares nothing.

Each is a right record with one thing changed, the smallest that can be: a token beside the right
one, one bit of one word, a number one unit beyond what is allowed, a zero of the wrong sign, a
stage under another name, a draw that is not there. A right engine fails all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.sampling.adaptive import ULP, asked
from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, finish_sampler
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits
from authoring.cases.sampling.row_draft import Topic, row_request
from authoring.cases.sampling.statistics_bins import judged, judged_pairs
from tokenref.engines.reference_laws import law_of_step, rows_of_step
from tokenref.floats import Type, from_digits, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import FilterInput, KeepOutput, pack_parameters
from tokenref.record import OPERATIONS, Case, answer_type, make_case, op_of
from tokenref.rounding.rows import softmax_verdict
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Alternative, Close, Either, Exact, MustRefuse, Seeds, Set, Verdict


def sampler_canaries() -> list[Case]:
    """Return the records, always in the same order.

    >>> {case.id.split("/")[0] for case in sampler_canaries()}
    {'canary'}
    """
    return [*filter_canaries(), *row_canaries(), *draw_canaries(), *own_draw_canaries()]


# ---- filters

_ROW: Final = eighths(1, 4, 1, 2)
_LOGITS: Final = logits(1.0, 4.0, 0.0, 2.0)

# op, slug, profile, row, params, what is wrong, the wrong answer
_WRONG: Final[tuple[tuple[str, str, str, Row, dict[str, Any], str, list[int]], ...]] = (
    ("top_k", "one-too-few", "standard", _ROW, {"k": 2}, "A token is missing.", [1]),
    ("top_k", "ids-of-the-sorted-row", "standard", _ROW, {"k": 2}, "These are places.", [0, 1]),
    (
        "top_p",
        "crossing-dropped",
        "standard",
        _ROW,
        {"p": 0.625},
        "The crossing token is lost.",
        [1],
    ),
    ("top_p", "one-too-many", "standard", _ROW, {"p": 0.75}, "There is one too many.", [0, 1, 3]),
    ("min_p", "equality-removed", "standard", _ROW, {"m": 0.5}, "The equal one is lost.", [1]),
    ("typical", "by-weight", "standard", _ROW, {"mass": 0.25}, "The heaviest is kept.", [1]),
    ("epsilon", "nothing", "standard", _ROW, {"cutoff": 0.75}, "Nothing is kept.", []),
    ("eta", "epsilon", "standard", _ROW, {"cutoff": 0.25}, "A light token is kept.", [1, 2, 3]),
    ("top_a", "no-square", "standard", _ROW, {"a": 1.0}, "The square is forgotten.", [1]),
    ("tail_free", "all", "standard", _ROW, {"z": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    ("top_h", "all", "standard", _ROW, {"alpha": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    ("top_n_sigma", "all", "standard", _LOGITS, {"n": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    (
        "xtc",
        "last-removed",
        "standard",
        _ROW,
        {"threshold": 0.25},
        "The last top choice is gone.",
        [0, 2],
    ),
    ("top_k", "transformers", "transformers", _LOGITS, {"top_k": 2}, "The best is lost.", [3]),
    (
        "top_p",
        "transformers",
        "transformers",
        _LOGITS,
        {"top_p": 0.5},
        "There is one too many.",
        [1, 3],
    ),
    (
        "min_p",
        "transformers",
        "transformers",
        _LOGITS,
        {"min_p": 0.5},
        "Nothing is removed.",
        [0, 1, 2, 3],
    ),
    ("top_k", "llama.cpp", "llama.cpp", _LOGITS, {"top_k": 2}, "The best is lost.", [3]),
    ("top_p", "llama.cpp", "llama.cpp", _LOGITS, {"top_p": 0.5}, "There is one too many.", [1, 3]),
    (
        "min_p",
        "llama.cpp",
        "llama.cpp",
        _LOGITS,
        {"min_p": 0.5},
        "Nothing is removed.",
        [0, 1, 2, 3],
    ),
)


def filter_canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> all(case.id.startswith("canary/") for case in filter_canaries())
    True
    """
    cases = [
        _canary(_asking(op, slug, row, params, profile), why, keep=keep)
        for op, slug, profile, row, params, why, keep in _WRONG
    ]
    return [*cases, *_sets(), *_alternatives(), *_refusals()]


def _canary(
    asked: FilterCase, why: str, verdict: Verdict | None = None, keep: Sequence[int] | None = None
) -> Case:
    return make_case(
        asked.op,
        id=f"canary/{asked.op}/{asked.slug}",
        profile=asked.profile,
        why=f"{why} A right engine must fail this.",
        flags=["Canary"],
        spec=f"docs/engines.md#{asked.op}",
        verdict=verdict or Exact(),
        input=msgspec.convert(asked.request(), FilterInput),
        out=None if keep is None else KeepOutput(keep=list(keep)),
    )


def _asking(
    op: str, slug: str, row: Row, params: Mapping[str, Any], profile: str = "standard"
) -> FilterCase:
    uniform = 0.5 if op == "xtc" else None
    return FilterCase(op, "canary", slug, row, params, "", (), profile=profile, uniform=uniform)


def _sets() -> list[Case]:
    """Return sets that the right answer, tokens 1 and 3, is not in."""
    reason = "This set is wrong on purpose."
    sets = (
        (
            "set-member-missing",
            "A token that is not kept is listed as certain.",
            [0, 1],
            [0, 1, 3],
            [2, 3],
        ),
        ("set-too-narrow", "A token that is kept is listed as impossible.", [1], [0, 1], [2]),
        ("set-wrong-size", "The number of tokens is wrong.", [1], [0, 1, 2, 3], [1, 3]),
    )
    return [
        _canary(
            _asking("top_k", slug, _ROW, {"k": 2}),
            why,
            Set(must=must, may=may, sizes=sizes, reason=reason),
            [1, 3],
        )
        for slug, why, must, may, sizes in sets
    ]


def _alternatives() -> list[Case]:
    reason = "This alternative is wrong on purpose."
    wrong = Either(
        alternatives=[
            Alternative(label="f64", reason=reason, out={"keep": [1]}),
            Alternative(label="f32.tree", reason=reason, out={"keep": [0, 1, 3]}),
        ]
    )
    why = "Every alternative is wrong, and the right answer lies between them."
    return [_canary(_asking("top_p", "either", _ROW, {"p": 0.75}), why, wrong, [1])]


def _refusals() -> list[Case]:
    wrong_code = MustRefuse(codes=["INVALID_HISTORY"])
    needless = MustRefuse(codes=["INVALID_PARAMETER"])
    return [
        _canary(
            _asking("top_k", "wrong-reason", _ROW, {"k": 0}), "The reason is wrong.", wrong_code
        ),
        _canary(
            _asking("top_k", "needless-refusal", _ROW, {"k": 2}), "Nothing is wrong here.", needless
        ),
    ]


# ---- rows, laws, chains and sequences

Out = dict[str, Any]
Change = Callable[[Out, int], Out]

ROWS: Final = Topic("canary", (), "docs/sampling.md#the-steps")
CHAINS: Final = ChainTopic("canary", (), "docs/sampling.md#chains")

SIGNS: Final = [4.0, -4.0, 0.0, -0.0, -inf, 3.0]


def moved(name: str, place: int) -> Change:
    """Return the change "this number is beyond what is allowed".

    Where units are allowed it is far beyond: a program that is a few units off must fail its
    own records, and not meet a canary as well.
    """

    def change(out: Out, allowed: int) -> Out:
        dtype = type_of(out[name])
        digits = out[name][dtype]
        wide = len(to_digits([0.0], dtype))
        bits = int(digits[place * wide : (place + 1) * wide], 16) + (
            allowed + 4096 if allowed else 2
        )
        changed = digits[: place * wide] + f"{bits:0{wide}x}" + digits[(place + 1) * wide :]
        return {**out, name: {dtype: changed}}

    return change


def put(name: str, place: int, number: float) -> Change:
    """Return the change "another number stands here"."""

    def change(out: Out, _: int) -> Out:
        dtype: Type = type_of(out[name])
        numbers = from_digits(out[name][dtype], dtype)
        numbers[place] = number
        return {**out, name: pack(numbers, dtype)}

    return change


def shortened(name: str) -> Change:
    """Return the change "the last number is missing"."""
    return lambda out, _: {**out, name: pack(unpack(out[name])[:-1], type_of(out[name]))}


def without(token: int) -> Change:
    """Return the change "a token is missing"."""
    return lambda out, _: {**out, "keep": [other for other in out["keep"] if other != token]}


def stage(place: int, **parts: Any) -> Change:
    """Return the change "a stage has another name, or left other tokens"."""

    def change(out: Out, _: int) -> Out:
        stages = [dict(one) for one in out["stages"]]
        stages[place] |= parts
        return {**out, "stages": stages}

    return change


def token(other: int) -> Change:
    """Return the change "another token is chosen"."""
    return lambda out, _: {**out, "token": other}


def _logits(*logits: float) -> dict[str, Any]:
    return {"logits": pack(list(logits))}


def _drafts() -> list[tuple[SamplerDraft, Change, str]]:
    """Return right questions, each with what is made wrong, and what that is."""
    signs = row_request(SIGNS, [0, 1, 2, 3, 4, 5], penalty=2.0)
    thirds = row_request([1.0, 2.0, 3.0], temperature=3.0)
    softmax, logprobs = _logits(2.0, 1.0, 0.5), _logits(2.0, 1.0, 0.5)
    cut = chain_request(
        [1.0, 4.0, 0.0, 3.0], {"top_k": 2, "min_p": 0.125, "temp": 1.0, "top_p": 1.0}
    )
    law = chain_request([1.0, 3.0, 0.0], {"temperature": 2.0})
    drawn = chain_request([0.0, 0.0], {}, uniforms=[0.25])
    everywhere = "standard"
    asked: list[tuple[str, str, str, dict[str, Any], Change, str]] = [
        ("repetition_penalty", "one-unit", everywhere, signs, moved("logits", 0), "A number is two units off, and none is allowed."),
        ("repetition_penalty", "sign-of-zero", everywhere, signs, put("logits", 2, -0.0), "A zero has the wrong sign."),
        ("repetition_penalty", "sign-of-minus-zero", everywhere, signs, put("logits", 3, 0.0), "A minus zero has lost its sign."),
        ("repetition_penalty", "possible-again", everywhere, signs, put("logits", 4, -(2.0**127)), "A token that is impossible has become possible."),
        ("repetition_penalty", "divided", everywhere, signs, put("logits", 1, -2.0), "A negative logit was divided."),
        ("repetition_penalty", "one-too-few", everywhere, signs, shortened("logits"), "The last token of the row is missing."),
        ("frequency_penalty", "once", everywhere, row_request([4.0, 4.0], [0, 0], penalty=1.0), put("logits", 0, 3.0), "The second occurrence is free."),
        ("presence_penalty", "twice", everywhere, row_request([4.0, 4.0], [0, 0], penalty=1.0), put("logits", 0, 2.0), "The second occurrence costs again."),
        ("penalties", "order", everywhere, row_request([1.0, 0.0], [0], repetition=2.0, frequency=2.0), put("logits", 0, -2.0), "The subtraction was done first."),
        ("dry", "exponent", everywhere, row_request([8.0] * 3, [0, 1, 2, 0, 1], multiplier=1.0, base=2.0, allowed_length=1), put("logits", 2, 4.0), "The exponent is one too high."),
        ("lz", "sign", everywhere, row_request([0.0] * 4, [1, 2, 1], strength=1.0, window=2, buffer=1), put("logits", 2, 1.0), "The continuation is rewarded."),
        ("temperature", "beyond", everywhere, thirds, moved("logits", 0), "A number is far beyond what is allowed."),
        ("temperature", "twice", everywhere, thirds, put("logits", 2, 0.5), "The temperature was applied twice."),
        ("logit_bias", "clamped", everywhere, row_request([1.0, 0.0], biases={0: 100.0}), put("logits", 0, 100.0), "The bias took the logit's place."),
        ("token_mask", "one-too-many", everywhere, row_request([1.0, 2.0, 3.0], words=[0b101]), put("logits", 1, 2.0), "A masked token is possible."),
        ("token_mask", "padding", everywhere, row_request([1.0, 2.0, 3.0], vocab_size=2), put("logits", 2, 3.0), "The padding is possible."),
        ("min_length", "late", everywhere, row_request([1.0, 0.0], [1, 1], length=2, ends=0), put("logits", 0, -inf), "The end is forbidden for one token too long."),
        ("softmax", "beyond", everywhere, softmax, moved("probs", 1), "A probability is far beyond what is allowed."),
        ("softmax", "nan", everywhere, softmax, put("probs", 0, float("nan")), "A probability is NaN."),
        ("softmax", "nothing-for-something", everywhere, softmax, put("probs", 2, 0.0), "A possible token has no probability."),
        ("logprobs", "beyond", everywhere, logprobs, moved("logprobs", 1), "A logarithm is far beyond what is allowed."),
        ("logprobs", "infinite", everywhere, logprobs, put("logprobs", 2, -inf), "A possible token's logarithm is minus infinity."),
        ("greedy", "last-of-equals", everywhere, _logits(1.0, 2.0, 2.0), token(2), ("The last of several equal tokens is "
                                                                                   "taken.")),
        ("greedy", "smallest", everywhere, _logits(1.0, 2.0, 0.0), token(2), "The smallest is taken."),
        ("chain", "missing", "llama.cpp", cut, without(3), "A token is missing at the end of the chain."),
        ("chain", "stage-name", "llama.cpp", cut, stage(0, step="top_p"), "A stage has another step's name."),
        ("chain", "stage-keep", "llama.cpp", cut, stage(1, keep=[1]), "A stage left too few tokens."),
        ("chain", "transformers", "transformers", chain_request([1.0, 4.0, 0.0, 3.0], {"top_k": 2}), without(1), "The best token is missing."),
        ("distribution", "beyond", "vllm", law, moved("probs", 0), "A probability is far beyond what is allowed."),
        ("distribution", "temperature-one", "vllm", law, put("probs", 1, 0.84375), "The temperature was forgotten."),
        ("distribution", "transformers", "transformers", law, put("probs", 1, 0.84375), "The temperature of transformers was forgotten."),
        ("distribution", "llama.cpp", "llama.cpp", chain_request([1.0, 3.0, 0.0], alone("llama.cpp", temp=2.0)), put("probs", 1, 0.84375), "The temperature of llama.cpp was forgotten."),
        ("sample", "other", "openai", drawn, token(1), "The other token is drawn."),
    ]  # fmt: skip
    made = []
    for op, slug, profile, request, change, says in asked:
        if op in {"chain", "distribution", "sample"}:
            draft = CHAINS.case(
                op, slug, profile, request, f"{says} A right engine must fail this.", meets=True
            )
        else:
            verdict = (
                softmax_verdict(op, request["logits"], "f32")
                if op in {"softmax", "logprobs"}
                else None
            )
            if op == "greedy":
                draft = SamplerDraft(
                    op,
                    "canary",
                    slug,
                    profile,
                    request,
                    f"{says} A right engine must fail this.",
                    (),
                    spec="docs/sampling.md#the-steps",
                )
            else:
                draft = ROWS.case(
                    op,
                    slug,
                    profile,
                    request,
                    f"{says} A right engine must fail this.",
                    verdict=verdict,
                )
        made.append((draft, change, says))
    return made


def row_canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> all(case.id.startswith("canary/") for case in row_canaries())
    True
    """
    cases = []
    for draft, change, _ in _drafts():
        right = finish_sampler(draft)
        allowed = right.verdict.ulp if isinstance(right.verdict, Close) else 0
        out = change(msgspec.to_builtins(right.out), allowed)
        op = op_of(right)
        cases.append(
            make_case(
                op,
                id=f"canary/{op}/row-{draft.slug}",
                profile=right.profile,
                why=right.why,
                flags=["Canary"],
                spec=right.spec,
                verdict=right.verdict,
                input=right.input,
                out=msgspec.convert(out, answer_type(op)),
            )
        )
    return [*cases, *_refusals_rows()]


def _refusals_rows() -> list[Case]:
    """Return records that demand a refusal of what is right, or for the wrong reason."""
    right = ROWS.case(
        "temperature", "refused", "standard", row_request([1.0], temperature=2.0),
        "A right temperature is to be refused. A right engine must fail this.",
    )  # fmt: skip
    wrong = ROWS.case(
        "temperature", "answered", "standard", row_request([1.0], temperature=-1.0),
        "A negative temperature is to be refused for a fault of the row. A right engine must fail this.",
    )  # fmt: skip
    cases = []
    for draft, code in ((right, "INVALID_PARAMETER"), (wrong, "INVALID_ROW")):
        made = finish_sampler(draft)
        cases.append(
            make_case(
                "temperature",
                id=f"canary/temperature/row-{draft.slug}",
                profile=made.profile,
                why=made.why,
                flags=["Canary"],
                spec=made.spec,
                verdict=MustRefuse(codes=[code]),  # type: ignore[list-item]  # two of the codes
                input=made.input,
            )
        )
    return cases


# ---- draws, random words, drafts, states, batches and calls

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
ROW: Final = {"probs": pack([0.5, 0.25, 0.25])}


class _Canary(NamedTuple):
    op: str
    slug: str
    profile: str
    request: Mapping[str, Any]
    change: Callable[[Out], Out]
    why: str
    verdict: Verdict = Exact()


def draw_canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> {case.id.split("/")[1] for case in draw_canaries()} >= {"draw", "batch"}
    True
    """
    cases = []
    for each in [*_draws(), *_words(), *_drafts_draws(), *_states(), *_calls()]:
        right = finish_sampler(_draft(each))
        out = each.change(msgspec.to_builtins(right.out))
        cases.append(_case(each, each.verdict, msgspec.convert(out, answer_type(each.op))))
    return [*cases, *_refusals_draws()]


def _draft(each: _Canary) -> SamplerDraft:
    return SamplerDraft(
        op=each.op,
        topic="canary",
        slug=each.slug,
        profile=each.profile,
        request=each.request,
        why=each.why,
        flags=["Canary"],
        verdict=each.verdict,
        spec=SPEC,
    )


def _case(each: _Canary, verdict: Verdict, out: Any) -> Case:
    return make_case(
        each.op,
        id=f"canary/{each.op}/{each.slug}",
        profile=each.profile,
        why=f"{each.why} A right engine must fail this.",
        flags=["Canary"],
        spec=SPEC,
        verdict=verdict,
        input=finish_sampler(_draft(each)).input,
        out=out,
    )


def _put(name: str, value: object) -> Callable[[Out], Out]:
    """Return the change "this part is another one"."""
    return lambda out: {**out, name: value}


def _unit_off(numbers: Mapping[str, str], units: int = 1) -> dict[str, str]:
    """Return numbers of which the last one is some units off."""
    dtype = type_of(numbers)
    digits = numbers[dtype]
    return {dtype: f"{int(digits, 16) + units:0{len(digits)}x}"}


def _state_off(units: int) -> Callable[[Out], Out]:
    """Return the change "the state is some units off"."""
    return lambda out: {**out, "state": {"mu": _unit_off(out["state"]["mu"], units)}}


def _draws() -> Iterator[_Canary]:
    half = {**ROW, "uniforms": pack([0.5])}
    yield _Canary(
        "draw", "token-before", STANDARD, half, _put("token", 0), "The token before is expected."
    )
    yield _Canary(
        "draw", "token-behind", rule_name("draw", boundary="reach"), half, _put("token", 1),
        "The token after it is expected.",
    )  # fmt: skip
    several = {**ROW, "uniforms": pack([0.5, 0.0]), "count": 2}
    yield _Canary(
        "draw", "other-order", STANDARD, several, lambda out: {"tokens": out["tokens"][::-1]},
        "The tokens are right, and expected in another order.",
    )  # fmt: skip
    yield _Canary(
        "draw", "list-for-one", STANDARD, half, lambda out: {"tokens": [out["token"]]},
        "One token was requested, but a list is expected.",
    )  # fmt: skip
    race = {**ROW, "uniforms": pack([0.5, 0.5, 0.9375])}
    yield _Canary(
        "draw", "race-loser", rule_name("draw", method="exponential race"), race,
        _put("token", 0), "The most probable token is expected, which lost.",
    )  # fmt: skip


def _words() -> Iterator[_Canary]:
    start = {"seed": "1571", "taken": 0, "count": 3}
    words = ["d091bb5c", "22ae9ef6", "e7e1faee"]
    for slug, wrong, why in (
        ("bit", [*words[:2], "e7e1faef"], "The lowest bit of the last word is wrong."),
        ("order", words[::-1], "The words are expected in another order."),
        ("one-more", [*words, words[0]], "A word too many is expected."),
    ):
        yield _Canary("random_words", slug, "mt19937", start, _put("words", wrong), why)
    yield _Canary(
        "uniforms", "unit-off", "libstdcxx-double", {"words": ["00000000", "80000001"]},
        lambda out: {"uniforms": _unit_off(out["uniforms"])},
        "The number is one unit in the last place off.",
    )  # fmt: skip
    yield _Canary(
        "uniforms", "other-type", "numpy-float", {"words": ["80000000"]},
        lambda _: {"uniforms": pack([0.5], "f64")},
        "The number is right, and expected in another type.",
    )  # fmt: skip


def _drafts_draws() -> Iterator[_Canary]:
    even, left = pack([0.5, 0.5]), pack([0.75, 0.25])
    question = {
        "draft": [left], "target": [even, even], "tokens": [0], "uniforms": pack([0.5, 0.75]),
        "params": {},
    }  # fmt: skip
    yield _Canary(
        "speculative", "count", STANDARD, question, _put("accepted", 0),
        "The tokens are right, and the number of accepted drafts is wrong.",
    )  # fmt: skip
    yield _Canary(
        "speculative", "bonus", STANDARD, question, _put("tokens", [0, 0]),
        "The token after the accepted draft is wrong.",
    )  # fmt: skip
    yield _Canary(
        "residual", "unit-off", STANDARD,
        {"target": pack([0.5, 0.25, 0.25]), "draft": pack([0.25, 0.75, 0.0]), "params": {}},
        lambda out: {"probs": _unit_off(out["probs"])},
        "The last share is one unit in the last place off.",
    )  # fmt: skip


def _states() -> Iterator[_Canary]:
    even = (0.0,) * 8
    for op in ("mirostat_1", "mirostat_2"):
        question = asked(even[:4], {"tau": 1.5, "eta": 0.5}, 0.75, {"mu": 4.0})
        yield _Canary(
            op, "token", STANDARD, question, _put("token", 0), "The state is right, not the token."
        )
        for slug, units, verdict in (
            ("state", 1, Exact()),
            ("state-too-far", ULP + 2, Close(ulp=ULP)),
        ):
            yield _Canary(
                op, slug, STANDARD, question,
                _state_off(units),
                "The token is right, and the state is off by more than is allowed.", verdict,
            )  # fmt: skip
    question = asked(even, {"target": 0.5, "decay": 0.5}, 0.75, {"past": [1.0, 2.0]})
    yield _Canary(
        "adaptive_p", "state-kept", STANDARD, question,
        lambda out: {**out, "state": {"past": pack([1.0, 2.0])}},
        "The state before is expected as the state after.",
    )  # fmt: skip


def _calls() -> Iterator[_Canary]:
    rows = [{"probs": pack(row), "params": {"k": 1}} for row in ([0.75, 0.25], [0.25, 0.75])]
    batch = {"op": "top_k", "rows": rows}
    yield _Canary(
        "batch", "rows-exchanged", STANDARD, batch, lambda out: {"rows": out["rows"][::-1]},
        "The answers of two rows are exchanged.",
    )  # fmt: skip
    yield _Canary(
        "batch", "last-row-missing", STANDARD, batch, lambda out: {"rows": out["rows"][:1]},
        "The answer of the last row is missing.",
    )  # fmt: skip
    sample = {"sample": {"logits": pack([4.0, 3.5]), "uniforms": pack([])}}
    sequence = {
        "params": pack_parameters({"temperature": 0.0, "presence_penalty": 1.0}), "prompt": [],
        "calls": [sample, {"accept": 0}, sample],
    }  # fmt: skip
    for slug, answers, why in (
        ("nothing-remembered", [0, None, 0], "The token that was accepted is expected to be forgotten."),
        ("answer-to-accept", [0, 0, 1], "A token is expected from a call that draws none."),
    ):  # fmt: skip
        yield _Canary("sequence", slug, "vllm", sequence, _put("answers", answers), why)


def _refusals_draws() -> list[Case]:
    good = {**ROW, "uniforms": pack([0.5])}
    bad = {**ROW, "uniforms": pack([1.0])}
    listed: Sequence[tuple[_Canary, Verdict, Any]] = (
        (_Canary("draw", "refused", STANDARD, good, dict, "A good question is expected to be refused."),
         MustRefuse(codes=["INVALID_UNIFORM"]), None),
        (_Canary("draw", "other-reason", STANDARD, bad, dict, "The reason to refuse is another one."),
         MustRefuse(codes=["INVALID_ROW"]), None),
        (_Canary("draw", "answered", STANDARD, bad, dict, ("A token is expected for an invalid "
                                                          "number.")),
         Exact(), msgspec.convert({"token": 2}, answer_type("draw"))),
    )  # fmt: skip
    return [_case(each, verdict, out) for each, verdict, out in listed]


# ---- an engine's own random numbers


def own_draw_canaries() -> list[Case]:
    """Return the records, always in the same order.

    >>> sorted({case.id.split("/")[1] for case in own_draw_canaries()})
    ['seeds', 'stat', 'stat_batch', 'stat_speculative']
    """
    return [*_counts(), *_steps(), *_batches(), *_seeds()]


def _canary_own_draws(
    op: str, slug: str, why: str, request: Mapping[str, Any], verdict: Verdict, spec: str
) -> Case:
    return make_case(
        op,
        id=f"canary/{op}/{slug}",
        profile=STANDARD,
        why=f"{why} A right engine must fail this.",
        flags=["Canary"],
        spec=f"docs/sampling.md#{spec}",
        verdict=verdict,
        input=msgspec.convert(dict(request), OPERATIONS[op].question),
        out=None,
    )


def _counts() -> Iterator[Case]:
    """Yield records whose law is not the row's: no right sampler draws by it."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    question = {"probs": pack([0.5, 0.25, 0.25]), "params": {}, "draws": 10_000}
    wrong = (
        ("shares-exchanged", [quarter, half, quarter], "The shares of two tokens are exchanged."),
        ("possible-forbidden", [half, half, Fraction(0)], "A possible token is forbidden."),
    )
    for slug, shares, why in wrong:
        verdict = judged(shares, 10_000, 1)
        yield _canary_own_draws("stat", slug, why, question, verdict, "random-numbers-and-draws")


def _steps() -> Iterator[Case]:
    draws = 5_000
    question = {
        "draft": [pack([2.0, 0.0, 1.0])],
        "target": [pack([0.0, 2.0, 1.0]), pack([1.0, 1.0, 1.0])],
        "draft_params": {},
        "params": {},
        "draws": draws,
    }
    drafts, (first, bonus) = rows_of_step(question)
    right = law_of_step({}, drafts, [first, bonus])
    accepted = {out: share for out, share in right.items() if len(out) > 1}
    shorter = {out: share / sum(accepted.values()) for out, share in accepted.items()}
    for slug, law, why in (
        ("law-of-the-draft", law_of_step({}, drafts, [drafts[0], bonus]),
         "The drafting model's law is expected, not the target's."),
        ("never-rejected", shorter, "Drafts are expected to be accepted always."),
    ):  # fmt: skip
        verdict = judged(list(law.values()), draws, 1, outcomes=list(law))
        yield _canary_own_draws(
            "stat_speculative", slug, why, question, verdict, "speculative-decoding"
        )


def _batches() -> Iterator[Case]:
    question = {"probs": pack([0.5, 0.25, 0.25]), "params": {}, "rows": 3, "draws": 1_000}
    shares = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    yield _canary_own_draws(
        "stat_batch", "shares-exchanged", "The shares of two tokens are exchanged in all rows.",
        question, judged_pairs(shares, 3, 1_000, 1), "random-numbers-and-draws",
    )  # fmt: skip


def _seeds() -> Iterator[Case]:
    question = {"probs": pack([0.0, 1.0]), "params": {}, "batches": [[7, None]], "tokens": 4}
    yield _canary_own_draws(
        "seeds", "nothing-to-draw", "Two rows are expected to differ where one token is possible.",
        question, Seeds(alpha="2^-1"), "random-numbers-and-draws",
    )  # fmt: skip
