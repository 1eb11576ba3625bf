"""Verdicts: how an answer is judged.

exact, error     this answer; or the input is refused, with one of these codes
either     one of several complete answers, each with the arithmetic that produces it
set     which tokens must be kept, which may be, and how many
close     numbers within some units in the last place
row     a row as long as that of the question, told by where and how it differs from it
rows     a batch of such rows
stat     many draws against a distribution
seeds     rows with the same seed draw the same tokens, all others different ones
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Floats, Hex, Id, Strict

TokenizerErrorCode: TypeAlias = Literal[
    "MISSING_BYTE",
    "UNKNOWN_ID",
    "INVALID_UTF8",
    "DISALLOWED_SPECIAL",
    "TOO_LONG",
    "MISSING_CHARACTER",
    "INVALID_PREFIX",
]
SamplerErrorCode: TypeAlias = Literal[
    "INVALID_PARAMETER", "INVALID_ROW", "INVALID_HISTORY", "INVALID_UNIFORM"
]
ErrorCode: TypeAlias = TokenizerErrorCode | SamplerErrorCode
"""Why an input is refused; `fixtures/README.md` explains each code."""


class Exact(Strict, frozen=True, kw_only=True, tag_field="kind", tag="exact"):
    """The answer must be this one."""


class MustRefuse(Strict, frozen=True, kw_only=True, tag_field="kind", tag="error"):
    """The input must be refused with one of these codes. Messages are not compared."""

    codes: Annotated[list[ErrorCode], Meta(min_length=1)]


class Alternative(Strict, frozen=True, kw_only=True):
    """One answer that rounding or an open tie may produce."""

    label: str
    """The arithmetic or the rule: `f64`, `f32.seq.desc`, `lowest-id`."""

    reason: Annotated[str, Meta(min_length=20)]
    out: dict[str, Any]


class Either(Strict, frozen=True, kw_only=True, tag_field="kind", tag="either"):
    """The answer must be one of these. `out` is the first."""

    alternatives: Annotated[list[Alternative], Meta(min_length=2)]


class Set(Strict, frozen=True, kw_only=True, tag_field="kind", tag="set"):
    """The kept tokens must include all of `must` and be among `may`.

    Their number must be one of `sizes`, and no removed token may be heavier than a kept one.
    """

    must: list[Id]
    may: list[Id]
    sizes: Annotated[list[Count], Meta(min_length=1)]
    reason: Annotated[str, Meta(min_length=20)]


class Close(Strict, frozen=True, kw_only=True, tag_field="kind", tag="close"):
    """Numbers may differ by `ulp` units in the last place of their type.

    Numbers whose absolute values are both at most `floor` count as equal. NaN, infinities, the
    sign of zero, and everything that is not a number must match exactly.
    """

    ulp: Annotated[int, Meta(ge=1)]
    floor: Floats | UnsetType = UNSET


class Row(Strict, frozen=True, kw_only=True, tag_field="kind", tag="row"):
    """A row as long as the question's, told by how it differs from it.

    A number of the answer has the digits that `changed` lists for its index; otherwise those that
    `values` has beside the digits of the number of the question; without `values`, the same digits
    as the number of the question. With `ulp` and `floor` it may be off as in `close`.
    """

    part: Literal["logits", "probs", "logprobs"]
    """The part of the answer. The question's row is `logits`, for `residual` it is `target`."""

    changed: list[tuple[Count, Hex]]
    values: list[tuple[Hex, Hex]] | UnsetType = UNSET
    ulp: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    floor: Floats | UnsetType = UNSET


class Rows(Strict, frozen=True, kw_only=True, tag_field="kind", tag="rows"):
    """A batch whose answers are rows, each judged like `row`."""

    rows: Annotated[list[Row], Meta(min_length=1)]


class Stat(Strict, frozen=True, kw_only=True, tag_field="kind", tag="stat"):
    """Counts of many draws must fit a distribution: a pooled G test, and two simple tests."""

    outcomes: list[list[Id]] | UnsetType = UNSET
    """The lists of tokens that the numbers in `bins`, `never` and `must` refer to, by index.
    Without it the numbers are tokens. A list that is missing here is impossible."""

    bins: Annotated[list[list[Id]], Meta(min_length=1)]
    """The tokens of each bin. Expected counts are at least 20 each."""

    shares: Floats
    """The probability of each bin."""

    never: list[Id]
    """Tokens of probability 0: one draw is a failure."""

    must: list[Id]
    """Tokens that are expected at least 64 times: each must be drawn."""

    limit: Floats
    """The largest G that passes: a correct engine exceeds it with probability `alpha`."""

    least: Floats
    """A smaller G is too good to be true and is reported."""

    alpha: str
    power: Annotated[str, Meta(min_length=20)]
    """The smallest effect that is detected with a probability of 99 %."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless each bin has a share above 0 and there is one limit."""
        shares = self.shares.values()
        if len(shares) != len(self.bins) or not all(0 < share <= 1 for share in shares):
            raise ValueError("shares must be one number in (0, 1] for each bin")
        if len(self.limit.values()) != 1 or len(self.least.values()) != 1:
            raise ValueError("limit and least must be one number each")
        if self.outcomes is not UNSET:
            named = [*self.never, *self.must, *(each for bin_ in self.bins for each in bin_)]
            if max(named) >= len(self.outcomes):
                raise ValueError("bins, never and must must be numbers of outcomes")


class Seeds(Strict, frozen=True, kw_only=True, tag_field="kind", tag="seeds"):
    """Rows with the same seed must have the same tokens in any batch; other rows must differ."""

    alpha: str
    """An upper bound of the probability that a correct engine fails because rows are equal."""


class Survey(Strict, frozen=True, kw_only=True, tag_field="kind", tag="survey"):
    """No answer is expected: it is only recorded."""


Verdict: TypeAlias = Exact | MustRefuse | Either | Set | Close | Row | Rows | Stat | Seeds | Survey


Status: TypeAlias = Literal[
    "pass",
    "fail",
    "wrong_error",
    "crash",
    "timeout",
    "unsupported",
    "skip",
    "not_run",
    "xfail",
    "xpass",
]


@dataclass(frozen=True)
class Judgement:
    """The result of one case."""

    status: Status
    detail: str = ""
    """One line: where the answer first differs, or why there is no answer."""

    remark: str = ""
    """A remark about an answer that passes, such as which alternative it is."""

    ulp: int | None = None
    """The largest distance between compared numbers, in units in the last place."""


def judged(detail: str = "", remark: str = "", ulp: int | None = None) -> Judgement:
    """Return the judgement of a comparison: a failure if the detail says what differs.

    >>> judged().status, judged("keep: expected [0], got [1]").status
    ('pass', 'fail')
    """
    return Judgement("fail" if detail else "pass", detail, remark, ulp)
