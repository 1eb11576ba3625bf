"""llama.cpp's own sort: candidates by falling logit, the first `count` of them.

Definition (`llama_token_data_array_partial_sort` and its `_inplace` in
src/llama-sampler.cpp): for at most 128 wanted candidates std::partial_sort on all of them.
For more, the logits are thrown into 128 buckets of width 0.15625 from -10 to 10. Buckets
are taken from the top until there are enough candidates; all but the last one are
sorted by std::sort, the last one by std::partial_sort.

The index of a bucket
    6.4 * logit + 64 in binary32, cut towards zero, then brought into 0 to 127.

Huge logits
    An index beyond 32 bits has no meaning in C++. On x86-64 it becomes the smallest
    integer: bucket 0. A logit above 335,544,256 is thus taken for the *smallest*. So it is here.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, reordered
from sampling_ref.llama_cpp.libstdcxx_order import order_of_partial_sort, order_of_sort
from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32

_BUCKETS = 128
_SCALE = to_binary32(6.4)
_MIDDLE = 64.0
_END_OF_INTEGERS = 2.0**31


def sorted_fully(candidates: Candidates) -> Candidates:
    """Return the candidates by falling logit, unless they count as sorted already.

    >>> sorted_fully(Candidates([0, 1], [0.5, 1.5])).tokens
    [1, 0]
    """
    if candidates.is_sorted:
        return candidates
    tokens, logits = read_candidates(candidates)
    positions = falling_positions(logits, len(tokens))
    return reordered(candidates, positions, is_sorted=True)


def falling_positions(logits: list[float], count: int) -> list[int]:
    """Return the positions of the `count` largest logits, as the engine orders them.

    >>> falling_positions([0.5, 1.5, 0.5], 2)
    [1, 0]
    """
    if count <= _BUCKETS:
        return order_of_partial_sort(logits, count)
    return falling_positions_by_buckets(logits, count)


def falling_positions_by_buckets(logits: list[float], count: int) -> list[int]:
    """Return the same by way of the buckets, however few are wanted.

    >>> falling_positions_by_buckets([0.5, 1.5, 0.5], 2)
    [1, 0]
    """
    buckets: list[list[int]] = [[] for _ in range(_BUCKETS)]
    for position, bucket in enumerate(_bucket_indices(logits)):
        buckets[bucket].append(position)
    positions: list[int] = []
    for members in reversed(buckets):
        values = [logits[position] for position in members]
        wanted = count - len(positions)
        if len(members) >= wanted:
            order = order_of_partial_sort(values, wanted)
            return positions + [members[place] for place in order]
        positions += [members[place] for place in order_of_sort(values)]
    return positions


def _bucket_indices(logits: list[float]) -> list[int]:
    """Return the bucket of each logit."""
    scaled = all_to_binary32([_SCALE * logit for logit in logits])
    return [
        max(0, min(_BUCKETS - 1, int(number))) if abs(number) < _END_OF_INTEGERS else 0
        for number in all_to_binary32([number + _MIDDLE for number in scaled])
    ]
