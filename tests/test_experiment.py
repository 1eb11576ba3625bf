"""The experiment about loops: its quick steps are those of the reference, and it can be resumed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from click.testing import CliRunner

from sampling_ref import WEIGHTS, distribution
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.steps.dry import dry
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.lz import lz_penalty
from sampling_ref.steps.repetition_penalty import repetition_penalty
from tokenref.cli import main
from tokenref.experiment import (
    CANDIDATES,
    PROMPT,
    TEMPERATURES,
    TOP_K,
    TOP_P,
    Part,
    Plan,
    drawn,
    penalties,
    prompt,
    read_results,
)
from tokenref.small_model import ORDER, model, training_text

ROOT: Final = Path(__file__).parent.parent
BOOK: Final = ROOT / "docs" / "book"
SIZE: Final = training_text()[0]
PLAN: Final = ["--prompts", "2", "--tokens", "30"]


def by_the_reference(name: str, row: Sequence[float], history: list[int]) -> Sequence[Any]:
    """Return a row changed by the reference step."""
    kind, _, setting = name.partition(" ")
    if kind == "repetition":
        return repetition_penalty(row, history, float(setting))
    if kind == "frequency":
        return frequency_penalty(row, history[PROMPT:], float(setting))
    if kind == "DRY":
        return dry(row, history, 0.8)
    if kind == "LZ":
        return lz_penalty(row, history, variant=setting, prompt_length=PROMPT)  # type: ignore[arg-type]
    return row


@pytest.mark.parametrize("name", penalties(SIZE))
def test_a_penalty_changes_the_logits_as_the_reference_step_does(name: str) -> None:
    start = prompt(3, of=20)
    penalty = penalties(SIZE)[name](start)
    random = Random(name)
    text = list(start)
    for place in range(400):
        tokens, logits = model().likeliest(text[1 - ORDER :], CANDIDATES)
        changed = penalty.changed(tokens, logits)
        if place % 20 == 19:
            row = [-inf] * SIZE
            for token, logit in zip(tokens, logits, strict=True):
                row[token] = logit
            expected = by_the_reference(name, row, text)
            wanted = [expected[token] for token in tokens]
            assert changed == pytest.approx(wanted, rel=1e-12, abs=1e-12), place
        token = tokens[drawn(changed, random.choice(TEMPERATURES), random.random())]
        penalty.accept(token)
        text.append(token)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_draw_is_temperature_top_k_top_p_and_inverse_cdf_of_the_reference(
    temperature: float,
) -> None:
    random = Random(5)
    for _ in range(150):
        row = sorted((random.gauss(0, 2) for _ in range(CANDIDATES)), reverse=True)
        random.shuffle(row)
        uniform = random.random()
        if temperature == 0:
            assert drawn(row, 0, uniform) == row.index(max(row))
            continue
        filters: dict[str, Any] = {"temperature": temperature, "top_k": TOP_K, "top_p": TOP_P}
        shares = distribution("transformers", row, **filters)
        order = sorted(range(CANDIDATES), key=shares.__getitem__, reverse=True)
        expected = inverse_cdf(shares, uniform, order=order, numbers=WEIGHTS)
        assert drawn(row, temperature, uniform) == expected


def test_the_model_runs_into_loops_which_the_lz_penalty_prevents() -> None:
    plan = Plan(prompts=20, tokens=400)
    loops = plan.outcome(Part("none", 0.0, 0))
    assert len(loops.degenerate) > 5
    assert len(plan.outcome(Part("LZ corrected", 0.0, 0)).degenerate) < len(loops.degenerate)


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["experiment", "lz", *args], catch_exceptions=False)


def without_times(line: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(line)
    fields.pop("microseconds", None)
    return fields


def test_progress_is_told_without_a_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenref.commands.experiment._PAUSE", 0.0)
    done = run("--out", str(tmp_path / "whole.jsonl"), *PLAN)
    first = "0 of 66 parts are done (a checkout has all results of the full run: --out docs/book"
    assert first in done.stderr
    told = [f"{number} of 66 parts are done" for number in range(1, 67)]
    assert capfd.readouterr().err.splitlines() == told


def test_a_run_is_resumed_and_ends_in_the_same_results(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    assert run("--out", str(whole), *PLAN).exit_code == 0
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 66
    part.write_bytes(b"".join(lines[:40:3]))
    done = run("--out", str(part), *PLAN, "--processes", "1")
    assert f"{part}: 13 of 66 parts are done" in done.stderr
    assert [without_times(line) for line in part.read_bytes().splitlines()] == [
        without_times(line) for line in lines
    ]
    again = run("--out", str(part), *PLAN)
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert len(done.stdout.splitlines()) == 2 + 22


HEAD: Final = b'{"experiment":"lz","prompts":2,"tokens":30}\n'
LINE: Final = (
    b'{"penalty":"x","temperature":0.0,"block":0,"degenerate":[],"bits":[1],"microseconds":1}\n'
)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (HEAD.replace(b"2", b"3"), "has 3 prompts of 30 tokens, not 2 of 30"),
        (b"[1,2]\n", "must be a results file of this experiment"),
        (b"\xff", "must be a results file of this experiment"),
        (b"", "must be a results file of this experiment"),
        (HEAD + LINE, "has a line that is not in the plan"),
    ],
)
def test_another_file_is_kept_and_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(content)
    done = run("--out", str(file), *PLAN)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == content


def test_control_c_keeps_what_is_done(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    command = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command += "from tokenref.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "experiment", "lz", "--out", str(file), "--tokens", "50"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not file.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("tokenref: interrupted\n")
    assert "Traceback" not in said
    assert read_results(file, Plan(tokens=50))


def test_the_book_shows_the_complete_run() -> None:
    page = (BOOK / "loops.md").read_text("utf-8")
    command, shown = re.search(
        r"```console\n\$ tokenref ([^\n]*)\n(.*?)```", page, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    printed = CliRunner().invoke(main, command.split())
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout == shown


@pytest.mark.parametrize(
    "part",
    [Part("repetition 1.5", 0.5, 9), Part("DRY", 0.0, 5), Part("LZ corrected", 0.0, 7)],
    ids=str,
)
def test_a_sample_of_the_complete_run_gives_the_same_numbers_again(part: Part) -> None:
    shown = read_results(BOOK / "loops.jsonl", Plan())[part]
    again = Plan().outcome(part)
    assert again.degenerate == shown.degenerate
    assert again.bits == shown.bits
