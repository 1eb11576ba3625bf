"""The messages: what the page shows is right, and the schema says the same as the types."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from authoring.schemas import schema
from tokenref.protocol.messages import (
    EXAMPLES,
    HelloAnswer,
    LoadAnswer,
    ProtocolError,
    Request,
    RunAnswer,
    WholeRunError,
    read_hello,
    read_load,
    read_run,
    shown,
)

PAGE = Path(__file__).parent.parent / "docs" / "protocol.md"
SHOWN = [
    json.loads(block)
    for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
]
KINDS = (Request, HelloAnswer, LoadAnswer, RunAnswer)
WRONG: list[Any] = [
    {},
    {"cmd": "hello"},
    {"cmd": "hello", "proto": 2},
    {"cmd": "stop"},
    {"cmd": "load", "id": "l1", "path": "x"},
    {"cmd": "run", "id": "b1", "op": "encode", "profile": "definition", "cases": [{"k": "1"}]},
    {"proto": 1, "impl": {"name": "x"}, "ops": {}},
    {"proto": 1, "impl": {"name": "x", "version": "1"}, "ops": {"encode": {"profiles": []}}},
    {"proto": 1, "impl": {"name": "x", "version": "1"}, "ops": {}, "limits": {"batch": 0}},
    {"id": 1, "ok": {}},
    {"id": "l1"},
    {"id": "l1", "ok": {}, "skip": {"reason": "x"}},
    {"id": "l1", "skip": {}},
    {"id": "b1", "results": [], "ok": {}},
    {"id": "b1", "results": [{"k": "1"}]},
    {"id": "b1", "results": [{"k": "1", "ok": []}]},
    {"id": "b1", "results": [{"k": "1", "ok": {}, "crash": {"msg": "x"}}]},
    {"id": "b1", "results": [{"k": "1", "err": {"msg": "x"}}]},
    {"id": "b1", "results": [{"k": "1", "ok": {}, "ms": 3}]},
]


def meets(value: object, rule: dict[str, Any], root: dict[str, Any]) -> bool:  # noqa: PLR0911 - one rule after the other
    """Tell whether a value meets a JSON schema, of as much as these schemas use."""
    if "$ref" in rule:
        return meets(value, root["$defs"][rule["$ref"].rpartition("/")[2]], root)
    if "anyOf" in rule:
        return any(meets(value, each, root) for each in rule["anyOf"])
    if "oneOf" in rule and sum(meets(value, each, root) for each in rule["oneOf"]) != 1:
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    kinds = {"object": dict, "array": list, "string": str, "integer": int}
    if "type" in rule and type(value) is not kinds[rule["type"]]:
        return False
    if isinstance(value, dict):
        properties = rule.get("properties", {})
        other = rule.get("additionalProperties", True)
        return all(name in value for name in rule.get("required", ())) and all(
            meets(part, properties[name], root)
            if name in properties
            else (other is True or (other is not False and meets(part, other, root)))
            for name, part in value.items()
        )
    if isinstance(value, list):
        return len(value) >= rule.get("minItems", 0) and all(
            meets(part, rule.get("items", {}), root) for part in value
        )
    if isinstance(value, str):
        return rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", 10**9) and bool(
            re.search(rule.get("pattern", ""), value)
        )
    return not isinstance(value, int) or value >= rule.get("minimum", 0)


def is_message(value: object) -> bool:
    for kind in KINDS:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            continue
        return True
    return False


def test_the_page_shows_every_message_and_each_is_right() -> None:
    assert {message.get("cmd") for message in SHOWN} == {None, "hello", "load", "run", "bye"}
    for message in (*SHOWN, *map(json.loads, EXAMPLES.values())):
        assert is_message(message), message
        assert meets(message, schema(), schema()), message


@pytest.mark.parametrize("message", WRONG, ids=json.dumps)
def test_types_and_schema_refuse_the_same(message: object) -> None:
    assert not is_message(message)
    assert not meets(message, schema(), schema())


def test_the_questions_of_the_page_are_answered_by_their_keys() -> None:
    requests = {message["id"]: message for message in SHOWN if message.get("cmd") == "run"}
    for message in SHOWN:
        if "results" in message:
            request = requests[message["id"]]
            keys = {case["k"]: number for number, case in enumerate(request["cases"])}
            line = json.dumps(message).encode()
            assert len(read_run(line, message["id"], request["op"], keys)) == len(keys)


def test_a_mistake_is_said_with_line_place_and_example() -> None:
    line = b'{"id":"b1","results":[{"k":"0","okay":{}}]}'
    with pytest.raises(ProtocolError) as caught:
        read_run(line, "b1", "count", {"0": 0})
    assert (caught.value.place, caught.value.line) == ("$.results[0]", line)
    assert caught.value.example == EXAMPLES["run"]
    assert str(caught.value) == (
        "Object contains unknown field `okay`, at $.results[0]; it wrote "
        f"{line.decode()}; expected {EXAMPLES['run']}"
    )


def test_what_is_shown_of_a_line_is_short_and_prints() -> None:
    assert shown("\x1b[31m\u2028é".encode()) == "\\x1b[31m\\u2028é"
    assert len(shown(b"a" * 10**6)) < 300
    assert len(shown(b"\x00" * 10**6)) < 1000


@pytest.mark.parametrize("read", [read_hello, lambda line: read_load(line, "l1")])
@pytest.mark.parametrize(
    "line", [b"", b"null", b"[]", b"1", b'"x"', b"{}", b"\xff\xfe", b"[" * 10**5]
)
def test_what_is_no_answer_is_refused_in_a_sentence(
    read: Callable[[bytes], object], line: bytes
) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(line)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_of_any_size_are_read_as_they_are() -> None:
    line = b'{"id":"b1","results":[{"k":"0","ok":{"count":123456789012345678901234567890}}]}'
    (answer,) = read_run(line, "b1", "count", {"0": 0})
    assert answer.out == {"count": 123456789012345678901234567890}  # type: ignore[union-attr]


def test_a_crash_of_a_run_is_one_of_its_question_only_if_there_is_one() -> None:
    line = b'{"id":"b1","crash":{"msg":"out of memory"}}'
    (answer,) = read_run(line, "b1", "count", {"0": 0})
    assert answer.message == "out of memory"  # type: ignore[union-attr]
    with pytest.raises(WholeRunError, match="out of memory"):
        read_run(line, "b1", "count", {"0": 0, "1": 1})
