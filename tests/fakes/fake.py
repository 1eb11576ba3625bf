"""A small engine that breaks the protocol in the way that its argument names.

It does so where a batch has the text TRIGGER, and else answers `encode` rightly for
the vocabulary a=0, b=1, ab=2. It needs nothing but Python, and starts fast.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
Mode: TypeAlias = Callable[[Message], object]

TRIGGER = "abba"
LEAKS = "bbb"
LEAKED: list[str] = []
IDS = {"a": 0, "b": 1, "ab": 2}
NOTES = Path(os.environ.get("FAKE_NOTES", "none"))
"""Where it writes what the test asks about, and what it knows from before a restart."""


def write(*lines: bytes | Message) -> None:
    for line in lines:
        sys.stdout.buffer.write(line if isinstance(line, bytes) else json.dumps(line).encode())
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def stay(*pids: int) -> None:
    """Answer nothing any more, and note it: a test may wait for that, and not for a time."""
    if "FAKE_NOTES" in os.environ:
        with NOTES.open("a") as file:
            file.write(" ".join(map(str, pids)) + "\n")
    time.sleep(1000)


def result(case: Message) -> Message:
    text = case["in"]["text"]
    if set(text) - set("ab"):
        return {"k": case["k"], "err": {"code": "MISSING_BYTE", "msg": text}}
    return {"k": case["k"], "ok": {"ids": [IDS[token] for token in re.findall("ab|a|b", text)]}}


def crash(_: Message) -> None:
    say("thread main panicked: index out of bounds")
    os._exit(101)


def killed(_: Message) -> None:
    os.kill(os.getpid(), 11)


def hang(_: Message) -> None:
    stay()


def noted() -> int:
    return len(NOTES.read_text().splitlines()) if NOTES.exists() else 0


def crash_twice(message: Message) -> None:
    """Crash in a batch, once more when its question is asked alone, and never again."""
    if noted() >= 2:
        write(right(message))
    else:
        NOTES.write_text("crash\n" * (noted() + 1))
        crash(message)


def hang_twice(message: Message) -> None:
    if noted() >= 2:
        write(right(message))
    else:
        stay()


def hang_with_children(_: Message) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    stay(os.getpid(), child.pid)


def cut(message: Message) -> None:
    raw(json.dumps(right(message)).encode()[:-20])
    os._exit(0)


def cut_and_stay(message: Message) -> None:
    raw(json.dumps(right(message)).encode()[:-20])
    stay()


def close(_: Message) -> None:
    os.close(1)
    time.sleep(1000)


def right(message: Message) -> Message:
    return {"id": message["id"], "results": [result(case) for case in message["cases"]]}


def changed(change: Callable[[list[Message], int], object]) -> Mode:
    """Return a mode that answers rightly but for the trigger's own result."""

    def mode(message: Message) -> None:
        answer = right(message)
        for at, case in enumerate(message["cases"]):
            if case["in"]["text"] == TRIGGER:
                change(answer["results"], at)
        write(answer)

    return mode


def set_result(**parts: Any) -> Mode:
    return changed(lambda results, at: results.__setitem__(at, {"k": results[at]["k"], **parts}))


def print_half(message: Message) -> None:
    write(right(message))
    raw(b"don")


def flood_line(_: Message) -> None:
    while True:
        raw(b"x" * 2**20)


def flood_lines(_: Message) -> None:
    while True:
        raw(b'{"id":"b0","results":[]}\n' * 10_000)


def flood_log(message: Message) -> None:
    sys.stderr.buffer.write(b"y" * 2**20 + b"\nthe last words\n")
    sys.stderr.buffer.flush()
    write(right(message))


MODES: dict[str, Mode] = {
    "right": lambda message: write(right(message)),
    "crash": crash,
    "killed": killed,
    "crash-twice": crash_twice,
    "hang": hang,
    "hang-twice": hang_twice,
    "hang-with-children": hang_with_children,
    "cut": cut,
    "cut-and-stay": cut_and_stay,
    "close": close,
    "answer-twice": lambda message: write(right(message), right(message)),
    "print": lambda message: write(b"encoding 1 text ...", right(message)),
    "print-after": lambda message: write(right(message), b"done"),
    "print-half": print_half,
    "no-json": lambda _: write(b"Segmentation fault"),
    "no-utf8": lambda _: write(b'{"id":"\xff"}'),
    "deep": lambda _: write(b"[" * 100_000),
    "empty-line": lambda message: write(b"", right(message)),
    "wrong-id": lambda message: write({**right(message), "id": "b"}),
    "number-as-id": lambda message: write({**right(message), "id": 7}),
    "results-as-map": lambda message: write({"id": message["id"], "results": {"0": {}}}),
    "no-results": lambda message: write({"id": message["id"]}),
    "flood-line": flood_line,
    "flood-lines": flood_lines,
    "flood-log": flood_log,
    "wrong-key": changed(lambda results, at: results[at].__setitem__("k", "zz")),
    "neighbours-key": changed(
        lambda results, at: results[at].__setitem__("k", results[at - 1]["k"] + "x")
    ),
    "number-as-key": changed(lambda results, at: results[at].__setitem__("k", 7)),
    "result-twice": changed(lambda results, at: results.append(results[at])),
    "missing": changed(lambda results, at: results.pop(at)),
    "extra-field": changed(lambda results, at: results[at].__setitem__("ms", 1)),
    "two-of-four": changed(lambda results, at: results[at].__setitem__("skip", {"reason": "x"})),
    "none-of-four": set_result(),
    # one answer of a wrong form, which stands for itself
    "strings-as-ids": set_result(ok={"ids": ["0", "1"]}),
    "floats-as-ids": set_result(ok={"ids": [0.0]}),
    "truth-as-ids": set_result(ok={"ids": [True]}),
    "no-ids": set_result(ok={}),
    "other-field": set_result(ok={"ids": [2], "note": "x"}),
    "unknown-code": set_result(err={"code": "OUCH"}),
    "skip": set_result(skip={"reason": "no palindromes", "issue": "https://example.org/1"}),
    "panic": set_result(crash={"msg": "caught a panic"}),
    "whole-skip": lambda message: write({"id": message["id"], "skip": {"reason": "not today"}}),
    "whole-crash": lambda message: write({"id": message["id"], "crash": {"msg": "caught"}}),
    "in-company": lambda message: (
        crash(message) if len(message["cases"]) > 1 else write(right(message))
    ),
}


def hello(mode: str) -> Message:
    answer: Message = {
        "proto": 1,
        "impl": {"name": "fake", "version": "1.0", "language": "python"},
        "ops": {"encode": {"profiles": ["definition"]}},
    }
    if mode == "hello-dies":
        say("no licence found")
        os._exit(2)
    if mode == "hello-throws":
        say("a.js:1\n\nTypeError: x is not a function\n    at f (a.js:1:3)\n\nNode.js v20.1.0\n")
        os._exit(1)
    if mode == "hello-hangs":
        time.sleep(1000)
    if mode == "hello-prints":
        write(b"Welcome to fake 1.0")
    if mode == "hello-once" and NOTES.exists():
        os._exit(2)
    return changed_hello(mode, answer)


def changed_hello(mode: str, answer: Message) -> Message:
    if mode == "hello-of-protocol-2":
        answer["proto"] = 2
    if mode == "hello-without-version":
        del answer["impl"]["version"]
    if mode == "hello-of-a-typo":
        answer["ops"] = {"enc0de": {"profiles": ["definition"]}}
    if mode == "hello-changes" and NOTES.exists():
        answer["impl"]["version"] = "2.0"
    if mode == "small-batches":
        answer["limits"] = {"batch": 3}
    if mode == "promises-stages":
        answer["ops"]["encode"]["stages"] = ["pieces"]
    return answer


def load(mode: str, message: Message) -> Message:
    if mode == "load-dies" or (mode == "load-dies-once" and not NOTES.exists()):
        if mode == "load-dies-once":
            NOTES.write_text("died\n")
        os._exit(1)
    if mode == "load-hangs":
        stay()
    if mode == "load-skips":
        return {"id": message["id"], "skip": {"reason": "has no pairs"}}
    if mode == "load-refuses":
        return {"id": message["id"], "err": {"code": "NO", "msg": "bad file"}}
    if mode == "load-panics":
        return {"id": message["id"], "crash": {"msg": "out of memory"}}
    if mode == "load-wrongly":
        return {"id": "zz", "ok": {}}
    assert json.loads(Path(message["path"]).read_text())["digest"] == message["vocab"]
    return {"id": message["id"], "ok": {}}


def run(mode: str, message: Message) -> None:
    cases = message["cases"]
    if mode == "leaks-and-crashes" and any(case["in"]["text"] == LEAKS for case in cases):
        LEAKED.append(LEAKS)
    if mode == "leaks-and-crashes" and any(case["in"]["text"] == TRIGGER for case in cases):
        crash(message)
    if mode == "small-batches":
        assert len(cases) <= 3
    if mode == "always-crash" and cases:
        crash(message)
    if mode == "always-twice":
        write(right(message), right(message))
    elif mode == "always-wrong":
        write({"id": message["id"], "results": [{"k": c["k"], "ok": {"ids": [7]}} for c in cases]})
    elif mode == "out-of-order":
        answer = right(message)
        answer["results"].reverse()
        write(answer)
    elif mode in {"hello-once", "hello-changes"} and any(c["in"]["text"] == TRIGGER for c in cases):
        NOTES.touch()
        crash(message)
    elif any(case["in"]["text"] == TRIGGER for case in cases):
        MODES.get(mode, MODES["right"])(message)
    else:
        write(right(message))


def main() -> None:
    mode = sys.argv[1]
    for line in sys.stdin.buffer:
        message = json.loads(line)
        match message["cmd"]:
            case "hello":
                write(hello(mode))
            case "load":
                write(load(mode, message))
            case "run":
                run(mode, message)
            case "bye":
                if mode == "ignore-bye":
                    time.sleep(1000)
                if LEAKED:
                    sys.exit("SUMMARY: a leak")
                return
    if mode == "ignore-bye":
        time.sleep(1000)


if __name__ == "__main__":
    main()
