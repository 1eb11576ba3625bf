"""A golden record: one question to a tokenizer, the answer, and why it is asked.

The normative description for consumers is `fixtures/README.md`; this module is
the same thing in types. A record file is JSON lines: a header line, then one
self-contained case per line, in ASCII with sorted keys and no floats, so that
a difference between two files is a difference between cases.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

FORMAT: Final = 1

Hex: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]
"""Bytes, as lower-case hexadecimal digits."""

Digest: TypeAlias = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Slug: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9_]+(/[a-z0-9_.-]+)+$")]
Id: TypeAlias = Annotated[int, Meta(ge=0)]
Why: TypeAlias = Annotated[str, Meta(min_length=20)]

ErrorCode: TypeAlias = Literal["MISSING_BYTE", "UNKNOWN_ID", "INVALID_UTF8", "DISALLOWED_SPECIAL"]
"""Why an input is refused: a byte without a token, an id without one, bytes that are not
UTF-8, special text that is not allowed."""


class RecordError(Exception):
    """A record file that cannot be used; the sentence names file and line."""


class _Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all the types below have in common."""


class Exact(_Strict, frozen=True, kw_only=True, tag_field="kind", tag="exact"):
    """The answer must be this one."""


class MustRefuse(_Strict, frozen=True, kw_only=True, tag_field="kind", tag="error"):
    """The input must be refused, for one of these reasons. Messages are not compared."""

    codes: Annotated[list[ErrorCode], Meta(min_length=1)]


class Recipe(_Strict, frozen=True, kw_only=True):
    """A long text: `before`, then `times` times `unit`, then `after`."""

    unit: Hex
    times: Annotated[int, Meta(ge=1)]
    before: Hex
    after: Hex

    def expand(self) -> bytes:
        """Return the text.

        >>> Recipe(unit="61", times=3, before="", after="62").expand()
        b'aaab'
        """
        unit, before, after = map(bytes.fromhex, (self.unit, self.before, self.after))
        return before + unit * self.times + after


class TextInput(_Strict, frozen=True, kw_only=True):
    """A text: as Unicode, as bytes that need not be UTF-8, or as a recipe. Exactly one."""

    text: str | UnsetType = UNSET
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    recipe: Recipe | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        if [self.text, self.octets, self.recipe].count(UNSET) != 2:  # noqa: PLR2004 - of three
            raise ValueError("must have exactly one of `text`, `bytes` and `recipe`")

    def content(self) -> bytes | str:
        """Return the text, or its bytes where it is given so."""
        if self.text is not UNSET:
            return self.text
        if self.octets is not UNSET:
            return bytes.fromhex(self.octets)
        if self.recipe is not UNSET:
            return self.recipe.expand()
        raise AssertionError("checked on construction")


class DecodeInput(_Strict, frozen=True, kw_only=True):
    """Token ids, and what to do about bytes that are not UTF-8 if text is wanted."""

    ids: list[int]
    errors: Literal["strict", "replace"] | UnsetType = UNSET


class SpecialInput(_Strict, frozen=True, kw_only=True):
    """A text, and which special tokens in it are allowed and which are an error."""

    text: str
    allowed: Literal["all"] | list[str]
    disallowed: Literal["all"] | list[str]


class Stages(_Strict, frozen=True, kw_only=True):
    """What happens on the way: the pieces, and the merges of each piece.

    A merge is the number of the left token of the pair, counted in the piece
    as it is then, and the id of the result.
    """

    pieces: list[Hex] | UnsetType = UNSET
    merges: list[list[tuple[int, Id]]] | UnsetType = UNSET


class PiecesOutput(_Strict, frozen=True, kw_only=True):
    """The pieces, in order."""

    pieces: list[Hex]


class IdsOutput(_Strict, frozen=True, kw_only=True):
    """The tokens: one by one, or of a recipe as runs of (id, how often in a row)."""

    ids: list[Id] | UnsetType = UNSET
    runs: list[tuple[Id, int]] | UnsetType = UNSET
    stages: Stages | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of the two forms."""
        if (self.ids is UNSET) == (self.runs is UNSET):
            raise ValueError("must have exactly one of `ids` and `runs`")


class DecodeOutput(_Strict, frozen=True, kw_only=True):
    """The bytes, or the text if `errors` was given."""

    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    text: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of the two forms."""
        if (self.octets is UNSET) == (self.text is UNSET):
            raise ValueError("must have exactly one of `bytes` and `text`")


class CountOutput(_Strict, frozen=True, kw_only=True):
    """The number of tokens."""

    count: Annotated[int, Meta(ge=0)]


class _Case(_Strict, frozen=True, kw_only=True, tag_field="op"):
    """What every case has, whatever it asks."""

    id: Slug
    """Permanent, never used again for anything else."""

    profile: Literal["definition", "tiktoken"]
    """Whose rules the answer follows where the definition leaves something open."""

    vocab: Digest
    """The vocabulary, by its meaning."""

    why: Why
    """The reason why this case exists."""

    flags: list[str]
    """Kinds of bug that it hunts, from the glossary."""

    spec: str
    """Where the rule is written down."""

    verdict: Exact | MustRefuse
    sum: Digest
    """Digest of op, profile, vocab, in, out and verdict: changes if the meaning does."""


class PiecesCase(_Case, frozen=True, kw_only=True, tag="pieces"):
    """Asks for the pieces of a text."""

    input: TextInput = msgspec.field(name="in")
    out: PiecesOutput | None


class EncodeCase(_Case, frozen=True, kw_only=True, tag="encode"):
    """Asks for the tokens of a text in which nothing is special."""

    input: TextInput = msgspec.field(name="in")
    out: IdsOutput | None


class CountCase(_Case, frozen=True, kw_only=True, tag="count"):
    """Asks for the number of tokens of a text in which nothing is special."""

    input: TextInput = msgspec.field(name="in")
    out: CountOutput | None


class DecodeCase(_Case, frozen=True, kw_only=True, tag="decode"):
    """Asks what tokens decode to."""

    input: DecodeInput = msgspec.field(name="in")
    out: DecodeOutput | None


class SpecialCase(_Case, frozen=True, kw_only=True, tag="special"):
    """Asks for the tokens of a text that may hold special ones."""

    input: SpecialInput = msgspec.field(name="in")
    out: IdsOutput | None


Case: TypeAlias = PiecesCase | EncodeCase | CountCase | DecodeCase | SpecialCase
CASE_OF_OP: Final = {
    "pieces": PiecesCase,
    "encode": EncodeCase,
    "count": CountCase,
    "decode": DecodeCase,
    "special": SpecialCase,
}
OPS: Final = tuple(CASE_OF_OP)


class Header(_Strict, frozen=True, kw_only=True):
    """The first line of a record file."""

    kind: Literal["header"]
    format: Literal[1]
    file: str
    cases: Annotated[int, Meta(ge=1)]


def op_of(case: Case) -> str:
    """Return the name of the operation that a case asks for.

    >>> op_of(make_case("count", id="bpe/count/a", profile="definition", vocab="sha256:" + "0" * 64,
    ...     why="An example for the documentation.", flags=[], spec="definition",
    ...     verdict=Exact(), input=TextInput(text="a"), out=CountOutput(count=1)))
    'count'
    """
    return str(type(case).__struct_config__.tag)


def make_case(op: str, **parts: Any) -> Case:  # noqa: ANN401 - the types are the structs'
    """Return a case with its `sum` filled in; the other parts are given by name."""
    case_type = CASE_OF_OP[op]
    blank = case_type(sum="sha256:" + "0" * 64, **{"out": None, **parts})
    case: Case = msgspec.structs.replace(blank, sum=meaning_digest(blank))
    return case


def meaning_digest(case: Case) -> str:
    """Return the digest that belongs into `sum`."""
    content = msgspec.to_builtins(case)
    meaning = {key: content[key] for key in ("op", "profile", "vocab", "in", "out", "verdict")}
    return f"sha256:{sha256(canonical_json(meaning)).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """Return the one JSON text for a value: ASCII, keys sorted, no spaces.

    >>> canonical_json({"b": [1], "a": True})
    b'{"a":true,"b":[1]}'
    """
    return json.dumps(
        value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


def dump_records(file: str, cases: Sequence[Case]) -> bytes:
    """Return the content of a record file, header first."""
    header = {"cases": len(cases), "file": file, "format": FORMAT, "kind": "header"}
    lines = [header, *(msgspec.to_builtins(case) for case in cases)]
    return b"".join(canonical_json(line) + b"\n" for line in lines)


_HEADER: Final = msgspec.json.Decoder(Header)
_CASE: Final = msgspec.json.Decoder(Case)


def parse_records(data: bytes, source: str, *, file: str | None = None) -> list[Case]:
    """Return the cases of a record file; `source` names it in errors.

    `file` is what the header must call the file, if that is known. Raises
    `RecordError` for a file that is cut off, a line that is not a record, an
    unknown field, an id that comes twice, a wrong count, or a `sum` that does
    not belong to its record.

    >>> parse_records(b'{"kind":"header"}', "cases.jsonl")
    Traceback (most recent call last):
    tokenref.record.RecordError: cases.jsonl, line 1: the file is cut off, ...
    """
    if not data.endswith(b"\n"):
        last = data.count(b"\n") + 1
        raise RecordError(f"{source}, line {last}: the file is cut off, its last line has no end")
    lines = data.split(b"\n")[:-1]
    header = _decode(_HEADER, lines[0], f"{source}, line 1")
    if len(lines) - 1 != header.cases:
        raise RecordError(
            f"{source}, line 1: the header promises {header.cases} cases, "
            f"but the file holds {len(lines) - 1}"
        )
    if file is not None and header.file != file:
        raise RecordError(
            f"{source}, line 1: the header must name the file {file!r}, got {header.file!r}"
        )
    first_line: dict[str, int] = {}
    cases: list[Case] = []
    for number, line in enumerate(lines[1:], start=2):
        place = f"{source}, line {number}"
        case: Case = _decode(_CASE, line, place)
        if case.id in first_line:
            raise RecordError(
                f"{place}: id {case.id!r} is used already, by line {first_line[case.id]}"
            )
        _check_case(case, line, place, file)
        first_line[case.id] = number
        cases.append(case)
    return cases


def _check_case(case: Case, line: bytes, place: str, file: str | None) -> None:
    """Raise `RecordError` unless the parts of a record fit together, and its file."""
    topic = case.id.rpartition("/")[0]
    if file is not None and not file.startswith("canary") and f"{topic}.jsonl" != file:
        raise RecordError(f"{place}: the id {case.id!r} does not belong into {file}")
    if f"/{op_of(case)}/" not in case.id:
        raise RecordError(f"{place}: the id {case.id!r} must name the operation {op_of(case)}")
    if canonical_json(msgspec.to_builtins(case)) != line:
        raise RecordError(f"{place}: the record must be in the one canonical form, sorted keys")
    if case.sum != meaning_digest(case):
        raise RecordError(f"{place}: the sum of {case.id!r} does not belong to its content")
    if (case.out is None) != isinstance(case.verdict, MustRefuse):
        raise RecordError(
            f"{place}: {case.id!r} must have an answer or a reason to refuse, and not both"
        )


def read_records(path: Path, *, file: str | None = None) -> list[Case]:
    """Return the cases of a record file. Raises `RecordError`, also where it cannot be read."""
    return parse_records(read_file(path), str(path), file=file)


def read_file(path: Path) -> bytes:
    """Return what a file holds. Raises `RecordError` where it cannot be read.

    >>> read_file(Path("no/such.jsonl"))
    Traceback (most recent call last):
    tokenref.record.RecordError: no/such.jsonl: cannot be read: No such file or directory
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None


def _decode(decoder: Any, line: bytes, place: str) -> Any:  # noqa: ANN401 - as the decoder has it
    """Decode one line; what is wrong with it is said with its place."""
    try:
        return decoder.decode(line)
    except RecursionError:
        raise RecordError(f"{place}: not a record: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{place}: not a record: {error}") from None


def schemas() -> dict[str, Any]:
    """Return the JSON schema of each kind of line, by file name."""
    return {
        "case.v1.json": _unindented(msgspec.json.schema(Case)),
        "header.v1.json": _unindented(msgspec.json.schema(Header)),
    }


def _unindented(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    r"""Return a schema with descriptions as Python 3.13 keeps docstrings; older ones indent them.

    >>> _unindented({"description": "One.\n\n    Two."})
    {'description': 'One.\n\nTwo.'}
    """
    if isinstance(schema, list):
        return [_unindented(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: cleandoc(part) if key == "description" and isinstance(part, str) else _unindented(part)
        for key, part in schema.items()
    }
