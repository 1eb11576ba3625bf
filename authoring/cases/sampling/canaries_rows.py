"""Rows, laws, chains and draws with wrong answers, each a right record with one thing changed.

A number two units beyond what is allowed, a zero of the wrong sign, an impossible token that is
possible, a stage under another name, a token that is missing: a right engine fails all of them.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Callable
from math import inf
from typing import Any, Final

import msgspec

from authoring.cases.sampling.chains_asking import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, finish_sampler
from authoring.cases.sampling.rows_asking import Topic, row_request
from tokenref.floats import Type, from_digits, pack, to_digits, type_of, unpack
from tokenref.record import Case, answer_type, make_case, op_of
from tokenref.rounding.rows import softmax_verdict
from tokenref.verdicts import Close, MustRefuse

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
    return [*cases, *_refusals()]


def _refusals() -> list[Case]:
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
