"""libstdc++'s conversions of random words as an engine: https://gcc.gnu.org/libstdc++.

`std::generate_canonical` is a template in a header of the compiler, so g++ compiles a function that
gives it the words, once for each process. llama.cpp draws with these numbers.

What it answers
    The uniform numbers of 32 and 64 bits that it makes of words.
"""

import ctypes
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.own_rules import NotExpressibleError, SamplerSession
from tokenref.floats import pack

_SOURCE: Final = """
#include <cstdint>
#include <random>
struct Given {
    using result_type = uint32_t;
    static constexpr uint32_t min() { return 0; }
    static constexpr uint32_t max() { return UINT32_MAX; }
    uint32_t operator()() { return *words++; }
    const uint32_t* words;
};
extern "C" void make(const uint32_t* words, int count, float* floats, double* doubles) {
    Given given{words};
    for (int at = 0; at < count; at++) {
        if (floats) floats[at] = std::generate_canonical<float, 24>(given);
        else doubles[at] = std::generate_canonical<double, 53>(given);
    }
}
"""


def compiler() -> str:
    """Return the command that compiles C++."""
    return os.environ.get("CXX") or "g++"


def compiled(folder: str, source: str, *options: str) -> Any:
    """Compile C++ in a folder with headers, and return the library."""
    Path(folder, "unit.cpp").write_text(source, encoding="utf-8")
    command = [compiler(), *options, "-shared", "-fPIC", "-o", "it", "unit.cpp"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return ctypes.CDLL(str(Path(folder, "it")))


@cache
def version() -> str:
    """Return the compiler's version. Raises `OSError` if it is not installed."""
    command = [compiler(), "-dumpfullversion"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@cache
def library() -> Any:
    """Compile the function, and return its library."""
    with TemporaryDirectory() as folder:
        return compiled(folder, _SOURCE, "-O1")


class LibstdcxxSession(SamplerSession):
    """A selected conversion."""

    profiles: ClassVar = frozenset({"libstdcxx-float", "libstdcxx-double"})

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "uniforms":
            return Unsupported(f"has no operation {op}")
        words, width = request["words"], 2 if self.profile == "libstdcxx-double" else 1
        if any(len(word) != 8 for word in words) or len(words) % width:
            raise NotExpressibleError(f"takes words of 32 bits, {width} per number")
        given = (ctypes.c_uint32 * len(words))(*(int(word, 16) for word in words))
        count = len(words) // width
        if width == 1:
            floats = (ctypes.c_float * count)()
            library().make(given, count, floats, None)
            return Ok({"uniforms": pack(list(floats), "f32")})
        doubles = (ctypes.c_double * count)()
        library().make(given, count, None, doubles)
        return Ok({"uniforms": pack(list(doubles), "f64")})
