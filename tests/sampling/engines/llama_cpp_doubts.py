"""Where llama.cpp's 32-bit rounding may decide otherwise than the exact rule, as numbers.

Two runs of one chain are compared stage by stage: without rounding, and with the engine's.
At each stage the exact rule is asked again, with its threshold moved up and down by as much
as rounding can move it. If all answers are the same, the engine must give it, too, in the
same order. If they are not, what it keeps must lie between them. A list that differs ends
the comparison: from there on the two runs have different things to decide.

The bounds, with u = 2**-24, gap = largest logit - logit, n candidates, and d the distance
that the logits of the two runs have already (measured, and bounded stage by stage):

    e**-gap         relative (gap + 3) u + d    the subtraction, then expf, good to 2 units
    their sum       relative (mean gap + n + 3) u + d    one added after the other
    probability     both, u for the division, and 2**-149 for what has few digits
    running sum     n u more
    entropy         p (|log p| + 1) times the error of p, and n u times itself
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import exp, expm1, floor, inf, log, sqrt
from typing import Any

from sampling_ref.engines.profile import Stage
from sampling_ref.evaluation import Evaluation
from sampling_ref.random.sources import Given
from sampling_ref.row import Candidates
from sampling_ref.tracing import Applied

U = 2.0**-24
TINY = 2.0**-149
MORE = 1.01
"""For products of errors, which the bounds leave out."""

END_OF_INTEGERS = 2.0**31


class Decided(Exception):  # noqa: N818 - no error: from here on the runs differ, and may
    """Rounding decided."""


@dataclass(frozen=True)
class Numbers:
    """Candidates in 64 bits, and how far the logits of the two runs lie apart."""

    logits: Sequence[float]
    apart: float

    @cached_property
    def gaps(self) -> list[float]:
        top = max(self.logits)
        return [top - logit for logit in self.logits]

    @cached_property
    def shares(self) -> list[float]:
        weights = [exp(-gap) for gap in self.gaps]
        total = sum(weights)
        return [weight / total for weight in weights]

    @cached_property
    def mean_gap(self) -> float:
        pairs = zip(self.gaps, self.shares, strict=True)
        return sum(gap * share for gap, share in pairs if share)

    def share_error(self, gap: float) -> float:
        """Return the relative error of a 32-bit probability."""
        size = len(self.logits)
        return MORE * ((gap + self.mean_gap + size + 8) * U + 2 * self.apart)

    @cached_property
    def sum_error(self) -> float:
        """Return the absolute error of a running sum of probabilities."""
        size = len(self.logits)
        return MORE * ((2 * self.mean_gap + 2 * size + 12) * U + 2 * self.apart) + size * TINY

    @cached_property
    def errors(self) -> list[float]:
        """Return the relative error of each probability; 1 and more is as good as unknown."""
        return [
            self.share_error(gap) + TINY / share if share > TINY else inf
            for gap, share in zip(self.gaps, self.shares, strict=True)
        ]

    @cached_property
    def surprises(self) -> list[float]:
        least = -log(max(self.shares))
        return [gap + least for gap in self.gaps]

    @cached_property
    def entropy_error(self) -> float:
        parts = zip(self.shares, self.surprises, self.errors, strict=True)
        own = (len(self.logits) + 4) * U
        return MORE * sum(
            share * ((surprise + 1) * error + surprise * own)
            for share, surprise, error in parts
            if share > TINY
        )


@dataclass(frozen=True)
class Meeting:
    """One stage in both runs."""

    question: Evaluation
    rounded: Evaluation
    stage: Stage
    ours: Applied
    theirs: Applied
    apart: float

    @property
    def values(self) -> Mapping[str, Any]:
        return self.ours.values

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers([float(x) for x in self.ours.before.true_logits()], self.apart)

    @property
    def is_equal(self) -> bool:
        return list(self.ours.after.tokens) == list(self.theirs.after.tokens)

    @cached_property
    def mu(self) -> tuple[float, float]:
        """Return mirostat's mu, and how far it may lie apart."""
        first = 2 * float(self.values["tau"])
        ours = float(self.question.situation.state.get("mu", first))
        theirs = float(self.rounded.situation.state.get("mu", first))
        return ours, abs(ours - theirs)

    def again(self, **moved: Any) -> list[int]:
        """Return what the exact rule keeps with another threshold, if it acts."""
        situation = self.question.situation
        state = {**situation.state, "mu": moved.pop("mu")} if "mu" in moved else situation.state
        calm = replace(situation, randomness=Given([0.0]), state=state)
        return list(self.ours.rule.apply(self.ours.before, calm, {**self.values, **moved}).tokens)

    def logits_of(self, tokens: Sequence[int]) -> list[float]:
        places = {token: place for place, token in enumerate(self.ours.before.tokens)}
        return [self.numbers.logits[places[token]] for token in tokens]

    def demand(self, holds: bool) -> None:
        kept = list(self.ours.after.tokens), list(self.theirs.after.tokens)
        assert holds, f"{self.stage.step}: no rounding explains {kept} {dict(self.values)}"


def compare(
    question: Evaluation,
    steps: Sequence[Applied],
    rounded: Evaluation,
    rounded_steps: Sequence[Applied],
) -> float:
    """Return how far the logits lie apart in the end; raise `Decided` if rounding decided."""
    apart = 0.0
    stages = {stage.step: stage for stage in question.profile.stages}
    for ours, theirs in zip(steps, rounded_steps, strict=True):
        meeting = Meeting(question, rounded, stages[ours.step], ours, theirs, apart)
        CHECKS.get(ours.step, _check_same)(meeting)
        apart = _apart(meeting)
    return apart


def check_draw(
    candidates: Candidates, apart: float, uniform: float, ours: int, theirs: int
) -> None:
    """Demand the same token, unless the random number lies near all borders between the two."""
    if ours == theirs:
        return
    numbers = Numbers([float(x) for x in candidates.true_logits()], apart)
    places = sorted(list(candidates.tokens).index(token) for token in (ours, theirs))
    borders = list(accumulate(numbers.shares))[places[0] : places[1]]
    assert all(abs(border - uniform) <= numbers.sum_error for border in borders)
    raise Decided


def _check_same(meeting: Meeting) -> None:
    """Demand the same candidates, in the same order."""
    meeting.demand(meeting.is_equal)


def _check_between(meeting: Meeting, fewest: int, most: int, *moved: list[int]) -> None:
    """Demand as many as a moved threshold allows, largest first."""
    if meeting.is_equal:
        return
    ours, theirs = list(meeting.ours.after.tokens), list(meeting.theirs.after.tokens)
    meeting.demand(fewest <= len(theirs) <= most)
    is_close = _least_distance(meeting.numbers.logits) <= 2 * meeting.apart
    meeting.demand(is_close or fewest < most or any(tokens != ours for tokens in moved))
    if meeting.stage.step == "xtc":  # which removes the first
        ours.reverse()
        theirs.reverse()
    if meeting.stage.step != "min_p":  # which may sort, or not
        pairs = zip(meeting.logits_of(ours), meeting.logits_of(theirs), strict=False)
        meeting.demand(all(one == two or abs(one - two) <= 2 * meeting.apart for one, two in pairs))
        meeting.demand(is_close or all(map(int.__eq__, ours, theirs)) or len(ours) > MANY)
    raise Decided


MANY = 256
"""With more of them, top-p may have sorted a second time."""


def _least_distance(logits: Sequence[float]) -> float:
    values = sorted(set(logits) - {-inf})
    return min((two - one for one, two in pairwise(values)), default=inf)


def _check_moved(meeting: Meeting, **moved: tuple[float, float]) -> None:
    ((name, values),) = moved.items()
    found = [meeting.again(**{name: value}) for value in values]
    fewest, most = sorted(map(len, found))
    _check_between(meeting, fewest, most, *found)


def _check_top_k(meeting: Meeting) -> None:
    count = len(meeting.ours.after.tokens)
    _check_between(meeting, count, count)


def _check_top_n_sigma(meeting: Meeting) -> None:
    """Mean and deviation are rounded."""
    numbers, n = meeting.numbers, float(meeting.values["n"])
    possible = [logit for logit in numbers.logits if logit > -inf]
    mean = sum(possible) / len(possible)
    size = max(map(abs, possible))
    deviation = sqrt(sum((logit - mean) ** 2 for logit in possible) / len(possible))
    error = 2 * (len(possible) + 3) * U * size + deviation * (len(possible) + 6) * U
    margin = n * (error + 2 * meeting.apart) + 4 * U * (size + n * deviation) + 2 * meeting.apart
    threshold = max(possible) - n * deviation
    differ = [
        logit
        for logit, one, two in zip(
            numbers.logits, meeting.ours.after.logits, meeting.theirs.after.logits, strict=True
        )
        if (one == -inf) != (two == -inf)
    ]
    meeting.demand(all(abs(logit - threshold) <= MORE * margin + 1e-40 for logit in differ))
    if differ:
        raise Decided
    _check_same(meeting)


def _check_top_p(meeting: Meeting) -> None:
    if not meeting.is_equal:
        error, share = meeting.numbers.sum_error, float(meeting.values["p"])
        _check_moved(meeting, p=(max(share - error, 0.0), min(share + error, 1.0)))


def _check_min_p(meeting: Meeting) -> None:
    if not meeting.is_equal:
        share = float(meeting.values["m"])
        size = max(abs(max(meeting.numbers.logits)), abs(log(share)))
        margin = exp(MORE * (8 * size * U + 2 * meeting.apart))
        _check_moved(meeting, m=(share / margin, share * margin))


def _check_xtc(meeting: Meeting) -> None:
    if not meeting.is_equal:
        share = float(meeting.values["threshold"])
        error = meeting.numbers.share_error(-log(max(share, TINY)))
        _check_moved(meeting, threshold=(share * (1 - error), min(share * (1 + error), 1.0)))


def _check_mirostat_2(meeting: Meeting) -> None:
    if not meeting.is_equal:
        mu, apart = meeting.mu
        error = apart + 2 * meeting.numbers.share_error(max(mu, 0)) + 8 * U * abs(mu)
        _check_moved(meeting, mu=(mu - error, mu + error))


def _check_mirostat_1(meeting: Meeting) -> None:
    if meeting.ours.kept == meeting.theirs.kept:  # the engine may keep impossible ones, too
        return
    low, high = _bounds_of_k(meeting)
    size = len(meeting.ours.before.tokens)
    fewest, most = (max(1, min(size, floor(min(k, END_OF_INTEGERS)))) for k in (low, high))
    _check_between(meeting, 1 if high >= END_OF_INTEGERS * (1 - 1e-5) else fewest, most)


def _bounds_of_k(meeting: Meeting) -> tuple[float, float]:
    """Return bounds of the k that mirostat 1 calculates in 32 bits."""
    numbers, ranks = meeting.numbers, meeting.values["ranks"]
    places = sorted(range(len(numbers.logits)), key=numbers.gaps.__getitem__)[:ranks]
    if any(numbers.errors[place] > 1e-3 for place in places):
        return 1.0, inf
    ts = [log((rank + 2) / (rank + 1)) for rank in range(len(places) - 1)]
    bs = [numbers.gaps[two] - numbers.gaps[one] for one, two in pairwise(places)]
    wrong = [
        numbers.errors[one] + numbers.errors[two] + (4 + 2 * b) * U
        for (one, two), b in zip(pairwise(places), bs, strict=True)
    ]
    squares = sum(t * t for t in ts)
    s = sum(t * b for t, b in zip(ts, bs, strict=True)) / squares
    error = sum(t * w for t, w in zip(ts, wrong, strict=True)) / squares
    error = MORE * (error + 2 * s * (len(ts) + 6) * U) + 4 * U
    if s <= 2 * error:
        return 1.0, inf
    mu, apart = meeting.mu
    logs = [
        (part + sign * slack, exponent)
        for exponent in (s - error, s, s + error)
        for part, slack in [_log_numerator(exponent, mu, meeting.question.situation.size)]
        for sign in (-1, 1)
    ]
    found = [
        part / exponent + sign * apart / exponent for part, exponent in logs for sign in (-1, 1)
    ]
    low, high = min(found), max(found)
    slack = 8 * U * (1 + max(abs(low), abs(high)))
    return tuple(exp(min(bound, 700)) for bound in (low - slack, high + slack))  # type: ignore[return-value]


def _log_numerator(s: float, mu: float, size: int) -> tuple[float, float]:
    """Return the logarithm of (s - 1) 2**mu / (1 - size**(1 - s)), and its error."""
    epsilon = s - 1
    if abs(epsilon) < 1e-4:
        return mu * log(2) - log(log(size)), inf
    damping = -expm1(-epsilon * log(size))
    error = 8 * U * (2 + abs(mu) + (1 + size**-epsilon * (1 + log(size))) / abs(damping))
    return log(epsilon / damping) + mu * log(2), error + 4 * U / abs(epsilon)


def _check_typical(meeting: Meeting) -> None:
    """Both the distances and the sum are rounded."""
    if meeting.is_equal:
        return
    numbers = meeting.numbers
    impossible = numbers.logits.count(-inf)
    if not impossible and min(numbers.shares) < 2 * TINY:
        raise Decided  # a probability of 0 makes the engine's entropy NaN
    entropy = sum(p * s for p, s in zip(numbers.shares, numbers.surprises, strict=True) if p)
    spread = sum(
        p * abs(s - entropy) for p, s in zip(numbers.shares, numbers.surprises, strict=True) if p
    )
    ours, theirs = list(meeting.ours.after.tokens), list(meeting.theirs.after.tokens)
    places = {token: place for place, token in enumerate(meeting.ours.before.tokens)}
    mass, error = float(meeting.values["mass"]), numbers.sum_error
    moved = [meeting.again(mass=max(mass - error, 0.0)), meeting.again(mass=min(mass + error, 1.0))]
    fewest, most = map(len, moved)

    def distance(token: int) -> tuple[float, float]:
        place = places[token]
        surprise = numbers.surprises[place]
        wrong = numbers.errors[place] + 6 * U * (surprise + entropy + 1) + numbers.entropy_error
        return abs(surprise - entropy), wrong + 4 * meeting.apart * (1 + spread)

    close = impossible and meeting.apart > 0
    if not impossible:
        every = sorted(distance(token) for token in meeting.ours.before.tokens)
        close = any(
            one[0] != two[0] and two[0] - one[0] <= one[1] + two[1] for one, two in pairwise(every)
        )
    meeting.demand(close or fewest < most)
    if impossible or not close:
        meeting.demand(close or fewest <= len(theirs) <= most)
        meeting.demand(close or all(map(int.__eq__, ours, theirs)))
        raise Decided
    cuts = [distance(tokens[-1]) for tokens in moved]
    for token in set(ours) ^ set(theirs):
        own, wrong = distance(token)
        slack = 2 * (wrong + max(cut[1] for cut in cuts))
        meeting.demand(
            min(cut[0] for cut in cuts) - slack <= own <= max(cut[0] for cut in cuts) + slack
        )
    raise Decided


CHECKS: dict[str, Callable[[Meeting], None]] = {
    "top_n_sigma": _check_top_n_sigma,
    "top_k": _check_top_k,
    "typical": _check_typical,
    "top_p": _check_top_p,
    "min_p": _check_min_p,
    "xtc": _check_xtc,
    "dynamic_temperature": _check_top_k,
    "mirostat_1": _check_mirostat_1,
    "mirostat_2": _check_mirostat_2,
}


def _apart(meeting: Meeting) -> float:
    """Return how far the logits lie apart now, which must be within what rounding can do."""
    before = dict(zip(meeting.ours.before.tokens, meeting.numbers.logits, strict=True))
    bound = _bound(meeting)
    apart = 0.0
    after = [float(logit) for logit in meeting.ours.after.true_logits()]
    theirs = map(float, meeting.theirs.after.logits)  # 32-bit numbers would go on rounding
    for token, one, two in zip(meeting.ours.after.tokens, after, theirs, strict=False):
        if (one == -inf) != (two == -inf):
            assert max(one, two) < -3e38 or meeting.stage.step == "dynamic_temperature"
            raise Decided
        if one > -inf:
            meeting.demand(abs(one - two) <= bound(before[token], one) + TINY)
            apart = max(apart, abs(one - two))
    return apart


def _bound(meeting: Meeting) -> Callable[[float, float], float]:
    """Return how far a logit may lie apart behind a stage, from what it was and what it is."""
    step, values, apart = meeting.stage.step, meeting.values, meeting.apart
    if step in {"logit_bias", "dry"}:
        return lambda was, now: apart + 8 * U * (abs(was) + abs(now))
    if step == "penalties":
        most = max(values["repetition"], 1 / values["repetition"])
        return lambda was, now: most * apart + 8 * U * (most * abs(was) + abs(now))
    if step == "temperature" and values["temperature"] > 0:
        temperature = float(values["temperature"])
        return lambda _, now: apart / temperature + 2 * U * abs(now)
    if step == "dynamic_temperature" and len(meeting.numbers.logits) > 1:
        low, high = _bounds_of_temperature(meeting)
        if low <= 0:
            return lambda *_: inf
        ratio = 1 / low - 1 / high
        return lambda was, now: MORE * (apart / low + abs(was) * ratio + 4 * U * abs(now))
    if step == "adaptive_p":
        aims = [_aim(question, values) for question in (meeting.question, meeting.rounded)]
        pairs = zip(meeting.numbers.shares, meeting.numbers.errors, strict=True)
        error = max(share * error for share, error in pairs if share > TINY) + abs(
            aims[0] - aims[1]
        )
        return lambda *_: 34 * (error + 8 * U) + 400 * U
    return lambda *_: apart


def _bounds_of_temperature(meeting: Meeting) -> tuple[float, float]:
    numbers, values = meeting.numbers, meeting.values
    middle, half = float(values["temperature"]), float(values["spread"])
    low, high = max(0.0, middle - half), middle + half
    pairs = zip(numbers.shares, numbers.surprises, strict=True)
    size = len(numbers.logits)
    share = sum(p * s for p, s in pairs if p) / log(size)
    error = MORE * (numbers.entropy_error / log(size) + 10 * U * (share + 1))
    ends = [max(share - error, 0.0), share + error]
    found = [low + (high - low) * end ** float(values["exponent"]) for end in ends]
    return found[0] * (1 - 16 * U), found[1] * (1 + 16 * U)


def _aim(question: Evaluation, values: Mapping[str, Any]) -> float:
    past = question.situation.state.get("past")
    target = float(values["target"])
    return 2 * target - float(past[0]) / float(past[1]) if past else target
