"""Compare a result with the definition, and explain a mistake in one sentence.

The result of a filter may be the ids of the kept tokens, a boolean mask, or the row after the
filter, in which removed tokens have minus infinity (0 in a row of probabilities). Where rounding
in 32 bits decides, the answer of each arithmetic is accepted.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from tokenref.answers import Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, Type, pack, units_apart, unpack
from tokenref.judging_samplers import set_difference
from tokenref.pytest.golden import plain
from tokenref.questions.sampling import pack_parameters
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.rules import choices_of, rule_names
from tokenref.verdicts import Either, Exact, Set

_CLOSE: Final = 4
"""Allowed error of a 32-bit softmax, in units in the last place."""


def assert_kept(
    op: str,
    row: Any,
    result: Any,
    *,
    rule: str = "standard",
    logits: bool = False,
    uniforms: Sequence[float] = (),
    **params: Any,
) -> None:
    """Assert that a filter keeps the right tokens of a row of probabilities or logits.

    `rule` is the name of a rule (see `tokenref rules`) or of an engine. For an engine, the
    parameters have its names, and the row contains logits.

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
    """
    __tracebackhide__ = True
    numbers = plain(row)
    request: dict[str, Any] = {
        "logits" if logits else "probs": _packed(numbers),
        "params": pack_parameters(params),
    }
    if len(uniforms):
        request["uniforms"] = pack(plain(uniforms), "f64")
    kept = _kept(op, numbers, plain(result), logits=logits)
    expected = _right_answer(op, rule, request)["keep"]
    if kept != expected and kept not in _others_allowed(op, rule, request, numbers, kept):
        raise AssertionError(f"{op}: {_diagnosis(op, rule, request, numbers, expected, kept)}")


def _right_answer(op: str, rule: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the reference's answer. Raises `AssertionError` for an invalid question."""
    __tracebackhide__ = True
    answer = SamplerSession(rule).answer(op, request)
    if isinstance(answer, Ok):
        return answer.out
    reason = answer.message if isinstance(answer, Refused) else getattr(answer, "reason", "")
    raise AssertionError(f"{op}: the question is invalid: {reason}")


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


def _packed(numbers: Sequence[float], dtype: Type = "f32") -> dict[str, str]:
    """Return numbers in 32 bits if they are exact, else in 64."""
    try:
        return pack(numbers, dtype)
    except FloatsError:
        return pack(numbers, "f64")


def _kept(op: str, row: Sequence[float], result: Any, *, logits: bool) -> list[int]:
    """Return which tokens a result keeps, ascending."""
    __tracebackhide__ = True
    if not isinstance(result, list):
        raise AssertionError(f"{op}: the result must be ids, a mask or a row, got {result!r:.80}")  # noqa: TRY004
    is_mask = bool(result) and all(isinstance(entry, bool) for entry in result)
    if is_mask or any(isinstance(entry, float) for entry in result):
        if len(result) != len(row):
            what = f"the {'mask' if is_mask else 'row'} must have {len(row)} entries"
            raise AssertionError(f"{op}: {what} like the question, got {len(result)}")
        gone = -inf if logits and not is_mask else 0
        return [token for token, entry in enumerate(result) if entry != gone]
    repeated = sorted({token for token in result if result.count(token) > 1})
    if repeated:
        raise AssertionError(f"{op}: the token {repeated[0]} is kept twice")
    foreign = [token for token in result if not 0 <= token < len(row)]
    if foreign:
        raise AssertionError(f"{op}: {foreign[0]} is not a token of a row of {len(row)}")
    return sorted(result)


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


def assert_softmax(logits: Any, result: Any, *, ulp: int = _CLOSE) -> None:
    """Assert that probabilities are the softmax of a row of logits, within `ulp` units.

    >>> assert_softmax([0.0, 0.0], [0.5, 0.5])
    >>> assert_softmax([0.0, 0.0], [0.75, 0.25])
    Traceback (most recent call last):
    AssertionError: softmax[0]: expected 0.5, got 0.75 (4194304 units in the last place)
    """
    __tracebackhide__ = True
    expected = _right_answer("softmax", "standard", {"logits": _packed(plain(logits))})["probs"]
    _assert_close("softmax", expected, plain(result), ulp)


def assert_step(
    op: str,
    logits: Any,
    result: Any,
    *,
    history: Sequence[int] = (),
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
    """
    __tracebackhide__ = True
    request = {
        "logits": _packed(plain(logits)),
        "history": plain(history),
        "prompt_length": prompt_length,
        "params": pack_parameters(params),
    }
    _assert_close(op, _right_answer(op, rule, request)["logits"], plain(result), ulp)


def assert_draw(
    row: Any, token: Any, *, uniforms: Sequence[float], rule: str = "standard", logits: bool = False
) -> None:
    """Assert that random numbers draw the right token.

    >>> assert_draw([0.5, 0.5], 1, uniforms=[0.5])
    >>> assert_draw([0.5, 0.5], 0, uniforms=[0.5])
    Traceback (most recent call last):
    AssertionError: draw: expected the token 1, got 0
    """
    __tracebackhide__ = True
    request = {
        "logits" if logits else "probs": _packed(plain(row)),
        "uniforms": _packed(plain(uniforms)),
    }
    expected = _right_answer("draw", rule, request)["token"]
    got = plain(token)
    got = got[0] if isinstance(got, list) and len(got) == 1 else got
    if got != expected:
        raise AssertionError(f"draw: expected the token {expected}, got {got!r:.80}")


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
            distance = units_apart(first, float(second), kind)
        except FloatsError:
            distance = inf
        if distance > ulp:
            apart = f" ({distance} units in the last place)" if distance < inf else ""
            raise AssertionError(f"{what}[{place}]: expected {first!r}, got {second!r}{apart}")


_SHOWN: Final = 8
"""Maximum number of tokens in a message."""


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
        return f"too much is kept: {_ids(more)} as well{hint}"
    if not more:
        what = "the crossing token is dropped, or more" if len(less) == 1 else "too much is removed"
        return f"{what}: {_ids(less)} must be kept as well{hint}"
    if same and len(more) == 1:
        equals = f"{less[0]} is kept and {more[0]} removed, not the other way"
        return f"of equals, {equals}{hint}"
    if same:
        return f"of equals, {_ids(less)} are kept and {_ids(more)} removed{hint}"
    heaviest = max(less, key=row.__getitem__)
    lightest = min(more, key=row.__getitem__)
    if row[heaviest] > row[lightest]:
        return (
            f"the order is wrong: {heaviest} ({row[heaviest]!r}) is removed "
            f"and the lighter {lightest} ({row[lightest]!r}) kept{hint}"
        )
    return f"{_ids(less)} must be kept and {_ids(more)} removed{hint}"


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


def _ids(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:_SHOWN]))
    return f"[{shown}]" if len(ids) <= _SHOWN else f"[{shown}, ... {len(ids)} in all]"
