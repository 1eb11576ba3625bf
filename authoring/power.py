"""How many seeded bugs do popular tests of samplers detect? The numbers of the book's chapter 9.

Each test compares a mutant with the reference on ordinary rows with ordinary parameters. A bug
is detected if the test fails on any of them.

cosine           the cosine similarity of the two distributions is at least 0.999
difference       no probability differs by more than 0.001
chi-square, G    10,000 drawn tokens are likely under the right distribution, at a level of 1 %
                 for all rows together
given uniforms   10,000 random numbers give the same tokens

Filters and changes of a row have a distribution: softmax of what is left. A mutant of a draw has
none that could be read off, so evenly spaced random numbers take its place.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import exp, hypot, inf, log
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from scipy.stats import chi2

from authoring.attestation.pages import with_part
from authoring.mutants.mutant import Mutant
from authoring.mutants.table import MUTANTS
from tokenref.answers import Ok, Unsupported
from tokenref.engines.reference import ReferenceEngine
from tokenref.floats import nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import SAMPLER_OPS
from tokenref.subjects import SAMPLERS, load_subject

TESTS: Final = ("cosine", "difference", "chi-square", "G", "given uniforms")
SIMILAR: Final = 0.999
SMALL: Final = 0.001
LEVEL: Final = 0.01
ROWS: Final = 8
TOKENS: Final = 500
DRAWS: Final = 10_000
SINGLE_DRAWS: Final = 1024
"""For mutants of draws, which must be asked about each random number."""

PARAMETERS: Final[Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "filters": {
        "top_k": {"k": 40},
        "top_p": {"p": 0.95},
        "min_p": {"m": 0.05},
        "typical": {"mass": 0.95},
        "epsilon": {"cutoff": 0.0005},
        "eta": {"cutoff": 0.0005},
        "top_n_sigma": {"n": 1.0},
        "top_a": {"a": 0.2},
        "tail_free": {"z": 0.95},
        "top_h": {"alpha": 0.4},
    },
    "changes of a row": {
        "repetition_penalty": {"penalty": 1.1},
        "frequency_penalty": {"penalty": 0.5},
        "presence_penalty": {"penalty": 0.5},
        "no_repeat_ngram": {"ngram_size": 3},
        "dry": {"multiplier": 0.8},
        "lz": {"strength": 0.15},
        "temperature": {"temperature": 0.8},
        "softmax": {},
    },
    "draws": {"draw": {}},
}
"""The operations that are measured, by kind, each with parameters that people use."""

KINDS: Final = {op: kind for kind, ops in PARAMETERS.items() for op in ops}
"""The kind of each operation that is measured."""

Shares: TypeAlias = Sequence[float]


class Seen(NamedTuple):
    """What tests compare: the distribution of one side, and its tokens for given uniforms.

    The distribution of a draw is that of evenly spaced random numbers, and so only nearly `law`.
    """

    shares: Shares
    tokens: Sequence[int]
    law: Shares


@cache
def rows() -> Sequence[Sequence[float]]:
    """Return ordinary rows: logits with a normal distribution."""
    random = Random(1)
    return [[nearest(random.gauss(0, 3), "f32") for _ in range(TOKENS)] for _ in range(ROWS)]


@cache
def uniforms(count: int) -> Sequence[float]:
    """Return random numbers in [0, 1) that 32-bit floats can hold."""
    random = Random(2)
    return [random.getrandbits(24) / 2**24 for _ in range(count)]


def question(op: str, parameters: Mapping[str, float], number: int) -> dict[str, Any]:
    """Return the question about one of the rows."""
    row = rows()[number]
    if op == "draw":
        return {"probs": pack(shares_to_draw_from())}
    asked: dict[str, Any] = {"logits": pack(row)}
    if op in PARAMETERS["changes of a row"] and op != "softmax":
        random = Random(number)
        likely = sorted(range(TOKENS), key=row.__getitem__, reverse=True)[:10]
        asked |= {"history": random.choices(likely, k=60), "prompt_length": 0}
    if op != "softmax":
        values = {
            name: nearest(value, "f32") if isinstance(value, float) else value
            for name, value in parameters.items()
        }
        asked["params"] = pack_parameters(values)
    return asked


@cache
def shares_to_draw_from() -> Sequence[float]:
    """Return the probabilities of the first row, in 32 bits."""
    return [nearest(share, "f32") for share in softmax(rows()[0])]


def softmax(logits: Sequence[float]) -> list[float]:
    """Return the probabilities of logits.

    >>> softmax([1.0, 1.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    best = max(logits)
    weights = [exp(logit - best) for logit in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def shares_of(out: Mapping[str, Any], row: Sequence[float]) -> list[float]:
    """Return the distribution of an answer: kept tokens, a changed row, or probabilities.

    >>> shares_of({"keep": [0, 1]}, [2.0, 2.0, 9.0])
    [0.5, 0.5, 0.0]
    """
    if "keep" in out:
        kept = set(out["keep"])
        return softmax([logit if token in kept else -inf for token, logit in enumerate(row)])
    if "probs" in out:
        return list(unpack(out["probs"]))
    return softmax(unpack(out["logits"]))


def tokens_of(shares: Shares, numbers: Iterable[float]) -> list[int]:
    """Return the token that each random number draws by inverse CDF.

    >>> tokens_of([0.5, 0.0, 0.5], [0.25, 0.5, 0.75])
    [0, 2, 2]
    """
    sums = list(accumulate(shares))
    last = max(token for token, share in enumerate(shares) if share > 0)
    return [min(bisect_right(sums, number * sums[-1]), last) for number in numbers]


def seen_by(engine: ReferenceEngine, op: str, profile: str, number: int) -> Seen | None:
    """Return what an engine shows of one row; None if it gives no usable answer."""
    session = load_subject(engine, SAMPLERS, "samplers", profile)
    asked = question(op, PARAMETERS[KINDS[op]][op], number)

    def answered(request: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(session, Unsupported):
            raise TypeError(session)
        answer = session.answer(op, request)
        if not isinstance(answer, Ok):
            raise TypeError(answer)
        return answer.out

    try:
        if op != "draw":
            shares = shares_of(answered(asked), rows()[number])
            return Seen(shares, tokens_of(shares, uniforms(DRAWS)), shares)

        def drawn(uniform: float) -> int:
            return int(answered({**asked, "uniforms": pack([uniform])})["token"])

        even = Counter(drawn((place + 0.5) / SINGLE_DRAWS) for place in range(SINGLE_DRAWS))
        shares = [even[token] / SINGLE_DRAWS for token in range(TOKENS)]
        tokens = [drawn(uniform) for uniform in uniforms(SINGLE_DRAWS)]
        return Seen(shares, tokens, shares_to_draw_from())
    except Exception:  # noqa: BLE001 - a mutant may raise anything
        return None


@cache
def right(op: str, profile: str, number: int) -> Seen:
    """Return what the reference shows of one row."""
    seen = seen_by(ReferenceEngine(), op, profile, number)
    if seen is None:
        raise ValueError(f"the reference must answer {op} by {profile}")
    return seen


def cosine(one: Shares, other: Shares) -> float:
    """Return the cosine similarity of two distributions.

    >>> cosine([1.0, 0.0], [0.0, 1.0]), cosine([0.5, 0.5], [0.25, 0.25])
    (0.0, 1.0)
    """
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return round(dot / hypot(*one) / hypot(*other), 12)


def p_values(shares: Shares, tokens: Sequence[int]) -> tuple[float, float]:
    """Return how likely such tokens or stranger ones are, by chi-square and by G.

    Tokens that are expected fewer than five times are counted together.

    >>> p_values([0.5, 0.5], [0] * 50 + [1] * 50), p_values([0.5, 0.5, 0.0], [0, 2])
    ((1.0, 1.0), (0.0, 0.0))
    """
    counts = Counter(tokens)
    if any(shares[token] == 0 for token in counts):
        return 0.0, 0.0
    common = [token for token, share in enumerate(shares) if share * len(tokens) >= 5]
    pairs = [(counts[token], shares[token] * len(tokens)) for token in common]
    rest = len(tokens) - sum(expected for _, expected in pairs)
    if rest > 1e-9 * len(tokens):
        pairs.append((len(tokens) - sum(observed for observed, _ in pairs), rest))
    square = sum((observed - expected) ** 2 / expected for observed, expected in pairs)
    likelihood = sum(
        observed * log(observed / expected) for observed, expected in pairs if observed
    )
    freedom = max(len(pairs) - 1, 1)
    return float(chi2.sf(square, freedom)), float(chi2.sf(2 * likelihood, freedom))


@dataclass(frozen=True)
class Result:
    """What the tests say about one mutant."""

    mutant: Mutant
    kind: str
    detected: frozenset[str]
    similarity: float
    """The smallest cosine similarity."""


def measured(mutant: Mutant) -> Result:
    """Return which tests detect a mutant on the ordinary rows."""
    op, profile = mutant.witness.op, mutant.witness.profile
    kind = KINDS[op]
    detected: set[str] = set()
    similarity = 1.0
    numbers = range(1 if kind == "draws" else ROWS)
    for number in numbers:
        wanted = right(op, profile, number)
        seen = seen_by(mutant.engine, op, profile, number)
        if seen is None or len(seen.shares) != len(wanted.shares):
            return Result(mutant, kind, frozenset(TESTS), 0.0)
        nearness = cosine(wanted.shares, seen.shares)
        similarity = min(similarity, nearness)
        both = zip(wanted.shares, seen.shares, strict=True)
        square, likelihood = p_values(wanted.law, seen.tokens)
        fails = {
            "cosine": nearness < SIMILAR,
            "difference": max(abs(one - other) for one, other in both) > SMALL,
            "chi-square": square < LEVEL / len(numbers),
            "G": likelihood < LEVEL / len(numbers),
            "given uniforms": seen.tokens != wanted.tokens,
        }
        detected |= {name for name, does_fail in fails.items() if does_fail}
    return Result(mutant, kind, frozenset(detected), similarity)


def results() -> list[Result]:
    """Return what the tests say about all mutants of the measured operations."""
    return [
        measured(mutant)
        for mutant in MUTANTS.values()
        if mutant.witness.op in KINDS and not is_race(mutant)
    ]


def is_race(mutant: Mutant) -> bool:
    """Return whether a mutant draws with a random number for each token."""
    return mutant.witness.op == "draw" and mutant.witness.profile.startswith("method.")


PAGE: Final = Path("docs/book/oracles.md")
MARK: Final = "<!-- power of tests: written by `python -m authoring power` -->"


def page(old: str) -> str:
    """Return the page with the measured table in its place."""
    return with_part(str(PAGE), old, MARK, [*table(results()), ""])


def table(found: Sequence[Result]) -> list[str]:
    """Return the lines of the table, and the mutants that look most alike."""
    lines = [f"| bugs in | seeded | {' | '.join(TESTS)} | golden records |"]
    lines.append("| --- |" + " ---: |" * (len(TESTS) + 2))
    for kind in (*PARAMETERS, "all"):
        group = [result for result in found if kind in {"all", result.kind}]
        counts = [sum(test in result.detected for result in group) for test in TESTS]
        cells = [f"{count} ({100 * count / len(group):.0f} %)" for count in counts]
        lines.append(f"| {kind} | {len(group)} | {' | '.join(cells)} | {len(group)} (100 %) |")
    left_out = sum(mutant.witness.op in SAMPLER_OPS for mutant in MUTANTS.values()) - len(found)
    lines += [
        "",
        f"{left_out} more seeded bugs in samplers are of other kinds and not measured: chains,",
    ]
    lines += ["batches, masks, random generators, speculative decoding, and others."]
    filters = [result for result in found if result.kind == "filters"]
    blind = [result for result in filters if "cosine" not in result.detected]
    seen = [result for result in blind if "given uniforms" in result.detected]
    lines += [
        "",
        "Of the bugs of filters that change tokens, cosine similarity notices these three least:",
        "",
    ]
    for result in sorted(seen, key=lambda each: -each.similarity)[:3]:
        lines.append(
            f"* `{result.mutant.name}`, {result.similarity:.6f}: {result.mutant.description}"
        )
    return lines
