"""Mutants that report wrong log-probabilities, tokens or ranks."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

from authoring.mutants.samplers import Request, answering, other_answer, other_question, other_rule
from sampling_ref.numbers.softmax import log_softmax
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters

TOP: Final = "top_logprobs"
PROMPT: Final = "prompt_logprobs"

_ROW: Final = (2.0, 0.5, 1.0, 0.5, -1.0)
_HALF: Final = [{"step": "temperature", "params": pack_parameters({"temperature": 0.5})}]
_EQUAL: Final[dict[str, Any]] = {"logits": pack(_ROW), "steps": _HALF, "token": 1, "n": 2}
_BEST: Final = {**_EQUAL, "token": 0}
_WORST: Final = {**_EQUAL, "token": 4}
_MASKED: Final = {**_EQUAL, "logits": pack([2.0, -inf, 1.0]), "token": 2, "n": 3}
_LONG: Final = {**_EQUAL, "logits": pack([0.0] * 299 + [-1.0]), "token": 299, "n": 0}
_TEXT: Final[dict[str, Any]] = {
    "rows": [pack(row) for row in ([2.0, 1.0, 0.0], [0.0, 3.0, 1.5], [1.0, 0.5, -2.0])],
    "tokens": [2, 1, 1],
    "n": 1,
}


def _without(out: Mapping[str, Any], gone: Callable[[int], bool]) -> dict[str, Any]:
    """Return a report without the tokens at some places."""
    dtype = type_of(out["logprobs"])
    pairs = zip(out["tokens"], unpack(out["logprobs"]), strict=True)
    left = [pair for place, pair in enumerate(pairs) if not gone(place)]
    tokens, numbers = [token for token, _ in left], [number for _, number in left]
    return {**out, "tokens": tokens, "logprobs": pack(numbers, dtype)}


@answering(TOP, _EQUAL)
def rank_of_the_first_of_equals(session: SamplerSession, op: str, request: Request) -> Answer:
    """The rank counts the tokens that are more probable, and so equal tokens have one rank less."""
    return other_rule(session, op, request, "rank", {"at least": "more"})


@answering(TOP, _EQUAL)
@other_answer
def rank_begins_at_0(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The rank of the best token is 0."""
    return {**out, "rank": out["rank"] - 1}


@answering(TOP, _LONG)
@other_answer
def rank_in_a_byte(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The rank has eight bits."""
    return {**out, "rank": out["rank"] % 256}


@answering(TOP, _EQUAL)
@other_answer
def rank_is_the_place_in_the_report(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """A token has the rank of its place among the best; one that is not there has the next rank."""
    return {**out, "rank": min(out["rank"], request["n"] + 1)}


@answering(TOP, _MASKED)
@other_answer
def impossible_tokens_are_not_reported(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """Tokens with a log-probability of minus infinity are left out."""
    numbers = unpack(out["logprobs"])
    return _without(out, lambda place: numbers[place] == -inf)


@answering(TOP, _WORST)
@other_answer
def only_the_best_are_reported(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """A drawn token that is not among the best is not reported."""
    ranked = sorted(unpack(request["logits"]), reverse=True)[: request["n"]]
    if not ranked or unpack(request["logits"])[request["token"]] in ranked:
        return out
    place = out["tokens"].index(request["token"])
    return _without(out, lambda each: each == place)


@answering(TOP, _BEST)
@other_answer
def a_best_token_is_reported_twice(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The drawn token comes first, and once more at its place among the best."""
    row, token = unpack(request["logits"]), request["token"]
    if out["tokens"][0] != token or sorted(row, reverse=True).index(row[token]) >= request["n"]:
        return out
    dtype, numbers = type_of(out["logprobs"]), unpack(out["logprobs"])
    better = sum(row[each] > row[token] for each in out["tokens"][1:])
    tokens = [*out["tokens"][: 1 + better], token, *out["tokens"][1 + better :]]
    logprobs = [*numbers[: 1 + better], numbers[0], *numbers[1 + better :]]
    return {**out, "tokens": tokens, "logprobs": pack(logprobs, dtype)}


@answering(TOP, _BEST)
@other_question
def the_drawn_token_counts_among_the_n(request: dict[str, Any]) -> Mapping[str, Any]:
    """The drawn token is one of the n, so one token less is reported beside it."""
    return {"n": max(request["n"] - 1, 0)}


@answering(TOP, _WORST)
@other_answer
def drawn_token_has_the_number_of_the_best(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The log-probability of the drawn token is looked up in the sorted row, by its id."""
    dtype, numbers = type_of(out["logprobs"]), unpack(out["logprobs"])
    return {**out, "logprobs": pack([max(numbers), *numbers[1:]], dtype)}


@answering(TOP, _EQUAL, profile="of.processed")
def raw_although_processed_was_asked(session: SamplerSession, op: str, request: Request) -> Answer:
    """Log-probabilities are those of the row as it came, whatever was asked for."""
    return other_rule(session, op, request, "of", {"processed": "raw"})


@answering(TOP, _EQUAL)
def processed_although_raw_was_asked(session: SamplerSession, op: str, request: Request) -> Answer:
    """Log-probabilities are those after temperature and filters, whatever was asked for."""
    return other_rule(session, op, request, "of", {"raw": "processed"})


@answering(TOP, _EQUAL)
@other_answer
def logprobs_sum_over_the_reported(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The probabilities of the reported tokens alone sum to 1."""
    dtype, numbers = type_of(out["logprobs"]), unpack(out["logprobs"])
    if max(numbers) == -inf:
        return out
    shares = [nearest(number, dtype) for number in log_softmax(numbers)]
    return {**out, "logprobs": pack(shares, dtype)}


@answering(TOP, {**_EQUAL, "token": 3, "n": 3})
def equals_from_the_end(session: SamplerSession, op: str, request: Request) -> Answer:
    """Of equal tokens the one with the highest id is reported first."""
    return other_rule(session, op, request, "ties", {"lowest id": "highest id"})


@answering(TOP, {**_EQUAL, "n": -1})
def minus_1_is_all(session: SamplerSession, op: str, request: Request) -> Answer:
    """A negative number of tokens means all of them."""
    n = request["n"] if request["n"] >= 0 else 1 << 20
    return session.answer(op, {**request, "n": n})


# ---- prompts


@answering(PROMPT, _TEXT)
@other_answer
def prompt_without_the_shift(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The report of a token comes from the row behind the token itself."""
    session = SamplerSession("standard")
    rows: list[Mapping[str, Any] | None] = []
    for row, token in zip(request["rows"], request["tokens"], strict=True):
        asked = {"logits": row, "steps": [], "token": token, "n": request["n"]}
        answer = session.answer(TOP, asked)
        rows.append(answer.out if isinstance(answer, Ok) else None)
    return {"rows": [None, *rows[1:]]}


@answering(PROMPT, _TEXT)
@other_answer
def prompt_has_no_empty_place(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The list of reports begins with that of the second token, and is one shorter."""
    return {"rows": out["rows"][1:]}


@answering(PROMPT, _TEXT)
@other_answer
def prompt_ends_with_the_empty_place(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The list of reports is one place too early, and has nothing for the last token."""
    return {"rows": [*out["rows"][1:], None]}


@answering(PROMPT, {**_TEXT, "tokens": [3, 1, 1]})
def prompt_whose_first_token_is_not_read(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """The first token of a prompt may be anything, because nothing is reported of it."""
    tokens: Sequence[int] = request["tokens"]
    return session.answer(op, {**request, "tokens": [0, *tokens[1:]]} if tokens else request)
