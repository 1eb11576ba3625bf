"""Random words: published answers, places in a stream, seeds, and what is refused."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses, told_apart
from authoring.data import tables
from tokenref.generators import GENERATORS

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class Published(NamedTuple):
    """A question whose answer was printed somewhere."""

    name: str
    slug: str
    start: dict[str, Any]
    taken: int
    words: tuple[str, ...]
    source: str


PUBLISHED: Final = tuple(Published(*row) for row in tables("random_words")["published"])


class _Stream(NamedTuple):
    """How a generator is started in cases about places, and where its blocks end."""

    start: dict[str, Any]
    block: int
    """Words that are made at once, so that the next one is of another kind."""


def _hex(number: int, digits: int) -> str:
    return f"{number:0{digits}x}"


def _words(bits: int, *numbers: int) -> list[str]:
    return [_hex(number, bits // 4) for number in numbers]


def _seed(number: int) -> dict[str, Any]:
    return {"seed": _hex(number, 1)}


_STREAMS: Final = {
    "mt19937": _Stream(_seed(5489), 624),
    "mt19937.by-array": _Stream({"key": _words(32, 0x123, 0x234)}, 624),
    "mt19937.seed-sequence": _Stream(_seed(42), 624),
    "philox4x32-10": _Stream({"key": _words(32, 42, 0)}, 4),
    "philox4x64-10": _Stream({"key": _words(64, 42, 0)}, 4),
    "philox4x64-10.numpy": _Stream({"key": _words(64, 42, 0)}, 4),
    "threefry2x32-20": _Stream({"key": _words(32, 42, 0)}, 2),
    "threefry4x64-20": _Stream({"key": _words(64, 42, 0, 0, 0)}, 4),
    "chacha12": _Stream({"key": _words(32, *range(8))}, 16),
    "chacha12.by-seed": _Stream(_seed(42), 16),
    "chacha12.by-seed+pairs-low-first": _Stream(_seed(42), 8),
    "isaac64": _Stream({"key": _words(64, 1, 23, 456, 7890)}, 256),
    "isaac64.by-seed": _Stream(_seed(42), 256),
}

_SEEDS: Final = {
    "zero": (0, "seed 0, which must not be treated as a missing seed"),
    "33-bits": (2**32, "a seed of 33 bits: its low half is 0, and cutting it gives seed 0"),
    "64-bits": (2**64 - 1, "the largest seed of 64 bits, which is -1 if words are signed"),
    "halves": (0x0123456789ABCDEF, "a seed whose halves differ: exchanged halves show"),
}

_ONLY_32: Final = frozenset({"mt19937"})
"""Generators whose seeds have 32 bits."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    for published in PUBLISHED:
        yield _published(published)
    for name, stream in _STREAMS.items():
        yield from _places(name, stream)
    for name, generator in GENERATORS.items():
        if generator.needs == ("seed",):
            yield from _seeds(name)
    yield from _counters()
    yield from _keys()
    yield from _refused()


def _case(
    topic: str,
    slug: str,
    profile: str,
    start: dict[str, Any],
    taken: int,
    count: int,
    why: str,
    flags: Sequence[str],
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    return SamplerDraft(
        op="random_words",
        topic=topic,
        slug=slug,
        profile=profile,
        request={**start, "taken": taken, "count": count},
        why=why,
        flags=sorted(flags),
        spec=SPEC,
        purposes=purposes,
    )


def _slug(name: str) -> str:
    return name.replace("+", ".")


def _published(published: Published) -> SamplerDraft:
    return _case(
        "published",
        f"{_slug(published.name)}.{published.slug}",
        published.name,
        published.start,
        published.taken,
        len(published.words),
        f"{published.source} has these words: a program with other words has another generator.",
        ["KnownWords"],
        [gives(words=list(published.words))],
    )


def _places(name: str, stream: _Stream) -> Iterator[SamplerDraft]:
    """Yield places around the end of the first block and of a later one."""
    block = stream.block
    for taken, count, about in (
        (0, 1, "The first word alone: a warm-up, or a word that is thrown away, shifts all others"),
        (block - 1, 1, "The last word of the first block"),
        (block, 1, "The first word of the second block: the state must have moved on"),
        (block - 1, 3, "Three words across the end of a block"),
        (5 * block + block // 2, 2, "Two words inside a later block: words that were taken before are passed over, blocks and all"),
    ):  # fmt: skip
        yield _case(
            "places", f"{_slug(name)}.{taken}-{count}", name, stream.start, taken, count,
            f"{about}; a block is {block} words.", ["StreamPlace"],
        )  # fmt: skip


def _seeds(name: str) -> Iterator[SamplerDraft]:
    for slug, (seed, about) in _SEEDS.items():
        if name.split("+", maxsplit=1)[0] in _ONLY_32 and seed >= 2**32:
            continue
        count = 5 if name == "threefry2x32-20.mlx" else 3
        yield _case(
            "seeds", f"{_slug(name)}.{slug}", name, _seed(seed), 0, count,
            f"The first words of {about}.", ["SeedWidth"],
        )  # fmt: skip
    if "seed-sequence" in name and "+" not in name:
        for bits in (96, 128, 200):
            yield _case(
                "seeds", f"{_slug(name)}.{bits}-bits", name, _seed(3**(bits // 2)), 0, 3,
                f"numpy takes seeds of any size: this one has about {bits * 79 // 100} bits.",
                ["SeedWidth"],
            )  # fmt: skip


def _counters() -> Iterator[SamplerDraft]:
    ones32, ones64 = 2**32 - 1, 2**64 - 1
    for slug, words, about in (
        ("32", (ones32, 0, 0, 0), "The low word of the counter overflows into the second"),
        ("64", (ones32, ones32, 0, 0), "The low half of the counter overflows into the high half: the offset runs into the subsequence"),
        ("96", (ones32, ones32, ones32, 0), "Three words of the counter overflow into the fourth"),
        ("128", (ones32,) * 4, "The whole counter overflows, and begins again at 0"),
    ):  # fmt: skip
        for before in (0, 3):
            yield _case(
                "counters", f"philox4x32-10.carry-{slug}-after-{before}", "philox4x32-10",
                {"key": _words(32, 42, 0), "counter": _words(32, *words)}, before, 5,
                f"{about}, between two blocks.", ["CounterCarry"],
            )  # fmt: skip
    for slug, words, about in (
        ("64", (ones64, 0, 0, 0), "The low word of the counter overflows into the second"),
        ("128", (ones64, ones64, 0, 0), "Two words of the counter overflow into the third"),
        ("256", (ones64,) * 4, "The whole counter overflows, and begins again at 0"),
    ):  # fmt: skip
        for name in ("philox4x64-10", "philox4x64-10.numpy", "threefry4x64-20"):
            key = _words(64, 42, 0) if "philox" in name else _words(64, 42, 0, 0, 0)
            yield _case(
                "counters", f"{name}.carry-{slug}", name,
                {"key": key, "counter": _words(64, *words)}, 3, 3,
                f"{about}, between two blocks.", ["CounterCarry"],
            )  # fmt: skip
    for slug, counter, about in (
        ("32", (ones32, 0), "The low word of the counter overflows into the high one"),
        ("64", (ones32, ones32), "The whole counter overflows, and begins again at 0"),
    ):
        yield _case(
            "counters", f"threefry2x32-20.carry-{slug}", "threefry2x32-20",
            {"key": _words(32, 42, 0), "counter": _words(32, *counter)}, 1, 3,
            f"{about}, between two blocks.", ["CounterCarry"],
        )  # fmt: skip
    for rounds in (8, 12, 20):
        for slug, words, about in (
            ("32", (ones32, 0, 0, 0), "The low word of ChaCha's counter overflows into the second, which is a nonce in the RFC"),
            ("64", (ones32, ones32, 0, 0), "The whole counter overflows: it begins again at 0, and the nonce stays"),
        ):  # fmt: skip
            yield _case(
                "counters", f"chacha{rounds}.carry-{slug}", f"chacha{rounds}",
                {"key": _words(32, *range(8)), "counter": _words(32, *words)}, 14, 4,
                f"{about}.", ["CounterCarry"],
            )  # fmt: skip
    for row in (0, 1, 2, 7):
        yield _case(
            "counters", f"philox4x32-10.row-{row}", "philox4x32-10",
            {"key": _words(32, 1234, 0), "counter": _words(32, 0, 0, row, 0)}, 0, 4,
            f"The stream of row {row} of a batch: the row is the high half of the counter, so rows share no word.",
            ["StreamPlace"],
        )  # fmt: skip
    for offset in (1, 4):
        yield _case(
            "counters", f"philox4x32-10.offset-{offset}", "philox4x32-10",
            {"key": _words(32, 1234, 0), "counter": _words(32, offset, 0, 0, 0)}, 0, 4,
            f"The stream {offset} blocks on: an offset that is not moved gives the last call's words again.",
            ["StreamPlace"],
        )  # fmt: skip


def _keys() -> Iterator[SamplerDraft]:
    for slug, low, high, about in (
        ("high", 0, 1, "only a bit of the high word is set"),
        ("sign", 0x80000000, 0x80000000, "the top bits of both words are set"),
        ("ones", 2**32 - 1, 2**32 - 1, "all bits are set"),
        ("halves", 0x89ABCDEF, 0x01234567, "the words differ: exchanged words show"),
    ):
        for name in ("philox4x32-10", "threefry2x32-20"):
            yield _case(
                "keys", f"{name}.{slug}", name, {"key": _words(32, low, high)}, 0, 4,
                f"A key of two words of 32 bits, of which {about}.", ["SeedWidth"],
            )  # fmt: skip
        yield _case(
            "keys", f"philox4x64-10.{slug}", "philox4x64-10",
            {"key": _words(64, low << 32, high << 32)}, 0, 4,
            f"A key of two words of 64 bits, of whose high halves {about}.", ["SeedWidth"],
        )  # fmt: skip
    for slug, count in (("one-word", 1), ("700-words", 700)):
        yield _case(
            "keys", f"mt19937.by-array.{slug}", "mt19937.by-array",
            {"key": _words(32, *(i * 2654435761 % 2**32 for i in range(1, count + 1)))}, 0, 3,
            f"A key of {slug.replace('-', ' ')}: shorter or longer than the state, all of it counts.",
            ["SeedWidth"],
        )  # fmt: skip
    yield _case(
        "keys", "isaac64.256-words", "isaac64",
        {"key": _words(64, *(i * 0x9E3779B97F4A7C15 % 2**64 for i in range(256)))}, 0, 3,
        "A key that fills the whole table: its last word counts as well.", ["SeedWidth"],
    )  # fmt: skip
    for seed, position, token in ((0, 0, 0), (2**63, 7, 128_255), (42, 2**32 - 1, 1)):
        for name in ("murmur3-32.noise", "murmur3-32.second-noise"):
            yield _case(
                "keys", f"{name}.{position}-{token}", name,
                {**_seed(seed), "counter": _words(32, position)}, token, 3,
                f"Noise of tokens {token} and after, at position {position}: keyed by the token, not by a place after sorting.",
                ["NoiseByRank"],
            )  # fmt: skip


def _refused() -> Iterator[SamplerDraft]:
    for slug, name, start, about in (
        ("seed-of-33-bits", "mt19937", _seed(2**32), ("A seed of 33 bits, although at most 32 "
                                                     "are allowed")),
        ("seed-of-65-bits", "splitmix64", _seed(2**64), ("A seed of 65 bits, although at most 64 "
                                                        "are allowed")),
        ("no-seed", "mt19937", {}, "No seed: none may be invented"),
        ("no-key", "philox4x32-10", {}, "No key: none may be invented"),
        ("short-key", "philox4x32-10", {"key": _words(32, 1)}, "A key of one word instead of two"),
        ("long-key", "chacha20", {"key": _words(32, *range(9))}, "A key of nine words instead of eight"),
        ("wide-word", "philox4x32-10", {"key": _words(64, 1, 0)}, "Words of 64 bits for a generator of 32-bit words"),
        ("zero-state", "xoshiro256plusplus", {"key": _words(64, 0, 0, 0, 0)}, "A state of zeros alone would stay so for ever"),
        ("seed-and-key", "mt19937", {**_seed(1), "key": _words(32, 1)}, "A key for a generator that takes none: one of the two would be ignored"),
        ("short-counter", "philox4x32-10", {"key": _words(32, 1, 0), "counter": _words(32, 0, 0)}, "A counter of two words instead of four"),
    ):  # fmt: skip
        yield _case(
            "refused", slug, name, start, 0, 1, f"{about}: refused, not cut to fit.",
            ["ParameterDomain"], [refuses("INVALID_PARAMETER")],
        )  # fmt: skip
