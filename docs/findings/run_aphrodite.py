"""Run the findings about Aphrodite's sampling operations, which its wheel contains.

The wheel is in the folder `.wheels`, or in the folder that `TOKENREF_WHEELS` names. Each operation
is a file that needs only torch. The class that its signature names is not needed.
"""

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

FOLDER = Path(os.environ.get("TOKENREF_WHEELS", ".wheels"))


def operation(name: str) -> Callable[[torch.Tensor, Any], torch.Tensor]:
    """Return the function of an operation."""
    stand_in = ModuleType("aphrodite.v1.sample.metadata")
    stand_in.SamplingMetadata = SimpleNamespace  # type: ignore[attr-defined]
    sys.modules[stand_in.__name__] = stand_in
    (wheel,) = FOLDER.glob("aphrodite_engine-0.10.0-*.whl")
    with TemporaryDirectory() as folder:
        file = zipfile.ZipFile(wheel).extract(f"aphrodite/v1/sample/ops/{name}.py", folder)
        found: Callable[[torch.Tensor, Any], torch.Tensor] = run_path(file)[name]
    return found


def left(name: str, row: list[float], value: float) -> str:
    """Return the row after an operation, or the name of the exception."""
    function, about = operation(name), SimpleNamespace(**{name: torch.tensor([value])})
    try:
        return str(function(torch.tensor([row]), about)[0].tolist())
    except Exception as error:
        return type(error).__name__


def top_a_keeps_nothing() -> tuple[str, str]:
    return "[0.0, 0.0]", left("top_a", [0.0, 0.0], 4.0)


def tfs_one_token() -> tuple[str, str]:
    return "[0.0]", left("tfs", [0.0], 0.5)


def tfs_impossible() -> tuple[str, str]:
    row = [3.0, 2.25, 1.25, -0.5, -0.5]
    alone = left("tfs", row, 0.6875)[:-1]
    return f"{alone}, -inf, -inf]", left("tfs", [*row, *[-float("inf")] * 2], 0.6875)


FINDINGS = [top_a_keeps_nothing, tfs_one_token, tfs_impossible]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
