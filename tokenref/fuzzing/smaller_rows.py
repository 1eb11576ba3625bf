"""Questions about samplers that are one step smaller: fewer tokens, plainer numbers."""

from collections.abc import Iterator, Mapping
from typing import Any


def smaller_sampling(op: str, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield requests with a token less, or with a number that is plainer."""
    yield from ()
