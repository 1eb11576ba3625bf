"""mmh3's MurmurHash3 as an engine: https://github.com/hajimes/mmh3.

What it answers
    The 32-bit hash of 32-bit words with a seed, as a random word.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.own_rules import SamplerSession


class Mmh3Session(SamplerSession):
    """The hash of 32 bits."""

    profiles: ClassVar = frozenset({"murmur3-32"})

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        import mmh3

        if op != "random_words" or "counter" in request:
            return Unsupported("only hashes words")
        if (request["taken"], request["count"]) != (0, 1):
            return Unsupported("has one hash of a key")
        content = b"".join(int(word, 16).to_bytes(4, "little") for word in request.get("key", ()))
        seed = int(request.get("seed", "0"), 16)
        return Ok({"words": [f"{mmh3.hash(content, seed, signed=False):08x}"]})
