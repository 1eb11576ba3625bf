"""Run the findings about exllamav2: its C++ samplers, compiled from its wheel by g++."""

import ctypes
import os
import subprocess
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

WHEELS = Path(os.environ.get("TOKENREF_WHEELS", ".wheels"))
FOLDER = "exllamav2/exllamav2_ext/"
SYMBOLS = {"min_p": "_Z9min_p_cpuiPfPif", "top_a": "_Z9top_a_cpuiPfPif"}


def library() -> ctypes.CDLL:
    """Compile the engine's file about samplers."""
    (wheel,) = WHEELS.glob("exllamav2-0.3.2-*.whl")
    with TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(FOLDER + "cpp/") or name == FOLDER + "config.h":
                archive.extract(name, folder)
        files = [f"{FOLDER}cpp/{name}.cpp" for name in ("sampling", "sampling_avx2", "profiling")]
        command = ["g++", "-O2", "-w", "-shared", "-fPIC", *files, "-o", "samplers"]
        subprocess.run(command, cwd=folder, check=True)
        return ctypes.CDLL(str(Path(folder) / "samplers"))


def kept(step: str, number: float) -> str:
    # The last place is the next token of a longer row; it has no probability.
    shares = (ctypes.c_float * 4)(0.125, 0.25, 0.625, 0.0)
    tokens = (ctypes.c_int * 4)(0, 1, 2, 3)
    count = getattr(library(), SYMBOLS[step])(4, shares, tokens, ctypes.c_float(number))
    return str(sorted(tokens[:count]))


def min_p_keeps_one_more() -> tuple[str, str]:
    return "[1, 2]", kept("min_p", 0.25)


def top_a_keeps_one_more() -> tuple[str, str]:
    return "[1, 2]", kept("top_a", 0.5)


FINDINGS = [min_p_keeps_one_more, top_a_keeps_one_more]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
