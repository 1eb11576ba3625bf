"""What engines make of random words, by the names that records have."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from sampling_ref.errors import RandomNumberError, UnknownNameError
from sampling_ref.random import uniforms


@dataclass(frozen=True)
class Conversion:
    """One engine's way from words to a number."""

    convert: Callable[..., float]
    words: int
    """How many words make one number, in the order in which they are taken."""

    bits: Literal[32, 64]
    """The width of a word."""

    dtype: Literal["f32", "f64"]
    """The type of the number."""


def _exllamav2(first: int, second: int) -> float:
    return uniforms.exllamav2_float(uniforms.mt19937_double(first, second))


CONVERSIONS: Final[Mapping[str, Conversion]] = MappingProxyType(
    {
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
        "exllamav2-float": Conversion(_exllamav2, 2, 32, "f32"),
        "mlx-float": Conversion(uniforms.mlx_float, 1, 32, "f32"),
    }
)
"""Every conversion that records ask for: those of `sampling_ref.random.uniforms`."""


def numbers_of(name: str, words: Sequence[int]) -> list[float]:
    """Return the numbers that a conversion makes of words.

    Raises `UnknownNameError` for another name, `RandomNumberError` for words that do not
    come in whole groups.

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
