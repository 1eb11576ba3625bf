"""Files, programs and arguments that are meant to do harm: one sentence, soon, and no remains."""

import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.small_fixtures import small_fixtures
from tokenref.cli import main
from tokenref.protocol.channel import Process
from tokenref.protocol.messages import ProtocolError, read_hello, read_run


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("digits", [5_000, 100_000])
def test_a_number_of_many_digits_is_no_list_of_known_differences(
    tmp_path: Path, digits: int
) -> None:
    known = tmp_path / "known.toml"
    known.write_text(f"known = {'9' * digits}\n", encoding="ascii")
    fixtures = small_fixtures(tmp_path / "fixtures")
    result = run("check", "heap", "--fixtures", str(fixtures), "--known", str(known))
    assert result.exit_code == 3, result.output
    assert "not a list of known differences: a number is too long" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("a" * 100_000,),
        ("count", f"--{'a' * 100_000}"),
        ("count", "--vocabulary", "a" * 100_000, "x"),
        ("count", "--vocabulary", "tiny", "--file", "a" * 100_000),
        ("decode", "9" * 100_000),
        ("decode", *["x"] * 50_000),
        ("check", "a" * 100_000),
        ("check", "heap", "--op", "a" * 100_000),
        ("fuzz", "heap", "--executor", "a" * 100_000),
        ("fuzz", "heap", "--executor", f"os:{'a' * 100_000}"),
        ("fuzz", "heap", "--shard", "9" * 100_000),
        ("judge", "a" * 100_000),
        ("show", "a" * 100_000),
        ("profiles", "a" * 100_000),
        ("rules", "a" * 100_000),
        ("sample", "a" * 100_000, "1"),
        ("sample", "openai", "9" * 100_000),
        ("sample", "openai", "1", "--set", f"temperature={'9' * 100_000}"),
        ("sample", "openai", "1", "--set", f"{'a' * 100_000}=1"),
    ],
)
def test_no_message_of_a_command_is_longer_than_a_few_lines(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code in {2, 3}, result.output[:3000]
    assert "Traceback" not in result.output
    assert len(result.output) < 3000


def test_the_smallest_temperature_is_shown() -> None:
    result = run("sample", "openai", "545,1", "--set", "temperature=5e-324")
    assert result.exit_code in {0, 2}, result.output
    assert "internal error" not in result.output


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"id":"b1","results":[{"k":"0","ok":{"count":1},"ok":{"count":2}}]}', "ok"),
        (b'{"id":"b1","results":[{"k":"0","ok":{"count":1,"count":2}}]}', "count"),
        (b'{"id":"b1","id":"b1","results":[{"k":"0","ok":{"count":1}}]}', "id"),
        (b'{"id":"b1","results":[],"results":[{"k":"0","ok":{"count":1}}]}', "results"),
        (b'{"id":"b1","results":[{"k":"0","\\u006b":"0","ok":{"count":1}}]}', "k"),
    ],
)
def test_an_answer_with_a_key_twice_is_refused(line: bytes, key: str) -> None:
    with pytest.raises(ProtocolError, match=f"^the key '{key}' comes twice in an object"):
        read_run(line, "b1", "count", {"0": 0})


def test_a_greeting_with_a_key_twice_is_refused() -> None:
    line = b'{"proto":1,"proto":1,"impl":{"name":"a","version":"1"},"ops":{}}'
    with pytest.raises(ProtocolError, match="comes twice"):
        read_hello(line)


_FAMILY = """
import os, subprocess, sys, time
if len(sys.argv) > 2:
    env = {} if sys.argv[2] == "bare" else None
    waits = [sys.executable, "-c", "import time; time.sleep(300)"]
    if os.fork() == 0:
        os.setsid()
        if sys.argv[2] == "orphan" and os.fork():
            os._exit(0)
        child = subprocess.Popen(waits, env=env, start_new_session=True)
        with open(sys.argv[1], "w") as file:
            file.write(str(child.pid))
        if sys.argv[2] == "orphan":
            os._exit(0)
        time.sleep(300)
    while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
        time.sleep(0.01)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no /proc")
@pytest.mark.parametrize("kind", ["session", "orphan", "bare"])
def test_no_process_that_a_program_started_survives_it(tmp_path: Path, kind: str) -> None:
    noted = tmp_path / "pid"
    program = Process([sys.executable, "-c", _FAMILY, str(noted), kind])
    assert program.exchange(b"", 1, 30) == [b"ready"]
    grandchild = int(noted.read_text(encoding="ascii"))
    assert is_running(grandchild)
    program.end()
    end = time.monotonic() + 10
    while is_running(grandchild):
        assert time.monotonic() < end, "the grandchild survives"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state != b"Z"
