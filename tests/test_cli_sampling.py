"""`tokenref profiles`, `sample` and `rules`, as a person uses them."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from math import exp, inf, log
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from authoring.__main__ import main as authoring
from authoring.engines_page import engines_page
from sampling_ref import (
    PROFILES,
    ParameterError,
    Sampler,
    UnknownNameError,
    compare,
    distribution,
    step,
    top_p,
)
from sampling_ref.causes import Compared
from sampling_ref.comparing import comparison
from sampling_ref.evaluation import related
from sampling_ref.random.sources import Given
from tests.texts import drawn
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.commands.sampling import Asked, compared_engines
from tokenref.record import SAMPLER_OPS, op_of
from tokenref.rules import DECIDES, points, rule_names

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


@pytest.mark.parametrize("profile", ["llama.cpp", "transformers"])
def test_a_seed_gives_random_numbers_to_every_stage(profile: str) -> None:
    chosen: dict[str, Any] = (
        {"xtc_probability": 1.0, "xtc_threshold": 0.1} if profile == "llama.cpp" else {}
    )
    sets = [f"--set={name}={value}" for name, value in chosen.items()]
    for seed in range(4):
        shown = run("sample", profile, "3,2,1", *sets, "--seed", str(seed))
        sampler = Sampler(profile, seed, **chosen)
        assert shown.output.endswith(f"\ndrawn: {sampler.sample([3.0, 2.0, 1.0])}\n")
    both = run("sample", profile, "3,2,1", "--seed", "1", "--uniform", "0.5")
    assert (both.exit_code, "give at most one of --seed and --uniform" in both.stderr) == (2, True)
    missing = run("sample", profile, "3,2,1", *sets, *(["--uniform=0.5"] * (not sets))).stderr
    assert missing.endswith(" in [0, 1); `tokenref sample` also takes --seed 1\n")
    assert "uniforms=" not in missing


def test_a_seeded_sampler_is_told_which_tokens_are_the_prompt() -> None:
    settings = ("--set", "min_new_tokens=1", "--set", "eos_token_id=0", "--seed", "1")
    for prompt_length, token in (("1", "0"), ("2", "1")):
        about = ("--history", "1,1", "--prompt-length", prompt_length, *settings)
        result = run("sample", "transformers", "9,-30", *about)
        assert result.output.splitlines()[-1] == f"drawn: {token}"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing", "1,2"], "there is no profile 'nothing'"),
        (["vllm", "1,two"], "LOGITS must be numbers separated by commas, or a file, got '1,two'"),
        (
            ["vllm", "1,nan"],
            "item 1 (counted from 0) of LOGITS must be finite or minus infinity, got nan",
        ),
        (["vllm", "1,2", "--set", "top_p"], "--set must be NAME=VALUE, got 'top_p'"),
        (["vllm", "1,2", "--set", "topp=1"], "vllm has no parameter 'topp'; did"),
        (
            ["vllm", "1,2", "--set", "temp=1"],
            "vllm has no parameter 'temp'; did you mean 'temperature'?",
        ),
        (
            ["llama.cpp", "1,2", "--set", "temperatur=2"],  # an alias
            "llama.cpp has no parameter 'temperatur'; did you mean 'temperature'?",
        ),
        (["vllm", "1,2", "--set", "t=1"], "vllm has no parameter 't'; there are: "),
        (["vllm", "1,2", "--set", "top_p=2"], "top_p must be a number in (0, 1], got 2"),
        (["vllm", "1,2", "--set", "top_p=x"], "top_p must be a number in (0, 1], got 'x'"),
        (
            ["vllm", "1,2", "--history", "a"],
            "--history must be token ids separated by commas, got 'a'",
        ),
        (
            ["vllm", "1,2", "--history", "7"],
            "item 0 (counted from 0) of --history must be a token id below 2, got 7",
        ),
        (["vllm", "1,2", "--seed", "1"], "--seed works for transformers and llama.cpp, "),
        (
            ["vllm", "1,2", "--history", "1", "--prompt-length", "2"],
            "--prompt-length must be at most the number of tokens of --history, 1, got 2",
        ),
        (["llama.cpp", "1,2", "--seed", "-1"], "--seed must be a whole number from 0 to 2**32 - 1"),
        (
            ["vllm", "1,2", "--set", "seed=1"],
            "--set must name a parameter of an engine, got seed: ",
        ),
        (
            ["llama.cpp", "1,2", "--set", "temp=1", "--set", "temperature=1"],
            "temperature is temp, ",
        ),
        (["vllm", "1,2", "--set", 'logit_bias={"a": 1}'], "logit_bias must map token ids to "),
        (
            ["llama.cpp", "1,2", "--uniform", "1"],
            "item 0 (counted from 0) of --uniform must be in [0, 1), got 1.0",
        ),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run("sample", *arguments)
    assert result.exit_code == 2
    assert result.output.startswith(f"tokenref: {sentence}")
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("given", ["1 2", "1,2 --temp 1"])
@pytest.mark.parametrize("command", ["sample llama.cpp", "compare vllm llama.cpp"])
def test_a_row_in_pieces_and_an_option_for_a_parameter_are_explained(
    command: str, given: str
) -> None:
    refused = run(*command.split(), *given.split())
    assert refused.exit_code == 2
    assert refused.output.endswith(
        f"({given[4:] if 'temp' in given else 2}): "
        "parameters are --set NAME=VALUE, a row has commas and no spaces\n"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", ": Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"1": 2, "2": 5}', ', got {"1": 2, "2": 5}'),
        ('"123"', ', got "123"'),
        ("5", ", got 5"),
        ("[[1, 2]]", ', but its item 0 must be a number, null or "-inf", got [1, 2]'),
        ('[1, "2"]', ', but its item 1 must be a number, null or "-inf", got "2"'),
        ("[true]", ', but its item 0 must be a number, null or "-inf", got true'),
        (f"[1{'0' * 400}]", ", but its item 0 is too large for a float"),
    ],
)
def test_a_file_that_holds_no_row_is_one_sentence(
    content: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "row.json"
    path.write_text(content)
    result = run("sample", "vllm", str(path))
    assert result.exit_code == 2
    assert result.output == f"tokenref: {path} must contain a JSON list of numbers{sentence}\n"


@pytest.mark.parametrize("command", [("sample", "vllm"), ("compare", "vllm", "sglang")])
def test_a_row_may_be_read_from_standard_input(command: tuple[str, ...]) -> None:
    row = '[1, null, "-inf", 2.5]'
    piped = CliRunner().invoke(main, [*command, "-"], input=row)
    assert piped.exit_code == 0
    assert piped.output == run(*command, "1,-inf,-inf,2.5").output
    wrong = CliRunner().invoke(main, [*command, "-"], input="1")
    assert wrong.output == ("tokenref: standard input must contain a JSON list of numbers, got 1\n")


def test_rules_lists_the_points_of_an_operation_and_with_all_every_name() -> None:
    result = run("rules", "top_n_sigma")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[1].strip().split(maxsplit=2) == [
        "top_n_sigma",
        "deviation",
        "population, deviation.sample",
    ]
    at = next(at for at, line in enumerate(lines) if "what it decides" in line)
    decided = [line.rstrip().split(maxsplit=1) for line in lines[at + 1 : at + 3]]
    assert decided == [
        ["deviation", "the divisor of the standard deviation"],
        ["zero", "a parameter of 0"],
    ]
    assert "4 rules" in lines[-1]
    every = run("rules", "top_n_sigma", "--all").output.splitlines()
    assert every == rule_names("top_n_sigma")


def test_what_each_point_decides_is_said_in_words() -> None:
    assert {*DECIDES} == {point for op in SAMPLER_OPS for point in points(op)}


def test_rules_without_an_operation_lists_all_points_and_engines() -> None:
    result = run("rules")
    assert result.exit_code == 0
    assert all(f"{op} " in result.output for op in ("top_p", "draw", "speculative", "lz"))
    assert all(name in result.output for name in PROFILES)
    assert run("rules", "--all").exit_code == 2


def test_rules_of_what_has_names_of_its_own_lists_these() -> None:
    assert run("rules", "uniforms").output.splitlines() == rule_names("uniforms")


def test_rules_of_batches_are_those_that_their_records_have() -> None:
    found = {case.profile for case in open_catalogue().cases if op_of(case) == "batch"}
    names = run("rules", "batch", "--all").output.splitlines()
    assert {*names} == found
    assert names[:2] == ["standard", "method.matching"]
    shown = run("rules", "batch").output
    assert "\nmethod.matching  speculative_steps\n" in shown
    assert run("rules", "steps").output.startswith("Each step has its choices among its parameters")
    assert run("rules", "steps", "--all").output == "standard\n"


def test_sample_shows_the_running_sums_and_the_rules_for_ties_and_boundaries() -> None:
    result = run("sample", "vllm", "1,3,3,1", "--set", "top_p=.9")
    assert result.exit_code == 0, result.output
    shown = result.output.partition("\ntop_p(p=0.9)\n")[2].partition("\n\n")[0].splitlines()
    shares = distribution("vllm", [1.0, 3.0, 3.0, 1.0])
    rows = [line.split() for line in shown[1:5]]
    assert [(row[0], row[-1]) for row in rows] == [
        *(("1", "kept"), ("2", "kept"), ("3", "kept"), ("0", "removed"))
    ]
    assert [row[1] for row in rows] == [f"{shares[int(row[0])]:.6g}" for row in rows]
    sums = [float(row[2]) for row in rows]
    assert sums[1] < 0.9 <= sums[2]
    reach = "kept up to the token at which the running sum reaches the threshold"
    assert shown[5:] == ["  ties: highest id", f"  boundary: {reach}"]


def test_sample_sums_upwards_where_the_engine_does() -> None:
    result = run("sample", "transformers", "1,3,3,1", "--set", "top_p=.5")
    assert "removes the least probable tokens while their probabilities sum" in result.output
    shown = result.output.partition("\ntop_p(p=0.5, least=1)\n")[2].partition("\n\n")[0]
    rows = [line.split() for line in shown.splitlines()[1:5]]
    fates = [("0", "removed"), ("3", "removed"), ("1", "kept"), ("2", "kept")]
    assert [(row[0], row[-1]) for row in rows] == fates
    sums = [float(row[2]) for row in rows]
    assert sums[1] <= 0.5 < sums[2]
    assert "boundary: removed while the running sum is at most 1 - p" in shown


def test_sample_shows_the_entropy_and_the_surprises_of_typical() -> None:
    row = [2.4, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0]
    result = run("sample", "transformers", ",".join(map(str, row)), "--set", "typical_p=0.2")
    shown = result.output.partition("\ntypical(mass=0.2, least=1)\n")[2].partition("\n\n")[0]
    shares = [exp(each) / sum(map(exp, row)) for each in row]
    entropy = -sum(share * log(share) for share in shares)
    assert f"\n  entropy: {entropy:g} nats\n" in shown
    line = r"^ +(\d) .* surprise (\S+), (\S+) from the entropy$"
    lines = re.findall(line, shown, re.MULTILINE)
    assert len(lines) == len(row)
    for token, surprise, distance in lines:
        assert surprise == f"{-log(shares[int(token)]):g}"
        assert float(distance) == pytest.approx(abs(float(surprise) - entropy), abs=1e-5)
    distances = [float(distance) for _, _, distance in lines]
    assert distances == sorted(distances)
    far = run("sample", "transformers", "0,-2000,1", "--set", "typical_p=0.9").output
    assert re.search(r"^ +1  0 .* removed  surprise inf, inf from the entropy$", far, re.MULTILINE)


@pytest.mark.parametrize(
    ("engine", "mirostat"), [("llama.cpp", 1), ("llama.cpp", 2), ("exllamav2", True)]
)
@pytest.mark.parametrize("number", [0.1, 0.9])
def test_sample_shows_mu_before_and_after_the_draw(
    engine: str, mirostat: int, number: float
) -> None:
    row = [3.0, 2.5, 2.0, 1.0, 0.5, 0.0, -1.0]
    chosen: dict[str, Any] = {"mirostat": mirostat, "mirostat_tau": 1.2, "mirostat_eta": 0.3}
    asked = [
        part for name, value in chosen.items() for part in ("--set", f"{name}={json.dumps(value)}")
    ]
    typed = ",".join(map(str, row))
    output = run("sample", engine, typed, *asked, "--uniform", str(number)).output
    table = output.partition("\n\nmirostat_")[2].partition("\n\n")[0]
    assert "\n  mu: 2.4 bits" in table
    sampler = Sampler(engine, None, **chosen)
    token = sampler.sample(row, [number])
    fates = re.findall(r" (kept|removed) +surprise (\S+)$", table, re.MULTILINE)
    assert {fate for fate, _ in fates} == {"kept", "removed"}
    if (engine, mirostat) != ("llama.cpp", 1):
        assert all((fate == "kept") == (float(surprise) <= 2.4) for fate, surprise in fates)
    assert f"\ndrawn: {token}\nits surprise among the kept tokens is " in output
    assert output.endswith(f" = {sampler.state['mu']:g}\n")


def test_numbers_that_decide_have_all_digits_where_six_would_hide_the_decision() -> None:
    row = [log(share) for share in (0.1, 0.2, 0.7)]
    typed = ",".join(map(repr, row))
    for typed_p, first in (("0.7", repr(distribution("vllm", row)[2])), ("0.71", "0.7")):
        result = run("sample", "vllm", typed, "--set", f"top_p={typed_p}")
        shown = result.output.partition("\n\ntop_p(")[2].partition("\n\n")[0].splitlines()
        assert shown[2].split() == ["2", first, first, "kept"], "vLLM has 0.7 in 32 bits"
    exact = json.loads(run("sample", "vllm", typed, "--json").output)
    assert exact["probabilities"] == distribution("vllm", row)


def test_sample_shows_tokens_that_xtc_removes_from_the_top_first() -> None:
    settings = ("--set", "xtc_probability=1", "--set", "xtc_threshold=.1", "--set", "temp=1")
    result = run("sample", "llama.cpp", "1,3,3,1", *settings, "--uniform", "0", "--uniform", "0.5")
    assert result.exit_code == 0, result.output
    lines = result.output.partition("\n\nxtc(")[2].splitlines()
    assert sorted(line.split()[-1] for line in lines[2:4]) == ["kept", "removed"]


def test_sample_shows_the_tokens_near_the_border_of_a_long_row() -> None:
    row = ",".join(str(-token / 100) for token in range(200))
    output = run("sample", "vllm", row, "--set", "top_k=100").output
    lines = output.partition("\ntop_k(k=100)\n")[2].partition("\n  ties")[0].splitlines()
    tokens = [line.split()[0] for line in lines[1:]]
    assert tokens[0] == tokens[-1] == "..."
    assert {"99", "100"} < set(tokens)
    assert len(lines) < 25


def test_sample_shows_how_the_draw_walks() -> None:
    result = run("sample", "llama.cpp", "1,1", "--set", "temp=1", "--uniform", "0.6")
    draw = result.output.partition("\ndraw: ")[2].splitlines()
    assert "the running sum must reach" in draw[0]
    assert [line.split() for line in draw[2:4]] == [["0", "0.5", "0.5"], ["1", "0.5", "1"]]
    assert draw[-1] == "drawn: 1"
    greedy = run("sample", "vllm", "1,1", "--set", "temperature=0").output
    assert "draw: greedy, the largest logit; of equals: lowest id" in greedy


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["llama.cpp", "3,2,1", "--set", "xtc_probability=.5"], "add --uniform 0.5,0.5, or"),
        (["vllm", "3,2,1", "--uniform", "0.25"], "add --uniform 0.5,0.5, or other"),
        (["vllm", ",".join("1" * 30), "--uniform", "0"], "FILE, with a JSON list of 29 "),
    ],
)
def test_the_error_about_missing_random_numbers_says_what_to_type(
    tmp_path: Path, arguments: list[str], typed: str
) -> None:
    result = run("sample", *arguments)
    assert result.exit_code == 2
    assert typed in result.stderr
    assert result.stderr.count("\n") == 1
    lines = run("sample", *arguments[:2]).stdout if "vllm" in arguments else ""
    assert result.stdout == lines, "a race is the last step: the chain is printed before"
    file = tmp_path / "uniforms.json"
    file.write_text(json.dumps([0.5] * 29), encoding="utf-8")
    option, numbers, *_ = result.stderr.partition(": add ")[2].split()
    again = run("sample", *arguments, option, numbers.strip(",").replace("FILE", str(file)))
    assert again.exit_code == 0, again.output


def compared(*arguments: str) -> list[str]:
    """Return the lines. The exit code is 0 if they say that all is the same, and 1 otherwise."""
    result, as_json = run("compare", *arguments), run("compare", *arguments, "--json")
    lines = result.stdout.splitlines()
    same_rows = any(line.startswith("all stages leave the same row") for line in lines)
    draws_alike = not any(line.startswith("but ") for line in lines)
    expected = int(not (same_rows and draws_alike))
    assert (result.exit_code, as_json.exit_code) == (expected, expected), result.output
    return lines


def test_compare_shows_the_choice_that_differs_and_the_source_of_each() -> None:
    lines = compared("vllm", "llama.cpp", "1,2,2,3", "--set", "top_k=2", "--set", "temperature=1")
    assert lines[0] == "they differ at top_k"
    first = "the first after its sort (libstdc++; here 2 before 1)"
    assert f"  choice ties: all in vllm, {first} in llama.cpp" in lines
    text = "\n".join(lines)
    for name in ("vllm", "llama.cpp"):
        (source,) = (stage.source for stage in PROFILES[name].stages if stage.step == "top_k")
        assert source in text
    assert "  vllm leaves 1:2 2:2 3:3 (token:logit) after top_k" in lines


def test_a_profile_says_where_a_sort_decides_between_equal_tokens() -> None:
    lines = run("profiles", "llama.cpp").output.splitlines()
    places = {"top_k": "first", "typical": "first", "top_p": "first", "xtc": "last"}
    for name, place in places.items():
        at = next(at for at, line in enumerate(lines) if line.startswith(f"  {name}("))
        assert f"ties: the {place} after its sort (libstdc++)" in lines[at + 1]
    shown = run("sample", "llama.cpp", "1,1,1,1", "--set", "top_p=0.5").output
    assert "ties: the first after its sort (libstdc++; here 1 3 before 0 2)" in shown
    xtc = ("--set", "xtc_probability=1", "--uniform", "0", "--uniform", "0.5")
    shown = run("sample", "llama.cpp", "1,1,1,1,0", *xtc).output
    assert "ties: the last after its sort (libstdc++; here 0 1 3 before 2)" in shown


def test_compare_blames_the_order_of_stages_whichever_engine_is_first() -> None:
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8")
    for names in (("transformers", "llama.cpp"), ("llama.cpp", "transformers")):
        lines = compared(*names, *row)
        assert lines[0] == "they differ in the order of their stages"
        assert "  order in transformers: temperature, top_p" in lines
        assert "  order in llama.cpp: top_p, temperature" in lines
        assert not any(line.startswith(("  choice", "  parameter")) for line in lines)
        [idle] = [line for line in lines if line.startswith("  other differences, without effect")]
        assert "choice ties: " in idle
        assert "parameter p: " not in idle, "0.8 and 0.8 in 32 bits are printed alike"


def test_compare_finds_the_same_stage_whichever_engine_is_first() -> None:
    for one, other in combinations(["vllm", "llama.cpp", "transformers", "exllamav2"], 2):
        for row in ("3,2,2,1", "1,1,1,1", "5,1,0.5,0.4"):
            chosen = ("--set", "top_k=2", "--set", "top_p=0.6", "--set", "temperature=2")
            there, back = compared(one, other, row, *chosen), compared(other, one, row, *chosen)
            assert there[0] == back[0]
            causes = [
                sorted(line.split(":")[0] for line in lines if line.startswith(("  ch", "  par")))
                for lines in (there, back)
            ]
            assert causes[0] == causes[1]


def test_compare_does_not_blame_a_stage_for_what_another_one_removed() -> None:
    for names in (("llama.cpp", "flashinfer"), ("flashinfer", "llama.cpp")):
        lines = compared(*names, "5,1,0.5,0.4", "--set", "temperature=0.5")
        assert lines[0] == "they differ at top_p: llama.cpp applies it here, flashinfer does not"


def test_compare_separates_choices_that_matter_from_those_that_do_not() -> None:
    lines = compared("transformers", "llama.cpp", "1,1,1,1", "--set", "top_p=0.5")
    first = "the first after its sort (libstdc++; here 1 3 before 0 2)"
    assert lines[1] == f"  choice ties: highest id in transformers, {first} in llama.cpp"
    idle = "  other differences, without effect here: "
    walked = "choice walked: upwards in transformers, downwards in llama.cpp"
    assert lines[2] == f"{idle}{walked}; parameter least: 1 in transformers, 0 in llama.cpp"


def causes(lines: Iterable[str]) -> set[str]:
    return {
        line.split()[1].rstrip(":")
        for line in lines
        if line.startswith(("  choice ", "  parameter "))
    }


@given(logits=st.lists(st.integers(0, 3), min_size=2, max_size=7), sixteenths=st.integers(1, 15))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize(
    "name", ["openai", "candle", "exllamav3", "tensorrt-llm", "chatstream", "llama.cpp"]
)
def test_the_choices_that_compare_names_decide_and_the_direction_is_none_of_them(
    name: str, logits: list[int], sixteenths: int
) -> None:
    row, p = [float(each) for each in logits], sixteenths / 16
    how = (",".join(map(str, row)), "--set", f"top_p={p}", "--set", "temperature=1")
    lines, back = compared("transformers", name, *how), compared(name, "transformers", *how)
    assert (lines[0], causes(lines)) == (back[0], causes(back))
    if lines[0] != "they differ at top_p":
        return
    assert "walked" not in causes(lines)
    [ours], [theirs] = (
        [stage.choices for stage in PROFILES[each].stages if stage.step == "top_p"]
        for each in ("transformers", name)
    )
    chosen = {"least": 1, **theirs, **{each: ours[each] for each in causes(lines)}}
    after = step("transformers", "top_p", row, top_p=p)
    kept = {token for token, logit in enumerate(after) if logit != float("-inf")}
    assert {*top_p(row, p, **chosen).tokens} == kept


def test_compare_names_the_direction_where_rounding_makes_it_matter() -> None:
    row = (",".join("1" * 10), "--set", "top_p=0.1", "--set", "temperature=1")
    for names in (("transformers", "openai"), ("openai", "transformers")):
        assert causes(compared(*names, *row)) == {"ties"}
        assert causes(compared(*names, *row, "--precision", "f32")) == {"ties", "walked"}


@pytest.mark.parametrize("precision", ["exact", "f32"])
def test_compare_tries_no_choice_that_the_arithmetic_of_an_engine_lacks(precision: str) -> None:
    how = ("2,1,1,1,1", "--set", "top_p=0.5", "--set", "temperature=1", "--precision", precision)
    for one, other in combinations(PROFILES, 2):
        lines = compared(one, other, *how)
        if lines[0] == "they differ at top_p":
            assert causes(lines), (one, other)


def test_compare_accepts_the_usual_settings_of_greedy_decoding() -> None:
    greedy = ("--set", "do_sample=false", "--set", "temperature=0")
    assert compared("transformers", "vllm", "1,2,3", *greedy) == [
        "all stages leave the same row in both engines",
        "both draw alike: the largest logit, of equals: lowest id",
    ]


def test_a_chain_without_steps_is_no_table_and_a_flag_for_greedy_decoding_is_named() -> None:
    shown = run("sample", "vllm", "3,2,1", "--set", "temperature=0").output
    assert shown.startswith("no steps\n\nprobabilities\n")
    refused = run("sample", "transformers", "3,2,1", "--set", "temperature=0").output
    assert "above 0, or None (--set do_sample=false takes the largest logit), got 0" in refused


def test_compare_shows_a_stage_that_only_one_engine_applies() -> None:
    lines = compared("vllm", "llama.cpp", "1,2,9", "--set", "temperature=1")
    assert lines[0] == "they differ at top_p: llama.cpp applies it here, vllm does not"
    other = compared("llama.cpp", "vllm", "1,2,9", "--set", "temperature=1")
    assert other[0] == lines[0]
    assert lines[1] == other[1] == "  top_p is off in vllm, because top_p == 1.0"
    lines = compared("openai", "llama.cpp", "1,2,9", "--set", "top_k=1", "--set", "temp=1")
    assert "  openai has no stage top_k" in lines


def test_compare_shows_parameters_and_settings_of_one_engine() -> None:
    lines = compared("vllm", "llama.cpp", "1,2,3")
    assert lines[0] == "they differ at temperature"
    assert "  parameter temperature: 1 in vllm, 0.8 in llama.cpp" in lines
    same = compared("vllm", "llama.cpp", "1,2,3", "--set", "llama.cpp:temp=1")
    assert same[0] == "all stages leave the same row in both engines"
    assert same[1].startswith("  draw of vllm: exponential race")
    assert same[2].startswith("  draw of llama.cpp: inverse CDF")


def test_a_history_may_be_in_brackets_as_a_row_may() -> None:
    row = ("sample", "vllm", "1,2", "--set", "repetition_penalty=2", "--history")
    assert run(*row, "[0, 1]").output == run(*row, "0,1").output != run(*row, "").output


def test_compare_uses_the_history() -> None:
    settings = ("--set", "repetition_penalty=1.5", "--set", "temperature=1", "--history", "1,1")
    lines = compared("vllm", "mlx-lm", "1,2,3", *settings)
    assert any("penalt" in line for line in lines[:1]) or lines[0].startswith("all stages")


def test_compare_of_an_engine_with_itself_finds_no_difference() -> None:
    for name in PROFILES:
        lines = compared(name, name, "1,2,3,3")
        assert lines[0] == "all stages leave the same row in both engines"
        assert lines[1].startswith("both draw alike: ")


def test_compare_says_if_only_one_engine_is_greedy_and_how_both_draw() -> None:
    lines = compared("vllm", "llama.cpp", "1,2", "--set", "vllm:temperature=0")
    assert lines[0] == "vllm takes the largest logit because temperature == 0.0, llama.cpp draws"
    assert lines[1].startswith("  source of vllm: ")


@pytest.mark.parametrize("names", [("vllm", "mlx-lm"), ("mlx-lm", "vllm")])
def test_compare_says_why_a_greedy_engine_takes_another_token(names: tuple[str, str]) -> None:
    row = ("3,2.9,1,0", "--history", "0", "--set", "vllm:top_k=2")
    same = compared(*names, *row)
    assert same[0] == "mlx-lm takes the largest logit because temp == 0.0, vllm draws"
    assert len(same) == 2
    lines = compared(*names, *row, "--set", "vllm:repetition_penalty=1.5")
    assert lines[:2] == same
    assert lines[2] == "the most probable token of vllm is 1, because the rows differ, too"
    assert lines[3].startswith("they differ at repetition_penalty: vllm applies it here, ")
    both = ("--set", "repetition_penalty=1.5", "--set", "mlx-lm:repetition_penalty=1.01")
    lines = compared(*names, *row, *both)
    assert lines[3] == "they differ at repetition_penalty"
    assert lines[4].startswith("  parameter penalty: 1.")
    theirs = compared(*names, *row, "--set", "mlx-lm:repetition_penalty=1.5")
    assert theirs[2] == "the most probable token of vllm is 0, because the rows differ, too"
    assert theirs[3].startswith("they differ at repetition_penalty: mlx-lm applies it here, ")


@pytest.mark.parametrize("command", ["sample vllm", "compare vllm sglang"])
def test_a_parameter_is_set_once(command: str) -> None:
    refused = run(*command.split(), "1,2", "--set", "top_p=.5", "--set", "top_p=.7")
    assert refused.output == "tokenref: --set must be given once for top_p, got it 2 times\n"


def test_what_is_set_for_one_engine_replaces_what_is_set_for_all() -> None:
    both = ("--set", "vllm:top_k=0", "--set", "top_k=1")
    lines = compared("transformers", "vllm", "3,2,1", *both)
    assert lines == compared("transformers", "vllm", "3,2,1", "--set", "top_k=1", *both[:2])
    assert lines[0] == "they differ at top_k: transformers applies it here, vllm does not"


def test_sample_says_how_a_token_is_drawn() -> None:
    hint, numbers = "tokenref: to draw a token, too, add --uniform", "or other numbers in [0, 1)"
    assert run("sample", "vllm", "1,2").stderr == f"{hint} 0.5,0.5, {numbers}\n"
    own = f"{hint} 0.5, {numbers}; `tokenref sample` also takes --seed 1\n"
    assert run("sample", "llama.cpp", "1,2").stderr == own
    assert run("sample", "llama.cpp", "1,2", "--seed", "1").stderr == ""


def test_a_row_that_is_neither_numbers_nor_a_file_is_explained() -> None:
    for command, name in (("sample vllm", "LOGITS"), ("compare vllm sglang", "ROW")):
        missing = run(*command.split(), "norow.json").output
        rule = "must be numbers separated by commas, or a file"
        assert missing == f"tokenref: {name} {rule}, but there is no file 'norow.json'\n"
    piped = CliRunner().invoke(main, ["sample", "vllm", "-"], input="1,2,3\n").output
    rule = "must contain a JSON list of numbers such as [1, 2.5, null]"
    assert piped == f"tokenref: standard input {rule}, got '1,2,3'\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["transformers", "vllm", "3,2,1", "--set", "top_k=-1"],
            "tokenref: transformers: top_k must be a whole number",
        ),
        (
            ["transformers", "vllm", "3,2,1", "--set", "top_k=-1"],
            "(--set vllm:top_k=... sets it for vllm alone), got -1\n",
        ),
        (
            ["vllm", "transformers", "3,2,1", "--set", "temperature=0"],
            "above 0, or None (--set do_sample=false takes the largest logit), got 0\n",
        ),
        (["vllm", "sglang", "1,2", "--set", "logits=1"], "vllm has no parameter 'logits'; "),
        (["vllm", "sglang", "1,2", "--set", "topp=1"], "vllm has no parameter 'topp'; did"),
        (["vllm", "sglang", "1,2", "--set", "vlm:top_p=1"], "there is no engine in --set 'vlm'"),
        (["vllm", "nobody", "1,2"], "there is no profile 'nobody'"),
        (["vllm", "sglang", "1,2", "--uniform", "0.5"], "add --uniform 0.5, or other numbers"),
    ],
)
def test_compare_explains_bad_input_in_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert sentence in result.output
    assert result.output.count("\n") == 1


SEVERAL = ("transformers", "exllamav2", "3,2,2,0", "--history", "0,0", "--set", "top_k=2")
"""Two engines whose penalties, top-k and top-p all differ."""


def test_compare_shows_every_difference_or_says_how_many_more_there_are() -> None:
    settings = ("--set", "temperature=2", "--set", "top_p=0.8")
    first, every = compared(*SEVERAL, *settings), compared(*SEVERAL, *settings, "--all")
    assert first[-1] == "2 more differences: see --all"
    assert every[: len(first) - 1] == first[:-1]
    steps = [re.split("[ :]", line)[3] for line in every if line.startswith("they differ at ")]
    assert steps == ["decaying_penalties", "top_k", "top_p"]
    greedy = compared(*SEVERAL, *settings, "--set", "do_sample=false")
    assert "takes the largest logit because" in greedy[0]
    assert "--all" not in greedy[-1]


def test_compare_says_which_rows_a_stage_gets_if_the_order_differs() -> None:
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8")
    lines = compared("llama.cpp", "transformers", *row)
    assert lines[3] == (
        "  top_p of llama.cpp gets the row with the probabilities 0.644, 0.237, 0.0871, 0.0321; "
        "top_p of transformers is after temperature, and gets the flatter row with the "
        "probabilities 0.455, 0.276, 0.167, 0.102"
    )


def test_random_numbers_may_be_separated_by_commas_as_rows_are() -> None:
    settings = ("--set", "xtc_probability=1", "--set", "xtc_threshold=0.1")
    arguments = ("sample", "llama.cpp", "1,3,3,1", *settings)
    expected = run(*arguments, "--uniform", "0", "--uniform", "0.5").stdout
    assert "drawn: " in expected
    assert run(*arguments, "--uniform", "0,0.5").stdout == expected
    refused = run(*arguments, "--uniform", "0;1")
    assert refused.exit_code == 2
    assert "numbers separated by commas, or a file, but there is no file '0;1'" in refused.stderr


TEMPERATURE = "temp was set for llama.cpp only; vllm calls it temperature"
PENALTY = "repeat_penalty was set for llama.cpp only; vllm calls it repetition_penalty"


@pytest.mark.parametrize(
    ("settings", "notes"),
    [
        (["temp=0.7"], [TEMPERATURE]),
        (["temp=0.7", "vllm:temperature=0.7"], []),
        (["temperature=0.7"], []),  # llama.cpp knows this name, too
        (["frequency_penalty=1"], []),
        (["repeat_penalty=2"], [PENALTY]),
        (["repeat_penalty=2", "temp=2"], [PENALTY, TEMPERATURE]),
        (["min_tokens=1"], []),  # llama.cpp has no such thing
    ],
)
def test_compare_says_which_parameter_has_another_name_in_the_other_engine(
    settings: list[str], notes: list[str]
) -> None:
    typed = [option for each in settings for option in ("--set", each)]
    for engines in (("vllm", "llama.cpp"), ("llama.cpp", "vllm")):
        lines = compared(*engines, "1,2,2,3", *typed)
        assert lines[: len(notes)] == notes
        assert not any("was set for" in line for line in lines[len(notes) :])
        content = json.loads(run("compare", *engines, "1,2,2,3", *typed, "--json").stdout)
        assert content["notes"] == notes
    found = compare("vllm", "llama.cpp", [1.0, 2.0], temp=0.7)
    assert found.notes == (TEMPERATURE,)
    assert str(found).startswith(f"{TEMPERATURE}\n")


def test_compare_writes_json_that_is_what_python_returns() -> None:
    settings = ("--set", "temperature=2", "--set", "exllamav2:top_p=0.8", "--json")
    [line] = compared(*SEVERAL, *settings)
    own = {"exllamav2": {"top_p": 0.8}}
    found = compare(*SEVERAL[:2], [3, 2, 2, 0], [0, 0], own=own, top_k=2, temperature=2)
    content = json.loads(line)
    assert content == json.loads(json.dumps(found.as_dict()))
    assert [each["kind"] for each in content["differences"]] == ["missing", "rule", "missing"]
    kept = [[stage["kept"] for stage in side] for side in content["differences"][1]["stages"]]
    assert kept == [[[0, 1, 2]], [[0, 1]]]
    decide = {each["name"]: each["decides"] for each in content["differences"][1]["values"]}
    assert decide["ties"]
    assert not any(decide[name] for name in decide if name not in {"ties", "sorted before"})


def test_compare_draws_with_a_seed_as_sample_does() -> None:
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8", "--seed", "3")
    tokens = []
    for name in ("llama.cpp", "transformers"):
        drawn = run("sample", name, *row, "--json")
        tokens.append(json.loads(drawn.output)["token"])
    last = compared("llama.cpp", "transformers", *row)[-1]
    assert last == f"llama.cpp draws {tokens[0]}, and transformers draws {tokens[1]}"
    alone = compared("llama.cpp", "llama.cpp", *row)
    assert alone[:2] == ["all stages leave the same row in both engines", f"both draw {tokens[0]}"]
    refused = run("compare", "llama.cpp", "vllm", *row).output
    assert "--seed works for transformers and llama.cpp, " in refused
    assert "not for vllm: give --uniform" in refused


def test_compare_in_python_refuses_parameters_and_engines_that_are_not_compared() -> None:
    with pytest.raises(UnknownNameError, match="no parameter 'topp'; did you mean 'top_p'"):
        compare("vllm", "sglang", [1.0], topp=1)
    with pytest.raises(UnknownNameError, match="there is no engine in own 'candle'; there are:"):
        compare("vllm", "sglang", [1.0], own={"candle": {}})
    with pytest.raises(ParameterError, match=r"^own must map names of engines to their "):
        compare("vllm", "sglang", [1.0], own={"vllm": 3})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match=r"^sglang: top_k must be "):
        compare("vllm", "sglang", [1.0], own={"sglang": {"top_k": 0.5}})


def test_compare_matches_penalties_by_what_they_do() -> None:
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8", "--history", "0")
    for one in ("transformers", "vllm", "sglang"):
        for how in ("exact", "f32"):
            penalty = ("--set", "repetition_penalty=1.1", "--precision", how)
            lines = compared(one, "llama.cpp", *row, *penalty)
            assert lines[:3] == [
                "they differ in the order of their stages",
                f"  order in {one}: temperature, top_p",
                "  order in llama.cpp: top_p, temperature",
            ]
    penalties: tuple[str, ...] = ("--set", "presence_penalty=0.5")
    penalties = (*penalties, "--set", "frequency_penalty=0.25")
    penalties = (*penalties, "--set", "top_p=1", "--set", "min_p=0", "--set", "temperature=1")
    same = ("1,2,3", "--history", "0,0", *penalties)
    heading = "all stages leave the same row in both engines"
    assert compared("vllm", "llama.cpp", *same)[0] == heading
    lines = compared("vllm", "llama.cpp", *same, "--set", "llama.cpp:repetition_penalty=2")
    steps = "frequency_penalty, presence_penalty in vllm, penalties in llama.cpp"
    assert lines[:2] == [
        f"they differ at {steps}",
        "  parameter repetition_penalty: off in vllm, 2 in llama.cpp",
    ]


def test_compare_says_which_penalty_an_engine_lacks() -> None:
    row = ("3,2,1", "--history", "0,0", "--set", "temperature=1", "--set", "frequency_penalty=1")
    lines = compared("transformers", "llama.cpp", *row)
    assert lines[0].startswith("they differ at penalties: llama.cpp applies it here")
    assert lines[1] == "  transformers has no stage frequency_penalty"
    lines = compared("vllm", "llama.cpp", *row, "--set", "vllm:frequency_penalty=0")
    assert lines[1].startswith("  frequency_penalty is off in vllm, because ")


def test_compare_names_differences_of_rounding_apart() -> None:
    digits = "temperature: 0.7 in candle, 0.699999988079071 in vllm"
    lines = compared("candle", "vllm", "1,1,1,1", "--set", "temperature=0.7", "--set", "top_k=2")
    assert lines[0] == "they differ at top_k"
    assert f"  differences of rounding: {digits}" in lines
    lines = compared("candle", "vllm", "1,2", "--set", "temperature=0.7")
    assert lines[:4] == [
        "all stages leave the same row in both engines, but for rounding",
        f"  differences of rounding: {digits}",
        f"  candle leaves 0:{1 / 0.7!r} 1:{2 / 0.7!r}",
        f"  vllm leaves 0:{1 / 0.699999988079071!r} 1:{2 / 0.699999988079071!r}",
    ]


def test_compare_shows_the_order_in_which_engines_walk_the_same_row() -> None:
    row = ("1,1,1,1", "--set", "temperature=1", "--set", "llama.cpp:top_p=1")
    lines = compared("exllamav2", "llama.cpp", *row, "--set", "top_p=1")
    assert [line.partition(": ")[0] for line in lines[1:]] == [
        "  draw of exllamav2",
        "  draw of llama.cpp",
    ]
    lines = compared("sglang", "vllm", "3,1", "--set", "temperature=1", "--set", "top_k=1")
    assert lines[0].endswith(", vllm draws, but has only the same token 0 left")


ASKED = (
    (),
    ("temperature=1",),
    ("temperature=2", "top_p=0.8"),
    ("temperature=0.7", "top_k=2", "top_p=0.5"),
    ("min_p=0.3", "temperature=1.5", "top_p=1"),
    ("temperature=2", "top_p=0.8", "repetition_penalty=1.3", "frequency_penalty=0.5"),
    ("temperature=1", "presence_penalty=0.25", 'logit_bias={"0": -0.7}'),
    ("temperature=0", "repetition_penalty=1.5"),
    ("temperature=1", "dry_multiplier=0.8", "dry_allowed_length=1"),
    ("temperature=1", "xtc_probability=1", "xtc_threshold=0.1"),
    ("temperature=2", "typical_p=0.6", "top_p=1"),
)
ROWS_TO_COMPARE = ("1,1,1,1", "5,1,0.5,0.4,0.3", "2,-inf,1,1,0.9,0.5", "0.1,0.05,0,-0.1,-0.1")


def are_equal(rows: Iterable[list[Any]]) -> bool:
    """Return whether two rows are equal but for rounding."""
    most = 2.0**-20 * max(1, *(abs(each) for row in rows for each in row if each > -inf))
    return all(one == two or abs(one - two) <= most for one, two in zip(*rows, strict=True))


def left_without(engines: Sequence[Compared], gone: Iterable[str], order: Any = None) -> bool:
    """Return whether two engines leave the same row without some steps.

    `order` are steps, which the second engine applies in this order.
    """
    rows = []
    for made, _, _ in engines:
        stages = [each for each in made.profile.stages if not related(each.step) & {*gone}]
        if order and made is engines[1][0]:
            places = [place for place, each in enumerate(stages) if each.step in order]
            moved = sorted((stages[place] for place in places), key=lambda x: order.index(x.step))
            for place, stage in zip(places, moved, strict=True):
                stages[place] = stage
        situation = replace(made.situation, randomness=Given([0.3] * 16))
        profile = replace(made.profile, stages=tuple(stages))
        run = replace(made, profile=profile, situation=situation).run()
        rows.append(run.candidates.row(made.situation.size))
    return are_equal(rows)


def is_a_cause(engines: Sequence[Compared], check: Callable[[set[str]], bool]) -> bool:
    """Return whether, without some other steps, the rows differ, but do not as `check` says."""
    steps = sorted({min(related(each.step)) for _, run, _ in engines for each in run.applied})
    subsets = (set(gone) for size in range(len(steps)) for gone in combinations(steps, size))
    return any(check(gone) for gone in subsets if not left_without(engines, gone))


@given(
    names=st.sampled_from(list(combinations(PROFILES, 2))),
    row=st.sampled_from(ROWS_TO_COMPARE),
    history=st.sampled_from(["", "0,0,1", "2,0,2,0"]),
    chosen=st.sampled_from(ASKED),
    precision=st.sampled_from(["exact", "f32"]),
)
@drawn(120)
def test_what_compare_blames_causes_the_difference(
    names: tuple[str, str], row: str, history: str, chosen: tuple[str, ...], precision: str
) -> None:
    try:
        engines = compared_engines(names, Asked(row, history, 0, chosen, [0.3] * 16, precision))
    except (ParameterError, UnknownNameError):
        return  # a temperature of 0, or a parameter of other engines
    heading, *lines = comparison(*engines).lines()
    if "takes the largest logit because" in heading:
        assert engines[0][0].is_greedy != engines[1][0].is_greedy
        return
    rows = [run.candidates.row(made.situation.size) for made, run, _ in engines]
    if heading.startswith("all stages leave the same row in both engines"):
        assert are_equal(rows)
        assert heading.endswith(", but for rounding") == (rows[0] != rows[1])
        return
    assert not are_equal(rows)
    if heading == "they differ in the order of their stages":
        orders = [line.partition(": ")[2].split(", ") for line in lines[:2]]
        assert is_a_cause(engines, lambda gone: left_without(engines, gone, orders[0])) or (
            is_a_cause(engines[::-1], lambda gone: left_without(engines[::-1], gone, orders[1]))
        )
        return
    assert "by rounding" not in heading
    blamed = re.split("[:, ]", heading.removeprefix("they differ at "))[0]
    assert is_a_cause(engines, lambda gone: left_without(engines, {*gone, *related(blamed)}))
    if " applies it here, " in heading:

        def is_other(engine: Compared) -> bool:
            return heading.endswith(f"{engine[0].profile.name} does not")

        has, lacks = sorted(engines, key=is_other)
        values = next(each.values for each in has[1].applied if each.step == blamed)
        off = {"repetition_penalty": 1, "frequency_penalty": 0, "presence_penalty": 0}
        parts = {name: values.get(name.removesuffix("_penalty"), off[name]) for name in off}
        for usual in {name for name in off if parts[name] != off[name]} or {blamed}:
            with suppress(UnknownNameError):
                left = lacks[0].one_step(usual).row(lacks[0].situation.size)
                assert left == lacks[0].candidates.row(lacks[0].situation.size)


@pytest.mark.parametrize("op", ["chain", "distribution", "sample", "sequence"])
def test_rules_of_a_whole_chain_are_engines_and_this_is_explained(op: str) -> None:
    shown = run("rules", op).output
    assert shown.startswith(f"{op} runs the whole chain of an engine")
    assert "tokenref profiles ENGINE" in shown
    assert run("rules", op, "--all").output.splitlines() == list(PROFILES)
    assert {case.profile for case in open_catalogue().cases if op_of(case) == op} <= {*PROFILES}
    assert "see `tokenref profiles ENGINE`" in run("rules", op, "--definition").output
