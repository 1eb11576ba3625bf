"""A row, one number for each token of the vocabulary, and the candidates, which are in play.

What a row may hold is decided here, once.

Logits
    Any finite numbers, and minus infinity, which says that a token is impossible. An
    empty row, NaN and plus infinity are errors: no probability can be given to them.
Only minus infinities
    Such a row is still a row: penalties and masks return it as it is. Whatever needs
    a possible token (a softmax, a filter, a draw) says that there is none.
Fractions and integers
    are numbers, too, also where no float can hold them. Profiles refuse such rows, because
    what they return are floats.
Weights
    Finite numbers that are not negative, and not all of them zero.
Changing logits
    A token at minus infinity stays there: nothing is calculated with it. A result that no
    float can hold is what IEEE 754 makes of it if it is negative: minus infinity. Above, and
    where there is no number at all, it is an error, because a row holds neither plus infinity
    nor NaN.

Candidates
    Some engines keep a whole row and mark removed tokens with minus infinity; others keep a
    list that filters shorten and sort. Both are an ordered list of tokens with their logits.
    The order matters where equals are cut and where a draw walks.

Every sequence of numbers is accepted, and everything with a `tolist()` (numpy arrays,
torch tensors, `array`, `memoryview`). No row that is given is ever changed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isinf, lcm, nan
from numbers import Real
from operator import index
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
)

from sampling_ref.errors import ParameterError, RowError, shown

TokenId: TypeAlias = int
"""Position of a token in a row."""

Number: TypeAlias = float | Fraction
"""One number of a row. A float is an exact rational number, and so is a `Fraction`."""

Tokens: TypeAlias = TokenId | Collection[TokenId]
"""One token, or any number of them."""

Ties: TypeAlias = Literal["lowest id", "highest id", "all"]
"""Which equals of the last token taken are taken: those of the lowest ids, the highest, all."""

AnyNumber = TypeVar("AnyNumber", float, Number)

Row: TypeAlias = Sequence[Number]
"""Logits, probabilities or other weights; `row[token]` belongs to `token`."""


class Listed(Protocol):
    """An array of another library: numpy's, a tensor, `array`, `memoryview`."""

    def tolist(self) -> Any:
        """Return its numbers as a list."""


AnyRow: TypeAlias = Iterable[SupportsFloat] | Listed
"""What functions accept as a row."""

AnyHistory: TypeAlias = Iterable[SupportsIndex] | Listed
"""What functions accept as a history: token ids, oldest first."""

LARGEST = (2 - 2.0**-52) * 2.0**1023
"""The largest float."""


def is_number(value: object) -> TypeGuard[Number]:
    """Return whether a value is of a kind that counts as a number here; a bool does not.

    >>> is_number(0.5), is_number(True), is_number("1"), is_number(float("nan"))
    (True, False, False, True)
    """
    return isinstance(value, float | int | Fraction) and not isinstance(value, bool)


_SHOWN = 6
"""How many candidates a repr shows."""

PLAIN = frozenset({int, float, bool, str, Fraction, type(None)})
"""The types of values that `plain` returns as they are, which callers may look at first."""


def plain(value: Any, depth: int = 4) -> Any:
    """Return a number of another library, such as one of numpy, as the Python number it equals.

    Mappings, lists, tuples and sets are read with the numbers in them, `depth` levels deep. An
    array becomes a tuple. Everything else is returned as it is.

    >>> from array import array
    >>> plain({"k": memoryview(array("f", [0.5]))})
    {'k': (0.5,)}
    """
    if type(value) in PLAIN:
        return value
    if depth and isinstance(value, Mapping):
        return {plain(key, depth - 1): plain(part, depth - 1) for key, part in value.items()}
    if depth and type(value) in {list, tuple, set, frozenset}:
        return type(value)(plain(part, depth - 1) for part in value)
    if hasattr(value, "tolist"):
        listed = value.tolist()
        if isinstance(listed, list):
            return tuple(map(plain, listed))
        value = listed
    if isinstance(value, float | int | Fraction | str):
        return value
    try:
        return index(value)
    except TypeError:
        return float(value) if isinstance(value, Real) else value


class ReadRow(list[Number]):
    """A list of logits that was read already: reading it again costs nothing.

    Chains hand such rows from step to step. Nobody changes one. `others` are the places of
    numbers that are no plain floats, and perhaps of some that are; None if nobody looked.
    `weights` are what `numbers.mass` made of the row, behind the factor that they belong to.
    In a chain the logits are `factor` times the numbers, and a rule calculates with what `exact`
    makes of them.
    """

    others: Sequence[int] | None = None
    weights: tuple[Fraction, list[float] | None] | None = None
    factor = Fraction(1)
    exact: Callable[[Number], Number] | None = None

    @cached_property
    def largest(self) -> Number:
        """The largest number."""
        return max(self)


def numbers_of(row: Any, name: str) -> ReadRow:
    """Return the numbers of a row as a new list, whatever container holds them.

    >>> from array import array
    >>> numbers_of(array("f", [0.5, 2.0]), "logits")
    [0.5, 2.0]
    >>> numbers_of([0.5, 1, 2.0, Fraction(1, 3)], "logits").others
    [1, 3]
    """
    if hasattr(row, "tolist"):
        row = row.tolist()
    if isinstance(row, str | bytes | Mapping | AbstractSet) or not isinstance(row, Iterable):
        raise RowError(f"{name} must be a sequence of numbers, got {type(row).__name__}")
    numbers = ReadRow(row)
    if not numbers:
        raise RowError(f"{name} must hold at least one number, got none")
    kinds = list(map(type, numbers))
    if kinds.count(float) < len(kinds):
        numbers.others = [token for token, kind in enumerate(kinds) if kind is not float]
    else:
        numbers.others = ()
    for token in numbers.others:
        number = numbers[token]
        if hasattr(number, "tolist"):  # a scalar of numpy, or of torch
            number = numbers[token] = number.tolist()
        if not is_number(number):
            kind = type(number).__name__
            raise RowError(f"{name}[{token}] must be a number, got {kind} {shown(number)}")
    return numbers


def read_logits(logits: Any, name: str = "logits") -> ReadRow:
    """Return a checked copy of a row of logits (natural logarithms, any common offset).

    The copy is for reading only.

    >>> read_logits([1.5, float("-inf")])
    [1.5, -inf]
    >>> read_logits([0.0, float("nan")])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: logits[1] must be finite or minus infinity, got nan
    """
    if isinstance(logits, ReadRow):
        return logits
    numbers = numbers_of(logits, name)
    # One pass in C for the usual row: NaN makes a sum NaN, infinity makes it infinite.
    try:
        total = sum(numbers)
    except OverflowError:  # a float beside a rational number that no float can hold
        total = inf
    if not -inf <= total < inf:
        for token, number in enumerate(numbers):
            if not -inf <= number < inf:  # NaN compares false
                rule = "must be finite or minus infinity"
                raise RowError(f"{name}[{token}] {rule}, got {shown(number)}")
    return numbers


def read_possible_logits(logits: Any, name: str = "logits") -> ReadRow:
    """Return a checked copy of a row of logits in which at least one token is possible.

    >>> read_possible_logits([float("-inf")])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: logits must leave a token possible: all are minus infinity
    """
    numbers = read_logits(logits, name)
    if numbers.largest == -inf:
        raise RowError(f"{name} must leave a token possible: all are minus infinity")
    return numbers


def read_weights(weights: Any, name: str = "weights") -> list[Number]:
    """Return a checked copy of a row of weights: finite, not negative, not all zero.

    >>> read_weights([0.5, 0.0])
    [0.5, 0.0]
    >>> read_weights([0.0, 0.0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: weights must leave a token possible: all are zero
    """
    numbers = numbers_of(weights, name)
    for token, number in enumerate(numbers):
        if not 0 <= number < inf:
            rule = "must be finite and not negative"
            raise RowError(f"{name}[{token}] {rule}, got {shown(number)}")
    if not any(numbers):
        raise RowError(f"{name} must leave a token possible: all are zero")
    return numbers


def whole_numbers(row: Row) -> tuple[list[int], int]:
    """Return finite numbers times a common denominator, which are whole numbers, and it.

    >>> whole_numbers([0.5, 2, Fraction(1, 3)])
    ([3, 12, 2], 6)
    """
    ratios = [number.as_integer_ratio() for number in row]
    common = lcm(*{denominator for _, denominator in ratios})
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


def mask(logits: AnyRow, kept: AnyHistory) -> list[Number]:
    """Return the row with the logit of every token that is not kept at minus infinity.

    >>> mask([1.0, 2.0, 3.0], {0, 2})
    [1.0, -inf, 3.0]
    """
    row: Sequence[Any] = logits if isinstance(logits, Sequence) else plain(logits)
    masked: list[Number] = [-inf] * len(row)
    for given in plain(kept) if hasattr(kept, "tolist") else kept:
        token = given if type(given) in PLAIN else plain(given)
        if isinstance(token, bool) or not (isinstance(token, int) and 0 <= token < len(row)):
            rule = f"must hold token ids below {len(row)}"
            if isinstance(token, bool):
                rule += ", as numpy.flatnonzero(kept) makes them of booleans"
            raise ParameterError("kept", token, rule)
        masked[token] = row[token]
    return masked


def change_logits(
    step: str,
    logits: Sequence[Number],
    tokens: Collection[TokenId],
    formula: Callable[[TokenId, Number], Number],
) -> list[Number]:
    """Return the row with `formula(token, logit)` in place of the logit of each of `tokens`.

    `logits` is a row that was read; `step` names the step in the error. In a chain only these
    logits become exact numbers. So a penalty rounds nothing, and costs nothing for other tokens.

    >>> change_logits("doubling", [1.0, 2.0], [1], lambda token, logit: logit * 2)
    [1.0, 4.0]
    >>> change_logits("doubling", [1e308], [0], lambda token, logit: logit * 2)
    Traceback (most recent call last):
    sampling_ref.errors.RowError: doubling makes no finite number of the logit of token 0, 1e+308
    """
    row = logits if isinstance(logits, ReadRow) else ReadRow(logits)
    changed, is_scaled = _copy(row, others=tokens), row.factor != 1
    for token in tokens:
        logit = row[token]
        if isinstance(logit, float) and isinf(logit):
            continue
        if row.exact is not None:
            logit = row.exact(logit)
        if is_scaled:
            logit = logit * row.factor
        try:
            number = formula(token, logit)
        except (OverflowError, ZeroDivisionError):
            number = nan
        if isinstance(number, float) and not isfinite(number) and float(number) != -inf:
            sentence = (
                f"{step} makes no finite number of the logit of token {token}, {shown(logit)}"
            )
            raise RowError(sentence)
        changed[token] = number / row.factor if is_scaled else number
    return changed


def _copy(row: ReadRow, others: Collection[int] = ()) -> ReadRow:
    """Return a row to change, which may have other numbers than floats at these places, too."""
    changed = ReadRow(row)
    if row.others is not None and len(others) < len(row):
        changed.others = sorted({*row.others, *others})
    return changed


def ban(logits: Sequence[Number], tokens: Iterable[TokenId]) -> list[Number]:
    """Return the row with the logit of each of `tokens` at minus infinity.

    >>> ban([1.0, 2.0], [0])
    [-inf, 2.0]
    """
    changed = _copy(logits if isinstance(logits, ReadRow) else ReadRow(logits))
    for token in tokens:
        changed[token] = -inf
    return changed


def force(logits: Sequence[Number], tokens: Iterable[TokenId]) -> list[Number]:
    """Return a row of minus infinities with a zero for each of `tokens`.

    >>> force([1.0, 2.0, 3.0], [1])
    [-inf, 0.0, -inf]
    """
    forced: list[Number] = [-inf] * len(logits)
    for token in tokens:
        forced[token] = 0.0
    return forced


def to_float(number: Number) -> float:
    """Return the nearest float; infinity if no float can hold the number.

    >>> to_float(Fraction(1, 2)), to_float(Fraction(-(10**400)))
    (0.5, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


@dataclass(frozen=True)
class Candidates:
    """Tokens and their logits, in an engine's order.

    `tokens` and `logits` have one entry for each candidate. The true logit of a
    candidate is `factor` times its entry: a temperature divides the factor, not the
    entries, so that it rounds nothing. `is_sorted` says that the engine takes the
    candidates to be in falling order already. `whole` are the entries that stood before
    the first filter, for engines whose shares stay shares of the whole row; None if no
    filter has run. `weights` are probabilities that an engine carries along from a softmax
    before its filters; None if it computes them anew.

    >>> candidates = Candidates([2, 0], [1.5, 0.5])
    >>> candidates.row(4)
    [0.5, -inf, 1.5, -inf]
    """

    tokens: Sequence[TokenId]
    logits: Sequence[Number]
    factor: Fraction = Fraction(1)
    is_sorted: bool = False
    whole: Sequence[Number] | None = None
    weights: Sequence[Number] | None = None

    def __repr__(self) -> str:
        """Return the number of candidates, and the first of them with their logits.

        >>> Candidates([2, 0], [1.5, 0.5])
        <Candidates, 2 tokens, token:logit 2:1.5 0:0.5>
        """
        first = replace(self, tokens=self.tokens[:_SHOWN], logits=self.logits[:_SHOWN])
        pairs = zip(first.tokens, first.floats(), strict=True)
        shown = " ".join(f"{token}:{logit:g}" for token, logit in pairs)
        more = " ..." if len(self.tokens) > _SHOWN else ""
        return f"<Candidates, {len(self.tokens)} tokens, token:logit {shown}{more}>"

    @property
    def kept(self) -> tuple[TokenId, ...]:
        """The tokens that are not impossible, in the order of the candidates."""
        pairs = zip(self.tokens, self.logits, strict=True)
        return tuple(token for token, logit in pairs if logit != -inf)

    def floats(self) -> list[float]:
        """Return the candidates' logits as the nearest floats; infinite if no float can hold one.

        >>> Candidates([0, 1, 2], [1.0, 3.0, 1e308], Fraction(5, 2)).floats()
        [2.5, 7.5, inf]
        """
        logits = self.logits if self.factor == 1 else self.true_logits()
        if isinstance(logits, ReadRow) and logits.others == ():
            return cast("list[float]", list(logits))
        try:
            return list(map(float, logits))
        except OverflowError:
            return list(map(to_float, logits))

    def true_logits(self) -> Sequence[Number]:
        """Return the candidates' logits; those behind a temperature as the nearest floats.

        A logit that no float can hold becomes infinite.
        """
        if self.factor == 1:
            return self.logits
        return [
            logit if logit == -inf else to_float(Fraction(logit) * self.factor)
            for logit in self.logits
        ]

    def possible_logits(self) -> ReadRow:
        """Return the entries; raise `RowError` if all of them are minus infinity."""
        logits = self.logits if isinstance(self.logits, ReadRow) else ReadRow(self.logits)
        if logits.largest == -inf:
            raise RowError("logits must leave a token possible: all are minus infinity")
        return logits

    def row(self, size: int) -> list[Number]:
        """Return the logits as a row of `size` numbers, minus infinity for other tokens."""
        return self.as_row(self.true_logits(), size)

    def as_row(
        self, numbers: Iterable[AnyNumber], size: int, others: float = -inf
    ) -> list[AnyNumber | float]:
        """Return a number for each candidate as a row of `size` numbers.

        >>> Candidates([2, 0], [1.5, 0.5]).as_row([0.75, 0.25], 3, others=0.0)
        [0.25, 0.0, 0.75]
        """
        row: list[AnyNumber | float] = [others] * size
        for token, number in zip(self.tokens, numbers, strict=True):
            row[token] = number
        return row

    def only(self, place: int) -> "Candidates":
        """Return the candidates with all but one of them at minus infinity.

        >>> Candidates([4, 2, 7], [1.0, 3.0, 3.0]).only(1).logits
        [-inf, 3.0, -inf]
        """
        return replace(self, logits=ReadRow(mask(self.logits, [place])), whole=None)

    def at(self, places: Sequence[int]) -> "Candidates":
        """Return only the candidates at these places, in this order.

        >>> Candidates([5, 6, 7], [0.5, 1.5, 2.5]).at([2, 0]).tokens
        [7, 5]
        """
        weights = self.weights
        are_all = self.tokens == range(len(self.logits))  # then a place is its token
        logits = ReadRow(map(self.logits.__getitem__, places))
        if isinstance(self.logits, ReadRow) and self.logits.others == ():
            logits.others = ()
        return replace(
            self,
            tokens=places if are_all else list(map(self.tokens.__getitem__, places)),
            logits=logits,
            whole=self.logits if self.whole is None else self.whole,
            weights=None if weights is None else [weights[place] for place in places],
        )


def all_candidates(logits: Row) -> Candidates:
    """Return every token of a row, in the order of the vocabulary.

    >>> all_candidates([0.5, 1.5]).tokens
    range(0, 2)
    """
    return Candidates(range(len(logits)), logits)
