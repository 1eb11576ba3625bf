"""From random bits to a random number, as each engine does it.

Every function is one engine's conversion, and returns the very value that engine computes.
They differ in the bits they use, in whether 0 and 1 can come out, and in whether
the value is a 32-bit float (then it is so rounded, and returned as the float it equals).

    function                bits     values                       0?   1?   32-bit?
    libstdcxx_double        64       n / 2**64, rounded           yes  no   no
    libstdcxx_float         32       n / 2**32, rounded           yes  no   yes
    mt19937_double          53       n / 2**53                    yes  no   no
    numpy_double            53 high  n / 2**53                    yes  no   no
    numpy_float             24       n / 2**24                    yes  no   yes
    torch_cpu_double        53 low   n / 2**53                    yes  no   no
    torch_cpu_float         24       n / 2**24                    yes  no   yes
    curand_float            32       (n + 1/2) / 2**32, rounded   no   yes  yes
    torch_cuda_float        32       the same, 1 becomes 0        yes  no   yes
    rust_double             53       n / 2**53                    yes  no   no
    rust_float              24       n / 2**24                    yes  no   yes
    rust_weighted_index     23       n / 2**23 times the total    yes  no   yes
    vllm_float              32       (n + 1/2) / 2**32, rounded   no   yes  yes
    vllm_double             53       (n + 1/2) / 2**53, rounded   no   no   no
    sglang_double           32       n / (2**32 - 1)              yes  yes  no
    exllamav2_float         53       u * 0.9998, rounded          yes  no   yes
    mlx_float               32       n / 2**32, rounded           yes  no   yes

A 1 is outside what a draw accepts ("in [0, 1)"): each engine has its own way out, which
its profile names. Where a conversion rounds, some values are likelier than others.
"""

from sampling_ref.errors import RandomNumberError, shown
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.parameters import read_whole
from sampling_ref.row import is_number

WORD = 2**32 - 1
LONG_WORD = 2**64 - 1
"""The largest words of 32 and 64 bits."""

BELOW_ONE = 1 - 2.0**-53
BELOW_ONE_32 = 1 - 2.0**-24
"""The largest numbers below 1 with 64 and with 32 bits."""


def libstdcxx_double(first: int, second: int) -> float:
    """Return `std::generate_canonical<double, 53>` of libstdc++ on two 32-bit words.

    The first word is the *low* one. What rounds up to 1 becomes the number below 1.
    llama.cpp draws with it.

    >>> libstdcxx_double(0, 2**31), libstdcxx_double(2**32 - 1, 2**32 - 1) < 1
    (0.5, True)
    """
    low = read_whole("first", first, most=WORD)
    high = read_whole("second", second, most=WORD)
    return min((low + high * 2.0**32) / 2.0**64, BELOW_ONE)


def libstdcxx_float(word: int) -> float:
    """Return `std::generate_canonical<float, 24>` of libstdc++ on a 32-bit word (32-bit float).

    What rounds up to 1 becomes the number below 1. llama.cpp's XTC uses it.

    >>> libstdcxx_float(2**31), libstdcxx_float(2**32 - 1) == 1 - 2.0**-24
    (0.5, True)
    """
    return min(to_binary32(read_whole("word", word, most=WORD)) / 2**32, BELOW_ONE_32)


def mt19937_double(first: int, second: int) -> float:
    """Return the 53-bit number that MT19937's authors make of two 32-bit words.

    27 bits of the first word are the high ones. Python's `random.random()`, numpy's
    `RandomState.random_sample()` and `Generator(MT19937(...)).random()`.

    >>> mt19937_double(2**31, 0)
    0.5
    """
    high = read_whole("first", first, most=WORD) >> 5
    low = read_whole("second", second, most=WORD) >> 6
    return (high * 2**26 + low) / 2**53


def numpy_double(word: int) -> float:
    """Return numpy's `Generator.random()` on a 64-bit word (PCG64, Philox): its high 53 bits.

    >>> numpy_double(2**63)
    0.5
    """
    return (read_whole("word", word, most=LONG_WORD) >> 11) / 2**53


def numpy_float(word: int) -> float:
    """Return numpy's `Generator.random(dtype=float32)` on a 32-bit word: its high 24 bits.

    >>> numpy_float(2**31)
    0.5
    """
    return (read_whole("word", word, most=WORD) >> 8) / 2**24


def torch_cpu_double(first: int, second: int) -> float:
    """Return torch's `rand` for 64-bit floats on a CPU, on two 32-bit words.

    The first word is the *high* one, and the *low* 53 bits of the two are used.

    >>> torch_cpu_double(2**20, 0)
    0.5
    """
    high = read_whole("first", first, most=WORD)
    low = read_whole("second", second, most=WORD)
    return ((high << 32 | low) & 2**53 - 1) / 2**53


def torch_cpu_float(word: int) -> float:
    """Return torch's `rand` for 32-bit floats on a CPU, on a 32-bit word: its *low* 24 bits.

    >>> torch_cpu_float(2**23)
    0.5
    """
    return (read_whole("word", word, most=WORD) & 2**24 - 1) / 2**24


def curand_float(word: int) -> float:
    """Return cuRAND's `curand_uniform` on a 32-bit word: in (0, 1], a 32-bit float.

    The word is rounded to 24 bits, scaled, and half of the smallest step is added (and
    rounded again). The 128 highest words give 1.

    >>> curand_float(0) == 2.0**-33, curand_float(2**32 - 129) < 1, curand_float(2**32 - 128)
    (True, True, 1.0)
    """
    return to_binary32(to_binary32(read_whole("word", word, most=WORD)) * 2.0**-32 + 2.0**-33)


def torch_cuda_float(word: int) -> float:
    """Return torch's `rand` for 32-bit floats on CUDA: cuRAND's number, but 0 for 1.

    >>> torch_cuda_float(2**32 - 1)
    0.0
    """
    return curand_float(word) % 1.0


rust_double = numpy_double
"""Rust's `random::<f64>()` on a 64-bit word."""


rust_float = numpy_float
"""Rust's `random::<f32>()` on a 32-bit word."""


def rust_weighted_index(word: int, total: float = 1.0) -> float:
    """Return where Rust's `WeightedIndex<f32>` cuts a total, on a 32-bit word (32-bit float).

    The high 23 bits become the fraction of a float in [1, 2), 1 is subtracted, and the
    rest is multiplied by the total of the weights, itself a 32-bit float. candle and
    mistral.rs draw so: the first index whose running sum is greater.

    >>> rust_weighted_index(2**31), rust_weighted_index(2**31, 3.0), rust_weighted_index(511)
    (0.5, 1.5, 0.0)
    """
    if not is_number(total) or not 0 < total < 2**128:
        raise RandomNumberError(f"total must be a positive 32-bit float, got {shown(total)}")
    return to_binary32((read_whole("word", word, most=WORD) >> 9) / 2**23 * to_binary32(total))


def vllm_float(word: int) -> float:
    """Return vLLM's keyed uniform number on a 32-bit hash: a 32-bit float in (0, 1].

    Its second model runner, since it hashes with MurmurHash3: the hash plus a half, scaled,
    rounded once. (An earlier version used the high 24 bits.)

    >>> vllm_float(0) == 2.0**-33, vllm_float(2**32 - 1)
    (True, 1.0)
    """
    return to_binary32((read_whole("word", word, most=WORD) + 0.5) / 2**32)


def vllm_double(low: int, high: int) -> float:
    """Return vLLM's keyed uniform number in 64 bits, on two 32-bit hashes: in (0, 1).

    The high 53 bits of the two, plus a half, scaled; 1 becomes the number below 1. `high`
    is the hash with the domain `murmur.SECOND_DOMAIN`.

    >>> vllm_double(0, 0) == 2.0**-54, vllm_double(2**32 - 1, 2**32 - 1) == 1 - 2.0**-53
    (True, True)
    """
    low, high = read_whole("low", low, most=WORD), read_whole("high", high, most=WORD)
    return min(((high << 32 | low) >> 11) + 0.5, 2.0**53 - 1) / 2**53


def sglang_double(word: int) -> float:
    """Return SGLang's keyed uniform number on a 32-bit hash: in [0, 1], both ends included.

    >>> sglang_double(0), sglang_double(2**32 - 1)
    (0.0, 1.0)
    """
    return read_whole("word", word, most=WORD) / (2**32 - 1)


def exllamav2_float(uniform: float) -> float:
    """Return what exllamav2 makes of Python's `random.random()`: 0.9998 of it (32-bit float).

    Sums of 32-bit probabilities fall short of 1, and a number above all of them would take
    the last token. So no number is above 0.9998, and tokens in the last 0.0002 of the running
    sum are never drawn.

    >>> exllamav2_float(0.0), exllamav2_float(0.5) == 0.4999000132083893
    (0.0, True)
    """
    if not is_number(uniform) or not 0 <= uniform < 1:
        raise RandomNumberError(f"uniform must be in [0, 1), got {shown(uniform)}")
    return to_binary32(to_binary32(uniform) * 0.9998)


mlx_float = libstdcxx_float
"""mlx's `random.uniform` on a 32-bit word.

Word and 2**32 - 1 are rounded to 32-bit floats and divided; 1 becomes the number below.
"""
