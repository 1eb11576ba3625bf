"""Checking parameters and histories: each check returns the value, or raises one sentence.

The parameters of steps are read by functions, those of engines have domains, which are data.

What a number is
    A finite `int`, `float` or `Fraction`, or a number of another library, such as numpy's,
    which is read as the int or the float that it equals (`row.plain`). A bool is not a number
    here, nor is a string, NaN or an infinity.
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

    number                 any finite number
    [0, 1)                 a number from 0 to below 1
    whole [1, inf)         a whole number of at least 1; "or -1" allows that number as well
    one of raw, processed
    token numbers [-1, 1]  a number of the interval for each of some tokens; -inf bans
    flag, tokens, ...      the kinds without parts, which `FIXED` lists with their sentences
    ... or None            the same, or None
Scope and window of a history
    First the part (prompt, output or all), then the last `window` tokens of that part.
    Engines that have a window take it over the whole history, engines that count the
    output take all of it, so this order is only ours where both are given.
Padding
    A history holds the tokens of one sequence, oldest first, and no padding. An engine that
    fills a batch up with a padding token must not count it; some have.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from sampling_ref.errors import HistoryError, ParameterError, shown
from sampling_ref.row import LARGEST, PLAIN, Number, TokenId, is_number, plain

_PLAIN: Final = 2**16
"""Larger powers of two are said as powers."""


def is_finite(value: object) -> TypeGuard[Number]:
    """Return whether a value is a number as described above.

    >>> is_finite(0.5), is_finite(True), is_finite("1"), is_finite(float("inf"))
    (True, False, False, False)
    """
    return is_number(value) and -inf < value < inf


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
    number = value if type(value) in PLAIN else plain(value)
    if not _is_inside(interval, number):
        raise ParameterError(name, value, _rule_of(interval))
    return Fraction(number)


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
    number = value if type(value) in PLAIN else plain(value)
    exact = float(number) if isinstance(number, float) else number
    if (
        _is_inside(interval, exact)
        and -LARGEST <= exact <= LARGEST
        and _is_inside(interval, float(exact))
    ):
        read: Number = number
        return read
    raise ParameterError(name, value, _rule_of(interval))


@cache
def _ends(interval: str) -> tuple[float, float]:
    low, high = interval[1:-1].split(", ")
    return float(low), float(high)


def _is_inside(interval: str, number: Any) -> bool:
    """Return whether something is a number of an interval; a NaN is in none."""
    if not isinstance(number, float | int | Fraction) or isinstance(number, bool):
        return False
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
    number = value if type(value) in PLAIN else plain(value)
    if type(number) is int and number >= least and (most is None or number <= most):
        return number
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


NUMBERS: Final = frozenset({"number", "whole", "token numbers"})
"""The kinds that may have an interval."""


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
                is_whole(token) and _is_inside(self.interval, number)
                for token, number in value.items()
            )
        if self.kind == "whole":
            is_other = isinstance(value, int) and value == self.also
            return is_other or is_whole(value, *_ends(self.interval))
        return _is_inside(self.interval, value)

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
    if parts is None or (parts["kind"] and parts["kind"] not in {*NUMBERS, *FIXED}):
        raise ParameterError("domain", text, "must be a known kind of value")
    return Domain(
        "one of" if parts["names"] else parts["kind"] or "number",
        parts["interval"] or ("[-inf, inf)" if parts["kind"] == "token numbers" else "(-inf, inf)"),
        tuple(parts["names"].split(", ")) if parts["names"] else (),
        int(parts["also"]) if parts["also"] else None,
        parts["none"] is not None,
    )


def _are_tokens(value: Any) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | Mapping):
        return False
    return all(map(is_whole, value))


def _is_word(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and all(map(is_whole, value))


def _are_words(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_word, value))


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def _are_words_with_numbers(value: Any) -> bool:
    pairs = value.items() if isinstance(value, Mapping) else value
    return (
        isinstance(pairs, Collection)
        and len(pairs) > 0
        and all(_is_pair(p) and _is_word(p[0]) and is_number(p[1]) and p[1] < inf for p in pairs)
    )


FIXED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "flag": (lambda value: isinstance(value, bool), "must be true or false"),
    "tokens": (_are_tokens, "must be a sequence of token ids"),
    "token or tokens": (
        lambda value: is_whole(value) or _are_tokens(value),
        "must be a token id or a sequence of token ids",
    ),
    "words": (_are_words, "must be a sequence of sequences of token ids, none of them empty"),
    "some words": (
        lambda value: _are_words(value) and len(value) > 0,
        "must be one or more sequences of token ids, none of them empty",
    ),
    "words with numbers": (
        _are_words_with_numbers,
        "must be one or more pairs of a sequence of token ids and a number",
    ),
    "decay start": (
        lambda value: (
            _is_pair(value) and is_whole(value[0]) and is_finite(value[1]) and value[1] > 0
        ),
        "must be a pair of a whole number of at least 0 and a finite number above 0",
    ),
    "anything": (lambda _: True, "may be anything that the step accepts"),
}
"""The kinds of values without parts: the check of each, and the sentence that states it."""


Scope: TypeAlias = Literal["all", "prompt", "output"]
"""Which part of a history a step looks at: everything, the prompt, or what followed it."""


def read_history(history: Any, size: int | None, name: str = "history") -> list[TokenId]:
    """Return a checked copy of a history: token ids of a row with `size` numbers, or of any row.

    Sets and mappings are refused, because their tokens are in no order.

    >>> read_history((2, 0), 3)
    [2, 0]
    >>> read_history([3], 3)
    Traceback (most recent call last):
    sampling_ref.errors.HistoryError: history[0] must be a token id below 3, got 3
    """
    if hasattr(history, "tolist"):
        history = history.tolist()
    is_other = isinstance(history, (str, bytes, Mapping, AbstractSet))
    if is_other or not isinstance(history, Iterable):
        kind = type(history).__name__
        raise HistoryError(f"{name} must be a sequence of token ids, got {kind}")
    # A scalar of numpy, or of torch, is a number, too.
    tokens = [token.tolist() if hasattr(token, "tolist") else token for token in history]
    limit = inf if size is None else size
    for place, token in enumerate(tokens):
        if type(token) is not int or not 0 <= token < limit:
            rule = "must be a token id" if size is None else f"must be a token id below {size}"
            raise HistoryError(f"{name}[{place}] {rule}, got {shown(token)}")
    return tokens


def read_prompt_length(prompt_length: Any, length: int) -> int:
    """Return how many tokens of a history of some length are the prompt.

    >>> read_prompt_length(3, 2)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: prompt_length must be at most the length of the history, \
2, got 3
    """
    if type(prompt_length) is not int or prompt_length < 0:
        prompt_length = read_whole("prompt_length", prompt_length)
    if prompt_length > length:
        rule = f"must be at most the length of the history, {length}"
        raise ParameterError("prompt_length", prompt_length, rule)
    checked: int = prompt_length
    return checked


def tokens_seen(
    tokens: list[TokenId],
    *,
    window: int | None = None,
    scope: Scope = "all",
    prompt_length: int = 0,
    skipped: int = 0,
) -> list[TokenId]:
    """Return the tokens of a history that a penalty sees, oldest first.

    They are the last `window` tokens (None: all) of the whole history, of its prompt or of
    what followed the prompt, without the first `skipped` tokens of the history.

    >>> tokens_seen([3, 1, 2, 0], window=2, scope="output", prompt_length=1)
    [2, 0]
    >>> tokens_seen([3, 1, 2, 0], scope="prompt", prompt_length=3, skipped=1)
    [1, 2]
    """
    read_prompt_length(prompt_length, len(tokens))
    if window is not None and not is_whole(window):
        raise ParameterError("window", window, "must be a whole number of at least 0, or None")
    begin = max(skipped, prompt_length) if scope == "output" else skipped
    seen = tokens[begin : prompt_length if scope == "prompt" else None]
    return seen if window is None else seen[max(0, len(seen) - window) :]


def read_token_set(tokens: Any, size: int | None, name: str) -> frozenset[TokenId]:
    """Return the tokens that a parameter names: one token id or any number of them.

    >>> sorted(read_token_set([2, 0, 2], 3, "ends")), sorted(read_token_set(1, 3, "ends"))
    ([0, 2], [1])
    """
    if isinstance(tokens, int):
        tokens = [tokens]
    elif isinstance(tokens, AbstractSet):
        tokens = list(tokens)
    return frozenset(read_history(tokens, size, name))


def read_sequences(sequences: Any, size: int, name: str) -> list[tuple[TokenId, ...]]:
    """Return the token sequences that a parameter names, each of at least one token.

    A bare token id means the sequence of this one token.

    >>> read_sequences([[0, 1], 2], 3, "breakers")
    [(0, 1), (2,)]
    """
    if isinstance(sequences, str | bytes) or not isinstance(sequences, Iterable):
        raise ParameterError(name, sequences, "must be a collection of token sequences")
    found = []
    for place, sequence in enumerate(sequences):
        tokens = [sequence] if isinstance(sequence, int) else sequence
        found.append(tuple(read_history(tokens, size, f"{name}[{place}]")))
        if not found[-1]:
            raise ParameterError(f"{name}[{place}]", sequence, "must hold at least one token")
    return found


def read_bias(name: str, bias: Any) -> Number:
    """Return what is added to a logit: a number, or minus infinity, which bans the token.

    >>> read_bias("bias", float("-inf")), read_bias("bias", 1)
    (-inf, 1)
    >>> read_bias("bias", float("inf"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bias must be finite or minus infinity, got inf
    """
    if isinstance(bias, float) and bias == -inf:
        return bias
    if not is_finite(bias):
        raise ParameterError(name, bias, "must be finite or minus infinity")
    return read_number(name, bias)
