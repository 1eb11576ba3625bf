"""Each rule is one function in one file, and a step of an engine runs through few of them."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sampling_ref
from sampling_ref import PROFILES, STEPS, step
from sampling_ref.steps.table import RULES

HOME = Path(sampling_ref.__file__).parent
ROW = [2.0, 1.0, 0.5, -1.0, 0.25]
HISTORY = [0, 1, 0, 1]

QUESTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "llama.cpp": {
        "penalties": {"repeat_penalty": 1.5},
        "top_n_sigma": {"top_n_sigma": 1.0},
        "top_k": {"top_k": 3},
        "typical": {"typical_p": 0.5},
        "top_p": {"top_p": 0.5},
        "min_p": {"min_p": 0.2},
        "xtc": {"xtc_probability": 1.0, "xtc_threshold": 0.1},
        "temperature": {"temp": 0.5},
        "dynamic_temperature": {"temp": 1.0, "dynatemp_range": 0.5},
        "mirostat_1": {"mirostat": 1},
        "mirostat_2": {"mirostat": 2, "mirostat_tau": 1.0},
        "adaptive_p": {"adaptive_target": 0.3},
    },
    "transformers": {
        "repetition_penalty": {"repetition_penalty": 1.2},
        "temperature": {"temperature": 0.5},
        "top_h": {"top_h": 0.5},
        "top_k": {"top_k": 3},
        "top_p": {"top_p": 0.5},
        "min_p": {"min_p": 0.2},
        "typical": {"typical_p": 0.5},
        "epsilon": {"epsilon_cutoff": 0.1},
        "eta": {"eta_cutoff": 0.1},
    },
    "vllm": {"top_k": {"top_k": 2}, "top_p": {"top_p": 0.5}, "min_p": {"min_p": 0.2}},
    "exllamav2": {"top_p": {"top_p": 0.5}, "top_a": {"top_a": 0.3}, "tail_free": {"tfs": 0.5}},
}

ASKED = [(name, op) for name, questions in QUESTIONS.items() for op in questions]

MOST = {"exact": (60, 16), "f32": (48, 12)}
"""Maximum numbers of functions and files; comprehensions are not counted."""

IRRATIONAL = {"dynamic_temperature", "mirostat_1", "mirostat_2", "top_a"}
"""In exact precision these need logarithms of sums as real numbers, and 16 functions more."""


def functions_called(work: Callable[[], object]) -> set[tuple[str, str, int]]:
    """Return file, name and line of each of our functions that runs."""
    found: set[tuple[str, str, int]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and HOME in Path(code.co_filename).parents and code.co_name[0] != "<":
            found.add((code.co_filename, code.co_name, code.co_firstlineno))

    work()  # what is imported or cached once does not count
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("precision", MOST)
@pytest.mark.parametrize(("name", "op"), ASKED)
def test_a_step_runs_through_few_functions_and_files(name: str, op: str, precision: Any) -> None:
    given: dict[str, Any] = {"uniforms": [0.5]} if op == "xtc" else {}
    given |= QUESTIONS[name][op]
    called = functions_called(lambda: step(name, op, ROW, HISTORY, precision=precision, **given))
    functions, files = MOST[precision]
    functions += 16 * (precision == "exact" and op in IRRATIONAL)
    assert len(called) <= functions, sorted(called)
    assert len({file for file, _, _ in called}) <= files


@pytest.mark.parametrize("name", STEPS)
def test_a_rule_is_the_function_of_its_file(name: str) -> None:
    module = import_module(f"sampling_ref.steps.{name}")
    assert name in RULES
    assert getattr(module, "lz_penalty" if name == "lz" else name).step is STEPS[name]
    functions = [
        node.name
        for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    assert {name, f"{name}_penalty"} & set(functions)
    assert ast.get_docstring(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")))


def test_no_name_of_a_rule_is_defined_a_second_time() -> None:
    names = STEPS.keys() - {"logprobs"}  # which is also what an engine reports
    defined: dict[str, list[str]] = {name: [] for name in names}
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in defined:
                defined[node.name].append(path.relative_to(HOME).as_posix())
    twice = {
        name: files for name, files in defined.items() if files not in ([f"steps/{name}.py"], [])
    }
    assert twice == {}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_only_choices_that_its_steps_have(name: str) -> None:
    for stage in PROFILES[name].stages:
        known = {*STEPS[stage.step].parameters, *STEPS[stage.step].choices}
        assert {*stage.choices, *stage.takes} <= known
