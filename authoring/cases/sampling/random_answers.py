"""Random words that their authors, or the programs that use them, published."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple


class Published(NamedTuple):
    """A question whose answer was printed somewhere."""

    name: str
    slug: str
    start: dict[str, Any]
    taken: int
    words: tuple[str, ...]
    source: str


RANDOM123: Final = "Random123's file of known answers (kat_vectors)"
PI: Final = ["243f6a88", "85a308d3", "13198a2e", "03707344", "a4093822", "299f31d0"]
PI_64: Final = [
    "243f6a8885a308d3",
    "13198a2e03707344",
    "a4093822299f31d0",
    "082efa98ec4e6c89",
    "452821e638d01377",
    "be5466cf34e90c6c",
    "c0ac29b7c97c50dd",
]
ONES: Final = "f" * 8
ONES_64: Final = "f" * 16
ZERO: Final = "0" * 8
ZERO_64: Final = "0" * 16


def _all() -> Iterator[Published]:
    yield Published("mt19937", "cpp-10000", {"seed": "1571"}, 9_999,
                    ("f5ca0edb",), "The C++ standard, the 10,000th word,")  # fmt: skip
    yield Published("mt19937.by-array", "authors", {"key": _words32(0x123, 0x234, 0x345, 0x456)}, 0,
                    tuple(f"{x:08x}" for x in (1067595299, 955945823, 477289528, 4107218783,
                                               4228976476)),
                    "The authors' file mt19937ar.out")  # fmt: skip
    for slug, counter, key, words in (
        ("zeros", [ZERO] * 4, [ZERO] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ones", [ONES] * 4, [ONES] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("pi", PI[:4], PI[4:], "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ):
        yield Published("philox4x32-10", slug, {"counter": counter, "key": key}, 0,
                        tuple(words.split()), RANDOM123)  # fmt: skip
    for slug, counter, key, words in (
        ("zeros", [ZERO_64] * 4, [ZERO_64] * 2,
         "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
        ("ones", [ONES_64] * 4, [ONES_64] * 2,
         "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0"),
        ("pi", PI_64[:4], PI_64[4:6],
         "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6"),
    ):  # fmt: skip
        yield Published("philox4x64-10", slug, {"counter": counter, "key": key}, 0,
                        tuple(words.split()), RANDOM123)  # fmt: skip
    yield Published("philox4x32-10", "cpp-10000", {"key": _words32(20111115, 0)}, 9_999,
                    (f"{1955073260:08x}",), "The C++26 standard, the 10,000th word,")  # fmt: skip
    yield Published("philox4x64-10", "cpp-10000", {"key": [f"{20111115:016x}", ZERO_64]}, 9_999,
                    (f"{3409172418970261260:016x}",),
                    "The C++26 standard, the 10,000th word,")  # fmt: skip
    for slug, counter, key, words in (
        ("zeros", [ZERO] * 2, [ZERO] * 2, "6b200159 99ba4efe"),
        ("ones", [ONES] * 2, [ONES] * 2, "1cb996fc bb002be7"),
        ("pi", PI[:2], PI[2:4], "c4923a9c 483df7a0"),
    ):
        yield Published("threefry2x32-20", slug, {"counter": counter, "key": key}, 0,
                        tuple(words.split()), RANDOM123)  # fmt: skip
    for slug, counter, key, words in (
        ("zeros", [ZERO_64] * 4, [ZERO_64] * 4,
         "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b"),
        ("ones", [ONES_64] * 4, [ONES_64] * 4,
         "29c24097942bba1b 0371bbfb0f6f4e11 3c231ffa33f83a1c cd29113fde32d168"),
        ("pi", PI_64[:4], [*PI_64[4:6], *PI_64[5:7]],
         "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4"),
    ):  # fmt: skip
        yield Published("threefry4x64-20", slug, {"counter": counter, "key": key}, 0,
                        tuple(words.split()), RANDOM123)  # fmt: skip
    yield Published("threefry2x32-20.mlx", "split", {"seed": "5"}, 0,
                    _hex32(3594430910, 534832770, 1784718894, 3813648515),
                    "mlx 0.32.4, mx.random.split(mx.random.key(5), 2),")  # fmt: skip
    yield Published("pcg64", "authors",
                    {"key": [f"{42:016x}", ZERO_64, f"{54:016x}", ZERO_64]}, 0,
                    ("86b1da1d72062b68", "1304aa46c9853d39", "a3670e9e0dd50358",
                     "f9090e529a7dae00", "c85b9fd837996f2c", "606121f8e3919196"),
                    "The author's check of setseq-128-xsl-rr-64")  # fmt: skip
    yield from _chacha()
    yield from _rust()
    yield from _murmur()


def _chacha() -> Iterator[Published]:
    draft = "The internet draft of ChaCha's test vectors (Strombergson), all zero,"
    for rounds, first in (
        (8, "3e00ef2f895f40d67f5bb8e81f09a5a1"),
        (12, "9bf49a6a0755f953811fce125f2683d5"),
        (20, "76b8e0ada0f13d90405d6ae55386bd28"),
    ):
        words = tuple(bytes.fromhex(first[at : at + 8])[::-1].hex() for at in range(0, 32, 8))
        yield Published(f"chacha{rounds}", "zeros", {"key": [ZERO] * 8}, 0, words, draft)
    key = [bytes(range(at, at + 4))[::-1].hex() for at in range(0, 32, 4)]
    yield Published(
        "chacha20", "rfc-8439", {"key": key, "counter": ["00000001", "09000000", "4a000000", ZERO]},
        0, ("e4e7f110", "15593bd1", "1fdd0f50", "c47120a3", "c7f4d1c7", "0368c033"),
        "RFC 8439, section 2.3.2, with its nonce as the high words of the counter,",
    )  # fmt: skip
    for word, at in (("f225c81a", 0), ("6ab1be57", 17), ("c1f8e7f4", 15 * 17)):
        yield Published("chacha20", f"rand-{at}", {"key": _words32(*range(8))}, at, (word,),
                        "rand_chacha's own test")  # fmt: skip


def _rust() -> Iterator[Published]:
    for name, seed, words in (
        ("chacha12.by-seed+pairs-low-first", 0,
         (13486662071293341567, 14267822071968393595, 476749353381333526, 697567528329070892)),
        ("chacha12.by-seed+pairs-low-first", 299792458,
         (272721676169127798, 1506757757765269040, 14765239225837136837, 14779782540571341471)),
        ("chacha12.by-seed+pairs-low-first", 2**64 - 1,
         (1128037667460439992, 735055083679663774, 1343266137521395288, 7865718334330121362)),
        ("xoshiro256plusplus.by-seed", 42,
         (15021278609987233951, 5881210131331364753, 18149643915985481100, 12385879149232864961)),
        ("xoshiro256plusplus.by-seed", 2**64 - 1,
         (6254647548650071986, 16610832622747802512, 16422857234328439435, 3084195581809135599)),
        ("isaac64.by-seed", 42,
         (8688193891544802378, 14354873159942706601, 13429965165505624903, 9930460817617000355)),
        ("isaac64.by-seed", 2**64 - 1,
         (1516816366269520492, 11074744104258243516, 7389827550602861193, 6498244461123378547)),
        ("splitmix64", 42,
         (13679457532755275413, 2949826092126892291, 5139283748462763858, 7128470787262806925)),
    ):  # fmt: skip
        start = {"seed": f"{seed:x}"}
        source = "The crates rand 0.9.4, rand_isaac 0.4.0 or rand_xoshiro 0.7.0,"
        slug = {0: "zero", 42: "42", 299792458: "299792458"}.get(seed, "ones")
        yield Published(name, f"rust-{slug}", start, 0, _hex64(*words[:3]), source)
        yield Published(name, f"rust-{slug}-10000", start, 9_999, _hex64(words[3]), source)
    yield Published("isaac64.by-seed", "authors", {"seed": "0"}, 0,
                    ("f67dfba498e4937c", "84a5066a9204f380", "fee34bd5f5514dbb",
                     "4d1664739b8f80d6", "8607459ab52a14aa"),
                    "The author's program without a seed")  # fmt: skip
    yield Published("isaac64", "rand-isaac", {"key": _words64(1, 23, 456, 7890)}, 0,
                    _hex64(15071495833797886820, 7720185633435529318, 10836773366498097981,
                           5414053799617603544), "rand_isaac's own test")  # fmt: skip
    yield Published("isaac64", "rand-isaac-10001", {"key": _words64(12345, 67890, 54321, 9876)},
                    10_000, _hex64(18143823860592706164), "rand_isaac's own test")  # fmt: skip
    yield Published("xoshiro256plusplus", "authors", {"key": _words64(1, 2, 3, 4)}, 0,
                    _hex64(41943041, 58720359, 3588806011781223, 3591011842654386,
                           9228616714210784205), "rand_xoshiro's test")  # fmt: skip
    yield Published("splitmix64", "authors", {"seed": f"{1477776061723855037:x}"}, 0,
                    _hex64(1985237415132408290, 2979275885539914483, 13511426838097143398),
                    "rand_xoshiro's test of the authors' program")  # fmt: skip
    yield Published("pcg64.seed-sequence", "numpy-zero", {"seed": "0"}, 0,
                    ("a30febcfd9c2825f", "4510bdf882d9d721"),
                    "numpy.random.PCG64(0).random_raw(2)")  # fmt: skip


def _murmur() -> Iterator[Published]:
    for slug, key, seed, word in (
        ("nothing", [], 0, "00000000"),
        ("nothing-1", [], 1, "514e28b7"),
        ("nothing-ones", [], 0xFFFFFFFF, "81f16f39"),
        ("ones", ["ffffffff"], 0, "76293b50"),
        ("word", ["87654321"], 0, "f55b516b"),
        ("word-seed", ["87654321"], 0x5082EDEE, "2362f9de"),
        ("zeros", ["00000000"], 0, "2362f9de"),
        ("aaaa", ["61616161"], 0x9747B28C, "5a97808a"),
        ("abcd", ["64636261"], 0x9747B28C, "f0478627"),
        ("test", ["74736574"], 0, "ba6bd213"),
        ("test-seed", ["74736574"], 0x9747B28C, "704b81dc"),
    ):
        yield Published("murmur3-32", slug, {"seed": f"{seed:x}", "key": key}, 0, (word,),
                        "The list of MurmurHash3_x86_32 test vectors")  # fmt: skip


def _words32(*numbers: int) -> list[str]:
    return list(_hex32(*numbers))


def _words64(*numbers: int) -> list[str]:
    return list(_hex64(*numbers))


def _hex32(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:08x}" for number in numbers)


def _hex64(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:016x}" for number in numbers)


PUBLISHED: Final = tuple(_all())
"""All of them."""
