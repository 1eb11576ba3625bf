"""Generators of random words, and conversions of words to numbers, by the names that records use.

A name is a generator, how it is seeded if there is more than one way, and after a plus sign what
is made of its words if an engine wants words of another width. For example,
`pcg64.seed-sequence+low-then-high` are the 32-bit words of numpy's `default_rng`. Numbers of
several words have the low word first: keys, counters, states.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from typing import Final, Literal, TypeAlias

from sampling_ref.errors import ParameterError, RandomNumberError, UnknownNameError
from sampling_ref.random import uniforms
from sampling_ref.random.chacha import Rounds, chacha, chacha_by_seed
from sampling_ref.random.isaac64 import isaac64, isaac64_by_seed
from sampling_ref.random.mt19937 import mt19937, mt19937_by_array, mt19937_by_seed_sequence
from sampling_ref.random.murmur import SECOND_DOMAIN, murmur3_32, murmur_noise
from sampling_ref.random.pcg64 import pcg64, pcg64_by_seed_sequence
from sampling_ref.random.philox import (
    philox4x32_words,
    philox4x64_by_seed_sequence,
    philox4x64_words,
)
from sampling_ref.random.splitmix64 import splitmix64
from sampling_ref.random.threefry import (
    threefry2x32,
    threefry2x32_bits,
    threefry2x32_key,
    threefry4x64,
)
from sampling_ref.random.words import (
    high_halves,
    low_halves,
    low_then_high,
    pairs_high_first,
    pairs_low_first,
    read_words,
)
from sampling_ref.random.xoshiro256plusplus import xoshiro256plusplus, xoshiro256plusplus_by_seed

Bits: TypeAlias = Literal[32, 64]
"""The width of a word."""


@dataclass(frozen=True)
class Start:
    """How a generator is seeded, and which of its words to return."""

    seed: int = 0
    key: tuple[int, ...] = ()
    counter: tuple[int, ...] = ()
    taken: int = 0
    """Number of words to skip."""

    count: int = 1


@dataclass(frozen=True)
class Generator:
    """A generator with its parameters."""

    bits: Bits
    """The width of its words."""

    needs: tuple[str, ...]
    """The required parts of `seed`, `key` and `counter`."""

    words: Callable[[Start], Iterator[int]]
    allows: tuple[str, ...] = ()
    """The optional parts."""

    inner: Bits = 32
    """The width of the words of its key and counter."""


def _number(words: tuple[int, ...], size: int, bits: Bits, name: str) -> int:
    """Return the number made from words, low word first; 0 if there are none."""
    if not words:
        return 0
    read = read_words(words, size, bits, name)
    return sum(word << bits * place for place, word in enumerate(read))


def _philox32(start: Start) -> Iterator[int]:
    counter = _number(start.counter, 4, 32, "counter")
    seed = _number(start.key, 2, 32, "key")
    low, high = counter % 2**64, counter >> 64
    return philox4x32_words(seed, subsequence=high, offset=low, taken=start.taken)


def _philox64(start: Start) -> Iterator[int]:
    """Return the words starting with the block of the counter itself, as in its authors' code."""
    before = (_number(start.counter, 4, 64, "counter") - 1) % 2**256
    words = [before >> 64 * place & 2**64 - 1 for place in range(4)]
    return philox4x64_words(start.key, counter=words, taken=start.taken)


def _philox64_of_numpy(start: Start) -> Iterator[int]:
    counter = start.counter or (0, 0, 0, 0)
    return philox4x64_words(start.key, counter=counter, taken=start.taken)


def _threefry(
    block: Callable[..., tuple[int, ...]], size: int, bits: Bits
) -> Callable[[Start], Iterator[int]]:
    """Return the words of a block function for consecutive counters."""

    def words(start: Start) -> Iterator[int]:
        first = _number(start.counter, size, bits, "counter")
        blocks, rest = divmod(start.taken, size)
        key = list(read_words(start.key, size, bits, "key"))

        def stream() -> Iterator[int]:
            for number in count(first + blocks):
                yield from block([number >> bits * i & 2**bits - 1 for i in range(size)], key)

        return islice(stream(), rest, None)

    return words


def _mlx(start: Start) -> Iterator[int]:
    if start.taken:
        raise ParameterError("taken", start.taken, "must be 0: all words are made at once")
    return iter(threefry2x32_bits(threefry2x32_key(start.seed), start.count))


def _pcg64(start: Start) -> Iterator[int]:
    key = read_words(start.key, 4, 64, "key")
    return pcg64(key[0] | key[1] << 64, key[2] | key[3] << 64, taken=start.taken)


def _chacha(rounds: Rounds) -> Generator:
    def words(start: Start) -> Iterator[int]:
        counter = read_words(start.counter or (0, 0, 0, 0), 4, 32, "counter")
        blocks, nonce = counter[0] | counter[1] << 32, counter[2] | counter[3] << 32
        return chacha(start.key, rounds=rounds, nonce=nonce, taken=start.taken + 16 * blocks)

    return Generator(32, ("key",), words, ("counter",))


def _by_seed(bits: Bits, generate: Callable[..., Iterator[int]]) -> Generator:
    return Generator(bits, ("seed",), lambda start: generate(start.seed, taken=start.taken))


def _by_key(bits: Bits, generate: Callable[..., Iterator[int]]) -> Generator:
    return Generator(
        bits, ("key",), lambda start: generate(start.key, taken=start.taken), inner=bits
    )


def _noise(domain: int) -> Callable[[Start], Iterator[int]]:
    def words(start: Start) -> Iterator[int]:
        (position,) = read_words(start.counter, 1, 32, "counter")
        columns = count(start.taken)
        return (murmur_noise(start.seed, position, column, domain=domain) for column in columns)

    return words


def _murmur(start: Start) -> Iterator[int]:
    if start.taken or start.count != 1:
        raise ParameterError("count", start.count, "must be 1: a hash is one word")
    return iter([murmur3_32(start.key, start.seed)])


_GENERATORS: Final[Mapping[str, Generator]] = {
    "mt19937": _by_seed(32, mt19937),
    "mt19937.by-array": _by_key(32, mt19937_by_array),
    "mt19937.seed-sequence": _by_seed(32, mt19937_by_seed_sequence),
    "philox4x32-10": Generator(32, ("key",), _philox32, ("counter",)),
    "philox4x64-10": Generator(64, ("key",), _philox64, ("counter",), 64),
    "philox4x64-10.numpy": Generator(64, ("key",), _philox64_of_numpy, ("counter",), 64),
    "philox4x64-10.seed-sequence": _by_seed(64, philox4x64_by_seed_sequence),
    "threefry2x32-20": Generator(32, ("key",), _threefry(threefry2x32, 2, 32), ("counter",)),
    "threefry2x32-20.mlx": Generator(32, ("seed",), _mlx),
    "threefry4x64-20": Generator(64, ("key",), _threefry(threefry4x64, 4, 64), ("counter",), 64),
    "pcg64": Generator(64, ("key",), _pcg64, inner=64),
    "pcg64.seed-sequence": _by_seed(64, pcg64_by_seed_sequence),
    "chacha8": _chacha(8),
    "chacha12": _chacha(12),
    "chacha20": _chacha(20),
    "chacha8.by-seed": _by_seed(32, partial(chacha_by_seed, rounds=8)),
    "chacha12.by-seed": _by_seed(32, partial(chacha_by_seed, rounds=12)),
    "chacha20.by-seed": _by_seed(32, partial(chacha_by_seed, rounds=20)),
    "isaac64": _by_key(64, isaac64),
    "isaac64.by-seed": _by_seed(64, isaac64_by_seed),
    "xoshiro256plusplus": _by_key(64, xoshiro256plusplus),
    "xoshiro256plusplus.by-seed": _by_seed(64, xoshiro256plusplus_by_seed),
    "splitmix64": _by_seed(64, splitmix64),
    "murmur3-32": Generator(32, ("seed", "key"), _murmur),
    "murmur3-32.noise": Generator(32, ("seed", "counter"), _noise(0)),
    "murmur3-32.second-noise": Generator(32, ("seed", "counter"), _noise(SECOND_DOMAIN)),
}

_WIDTHS: Final[Mapping[str, tuple[Bits, Callable[[Iterator[int]], Iterator[int]]]]] = {
    "low-then-high": (32, low_then_high),
    "low-halves": (32, low_halves),
    "high-halves": (32, high_halves),
    "pairs-low-first": (64, pairs_low_first),
    "pairs-high-first": (64, pairs_high_first),
}

_IN_ANOTHER_WIDTH: Final = (
    ("mt19937", "pairs-low-first"),  # libstdc++'s 64-bit words
    ("mt19937", "pairs-high-first"),  # torch on a processor
    ("mt19937.seed-sequence", "pairs-low-first"),  # numpy's
    ("philox4x64-10.seed-sequence", "low-then-high"),  # numpy's 32-bit words
    ("pcg64.seed-sequence", "low-then-high"),
    ("chacha12.by-seed", "pairs-low-first"),  # Rust's StdRng
    ("isaac64.by-seed", "low-then-high"),  # the crate rand_isaac 0.4, which mistral.rs has
    ("isaac64.by-seed", "low-halves"),  # from 0.5 on
    ("xoshiro256plusplus.by-seed", "high-halves"),  # Rust's SmallRng
)


def _in_another_width(generator: Generator, width: str) -> Generator:
    bits, convert = _WIDTHS[width]

    def words(start: Start) -> Iterator[int]:
        return islice(convert(generator.words(replace(start, taken=0))), start.taken, None)

    return replace(generator, bits=bits, words=words)


GENERATORS: Final[Mapping[str, Generator]] = {
    **_GENERATORS,
    **{
        f"{name}+{width}": _in_another_width(_GENERATORS[name], width)
        for name, width in _IN_ANOTHER_WIDTH
    },
}
"""All generators in records, by name."""


def words_of(name: str, start: Start, given: frozenset[str]) -> list[int]:
    """Return the words of a generator; `given` are the names of the given parts of `start`.

    Raises `UnknownNameError` for an unknown name, `ParameterError` for an invalid start.

    >>> [format(word, "08x") for word in words_of("mt19937", Start(5489), frozenset({"seed"}))]
    ['d091bb5c']
    """
    if name not in GENERATORS:
        raise UnknownNameError("generator", name, GENERATORS)
    generator = GENERATORS[name]
    for part in generator.needs:
        if part not in given:
            raise ParameterError(part, None, f"must be given to start {name}")
    for part in sorted(given - {*generator.needs, *generator.allows}):
        raise ParameterError(part, getattr(start, part), f"must not be given to start {name}")
    found = list(islice(generator.words(start), start.count))
    if len(found) < start.count:
        raise ParameterError("count", start.count, f"must be at most the words of {name}")
    return found


@dataclass(frozen=True)
class Conversion:
    """One engine's conversion of words to a number."""

    convert: Callable[..., float]
    words: int
    """Number of words per number, in the order in which they are taken."""

    bits: Literal[32, 64]
    """The width of a word."""

    dtype: Literal["f32", "f64"]
    """The type of the number."""


CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "libstdcxx-double": Conversion(uniforms.libstdcxx_double, 2, 32, "f64"),
    "libstdcxx-float": Conversion(uniforms.libstdcxx_float, 1, 32, "f32"),
    "mt19937-double": Conversion(uniforms.mt19937_double, 2, 32, "f64"),
    "numpy-double": Conversion(uniforms.numpy_double, 1, 64, "f64"),
    "numpy-float": Conversion(uniforms.numpy_float, 1, 32, "f32"),
    "torch-cpu-double": Conversion(uniforms.torch_cpu_double, 2, 32, "f64"),
    "torch-cpu-float": Conversion(uniforms.torch_cpu_float, 1, 32, "f32"),
    "curand-float": Conversion(uniforms.curand_float, 1, 32, "f32"),
    "torch-cuda-float": Conversion(uniforms.torch_cuda_float, 1, 32, "f32"),
    "rust-double": Conversion(uniforms.rust_double, 1, 64, "f64"),
    "rust-float": Conversion(uniforms.rust_float, 1, 32, "f32"),
    "rust-weighted-index": Conversion(uniforms.rust_weighted_index, 1, 32, "f32"),
    "vllm-float": Conversion(uniforms.vllm_float, 1, 32, "f32"),
    "vllm-double": Conversion(uniforms.vllm_double, 2, 32, "f64"),
    "sglang-double": Conversion(uniforms.sglang_double, 1, 32, "f64"),
    "exllamav2-float": Conversion(
        lambda one, two: uniforms.exllamav2_float(uniforms.mt19937_double(one, two)), 2, 32, "f32"
    ),
    "mlx-float": Conversion(uniforms.mlx_float, 1, 32, "f32"),
}
"""All conversions in records, those of `sampling_ref.random.uniforms`."""


def numbers_of(name: str, words: Sequence[int]) -> list[float]:
    """Return the numbers that a conversion makes from words.

    Raises `UnknownNameError` for an unknown name, `RandomNumberError` if the number of words does
    not fit.

    >>> numbers_of("libstdcxx-double", [0, 2**31, 0, 2**30])
    [0.5, 0.25]
    """
    if name not in CONVERSIONS:
        raise UnknownNameError("conversion", name, CONVERSIONS)
    way = CONVERSIONS[name]
    if len(words) % way.words:
        rule = f"words must come {way.words} for each number"
        raise RandomNumberError(f"{rule}, got {len(words)} words")
    groups = (words[at : at + way.words] for at in range(0, len(words), way.words))
    return [way.convert(*group) for group in groups]
