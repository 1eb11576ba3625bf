"""The JSON schemas of records and of messages, made from their types."""

from inspect import cleandoc
from typing import Any, Final, get_args

import msgspec

from tokenref.protocol.messages import (
    HelloAnswer,
    LoadAnswer,
    LoadRequest,
    Request,
    Result,
    RunAnswer,
)
from tokenref.record import ANY_CASE
from tokenref.record_files import Header

_SHARED: Final = ("flags", "id", "profile", "sum", "verdict", "why")
"""The parts of a record that have the same type for every operation."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of a line: any of the messages.

    >>> sorted(schema())
    ['$defs', '$schema', 'anyOf']
    """
    kinds = [*get_args(Request), HelloAnswer, LoadAnswer, RunAnswer]
    references, definitions = msgspec.json.schema_components(kinds)
    for kind in (LoadRequest, LoadAnswer, Result, RunAnswer):  # which the types do not express
        definitions[kind.__name__]["oneOf"] = [{"required": [name]} for name in kind.one_of]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(references),
        "$defs": definitions,
    }


def schemas() -> dict[str, Any]:
    """Return the JSON schema of each kind of line, by file name."""
    return {
        "case.v1.json": _shared(_unindented(msgspec.json.schema(ANY_CASE))),
        "header.v1.json": _unindented(msgspec.json.schema(Header)),
        "protocol.v1.json": _unindented(schema()),
    }


def _shared(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of records with one definition of the parts that all operations share."""
    definitions = schema["$defs"]
    for each in [*definitions.values()]:
        properties = each.get("properties", {})
        for name in _SHARED if "verdict" in properties else ():
            definitions[name.title()] = properties[name]
            properties[name] = {"$ref": f"#/$defs/{name.title()}"}
    return schema


def _unindented(schema: Any) -> Any:
    r"""Return a schema with descriptions as Python 3.13 keeps docstrings; older ones indent them.

    Titles, which repeat the names of definitions, are left out.

    >>> _unindented({"title": "A", "description": "One.\n\n    Two."})
    {'description': 'One.\n\nTwo.'}
    """
    if isinstance(schema, list):
        return [_unindented(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: cleandoc(part) if key == "description" and isinstance(part, str) else _unindented(part)
        for key, part in schema.items()
        if key != "title" or not isinstance(part, str)
    }
