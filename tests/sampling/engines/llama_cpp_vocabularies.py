"""The vocabulary files that llama.cpp's own tests use, out of the source of llama-cpp-python.

The source lies in the folder `.wheels` of this checkout, or where `TOKENREF_WHEELS` says.
"""

import os
import tarfile
from pathlib import Path

import pytest

VERSION = "0.3.36"
FOLDER = Path(__file__).parent.parent.parent.parent / ".wheels"
COMMAND = f"pip download --no-deps --no-binary :all: --dest .wheels llama-cpp-python=={VERSION}"


def unpacked(names: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """Unpack vocabulary files into a folder; without the source, skip the test that asks.

    A name may go on with what follows `.gguf`: "gpt-2.gguf.inp" are the texts of gpt-2.
    """
    source = Path(os.environ.get("TOKENREF_WHEELS", FOLDER)) / f"llama_cpp_python-{VERSION}.tar.gz"
    if not source.exists():
        pytest.skip(f"no source of llama-cpp-python {VERSION}; this fetches it: {COMMAND}")
    files = {name: name if ".gguf" in name else f"{name}.gguf" for name in names}
    missing = {f"models/ggml-vocab-{file}": name for name, file in files.items()}
    found: dict[str, Path] = {}
    with tarfile.open(source) as archive:
        for member in archive:
            name = missing.pop("/".join(Path(member.name).parts[-2:]), None)
            content = archive.extractfile(member) if name else None
            if name and content:
                found[name] = folder / files[name]
                found[name].write_bytes(content.read())
            if not missing:
                return found
    raise FileNotFoundError(f"{source} has no {sorted(missing)}")
