"""Values of a JSON file that know their place in it, so that errors can say where.

A node is one value with the file's name and the way to it, as in
`x.json: pre_tokenizer.pretokenizers[1].behavior must be text, got 3`.
"""

import json
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.files import as_text, located
from bpe_ref.vocabulary.merges import ID_LIMIT

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_LONGEST_SHOWN: Final = 60
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Node:
    """A value, the file it is in, and where it is there.

    >>> Node({"a": [1]}, "x.json").field("a").elements()[0].text()
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.json: a[0] must be text, got 1
    """

    value: Any
    source: str
    place: str = ""

    def fail(self, requirement: str) -> NoReturn:
        """Raise the error that this value does not meet a requirement."""
        name = self.place or "the file"
        raise VocabularyFileError(f"{self.source}: {name} {requirement}, got {shown(self.value)}")

    def located(self) -> AbstractContextManager[None]:
        """Return what names the file and the place in an error that does not name them."""
        return located(f"{self.source}: {self.place}: ")

    def text(self) -> str:
        """Return the value, which must be text."""
        if not isinstance(self.value, str):
            self.fail("must be text")
        return self.value

    def flag(self) -> bool:
        """Return the value, which must be true or false."""
        if not isinstance(self.value, bool):
            self.fail("must be true or false")
        return self.value

    def whole(self, limit: int) -> int:
        """Return the value, which must be a whole number from 0 up to and without `limit`."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            self.fail(f"must be a whole number from 0 to {limit - 1}")
        return value

    def number(self) -> float:
        """Return the value, which must be a number."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self.fail("must be a number")
        try:
            return float(self.value)
        except OverflowError:
            self.fail("must be a number of ordinary size")

    def choice(self, choices: tuple[str, ...]) -> str:
        """Return the value, which must be one of some texts."""
        if not isinstance(self.value, str) or self.value not in choices:
            self.fail(f"must be one of {', '.join(choices)}")
        return self.value

    def elements(self) -> list["Node"]:
        """Return the elements of the value, which must be a list."""
        if not isinstance(self.value, list):
            self.fail("must be a list")
        return [
            Node(value, self.source, f"{self.place}[{number}]")
            for number, value in enumerate(self.value)
        ]

    def fields(self) -> dict[str, Any]:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            self.fail("must be an object")
        return self.value

    def entries(self) -> dict[str, "Node"]:
        """Return the entries of the value, which must be an object."""
        return {key: self.field(key) for key in self.fields()}

    def entries_by_id(self) -> dict[int, "Node"]:
        """Return the entries of the value, an object whose keys are token ids in digits."""
        found: dict[int, Node] = {}
        for digits, entry in self.entries().items():
            short = len(digits) <= len(str(ID_LIMIT))
            if not (short and digits.isascii() and digits.isdigit() and int(digits) < ID_LIMIT):
                entry.fail(f"must be under an id from 0 to {ID_LIMIT - 1}")
            found[int(digits)] = entry
        return found

    def field(self, key: str) -> "Node":
        """Return an entry of the value, which must be an object that has it."""
        fields = self.fields()
        if key not in fields:
            self.fail(f"must have the key {key!r}")
        if not self.place:
            return Node(fields[key], self.source, key)
        step = f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{shown(key)}]"
        return Node(fields[key], self.source, self.place + step)

    def only(self, required: set[str], optional: set[str]) -> None:
        """Check that the value is an object with all required keys, and no other but optional."""
        keys = self.fields().keys()
        for key in sorted(keys - required - optional):
            known = ", ".join(sorted(required | optional)) or "none"
            Node(key, self.source, self.place).fail(f"must have no keys but {known}")
        for key in sorted(required - keys):
            self.fail(f"must have the key {key!r}")


def parse_json(data: bytes | Node, source: str) -> Node:
    r"""Return the value of a JSON file, which may be parsed already. Raises `VocabularyFileError`.

    As in RFC 8259, text is UTF-8 without surrogates, numbers are finite; and no key comes twice.

    >>> parse_json(b'{"a": NaN}', "x.json")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.json: not JSON that can be used: NaN is no number
    """
    if isinstance(data, Node):
        return data
    text = as_text(data, source)
    try:
        value = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
        )
        if _SURROGATE.search(data):
            _check_text(value)
    except RecursionError:
        raise VocabularyFileError(f"{source}: the JSON is nested too deeply") from None
    except ValueError as error:
        reason = "a number is too long" if "int_max_str_digits" in str(error) else error
        raise VocabularyFileError(f"{source}: not JSON that can be used: {reason}") from None
    return Node(value, source)


def shown(value: object) -> str:
    """Return a value for an error, in one short line.

    >>> shown({"a": 1}), shown([]), shown(None), shown("a" * 100)
    ('an object', 'a list', 'null', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        value = value[: _LONGEST_SHOWN + 1]  # its repr need not be long either
    elif isinstance(value, int) and value.bit_length() > _LONGEST_SHOWN * 4:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's keys and values; raise `ValueError` for a key that comes twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {shown(key)} comes twice in one object")
            seen.add(key)
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _check_text(value: object) -> None:
    """Raise `ValueError` for text with a surrogate, which is no text."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if not part.isascii() and any("\ud800" <= letter <= "\udfff" for letter in part):
                raise ValueError(f"{shown(part)} holds half of a surrogate pair")
        elif isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            waiting += part
