"""Every generator gives the words that its authors, or the programs that use it, published.

The values named "rand 0.9.4" and so on came from those crates, run once.
"""

import random
from collections.abc import Iterator
from itertools import islice
from struct import pack, unpack

import pytest

from sampling_ref.random.chacha import Rounds, chacha, chacha_block, chacha_by_seed
from sampling_ref.random.isaac64 import isaac64, isaac64_by_seed
from sampling_ref.random.mt19937 import mt19937, mt19937_by_array
from sampling_ref.random.murmur import SECOND_DOMAIN, murmur3_32, murmur_noise
from sampling_ref.random.pcg64 import pcg64
from sampling_ref.random.philox import philox4x32_words, philox4x64_words, philox_block
from sampling_ref.random.splitmix64 import splitmix64
from sampling_ref.random.threefry import threefry2x32, threefry2x32_bits, threefry4x64
from sampling_ref.random.uniforms import mt19937_double
from sampling_ref.random.words import low_then_high, pairs_low_first
from sampling_ref.random.xoshiro256plusplus import xoshiro256plusplus, xoshiro256plusplus_by_seed


def first(words: Iterator[int], count: int) -> list[int]:
    return list(islice(words, count))


def at(words: Iterator[int], place: int) -> int:
    """Return the word at a place, counted from 1 as the C++ standard counts."""
    return next(islice(words, place - 1, None))


def hexadecimal(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def little_endian(text: str) -> list[int]:
    return list(unpack(f"<{len(text) // 8}I", bytes.fromhex(text)))


def test_mt19937_gives_the_value_that_the_cpp_standard_requires() -> None:
    assert at(mt19937(5489), 10_000) == 4123659995  # ISO C++, [rand.predef]


def test_mt19937_by_array_gives_the_first_words_of_its_authors_output() -> None:
    expected = [1067595299, 955945823, 477289528, 4107218783, 4228976476]  # mt19937ar.out
    assert first(mt19937_by_array([0x123, 0x234, 0x345, 0x456]), 5) == expected


@pytest.mark.parametrize("exponent", [0, 1, 31, 32, 100, 32 * 700])
def test_mt19937_by_array_is_pythons_random(exponent: int) -> None:
    seed = 2**exponent - 1
    key = [seed >> shift & 2**32 - 1 for shift in range(0, max(seed.bit_length(), 1), 32)]
    peer = random.Random(seed)
    words = mt19937_by_array(key)
    assert [mt19937_double(next(words), next(words)) for _ in range(400)] == [
        peer.random() for _ in range(400)
    ]


# Random123, tests/kat_vectors (https://github.com/DEShawResearch/random123)
PI_32 = hexadecimal("243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0")
PI_64 = hexadecimal(
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89"
    " 452821e638d01377 be5466cf34e90c6c c0ac29b7c97c50dd 3f84d5b5b5470917"
)
ONES_32, ONES_64 = 2**32 - 1, 2**64 - 1


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([ONES_32] * 4, [ONES_32] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (PI_32[:4], PI_32[4:], "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox4x32_gives_its_authors_answers(
    counter: list[int], key: list[int], expected: str
) -> None:
    assert list(philox_block(counter, key)) == hexadecimal(expected)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
        (
            [ONES_64] * 4,
            [ONES_64] * 2,
            "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
        ),
        (
            PI_64[:4],
            PI_64[4:6],
            "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
        ),
    ],
)
def test_philox4x64_gives_its_authors_answers(
    counter: list[int], key: list[int], expected: str
) -> None:
    assert list(philox_block(counter, key, 64)) == hexadecimal(expected)


def test_philox_gives_the_values_that_the_cpp_standard_requires() -> None:
    # ISO C++26, [rand.predef]: philox4x32 and philox4x64, seeded with 20111115
    assert at(philox4x32_words(20111115), 10_000) == 1955073260
    before_zero = [ONES_64] * 4  # numpy's order adds one before the first block
    words = philox4x64_words([20111115, 0], counter=before_zero)
    assert at(words, 10_000) == 3409172418970261260


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 2, [0] * 2, "6b200159 99ba4efe"),
        ([ONES_32] * 2, [ONES_32] * 2, "1cb996fc bb002be7"),
        (PI_32[:2], PI_32[2:4], "c4923a9c 483df7a0"),
    ],
)
def test_threefry2x32_gives_its_authors_answers(
    counter: list[int], key: list[int], expected: str
) -> None:
    assert list(threefry2x32(counter, key)) == hexadecimal(expected)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 4, "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b"),
        (
            [ONES_64] * 4,
            [ONES_64] * 4,
            "29c24097942bba1b 0371bbfb0f6f4e11 3c231ffa33f83a1c cd29113fde32d168",
        ),
        (
            PI_64[:4],
            [*PI_64[4:6], *PI_64[5:7]],  # the file repeats a word of pi here
            "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4",
        ),
    ],
)
def test_threefry4x64_gives_its_authors_answers(
    counter: list[int], key: list[int], expected: str
) -> None:
    assert list(threefry4x64(counter, key)) == hexadecimal(expected)


def test_threefry2x32_bits_come_in_the_order_of_mlx() -> None:
    # mlx 0.32.4: mx.random.split(mx.random.key(5), 2)
    assert threefry2x32_bits([0, 5], 4) == [3594430910, 534832770, 1784718894, 3813648515]


def test_pcg64_gives_its_authors_answers() -> None:
    # pcg-c, test-high/expected/check-setseq-128-xsl-rr-64.out
    expected = (
        "86b1da1d72062b68 1304aa46c9853d39 a3670e9e0dd50358"
        " f9090e529a7dae00 c85b9fd837996f2c 606121f8e3919196"
    )
    assert first(pcg64(42, 54), 6) == hexadecimal(expected)


# J. Strombergson, draft-strombergson-chacha-test-vectors-01, 256-bit keys, first blocks
STROMBERGSON_ZERO = {
    8: "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
    "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42",
    12: "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
    "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be",
    20: "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
}


@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_chacha_gives_the_blocks_of_the_internet_draft(rounds: Rounds) -> None:
    assert first(chacha([0] * 8, rounds=rounds), 16) == little_endian(STROMBERGSON_ZERO[rounds])


def test_chacha_takes_the_nonce_as_the_internet_draft_does() -> None:
    # TC3: all zero key, one bit set in the nonce, 12 rounds; as in rand's own tests
    block = first(chacha([0] * 8, rounds=12, nonce=1), 16)
    expected = 0x3DE08D69EFF7BA6D4B8C827BF8BDB864
    assert sum(word << 32 * i for i, word in enumerate(block[:4])) == expected


def test_chacha20_gives_the_block_of_its_rfc() -> None:
    # RFC 8439, section 2.3.2: a counter of one word, a nonce of three
    key = unpack("<8I", bytes(range(32)))
    nonce = unpack("<3I", bytes.fromhex("000000090000004a00000000"))
    expected = (
        "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3"
        " 466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    )
    block = chacha_block(key, 1 | nonce[0] << 32, nonce[1] | nonce[2] << 32, 20)
    assert block == hexadecimal(expected)


def test_chacha_goes_on_from_block_to_block() -> None:
    # rand_chacha's own test: the i-th word of the i-th block
    expected = hexadecimal(
        "f225c81a 6ab1be57 04d42951 70858036 49884684 64efec72 4be2d186 3615b384"
        " 11cfa18e d3c50049 75c775f6 434c6530 2c5bad8f 898881dc 5f1c86d9 c1f8e7f4"
    )
    assert first(chacha(list(range(8)), rounds=20), 16 * 17)[::17] == expected


def test_isaac64_with_seed_zero_is_its_authors_unseeded_program() -> None:
    expected = (
        "F67DFBA498E4937C 84A5066A9204F380 FEE34BD5F5514DBB 4D1664739B8F80D6"
        " 8607459AB52A14AA 0E78BC5A98529E49 FE5332822AD13777 556C27525E33D01A"
    )
    assert first(isaac64_by_seed(0), 8) == hexadecimal(expected)


def test_isaac64_gives_the_values_of_rand_isaac() -> None:
    # rand_isaac 0.4.0, its own tests
    assert first(isaac64([1, 23, 456, 7890]), 4) == [
        15071495833797886820,
        7720185633435529318,
        10836773366498097981,
        5414053799617603544,
    ]
    assert at(isaac64([12345, 67890, 54321, 9876]), 10_001) == 18143823860592706164
    halves = [3477963620, 3509106075, 687845478, 1797495790, 227048253, 2523132918]
    assert first(low_then_high(isaac64([1, 23, 456, 7890])), 6) == halves


def test_xoshiro256plusplus_gives_its_authors_answers() -> None:
    assert first(xoshiro256plusplus([1, 2, 3, 4]), 10) == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]


def test_splitmix64_gives_its_authors_answers() -> None:
    assert first(splitmix64(1477776061723855037), 4) == [
        1985237415132408290,
        2979275885539914483,
        13511426838097143398,
        8488337342461049707,
    ]


# rand 0.9.4 (StdRng, SmallRng), rand_chacha 0.9.0, rand_isaac 0.4.0, rand_xoshiro 0.7.0:
# seed_from_u64, then next_u64 three times; the 10,000th.
RUST = {
    ("StdRng", 0): [
        13486662071293341567,
        14267822071968393595,
        476749353381333526,
        697567528329070892,
    ],
    ("StdRng", 299792458): [
        272721676169127798,
        1506757757765269040,
        14765239225837136837,
        14779782540571341471,
    ],
    ("StdRng", 2**64 - 1): [
        1128037667460439992,
        735055083679663774,
        1343266137521395288,
        7865718334330121362,
    ],
    ("ChaCha8", 42): [
        12578764544318200737,
        17529487244874322312,
        7886285670807131020,
        15888163471031953794,
    ],
    ("ChaCha20", 42): [
        9482535800248027256,
        7566832397956113305,
        1804347359131428821,
        15925779109801949323,
    ],
    ("SmallRng", 42): [
        15021278609987233951,
        5881210131331364753,
        18149643915985481100,
        12385879149232864961,
    ],
    ("SmallRng", 2**64 - 1): [
        6254647548650071986,
        16610832622747802512,
        16422857234328439435,
        3084195581809135599,
    ],
    ("Isaac64", 42): [
        8688193891544802378,
        14354873159942706601,
        13429965165505624903,
        9930460817617000355,
    ],
    ("Isaac64", 2**64 - 1): [
        1516816366269520492,
        11074744104258243516,
        7389827550602861193,
        6498244461123378547,
    ],
    ("SplitMix64", 42): [
        13679457532755275413,
        2949826092126892291,
        5139283748462763858,
        7128470787262806925,
    ],
}


def rust_words(name: str, seed: int) -> Iterator[int]:
    match name:
        case "StdRng":
            return pairs_low_first(chacha_by_seed(seed))
        case "ChaCha8":
            return pairs_low_first(chacha_by_seed(seed, rounds=8))
        case "ChaCha20":
            return pairs_low_first(chacha_by_seed(seed, rounds=20))
        case "SmallRng":
            return xoshiro256plusplus_by_seed(seed)
        case "Isaac64":
            return isaac64_by_seed(seed)
        case _:
            return splitmix64(seed)


@pytest.mark.parametrize(("name", "seed"), RUST)
def test_seeds_give_the_words_of_the_rust_crates(name: str, seed: int) -> None:
    words = first(rust_words(name, seed), 10_000)
    assert [*words[:3], words[9_999]] == RUST[name, seed]


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [  # published for MurmurHash3_x86_32, whole words only
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"\x21\x43\x65\x87", 0, 0xF55B516B),
        (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
        (b"\x00\x00\x00\x00", 0, 0x2362F9DE),
        (b"aaaa", 0x9747B28C, 0x5A97808A),
        (b"abcd", 0x9747B28C, 0xF0478627),
        (b"test", 0, 0xBA6BD213),
        (b"test", 0x9747B28C, 0x704B81DC),
    ],
)
def test_murmur3_gives_the_published_hashes(data: bytes, seed: int, expected: int) -> None:
    assert murmur3_32(unpack(f"<{len(data) // 4}I", data), seed) == expected


def test_noise_is_the_hash_of_seed_position_and_token_in_little_endian_order() -> None:
    seed, position, token = 0x0123456789ABCDEF, 77, 128_255
    words = unpack("<4I", pack("<QII", seed, position, token))
    assert murmur_noise(seed, position, token) == murmur3_32(words)
    second = murmur_noise(seed, position, token, domain=SECOND_DOMAIN)
    assert second == murmur3_32(words, SECOND_DOMAIN)
