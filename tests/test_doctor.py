"""What `tokenref doctor` says of programs that make one mistake each."""

import shlex
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.cli import main
from tokenref.doctor.conversation import Finding, hint, hint_on_answer, near
from tokenref.doctor.walk import examine, trials
from tokenref.protocol import channel
from tokenref.protocol.channel import Patience, StartError

PATIENT = Path(__file__).parent / "fakes" / "doctor_patient.py"
CALM = Patience(per_batch=60, per_case=0, to_start=60)
"""Where an answer comes, or an end, however busy the machine is."""

HASTY = Patience(per_batch=60, per_case=0, to_start=1)
"""Where no answer to hello comes, and then an end."""

PATIENTLY = ("--timeout", "60", "--timeout-to-start", "60")


@cache
def catalogue() -> Catalogue:
    return open_catalogue()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the end of a program, and for its last words, however long that takes."""
    monkeypatch.setattr(channel, "GRACE", 60.0)
    monkeypatch.setattr(channel, "_LAST_WORDS", 60.0)


def command(mistake: str) -> str:
    return shlex.join([sys.executable, "-S", str(PATIENT), mistake])


def findings(mistake: str, patience: Patience | None = None) -> list[Finding]:
    return list(examine(command(mistake), catalogue(), patience or CALM))


def problems(mistake: str, patience: Patience | None = None) -> list[Finding]:
    return [each for each in findings(mistake, patience) if each.kind == "problem"]


def all_of(finding: Finding) -> str:
    return f"{finding.text}\n{finding.wrote}\n{finding.right}\n{finding.hint}"


def test_a_program_that_hangs_after_hello_is_not_told_to_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "GRACE", 0.5)  # this one never ends
    program = tmp_path / "hangs"
    ops = '{"top_k":{"profiles":["standard"]}}'
    hello = f'{{"proto":1,"impl":{{"name":"hangs","version":"1"}},"ops":{ops}}}'
    program.write_text(f"#!/bin/sh\nread line\necho '{hello}'\nread line\nexec sleep 100\n")
    program.chmod(0o755)
    found = examine(str(program), catalogue(), Patience(per_batch=0.5, per_case=0, to_start=60))
    (said,) = [each for each in found if each.about == "top_k"]
    assert said.text == "it did not answer run within 0.5 seconds"
    assert said.right.startswith('{"id":"b0","results":[{"k":"03","ok":{"keep":[')
    assert said.hint.startswith("it answered what came before, so this question takes too long")
    assert said.wrote == ""


@pytest.mark.parametrize("order", ["big", "little"])
def test_numbers_with_their_bytes_in_the_other_order_are_told_so(
    tmp_path: Path, order: str
) -> None:
    program = tmp_path / "turned.py"
    program.write_text(
        f"""
import json, struct, sys
from math import exp
for line in sys.stdin:
    asked = json.loads(line)
    answer = {{"proto": 1, "impl": {{"name": "turned", "version": "1"}},
              "ops": {{"softmax": {{"profiles": ["standard"]}}}}}}
    if asked["cmd"] == "bye":
        break
    if asked["cmd"] == "run":
        answer = {{"id": asked["id"], "results": []}}
        for case in asked["cases"]:
            row = case["in"]["logits"]
            said = {{"skip": {{"reason": "has rows of 32 bits"}}}}
            if "f32" in row:
                numbers = [n for n, in struct.iter_unpack(">f", bytes.fromhex(row["f32"]))]
                weights = [exp(n - max(numbers, default=0)) for n in numbers]
                parts = [struct.pack(">f", w / sum(weights)) for w in weights]
                digits = "".join(p[:: {1 if order == "big" else -1}].hex() for p in parts)
                said = {{"ok": {{"probs": {{"f32": digits}}}}}}
            answer["results"].append({{"k": case["k"], **said}})
    print(json.dumps(answer), flush=True)
""",
        encoding="utf-8",
    )
    found = list(examine(shlex.join([sys.executable, str(program)]), catalogue(), CALM))
    hints = [each.hint for each in found if each.text.startswith("sampling/softmax/")]
    said = "the bytes of each number are in the other order: digits begin with the highest byte"
    assert (said in hints) == (order == "little")


def test_own_draws_are_asked_and_their_form_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "draws.py"
    program.write_text(OWN_DRAWS)
    command = shlex.join([sys.executable, "-S", str(program)])
    found = list(examine(command, catalogue(), CALM))
    seeds, canary = (each for each in found if each.kind == "problem")
    assert (seeds.about, canary.about) == ("seeds", "canary")
    assert "unknown field `tokens`" in seeds.text
    assert seeds.right == '{"k":"01","ok":{"batches":[[[0]]]}}'
    assert "canary/seeds/nothing-to-draw: fail: " in canary.text


OWN_DRAWS = """
import json
import sys
print(json.dumps({"proto": 1, "impl": {"name": "draws", "version": "1"},
                  "ops": {"seeds": {"profiles": ["standard"]}}}), flush=True)
sys.stdin.readline()
for line in sys.stdin:
    asked = json.loads(line)
    if asked["cmd"] == "bye":
        break
    results = [{"k": case["k"], "ok": {"tokens": []}} for case in asked["cases"]]
    print(json.dumps({"id": asked["id"], "results": results}), flush=True)
"""


def test_a_likely_cause_is_named() -> None:
    said = [each.text for each in findings("missing dropped") if each.about == "likely cause"]
    assert any("the seeded bug missing-byte-dropped" in sentence for sentence in said), said


@pytest.mark.parametrize("mistake", ["none", "any order", "small batch"])
def test_what_is_allowed_is_no_mistake(mistake: str) -> None:
    found = findings(mistake)
    assert {each.kind for each in found} <= {"ok", "note"}
    assert [each.about for each in found if each.kind == "ok"] == [
        *("start", "hello", "bye", "encode", "encode", "decode", "decode", "canary")
    ]


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("banner", "print other messages to standard error"),
        ("python", "json.dumps"),
        ("lines", "without line breaks"),
        ("nan", "no NaN"),
        ("mark", "byte order mark"),
        ("empty", "an empty line is not an answer"),
        ("two", "more than one answer"),
        ("not UTF-8", "it is not UTF-8"),
        ("not UTF-8", "write UTF-8, or ASCII with escapes such as"),
        ("echo", "do not echo it"),
        ("array", "one JSON object"),
        ("no impl", 'the answer has no "impl", which is required'),
        ("impl text", '"impl" must be an object'),
        ("proto text", "proto"),
        ("proto 2", "proto"),
        ("ops list", '"ops":{"encode":{"profiles":["definition"]}}'),
        ("op list", '"encode":{"profiles":["definition"]}'),
        ("no ops", "lists no operation"),
        ("unknown op", 'did you mean "encode"?'),
        ("profiles text", '"profiles":["definition"]'),
        ("unknown profile", 'did you mean "definition"?'),
        ("unknown field", "colour"),
        ("dies at the start", "ImportError: no engine"),
    ],
)
def test_a_mistake_in_hello_is_explained_and_ends_the_visit(mistake: str, said: str) -> None:
    (problem,) = problems(mistake)
    assert said in all_of(problem)
    assert problem.right or mistake == "unknown profile"


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("load id", "id"),
        ("load crashes", "if the engine does not support it, answer with skip"),
        ("dies of loading", "out of memory"),
        ("dies of a question", "it ended with exit status 3"),
        ("prints", "print other messages to standard error"),
        ("answers twice", "write exactly one line for each message"),
        ("run id", "the id must be"),
        ("keyed", "results must be a list"),
        ("bare", "a result must be an object"),
        ("no keys", 'each result needs the key "k"'),
        ("number keys", "keys are strings"),
        ("own keys", "was not asked"),
        ("one missing", "has no answer"),
        ("one twice", "is answered twice"),
        ("two outcomes", "exactly one of ok, err, skip and crash"),
        ("ok list", "must be an object"),
        ("other name", "ids"),
        ("ids text", "ids must be numbers"),
        ("ids decimal", "ids must be integers"),
        ("run crashes", "out of memory"),
        ("last missing", "fail: ids"),
        ("batch", "as number 3 of 64 questions"),
        ("err text", "err must be an object"),
        ("lower code", 'did you mean "MISSING_BYTE"?'),
        ("own code", "a code must be one of"),
        ("other code", "wrong_error: expected MISSING_BYTE, got TOO_LONG"),
        ("panic", "a crash does not count as a refusal"),
        ("drops", "must be refused: fail: expected MISSING_BYTE, got an answer"),
        ("upper case", "hexadecimal digits must be lower case"),
    ],
)
def test_a_mistake_in_an_operation_is_explained(mistake: str, said: str) -> None:
    found = problems(mistake)
    assert found
    assert any(said in all_of(problem) for problem in found), "\n".join(map(all_of, found))
    assert all(problem.about in {"encode", "decode", "canary"} for problem in found)


def test_a_wrong_answer_is_shown_beside_its_question_and_under_its_key() -> None:
    wrong = [each for each in problems("last missing") if each.about != "canary"]
    assert wrong
    for each in wrong:
        assert each.asked.startswith('{"')
        assert each.wrote.partition(",")[0] == each.right.partition(",")[0]  # the key


def test_questions_of_sixteen_bits_are_not_the_first() -> None:
    for trial in trials(catalogue(), "top_k", ["standard"]):
        assert not [case for case in trial.answered if "SixteenBit" in case.flags]


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("silent", "answer each line before reading the next"),
        ("no line feed", "the line feed is missing"),
        ("no flush", "flush standard output after each answer"),
    ],
)
def test_silence_is_explained_by_what_comes_when_the_input_is_closed(
    mistake: str, said: str
) -> None:
    (problem,) = problems(mistake, HASTY)
    assert said in all_of(problem)
    assert "within 1 second" in problem.text


def test_a_mistake_in_one_operation_does_not_hide_those_in_another() -> None:
    assert {problem.about for problem in problems("number keys")} == {"encode", "decode", "canary"}


def test_a_program_that_loads_nothing_is_told_so_and_what_it_was_not_asked() -> None:
    missing = replace(
        catalogue(), loaded={}
    )  # as on a machine without the files that are not shipped
    unshipped = [each for each in missing.manifest.vocabularies if each.path is None]
    missing.loaded.update({each.digest: f"{each.name} is not here" for each in unshipped})
    for here, said in (
        (catalogue(), ""),
        (missing, "cl100k_base is not available: tokenref vocabulary fetch cl100k_base"),
    ):
        notes = [
            each for each in examine(command("loads nothing"), here, CALM) if each.kind == "note"
        ]
        assert any(
            "no question was answered" in each.text
            and "not mine" in each.text
            and each.hint == said
            for each in notes
        )


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("no bye", "did not exit within a second"),
        ("run skips", "too many at once"),
        ("one unknown profile", "has the profile 'mine'"),
        ("stages", "promises the stages"),
    ],
)
def test_what_is_no_mistake_but_odd_is_noted(
    mistake: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mistake == "no bye":
        monkeypatch.setattr(channel, "GRACE", 0.2)
    found = findings(mistake)
    assert not [each for each in found if each.kind == "problem"]
    assert any(said in each.text for each in found)


def test_a_program_with_a_problem_ends_the_command_with_1() -> None:
    result = CliRunner().invoke(main, ["doctor", "--cmd", command("number keys"), *PATIENTLY])
    assert result.exit_code == 1
    assert "PROBLEM encode: " in result.stdout
    assert "it wrote" in result.stdout
    assert "3 problems. Fix the first one, then run this again:\n  tokenref doctor" in result.stdout


def test_a_sound_program_ends_the_command_with_0_and_the_next_step() -> None:
    result = CliRunner().invoke(main, ["doctor", "--cmd", command("none"), *PATIENTLY])
    assert result.exit_code == 0, result.stdout
    assert "tokenref check --cmd " in result.stdout


@pytest.mark.parametrize("wrong", ["", "'open", "/no/such/program"])
def test_a_command_that_starts_nothing_is_one_sentence(wrong: str) -> None:
    with pytest.raises(StartError):
        list(examine(wrong, catalogue(), HASTY))
    result = CliRunner().invoke(main, ["doctor", "--cmd", wrong])
    assert result.exit_code == 2
    assert result.stderr.startswith("tokenref: ")


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ({"probs": {"f32": [0.5]}}, "never in decimal"),
        ({"probs": [0.5]}, "never in decimal"),
        ({"bytes": "0xff"}, "without a prefix: ff"),
        ({"keep": ["1"]}, "keep must be numbers"),
        ({"keep": [1.0]}, "keep must be integers"),
        ({"keep": [1]}, ""),
    ],
)
def test_numbers_and_digits_of_a_wrong_form_are_recognised(out: object, said: str) -> None:
    assert said in hint_on_answer(out)
    assert bool(said) == bool(hint_on_answer(out))


def test_a_hint_is_given_only_where_one_is_known() -> None:
    assert not hint(b'{"id":"l1","ok":{}}', "load")
    assert not near("quite another", ["encode"])


def test_a_program_that_gives_the_answer_of_a_canary_is_told_so() -> None:
    """Here the canary is a right answer, so that an honest program gives it."""
    right = next(
        case
        for case in catalogue().cases
        if case.id.startswith("bpe/encode/byte_order/") and case.profile == "definition"
    )
    found = examine(command("none"), replace(catalogue(), canaries=[right]), CALM)
    (problem,) = (each for each in found if each.kind == "problem")
    assert problem.about == "canary"
    assert right.id in problem.text
    assert problem.hint == right.why
