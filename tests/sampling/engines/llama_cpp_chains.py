"""Random chains of llama.cpp's samplers, and rows on which they go wrong."""

from array import array
from math import inf
from random import Random
from typing import Any

KINDS = ("gaussian", "tied", "integers", "peaked", "flat", "impossible", "wide", "narrow")
FILTERS = (
    *("logit_bias", "penalties", "dry", "top_n_sigma", "top_k", "typical", "top_p", "min_p"),
    *("xtc", "temp", "temp_ext"),
)
SELECTORS = ("dist", "greedy", "mirostat", "mirostat_v2", "adaptive_p")
DEFAULT_CHAIN = (*FILTERS[:9], "temp_ext", "dist")
"""The order of the engine's programs."""


def random_of(seed: object) -> Random:
    return Random(str(seed))


def in_32_bits(numbers: list[float]) -> list[float]:
    return array("f", numbers).tolist()


def row_of(random: Random, size: int, kind: str) -> list[float]:
    """Return a row of a kind."""
    makers = {
        "gaussian": lambda: random.gauss(0, 3),
        "tied": lambda: random.choice([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0]),
        "integers": lambda: float(round(random.gauss(0, 4))),
        "peaked": lambda: random.gauss(0, 2),
        "flat": lambda: 1.5,
        "impossible": lambda: random.choice([-inf, -inf, 1.0, random.gauss(0, 3)]),
        "wide": lambda: random.uniform(-200, 200),
        "narrow": lambda: random.gauss(0, 1e-6),
    }
    row = [makers[kind]() for _ in range(size)]
    if kind == "peaked":
        row[random.randrange(size)] = random.choice([15.0, 30.0, 60.0])
    if kind == "impossible":
        row[random.randrange(size)] = 2.0
    return in_32_bits(row)


def candidates_of(random: Random, size: int, kind: str) -> tuple[list[int], list[float], bool]:
    """Return tokens, logits and the flag: as in the vocabulary, shuffled, or sorted."""
    logits, tokens = row_of(random, size, kind), list(range(size))
    order = random.choice(["vocabulary"] * 3 + ["shuffled", "sorted"])
    if order == "shuffled":
        random.shuffle(tokens)
    if order == "sorted":
        tokens.sort(key=lambda token: -logits[token])
        return tokens, sorted(logits, reverse=True), True
    return tokens, logits, False


def sampler_of(random: Random, name: str, size: int) -> list[Any]:
    """Return a sampler with parameters that reach every branch of it."""
    pick = random.choice
    share = pick([0.0, 0.1, 0.5, 0.9, 0.95, 0.9999, 1.0, random.random()])
    min_keep = pick([0, 0, 0, 1, 2, 5, 50])
    seed = random.randrange(2**32 - 1)  # the last one asks for a random seed
    target, rate = pick([1.0, 3.0, 5.0, 8 * random.random()]), pick([0.1, 0.3, 1.0])
    biases = [
        [random.randrange(size), pick([-inf, 1.0, -1.0, random.gauss(0, 3)])]
        for _ in range(random.randrange(5))
    ]
    arguments: dict[str, list[Any]] = {
        "logit_bias": [size, biases],
        "penalties": [
            size,
            pick([0, -1, 1, 2, 5, 64]),
            pick([1.0, 1.0, 1.1, 1.5, 0.7, 2.0]),
            pick([0.0, 0.0, 0.1, 0.5, -0.3]),
            pick([0.0, 0.0, 0.2, 0.5]),
        ],
        "dry": dry_of(random, size),
        "top_n_sigma": [pick([-1.0, 0.0, 0.5, 1.0, 2.0, 3 * random.random()])],
        "top_k": [pick([0, -1, 1, 2, 3, 10, 40, 128, 129, 200, 1000, size])],
        "typical": [share, min_keep],
        "top_p": [share, min_keep],
        "min_p": [pick([0.0, 0.01, 0.1, 0.5, 0.9, 1.0, 1.2, random.random()]), min_keep],
        "xtc": [
            pick([0.0, 0.3, 0.5, 1.0, random.random()]),
            pick([0.0, 0.05, 0.1, 0.5, 0.6, random.random() / 2]),
            min_keep,
            seed,
        ],
        "temp": [pick([0.0, -1.0, 0.1, 0.8, 1.0, 2 * random.random()])],
        "temp_ext": [
            pick([0.0, 0.5, 0.8, 1.0, 2 * random.random()]),
            pick([0.0, 0.0, 0.3, 0.5, 1.0, 2.0]),
            pick([1.0, 0.5, 2.0, 3 * random.random()]),
        ],
        "dist": [seed],
        "greedy": [],
        "mirostat": [size, seed, target, rate, pick([100, 100, 2, 5, 10])],
        "mirostat_v2": [seed, target, rate],
        "adaptive_p": [
            pick([-1.0, 0.0, 0.1, 0.5, 1.0, 1.5, random.random()]),
            pick([0.0, 0.5, 0.9, 1.0, -1.0]),
            seed,
        ],
    }
    return [name, *arguments[name]]


def dry_of(random: Random, size: int) -> list[Any]:
    """Return the arguments of DRY; breakers only where it is on (see `test_llama_cpp.py`)."""
    multiplier, window = random.choice([0.0, 0.8, 1.0, 2.0]), random.choice([0, -1, 3, 8, 64])
    base = random.choice([1.0, 1.75, 1.1, 1.0000005, 2.5, 60.0])
    breakers: list[list[int]] = []
    if multiplier and window > 0:
        breakers = [
            [random.randrange(min(size, 4)) for _ in range(random.choice([1, 1, 2, 3]))]
            for _ in range(random.choice([0, 0, 1, 2, 3]))
        ]
    return [multiplier, base, random.choice([0, 1, 2, 2, 3, 5]), window, breakers]


def history_of(random: Random, size: int) -> list[int]:
    """Return a history in which few tokens repeat."""
    most = min(size, random.choice([2, 4, size]))
    return [random.randrange(most) for _ in range(random.choice([0, 3, 10, 80]))]
