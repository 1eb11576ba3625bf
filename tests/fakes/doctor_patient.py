"""A small engine with one mistake, chosen by its argument: what `tokenref doctor` must explain.

It encodes and decodes with vocabularies without a pattern, by the definition. With
the argument `none` it makes no mistake.
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

MISTAKE = sys.argv[1] if len(sys.argv) > 1 else "none"
KEPT: list[str] = []
PROFILES = {"encode": ["definition"], "decode": ["definition"]}
HELLO: dict[str, Any] = {
    "proto": 1,
    "impl": {"name": "patient", "version": "1"},
    "ops": {op: {"profiles": profiles} for op, profiles in PROFILES.items()},
}
HELLOS: dict[str, Any] = {
    "echo": {"cmd": "hello", "proto": 1},
    "array": [HELLO],
    "no impl": {"proto": 1, "ops": HELLO["ops"]},
    "impl text": HELLO | {"impl": "patient 1"},
    "proto text": HELLO | {"proto": "1"},
    "proto 2": HELLO | {"proto": 2},
    "ops list": HELLO | {"ops": ["encode", "decode"]},
    "op list": HELLO | {"ops": PROFILES},
    "no ops": HELLO | {"ops": {}},
    "unknown op": HELLO | {"ops": {"enocde": {"profiles": ["definition"]}}},
    "profiles text": HELLO | {"ops": {"encode": {"profiles": "definition"}}},
    "unknown profile": HELLO | {"ops": {"encode": {"profiles": ["defintion"]}}},
    "one unknown profile": HELLO | {"ops": {"encode": {"profiles": ["definition", "mine"]}}},
    "unknown field": HELLO | {"colour": "red"},
    "small batch": HELLO | {"limits": {"batch": 2}},
    "stages": HELLO | {"ops": {"encode": {"profiles": ["definition"], "stages": ["merges"]}}},
}
LINES = {
    "banner": "Loading the engine ...\n" + json.dumps(HELLO),
    "python": str(HELLO),
    "lines": json.dumps(HELLO, indent=2),
    "nan": json.dumps({"seconds": float("nan")} | HELLO),
    "mark": "\ufeff" + json.dumps(HELLO),
    "empty": "\n" + json.dumps(HELLO),
    "two": json.dumps(HELLO) + json.dumps(HELLO),
    "no line feed": json.dumps(HELLO),
}


def encode(vocabulary: dict[str, Any], text: bytes) -> list[int]:
    """Return the tokens of a text."""
    known = {bytes.fromhex(digits): (rank, token) for digits, token, rank in vocabulary["tokens"]}
    parts = [text[at : at + 1] for at in range(len(text))]
    if MISTAKE == "missing dropped":
        parts = [part for part in parts if part in known]
    if any(part not in known for part in parts):
        raise ValueError
    while pairs := [
        (known[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in known
    ]:
        at = min(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [known[part][1] for part in parts]


def answer(op: str, question: dict[str, Any], vocabulary: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one question."""
    if op == "decode":
        spelled = {token: digits for digits, token, _ in vocabulary["tokens"]}
        if "errors" in question:
            return {"skip": {"reason": "decodes to bytes only"}}
        if any(token not in spelled for token in question["ids"]):
            return refused("UNKNOWN_ID")
        digits = "".join(spelled[token] for token in question["ids"])
        return {"ok": {"bytes": digits.upper() if MISTAKE == "upper case" else digits}}
    text = question["text"].encode() if "text" in question else None
    if text is None:
        text = bytes.fromhex(question["bytes"]) if "bytes" in question else b""
    try:
        ids = encode(vocabulary, text)
    except ValueError:
        return refused("MISSING_BYTE")
    if MISTAKE == "last missing" and len(ids) > 1:
        ids.pop()
    wrong = {
        "ids text": {"ids": [str(token) for token in ids]},
        "ids decimal": {"ids": [token + 0.5 for token in ids]},
        "other name": {"tokens": ids},
        "ok list": ids,
    }
    return {"ok": wrong.get(MISTAKE, {"ids": ids})}


def refused(code: str) -> dict[str, Any]:
    """Return a refusal, right or wrong."""
    wrong: dict[str, dict[str, Any]] = {
        "lower code": {"err": {"code": code.lower(), "msg": ""}},
        "own code": {"err": {"code": "E42", "msg": ""}},
        "other code": {"err": {"code": "TOO_LONG", "msg": ""}},
        "err text": {"err": code},
        "panic": {"crash": {"msg": "index out of bounds"}},
        "drops": {"ok": {"ids": []}},
    }
    return wrong.get(MISTAKE, {"err": {"code": code, "msg": "as it must be"}})


def results(message: dict[str, Any], vocabulary: dict[str, Any]) -> list[Any] | dict[str, Any]:
    """Return the results of a run, right or wrong."""
    if MISTAKE == "dies of a question" and message["cases"]:
        raise SystemExit(3)
    done = []
    for place, case in enumerate(message["cases"]):
        said = answer(message["op"], case["in"], vocabulary)
        if MISTAKE == "batch" and place >= 3:
            said = {"ok": {"ids": [0]}}
        if MISTAKE == "two outcomes":
            said = {"ok": None, "err": None} | said
        key: Any = int(case["k"]) if MISTAKE == "number keys" else case["k"]
        key = str(place) if MISTAKE == "own keys" else key
        done.append(said if MISTAKE == "no keys" else {"k": key, **said})
    wrong: dict[str, Any] = {
        "any order": done[::-1],
        "bare": [list(each.values()) for each in done],
        "one missing": done[1:],
        "one twice": done + done[:1],
        "keyed": {str(place): each for place, each in enumerate(done)},
    }
    right: list[Any] | dict[str, Any] = wrong.get(MISTAKE, done)
    return right


def load(message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a vocabulary, and the answer."""
    if MISTAKE == "dies of loading":
        sys.exit("out of memory")
    plain = json.loads(Path(message["path"]).read_text("ascii"))
    fits = plain["rule"] == "concatenation" and plain["pattern"] is None
    fits = fits and not plain["whole_piece"] and MISTAKE != "loads nothing"
    outcome: dict[str, Any] = {"ok": {}} if fits else {"skip": {"reason": "not mine"}}
    if MISTAKE == "load crashes":
        outcome = {"crash": {"msg": "no pattern"}}
    return plain, {"id": 0 if MISTAKE == "load id" else message["id"], **outcome}


def say(text: str, end: str = "\n") -> None:
    """Write a line, which is kept back where that is the mistake, whatever the environment says."""
    KEPT.append(text + end)
    if MISTAKE != "no flush":
        sys.stdout.write("".join(KEPT))
        sys.stdout.flush()
        KEPT.clear()


def say_hello() -> None:
    """Answer hello, right or wrong."""
    if MISTAKE == "not UTF-8":
        sys.stdout.buffer.write(b'{"proto":1,"impl":{"name":"\xff","version":"1"},"ops":{}}\n')
        sys.stdout.buffer.flush()
        return
    text = LINES.get(MISTAKE, json.dumps(HELLOS.get(MISTAKE, HELLO)))
    say(text, "" if MISTAKE == "no line feed" else "\n")


def say_results(message: dict[str, Any], vocabulary: dict[str, Any]) -> None:
    """Answer a run, right or wrong."""
    if MISTAKE == "prints":
        say(f"encoding {len(message['cases'])} texts")
    message_id = "b" if MISTAKE == "run id" else message["id"]
    whole = {"run skips": "skip", "run crashes": "crash"}.get(MISTAKE)
    if whole is not None:
        why = {"reason": "too many at once"} if whole == "skip" else {"msg": "out of memory"}
        say(json.dumps({"id": message_id, whole: why}))
        return
    for _ in range(2 if MISTAKE == "answers twice" else 1):
        say(json.dumps({"id": message_id, "results": results(message, vocabulary)}))


def main() -> None:
    """Answer line by line."""
    vocabulary: dict[str, Any] = {}
    if MISTAKE == "dies at the start":
        sys.exit("ImportError: no engine")
    for line in sys.stdin:
        message = json.loads(line)
        if MISTAKE == "silent":
            continue
        if message["cmd"] == "bye":
            time.sleep(1000 if MISTAKE == "no bye" else 0)
            break
        if message["cmd"] == "hello":
            say_hello()
        elif message["cmd"] == "load":
            vocabulary, reply = load(message)
            say(json.dumps(reply))
        else:
            say_results(message, vocabulary)
    sys.stdout.write("".join(KEPT))


if __name__ == "__main__":
    main()
