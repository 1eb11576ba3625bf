"""Small engines that speak the protocol, one per language, as a starting point for your code.

They are in the folders next to this file, complete and ready to run, and use only the standard
library of their language. The one for `cuda` is for kernels of samplers, and has no tokenizer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tokenref.errors import InputError


@dataclass(frozen=True)
class Skeleton:
    """An engine to start from."""

    folder: str
    files: Sequence[str]
    build: Sequence[str]
    """The commands that build it, run in its folder."""

    run: str
    """The command that runs it, in its folder."""

    shared: Sequence[str] = ()
    """Files of other skeletons that it needs too, as paths in the folder of all skeletons."""

    @property
    def sources(self) -> Mapping[str, str]:
        """The path of each file in the folder of all skeletons, by its path in the new folder."""
        own = {name: f"{self.folder}/{name}" for name in self.files}
        return own | {path.rpartition("/")[2]: path for path in self.shared}


LANGUAGES: Final[Mapping[str, Skeleton]] = {
    "rust": Skeleton(
        "rust",
        ("README.md", "Cargo.toml", "src/main.rs", "src/json.rs"),
        ("rustc --edition 2021 -O -o engine src/main.rs",),
        "./engine",
    ),
    "c": Skeleton(
        "c",
        ("README.md", "engine.c", "json.h"),
        ("cc -std=c11 -O2 -o engine engine.c -lm",),
        "./engine",
    ),
    "cpp": Skeleton(
        "cpp",
        ("README.md", "engine.cpp", "json.hpp"),
        ("c++ -std=c++17 -O2 -o engine engine.cpp",),
        "./engine",
    ),
    "go": Skeleton(
        "go", ("README.md", "go.mod", "main.go"), ("go build -o engine main.go",), "./engine"
    ),
    "python": Skeleton("python", ("README.md", "engine.py"), (), "python3 engine.py"),
    "js": Skeleton("js", ("README.md", "engine.mjs"), (), "node engine.mjs"),
    "cuda": Skeleton(
        "cuda",
        ("README.md", "kernel.cu", "sha256.hpp"),
        ("c++ -x c++ -std=c++17 -O2 -o engine kernel.cu",),
        "./engine",
        shared=("cpp/json.hpp",),
    ),
}
"""The languages, and the files of each."""


def write_skeleton(language: str, folder: Path) -> list[Path]:
    """Write the files of a skeleton to a folder, all or none, and return their paths.

    The folder is created if needed. Raises `InputError` if one of the files exists, because no
    file is overwritten.
    """
    skeleton = LANGUAGES[language]
    sources = skeleton.sources
    wanted = [folder / name for name in sources]
    for path in wanted:
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} already exists and is not overwritten")
    home = Path(__file__).parent
    made: list[Path] = []
    try:
        for parent in sorted({path.parent for path in wanted}):
            _make_folder(parent, made)
        for name, path in zip(sources.values(), wanted, strict=True):
            with path.open("xb") as file:  # which fails if the file was created meanwhile
                made.append(path)
                file.write((home / name).read_bytes())
    except BaseException as error:
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink()
        if isinstance(error, OSError):
            raise InputError(f"{folder} cannot be written: {error.strerror or error}") from None
        raise
    return wanted


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Create a folder and its parents, and note the new ones."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
        made.append(each)
