"""numpy's random numbers as an engine: https://numpy.org.

What it answers
    `Generator.choice` with probabilities and given uniform numbers, because the state of its
    generators is public. It takes the first token whose cumulative sum exceeds the number, which is
    the standard rule. The words of its generators, and the uniform numbers that it makes from
    words.
What it refuses
    A row that `Generator.choice` rejects with a `ValueError`: probabilities must sum to 1.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.chosen_words import WORDS, in_bits, state_of
from tokenref.engines.own_rules import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.rules import STANDARD

UNIFORMS: Final = ("mt19937-double", "numpy-double", "numpy-float")
GENERATORS: Final = (
    *("mt19937", "mt19937.by-array", "mt19937.seed-sequence", "pcg64.seed-sequence"),
    *("philox4x64-10.seed-sequence", "philox4x64-10.numpy"),
)
_OTHER_WIDTHS: Final = {
    "mt19937+pairs-low-first": 64,
    "mt19937.seed-sequence+pairs-low-first": 64,
    "mt19937+pairs-high-first": 64,
    "pcg64.seed-sequence+low-then-high": 32,
    "philox4x64-10.seed-sequence+low-then-high": 32,
}
"""Generators whose words are joined or halved, and the bits of the result.

`Generator.integers` does so, or `Generator.bytes`, which has low words first.
"""


class NumpySession(SamplerSession):
    """A selected rule."""

    profiles: ClassVar = frozenset({STANDARD, *GENERATORS, *_OTHER_WIDTHS, *UNIFORMS})

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if self.profile == STANDARD and op == "draw":
            return _draw(request)
        if self.profile in {*GENERATORS, *_OTHER_WIDTHS} and op == "random_words":
            return _words(self.profile, request)
        if self.profile in UNIFORMS and op == "uniforms":
            return _uniforms(self.profile, request["words"])
        return Unsupported(f"has no {op} by the rule {self.profile}")


def _draw(request: Mapping[str, Any]) -> Answer:
    if "probs" not in request or "count" in request or "order" in request:
        return Unsupported(
            "only draws one token from probabilities, in the order of the vocabulary"
        )
    numbers = in_bits(unpack(request["uniforms"]))
    if numbers is None or len(numbers) != 1:
        return Unsupported("takes one random number, which must be a multiple of 2**-53 below 1")
    words = [numbers[0] >> 26 << 5, numbers[0] % (1 << 26) << 6]
    row = unpack(request["probs"])
    try:
        return Ok({"token": int(_mersenne(words).choice(len(row), p=row))})
    except ValueError as error:
        if all(0 <= share < inf for share in row) and sum(row) > 0:
            return Unsupported("only draws from probabilities that sum to 1")
        return Refused("INVALID_ROW", str(error))


def _words(profile: str, request: Mapping[str, Any]) -> Answer:
    import numpy as np

    wanted = request["taken"] + request["count"]
    source = _started(profile.partition("+")[0], request)
    if source is None:
        return Unsupported(f"cannot seed {profile} like this")
    bits = _OTHER_WIDTHS.get(profile, 32 if profile.startswith("mt19937") else 64)
    if profile.endswith("pairs-low-first"):
        words = np.frombuffer(np.random.Generator(source).bytes(8 * wanted), "<u8")
    elif profile in _OTHER_WIDTHS:
        words = np.random.Generator(source).integers(0, 1 << bits, wanted, f"u{bits // 8}")
    else:
        words = source.random_raw(wanted)
    return Ok({"words": [f"{word:0{bits // 4}x}" for word in words.tolist()[request["taken"] :]]})


def _started(profile: str, request: Mapping[str, Any]) -> Any:
    """Return a generator seeded as in a record, or None if numpy cannot seed it like this."""
    import numpy as np

    seed = int(request.get("seed", "0"), 16)
    width = np.dtype("u8" if profile.startswith("philox") else "u4")
    key: Any
    counter: Any
    key, counter = (
        np.array([int(word, 16) for word in request.get(name, ())], dtype=width)
        for name in ("key", "counter")
    )
    by_key = profile in {"mt19937.by-array", "philox4x64-10.numpy"}
    if by_key != (len(key) > 0) or by_key == ("seed" in request):
        return None
    if profile == "mt19937" and seed >> 32:
        return None
    if profile in {"mt19937", "mt19937.by-array"}:
        # an array of one word would be taken for that number
        made = np.random.RandomState(seed if profile == "mt19937" else key.tolist())
        return made._bit_generator  # noqa: SLF001 - its words are not public
    if profile == "philox4x64-10.numpy":
        return np.random.Philox(key=key, counter=counter if len(counter) else None)
    name = {"mt": "MT19937", "pc": "PCG64", "ph": "Philox"}[profile[:2]]
    return getattr(np.random, name)(seed)


def _uniforms(profile: str, given: Sequence[str]) -> Answer:
    digits = 16 if profile == "numpy-double" else 8
    words = [int(word, 16) for word in given]
    width = 2 if profile == "mt19937-double" else 1
    if any(len(word) != digits for word in given) or len(words) % width or len(words) > WORDS:
        return Unsupported(f"takes {digits * 4}-bit words, {width} per number")
    if profile == "numpy-double":
        numbers = [_philox(word).random() for word in words]
    elif profile == "numpy-float":
        numbers = _mersenne(words).random(len(words), dtype="f4").tolist()
    else:
        numbers = _mersenne(words).random(len(words) // 2).tolist()
    return Ok({"uniforms": pack(numbers, "f32" if profile == "numpy-float" else "f64")})


def _mersenne(words: Sequence[int]) -> Any:
    """Return a generator whose next 32-bit words are these."""
    import numpy as np

    source = np.random.MT19937()
    key = np.array(state_of(words), dtype=np.uint32)
    source.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 0}}
    return np.random.Generator(source)


def _philox(word: int) -> Any:
    """Return a generator whose next 64-bit word is this one. Its buffer is public."""
    import numpy as np

    source = np.random.Philox(0)
    state: Any = dict(source.state)
    state["buffer"] = np.array([word, 0, 0, 0], dtype=np.uint64)
    state["buffer_pos"] = 0
    source.state = state
    return np.random.Generator(source)
