"""Every command ends well: asked wrongly, interrupted, or with streams that are closed or left."""

import os
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import click
import pytest
from click.testing import CliRunner

from authoring.__main__ import main as write_data
from tests.children import ROOT, Children
from tests.results_files import line, whole, write
from tokenref.cli import main

if sys.platform == "win32":
    pytest.skip("there are neither pipes with names nor signals", allow_module_level=True)

COMMANDS = sorted(main.commands)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, children: Children) -> Path:
    """Return a folder with what commands read."""
    folder = tmp_path_factory.mktemp("given")
    children.exchange(folder)
    ended = children.run(
        folder, "check", "reference", "--fixtures", "fixtures", "--json", "results.jsonl"
    )
    assert ended.code == 0
    return folder


def invoked(*arguments: str) -> tuple[int, str]:
    """Run `tokenref`, or `python -m authoring` if that is the first argument."""
    is_authoring = arguments[0] == "authoring"
    group, rest = (write_data, arguments[1:]) if is_authoring else (main, arguments)
    result = CliRunner().invoke(group, list(rest))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_refuses_what_it_does_not_know(command: str) -> None:
    code, said = invoked(command, "--help")
    assert code == 0
    assert said.startswith("Usage: ")
    code, said = invoked(command, "--no-such-option")
    assert code == 2
    assert "Traceback" not in said
    if not isinstance(main.commands[command], click.Group):
        assert "No such option" in said or "Missing" in said or "must" in said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("answer reference {no}", 2),
        ("check reference --records {no} --vocabulary tiny", 2),
        ("check reference --known {no}", 2),
        ("check reference --only-changes {no}", 2),
        ("check reference --corpus {no} --vocabulary tiny", 2),
        ("check reference --fixtures {no}", 2),
        ("export --fixtures {no}", 2),
        ("authoring mutants --fixtures {no}", 2),
        ("judge {no} {no}", 2),
        ("report {no}", 2),
        ("merge {no}", 2),
        ("promote {no} --why because-it-is-so-and-so --out x", 2),
        ("encode --file {no}", 2),
        ("count --file {no}", 2),
        ("chunks --most 3 --file {no}", 2),
        ("encode a --vocabulary {no}", 2),
        ("trace a --vocabulary {no}", 2),
        ("audit {no}", 2),
        ("train {no} --size 300 --out x", 2),
        ("fill --vocabulary tiny --texts {no} --out x", 2),
        ("fill --vocabulary {no} --texts {no} --out x", 2),
        ("doctor --cmd {no}", 2),
        ("check --cmd {no}", 2),
        ("sample llama.cpp {no}", 2),
        ("authoring attest --folder {no}", 2),
    ],
)
def test_a_file_that_is_not_there_is_one_sentence_that_names_it(
    arguments: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("authoring.__main__.REAL_ENGINES", ())
    missing = str(tmp_path / "no-such-file")
    ended, said = invoked(*arguments.format(no=missing).split())
    assert ended == code, said
    (sentence,) = said.strip().splitlines()
    assert sentence.startswith("tokenref: ")
    assert missing in sentence
    assert not list(tmp_path.iterdir())


MUTE = 'sh -c "read hello; touch greeted; exec sleep 600"'
"""A program that notes that it was greeted, and does not answer."""

INTERRUPTED = {
    # what is run, and the function in which it is interrupted
    "check": ("check naive --fixtures fixtures", "tokenref.judge.judge"),
    "mutants": ("authoring mutants --fixtures fixtures", "tokenref.judge.judge"),
    "fixtures": ("authoring fixtures --folder filled", "tokenref.record.make_case"),
    "fuzz": ("fuzz reference --op encode", "tokenref.fuzzing.campaign.done_group"),
    "export": ("export --fixtures fixtures", "tokenref.protocol.requests.export"),
}

WAITING = {
    # what is run, and waits for an answer to hello, or at a pipe that nobody writes to
    "check --cmd": f"check --cmd '{MUTE}' --timeout-to-start 600",
    "doctor": f"doctor --cmd '{MUTE}' --timeout-to-start 600",
    "judge": "judge requests.jsonl nobody --fixtures fixtures",
    "report": "check reference --known nobody",
    "merge": "merge nobody",
    "answer": "answer reference nobody",
    "encode": "encode --file nobody",
}


@pytest.mark.parametrize("command", INTERRUPTED)
def test_an_interrupted_command_says_one_word_and_ends_with_130(
    command: str, given: Path, children: Children
) -> None:
    line, function = INTERRUPTED[command]
    ended = children.run(
        given, *line.split(), stay_in=function, signal_number=signal.SIGINT, out=os.devnull
    )
    assert ended.code == 130, ended
    said = [line for line in ended.err.splitlines() if line.strip()]
    assert "Traceback" not in ended.err
    if command in {"fixtures", "export"}:  # what is made, or left out, may have been said before
        said = said[-1:]
    assert said == (["tokenref: interrupted"] if command != "fuzz" else [])
    assert not (given / "filled").exists()


@pytest.mark.parametrize("number_of_signal", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["check", "fuzz"])
def test_a_command_that_is_terminated_ends_its_engine(
    command: str, number_of_signal: int, given: Path, children: Children
) -> None:
    number = given / "number"
    number.unlink(missing_ok=True)
    program = "sh -c 'read hello; echo $$ > begun; mv begun number; exec sleep 600'"
    ended = children.run(
        *(given, command, "--cmd", program, "--timeout-to-start", "600"),
        signal_number=number_of_signal,
        once=number.exists,
    )
    assert (ended.code, ended.err.strip()) == (143, "tokenref: terminated")
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_a_campaign_that_is_terminated_says_so_after_its_summary(
    given: Path, children: Children
) -> None:
    line, function = INTERRUPTED["fuzz"]
    ended = children.run(given, *line.split(), stay_in=function, signal_number=signal.SIGTERM)
    assert (ended.code, ended.err.strip()) == (143, "tokenref: terminated")
    assert "0 likely bugs (0 findings); interrupted (seed " in ended.out


@pytest.mark.parametrize("command", WAITING)
def test_a_command_that_waits_is_interrupted_in_the_same_way(
    command: str, given: Path, children: Children
) -> None:
    greeted, pipe = given / "greeted", given / "nobody"
    greeted.unlink(missing_ok=True)
    if not pipe.exists():
        os.mkfifo(pipe)
    with ExitStack() as opened:

        def reader_waits() -> bool:
            try:  # a reader, also one that is about to open it, is what makes this possible
                number = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return False
            end = opened.enter_context(os.fdopen(number, "wb", buffering=0))
            # A signal that comes just before Python reads is seen when reading ends.
            late = Timer(10, end.close)
            opened.callback(late.cancel)
            late.start()
            return True

        ended = children.run(
            given,
            *shlex.split(WAITING[command]),
            once=greeted.exists if "--cmd" in WAITING[command] else reader_waits,
            signal_number=signal.SIGINT,
            out=os.devnull,
        )
    assert ended.code == 130, ended
    assert ended.err.strip() == "tokenref: interrupted"


LOSING = """
import gc, os, signal, sys, time
from tokenref.cli import main
from tokenref.commands import endings
import tokenref.commands.look
timer = endings.Timer
def noted(*given):
    os.write(1, b"lost")
    return timer(*given)
endings.Timer = noted
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
lost = []
def callback(phase, info):
    if phase == "start" and not lost:
        lost.append(phase)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)  # here it is raised
def waits(*_, **__):
    gc.callbacks.append(callback)
    gc.collect()
    for _ in range(6000):
        time.sleep(0.01)
main.commands["rules"].callback = waits
main(["rules"])
"""


def test_an_interrupt_that_a_callback_of_the_garbage_collector_lost_is_raised_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOSING], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (130, "lost"), done
    assert done.stderr.strip() == "tokenref: interrupted"


def test_results_are_read_twice_and_therefore_from_a_file(given: Path, children: Children) -> None:
    pipe = given / "pipe"
    os.mkfifo(pipe)
    ended = children.run(given, "report", "pipe")
    assert ended.code == 3
    assert ended.err.startswith("tokenref: pipe: must be a file, not a pipe")


def test_requests_and_responses_may_come_through_pipes(given: Path) -> None:
    command = (
        f"{sys.executable} -m tokenref judge <(cat {given}/requests.jsonl) "
        f"<(cat {given}/responses.jsonl) --fixtures {given}/fixtures"
    )
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("state", ["/dev/null", "pipe"])
def test_a_campaign_is_kept_in_a_file_and_nowhere_else(
    state: str, children: Children, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    ended = children.run(
        tmp_path, *("fuzz", "reference", "--op", "count", "--cases", "8", "--state", state)
    )
    assert (ended.code, ended.err) == (
        2,
        f"tokenref: {state} cannot be written: it must be a file\n",
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without an end")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("report /dev/zero", 3),
        ("judge requests.jsonl /dev/zero --fixtures fixtures", 3),
        ("check reference --records /dev/zero --vocabulary tiny", 3),
        ("check reference --known /dev/zero", 3),
        ("check reference --corpus /dev/zero --vocabulary tiny", 2),
        ("encode --file /dev/zero", 2),
    ],
)
def test_a_file_without_an_end_is_not_read_to_its_end(
    arguments: str, code: int, given: Path, children: Children
) -> None:
    ended = children.run(given, *arguments.split())
    assert ended.code == code, ended
    assert "at most" in ended.err
    assert "Traceback" not in ended.err


CLOSED = (
    # what is run; which stream is closed; the exit code; what is said
    *(
        (command, ">&-", 2, "tokenref: standard output cannot be written: it is closed\n")
        for command in (
            *("--version", "rules", "count hello", "export --fixtures fixtures"),
            *("check reference --fixtures fixtures", "check greedy --fixtures fixtures"),
        )
    ),
    ("count --help", "1</dev/null", 2, "standard output cannot be written: it is closed"),
    ("encode", "<&-", 2, "standard input cannot be read: it is closed"),
    ("check reference --fixtures fixtures --json closed.jsonl", ">&- 2>&- <&-", 2, ""),
    ("check nobody", "2>&-", 2, ""),
    ("check reference --fixtures fixtures", "| true", 0, ""),
    ("export --fixtures fixtures", "| true", 0, ""),
    ("check greedy --fixtures fixtures", "| true", 1, ""),
    ("rules", "| true", 0, ""),
    ("rules", "| head -n 1", 0, ""),
    ("encode --vocabulary tiny --special --json --file requests.jsonl", "| head -n 1", 0, ""),
    ("check greedy --fixtures fixtures", "| head -n 1", 1, ""),
    ("report failed.jsonl --fixtures fixtures", "| head -n 1", 1, ""),
    ("report invalid.jsonl --fixtures fixtures", "| true", 3, ""),
    ("--help", "| true", 0, ""),
    ("no-such-command", "2>/dev/full", 2, ""),
)


def test_streams_that_are_closed_or_that_nobody_reads_are_no_bug_and_no_failure(
    given: Path,
) -> None:
    """All at once, for Python starts anew for each."""
    failed = whole([line("e", f"bpe/count/a/{at}", "fail") for at in range(1000)])
    write(given / "failed.jsonl", failed)
    write(given / "invalid.jsonl", whole([], trouble="it did not finish"))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    running = [
        subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                f"{sys.executable} -m tokenref {arguments} {redirected}; exit ${{PIPESTATUS[0]}}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=given,
            env=environment | {"PYTHONPATH": str(ROOT)},
        )
        for arguments, redirected, _, _ in CLOSED
    ]
    for child, (arguments, redirected, code, said) in zip(running, CLOSED, strict=True):
        _, errors = child.communicate()
        about = f"{arguments} {redirected}: {errors}"
        assert child.returncode == code, about
        assert "Traceback" not in errors, about
        assert "ignored" not in errors, about
        assert (said in errors) if said else not errors.strip(), about
    results = (given / "closed.jsonl").read_bytes().splitlines()
    assert all(each.startswith(b"{") for each in results)  # nothing was printed into it


def test_a_file_that_is_opened_never_gets_the_number_of_a_closed_stream() -> None:
    """What anybody writes to that stream would go into the file."""
    program = (
        "import os, sys; from tokenref.commands.endings import take_closed_streams as take; "
        "take(); sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    command = f'{sys.executable} -c "{program}" <&- >&- 2>&-'
    done = subprocess.run(["/bin/bash", "-c", command], cwd=ROOT, check=False)
    assert done.returncode > 2
