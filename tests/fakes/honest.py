"""The reference as a program that speaks the protocol."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import msgspec

from bpe_ref import load, vocabulary_of
from tokenref.answers import Answer, Crashed, Ok, Refused, Session, Unsupported
from tokenref.engines.reference import ReferenceEngine

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


class Named(msgspec.Struct):
    """The part of a record that is read here, which takes a tenth of the time of all of it."""

    id: str
    profile: str


NAMED = msgspec.json.Decoder(Named)


def profiles() -> dict[str, dict[str, list[str]]]:
    """Return every operation with the profiles that records have."""
    found: dict[str, set[str]] = {}
    for topic in ("bpe", "sampling", "regress"):
        for path in (FIXTURES / topic).rglob("*.jsonl"):
            for line in path.read_bytes().splitlines()[1:]:
                case = NAMED.decode(line)
                found.setdefault(case.id.split("/")[1], set()).add(case.profile)
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


_CHANGED = """\
import json, sys
sys.path.insert(0, {root!r})
from tests.fakes.honest import make
{before}
answer = make()
for line in sys.stdin:
    message = json.loads(line)
    if message['cmd'] == 'bye':
        {bye}
    said = answer(message)
    if {ops} and 'ops' in said:
        said['ops'] = {{op: said['ops'][op] for op in {ops}}}
    for case, result in zip(message.get('cases', ()), said.get('results', ())):
{change}
    print(json.dumps(said), flush=True)
"""


def changed(
    folder: Path,
    change: str = "pass",
    *,
    ops: Sequence[str] = (),
    before: str = "",
    bye: str = "break",
) -> str:
    """Return the command of the honest program, with a change to each `result` of a `case`.

    `ops` are all that it declares, `before` is what it does at the start, and `bye` how it ends.
    """
    program = folder / "engine.py"
    root, lines = str(Path(__file__).parent.parent.parent), indent(dedent(change), " " * 8)
    parts = {"root": root, "ops": [*ops], "before": dedent(before), "bye": bye, "change": lines}
    program.write_text(_CHANGED.format(**parts))
    return f"{sys.executable} {program}"


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
