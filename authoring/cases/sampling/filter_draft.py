"""A case about a filter: a row, parameters, and a verdict that is generated.

A case is exact, and the generator proves it, unless it says that rounding or a tie is
meant to decide. Purposes prove what the `why` claims: the answer where a person knows
it, and that the case tells other rules apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses
from sampling_ref import PROFILES
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Floats, Type, from_digits, pack, to_digits
from tokenref.judge import judge
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case, op_of
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.rules import STANDARD
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Exact, Verdict

Numbers: TypeAlias = Sequence[float] | Floats
"""A row: numbers, or a recipe."""

_PAGES: Final = ("docs/sampling.md#the-steps", "docs/sampling.md#what-a-step-leaves-open")


@dataclass(frozen=True)
class Row:
    """A row of probabilities or of logits, in some type."""

    numbers: Numbers
    kind: str = "probs"
    dtype: Type = "f32"

    def plain(self) -> dict[str, Any]:
        """Return the part of a request that is the row."""
        if isinstance(self.numbers, Floats):
            return {self.kind: msgspec.to_builtins(self.numbers)}
        return {self.kind: pack(self.numbers, self.dtype)}


def probs(*numbers: float) -> Row:
    """Return a row of probabilities.

    >>> probs(0.5, 0.5).plain()
    {'probs': {'f32': '3f0000003f000000'}}
    """
    return Row(numbers)


def eighths(*numbers: int) -> Row:
    """Return a row of probabilities, given as multiples of 1/8.

    >>> eighths(4, 2, 1, 1) == probs(0.5, 0.25, 0.125, 0.125)
    True
    """
    return probs(*(number / 8 for number in numbers))


def logits(*numbers: float, dtype: Type = "f32") -> Row:
    """Return a row of logits.

    >>> logits(1.0, dtype="bf16").plain()
    {'logits': {'bf16': '3f80'}}
    """
    return Row(numbers, "logits", dtype)


@dataclass(frozen=True)
class FilterCase:
    """What a case asks, and what is known of its answer."""

    op: str
    topic: str
    slug: str
    row: Row
    params: Mapping[str, Any]
    why: str
    flags: Sequence[str]
    profile: str = STANDARD
    uniform: float | None = None
    keep: Sequence[int] | None = None
    """The answer, where a person knows it."""

    refused: str = ""
    """The reason for which the question must be refused."""

    unlike: Sequence[str | tuple[str, Mapping[str, Any]]] = ()
    """Profiles that answer otherwise, given the same parameters or others."""

    is_open: bool = False
    """Whether rounding, or a tie that nobody decides, is meant to leave several answers."""

    verdict: Verdict | None = None
    """A verdict that was generated already."""

    spec: str = ""

    def request(self, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the question as the record has it."""
        uniforms = {} if self.uniform is None else {"uniforms": pack([self.uniform])}
        given = self.params if params is None else params
        return {**self.row.plain(), "params": pack_parameters(given), **uniforms}

    def draft(self) -> SamplerDraft:
        """Return the draft, its verdict generated. Raises `PurposeError`."""
        name = f"sampling/{self.op}/{self.topic}/{self.slug}"
        verdict = self.verdict or Exact()
        if not self.refused and self.verdict is None:
            try:
                verdict = filter_verdict(self.op, self.profile, self.request())
            except UndecidedError as error:
                raise PurposeError(f"{name}: {error}") from None
        if isinstance(verdict, Exact) == self.is_open:
            raise PurposeError(f"{name}: must {'not ' * self.is_open}be exact, got {verdict}")
        purposes: list[SamplerPurpose] = [self._unlike(other) for other in self.unlike]
        if self.refused:
            purposes.append(refuses(self.refused))
        if self.keep is not None:
            purposes.append(gives(keep=list(self.keep)))
        return SamplerDraft(
            op=self.op,
            topic=self.topic,
            slug=self.slug,
            profile=self.profile,
            request=self.request(),
            why=self.why,
            flags=sorted(set(self.flags)),
            verdict=verdict,
            spec=self.spec or self._page(),
            purposes=purposes,
        )

    def _page(self) -> str:
        if self.refused == "INVALID_ROW":
            return "docs/sampling.md#rows"
        if self.refused:
            return "docs/sampling.md#errors"
        if self.profile in PROFILES:
            return f"docs/engines.md#{self.op}"
        return _PAGES[self.profile != STANDARD]

    def _unlike(self, other: str | tuple[str, Mapping[str, Any]]) -> SamplerPurpose:
        """Return the purpose "another profile answers otherwise": it must answer, or refuse."""
        profile, params = (other, None) if isinstance(other, str) else other

        def check(case: Case) -> None:
            answer = SamplerSession(profile).answer(op_of(case), self.request(params))
            if not isinstance(answer, Ok | Refused):
                raise PurposeError(f"{case.id}: {profile} cannot be asked the same: {answer}")
            if judge(case, answer, SAMPLERS).status == "pass":
                raise PurposeError(f"{case.id}: must tell {profile} apart")

        return check


def parts(of: int, *numbers: int) -> Row:
    """Return a row of probabilities, given as multiples of 1/of.

    >>> parts(16, 8, 8) == probs(0.5, 0.5)
    True
    """
    return probs(*(number / of for number in numbers))


def beside(number: float, steps: int) -> float:
    """Return the 32-bit number `steps` above a positive one, or below.

    >>> beside(1.0, 1) == 1 + 2**-23, beside(1.0, -1) == 1 - 2**-24
    (True, True)
    """
    bits = int(to_digits([number], "f32"), 16) + steps
    return from_digits(f"{bits:08x}", "f32")[0]
