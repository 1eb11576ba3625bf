"""The reference as a program that speaks the protocol."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bpe_ref import load, vocabulary_of
from tokenref.answers import Answer, Crashed, Ok, Refused, Session, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.reference import ReferenceEngine
from tokenref.record import op_of


def profiles() -> dict[str, dict[str, list[str]]]:
    """Return every operation with the profiles that records have."""
    found: dict[str, set[str]] = {}
    for case in open_catalogue().cases:
        found.setdefault(op_of(case), set()).add(case.profile)
    return {op: {"profiles": sorted(names)} for op, names in found.items()}


def make() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the function that answers a message."""
    engine = ReferenceEngine()
    files: dict[str, Path] = {}
    sessions: dict[tuple[str, str], Session | Unsupported] = {}

    def session(message: Mapping[str, Any]) -> Session | Unsupported:
        subject, profile = message.get("vocab", message.get("tokenizer", "")), message["profile"]
        if (subject, profile) not in sessions:
            sessions.clear()
            if not subject:
                sessions[subject, profile] = engine.load_profile(profile)
            elif "vocab" in message:
                vocabulary = vocabulary_of(load(files[subject]))
                sessions[subject, profile] = engine.load(vocabulary, "some")
            else:
                content = files[subject].read_bytes()
                sessions[subject, profile] = engine.load_tokenizer(content, "some", profile)
        return sessions[subject, profile]

    def answer(message: Mapping[str, Any]) -> dict[str, Any]:
        match message["cmd"]:
            case "hello":
                impl = {"name": "honest", "version": "1.0", "language": "python"}
                return {"proto": 1, "impl": impl, "ops": profiles()}
            case "load":
                subject = message.get("vocab", message.get("tokenizer", ""))
                files[subject] = Path(message["path"])
                return {"id": message["id"], "ok": {}}
        loaded = session(message)
        results = []
        for case in message["cases"]:
            said = (
                loaded
                if isinstance(loaded, Unsupported)
                else loaded.answer(message["op"], case["in"])
            )
            results.append({"k": case["k"], **_plain(said)})
        return {"id": message["id"], "results": results}

    return answer


def _plain(answer: Answer) -> dict[str, Any]:
    match answer:
        case Ok(out):
            return {"ok": out}
        case Refused(code, message):
            return {"err": {"code": code, "msg": message}}
        case Unsupported(reason):
            return {"skip": {"reason": reason}}
        case Crashed(message):
            return {"crash": {"msg": message}}
    raise AssertionError(answer)


def main() -> None:
    """Answer line by line."""
    answer = make()
    for line in sys.stdin.buffer:
        message = msgspec.json.decode(line)
        if message["cmd"] == "bye":
            return
        sys.stdout.buffer.write(msgspec.json.encode(answer(message)) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
