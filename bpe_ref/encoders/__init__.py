"""The encoders: from the symbols of one piece to its tokens. One file, one signature each.

Read them in this order: `naive` (the definition), `scan`, `vocabulary.heap` (which is there because
`vocabulary.compatibility` builds on it), `prefix_table`, `backtracking`. They all compute the same
function. `greedy` and `minimal` do not, and are here for comparison; `dropout` leaves merges out at
random.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from bpe_ref.encoders.backtracking import encode_backtracking
from bpe_ref.encoders.greedy import encode_greedy
from bpe_ref.encoders.minimal import encode_minimal
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.encoders.prefix_table import encode_prefix_table
from bpe_ref.encoders.scan import encode_scan
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.heap import encode_heap
from bpe_ref.vocabulary.merges import TokenId

Encoder: TypeAlias = Callable[[Vocabulary, Sequence[TokenId]], list[TokenId]]

ENCODERS: Final[Mapping[str, Encoder]] = MappingProxyType(
    {
        "naive": encode_naive,
        "scan": encode_scan,
        "heap": encode_heap,
        "prefix_table": encode_prefix_table,
        "backtracking": encode_backtracking,
        "greedy": encode_greedy,
        "minimal": encode_minimal,
    }
)
"""Every encoder by name."""

NOT_BPE: Final = frozenset({"greedy", "minimal"})
"""The encoders that compute something else."""
