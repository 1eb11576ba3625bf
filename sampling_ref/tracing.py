"""The trace that a chain of steps leaves.

A trace is data: for each step the candidates before and after it, and from them what was
kept, removed and changed. Printed, it is a table that a person can follow.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import inf, log, log2
from typing import Any

from sampling_ref.engines.profile import Draw, Stage
from sampling_ref.errors import shown as brief
from sampling_ref.row import Candidates, Number, TokenId, to_float
from sampling_ref.steps.step import Step, Values

SHOWN = 6
"""How many tokens a printed trace shows of each list."""

RACES = ("Gumbel-max", "exponential race")
"""The methods of drawing that need a random number for each token."""

SORTED = "sorted before"
RULES = ("ties", "base", "boundary", "walked", "equality", "cut")
"""What decides about equal tokens and the border of a filter: its sort, and its choices."""

_DIGITS = 12
"""The number of decimals in which distances agree that are shown as equal."""


@dataclass(frozen=True)
class Applied:
    """One applied step: its rule, its values, the candidates before and after it.

    `values` has every parameter and choice of the rule, `given` those that somebody chose.

    >>> from sampling_ref.evaluation import explain
    >>> (applied,) = explain("transformers", [1.0, 3.0, 2.0], top_k=2).steps
    >>> applied.step, applied.kept, applied.removed, applied.changed
    ('top_k', (1, 2), (0,), ())
    >>> applied.why
    'keeps the 2 most probable tokens, and the equals of the last one'
    """

    rule: Step
    values: Values
    given: Values
    before: Candidates
    after: Candidates
    size: int

    def __repr__(self) -> str:
        """Return the step with the parameters that somebody chose, and how many tokens it left."""
        return f"<Applied {_call(self)}, {len(self.kept)} left>"

    @property
    def step(self) -> str:
        """The name of the step."""
        return self.rule.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that somebody chose."""
        return {name: self.given[name] for name in self.given if name in self.rule.parameters}

    @property
    def why(self) -> str:
        """What the step does, in words."""
        whys = [
            text
            for choice, text in self.rule.whys.items()
            for name, _, value in [choice.partition(" ")]
            if value and name in self.values and shortly(self.values[name]) == value
        ]
        added = [text for text in whys if text.startswith(",")]
        why = next((text for text in whys if text not in added), self.rule.why) + "".join(added)
        if self.values.get("least", 0) > 1 and "{least}" not in why:
            why += self.rule.whys.get("least", ", at least {least} tokens")
        return why.format_map({k: shortly(value) for k, value in self.values.items()})

    @property
    def row_before(self) -> list[Number]:
        """The logits before the step, as a row; minus infinity for what was not in play."""
        return self.before.row(self.size)

    @property
    def row_after(self) -> list[Number]:
        """The logits after the step, as a row; minus infinity for what is not in play."""
        return self.after.row(self.size)

    @property
    def kept(self) -> tuple[TokenId, ...]:
        """The tokens in play after the step, in the engine's order."""
        return self.after.kept

    @property
    def removed(self) -> tuple[TokenId, ...]:
        """The tokens that the step removed, lowest id first."""
        return tuple(sorted({*self.before.kept}.difference(self.kept)))

    @property
    def changed(self) -> tuple[TokenId, ...]:
        """The tokens in play whose logit the step changed, lowest id first."""
        before, after = self.row_before, self.row_after
        return tuple(sorted(token for token in self.kept if before[token] != after[token]))


@dataclass(frozen=True)
class Trace:
    """The steps of a chain as they were applied, first to last; printed, a table."""

    steps: tuple[Applied, ...]

    @property
    def row(self) -> list[float]:
        """The logits after the last step; empty if there was no step."""
        return [to_float(logit) for logit in self.steps[-1].row_after] if self.steps else []

    def __repr__(self) -> str:
        """Return the steps in one line."""
        return f"<Trace {', '.join(map(_call, self.steps)) or 'without steps'}>"

    def __str__(self) -> str:
        """Lay the steps out as a table, one line each, with the likeliest tokens left."""
        if not self.steps:
            return "no steps"
        lines = [("step", "left", "removed", "changed", "best token:logit", "why")]
        lines += [_line(applied) for applied in self.steps]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


@dataclass(frozen=True)
class Share:
    """A token with its probability, and the sum of the probabilities up to it."""

    token: TokenId
    share: float
    total: float


def running_shares(
    tokens: Sequence[TokenId], shares: Sequence[float], walk: Sequence[TokenId]
) -> list[Share]:
    """Return the probabilities of tokens and their running sums, in the order of a walk.

    >>> running_shares([0, 1, 2], [0.25, 0.5, 0.25], [1, 0])
    [Share(token=1, share=0.5, total=0.5), Share(token=0, share=0.25, total=0.75)]
    """
    by_token = dict(zip(tokens, shares, strict=True))
    walked = [by_token[token] for token in walk]
    sums = accumulate(map(Fraction, walked))
    return [
        Share(token, share, float(total))
        for token, share, total in zip(walk, walked, sums, strict=True)
    ]


def deciding_walk(applied: Applied, shares: Sequence[float]) -> list[TokenId]:
    """Return the possible tokens before a filter in the order in which it looks at them.

    By falling probability; for locally typical sampling by rising distance of the surprise
    from the entropy; as they stand for a top-p that takes them so. Of equals, the kept ones are
    first, as sorted by the engine. A filter that walks upwards looks at the least probable token
    first, and of equals at the removed ones.

    >>> from sampling_ref.evaluation import explain
    >>> (applied,) = explain("transformers", [1.0, 3.0, 2.0], top_k=2).steps
    >>> deciding_walk(applied, [0.1, 0.6, 0.3])
    [1, 2, 0]
    """
    by_token = dict(zip(applied.before.tokens, shares, strict=True))
    entropy = -sum(share * log(share) for share in shares if share)

    kept = set(applied.kept)
    if applied.values.get("boundary") == "fitting":
        possible = kept.union(applied.removed)
        return [token for token in applied.before.tokens if token in possible]

    def key(token: TokenId) -> tuple[float, bool]:
        share = by_token[token]
        if applied.step == "typical" and share:
            return round(abs(-log(share) - entropy), _DIGITS), token not in kept
        if applied.values.get("walked") == "upwards":
            return share, token in kept
        return -share, token not in kept

    return sorted((*applied.kept, *applied.removed), key=key)


def surprises(applied: Applied, shares: Sequence[float]) -> tuple[str, float, dict[TokenId, float]]:
    """Return what a filter compares surprises with: its name, its value, and those of the tokens.

    Locally typical sampling compares with the entropy, in nats, and mirostat with mu, in bits, here
    before the first token. Others compare with nothing, and have no surprises.

    >>> from sampling_ref.evaluation import explain
    >>> (_, applied) = explain("llama.cpp", [0.0, 0.0], mirostat=2, mirostat_tau=2.0).steps
    >>> surprises(applied, [0.5, 0.25])
    ('mu', 4.0, {0: 1.0, 1: 2.0})
    """
    if applied.step not in {"typical", "mirostat_1", "mirostat_2"}:
        return "", 0.0, {}
    logarithm = log if applied.step == "typical" else log2
    found = [-logarithm(share) if share else inf for share in shares]
    by_token = dict(zip(applied.before.tokens, found, strict=True))
    if applied.step == "typical":
        entropy = sum(share * each for share, each in zip(shares, found, strict=True) if share)
        return "entropy", entropy, by_token
    return "mu", 2 * to_float(applied.values["tau"]), by_token


def draw_in_words(draw: Draw) -> str:
    """Return how a token is drawn."""
    words: list[str] = [draw.method]
    if draw.method in RACES:
        words.append(f"noise from {draw.noise}")
    else:
        words.append(f"in the order: {draw.order}")
        words.append("the running sum must " + ("exceed" if draw.boundary == "exceed" else "reach"))
    if draw.uniform:
        words.append(f"uniform number: {draw.uniform}")
    return ", ".join(words)


def ties_in_words(stage: Stage, ties: str, here: str = "") -> str:
    """Return which of equal tokens a stage takes; `here` says it of one row."""
    if stage.order != "libstdc++":
        return ties
    place = "last" if ties == "highest id" else "first"
    return f"the {place} after its sort ({stage.order}{here})"


def rules_of(applied: Applied, stage: Stage) -> dict[str, Any]:
    """Return the choices of a filter that decide about ties and boundaries."""
    rules = {name: applied.values[name] for name in RULES if name in applied.values}
    if "ties" in rules:
        rules["ties"] = ties_in_words(stage, rules["ties"], tied_at_the_border(applied))
    if rules.get("boundary") == "fitting":
        rules["ties"] = "those taken last"
    return rules


def first_looked_at(applied: Applied) -> str:
    """Return in which order a filter looks at the tokens."""
    if applied.values.get("boundary") == "fitting":
        return "as they stand"
    if applied.step == "typical":
        return "most typical first"
    upwards = applied.values.get("walked") == "upwards"
    return "least probable first" if upwards else "most probable first"


def tied_at_the_border(applied: Applied) -> str:
    """Return the order of equal tokens that a filter kept and removed, if it did both."""
    row = applied.row_before
    ties = {row[token] for token in applied.kept} & {row[token] for token in applied.removed}
    if not ties or applied.changed:
        return ""
    kept, removed = (
        [token for token in tokens if row[token] in ties]
        for tokens in (applied.kept, applied.removed)
    )
    first, last = (kept, removed) if applied.values["ties"] != "highest id" else (removed, kept)
    return f"; here {shortly(first)} before {shortly(last)}"


def _call(applied: Applied) -> str:
    given = ", ".join(f"{name}={shortly(value)}" for name, value in applied.parameters.items())
    return f"{applied.step}({given})"


def _line(applied: Applied) -> tuple[str, str, str, str, str, str]:
    row = applied.row_after
    likeliest = sorted(applied.kept, key=row.__getitem__, reverse=True)[:SHOWN]
    return (
        _call(applied),
        str(len(applied.kept)),
        _some(applied.removed),
        _some(applied.changed),
        " ".join(f"{token}:{shortly(row[token])}" for token in likeliest) or "-",
        applied.why,
    )


def shortly(value: Any) -> str:
    """Write a parameter for reading: numbers to six digits, lists by their beginning.

    >>> shortly(0.8999999761581421), shortly(range(100, 200))
    ('0.9', '100 101 102 103 104 105 and 94 more')
    """
    if isinstance(value, float | Fraction):
        return f"{to_float(value):g}"
    if isinstance(value, Mapping):
        return shortly([f"{token}:{shortly(number)}" for token, number in value.items()])
    if isinstance(value, Collection) and not isinstance(value, str):
        return _some([shortly(part) for part in value])
    return value if isinstance(value, str) else brief(value)


def _some(tokens: Sequence[object]) -> str:
    if not tokens:
        return "-"
    shown = " ".join(map(str, tokens[:SHOWN]))
    return shown if len(tokens) <= SHOWN else f"{shown} and {len(tokens) - SHOWN} more"
