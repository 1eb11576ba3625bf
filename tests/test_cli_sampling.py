"""`tokenref profiles`, `sample` and `rules`, as a person uses them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from authoring.__main__ import main as authoring
from authoring.engines_page import engines_page
from sampling_ref import PROFILES, distribution
from tokenref.cli import main
from tokenref.rules import rule_names

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_page_about_engines_is_what_the_profiles_say() -> None:
    assert (ROOT / "docs" / "engines.md").read_text(encoding="utf-8") == engines_page()


def test_a_page_that_is_not_current_is_reported(tmp_path: Path) -> None:
    def page(*options: str) -> Result:
        arguments = ["profiles", "--page", str(tmp_path / "engines.md"), *options]
        return CliRunner().invoke(authoring, arguments)

    assert page("--check").exit_code == 1
    assert page().exit_code == 0
    assert page("--check").exit_code == 0


def test_profiles_lists_every_engine() -> None:
    result = run("profiles")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(PROFILES)


@pytest.mark.parametrize("name", list(PROFILES))
def test_profiles_shows_one_engine(name: str) -> None:
    result = run("profiles", name)
    assert result.exit_code == 0
    for parameter in PROFILES[name].parameters:
        assert f"  {parameter.name} = " in result.output


def test_sample_shows_each_step_the_probabilities_and_the_draw() -> None:
    result = run(
        *("sample", "llama.cpp", "1,2,3,-inf", "--history", "2,2"),
        *("--set", "repeat_penalty=1.5", "--set", "temp=1.0", "--uniform", "0.999"),
    )
    assert result.exit_code == 0, result.output
    assert "penalties(" in result.output
    assert "temperature(temperature=1)" in result.output
    assert result.output.splitlines()[-1] == "drawn: 0"


def test_sample_without_random_numbers_draws_nothing() -> None:
    result = run("sample", "openai", "1,2")
    assert result.exit_code == 0
    assert "drawn" not in result.output


def test_sample_speaks_json() -> None:
    result = run(
        *("sample", "openai", "1,2", "--set", 'logit_bias={"0": 1}', "--uniform", "0.75", "--json")
    )
    assert json.loads(result.output) == {"probabilities": [0.5, 0.5], "token": 1}


@pytest.mark.parametrize("row", ["-1,-2", "[-1, -2]"])
def test_the_first_logit_may_be_negative(row: str) -> None:
    result = run("sample", "vllm", row, "--json")
    assert json.loads(result.output)["probabilities"] == distribution("vllm", [-1.0, -2.0])


def test_sample_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text('[1.0, null, "-inf", 2]')
    result = run("sample", "vllm", str(path), "--json")
    row = [1.0, float("-inf"), float("-inf"), 2.0]
    assert json.loads(result.output)["probabilities"] == distribution("vllm", row)


def test_a_seed_follows_the_engine() -> None:
    result = run("sample", "llama.cpp", "1,2,3", "--seed", "42", "--precision", "f32")
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].startswith("drawn: ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing", "1,2"], "there is no profile 'nothing'"),
        (["vllm", "1,two"], "LOGITS must be numbers separated by commas, or a file, got '1,two'"),
        (["vllm", "1,nan"], "logits[1] must be finite or minus infinity, got nan"),
        (["vllm", "1,2", "--set", "top_p"], "--set must be NAME=VALUE, got 'top_p'"),
        (["vllm", "1,2", "--set", "topp=1"], "there is no parameter of vllm 'topp'"),
        (["vllm", "1,2", "--set", "top_p=2"], "top_p must be a number in (0, 1], got 2"),
        (["vllm", "1,2", "--set", "top_p=x"], "top_p must be a number in (0, 1], got 'x'"),
        (
            ["vllm", "1,2", "--history", "a"],
            "--history must be token ids separated by commas, got 'a'",
        ),
        (["vllm", "1,2", "--history", "7"], "history[0] must be a token id below 2, got 7"),
        (["vllm", "1,2", "--seed", "1"], "seed must be None for vllm"),
        (["llama.cpp", "1,2", "--uniform", "1"], "uniforms[0] must be in [0, 1), got 1.0"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run("sample", *arguments)
    assert result.exit_code == 2
    assert result.output.startswith(f"tokenref: {sentence}")
    assert len(result.output.splitlines()) == 1


def test_a_file_that_holds_no_row_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    for content in ("{", '{"a": 1}', "[[1]]", '["a"]', "7"):
        path.write_text(content)
        result = run("sample", "vllm", str(path))
        assert result.exit_code == 2, content
        assert f"{path} must contain a JSON list of numbers" in result.output


def test_rules_lists_the_points_of_an_operation_and_with_all_every_name() -> None:
    result = run("rules", "top_n_sigma")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[1].strip().split(maxsplit=2) == [
        "top_n_sigma",
        "deviation",
        "population, deviation.sample",
    ]
    assert "4 rules" in lines[-1]
    every = run("rules", "top_n_sigma", "--all").output.splitlines()
    assert every == rule_names("top_n_sigma")


def test_rules_without_an_operation_lists_all_points_and_engines() -> None:
    result = run("rules")
    assert result.exit_code == 0
    assert all(f"{op} " in result.output for op in ("top_p", "draw", "speculative", "lz"))
    assert all(name in result.output for name in PROFILES)
    assert run("rules", "--all").exit_code == 2


def test_rules_of_what_has_names_of_its_own_lists_these() -> None:
    assert run("rules", "uniforms").output.splitlines() == rule_names("uniforms")
