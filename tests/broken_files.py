"""Files with something wrong in them, made of good ones."""

import json
from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from bpe_ref.errors import VocabularyFileError

ODD_VALUES: Final[tuple[object, ...]] = (
    *(None, True, False, 0, -1, 1, 255, 256, 2**31, 2**32, 2**70, 1.5, 1e300),
    *("", "a", "é", "\u2581", " ", "0", "v99", "YQ==", "\ud800", "x" * 200, [], {}, [[]], ["a"]),
    *({"a": 1}, {"content": "a"}, {"rank": 0}),
)


def places(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to every part of a JSON value, no more than a few of a long list."""
    found = [way]
    if isinstance(value, dict):
        for key in [*list(value)[:12], *list(value)[-3:]]:
            found += places(value[key], (*way, key))
    elif isinstance(value, list):
        for at in {*range(min(len(value), 3)), *range(max(len(value) - 3, 0), len(value))}:
            found += places(value[at], (*way, at))
    return found


def _odd_values() -> st.SearchStrategy[Any]:
    """Draw an odd value, a new one each time, for what is put in may be changed later."""
    return st.sampled_from(ODD_VALUES).map(lambda value: json.loads(json.dumps(value)))


@st.composite
def broken_json(draw: st.DrawFn, value: Any) -> bytes:
    """Draw a JSON file in which one to three parts of a value are others, gone, or new."""
    changed = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(changed)[1:] or [("",)]))
        part = changed
        for step in way:
            part = part[step]
        if last not in part and not isinstance(part, list):
            continue
        match draw(st.sampled_from(["change", "change", "change", "remove", "add"])):
            case "change":
                part[last] = draw(_odd_values())
            case "remove":
                del part[last]
            case _ if isinstance(part, dict):
                part[draw(st.sampled_from(["x", "", "a", "content"]))] = draw(_odd_values())
            case _:
                part.append(draw(_odd_values()))
    return json.dumps(changed).encode()


@st.composite
def broken_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw content with some bytes changed, put in, taken out, or cut off."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(changed) - 1, 0)))
        match draw(st.sampled_from(["change", "cut", "insert", "remove"])):
            case "change" if changed:
                changed[at] = draw(st.integers(0, 255))
            case "cut":
                del changed[at:]
            case "insert":
                changed[at:at] = draw(st.binary(max_size=3) | st.sampled_from([b"\n", b" ", b"9"]))
            case _ if changed:
                del changed[at]
    return bytes(changed)


def is_read_or_refused(read: Callable[[], object], *names: str) -> None:
    """Check that reading gives a value, or an error of one line that names one of the files."""
    try:
        read()
    except VocabularyFileError as error:
        sentence = str(error)
        assert sentence.startswith(names), sentence
        assert "\n" not in sentence, sentence
        assert len(sentence) < 600, sentence
