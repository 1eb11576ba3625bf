"""Frequent mistakes: rows taken for others, misread masks, wrong sums of weights.

`row_facts` recognises them in a wrong answer, and `misreadings` asks what they would make of a
question. Both use the names in these tables, so a new mistake is one line here.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import accumulate
from math import exp
from operator import truediv
from typing import Final, TypeAlias

from tokenref.floats import from_digits, nearest, to_digits

BLOCKS: Final = tuple(2**power for power in range(1, 13))
"""Numbers of tokens that programs handle together, smallest first."""

FIRST_BLOCK: Final = 32
"""The smallest size at which a loop or a block of threads usually ends."""

USUAL: Final = tuple(size for size in BLOCKS if size >= FIRST_BLOCK)
"""The sizes from there on."""

GROUPS: Final = (32, 64, 128, 256)
"""Numbers of rows that programs handle together."""

# ---- rows of a batch


OTHER_ROWS: Final[Sequence[tuple[str, Callable[[int, int], int]]]] = (
    ("row 0", lambda _, __: 0),
    ("the next row", lambda row, count: (row + 1) % count),
    ("the next row", lambda row, count: min(row + 1, count - 1)),
    ("the row before", lambda row, _: max(row - 1, 0)),
    ("the row before", lambda row, count: (row - 1) % count),
    ("the first row of a pair", lambda row, _: row // 2 * 2),
    ("the other row of a pair", lambda row, count: row ^ 1 if row ^ 1 < count else row),
    *((f"row r modulo {size}", lambda row, _, size=size: row % size) for size in GROUPS),
)
"""The rows that programs take for row r, each also by another way to stay in the batch."""


# ---- masks


Allowed: TypeAlias = Callable[[AbstractSet[int], int], AbstractSet[int]]
"""Returns the tokens that a misread mask allows, given those that it allows, and their number."""


def _turned(bits: int, allowed: AbstractSet[int], _: int) -> set[int]:
    """Return tokens with these bits of their ids turned."""
    return {token ^ bits for token in allowed}


def _last_word(count: int) -> set[int]:
    return {*range(count // 32 * 32, count)}


MASKS: Final[Mapping[str, Allowed]] = {
    "the bits of each word are read in the other order": partial(_turned, 31),
    "the bits of each byte are read in the other order": partial(_turned, 7),
    "the bytes of each word are read in the other order": partial(_turned, 24),
    "neighbouring words are exchanged": partial(_turned, 32),
    "all tokens of the last word, if it is incomplete, are allowed": (
        lambda allowed, count: allowed | _last_word(count)
    ),
    "all tokens of the last word, if it is incomplete, are banned": (
        lambda allowed, count: allowed - _last_word(count)
    ),
    "the first 32 words are read again and again": (
        lambda allowed, count: {token for token in range(count) if token % 1024 in allowed}
    ),
    "bit 31 of each word is never allowed": (  # a test for a number above 0
        lambda allowed, _: {token for token in allowed if token % 32 != 31}
    ),
    "what is allowed is banned, and the rest is allowed": (
        lambda allowed, count: {*range(count)} - allowed
    ),
}
"""How masks are misread."""


# ---- numbers that are compared


def truncated(number: float, bits: int) -> float:
    """Return a number in binary32, with all but its highest `bits` bits set to 0.

    >>> truncated(1.1, 16), truncated(1.1, 24)
    (1.09375, 1.0999755859375)
    """
    kept = to_digits([nearest(number, "f32")], "f32")[: bits // 4]
    return from_digits(f"{kept:0<8}", "f32")[0]


COMPARED: Final[Mapping[str, Callable[[float], float]]] = {
    "the tokens' numbers are equal without the 8 lowest bits of binary32": (
        lambda number: truncated(number, 24)  # three of four bytes are compared
    ),
    "the tokens' numbers are equal when rounded to binary32": lambda number: nearest(number, "f32"),
    "the tokens' numbers are equal when rounded to binary16": lambda number: nearest(number, "f16"),
    "the tokens' numbers are equal when rounded to bfloat16": (
        lambda number: nearest(number, "bf16")
    ),
}
"""What programs compare instead of numbers that are not equal."""


# ---- sums of weights


def weights_of(row: Sequence[float]) -> list[float]:
    """Return the exponentials of logits, relative to the largest."""
    largest = max(row)
    return [exp(logit - largest) for logit in row]


Summed: TypeAlias = Callable[[Sequence[float], Sequence[float]], float]
"""Returns a wrong sum of weights, given these and the sums until each."""


def _whole_blocks(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of the whole blocks, or of all weights if there is none."""
    return until[len(weights) // size * size] or until[-1]


def _first_of_blocks(
    most: int, size: int, weights: Sequence[float], until: Sequence[float]
) -> float:
    """Return the sum of the first weights of each block."""
    count = len(weights)
    return sum(until[min(at + most, count)] - until[at] for at in range(0, count, size))


def _not_rescaled(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of weights that are divided by the largest one up to the end of a block."""
    total = most = 0.0
    for at in range(0, len(weights), size):
        most = max(most, *weights[at : at + size])
        end = min(at + size, len(weights))
        total += (until[end] - until[at]) / most if most else 0.0
    return total * max(weights)


def _own_maxima(
    rescaled: bool, size: int, weights: Sequence[float], until: Sequence[float]
) -> float:
    """Return the sum of blocks that are divided by their own maximum, or by its square."""
    most, total = max(weights), 0.0
    for at in range(0, len(weights), size):
        own, end = max(weights[at : at + size]), min(at + size, len(weights))
        total += (until[end] - until[at]) / own * (most / own if rescaled else 1) if own else 0.0
    return total * most


def _by_threads(
    is_late: bool, read: int, tile: int, size: int, weights: Sequence[float], _: Sequence[float]
) -> float:
    """Return the sum of threads, each of which reads the next numbers of a block in turn.

    They are divided by their own maximum, or what they add is by the largest one until then. Each
    tile of the row has threads of its own.
    """
    most, total, step, count = max(weights), 0.0, size * read, len(weights)
    for begin in range(0, count, tile):
        end = min(begin + tile, count)
        for first in range(begin, min(begin + step, end), read):
            starts = range(first, end, step)
            own = [weight for at in starts for weight in weights[at : at + read] if weight]
            if own and is_late:
                total += max(own) * sum(map(truediv, own, accumulate(own, max)))
            elif own:
                total += sum(own) / max(own) * most
    return total


def _first_half(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of the first half of the blocks."""
    blocks = -(-len(weights) // size)
    return until[min((blocks + 1) // 2 * size, len(weights))]


def _with_tree(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of weights of which a tree adds up those of the last block.

    It adds the second half of an even number of them, rounded down, to the first, again and again.
    """
    last = (len(weights) - 1) // size * size
    half, places, halves = (len(weights) - last) // 2, [last], list[int]()
    while half:
        halves.append(half)
        half //= 2
    for half in reversed(halves):
        places += [place + half for place in places]
    return until[last] + sum(weights[place] for place in places)


def _with_stale(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of weights whose last block is filled up with what a tree left there."""
    last = (len(weights) - 1) // size * size
    block, left = weights[max(last - size, 0) : last], len(weights) - last
    places = ((at, 1 << at.bit_length()) for at in range(left, size if block else 0))
    return until[-1] + sum(sum(block[at % step :: step]) for at, step in places)


def _last_twice(size: int, weights: Sequence[float], until: Sequence[float]) -> float:
    """Return the sum of weights with the last block twice if it is full."""
    is_full = len(weights) % size == 0
    return until[-1] + (until[-1] - until[-1 - size] if is_full else 0.0)


HALVED: Final = (64, 128, 256, 512, 1024)

_PARTS: Final = (32, *HALVED, 2048, 4096)

NOT_RESCALED: Final = "the sum is not rescaled if "
"""The beginning of mistakes of a softmax."""

_BY_SIZE: Final[Sequence[tuple[str, Callable[..., float], Sequence[int]]]] = (
    ("the sum lacks the last block of {:,} tokens", _whole_blocks, (4, 8, 16, *USUAL)),
    ("the sum lacks the second half of the blocks of {:,}", _first_half, HALVED),
    (
        "the sum lacks the second half of each block of {:,} tokens",
        lambda n, *row: _first_of_blocks(n // 2, n, *row),
        HALVED,
    ),
    (
        "the sum lacks all but the first 32 tokens of each block of {:,}",
        partial(_first_of_blocks, 32),
        HALVED[1:],
    ),
    (NOT_RESCALED + "a block of {:,} has a larger maximum", _not_rescaled, _PARTS),
    (NOT_RESCALED + "blocks of {:,} have other maxima", partial(_own_maxima, False), _PARTS),
    (
        NOT_RESCALED + "blocks of {:,} have other maxima, but scaled the other way",
        partial(_own_maxima, True),
        _PARTS,
    ),
    (
        "the sum has the last 64 blocks of {:,} only",
        lambda n, w, until: until[-1] - until[max(0, (-(-len(w) // n) - 64) * n)],
        (32, *HALVED),
    ),
    ("the sum lacks tokens that a tree of halves loses of a block of {:,}", _with_tree, HALVED),
    ("the sum has what is left in memory behind the last block of {:,}", _with_stale, HALVED),
    (
        "the sum lacks all tokens from {:,} on",
        lambda n, _, until: until[min(n, len(until) - 1)],
        [2**power for power in range(13, 17)],
    ),
    (
        "the sum lacks the last token of each block of {:,}",
        lambda n, weights, until: until[-1] - sum(weights[n - 1 :: n]),
        (32, *HALVED),
    ),
    (
        "the sum has as many tokens as the row's number of them modulo {:,}",
        lambda n, weights, until: until[len(weights) % n],
        (2**16,),
    ),
    ("the sum has the last block of {:,} twice if it is full", _last_twice, (32, *HALVED)),
    (
        "the sum lacks every second group of {:,} tokens",
        lambda n, *row: _first_of_blocks(n, 2 * n, *row),
        (2, 4, 8, 16),
    ),
    (
        "the sum lacks the first token of each block of {:,} but one",
        lambda n, weights, until: until[-1] - sum(weights[n::n]),
        (32, *HALVED),
    ),
    *(
        (f"{NOT_RESCALED}{says} in blocks of {{:,}}", partial(_by_threads, *how), HALVED[2:])
        for says, how in (
            ("a thread that reads 1 at once has a larger maximum,", (True, 1, 2**30)),
            ("a thread that reads 4 at once has a larger maximum,", (True, 4, 2**30)),
            ("a thread has a larger maximum in its tile of 2,048,", (True, 1, 2048)),
            ("threads that read 1 at once have other maxima,", (False, 1, 2**30)),
        )
    ),
)

SUMS: Final[Mapping[str, Summed]] = {
    "the sum lacks every second token": lambda weights, _: sum(weights[::2]),
    "the sum lacks the last token of the row": lambda _, until: until[-2] or until[-1],
    NOT_RESCALED + "a token is a larger maximum": partial(_not_rescaled, 1),
    **{says.format(n): partial(summed, n) for says, summed, sizes in _BY_SIZE for n in sizes},
}
"""Wrong sums of weights, as programs make them of a row."""

NO_ANSWERS: Final = frozenset({*SUMS, *COMPARED})
"""The names of mistakes that are facts, too: not what a program answers, but why."""
