"""Checking parameters: each check returns the value, or raises one sentence.

The parameters of steps are read by functions, those of engines have domains, which are data.

What a number is
    A finite `int`, `float` or `Fraction`. A bool is not a number here, nor is a string, NaN or
    an infinity.
What is decided exactly
    `read_fraction` returns the rational number that a value is, of whatever size.
What is calculated with plain operators
    `read_number` returns the value itself. Python's own rule holds: a `Fraction` with a
    `Fraction` or an `int` is exact, a float with anything is a float. So a float must be
    able to hold it, and the nearest float must keep the rule, too: 10**-400 is no divisor.
Intervals
    are written as in mathematics: a bracket belongs to it, a parenthesis does not, and
    `inf` has no end. A rule is checked and said from the same text, so that no sentence can
    contradict its check.
Domains
    are written as texts, which `read_domain` turns into rules that check and explain themselves:

    [0, 1)                 a number from 0 to below 1
    whole [1, inf)         a whole number of at least 1; "or -1" allows that number as well
    one of raw, processed
    token numbers [-1, 1]  a number of the interval for each of some tokens; -inf bans
    flag, tokens, ...      the kinds without parts, which `FIXED` lists with their sentences
    ... or None            the same, or None
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, isfinite
from typing import Any, Final, TypeGuard

from sampling_ref.errors import ParameterError
from sampling_ref.row import LARGEST, Number, is_number

_PLAIN: Final = 2**16
"""Larger powers of two are said as powers."""


def is_finite(value: object) -> TypeGuard[Number]:
    """Return whether a value is a number as described above.

    >>> is_finite(0.5), is_finite(True), is_finite("1"), is_finite(float("inf"))
    (True, False, False, False)
    """
    if isinstance(value, float):
        return isfinite(value)
    return is_number(value)


def is_whole(value: object, least: float = 0, most: float = inf) -> TypeGuard[int]:
    """Return whether a value is a whole number from `least` to `most`.

    >>> is_whole(3), is_whole(-1), is_whole(3.0), is_whole(True), is_whole(3, most=2)
    (True, False, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read_fraction(name: str, value: Any, interval: str = "(-inf, inf)") -> Fraction:
    """Return a number of the interval as the rational number that it is.

    >>> read_fraction("p", 0.75, "(0, 1]")
    Fraction(3, 4)
    >>> read_fraction("p", 0.0, "(0, 1]")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: p must be in (0, 1], got 0.0
    """
    if not is_finite(value) or not _is_inside(interval, value):
        raise ParameterError(name, value, _rule_of(interval))
    return Fraction(value)


def read_number(name: str, value: Any, interval: str = "(-inf, inf)") -> Number:
    """Return a number of the interval as it was given.

    >>> read_number("penalty", -0.5), read_number("multiplier", 0, "[0, inf)")
    (-0.5, 0)
    >>> read_number("penalty", float("nan"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number, got nan
    >>> read_number("penalty", 0.0, "(0, inf)")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number above 0, got 0.0
    """
    exact = float(value) if isinstance(value, float) else value
    if (
        is_finite(exact)
        and -LARGEST <= exact <= LARGEST
        and _is_inside(interval, exact)
        and _is_inside(interval, float(exact))
    ):
        number: Number = value
        return number
    raise ParameterError(name, value, _rule_of(interval))


@cache
def _ends(interval: str) -> tuple[float, float]:
    low, high = interval[1:-1].split(", ")
    return float(low), float(high)


def _is_inside(interval: str, number: Number) -> bool:
    low, high = _ends(interval)
    above = number >= low if interval[0] == "[" else number > low
    below = number <= high if interval[-1] == "]" else number < high
    return above and below


def _rule_of(interval: str) -> str:
    low, high = interval[1:-1].split(", ")
    if high != "inf":
        return f"must be in {interval}"
    if low == "-inf":
        return "must be a finite number"
    return f"must be a finite number {'of at least' if interval[0] == '[' else 'above'} {low}"


def read_whole(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`, or of whatever size above.

    >>> read_whole("k", 40, 1)
    40
    >>> read_whole("k", 2.0, 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: k must be a whole number of at least 1, got 2.0
    >>> read_whole("seed", -1, most=2**32 - 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    rule = f"of at least {least}" if most is None else f"from {_said(least)} to {_said(most)}"
    raise ParameterError(name, value, f"must be a whole number {rule}")


def _said(bound: int) -> str:
    """Return a number as a sentence says it.

    >>> _said(624), _said(-(2**31)), _said(2**64 - 1)
    ('624', '-2**31', '2**64 - 1')
    """
    for number, rest in ((bound, ""), (bound + 1, " - 1")):
        if abs(number) >= _PLAIN and abs(number).bit_count() == 1:
            return f"{'-' if number < 0 else ''}2**{abs(number).bit_length() - 1}{rest}"
    return str(bound)


def read_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return the name; raise `ParameterError` if it is not one of the allowed names.

    >>> read_choice("method", "half", ("divide", "subtract"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: method must be one of divide, subtract, got 'half'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}")
    return value


_FORM = re.compile(
    r"(one of (?P<names>.*?)|(?P<kind>[a-z ]*?) ?(?P<interval>[(\[].*[)\]])?)"
    r"( or (?P<also>-\d+))?(?P<none> or None)?"
)


@dataclass(frozen=True)
class Domain:
    """The rule for a parameter's value: what kind of value, of which interval, or of which names.

    >>> print(read_domain("(0, 1]"))
    must be a number in (0, 1]
    >>> read_domain("whole [1, inf) or None").holds(None)
    True
    """

    kind: str
    interval: str = "(-inf, inf)"
    names: tuple[str, ...] = ()
    also: int | None = None
    or_none: bool = False

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return _ends(self.interval)[0]

    @property
    def high(self) -> float:
        """The upper end."""
        return _ends(self.interval)[1]

    def holds(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if value is None and self.or_none:
            return True
        if self.kind in FIXED:
            return FIXED[self.kind][0](value)
        if self.kind == "one of":
            return isinstance(value, str) and value in self.names
        if self.kind == "token numbers":
            return isinstance(value, Mapping) and all(
                is_whole(token) and is_number(number) and _is_inside(self.interval, number)
                for token, number in value.items()
            )
        if self.kind == "whole":
            is_other = isinstance(value, int) and value == self.also
            return is_other or is_whole(value, *_ends(self.interval))
        return is_finite(value) and _is_inside(self.interval, value)

    def __str__(self) -> str:
        """State the rule in words."""
        return f"{self._rule()}{', or None' if self.or_none else ''}"

    def _rule(self) -> str:
        if self.kind in FIXED:
            return FIXED[self.kind][1]
        if self.kind == "one of":
            return f"must be one of {', '.join(self.names)}"
        if self.kind == "token numbers":
            numbers = "that are finite or minus infinity"
            if self.low > -inf:
                numbers = f"in {self.interval}"
            return f"must map token ids to numbers {numbers}"
        if self.kind == "number":
            return _rule_of(self.interval).replace("must be in", "must be a number in")
        rule = "must be a whole number"
        if self.low > -inf:
            low, high = self.interval[1:-1].split(", ")
            rule += f" of at least {low}" if self.high == inf else f" from {low} to {high}"
        return rule if self.also is None else f"{rule}, or {self.also}"


@cache
def read_domain(text: str) -> Domain:
    """Return the domain that a text describes.

    >>> read_domain("one of raw, processed").names
    ('raw', 'processed')
    """
    parts = _FORM.fullmatch(text)
    if parts is None or (parts["kind"] and parts["kind"] not in {"whole", "token numbers", *FIXED}):
        raise ParameterError("domain", text, "must be a known kind of value")
    return Domain(
        "one of" if parts["names"] else parts["kind"] or "number",
        parts["interval"] or "(-inf, inf)",
        tuple(parts["names"].split(", ")) if parts["names"] else (),
        int(parts["also"]) if parts["also"] else None,
        parts["none"] is not None,
    )


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _are_tokens(value: Any) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | Mapping):
        return False
    return all(map(is_whole, value))


def _are_token_or_tokens(value: Any) -> bool:
    return is_whole(value) or _are_tokens(value)


def _is_word(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and all(map(is_whole, value))


def _are_words(value: Any) -> bool:
    return _is_sequence(value) and all(map(_is_word, value))


def _are_some_words(value: Any) -> bool:
    return _are_words(value) and len(value) > 0


def _is_word_with_number(pair: Any) -> bool:
    if not isinstance(pair, Sequence) or len(pair) != len(("word", "number")):
        return False
    return _is_word(pair[0]) and is_number(pair[1]) and pair[1] < inf


def _are_words_with_numbers(value: Any) -> bool:
    pairs = value.items() if isinstance(value, Mapping) else value
    if not isinstance(pairs, Collection) or isinstance(pairs, str):
        return False
    return len(pairs) > 0 and all(map(_is_word_with_number, pairs))


def _is_decay_start(value: Any) -> bool:
    if not _is_sequence(value) or len(value) != len(("start", "factor")):
        return False
    return is_whole(value[0]) and is_finite(value[1]) and value[1] > 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_anything(value: Any) -> bool:
    return True


FIXED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "flag": (_is_flag, "must be true or false"),
    "tokens": (_are_tokens, "must be a sequence of token ids"),
    "token or tokens": (_are_token_or_tokens, "must be a token id or a sequence of token ids"),
    "words": (_are_words, "must be a sequence of sequences of token ids, none of them empty"),
    "some words": (
        _are_some_words,
        "must be one or more sequences of token ids, none of them empty",
    ),
    "words with numbers": (
        _are_words_with_numbers,
        "must be one or more pairs of a sequence of token ids and a number",
    ),
    "decay start": (
        _is_decay_start,
        "must be a pair of a whole number of at least 0 and a finite number above 0",
    ),
    "anything": (_is_anything, "may be anything that the step accepts"),
}
"""The kinds of values without parts: the check of each, and the sentence that states it."""
