"""The rules that the steps of an engine follow, and which questions about rules they can answer.

An engine makes one choice at each point that the definition of a step leaves open. A record about a
rule with another choice can still be asked if the point does not matter to its question: ties do
not matter to a row without equal numbers, and what a parameter of 0 means does not matter to other
values. Whether a point matters depends on the question alone, never on the engine's answer. Nor
need an engine have a parameter without which the question has the same answer.

Penalties
    Whoever calls an engine's penalty chooses the tokens that it counts. So an engine can follow a
    rule that counts only the prompt, or skips tokens: it is given the others.

Probabilities
    An engine that only takes logits is given logarithms. Its own softmax of them must return
    exactly the probabilities of the question, or the question must be clear: no threshold and no
    sum that decides it is so near that the rounding of the softmax could matter.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, inf, isfinite, log, nan, nextafter
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from sampling_ref.numbers.binary32 import to_binary32
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.floats import LONGEST, FloatsError, cut_floats, to_digits, type_of, unpack
from tokenref.rules import all_choices, choices_of, rule_name, rule_names

_ERROR: Final = 1e-6
"""How far a sum of probabilities calculated from logits may be off, in 32 bits."""

_CLEAR: Final = 1e-5
"""How far the numbers of a clear question are from what decides it, relative to the larger one."""

_COMPARED: Final = frozenset(
    {"top_h", "decaying_penalties", "repetition_penalty", "presence_penalty", "frequency_penalty"}
)
"""Operations whose rules are compared by their answers also for rows of logits."""

PREFIXES: Final = frozenset({"tail_free", "top_h"})
"""Filters whose answer shows whether ties matter: they keep as many tokens as a sum says."""

_TRIES: Final = 40
"""How often logarithms are corrected by one unit in the last place."""


class NotExpressibleError(Exception):
    """A question that cannot be expressed for the engine. The message says why."""


class InvalidParameterError(Exception):
    """A parameter that the engine refuses. The message is the beginning of the engine's."""


class SamplerSession:
    """A selected profile of an engine, which not every question can be expressed for."""

    start: ClassVar[Callable[[], object]] = staticmethod(lambda: None)
    """Loads the engine at once, so that no answer is slow because of it."""

    refusing: ClassVar[tuple[type[Exception], ...]] = (InvalidParameterError,)
    """What is raised about a parameter that the engine refuses."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        type(self).start()

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer a request."""
        try:
            own = self._rule(op)
            counted = own.with_counted(op, self.profile, request) if own else None
            if counted:
                profile, question = counted
                return type(self)(profile)._answered(op, question)  # noqa: SLF001 - its own
            return self._answered(op, request)
        except NotExpressibleError as error:
            return Unsupported(str(error))
        except Exception as error:
            found = self._refused(error)
            if found is None:
                raise
            return found

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer a request, or raise `NotExpressibleError` or what `_refused` knows."""
        raise NotImplementedError

    def _rule(self, op: str) -> "OwnRule | None":
        """Return the rule of a step that counts the tokens that it is given, or None."""
        return None

    def _refused(self, error: Exception) -> Answer | None:
        """Return what an exception of the engine answers, or None for a crash."""
        if isinstance(error, self.refusing):
            return Refused("INVALID_PARAMETER", " ".join(str(error).split())[:300])
        return None


def must_be_within(params: Mapping[str, Any], intervals: Mapping[str, tuple[float, float]]) -> None:
    """Raise `NotExpressibleError` for a parameter that the engine does not take.

    >>> must_be_within({"temperature": 0.001}, {"temperature": (0.01, 2.0)})
    Traceback (most recent call last):
    tokenref.engines.own_rules.NotExpressibleError: only takes a temperature from 0.01 to 2.0
    """
    for name, (least, most) in intervals.items():
        value = params.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            raise NotExpressibleError(f"only takes a {name} from {least} to {most}")


@dataclass(frozen=True)
class OwnRule:
    """The rule that an engine's step follows, and the engine's names of its parameters.

    >>> own = OwnRule("ties.all", {"k": "top_k"})
    >>> equal = {"logits": {"f32": "3f8000003f800000"}}
    >>> own.parameters("top_k", "ties.all", {"k": 1}, equal)
    {'top_k': 1}
    >>> own.parameters("top_k", "standard", {"k": 2}, equal)
    {'top_k': 2}
    >>> own.parameters("top_k", "standard", {"k": 1}, equal)
    Traceback (most recent call last):
    tokenref.engines.own_rules.NotExpressibleError: its top_k decides otherwise about ties
    """

    rule: str
    names: Mapping[str, str]
    off: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Values of the rule's parameters that disable the engine's step."""

    undefined: frozenset[str] = frozenset()
    """Points at which the engine does not define what it does."""

    def parameters(
        self, op: str, profile: str, given: Mapping[str, Any], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return a record's parameters under the engine's names.

        Raises `NotExpressibleError` for a rule that decides otherwise about this row, for
        parameters that the engine lacks, and for values with another meaning in the engine.
        """
        choices, own = choices_of(op, profile), choices_of(op, self.rule)
        if choices is None or own is None:
            raise NotExpressibleError(f"its {op} follows the rule {self.rule}, not {profile}")
        for name in given:
            if name not in self.names:
                request = _without(op, profile, name, request)
        given = {name: value for name, value in given.items() if name in self.names}
        wanted, mine = all_choices(op, choices), all_choices(op, own)
        for point, choice in mine.items():
            is_other = wanted[point] != choice
            if (is_other or point in self.undefined) and _matters(
                op, point, (wanted[point], choice), given, request
            ):
                is_open = point in self.undefined or point == "arithmetic"
                if not is_open and self._agrees(op, profile, request):
                    continue
                raise NotExpressibleError(f"its {op} decides otherwise about {point}")
        for name in given:
            if given[name] in self.off.get(name, ()):
                raise NotExpressibleError(f"{given[name]} disables its {op}")
        return {self.names[name]: value for name, value in given.items()}

    def with_counted(
        self, op: str, profile: str, request: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]] | None:
        """Return a rule and a question whose history has only the tokens that a penalty counts.

        A function counts the tokens that its caller passes. So one that looks at the output or at
        everything is given the prompt, or all tokens that are not skipped. Returns None if the
        question can stay as it is.

        >>> own = OwnRule("standard", {"penalty": "penalty"})
        >>> question = {"history": [3, 1, 2], "prompt_length": 2, "params": {}}
        >>> rule, counted = own.with_counted("presence_penalty", "scope.prompt", question)
        >>> rule, counted["history"], counted["prompt_length"]
        ('standard', [3, 1], 0)
        """
        choices, own = choices_of(op, profile), choices_of(op, self.rule)
        if choices is None or own is None or "history" not in request:
            return None
        params, scope = dict(request["params"]), all_choices(op, choices).get("scope")
        skipped = 0 if "skipped" in self.names else params.pop("skipped", 0)
        history, prompt_length = request["history"], request.get("prompt_length", 0)
        is_valid = type(skipped) is int and skipped >= 0 and prompt_length <= len(history)
        if scope is None or not is_valid or (scope != "prompt" and not skipped):
            return None
        if op != "repetition_penalty":  # the others skip tokens of the prompt only
            skipped = min(skipped, prompt_length)
        begin = max(skipped, prompt_length) if scope == "output" else skipped
        seen = history[begin : prompt_length if scope == "prompt" else None]
        rule = rule_name(op, **{**choices, "scope": all_choices(op, own)["scope"]})
        return rule, {**request, "params": params, "history": seen, "prompt_length": 0}

    def _agrees(self, op: str, profile: str, request: Mapping[str, Any]) -> bool:
        """Return whether both rules have one answer to a question, by the reference.

        A draw may have the same token by chance, so draws are not compared, nor sums of
        probabilities that an engine rounds. Nor does the reference show what rounding does.
        """
        is_exact = "probs" in request or op in _COMPARED
        if not is_exact or "params" not in request or ("uniforms" in request and op != "xtc"):
            return False
        one, other = (_answer_of(rule, op, request) for rule in (profile, self.rule))
        if isinstance(one, Refused) and isinstance(other, Refused):
            return one.code == other.code == "INVALID_PARAMETER"
        return isinstance(one, Ok) and one == other


def _answer_of(rule: str, op: str, request: Mapping[str, Any]) -> Answer:
    from tokenref.engines.reference import ReferenceEngine

    answer: Answer = ReferenceEngine().load_profile(rule).answer(op, request)
    return answer


def _without(op: str, rule: str, name: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a question without a parameter that does not change its answer, by the reference."""
    others = {other: value for other, value in request["params"].items() if other != name}
    left = {**request, "params": others}
    if "uniforms" not in request or op == "xtc":
        answer = _answer_of(rule, op, request)
        if isinstance(answer, Ok) and answer == _answer_of(rule, op, left):
            return left
    raise NotExpressibleError(f"its {op} has no equivalent of the parameter {name}")


def _matters(  # noqa: PLR0911
    op: str,
    point: str,
    choices: tuple[Any, Any],
    given: Mapping[str, Any],
    request: Mapping[str, Any],
) -> bool:
    """Return whether two choices at a point can differ in their answer to a question."""
    numbers = [value for value in given.values() if isinstance(value, int | float)]
    history, prompt_length = request.get("history", []), request.get("prompt_length", 0)
    match point:
        case "ties":  # or `check_ties` looks at the answer
            return op not in PREFIXES and _splits_equals(op, given, request)
        case "boundary" if op == "top_p" and {*choices} == {"reach", "exceed"}:
            return _meets_a_sum(given["p"], request)
        case "zero" | "above_one" | "beyond":
            possible = sum(count for _, count, _ in _groups(request).groups)
            least = {"zero": 0, "above_one": nextafter(1, inf), "beyond": possible}[point]
            return any(number == 0 if point == "zero" else number >= least for number in numbers)
        case "scope" | "additive_scope":
            parts = [_part(history, prompt_length, scope) for scope in choices]
            return parts[0] != parts[1]
        case "counting":
            return len(set(history)) < len(history)
        case "arithmetic" if op in {"repetition_penalty", "frequency_penalty"}:
            rounds = _rounds_otherwise if op == "repetition_penalty" else _rounds_at_all
            return rounds(request, float(given.get("penalty", 1)), history)
        case "undrafted" | "if_equal" | "equality" if op == "speculative":
            return _has_odd_draft(point, given.get("weight", 1), request)
        case "coin" | "equality":
            is_met = given.get("probability") in unpack(request.get("uniforms", {"f64": ""}))
            return is_met if point == "coin" else not is_clear(op, given, request)
    if (op, point) == ("adaptive_p", "boundary"):
        return False  # the engine's running sums show it
    return point != "base"  # the row of a single step is whole


def _rounds_otherwise(request: Mapping[str, Any], penalty: float, history: Sequence[int]) -> bool:
    """Return whether the reciprocal of a penalty gives other quotients in 32 bits."""
    row, tokens = _row(request), set(history)
    if not 0 < penalty < inf or not all(0 <= token < len(row) for token in tokens):
        return True
    if not all(-inf <= logit < inf for logit in row):
        return True
    reciprocal, logits = to_binary32(1 / penalty), {row[token] for token in tokens} - {-inf}
    return not row or any(
        to_binary32(logit / penalty) != to_binary32(logit * reciprocal) for logit in logits
    )


def _rounds_at_all(request: Mapping[str, Any], penalty: float, history: Sequence[int]) -> bool:
    """Return whether the type of the row rounds a penalty, or what is left after each one."""
    row, dtype = _row(request), type_of(request["logits"])
    counts = {token: count for token, count in Counter(history).items() if token in range(len(row))}
    if not isfinite(penalty) or len(counts) < len(set(history)) or dtype == "f64":
        return True
    for token, count in counts.items():
        logit = Fraction(row[token]) if isfinite(row[token]) else Fraction()
        left = [logit - one * Fraction(penalty) for one in range(count + 1)]
        try:
            to_digits([penalty, *map(float, left)], dtype)
        except FloatsError:
            return True
        if any(float(number) != number for number in left):
            return True
    return False


def _has_odd_draft(point: str, weight: float, request: Mapping[str, Any]) -> bool:
    """Return whether a draft row gives its token nothing, or is equal to its target row.

    For "equality", return whether a random number is the ratio of its draft.
    """
    every = zip(request["tokens"], request["draft"], request["target"], strict=False)
    rows = [(token, unpack(draft), unpack(target)) for token, draft, target in every]
    if point == "undrafted":
        return any(not any(draft[token : token + 1]) for token, draft, _ in rows)
    if point == "if_equal":
        return any(draft == target for _, draft, target in rows)
    w = Fraction(weight)
    return any(
        Fraction(number) * Fraction(draft[token])
        == (1 - w) * Fraction(draft[token]) + w * Fraction(target[token])
        for number, (token, draft, target) in zip(unpack(request["uniforms"]), rows, strict=False)
    )


def _part(history: Sequence[int], prompt_length: int, scope: str) -> Sequence[int]:
    """Return the tokens that a penalty counts."""
    if scope == "all":
        return history
    return history[:prompt_length] if scope == "prompt" else history[prompt_length:]


def _row(request: Mapping[str, Any]) -> list[float]:
    return unpack(request["probs"] if "probs" in request else request["logits"])


class _Groups(NamedTuple):
    """The groups of equal tokens of a row, by falling probability.

    Probabilities of a question are exact: integers, as parts of `whole`. Those of logits are
    floats, as parts of 1.
    """

    groups: Sequence[tuple[Any, int, Any]]
    """For each: the sum of the tokens before it, their number, and what each of them has."""

    whole: float
    error: float
    """How far a sum may be off."""

    def part(self, share: float) -> Any:
        """Return a share, which is finite, as a part of the whole."""
        return share if self.error else Fraction(share) * Fraction(self.whole)


def _groups(request: Mapping[str, Any]) -> _Groups:
    is_exact = "probs" in request
    return _groups_of(msgspec.json.encode(request["probs" if is_exact else "logits"]), is_exact)


@lru_cache(maxsize=256)  # records about several operations share 225 rows
def _groups_of(encoded: bytes, is_exact: bool) -> _Groups:
    row = Counter(n for n in unpack(msgspec.json.decode(encoded)) if -inf < n < inf)
    counts = sorted(row.items(), reverse=True)
    weights: list[Any]
    if is_exact:
        counts = [(share, count) for share, count in counts if share > 0]
        ratios = [share.as_integer_ratio() for share, _ in counts]
        unit = max((below for _, below in ratios), default=1)
        weights = [above * (unit // below) for above, below in ratios]
    else:
        weights = [exp(logit - counts[0][0]) for logit, _ in counts]
        whole = sum(weight * count for weight, (_, count) in zip(weights, counts, strict=True))
        weights = [weight / whole for weight in weights]
    groups: list[tuple[Any, int, Any]] = []
    total: Any = 0
    for weight, (_, count) in zip(weights, counts, strict=True):
        if weight:
            groups.append((total, count, weight))
            total += weight * count
    return _Groups(groups, total or 1, 0) if is_exact else _Groups(groups, 1, _ERROR)


def _meets_a_sum(p: float, request: Mapping[str, Any]) -> bool:
    """Return whether the probabilities of the best tokens, up to any one, sum to `p`."""
    row = _groups(request)
    for total, count, each in row.groups if isfinite(p) else ():
        if total / row.whole > p + row.error:
            break
        if (total + each * count) / row.whole >= p - row.error:
            taken = min(max(round((row.part(p) - total) / each), 0), count)
            if abs((total + each * taken) / row.whole - p) <= row.error:
                return True
    return False


def _splits_equals(op: str, given: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Return whether a filter can keep some of equal tokens, and not all."""
    row = _groups(request)
    if op == "typical":  # whose ties are of distances, which need not be of equal tokens
        shares = [(each / row.whole, count) for _, count, each in row.groups]
        entropy = -sum(count * share * log(share) for share, count in shares)
        distances = sorted(abs(-log(share) - entropy) for share, _ in shares)
        is_near = any(far - near < _ERROR for near, far in pairwise(distances))
        return is_near or any(count > 1 for _, count in shares)
    if op == "xtc":  # which keeps the last token that reaches the threshold
        line = given["threshold"]
        least = row.part(line) - row.error if isfinite(line) else line
        reaching = [count for _, count, each in row.groups if each >= least]
        return any(count > 1 for count in reaching[-1:])
    if op not in {"top_k", "top_p", "min_p", "top_a", "epsilon", "eta"}:
        return any(count > 1 for _, count, _ in row.groups)
    least = given.get("least", 1)
    if op in {"min_p", "top_a"} and least == 1 and given.get("m", 1) <= 1:
        return False  # they keep the best tokens anyway
    sizes, before = given.get("k", least), 0
    p = given.get("p", nan)
    for total, count, each in row.groups:
        if before < sizes < before + count:
            return True
        if op == "top_p" and count > 1:
            low, high = total / row.whole, (total + each * (count - 1)) / row.whole
            is_within = low - row.error <= p <= high + row.error
            if is_within and (row.error or row.part(p) != total):
                return True
        before += count
    return False


def check_ties(request: Mapping[str, Any], keep: Sequence[int]) -> None:
    """Raise `NotExpressibleError` if an engine keeps some of equal tokens, and not all.

    This is for engines that do not define which of them they keep.
    """
    row = _row(request)
    kept = {row[token] for token in keep}
    if sum(number in kept for number in row) > len(keep):
        raise NotExpressibleError("does not define which of equal tokens it keeps")


def is_clear(op: str, given: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Return whether a filter's answer stays the same if its numbers are slightly rounded.

    >>> halves = {"probs": {"f32": "3f0000003e8000003e800000"}}
    >>> is_clear("top_p", {"p": 0.6}, halves), is_clear("top_p", {"p": 0.5}, halves)
    (True, False)
    """
    row = _groups(request)
    groups = [(total / row.whole, count, each / row.whole) for total, count, each in row.groups]
    shares = [share for _, _, share in groups]
    if not shares or not all(_apart(one, other) for one, other in pairwise(shares)):
        return False
    entropy = -sum(count * share * log(share) for _, count, share in groups)
    match op:
        case "top_k":
            return True
        case "top_p":
            sums = (total + share * n for total, count, share in groups for n in range(count + 1))
            return all(_apart(one, given["p"]) for one in sums)
        case "min_p":
            line = given["m"] * shares[0]
        case "top_a":
            line = given["a"] * shares[0] ** 2
        case "epsilon":
            line = given["cutoff"]
        case "eta" if "scale" not in given and given["cutoff"] >= 0:
            line = min(given["cutoff"], given["cutoff"] ** 0.5 * exp(-entropy))
        case "xtc":
            line = given["threshold"]
        case "typical":
            far = sorted((abs(-log(share) - entropy), count * share) for _, count, share in groups)
            masses = accumulate(mass for _, mass in far)
            is_ordered = all(other - one > _CLEAR for (one, _), (other, _) in pairwise(far))
            is_single = all(count == 1 for _, count, _ in groups)
            return is_ordered and is_single and all(_apart(one, given["mass"]) for one in masses)
        case _:
            return False
    return all(_apart(share, line) for share in shares)


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > _CLEAR * max(abs(one), abs(other))


def profiles_of(rules: Mapping[str, OwnRule]) -> frozenset[str]:
    """Return the names of all rules of some operations.

    >>> sorted(profiles_of({"adaptive_p": OwnRule("standard", {})}))
    ['boundary.reach', 'standard']
    """
    return frozenset(name for op in rules for name in rule_names(op))


def logarithms(
    probabilities: Mapping[str, Any],
    softmax: Callable[[Sequence[float]], Sequence[float]],
    rounded: Callable[[float], float],
    *,
    clear: bool = False,
) -> list[float]:
    """Return logits from which an engine's softmax makes exactly these probabilities.

    `rounded` returns the engine's nearest number. Raises `NotExpressibleError` if none are found,
    unless the question is clear: then the logarithms are near enough.

    >>> from math import exp
    >>> plain = lambda row: [exp(logit) / sum(map(exp, row)) for logit in row]
    >>> plain(logarithms({"f32": "3f0000003f000000"}, plain, float))
    [0.5, 0.5]
    """
    wanted = unpack(probabilities)
    if not wanted or not all(0 <= share < inf for share in wanted) or not any(wanted):
        raise NotExpressibleError("accepts logits, and these are no probabilities")
    row = [rounded(log(share)) if share else -inf for share in wanted]
    if clear:
        return row
    tried: list[list[float]] = []
    while row not in tried and len(tried) < _TRIES:
        tried.append(row)
        got = softmax(row)
        if list(got) == wanted:
            return row
        row = [
            logit if has == share else rounded(nextafter(logit, inf if has < share else -inf))
            for logit, share, has in zip(row, wanted, got, strict=True)
        ]
    raise NotExpressibleError("accepts logits, and its softmax does not return these probabilities")


def check_shares(row: Any, shares: Any, cut: int | None) -> None:
    """Raise `NotExpressibleError` if rounded probabilities lose what a question is about.

    That is if a possible token has a probability of 0, or if the tokens on both sides of a cut
    behind the best `cut` have equal ones.
    """
    if int((row > -inf).sum()) != int((shares > 0).sum()):
        raise NotExpressibleError("rounds the probability of a possible token to 0")
    if cut is not None and 0 < cut < len(shares):
        falling = sorted(shares.tolist(), reverse=True)
        if falling[cut - 1] == falling[cut]:
            raise NotExpressibleError("does not define which of equal probabilities it keeps")


def checked_drafts(request: Mapping[str, Any], *, by_rows: bool = True) -> list[Any]:
    """Return the tokens, numbers and rows of drafts for an engine that does not check them.

    `by_rows` means that each draft has a row. Rows are of probabilities, unless there are steps.
    """
    tokens, numbers = request["tokens"], row_in_32_bits({"probs": request["uniforms"]})
    target, draft, count = request["target"], request["draft"], len(request["tokens"])
    laws, sizes = [unpack(row) for row in [*target, *draft]], (count + 1, count + 1)
    if (len(numbers), len(target), len(draft)) != (*sizes, count * by_rows) or by_rows > count:
        raise NotExpressibleError("verifies at least one draft, with a number and a row for each")
    if len({*map(len, laws)}) != 1 or not all(0 <= token < len(laws[0]) for token in tokens):
        raise NotExpressibleError("does not check its rows and tokens")
    if not all(0 <= number < 1 for number in numbers):
        raise NotExpressibleError("does not check its random numbers")
    if "steps" in request:
        laws = laws[len(target) :]
    if not all(min(row) >= 0 and sum(row) == 1 for row in laws):
        raise NotExpressibleError("takes probabilities that sum to 1")
    return [tokens, numbers, target, draft]


def whole_mask(words: Any, needed: int) -> list[int]:
    """Return the words of a bitmask of which a record may only list those that are not 0.

    >>> whole_mask({1: 5}, 3), whole_mask([7], 1)
    ([0, 5, 0], [7])
    """
    if isinstance(words, Mapping):
        if any(not 0 <= place < needed for place in words):
            raise NotExpressibleError("has no words beyond its row")
        words = [words.get(place, 0) for place in range(needed)]
    if len(words) != needed or not all(0 <= word < 1 << 32 for word in words):
        raise NotExpressibleError("has a mask with one bit per token in words of 32 bits")
    return list(words)


def row_in_32_bits(request: Mapping[str, Any], *, exact: bool = True) -> list[float]:
    """Return the row of a question for an engine with 32-bit rows only.

    `exact` means that the answer contains no floats. Raises `NotExpressibleError` if 32 bits
    would round the row, or the answer.
    """
    given = request["probs"] if "probs" in request else request["logits"]
    row: list[float] = unpack(given)
    if not exact and type_of(given) != "f32":
        raise NotExpressibleError(f"only has 32-bit rows, not {type_of(given)}")
    try:
        to_digits(row, "f32")
    except FloatsError:
        raise NotExpressibleError("only has 32-bit rows, which cannot represent this row") from None
    return row


def rows_of(batch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions about the rows of a batch, without the padding of the rows.

    >>> rows_of({"rows": [{"probs": {"f32": "3f80000000000000"}}], "vocab_size": 1})
    [{'probs': {'f32': '3f800000'}}]
    """
    size, numbers = batch.get("vocab_size", LONGEST), ("logits", "probs")
    return [
        {name: cut_floats(part, size) if name in numbers else part for name, part in row.items()}
        for row in batch["rows"]
    ]


def answer_batch(
    request: Mapping[str, Any],
    ops: Collection[str],
    one_step: Callable[..., list[dict[str, Any]]],
    whole: Callable[..., list[dict[str, Any]]] | None,
) -> Answer:
    """Answer the rows of a batch with one call, for an engine that processes rows together.

    `ops` are those of single steps. `whole` answers questions about the whole chain, if the profile
    has one.
    """
    op, rows = request["op"], rows_of(request)
    if op not in {"chain", "distribution", "sample"}:
        whole = None
    if op not in ops if whole is None else "layout" in request:
        return Unsupported(f"cannot process batches of {op}")
    if len({len(_row(row)) for row in rows}) > 1:
        return Unsupported("needs one vocabulary for all rows of a batch")
    found: list[dict[str, Any]] = []
    for _ in range(request.get("calls", 1)):
        layout = request.get("layout")
        found += one_step(op, rows, layout) if whole is None else whole(op, rows)
    return Ok({"rows": found})


def answer_in_order(
    request: Mapping[str, Any], sample: Callable[[dict[str, Any]], Answer]
) -> Answer:
    """Answer a sequence, for an engine that gets all accepted tokens each time.

    The first call without a token ends it.
    """
    prompt, accepted = list(request["prompt"]), list[int]()
    answers: list[int | None] = []
    for call in request["calls"]:
        answers.append(None)
        if "sample" in call:
            about = {"history": [*prompt, *accepted], "prompt_length": len(prompt)}
            answer = sample({**call["sample"], **about, "params": request["params"]})
            if not isinstance(answer, Ok):
                return answer
            answers[-1] = answer.out["token"]
        elif "accept" in call:
            accepted.append(call["accept"])
        else:
            accepted = accepted[: call.get("truncate", 0)]
    return Ok({"answers": answers})
