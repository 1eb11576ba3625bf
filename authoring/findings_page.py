"""The page of findings that have a script: what findings.toml says, and what the scripts print."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = Path("docs/findings")
CLASSES: Final = {
    "bug": "bug by its own documentation",
    "undocumented": "undocumented",
    "surprising": "documented but surprising",
}
BEGINNING: Final = """\
# Findings with a script

Each finding has the smallest input that shows it, and a script in this folder that uses only the
engine's public interface and prints the expected and the actual output. A finding is called a bug
only if the engine contradicts its own documentation, message or comment, or its claim to be a
port. Written by `python -m authoring findings`.

"""

Outputs = Mapping[str, tuple[str, str]]


def described(folder: Path = FOLDER) -> list[dict[str, str]]:
    """Return what findings.toml says about each finding."""
    findings: list[dict[str, str]] = tomllib.loads(
        (folder / "findings.toml").read_text(encoding="utf-8")
    )["finding"]
    return findings


def run_script(script: Path, seconds: int = 60) -> Outputs:
    """Return the expected and the actual output of each finding of a script, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(script, folder))
        if modules := os.environ.get("TOKENREF_NODE_MODULES"):
            (copy.parent / "node_modules").symlink_to(modules)
        program = "node" if script.suffix == ".mjs" else sys.executable
        done = subprocess.run(
            [program, copy], capture_output=True, text=True, timeout=seconds, check=True
        )
    lines = done.stdout.splitlines()
    return {
        name: (expected.removeprefix("\t"), actual.removeprefix("\t"))
        for name, expected, actual in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    }


def section(finding: Mapping[str, str], outputs: Outputs) -> str:
    """Return the part of the page about one finding."""
    expected, actual = outputs[finding["name"]]
    upstream = f"- upstream: <{finding['upstream']}>\n" if "upstream" in finding else ""
    return (
        f"### {finding['title']}\n\n"
        f"- class: {CLASSES[finding['class']]}\n"
        f"- documentation: {finding['promise']}\n"
        f"- input: {finding['input']}\n"
        f"- expected: `{expected}`\n"
        f"- actual: `{actual}`\n"
        f"- script: [{finding['script']}]({finding['script']}), `{finding['name']}`\n"
        f"{upstream}\n"
    )


def summary(findings: list[dict[str, str]]) -> str:
    """Return the sentence that counts the findings."""
    counts = Counter(finding["class"] for finding in findings)
    numbers = ", ".join(f"{counts[one]} {words}" for one, words in CLASSES.items())
    return f"The page has {len(findings)} findings: {numbers}.\n\n"


def findings_page(folder: Path = FOLDER) -> str:
    """Run all scripts, and return the page."""
    findings = described(folder)
    engines: dict[str, list[dict[str, str]]] = {}
    for finding in findings:
        engines.setdefault(finding["engine"], []).append(finding)
    parts = [BEGINNING, summary(findings)]
    for engine, those in engines.items():
        outputs = run_script(folder / those[0]["script"])
        parts += [f"## {engine}\n\n", *(section(one, outputs) for one in those)]
    return "".join(parts) + "Back to [findings](../findings.md).\n"
