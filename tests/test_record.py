"""A record file that is not exactly what the format says is refused, with the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.schemas import schemas
from tokenref.answers import request_text
from tokenref.errors import InputError
from tokenref.questions.text import (
    CountOutput,
    DecodeInput,
    DecodeOutput,
    IdsOutput,
    PiecesOutput,
    Recipe,
    SpecialInput,
    Stages,
    TextInput,
)
from tokenref.record import (
    Case,
    RecordError,
    canonical_case,
    canonical_json,
    make_case,
    meaning_digest,
    op_of,
)
from tokenref.record_files import dump_records, parse_records, read_records
from tokenref.verdicts import Exact, MustRefuse

VOCAB = "sha256:" + "ab" * 32
WHY = "This case stands in a test of the format."


def case_of(op: str, slug: str = "one", **parts: Any) -> Case:
    common: dict[str, Any] = {
        "id": f"bpe/{op}/{slug}",
        "profile": "definition",
        "vocab": VOCAB,
        "why": WHY,
        "flags": [],
        "spec": "docs/bpe.md#definition",
        "verdict": Exact(),
    }
    return make_case(op, **{**common, **parts})


EVERY_OP = [
    case_of("pieces", input=TextInput(text="a b"), out=PiecesOutput(pieces=["61", "2062"])),
    case_of(
        "encode",
        input=TextInput(octets="ff61"),
        out=IdsOutput(ids=[255, 97], stages=Stages(pieces=["ff61"], merges=[[]])),
    ),
    case_of(
        "encode",
        "two",
        input=TextInput(recipe=Recipe(unit="61", times=9, before="", after="")),
        out=IdsOutput(runs=[(97, 9)]),
    ),
    case_of("count", input=TextInput(text="é\U0001f600"), out=CountOutput(count=6)),
    case_of("decode", input=DecodeInput(ids=[97]), out=DecodeOutput(octets="61")),
    case_of(
        "decode",
        "two",
        input=DecodeInput(ids=[-1], errors="strict"),
        verdict=MustRefuse(codes=["UNKNOWN_ID"]),
    ),
    case_of(
        "special",
        input=SpecialInput(text="<x>", allowed="all", disallowed=[]),
        out=IdsOutput(ids=[300]),
    ),
]


def test_what_is_written_is_read_back_the_same() -> None:
    assert parse_records(dump_records("x.jsonl", EVERY_OP), "x.jsonl") == EVERY_OP


def test_lines_are_ascii_with_sorted_keys_and_no_floats() -> None:
    for line in dump_records("x.jsonl", EVERY_OP).splitlines():
        assert line.isascii()
        content = json.loads(line, parse_float=lambda number: pytest.fail(f"a float: {number}"))
        assert canonical_json(content) == line
        assert list(content) == sorted(content)


@given(st.sampled_from(EVERY_OP), st.text())
def test_a_line_is_the_canonical_json_of_its_case(case: Case, why: str) -> None:
    case = msgspec.structs.replace(case, why=why)
    assert canonical_case(case) == canonical_json(msgspec.to_builtins(case))


def test_the_sum_changes_with_the_meaning_and_not_with_the_reason() -> None:
    one = case_of("count", input=TextInput(text="a"), out=CountOutput(count=1))
    reworded = case_of(
        "count",
        input=TextInput(text="a"),
        out=CountOutput(count=1),
        why=WHY + " In other words.",
        flags=["Ties"],
        spec="docs/bpe.md#counting",
    )
    assert one.sum == reworded.sum == meaning_digest(one)
    others: list[dict[str, Any]] = [
        {"out": CountOutput(count=2)},
        {"input": TextInput(text="b")},
        {"vocab": "sha256:" + "cd" * 32},
        {"profile": "tiktoken"},
    ]
    same: dict[str, Any] = {"input": TextInput(text="a"), "out": CountOutput(count=1)}
    sums = {case_of("count", **{**same, **other}).sum for other in others}
    assert len(sums | {one.sum}) == len(others) + 1


def edited(edit: Callable[[dict[str, Any]], None]) -> bytes:
    """Return a file of one case, with an edit made to that case's line."""
    header, line = dump_records("x.jsonl", [EVERY_OP[0]]).splitlines()
    content = json.loads(line)
    edit(content)
    return header + b"\n" + canonical_json(content) + b"\n"


def set_key(*path: str, to: object) -> Callable[[dict[str, Any]], None]:
    def edit(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = to

    return edit


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (set_key("surprise", to=1), "unknown field `surprise`"),
        (set_key("in", "surprise", to=1), "unknown field `surprise`"),
        (set_key("in", "bytes", to="61"), "exactly one of `text`, `bytes` and `recipe`"),
        (set_key("in", to={}), "exactly one of `text`, `bytes` and `recipe`"),
        (set_key("op", to="embed"), "Invalid value 'embed'"),
        (set_key("why", to="short"), "length >= 20"),
        (set_key("id", to="Not A Slug"), "matching regex"),
        (set_key("vocab", to="sha256:12"), "matching regex"),
        (set_key("out", "pieces", to=["XY"]), "matching regex"),
        (set_key("out", "pieces", to=[1.5]), "Expected `str`"),
        (set_key("verdict", "kind", to="maybe"), "Invalid value 'maybe'"),
        (set_key("sum", to="sha256:" + "00" * 32), "does not match its content"),
        (set_key("in", "text", to="other"), "does not match its content"),
    ],
)
def test_a_wrong_record_is_refused_with_its_line(
    edit: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    with pytest.raises(RecordError) as caught:
        parse_records(edited(edit), "x.jsonl")
    assert str(caught.value).startswith("x.jsonl, line 2: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["out", "why", "flags", "profile", "spec", "sum", "verdict", "in"])
def test_a_record_that_lacks_a_key_is_refused(key: str) -> None:
    with pytest.raises(RecordError, match=rf"^x.jsonl, line 2: .*{key}"):
        parse_records(edited(lambda content: content.pop(key)), "x.jsonl")


def test_a_key_that_comes_twice_is_refused() -> None:
    header, line = dump_records("x.jsonl", [EVERY_OP[0]]).splitlines()
    twice = line.replace(b'"why":', b'"why":"This is said twice, in other words.","why":')
    with pytest.raises(RecordError, match="canonical form"):
        parse_records(header + b"\n" + twice + b"\n", "x.jsonl")


def test_a_record_belongs_to_its_operation_and_to_its_file() -> None:
    data = dump_records("bpe/pieces.jsonl", [EVERY_OP[0]])
    assert parse_records(data, "x", file="bpe/pieces.jsonl") == [EVERY_OP[0]]
    with pytest.raises(RecordError, match=r"the header must name the file 'bpe/other.jsonl'"):
        parse_records(data, "x", file="bpe/other.jsonl")
    other = dump_records("bpe/other.jsonl", [EVERY_OP[0]])
    with pytest.raises(RecordError, match=r"does not belong in bpe/other\.jsonl"):
        parse_records(other, "x", file="bpe/other.jsonl")
    stranger = make_case("count", **_parts(EVERY_OP[3]) | {"id": "bpe/encode/stranger"})
    with pytest.raises(RecordError, match="must name the operation count"):
        parse_records(dump_records("x.jsonl", [stranger]), "x.jsonl")


def _parts(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in case.__struct_fields__ if name != "sum"}


def test_a_record_that_is_nested_too_deeply_is_refused() -> None:
    header, _ = dump_records("x.jsonl", [EVERY_OP[0]]).splitlines()
    with pytest.raises(RecordError, match=r"^x.jsonl, line 2: not a record"):
        parse_records(header + b"\n" + b'{"in":' * 100_000 + b"1\n", "x.jsonl")


def test_an_id_that_comes_twice_is_refused_with_both_lines() -> None:
    data = dump_records("x.jsonl", [EVERY_OP[0], EVERY_OP[1], EVERY_OP[0]])
    with pytest.raises(
        RecordError, match=r"^x.jsonl, line 4: the id 'bpe/pieces/one' is already used in line 2$"
    ):
        parse_records(data, "x.jsonl")


def test_a_file_of_ones_own_may_be_what_git_makes_of_two_branches(tmp_path: Path) -> None:
    one, other, both = EVERY_OP[:2], [EVERY_OP[0], *EVERY_OP[2:4]], tmp_path / "x.jsonl"
    both.write_bytes(dump_records("x.jsonl", one) + dump_records("x.jsonl", other))
    assert read_records(both) == EVERY_OP[:4]
    with pytest.raises(RecordError, match=r"announces 2 cases, but the file has 6$"):
        parse_records(both.read_bytes(), "x.jsonl")
    changed = EVERY_OP[0].why.encode()
    both.write_bytes(
        dump_records("x.jsonl", one)
        + canonical_case(EVERY_OP[0]).replace(changed, b"!" * 20)
        + b"\n"
    )
    with pytest.raises(
        RecordError, match=r"line 4: the id 'bpe/pieces/one' is already used in line 2"
    ):
        read_records(both)
    whole = dump_records("x.jsonl", one)
    both.write_bytes(whole[: whole.index(b"\n", whole.index(b"\n") + 1) + 1])
    with pytest.raises(RecordError, match=r"announces 2 cases, but the file has 1$"):
        read_records(both)


def test_a_file_that_is_cut_off_is_refused_wherever_the_cut_is() -> None:
    data = dump_records("x.jsonl", EVERY_OP)
    with pytest.raises(RecordError, match=r"^x\.jsonl: the file is empty$"):
        parse_records(b"", "x.jsonl")
    for cut in range(1, len(data)):
        with pytest.raises(RecordError, match=r"^x\.jsonl, line \d+: "):
            parse_records(data[:cut], "x.jsonl")


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (b'{"cases":2,"file":"x","format":1,"kind":"header"}', "announces 2 cases, but the file"),
        (b'{"cases":0,"file":"x","format":1,"kind":"header"}', ">= 1"),
        (b'{"cases":1,"file":"x","format":2,"kind":"header"}', "Invalid enum value 2"),
        (b'{"cases":1,"file":"x","format":1}', "missing required field `kind`"),
        (b'{"cases":1,"file":"x","format":1,"kind":"header","x":1}', "unknown field `x`"),
        (b"not json", "malformed"),
        (b"\xff\xfe", "not a record"),
        (b"", "not a record"),
    ],
)
def test_a_wrong_header_is_refused(header: bytes, sentence: str) -> None:
    _, line = dump_records("x.jsonl", [EVERY_OP[0]]).splitlines()
    with pytest.raises(RecordError) as caught:
        parse_records(header + b"\n" + line + b"\n", "x.jsonl")
    assert str(caught.value).startswith("x.jsonl, line 1: ")
    assert sentence in str(caught.value)


def test_a_record_has_an_answer_or_a_reason_to_refuse_and_not_both() -> None:
    neither = case_of("count", input=TextInput(text="a"))
    both = case_of(
        "count",
        input=TextInput(text="a"),
        out=CountOutput(count=1),
        verdict=MustRefuse(codes=["MISSING_BYTE"]),
    )
    for case in (neither, both):
        with pytest.raises(RecordError, match="either an answer or an error code"):
            parse_records(dump_records("x.jsonl", [case]), "x.jsonl")


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read: "):
        read_records(tmp_path / name)


def test_the_schemas_know_every_operation() -> None:
    schema = json.dumps(schemas()["case.v1.json"])
    assert all(f'"{op_of(case)}"' in schema for case in EVERY_OP)


def test_a_recipe_is_before_then_units_then_after() -> None:
    recipe = Recipe(unit="6162", times=2, before="2d", after="21")
    for asked, content in (
        (TextInput(recipe=recipe), b"-abab!"),
        (TextInput(text="é"), "é"),
        (TextInput(octets="ff"), b"\xff"),
    ):
        assert request_text(msgspec.to_builtins(asked)) == content
