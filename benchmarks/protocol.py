"""How fast questions go through a program and its answers through the judge.

    python -m benchmarks.protocol

The program is a trivial child: it reads, and gives the same answer to every
question of eight values. What is measured is all that tokenref does around it:
writing, reading, validating, judging; and the same answers judged from a file.
"""

import argparse
import json
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokenref.catalogue import Catalogue
from tokenref.floats import Floats, pack
from tokenref.protocol.messages import EXAMPLES, RunAnswer
from tokenref.protocol.opening import open_program
from tokenref.protocol.requests import export, judge_responses, read_requests
from tokenref.questions.sampling import FilterInput, KeepOutput, pack_parameters
from tokenref.record import Case, make_case
from tokenref.record_files import Manifest
from tokenref.runner import run_engine
from tokenref.verdicts import Exact

if TYPE_CHECKING:
    from collections.abc import Callable

CHILD = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message["cmd"] == "bye":
        break
    if message["cmd"] == "hello":
        answer = {"proto": 1, "impl": {"name": "trivial", "version": "1"},
            "ops": {"top_k": {"profiles": ["lowest-id"]}}}
    else:
        answer = {"id": message["id"],
            "results": [{"k": case["k"], "ok": {"keep": [0, 1]}} for case in message["cases"]]}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def questions(count: int) -> list[Case]:
    """Return so many questions about eight values each, all different.

    >>> len(questions(3))
    3
    """
    return [
        make_case(
            "top_k",
            id=f"sampling/top_k/speed/{number}",
            profile="lowest-id",
            why="A question to measure the speed of questions with.",
            flags=[],
            spec="speed",
            verdict=Exact(),
            input=FilterInput(
                probs=msgspec.convert(pack([8 + number, 4, 2, 1, 1, 1, 0.5, 0.5], "f32"), Floats),
                params=pack_parameters({"k": 2}),
            ),
            out=KeepOutput(keep=[0, 1]),
        )
        for number in range(count)
    ]


def catalogue(cases: list[Case]) -> Catalogue:
    """Return a catalogue of nothing but these cases."""
    manifest = Manifest(
        format=1,
        cases=len(cases),
        flags=[],
        files=[],
        vocabularies=[],
        tokenizers=[],
        retired=[],
        version="1.0.0",
    )
    return Catalogue(Path("none"), manifest, cases, [])


def through_a_child(cases: list[Case]) -> float:
    """Return how many questions per second go through a child and the judge."""
    with tempfile.TemporaryDirectory() as folder:
        child = Path(folder) / "child.py"
        child.write_text(CHILD, encoding="utf-8")
        engine = open_program(shlex.join([sys.executable, "-I", "-S", str(child)]))
        try:
            start = time.perf_counter()
            run = run_engine(engine, cases, catalogue(cases))
            seconds = time.perf_counter() - start
        finally:
            engine.close()
    if run.count("pass") != len(cases):
        raise SystemExit(f"the answers must all be right: {run.trouble}")
    return len(cases) / seconds


def from_a_file(cases: list[Case], repeat: int) -> float:
    """Return how many recorded answers per second are judged, requests read and all."""
    everything = catalogue(cases)
    with tempfile.TemporaryDirectory() as folder:
        requests, responses = Path(folder) / "requests.jsonl", Path(folder) / "responses.jsonl"
        digest = "sha256:" + "0" * 64
        lines = export(cases, everything, digest, str, repeat=repeat)
        hello = json.loads(EXAMPLES["hello"]) | {"ops": {"top_k": {"profiles": ["lowest-id"]}}}
        with requests.open("wb") as asked, responses.open("wb") as answered:
            answered.write(json.dumps(hello).encode() + b"\n")
            for line in lines:
                asked.write(line)
                message = msgspec.json.decode(line)
                if message["cmd"] == "run":
                    results = [
                        {"k": case["k"], "ok": {"keep": [0, 1]}} for case in message["cases"]
                    ]
                    answered.write(msgspec.json.encode({"id": message["id"], "results": results}))
                    answered.write(b"\n")
        start = time.perf_counter()
        found = judge_responses(responses, read_requests(requests, everything), everything)
        seconds = time.perf_counter() - start
    if found.trouble or any(result.judgement.status != "pass" for result in found.results):
        raise SystemExit(f"the answers must all be right: {found.trouble}")
    return len(cases) * repeat / seconds


def validation(rounds: int = 200) -> dict[str, float]:
    """Return how many answers per second are read: as plain JSON, and with their types checked."""
    line = json.dumps(
        {"id": "b1", "results": [{"k": str(key), "ok": {"keep": [0, 1]}} for key in range(64)]}
    ).encode()
    typed = msgspec.json.Decoder(RunAnswer)
    readers: dict[str, Callable[[bytes], object]] = {
        "json, nothing checked": json.loads,
        "msgspec, nothing checked": msgspec.json.decode,
        "msgspec, types checked": typed.decode,
    }
    found = {}
    for name, read in readers.items():
        start = time.perf_counter()
        for _ in range(rounds):
            read(line)
        found[name] = 64 * rounds / (time.perf_counter() - start)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args(arguments)
    cases = questions(options.cases)
    for name, speed in validation().items():
        print(f"read, {name}: {speed:,.0f} answers per second")
    print(f"through a child: {through_a_child(cases):,.0f} questions per second")
    print(f"from a file: {from_a_file(cases, options.repeat):,.0f} answers per second")


if __name__ == "__main__":
    main()
