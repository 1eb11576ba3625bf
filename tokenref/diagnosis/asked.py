"""A question about one row, its right answer, and what misreadings need to know of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from sampling_ref import Use, chain
from tokenref.diagnosis.mistakes import NO_ANSWERS, SUMS, Summed, weights_of
from tokenref.floats import cut_floats, pack, unpack
from tokenref.questions.sampling import BatchInput, unpack_parameters
from tokenref.record import FILTER_OPS, Case
from tokenref.rules import STANDARD

MOST_AGAIN: Final = 100_000
"""The tokens of the largest question that is answered again."""

Row: TypeAlias = Mapping[str, Any]
"""A question, alone or in a batch."""

SUMMING: Final = frozenset({"softmax", "logprobs"})
"""Operations whose answers show a wrong sum at once."""

OF_PROMPTS: Final = frozenset({"repetition_penalty", "penalties"})
"""Penalties that count the tokens of the prompt, too."""

BELOW_1: Final = 1 - 2.0**-53
"""The largest share and the largest random number."""

VARIANT: Final = " #"
"""What separates the name of a misreading from the number of a way to do it, which is not said."""

OF_SUMS: Final[Mapping[str, Summed]] = {
    "p or a random number that is not multiplied by the sum": lambda _, __: 1.0,
    **SUMS,
}


@dataclass(eq=False)
class Asked:
    """A question about one row, and its right answer if that is misread."""

    op: str
    profile: str
    rows: Sequence[Row]
    """All rows of the batch."""

    place: int
    out: Row
    ask: Callable[[Row], Row | None]
    order: Sequence[int] = ()
    """At which place in memory each row of the batch is, if this is not its number."""

    @property
    def row(self) -> Row:
        """The question."""
        return self.rows[self.place]

    @cached_property
    def weights(self) -> list[float]:
        """The weights of the row."""
        return unpack(self.row["probs"]) if "probs" in self.row else weights_of(self.numbers)

    @cached_property
    def sums(self) -> list[float]:
        """The sums of the weights until each token."""
        return [0.0, *accumulate(self.weights)]

    @cached_property
    def falling(self) -> list[int]:
        """The possible tokens by falling weight."""
        weights = self.weights
        order = sorted(range(len(weights)), key=weights.__getitem__, reverse=True)  # ties by id
        return [token for token in order if weights[token]]

    @cached_property
    def falling_sums(self) -> list[float]:
        """The sums of the falling weights."""
        return [*accumulate(self.weights[token] for token in self.falling)]

    @cached_property
    def is_plain(self) -> bool:
        """Whether a sum decides which tokens top-p keeps, or which one is drawn."""
        row, params = self.row, unpack_parameters(self.row.get("params", {}))
        if self.profile != STANDARD or self.op not in {"top_p", "draw"}:
            return False
        if self.op == "top_p":
            return params.keys() <= {"p", "least"} and params.get("p", 1) < 1 and "keep" in self.out
        return not {"count", "order"} & row.keys() and len(unpack(row["uniforms"])) == 1

    @cached_property
    def share(self) -> float:
        """The share of the sum that is enough to keep or draw a token, if the question is plain."""
        if self.op == "draw":
            return unpack(self.row["uniforms"])[0]
        return float(unpack_parameters(self.row["params"])["p"])

    @cached_property
    def numbers(self) -> list[float]:
        """The logits of the row."""
        return unpack(self.row["logits"])

    @cached_property
    def made(self) -> Sequence[Sequence[float]]:
        """The logits that the first steps make, for each number of steps."""
        rows: list[Sequence[float]] = [self.numbers]
        for step in self.row["steps"]:
            rows.append(self.after(step, rows[-1]))
        return rows

    @cached_property
    def left(self) -> Sequence[Sequence[float]]:
        """The weights of these."""
        return [*map(weights_of, self.made)]

    @cached_property
    def filters(self) -> Mapping[int, "Asked"]:
        """The questions of the filters alone, by their place among the steps."""
        steps = enumerate(zip(self.row["steps"], self.made, self.made[1:], strict=False))
        return {at: self.of_filter(*s) for at, s in steps if s[0]["step"] in FILTER_OPS}

    def of_filter(self, step: Row, row: Sequence[float], right: Sequence[float]) -> "Asked":
        """Return the question of a filter, given what is before and behind it."""
        alone = {"logits": pack(row, "f64"), "params": step["params"]}
        return Asked(step["step"], self.profile, [alone], 0, {"keep": possible(right)}, self.ask)

    def after(self, step: Row, numbers: Sequence[float]) -> Sequence[float]:
        """Return what a step makes of logits."""
        use = Use(step["step"], **unpack_parameters(step["params"]))
        history, start = self.row["history"], self.row["prompt_length"]
        return chain([use], numbers, history, prompt_length=start).row

    @cached_property
    def wide(self) -> Row:
        """The answer in 64 bits to a row of numbers of 16 bits, or nothing."""
        return self.ask({**self.row, "logits": pack(self.numbers, "f64")}) or {}


Change: TypeAlias = Callable[[Asked], Row]
"""Return the parts of a question, or of its answer, that change; nothing if none does."""


class Misreading(NamedTuple):
    """A way to misread questions."""

    name: str
    change: Change
    is_question: bool = True
    """Whether the question changes, and not the answer."""


def rows_of(case: Case) -> tuple[dict[str, Any], Sequence[Row]]:
    """Return a question and its rows without padding."""
    question = msgspec.to_builtins(case.input)
    if not isinstance(case.input, BatchInput):
        return question, [question]
    rows = question["rows"]
    if size := question.pop("vocab_size", None):
        question.pop("layout", None)
        cut = ({"logits": cut_floats(r["logits"], size)} if "logits" in r else {} for r in rows)
        rows = [{**row, **each} for row, each in zip(rows, cut, strict=True)]
    return question, rows


def possible(row: Sequence[float]) -> list[int]:
    """Return the tokens whose logit is not -inf."""
    return [token for token, number in enumerate(row) if number != -inf]


def is_fused(asked: Asked) -> bool:
    """Return whether a question has steps that can be applied here, none of which is a function."""
    return asked.op == "steps" and all(
        step["step"] != "prefix_allowed_tokens" for step in asked.row["steps"]
    )


def named(says: str) -> str:
    """Return the name of a misreading, given what is wrong."""
    return says if says in NO_ANSWERS else f"answers with {says}"
