"""What values a parameter may have: a rule, written as a text, that checks and explains itself.

    [0, 1)                a number from 0 to below 1; a bracket belongs to it, a parenthesis not
    whole [1, inf)        a whole number of at least 1; "or -1" allows that number as well
    flag                  true or false
    one of raw, processed
    tokens                a sequence, or set, of token ids
    token or tokens       the same, or one id alone
    token numbers [-1, 1] a number of the interval for each of some tokens; -inf bans
    ... or None           the same, or None

The other kinds have no parts; `FIXED` lists them with their sentences.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import ends, is_finite, is_inside, is_whole, rule_of
from sampling_ref.row import is_number

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
        return ends(self.interval)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return ends(self.interval)[1]

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
                is_whole(token) and is_number(number) and is_inside(self.interval, number)
                for token, number in value.items()
            )
        if self.kind == "whole" and not is_whole(value, -inf):
            return False
        return is_finite(value) and (is_inside(self.interval, value) or value == self.also)

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
            return rule_of(self.interval).replace("must be in", "must be a number in")
        rule = "must be a whole number"
        if self.low > -inf:
            low, high = self.interval[1:-1].split(", ")
            rule += f" of at least {low}" if self.high == inf else f" from {low} to {high}"
        return rule if self.also is None else f"{rule}, or {self.also}"

    def check(self, name: str, value: object) -> None:
        """Raise `ParameterError` if a value is not allowed.

        >>> read_domain("[0, 1]").check("top_p", 1.5)
        Traceback (most recent call last):
        sampling_ref.errors.ParameterError: top_p must be a number in [0, 1], got 1.5
        """
        if not self.holds(value):
            raise ParameterError(name, value, str(self))


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
