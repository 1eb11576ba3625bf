"""docs/gpu.md, from its first command to its last: each is run as it is typed, without a GPU."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from tests.test_pages import ROOT, code_of
from tests.test_skeletons import readme
from tokenref.catalogue import open_catalogue
from tokenref.cli import main

PAGE: Final = ROOT / "docs" / "gpu.md"
TEXT: Final = PAGE.read_text("utf-8")
LOOP: Final = "for (std::size_t t = 0; t < n; t++) {\n        const double number = number_at(batch"
SECTIONS: Final = re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE)


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each command reading all fixtures again."""
    catalogue = open_catalogue()
    for name in ("first_steps", "look", "options"):
        monkeypatch.setattr(f"tokenref.commands.{name}.open_catalogue", lambda *_: catalogue)


def run(command: str) -> tuple[int, str]:
    """Run a command in this folder, and return its exit code and what it printed."""
    program, *arguments = shlex.split(command)
    if program == "tokenref":
        result = CliRunner().invoke(main, arguments)
        return result.exit_code, result.output
    shell = [str(shutil.which("bash")), "-c", command]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def commands(section: str) -> list[str]:
    """Return the commands of a section, but for nvcc's, which has a test of its own."""
    blocks = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    typed = [line.removeprefix("$ ") for line in "".join(blocks).splitlines()]
    return [each for each in typed if not each.startswith("nvcc ")]


@pytest.mark.skipif(shutil.which("c++") is None, reason="c++ is not installed")
def test_an_author_of_kernels_who_types_what_the_page_shows_gets_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sections = dict(SECTIONS)
    failing = commands(sections.pop("If a record fails"))
    init, cd, *others = (each for section in sections.values() for each in commands(section))
    assert run(init)[0] == 0
    monkeypatch.chdir(cd.removeprefix("cd "))
    passed = dict[str, int]()
    for command in others:
        code, printed = run(command)
        assert code == 0, f"{command}\n{printed}"
        for op, count in re.findall(r"^[^│]*│ (\w+) +│ +\d+ │ +(\d+) │ ", printed, re.MULTILINE):
            passed[op] = max(passed.get(op, 0), int(count))
    least = {"softmax": 51, "logprobs": 50, "temperature": 45, "batch": 181}  # large ones, too
    least |= {"typical": 66, "penalties": 43, "speculative": 97, "residual": 30}
    least |= {"stat": 13, "stat_batch": 8, "seeds": 9}
    assert all(passed[op] >= count for op, count in least.items()), passed
    source = Path("kernel.cu")
    kernel = source.read_text("utf-8")
    assert kernel.count(LOOP) == 1
    lost = LOOP.replace("t < n;", "t < (n < 256 ? n : n / 256 * 256);")
    source.write_text(kernel.replace(LOOP, lost), "utf-8")
    assert run(others[0]) == (0, "")
    (first, failed), (alone, apart), (shown, _), (fuzz, summary) = map(run, failing)
    assert (first, alone, shown, fuzz) == (1, 1, 0, 1)
    assert "".join(code_of(PAGE, "text")) in failed
    assert "units in the last place" in apart
    assert "\ngolden records of top_k" in summary
    assert "the last block of 256 tokens, if it is incomplete, left out" in summary


def test_the_command_with_nvcc_is_that_of_the_skeleton() -> None:
    (shown,) = re.findall(r"^\$ (nvcc .*)$", TEXT, re.MULTILINE)
    assert f"    {shown}" in readme("cuda")
