"""Antigravity: the published `sample()` of a Rust runner for Llama 3.2.

Antigravity's documentation describes one function, chapter 5 "Tokenizer & Sampling", section
5.3; the program is https://github.com/hedone21/llm_rs2, `src/bin/generate.rs`. The rule:

    1. For each of the last `repetition_window` tokens, once per occurrence: a negative
       logit is multiplied by `repetition_penalty`, any other is divided by it.
    2. At temperature 0 the greatest logit wins. Else divide all logits by the temperature.
    3. Softmax.
    4. Sort by falling probability and keep the first `top_k`.
    5. Keep up to and including the first token at which the running sum of these
       probabilities is greater than `top_p`.
    6. Take a random number in [0, 1) times the sum of what is kept, and subtract the
       probabilities in order; the first token that leaves no more than 0 is drawn.

The chapter leaves open, or settles in its code alone:

Per occurrence
    A token that occurs in the window three times is penalised three times.
Ties at temperature 0
    The last of equal maxima wins, by Rust's total order: +0 is above -0.
Ties in the sort
    It is stable: equals stay in the order of their ids. In 32-bit floats tokens with
    different logits can have equal probabilities, so the two precisions can differ here.
The mass of top-p
    The probabilities are those of step 3. They are not made to sum to 1 after top-k, so
    where the first `top_k` tokens hold no more than `top_p`, all of them stay.
Strictly greater
    A running sum of exactly `top_p` is not enough; the next token is kept as well.
No token reached
    In 32-bit floats the subtraction may end above 0; the chapter's code then returns
    nothing. Here the last candidate whose probability is not 0 is drawn: the one that exact
    arithmetic would have reached. The program takes the most probable one.
A random number of 0
    The first candidate is drawn, since subtracting it leaves no more than 0.
Impossible tokens
    A logit of minus infinity stays so and has probability 0. It is never drawn, though 32-bit
    floats count it among the `top_k`, as the program does.
What leaves the 32-bit range
    Where a penalty or a temperature makes a logit infinite, every probability would be
    NaN and no token would be drawn. That is an error.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

from sampling_ref.engines.profile import Draw, Greedy, Parameter, Profile, Stage
from sampling_ref.errors import RowError
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.orders import greatest_first
from sampling_ref.numbers.plain32 import Plain32, Plain32Row, softmax_in_32_bits
from sampling_ref.numbers.protocol import Compared, Row, Walk
from sampling_ref.row import Candidates, Number, ReadRow, Ties


class TotalOrderWalk(Walk):
    """The walk along Rust's total order, unless the candidates are sorted already."""

    def __init__(self, values: Sequence[Number], *, is_sorted: bool) -> None:
        super().__init__(values, -1.0, "lowest id")
        self.places = list(range(len(values))) if is_sorted else greatest_first(values)

    def first(self, count: int) -> Collection[int]:
        return self.places[:count]


class Antigravity32Row(Plain32Row):
    """The program's probabilities: its softmax comes before its filters, which carry them on."""

    def possible(self) -> list[int]:
        """Return all places: the program asks for no weight."""
        return list(range(len(self.values)))

    def falling(self, ties: Ties) -> Walk:
        return TotalOrderWalk(self.values, is_sorted=self.candidates.is_sorted)

    def largest(self, count: int, ties: Ties) -> list[int]:
        """Return the places of the largest probabilities in Rust's total order."""
        return greatest_first(self.values)[:count]

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return where the running sum passes a share; a draw counts down instead."""
        if of != "walk":
            return super().reaching(walk, share, strictly=strictly)
        places = walk.places if isinstance(walk, Walk) else walk
        total = sum_in_binary32(float(self.values[place]) for place in places)
        left = to_binary32(to_binary32(share) * total)
        for index, place in enumerate(places):
            left = to_binary32(left - self.values[place])
            if left <= 0:
                return index
        return None

    def keep(self, places: Iterable[int], order: str = "") -> Candidates:
        """Return the kept candidates in the order of the sort, with their probabilities."""
        kept = list(places)
        weights = [self.values[place] for place in kept]
        return replace(self.candidates.at(kept), weights=weights, is_sorted=True)


class Antigravity32(Plain32):
    """The program's 32-bit floats: proven against a compiled program, bit for bit."""

    sorts = True

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        """Return the row of probabilities; those carried along are of the whole row."""
        weights = candidates.weights
        return Antigravity32Row(
            candidates, softmax_in_32_bits(candidates.logits) if weights is None else weights
        )

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Return the rounded quotients; raise an error where the softmax would be NaN."""
        divisor = float(temperature)
        scaled = all_to_binary32([float(logit) / divisor for logit in candidates.logits])
        if max(scaled) == inf:
            token = candidates.tokens[scaled.index(inf)]
            rule = "must stay finite in 32 bits after penalty and temperature"
            raise RowError(f"logits[{token}] {rule}, got inf")
        if max(scaled) == -inf:
            rule = "must leave a token possible in 32 bits after penalty and temperature"
            raise RowError(f"logits {rule}")
        return replace(candidates, logits=ReadRow(scaled))

    def law(self, candidates: Candidates) -> list[float]:
        """Return the probabilities left, divided by their sum."""
        weights = [float(weight) for weight in self.of(candidates).values]
        total = sum_in_binary32(weights)
        return all_to_binary32([weight / total for weight in weights])


TEXT = "Antigravity, chapter 5, Tokenizer and Sampling"

ANTIGRAVITY = Profile(
    name="antigravity",
    title="Antigravity",
    repository="the published text",
    version=TEXT,
    parameters=(
        Parameter("temperature", 0.8, "[0, inf)", "f32", f"{TEXT}, 5.4"),
        Parameter("top_p", 0.9, "[0, 1]", "f32", f"{TEXT}, 5.4"),
        Parameter("top_k", 40, "whole [1, inf)", source=f"{TEXT}, 5.4"),
        Parameter("repetition_penalty", 1.1, "(0, inf)", "f32", f"{TEXT}, 5.4"),
        Parameter("repetition_window", 64, "whole [0, inf)", source=f"{TEXT}, 5.4"),
    ),
    engine_rules={
        "top_p": "Not checked; above 1 it keeps everything that top_k kept, below 0 the first "
        "token."
    },
    stages=(
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty", "window": "repetition_window"},
            {
                "counting": "each occurrence",
                "method": "by sign",
                "arithmetic": "division",
                "scope": "all",
                "skipped": 0,
            },
            source=f"{TEXT}, 5.3, step 1",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            source=f"{TEXT}, 5.3, step 2",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            order="sorted",
            note="On probabilities: in 32 bits, logits with equal probabilities are equal.",
            source=f"{TEXT}, 5.3, step 4",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "exceed",
                "base": "the whole row",
                "zero": "best",
                "ties": "lowest id",
                "least": 1,
                "walked": "downwards",
            },
            source=f"{TEXT}, 5.3, step 5",
        ),
    ),
    draw=Draw(
        "subtraction",
        "candidates",
        "reach",
        "as walked",
        uniform="f32 in [0, 1), 24 bits",
        source=f"{TEXT}, 5.3, step 6",
    ),
    greedy=Greedy(
        condition="temperature == 0.0",
        ties="last in total order",
        after=("repetition_penalty",),
        source=f"{TEXT}, 5.3, step 2",
    ),
    rounded=Antigravity32(),
    notes=(
        (
            "If the 32-bit subtraction leaves a positive rest after the last candidate, the "
            "text returns no token, and a program made from it returned the first candidate. "
            "Here the last one is taken."
        ),
        "In the text, top_k = 0 leaves no token; here it is an error.",
        ("In the text, NaN logits have a place in Rust's total order; a profile refuses NaN."),
    ),
)
