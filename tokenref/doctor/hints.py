"""What an author probably did wrong, judging from the line that the program wrote.

`tokenref.protocol.reading` says what is wrong with a line. This module knows the common mistakes
behind it and what to do about each.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from tokenref.protocol.reading import CODES
from tokenref.record import OPS

_NO_JSON: Final = object()

_HEX: Final = re.compile("(0x)?[0-9A-Fa-f]{2,}")


def hint(line: bytes, cmd: str) -> str:
    r"""Return advice about a wrong answer to a message, or an empty string.

    >>> hint(b"loading model...", "hello")
    'standard output is for answers only: print other messages to standard error'
    >>> hint(b"{'proto': 1}", "hello")
    'this is how Python prints a dict: use json.dumps'
    >>> hint(b'{"id":"b1","results":{"0":{"ok":{}}}}', "run")
    'results must be a list, and each result must have its key as "k"'
    """
    text = line.decode("utf-8", "replace").strip("\r\n ")
    if "\ufffd" in text and not _is_utf8(line):
        return "write UTF-8, or ASCII with escapes such as \\u00e9"
    value = _parsed(text)
    if value is _NO_JSON:
        return _about_text(text)
    if not isinstance(value, dict):
        return "an answer must be one JSON object, in braces"
    if "cmd" in value:
        return "this is the message itself: answer it, do not echo it"
    if cmd == "hello":
        return _about_hello(value)
    if cmd == "run":
        return _about_run(value)
    return ""


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def hint_on_answer(out: Any) -> str:
    """Return advice about the content of an answer that has the wrong form.

    >>> hint_on_answer({"probs": {"f32": [0.5, 0.25]}})
    'floats are given as bits, never in decimal: {"f32":"3f000000"} is [0.5]'
    >>> hint_on_answer({"bytes": "FF"})
    'hexadecimal digits must be lower case without a prefix: ff'
    """
    if isinstance(out, list):
        return 'the value of ok must be an object such as {"ids":[...]}, not a list'
    for name in ("ids", "keep", "token", "count", "tokens"):
        given = _leaves(out.get(name)) if isinstance(out, dict) else []
        if any(isinstance(value, str) for value in given):
            return f'{name} must be numbers: 300, not "300"'
        if any(isinstance(value, float) for value in given):
            return f"{name} must be integers: 300, not 300.0"
    if any(isinstance(value, float) for value in _leaves(out)):
        return 'floats are given as bits, never in decimal: {"f32":"3f000000"} is [0.5]'
    for value in _leaves(out):
        if isinstance(value, str) and _HEX.fullmatch(value):
            clean = value.removeprefix("0x").lower()
            if clean != value:
                return f"hexadecimal digits must be lower case without a prefix: {clean:.40}"
    return ""


def in_plain_words(reason: str, place: str) -> str:
    """Return what is wrong with a line, and where, as one sentence.

    >>> in_plain_words("Expected `str`, got `int`", "$.results[0].k")
    'results[0].k must be a string, got an integer'
    >>> in_plain_words("Object missing required field `ops`", "")
    'the answer has no "ops", which is required'
    >>> in_plain_words("the id must be 'b1', got 'b2'", "$.id")
    "the id must be 'b1', got 'b2' (at id)"
    """
    where = place.removeprefix("$").removeprefix(".")
    subject = where or "the answer"
    found = re.fullmatch(r"Expected `(\w+)`, got `(\w+)`", reason)
    if found and all(kind in _KINDS for kind in found.groups()):
        return f"{subject} must be {_KINDS[found[1]]}, got {_KINDS[found[2]]}"
    if found := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return f'{subject} has no "{found[1]}", which is required'
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", reason):
        return f'{subject} has the unknown field "{found[1]}"'
    plain = reason.replace("it is not JSON: JSON is malformed: ", "the line is not valid JSON: ")
    return f"{plain} (at {where})" if where else plain


_KINDS: Final[Mapping[str, str]] = {
    "str": "a string",
    "int": "an integer",
    "float": "a number with a point",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "a list",
}


def near(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a mistyped name, or an empty string.

    >>> near("defintion", ["definition", "tiktoken"])
    '; did you mean "definition"?'
    """
    found = get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    found = found or get_close_matches(name, known, n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _NO_JSON


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _about_text(text: str) -> str:
    if not text:
        return "an empty line is not an answer: write exactly one line for each message"
    if text.startswith("\ufeff"):
        return "the line starts with a byte order mark: write UTF-8 without it"
    if re.search(r"\b(NaN|-?Infinity)\b", text) and text.startswith("{"):
        return 'JSON has no NaN and no Infinity: floats are given as bits, {"f32":"7fc00000"}'
    if re.match(r"\{\s*'", text):
        return "this is how Python prints a dict: use json.dumps"
    if text.startswith("{") and text.count("{") > text.count("}"):
        return "an answer must be one line: write the JSON without line breaks"
    if text.startswith("{") and re.search(r"\}\s*\{", text):
        return "this is more than one answer: end each with a line feed"
    if not text.startswith("{"):
        return "standard output is for answers only: print other messages to standard error"
    return ""


def _about_hello(value: Mapping[str, Any]) -> str:
    ops = value.get("ops")
    if isinstance(ops, list):
        return 'ops must be an object: "ops":{"encode":{"profiles":["definition"]}}'
    if not isinstance(ops, dict):
        return ""
    for op, ability in ops.items():
        if op not in OPS:
            return f'unknown operation "{op:.40}"' + near(op, OPS)
        if isinstance(ability, list):
            return (
                f'each operation must have an object: "{op}":{{"profiles":{json.dumps(ability)}}}'
            )
        profiles = ability.get("profiles") if isinstance(ability, dict) else None
        if isinstance(profiles, str):
            return f'profiles must be a list: "profiles":["{profiles:.40}"]'
    if isinstance(value.get("impl"), str):
        return '"impl" must be an object: {"name":"my-engine","version":"1.0"}'
    return ""


def _about_run(value: Mapping[str, Any]) -> str:
    results = value.get("results")
    if isinstance(results, dict):
        return 'results must be a list, and each result must have its key as "k"'
    if not isinstance(results, list):
        return ""
    for result in results:
        if not isinstance(result, dict):
            return (
                'a result must be an object with the key "k" of its question: {"k":"0","ok":{...}}'
            )
        said = _about_result(result)
        if said:
            return said
    return ""


def _about_result(result: Mapping[str, Any]) -> str:
    if "k" not in result:
        return 'each result needs the key "k" of its question: their order does not matter'
    if not isinstance(result["k"], str):
        return "keys are strings, whatever they look like: return them unchanged"
    if "ok" in result and not isinstance(result["ok"], dict):
        return hint_on_answer(result["ok"]) or 'the value of ok must be an object: {"ids":[...]}'
    given = [name for name in ("ok", "err", "skip", "crash") if name in result]
    if len(given) != 1:
        return "each result must have exactly one of ok, err, skip and crash" + (
            ": omit the others, do not set them to null" if given else ""
        )
    refusal = result.get("err")
    if isinstance(refusal, str):
        return f'err must be an object: {{"code":{json.dumps(refusal)[:60]},"msg":"..."}}'
    return ""


def hint_on_code(code: str) -> str:
    """Return advice about an unknown error code.

    >>> hint_on_code("missing_byte")
    'the codes are listed in fixtures/README.md; did you mean "MISSING_BYTE"?'
    """
    return "the codes are listed in fixtures/README.md" + near(code.upper(), CODES)


def _leaves(value: Any) -> Sequence[Any]:
    """Return the scalars in a value, in order."""
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in _leaves(entry)]
    if isinstance(value, list):
        return [leaf for entry in value for leaf in _leaves(entry)]
    return [value]
