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

TRIGGER = "abba"
IDS = {"a": 0, "b": 1, "ab": 2}


def write(*lines):
    for line in lines:
        sys.stdout.buffer.write(line if isinstance(line, bytes) else json.dumps(line).encode())
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def result(case):
    text = case["in"]["text"]
    if set(text) - set("ab"):
        return {"k": case["k"], "err": {"code": "MISSING_BYTE", "msg": text}}
    return {"k": case["k"], "ok": {"ids": [IDS[token] for token in re.findall("ab|a|b", text)]}}


def crash(message):
    print("thread main panicked: index out of bounds", file=sys.stderr, flush=True)
    os._exit(101)


def killed(message):
    os.kill(os.getpid(), 11)


def hang(message):
    time.sleep(1000)


def hang_with_children(message):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open(os.environ["FAKE_PIDS"], "a") as file:
        print(os.getpid(), child.pid, file=file)
    time.sleep(1000)


def cut(message):
    raw(json.dumps(right(message)).encode()[:-20])
    os._exit(0)


def cut_and_stay(message):
    raw(json.dumps(right(message)).encode()[:-20])
    time.sleep(1000)


def close(message):
    os.close(1)
    time.sleep(1000)


def right(message):
    return {"id": message["id"], "results": [result(case) for case in message["cases"]]}


def changed(change):
    """Return a mode that answers rightly but for the trigger's own result."""

    def mode(message):
        answer = right(message)
        for at, case in enumerate(message["cases"]):
            if case["in"]["text"] == TRIGGER:
                change(answer["results"], at)
        write(answer)

    return mode


def set_result(**parts):
    return changed(lambda results, at: results.__setitem__(at, {"k": results[at]["k"], **parts}))


def flood_line(message):
    while True:
        raw(b"x" * 2**20)


def flood_lines(message):
    while True:
        raw(b'{"id":"b0","results":[]}\n' * 10_000)


def flood_log(message):
    sys.stderr.buffer.write(b"y" * 2**20 + b"\nthe last words\n")
    sys.stderr.buffer.flush()
    write(right(message))


MODES = {
    "right": lambda message: write(right(message)),
    "crash": crash,
    "killed": killed,
    "hang": hang,
    "hang-with-children": hang_with_children,
    "cut": cut,
    "cut-and-stay": cut_and_stay,
    "close": close,
    "answer-twice": lambda message: write(right(message), right(message)),
    "print": lambda message: write(b"encoding 1 text ...", right(message)),
    "print-after": lambda message: write(right(message), b"done"),
    "print-half": lambda message: (write(right(message)), raw(b"don")),
    "no-json": lambda message: write(b"Segmentation fault"),
    "no-utf8": lambda message: write(b'{"id":"\xff"}'),
    "deep": lambda message: write(b"[" * 100_000),
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
    "in-company": lambda message: crash(message) if len(message["cases"]) > 1 else write(right(message)),
}


def hello(mode):
    answer = {
        "proto": 1,
        "impl": {"name": "fake", "version": "1.0", "language": "python"},
        "ops": {"encode": {"profiles": ["definition"]}},
    }
    if mode == "hello-dies":
        print("no license found", file=sys.stderr, flush=True)
        os._exit(2)
    if mode == "hello-hangs":
        time.sleep(1000)
    if mode == "hello-prints":
        write(b"Welcome to fake 1.0")
    if mode == "hello-of-protocol-2":
        answer["proto"] = 2
    if mode == "hello-without-version":
        del answer["impl"]["version"]
    if mode == "hello-of-a-typo":
        answer["ops"] = {"enc0de": {"profiles": ["definition"]}}
    if mode == "hello-once" and os.path.exists(os.environ["FAKE_PIDS"]):
        os._exit(2)
    if mode == "hello-changes" and os.path.exists(os.environ["FAKE_PIDS"]):
        answer["impl"]["version"] = "2.0"
    if mode == "small-batches":
        answer["limits"] = {"batch": 3}
    return answer


def load(mode, message):
    if mode == "load-dies":
        os._exit(1)
    if mode == "load-hangs":
        time.sleep(1000)
    if mode == "load-skips":
        return {"id": message["id"], "skip": {"reason": "has no pairs"}}
    if mode == "load-refuses":
        return {"id": message["id"], "err": {"code": "NO", "msg": "bad file"}}
    if mode == "load-panics":
        return {"id": message["id"], "crash": {"msg": "out of memory"}}
    if mode == "load-wrongly":
        return {"id": "zz", "ok": {}}
    with open(message["path"]) as file:
        assert json.load(file)["digest"] == message["vocab"]
    return {"id": message["id"], "ok": {}}


def run(mode, message):
    cases = message["cases"]
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
        with open(os.environ["FAKE_PIDS"], "w"):
            crash(message)
    elif any(case["in"]["text"] == TRIGGER for case in cases):
        MODES.get(mode, MODES["right"])(message)
    else:
        write(right(message))


def main():
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
                return
    if mode == "ignore-bye":
        time.sleep(1000)


main()
