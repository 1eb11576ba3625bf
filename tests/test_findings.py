"""The findings with a script: each script still prints what its page says."""

import os
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from authoring.findings_page import FOLDER, described, run_script, section, summary

ROOT = Path(__file__).parent.parent
FINDINGS = described(ROOT / FOLDER)
PAGE = (ROOT / FOLDER / "README.md").read_text(encoding="utf-8")
NEEDED = {
    "run_transformers.py": ["transformers", "torch"],
    "run_torch.py": ["torch"],
    "run_llama_cpp.py": ["llama_cpp"],
    "run_llama_cpp_tokenizers.py": ["llama_cpp"],
    "run_kitoken.py": ["kitoken"],
    "run_mlx_lm.py": ["mlx_lm"],
    "run_wordchipper.py": ["bpe_openai", "wordchipper"],
    "run_iree.py": ["iree"],
    "run_gigatoken.py": ["gigatoken"],
    "run_fastokens.py": ["fastokens"],
    "run_splintr.py": ["splintr"],
    "run_tokie.py": ["tokie"],
    "run_mistral_common.py": ["mistral_common"],
    "run_onnxruntime_extensions.py": ["onnxruntime_extensions"],
    "run_sentencepiece.py": ["sentencepiece"],
    "run_xgrammar.py": ["xgrammar", "torch"],
    "run_tokenizers.py": ["bpe_openai", "rs_bpe", "tiktoken"],
}
"""The modules that the Python scripts import."""


def is_installed(script: str) -> bool:
    """Return whether the engines of a script are installed."""
    if script.endswith(".mjs"):
        return which("node") is not None and "TOKENREF_NODE_MODULES" in os.environ
    wheels = Path(os.environ.get("TOKENREF_WHEELS") or ROOT / ".wheels")
    if script == "run_exllamav2.py":
        return which("g++") is not None and any(wheels.glob("exllamav2-*.whl"))
    if script == "run_aphrodite.py":
        return find_spec("torch") is not None and any(wheels.glob("aphrodite_engine-*.whl"))
    return all(find_spec(module) for module in NEEDED[script])


@pytest.mark.parametrize("script", sorted({one["script"] for one in FINDINGS}))
def test_a_script_of_findings_prints_what_the_page_says(script: str) -> None:
    if not is_installed(script):
        pytest.skip("the engine is not installed")
    outputs = run_script(ROOT / FOLDER / script)
    described_here = [one for one in FINDINGS if one["script"] == script]
    assert [one["name"] for one in described_here if one["name"] not in outputs] == []
    assert len(outputs) == len(described_here)
    for finding in described_here:
        assert section(finding, outputs) in PAGE, finding["name"]
        expected, actual = outputs[finding["name"]]
        assert expected != actual, finding["name"]


def test_the_page_of_findings_counts_them_and_names_every_script() -> None:
    assert summary(FINDINGS) in PAGE
    scripts = {path.name for path in (ROOT / FOLDER).glob("run_*")}
    assert scripts == {one["script"] for one in FINDINGS}
    assert PAGE.count("\n### ") == len(FINDINGS)
