"""Rust's crate rand and its generators as an engine: https://github.com/rust-random/rand.

The sources of the crates, as Debian packages them, are compiled with a small program
(`rust_rand.rs`). They are in the folder `crates` beside the wheels (`from_wheels`).

What it answers
    The words of its generators for seeds, keys and counters, in 32 or 64 bits, and the uniform
    numbers that it makes of words.
What is unsupported
    Seeds and keys of other lengths, and what the crates do not check.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok
from tokenref.engines.from_wheels import wheels_folder
from tokenref.engines.own_rules import NotExpressibleError, SamplerSession
from tokenref.floats import Type

VERSION: Final = "0.8.5"
CRATES: Final[Mapping[str, Sequence[str]]] = {
    "rand_core-0.6.3": (),
    "ppv-lite86-0.2.16": ("--cfg", 'feature="std"'),
    "rand_chacha-0.3.1": ("--extern", "rand_core", "--extern", "ppv_lite86"),
    "rand_isaac-0.3.0": ("--extern", "rand_core"),
    "rand_pcg-0.3.1": ("--extern", "rand_core"),
    "rand_xoshiro-0.6.0": ("--extern", "rand_core"),
    f"rand-{VERSION}": ("--extern", "rand_core", "--cfg", 'feature="alloc"'),
}
"""The crates in the order in which they are compiled, with what each one needs."""

_WORDS: Final[Mapping[str, tuple[str, int, int]]] = {
    **{f"chacha{rounds}": (f"chacha{rounds}", 32, 32) for rounds in (8, 12, 20)},
    **{f"chacha{rounds}.by-seed": (f"chacha{rounds}", 32, 0) for rounds in (8, 12, 20)},
    "chacha12.by-seed+pairs-low-first": ("chacha12", 64, 0),
    "isaac64": ("isaac64", 64, 32),
    "isaac64.by-seed": ("isaac64", 64, 0),
    "isaac64.by-seed+low-then-high": ("isaac64", 32, 0),
    "pcg64": ("pcg64", 64, 32),
    "splitmix64": ("splitmix64", 64, 0),
    "xoshiro256plusplus": ("xoshiro256plusplus", 64, 32),
    "xoshiro256plusplus.by-seed": ("xoshiro256plusplus", 64, 0),
    "xoshiro256plusplus.by-seed+high-halves": ("xoshiro256plusplus", 32, 0),
}
"""The generator of each rule, the bits of its words, and the bytes of its key, 0 for a seed."""

_UNIFORMS: Final[Mapping[str, tuple[str, int, Type]]] = {
    "rust-float": ("float", 8, "f32"),
    "rust-weighted-index": ("index", 8, "f32"),
    "rust-double": ("double", 16, "f64"),
}
"""The kind of number of each conversion, the digits of its words, and its type."""


def crate(name: str) -> Path:
    """Return the main file of a crate. Raises `FileNotFoundError` if it is missing."""
    path = wheels_folder() / "crates/usr/share/cargo/registry" / name / "src/lib.rs"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; see docs/your-engine.md")
    return path


class RustSession(SamplerSession):
    """A selected generator or conversion."""

    profiles: ClassVar = frozenset({*_WORDS, *_UNIFORMS})

    def __init__(self, profile: str) -> None:
        self.profile = profile
        _program()

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "uniforms":
            kind, digits, dtype = _UNIFORMS[self.profile]
            words: Sequence[str] = request["words"]
            if not words or any(len(word) != digits for word in words):
                raise NotExpressibleError(f"takes words of {digits * 4} bits")
            found = asked(_program(), f"uniforms {kind} {' '.join(words)}")
            return Ok({"uniforms": {dtype: "".join(found)}})
        name, bits, size = _WORDS[self.profile]
        key = "".join(bytes.fromhex(word)[::-1].hex() for word in request.get("key", ()))
        counter, seed = "".join(request.get("counter", ())[::-1]), request.get("seed", "")
        if len(key) != size * 2 or bool(key) == bool(seed) or len(seed) > 16:
            raise NotExpressibleError("takes a seed of 64 bits, or a key of a fixed length")
        if len(counter) not in (0, 32) or (
            name.startswith("xoshiro") and key and not key.strip("0")
        ):
            raise NotExpressibleError("has counters of one length, and replaces a state of zeros")
        question = [name, bits, seed or "-", key or "-", counter or "-"]
        places = [f"{request[part]:x}" for part in ("taken", "count")]
        return Ok({"words": asked(_program(), f"words {' '.join(map(str, [*question, *places]))}")})


@cache
def _program() -> Path:
    """Compile the program, and return its path."""
    return compiled(Path(__file__).with_name("rust_rand.rs"))


@cache
def compiled(source: Path) -> Path:
    """Compile a program that may use the crates, and return its path."""
    folder, names = _crates(), [*map(_name_of, CRATES)]
    externs = chain.from_iterable(("--extern", name) for name in names)
    program = folder / source.stem
    _compile("--edition", "2021", *_OPTIONS, "-L", folder, *externs, "-o", program, source)
    return program


@cache
def _crates() -> Path:
    """Compile the crates, and return the folder."""
    folder = Path(_FOLDER.name)
    for name, needs in CRATES.items():
        made = ("--edition", "2018", "--crate-type", "rlib", "--crate-name", _name_of(name))
        _compile(*_OPTIONS, "-L", folder, *made, *needs, "--out-dir", folder, crate(name))
    return folder


def _name_of(crate: str) -> str:
    return crate.rpartition("-")[0].replace("-", "_")


_OPTIONS: Final = ("-O", "--cap-lints", "allow")
_FOLDER: Final = TemporaryDirectory()


def _compile(*arguments: object) -> None:
    compiler = os.environ.get("RUSTC") or "rustc"
    subprocess.run([compiler, *map(str, arguments)], check=True, capture_output=True)


def asked(program: Path, question: str) -> list[str]:
    """Return the words of a program's answer to a line."""
    done = subprocess.run(
        [program], input=question + "\n", capture_output=True, text=True, check=True
    )
    return done.stdout.split()
