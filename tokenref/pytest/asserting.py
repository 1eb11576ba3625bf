"""Compare a result with the definition, and explain a mistake in one sentence.

The result of a filter may be the ids of the kept tokens, a boolean mask, or the row after the
filter, in which removed tokens have minus infinity (0 in a row of probabilities). Where rounding
in 32 bits decides, the answer of each arithmetic is accepted.

Every helper also accepts a batch: a row that is 2-D, with a result for each row. A parameter that
is an array or a tensor then has one value for each row. Histories and random numbers may be 2-D.

`rule` is the name of a rule (see `tokenref rules`) or of an engine. For an engine, parameters have
the engine's names, and rows contain logits.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from sampling_ref import PROFILES, STEPS, UnknownNameError
from sampling_ref.evaluation import stages_of
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, Type, pack, pack_shortly, units_apart, unpack
from tokenref.judging_samplers import ids, set_difference
from tokenref.pytest.golden import AnswerError, kept_tokens, plain
from tokenref.questions.sampling import pack_parameters
from tokenref.record import FILTER_OPS
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.rules import choices_of, rule_names
from tokenref.verdicts import Either, Exact, Set

_CLOSE: Final = 4
"""Allowed error of a 32-bit softmax, in units in the last place."""

_ALMOST: Final = 16
"""Errors in units in the last place for which the argument that allows them is named."""

_LOGITS: Final = "; if the row contains logits, give logits=True"


def assert_kept(
    op: str,
    row: Any,
    result: Any,
    *,
    rule: str = "standard",
    logits: bool | None = None,
    uniforms: Any = (),
    **params: Any,
) -> None:
    """Assert that a filter keeps the right tokens of a row of probabilities or logits.

    `logits` is whether the row contains logits. An engine and `top_n_sigma` need them.

    >>> assert_kept("top_k", [0.5, 0.25, 0.25], [0, 1], k=2)
    >>> assert_kept("top_k", [0.5, 0.25, 0.25], [0, 2], k=2)
    Traceback (most recent call last):
    AssertionError: top_k: of equals, 1 is kept and 2 removed, ...

    There is one more function for each filter, which lacks the first argument:

    >>> assert_top_k([0.5, 0.375, 0.125], [True, True, False], k=2)
    >>> assert_top_p([0.5, 0.25, 0.25], [0, 1, 2], p=0.75)
    Traceback (most recent call last):
    AssertionError: top_p: too much is kept: [2] as well; ...
    >>> assert_min_p([0.5, 0.25, 0.25], [0, 1, 2], m=0.5)
    >>> assert_typical([0.5, 0.25, 0.25], [0, 1, 2], mass=1.0)
    >>> assert_epsilon([0.75, 0.25], [0], cutoff=0.5)
    >>> assert_eta([0.75, 0.25], [0, 1], cutoff=0.125)
    >>> assert_top_n_sigma([4.0, 0.0, 0.0, 0.0], [4.0, -inf, -inf, -inf], n=1.0)
    >>> assert_top_a([0.5, 0.25, 0.25], [0, 1, 2], a=1.0)
    >>> assert_tail_free([0.5, 0.25, 0.25], [0, 1], z=1.0)
    >>> assert_top_h([0.5, 0.5], [0, 1], alpha=1.0)
    >>> assert_xtc([0.5, 0.25, 0.25], [2], threshold=0.25, probability=1.0, uniforms=[0.0])

    >>> assert_top_p([3.0, 2.0, 1.0], [0, 1], rule="vllm", top_p=0.75)
    >>> assert_top_k([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], [[0], [0]], k=1)
    Traceback (most recent call last):
    AssertionError: row 1: top_k: the order is wrong: 1 (0.5) is removed and the lighter ...
    """
    __tracebackhide__ = True
    kind = "logits" if _has_logits(op, rule, logits=logits) else "probs"
    for place, numbers, got, values, more in _rows(op, row, result, params, uniforms=uniforms):
        request = _request(kind, numbers, op, rule, values, more)
        try:
            kept = kept_tokens(got, numbers, logits=kind == "logits")
        except AnswerError as error:
            raise AssertionError(f"{place}{op}: {error}") from None
        expected = _right_answer(place, op, rule, request)["keep"]
        if kept != expected and kept not in _others_allowed(op, rule, request, numbers, kept):
            diagnosis = _diagnosis(op, rule, request, numbers, expected, kept)
            diagnosis += _LOGITS * (kind == "probs" and not 0.9 < sum(numbers) < 1.1)
            raise AssertionError(f"{place}{op}: {diagnosis}")


def _has_logits(op: str, rule: str, *, logits: bool | None) -> bool:
    """Return whether a row contains logits. An engine's always does."""
    __tracebackhide__ = True
    if rule not in PROFILES:
        return bool(logits)
    if logits is False:
        raise AssertionError(f"{op}: the question is invalid: for the rule {rule}, give logits")
    return True


def _rows(
    op: str, row: Any, result: Any, params: Mapping[str, Any], **more: Any
) -> Iterator[tuple[str, list[float], Any, dict[str, Any], dict[str, Any]]]:
    """Yield each row with its name in messages, its result, its parameters, and more about it."""
    __tracebackhide__ = True
    numbers, results = plain(row), plain(result)
    if not numbers or not isinstance(numbers[0], list):
        values = {name: plain(value) for name, value in params.items()}
        yield "", numbers, results, values, {name: plain(part) for name, part in more.items()}
        return
    count = len(numbers)

    def each(name: str, given: Any, *, is_batch: bool) -> list[Any]:
        entries = plain(given)
        if not is_batch:
            return [entries] * count
        if not isinstance(entries, list) or len(entries) != count:
            got = len(entries) if isinstance(entries, list) else f"{entries!r:.40}"
            raise AssertionError(
                f"{op}: {name} must have an entry for each of {count} rows, got {got}"
            )
        return entries

    of_results = each("the result", results, is_batch=True)
    of_params = {
        name: each(name, value, is_batch=bool(getattr(value, "shape", ())))
        for name, value in params.items()
    }
    of_more = {}
    for name, given in more.items():
        entries = plain(given)
        is_batch = isinstance(entries, list) and any(isinstance(entry, list) for entry in entries)
        of_more[name] = each(name, entries, is_batch=is_batch)
    for place in range(count):
        yield (
            f"row {place}: ",
            numbers[place],
            of_results[place],
            {name: values[place] for name, values in of_params.items()},
            {name: values[place] for name, values in of_more.items()},
        )


def _request(
    kind: str,
    row: Sequence[float],
    op: str,
    rule: str,
    params: Mapping[str, Any],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a question. Raises `AssertionError` for a parameter that an engine's step lacks."""
    __tracebackhide__ = True
    request = {kind: pack_shortly(row), "params": pack_parameters(params), **more}
    if len(more.get("uniforms", ())):
        request["uniforms"] = pack(more["uniforms"], "f64")
    else:
        request.pop("uniforms", None)
    if rule in PROFILES and op in STEPS:
        profile = PROFILES[rule]
        try:
            stages = stages_of(profile, op)
            given = {profile.parameter(name).name: name for name in params}
        except UnknownNameError as error:
            raise AssertionError(f"{op}: the question is invalid: {error}") from None
        used = set().union(*(stage.parameters() for stage in stages))
        for name in given.keys() - used:
            known = ", ".join(sorted(used))
            what = f"{op} in {rule} has no parameter {given[name]!r}, only {known}"
            raise AssertionError(f"{op}: the question is invalid: {what}")
    return request


def _right_answer(place: str, op: str, rule: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the reference's answer. Raises `AssertionError` for an invalid question."""
    __tracebackhide__ = True
    try:
        answer = SamplerSession(rule).answer(op, request)
    except TypeError as error:  # a parameter that a rule lacks or needs
        raise AssertionError(f"{place}{op}: the question is invalid: {error}") from None
    if isinstance(answer, Ok):
        return answer.out
    reason = answer.message if isinstance(answer, Refused) else getattr(answer, "reason", "")
    reason += _LOGITS * reason.startswith("weights[")
    near = get_close_matches(rule, [*PROFILES, *rule_names(op)], n=1)
    if rule not in PROFILES and near and near[0] != rule:
        reason += f"; did you mean {near[0]!r}?"
    raise AssertionError(f"{place}{op}: the question is invalid: {reason}")


def _others_allowed(
    op: str, rule: str, request: Mapping[str, Any], row: Sequence[float], kept: Sequence[int]
) -> list[list[int]]:
    """Return other correct answers, if rounding decides."""
    try:
        verdict = filter_verdict(op, rule, request)
    except UndecidedError:
        return []
    match verdict:
        case Exact():
            return []
        case Either(alternatives=alternatives):
            return [each.out["keep"] for each in alternatives]
        case Set():
            return [] if set_difference(verdict, list(kept), row) else [list(kept)]


assert_top_k: Final = partial(assert_kept, "top_k")
"""Assert that the `k` largest tokens are kept."""

assert_top_p: Final = partial(assert_kept, "top_p")
"""Assert that the most probable tokens with a sum of at least `p` are kept."""

assert_min_p: Final = partial(assert_kept, "min_p")
"""Assert that tokens with at least `m` times the largest probability are kept."""

assert_typical: Final = partial(assert_kept, "typical")
"""Assert that the most typical tokens with a sum of at least `mass` are kept."""

assert_epsilon: Final = partial(assert_kept, "epsilon")
"""Assert that tokens with at least the probability `cutoff` are kept."""

assert_eta: Final = partial(assert_kept, "eta")
"""Assert that the tokens of eta sampling with this `cutoff` are kept."""

assert_top_n_sigma: Final = partial(assert_kept, "top_n_sigma", logits=True)
"""Assert that logits within `n` standard deviations of the largest are kept."""

assert_top_a: Final = partial(assert_kept, "top_a")
"""Assert that tokens with at least `a` times the squared largest probability are kept."""

assert_tail_free: Final = partial(assert_kept, "tail_free")
"""Assert that the tokens before the flat tail are kept, with this `z`."""

assert_top_h: Final = partial(assert_kept, "top_h")
"""Assert that as many tokens are kept as the entropy allows, with this `alpha`."""

assert_xtc: Final = partial(assert_kept, "xtc")
"""Assert that of the tokens above `threshold` only the least probable one is kept."""


def assert_softmax(
    logits: Any, result: Any, *, ulp: int = _CLOSE, rule: str = "standard", **params: Any
) -> None:
    """Assert that probabilities are the softmax of a row of logits, within `ulp` units.

    For an engine, they are those after its whole chain with these parameters.

    >>> assert_softmax([0.0, 0.0], [0.5, 0.5])
    >>> assert_softmax([0.0, 0.0], [0.75, 0.25])
    Traceback (most recent call last):
    AssertionError: softmax[0]: expected 0.5, got 0.75 (4194304 units in the last place)
    >>> assert_softmax([4.0, 4.0, 1.0], [0.5, 0.5, 0.0], rule="transformers", top_k=1)
    """
    __tracebackhide__ = True
    op = "distribution" if rule in PROFILES else "softmax"
    for place, row, got, values, _ in _rows("softmax", logits, result, params):
        request = _request("logits", row, op, rule, values, {})
        expected = _right_answer(place, op, rule, request)["probs"]
        _assert_close(f"{place}softmax", expected, got, ulp)


def assert_step(
    op: str,
    logits: Any,
    result: Any,
    *,
    history: Any = (),
    prompt_length: int = 0,
    rule: str = "standard",
    ulp: int = 0,
    **params: Any,
) -> None:
    """Assert that a step such as a penalty, a bias or a temperature returns the right logits.

    >>> assert_step("temperature", [1.0, 2.0], [2.0, 4.0], temperature=0.5)
    >>> assert_step("repetition_penalty", [2.0, -1.0], [1.0, -0.5], history=[0, 1], penalty=2.0)
    Traceback (most recent call last):
    AssertionError: repetition_penalty[1]: expected -2.0, got -0.5 (16777216 units in the ...)
    >>> assert_step("temperature", [1.0], [2.0], rule="vllm", temperature=0.5)
    """
    __tracebackhide__ = True
    if op in FILTER_OPS:
        assert_kept(op, logits, result, rule=rule, logits=True, **params)
        return
    more = {"history": history, "prompt_length": prompt_length}
    for place, row, got, values, situation in _rows(op, logits, result, params, **more):
        request = _request("logits", row, op, rule, values, situation)
        expected = _right_answer(place, op, rule, request)["logits"]
        _assert_close(f"{place}{op}", expected, got, ulp)


def assert_draw(
    row: Any,
    token: Any,
    *,
    uniforms: Any,
    rule: str = "standard",
    logits: bool | None = None,
    history: Any = (),
    prompt_length: int = 0,
    **params: Any,
) -> None:
    """Assert that random numbers draw the right token.

    For an engine, the token is the one that its whole chain draws with these parameters.

    >>> assert_draw([0.5, 0.5], 1, uniforms=[0.5])
    >>> assert_draw([0.5, 0.5], 0, uniforms=[0.5])
    Traceback (most recent call last):
    AssertionError: draw: expected the token 1, got 0
    >>> assert_draw([2.0, 3.0, 3.5], 2, uniforms=[0.25], rule="llama.cpp", top_k=2)
    """
    __tracebackhide__ = True
    is_engine = rule in PROFILES
    op, kind = ("sample" if is_engine else "draw"), "probs"
    if _has_logits("draw", rule, logits=logits):
        kind = "logits"
    more: dict[str, Any] = {"uniforms": uniforms}
    if is_engine:
        more |= {"history": history, "prompt_length": prompt_length}
    for place, numbers, drawn, values, situation in _rows("draw", row, token, params, **more):
        request = _request(kind, numbers, op, rule, values, situation)
        request.setdefault("uniforms", pack([], "f64"))
        expected = _right_answer(place, op, rule, request)["token"]
        got = drawn[0] if isinstance(drawn, list) and len(drawn) == 1 else drawn
        if got != expected:
            raise AssertionError(f"{place}draw: expected the token {expected}, got {got!r:.80}")


def _assert_close(what: str, expected: Mapping[str, str], got: Any, ulp: int) -> None:
    __tracebackhide__ = True
    (dtype,) = expected
    want = unpack(expected)
    kind = msgspec.convert(dtype, Type)
    if not isinstance(got, list) or len(got) != len(want):
        size = len(got) if isinstance(got, list) else repr(got)[:40]
        raise AssertionError(f"{what}: expected {len(want)} numbers, got {size}")
    for place, (first, second) in enumerate(zip(want, got, strict=True)):
        try:
            distance, apart = units_apart(first, float(second), kind), ""
        except FloatsError:  # a float of Python, where the row has 32 bits
            distance, apart = inf, f", which is no number of the type {dtype}: round it first"
        if distance > ulp:
            if distance < inf:
                apart = f" ({distance} units in the last place)"
                apart += f"; ulp={distance} allows it" * (distance <= _ALMOST)
            raise AssertionError(f"{what}[{place}]: expected {first!r}, got {second!r}{apart}")


def _diagnosis(
    op: str,
    rule: str,
    request: Mapping[str, Any],
    row: Sequence[float],
    expected: Sequence[int],
    kept: Sequence[int],
) -> str:
    """Return in one sentence why the kept tokens are wrong; both lists of ids are ascending."""
    more = [token for token in kept if token not in expected]
    less = [token for token in expected if token not in kept]
    same = sorted(row[token] for token in more) == sorted(row[token] for token in less)
    other = _other_rule(op, rule, request, kept, "ties" if same else "")
    hint = f"; that is what the rule {other} gives, not {rule}" if other else ""
    if not less:
        return f"too much is kept: {ids(more)} as well{hint}"
    if not more:
        what = "the crossing token is dropped, or more" if len(less) == 1 else "too much is removed"
        return f"{what}: {ids(less)} must be kept as well{hint}"
    if same and len(more) == 1:
        equals = f"{less[0]} is kept and {more[0]} removed, not the other way"
        return f"of equals, {equals}{hint}"
    if same:
        return f"of equals, {ids(less)} are kept and {ids(more)} removed{hint}"
    heaviest = max(less, key=row.__getitem__)
    lightest = min(more, key=row.__getitem__)
    if row[heaviest] > row[lightest]:
        return (
            f"the order is wrong: {heaviest} ({row[heaviest]!r}) is removed "
            f"and the lighter {lightest} ({row[lightest]!r}) kept{hint}"
        )
    return f"{ids(less)} must be kept and {ids(more)} removed{hint}"


def _other_rule(
    op: str, rule: str, request: Mapping[str, Any], kept: Sequence[int], point: str
) -> str:
    """Return the simplest other rule that keeps these tokens, if there is one.

    Among equally simple rules, one with another choice at `point` is preferred.
    """
    if choices_of(op, rule) is None:
        return ""
    for name in sorted(
        rule_names(op), key=lambda name: (name.count("+"), not name.startswith(point), name)
    ):
        if name != rule:
            answer = SamplerSession(name).answer(op, request)
            if isinstance(answer, Ok) and answer.out["keep"] == list(kept):
                return name
    return ""
