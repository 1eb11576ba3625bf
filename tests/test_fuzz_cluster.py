"""A campaign on a cluster, started as docs/fuzzing.md shows, on real schedulers and workers."""

import contextlib
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask[distributed] is not installed")
if sys.platform == "win32":
    pytest.skip("there is no kill -9", allow_module_level=True)

from tokenref.fuzzing.journal import read_journal

PAGE = (Path(__file__).parent.parent / "docs" / "fuzzing.md").read_text(encoding="utf-8")
COMMANDS = Path(sys.executable).parent
CASES = 2_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the `cluster.py` of the page; only the port is another one."""
    blocks = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    (module,) = [block for block in blocks if "get_executor" in block]
    (tmp_path / "cluster.py").write_text(at_port(tmp_path, module), encoding="utf-8")
    return tmp_path


def at_port(folder: Path, text: str) -> str:
    """Return a text with a port that is free instead of the usual one.

    It lies below 32,768, where no system takes the ports of connections from: a free one above
    might be taken by a worker of the other test before the scheduler listens there.
    """
    kept = folder / "port"
    while not kept.exists():
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            kept.write_text(str(port), encoding="ascii")
    return text.replace("8786", kept.read_text(encoding="ascii"))


def wait_for_scheduler(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until connections are accepted, as somebody does who reads what the scheduler prints."""
    port = int((folder / "port").read_text(encoding="ascii"))
    end = time.monotonic() + 120
    while True:
        log = (folder / "scheduler.log").read_text(encoding="utf-8")
        assert process.poll() is None, log
        assert time.monotonic() < end, log
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)


def typed(folder: Path, beginning: str) -> list[str]:
    """Return the command of the page that begins so, with the port of the folder."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(beginning)]
    program, *words = shlex.split(at_port(folder, line))
    return [str(COMMANDS / program), *words]


def started(folder: Path, words: list[str], log: str) -> subprocess.Popen[bytes]:
    with (folder / log).open("wb") as stream:
        return subprocess.Popen(
            words, cwd=folder, stdout=stream, stderr=stream, start_new_session=True
        )


def killed(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def cluster(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start a scheduler and two workers."""
    processes = [started(folder, typed(folder, "dask scheduler "), "scheduler.log")]
    try:
        wait_for_scheduler(folder, processes[0])
        worker = typed(folder, "dask worker ")
        processes += [started(folder, worker, f"worker{number}.log") for number in range(2)]
        yield processes
    finally:
        for process in processes:
            killed(process)


def wait_for_groups(state: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not state.exists() or state.read_bytes().count(b"\n") < count:
        assert time.monotonic() < end, "the campaign does not go on"
        assert process.poll() is None, (state.parent / "campaign.log").read_text(encoding="utf-8")
        time.sleep(0.05)


def test_a_campaign_typed_as_the_page_shows_loses_nothing_when_a_worker_is_killed(
    folder: Path, cluster: list[subprocess.Popen[bytes]]
) -> None:
    campaign = started(folder, typed(folder, "tokenref fuzz heap --cases"), "campaign.log")
    state = folder / "heap.jsonl"
    try:
        wait_for_groups(state, CASES // 16 // 4, campaign)
        before = len(read_journal(state).groups)
        killed(cluster[1])
        code = campaign.wait(timeout=300)
    finally:
        killed(campaign)
    printed = (folder / "campaign.log").read_text(encoding="utf-8")
    assert code == 0, printed
    assert "Traceback" not in printed
    journal = read_journal(state)
    assert before < CASES // 16 == len(journal.groups), "it was killed half way"
    assert sum(sum(fates.values()) for fates in journal.counts().values()) == CASES


def test_a_campaign_whose_cluster_is_lost_ends_with_a_sentence_and_goes_on_later(
    folder: Path, cluster: list[subprocess.Popen[bytes]]
) -> None:
    words = typed(folder, "tokenref fuzz heap --cases")
    campaign = started(folder, words, "campaign.log")
    state = folder / "heap.jsonl"
    try:
        wait_for_groups(state, 100, campaign)
        for process in reversed(cluster):
            killed(process)
        code = campaign.wait(timeout=120)
    finally:
        killed(campaign)
    printed = (folder / "campaign.log").read_text(encoding="utf-8")
    assert code == 2, printed
    assert len(read_journal(state).groups) >= 25
