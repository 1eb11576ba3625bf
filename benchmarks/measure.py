"""The measurements, each made in a process of its own: `python -m benchmarks.measure NAME`.

Options come in as JSON on standard input, numbers go out as JSON on standard
output. Seconds are those of the process's own time (`time.process_time`), where
other programs on the machine disturb least; names that end in _wall are by the
clock on the wall.

A ratio to tiktoken is always of two runs that followed each other at once, and
what is reported is the median of several: a machine's speed changes from
second to second, and so both are affected alike.
"""

import gc
import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Final

from tiktoken import Encoding

import bpe_ref
from benchmarks.texts import random_letters
from bpe_ref import ENCODERS, Vocabulary, load_vocabulary

Numbers = dict[str, float]

ENOUGH_SECONDS: Final = 0.2
"""A curve's point is measured again until so much time was spent on it, or ..."""

ENOUGH_CALLS: Final = 1000
"""... until it was measured so often."""

TOO_SLOW_SECONDS: Final = 1.0
"""An encoder is not asked for longer texts once it has taken that long for one."""

_QUADRATIC: Final = frozenset({"naive", "scan"})
_ALL_IN_ONE: Final = "(?s:.+)"


@dataclass(frozen=True)
class Spent:
    """How long something took."""

    seconds: float
    seconds_wall: float


def time_of(action: Callable[[], object]) -> Spent:
    """Return how long one call takes, with nothing left over for the garbage collector.

    >>> time_of(list).seconds < 1
    True
    """
    gc.collect()
    wall, own = perf_counter(), process_time()
    action()
    return Spent(process_time() - own, perf_counter() - wall)


def as_tiktoken(vocabulary: Vocabulary) -> Encoding:
    """Return the same vocabulary in tiktoken.

    >>> as_tiktoken(load_vocabulary("tiny")).name
    'measured'
    """
    return Encoding(
        "measured",
        pat_str=vocabulary.text.pattern or _ALL_IN_ONE,
        mergeable_ranks={content: token for token, content in vocabulary.tokens.items()},
        special_tokens=dict(vocabulary.special_tokens),
    )


def throughput(ours: Spent, theirs: Spent, name: str) -> Numbers:
    """Return our throughput as a share of theirs, of the same text.

    >>> throughput(Spent(2.0, 4.0), Spent(1.0, 1.0), "first")
    {'first': 0.5, 'first_wall': 0.25}
    """
    return {
        name: theirs.seconds / ours.seconds,
        f"{name}_wall": theirs.seconds_wall / ours.seconds_wall,
    }


def medians(rounds: Sequence[Numbers]) -> Numbers:
    """Return the median of each number.

    >>> medians([{"a": 1.0}, {"a": 5.0}, {"a": 2.0}])
    {'a': 2.0}
    """
    return {name: median(numbers[name] for numbers in rounds) for name in rounds[0]}


def passes(vocabulary: str, text: str) -> Numbers:
    """Encode text through the pattern, for the first time in this process and again."""
    tokenizer = bpe_ref.load(vocabulary)
    encoding = as_tiktoken(tokenizer.vocabulary)
    tokenizer.encode_ordinary("Hello, world!")  # what is loaded on demand is loaded now
    encoding.encode_ordinary("Hello, world!")
    found: Numbers = {}
    for name in ("first", "repeated"):
        theirs = time_of(lambda: encoding.encode_ordinary(text))
        ours = time_of(lambda: tokenizer.encode_ordinary(text))
        found |= throughput(ours, theirs, name)
        found[f"{name}_seconds"] = ours.seconds
    return found


def unsplit(vocabulary: str, text: str, rounds: int) -> Numbers:
    """Encode text as one piece by backtracking, and pre-tokenized by tiktoken."""
    known = load_vocabulary(vocabulary)
    encoding, encode, piece = as_tiktoken(known), ENCODERS["backtracking"], text.encode()
    encode(known, known.symbols(piece[:1]))  # builds the tables
    found: list[Numbers] = []
    for _ in range(rounds):
        theirs = time_of(lambda: encoding.encode_ordinary(text))
        ours = time_of(lambda: encode(known, known.symbols(piece)))
        found.append(throughput(ours, theirs, "share") | {"seconds": ours.seconds})
    return medians(found)


def random_piece(vocabulary: str, encoder: str, length: int, rounds: int) -> Numbers:
    """Encode one piece of random letters, a tenth of it, and all of it by tiktoken."""
    known = load_vocabulary(vocabulary)
    encoding, encode = as_tiktoken(known), ENCODERS[encoder]
    piece = random_letters(length).encode()
    tenth = piece[: length // 10]
    encode(known, known.symbols(piece[:1]))  # builds the tables
    found: list[Numbers] = []
    for _ in range(rounds):
        short = time_of(lambda: encode(known, known.symbols(tenth)))
        ours = time_of(lambda: encode(known, known.symbols(piece)))
        theirs = time_of(lambda: encoding._encode_single_piece(piece))  # noqa: SLF001 - no other way
        found.append(
            {
                "growth": ours.seconds / short.seconds,
                "growth_wall": ours.seconds_wall / short.seconds_wall,
                "to_tiktoken": ours.seconds / theirs.seconds,
                "to_tiktoken_wall": ours.seconds_wall / theirs.seconds_wall,
                "seconds": ours.seconds,
                "tiktoken_seconds": theirs.seconds,
            }
        )
    return medians(found)


def memory(vocabulary: str, text: str) -> Numbers:
    """Encode a text with every encoder's tables there; return the most memory ever used."""
    tokenizer = bpe_ref.load(vocabulary)
    known = tokenizer.vocabulary
    tokenizer.encode_ordinary(text)
    for encode in ENCODERS.values():
        encode(known, known.symbols(text[:100].encode()))
    # in kilobytes, on macOS in bytes
    unit = 1 if sys.platform == "darwin" else 1024
    return {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6}


def curve(vocabulary: str, encoder: str, text: str, lengths: Sequence[int]) -> Numbers:
    """Return the seconds that one piece of each length takes, by length."""
    known = load_vocabulary(vocabulary)
    content = text.encode()
    encode: Callable[[bytes], object]
    if encoder == "tiktoken":
        encode = as_tiktoken(known)._encode_single_piece  # noqa: SLF001 - no other way
    else:
        reference = ENCODERS[encoder]
        encode = lambda piece: reference(known, known.symbols(piece))  # noqa: E731
    encode(content[:1])  # builds the tables
    found: Numbers = {}
    for length in lengths:
        seconds = _seconds_for(encode, content[:length])
        found[str(length)] = seconds
        if encoder in _QUADRATIC and seconds > TOO_SLOW_SECONDS:
            break
    return found


def _seconds_for(encode: Callable[[bytes], object], piece: bytes) -> float:
    """Return the median of as many calls as fit into `ENOUGH_SECONDS`, at least one."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < ENOUGH_CALLS):
        own = process_time()
        encode(piece)
        seconds.append(process_time() - own)
    return median(seconds)


MEASUREMENTS: Final[Mapping[str, Callable[..., Numbers]]] = MappingProxyType(
    {
        "passes": passes,
        "unsplit": unsplit,
        "random_piece": random_piece,
        "memory": memory,
        "curve": curve,
    }
)


if __name__ == "__main__":
    json.dump(MEASUREMENTS[sys.argv[1]](**json.load(sys.stdin)), sys.stdout)
