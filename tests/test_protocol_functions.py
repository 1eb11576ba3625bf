"""Python functions as programs under test, and programs from the command line."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokenref.cli import main
from tokenref.protocol.channel import StartError
from tokenref.protocol.engine import ProtocolEngine
from tokenref.protocol.opening import GreetingError, open_function

PAGE = Path(__file__).parent.parent / "docs" / "protocol.md"
FAKE = Path(__file__).parent / "fakes" / "fake.py"
MODULE = """
def engine():
    from tokenref.engines.reference import ReferenceEngine
    return ReferenceEngine("mine")

def silent():
    return lambda message: None

def raising():
    def answer(message):
        if message["cmd"] == "hello":
            return {"proto": 1, "impl": {"name": "raising", "version": "1"},
                "ops": {"limit": {"profiles": ["definition"]}}}
        if message["cmd"] == "load":
            return {"id": message["id"], "ok": {}}
        if any(case["in"]["limit"] == 0 for case in message["cases"]):
            raise KeyError("zero")
        return {"id": message["id"],
            "results": [{"k": case["k"], "skip": {"reason": "x"}} for case in message["cases"]]}
    return answer

def broken():
    raise ValueError("not today")

number = 3

def seven():
    return 7
"""


def tokenref(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with two modules."""
    (tmp_path / "protocol_mine.py").write_text(MODULE)
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "protocol_shown.py").write_text(shown)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("protocol_mine", "protocol_shown"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_the_function_of_the_page_is_an_engine() -> None:
    result = tokenref(
        "check", "py:protocol_shown:make", "--op", "count", "--id", "bpe/count/missing_bytes/*"
    )
    assert result.exit_code == 1, result.output
    assert "counter 1" in result.output
    assert "again    tokenref check py:protocol_shown:make --id" in result.output


def test_an_engine_is_asked_directly() -> None:
    assert open_function("py:protocol_mine:engine").name == "mine"
    assert tokenref("check", "py:protocol_mine:engine", "--op", "limit").exit_code == 0


def test_what_a_function_raises_is_a_crash_of_that_question_and_no_restart() -> None:
    engine = open_function("py:protocol_mine:raising")
    assert isinstance(engine, ProtocolEngine)
    answers = engine.load_profile("definition").answer_many(
        "limit", [{"limit": 1}, {"limit": 0}, {"limit": 2}]
    )
    assert [type(answer).__name__ for answer in answers] == ["Skipped", "Crashed", "Skipped"]
    assert answers[1].message == "KeyError: 'zero'"  # type: ignore[union-attr]
    assert engine.restarts == 0
    engine.close()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("py:protocol_mine", "a Python engine must be named py:module:function, got 'py:prot"),
        ("py::f", "a Python engine must be named py:module:function, got 'py::f'"),
        ("py:no_such_module:f", "cannot be imported: ModuleNotFoundError: "),
        ("py:protocol_mine:nothing", "cannot be imported: AttributeError: "),
        ("py:protocol_mine:number", "must be a function, got int"),
        ("py:protocol_mine:broken", "py:protocol_mine:broken: it raised ValueError: not today"),
        ("py:protocol_mine:seven", "or a function from message to answer, got int"),
    ],
)
def test_what_is_no_engine_is_said_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(StartError) as caught:
        open_function(name)
    assert sentence in str(caught.value)
    result = tokenref("check", name)
    assert result.exit_code == 2
    assert sentence in result.output


def test_a_function_that_does_not_greet_is_refused() -> None:
    with pytest.raises(GreetingError, match="Expected `object`, got `null`"):
        open_function("py:protocol_mine:silent")


def command(mode: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(FAKE), mode])


def test_the_command_is_split_and_no_shell_sees_it(tmp_path: Path) -> None:
    result = tokenref("check", "--cmd", f"/bin/echo hello; touch {tmp_path}/made")
    assert result.exit_code == 3
    assert "it wrote hello; touch" in result.output
    assert not (tmp_path / "made").exists()


def test_exit_codes_say_what_happened() -> None:
    assert tokenref("check").exit_code == 2
    assert tokenref("check", "--cmd", "/no/such").exit_code == 2
    assert tokenref("check", "--cmd", command("hello-dies")).exit_code == 3
    assert tokenref("check", "--cmd", command("right"), "--timeout", "0").exit_code == 2
    one = ("--op", "canonical")
    result = tokenref("check", "--cmd", command("right"), "reference", *one)
    assert result.exit_code == 3  # the program has no such operation: nothing was proven
    assert "order: --seed 0; time: 2 s + 0.05 s per case" in result.output


def test_two_engines_of_one_name_are_refused() -> None:
    result = tokenref("check", "--cmd", command("right"), "--cmd", command("always-wrong"))
    assert (result.exit_code, result.output) == (
        2,
        "tokenref: two engines are named 'fake': run one at a time\n",
    )
