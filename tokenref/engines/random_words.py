"""Engines that only have random words: randomgen and mmh3."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.own_rules import SamplerSession

# ---- randomgen

GENERATORS: Final[Mapping[str, tuple[str, int, int, int, Mapping[str, int]]]] = {
    "philox4x32-10": ("Philox", 32, 2, 4, {"number": 4, "width": 32}),
    "philox4x64-10": ("Philox", 64, 2, 4, {"number": 4, "width": 64}),
    "threefry2x32-20": ("ThreeFry", 32, 2, 2, {"number": 2, "width": 32}),
    "threefry4x64-20": ("ThreeFry", 64, 4, 4, {"number": 4, "width": 64}),
    "chacha8": ("ChaCha", 32, 8, 4, {"rounds": 8}),
    "chacha12": ("ChaCha", 32, 8, 4, {"rounds": 12}),
    "chacha20": ("ChaCha", 32, 8, 4, {"rounds": 20}),
}
"""The class of each generator, the bits of its words, the words of its key and of its counter."""


_BLOCKS: Final = 59
"""How many bits a counter of ChaCha may have."""


class RandomgenSession(SamplerSession):
    """A selected generator of randomgen: https://github.com/bashtage/randomgen.

    It answers the words of its counter-based generators for given keys and counters, or with a seed
    as the key. randomgen raises the counter before each block, so it is given the counter before.
    Other rounds and seeds are unsupported. Keys and counters of another length are refused by its
    own checks.
    """

    profiles: ClassVar = frozenset(GENERATORS)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        name, bits, keys, counters, settings = GENERATORS[self.profile]
        key, counter = request.get("key"), request.get("counter", ["0"] * counters)
        if "seed" in request and "key" not in request:
            seed = int(request["seed"], 16)
            key = [f"{seed >> bits * at & (1 << bits) - 1:x}" for at in range(keys)]
            if seed >> bits * keys:
                return Unsupported("has keys of a fixed length")
        elif "seed" in request:
            return Unsupported("takes a seed or a key")
        if any(len(word) * 4 > bits for word in [*(key or ()), *counter]):
            return Unsupported("has words of a fixed length")
        if key is None or len(key) != keys or len(counter) != counters:
            return Unsupported("has keys and counters of a fixed length")
        import numpy as np
        import randomgen

        if name == "ChaCha" and _number(counter, bits) >> _BLOCKS:
            return Unsupported("is only given ChaCha's counters below 2**59 blocks")
        most = 1 << bits * counters
        before = _number(counter, bits)
        before = before << 4 if name == "ChaCha" else before - 1  # it counts ChaCha's words
        before %= most
        made = getattr(randomgen, name)(key=_number(key, bits), counter=before, **settings)
        wanted = request["taken"] + request["count"]
        if bits == 64:
            words = made.random_raw(wanted).tolist()
        else:
            generator = np.random.Generator(made)
            words = generator.integers(0, 1 << 32, wanted, dtype=np.uint32).tolist()
        return Ok({"words": [f"{word:0{bits // 4}x}" for word in words[request["taken"] :]]})


def _number(words: Sequence[str], bits: int) -> int:
    """Return a number of words, the lowest first."""
    return sum(int(word, 16) << bits * at for at, word in enumerate(words))


# ---- mmh3


class Mmh3Session(SamplerSession):
    """mmh3's MurmurHash3: https://github.com/hajimes/mmh3.

    It answers the 32-bit hash of 32-bit words with a seed, as a random word.
    """

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
