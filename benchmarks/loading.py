"""Loading, measured from the first import on.

    python -m benchmarks.loading WHO FILE SHA256 PATTERN

Nothing but the standard library is imported before the clock starts, which is
why the imports stand inside the functions.
"""

import json
import sys
from collections.abc import Callable, Mapping
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Final

_TEXT: Final = "Hello, world!"

Moment = tuple[float, float]


def now() -> Moment:
    """Return the process's own time and the time on the wall."""
    return process_time(), perf_counter()


def reference(_path: str, _sha256: str, _pattern: str) -> list[Moment]:
    """Load with `bpe_ref`, which is told where the file is by TOKENREF_VOCABULARIES.

    The moments are: at the start, imported, first text encoded, tables built.
    """
    moments = [now()]
    import bpe_ref

    moments.append(now())
    tokenizer = bpe_ref.load("cl100k_base")
    tokenizer.encode(_TEXT)
    moments.append(now())
    known = bpe_ref.vocabulary_of(tokenizer)
    bpe_ref.ENCODERS["backtracking"](known, known.symbols(_TEXT.encode()))
    moments.append(now())
    return moments


def tiktoken(path: str, sha256: str, pattern: str) -> list[Moment]:
    """Load with tiktoken, as it loads its own vocabularies, from its cache.

    The moments are: at the start, imported, first text encoded.
    """
    moments = [now()]
    from tiktoken import Encoding
    from tiktoken.load import load_tiktoken_bpe

    moments.append(now())
    ranks = load_tiktoken_bpe(path, sha256)
    encoding = Encoding("measured", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    encoding.encode(_TEXT)
    moments.append(now())
    return moments


LOADERS: Final[Mapping[str, Callable[[str, str, str], list[Moment]]]] = MappingProxyType(
    {"reference": reference, "tiktoken": tiktoken}
)


if __name__ == "__main__":
    json.dump(LOADERS[sys.argv[1]](*sys.argv[2:]), sys.stdout)
