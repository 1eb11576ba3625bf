"""Fixtures that were altered, whoever did it and however, are refused in a sentence."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.small_fixtures import small_fixtures, vouch
from tokenref import catalogue, packaged
from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.cli import main
from tokenref.errors import InputError
from tokenref.packaged import fixtures_folder
from tokenref.record import RecordError, canonical_json
from tokenref.record_files import parse_manifest, read_file

RECORDS: Final = "bpe/count/texts.jsonl"
KINDS: Final = (
    *(RECORDS, "canary.jsonl", "vocab/tiny.json", "tokenizer/added_always.json"),
    *("glossary.json", "schema/header.v1.json"),
)
Record = dict[str, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_fixtures(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def spoiled(whole: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may spoil."""
    return Path(shutil.copytree(whole, tmp_path / "fixtures"))


def checked(folder: Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["check", "reference", "--fixtures", str(folder)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def load_all(catalogue: Catalogue) -> None:
    for entry in catalogue.manifest.subjects:
        catalogue.subject(entry.digest)


def test_what_these_tests_spoil_is_whole(whole: Path) -> None:
    load_all(open_catalogue(whole))
    assert checked(whole)[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_one_altered_byte_in_any_kind_of_file_makes_the_run_invalid(
    kind: str, spoiled: Path
) -> None:
    data = bytearray((spoiled / kind).read_bytes())
    data[len(data) // 2] ^= 1
    (spoiled / kind).write_bytes(data)
    code, said = checked(spoiled)
    assert code == 3
    assert said.startswith(f"tokenref: {spoiled / kind}: the sha256 must be ")
    assert said.count("\n") == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.data())
def test_no_altered_byte_of_any_file_is_overlooked(whole: Path, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([entry.path for entry in parse_manifest(whole).files]))
    path = whole / kind
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    changed = data.draw(
        st.one_of(
            st.integers(1, 255).map(
                lambda other: content[:at] + bytes([content[at] ^ other]) + content[at + 1 :]
            ),
            st.just(content[:at]),
            st.just(content[:at] + content[at + 1 :]),
            st.binary(min_size=1, max_size=3).map(lambda new: content[:at] + new + content[at:]),
        )
    )
    path.write_bytes(changed)
    try:
        with pytest.raises(RecordError, match=kind):
            open_catalogue(whole)
    finally:
        path.write_bytes(content)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), other=st.integers(1, 255))
@example(place=0.0, other=1)
def test_an_altered_manifest_is_refused_or_says_the_same_of_all_that_is_judged(
    whole: Path, place: float, other: int
) -> None:
    """Of what has no digest only names remain: licences, flags that nothing has."""
    path = whole / "MANIFEST.json"
    content = path.read_bytes()
    at = int(place * len(content))
    before = open_catalogue(whole)
    path.write_bytes(content[:at] + bytes([content[at] ^ other]) + content[at + 1 :])
    try:
        catalogue = open_catalogue(whole)
        load_all(catalogue)
    except RecordError as error:
        assert str(whole) in str(error) or "the manifest" in str(error) or "flag" in str(error)  # noqa: PT017 - either is right
    else:
        assert catalogue.cases == before.cases
        assert [e.digest for e in catalogue.manifest.subjects] == [
            e.digest for e in before.manifest.subjects
        ] or all(  # a digest that no case uses, or the digest's own file is refused when it is used
            case.vocab in {e.digest for e in catalogue.manifest.subjects}
            for case in catalogue.cases
        )
    finally:
        path.write_bytes(content)


def edited(edit: Callable[[Record], object], *, honest: bool = True) -> Callable[[bytes], bytes]:
    """Return what changes a record; if honest is true its sum is made right."""

    def change(line: bytes) -> bytes:
        record = json.loads(line)
        edit(record)
        if honest:
            meaning = {k: record[k] for k in ("op", "profile", "vocab", "in", "out", "verdict")}
            record["sum"] = f"sha256:{sha256(canonical_json(meaning)).hexdigest()}"
        return canonical_json(record)

    return change


def put(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        assert old in line
        return line.replace(old, new, 1)

    return change


def of_out(new: bytes) -> Callable[[bytes], bytes]:
    """Return what puts some JSON in the place of the count that is the answer."""

    def change(line: bytes) -> bytes:
        start = line.index(b'"out":{"count":') + len(b'"out":{"count":')
        return line[:start] + new + line[line.index(b"}", start) :]

    return change


def huge_recipe(record: Record) -> None:
    record["in"] = {"recipe": {"before": "", "unit": "61", "times": 10**12, "after": ""}}


SPOILED: Final[dict[str, tuple[Callable[[bytes], bytes], str]]] = {
    "a key that nobody knows": (edited(lambda r: r.update(surprise=1)), "unknown field"),
    "a key that nobody knows, deeper": (edited(lambda r: r["in"].update(x=1)), "unknown field"),
    "no answer": (edited(lambda r: r.update(out=None)), "must have either an answer"),
    "the question taken out": (put(b'"in":', b'"inn":'), "`inn`|`in`"),
    "another's sum": (
        edited(lambda r: r.update(sum="sha256:" + "0" * 64), honest=False),
        "the sum",
    ),
    "another answer": (edited(lambda r: r["out"].update(count=77), honest=False), "the sum"),
    "the id of another operation": (
        edited(lambda r: r.update(id="bpe/encode/texts/a")),
        "does not belong in",
    ),
    "the id of another file": (
        edited(lambda r: r.update(id="bpe/count/others/a")),
        "does not belong in",
    ),
    "an id with a way out": (
        edited(lambda r: r.update(id="bpe/count/../../etc")),
        "does not belong in",
    ),
    "an operation that nobody knows": (edited(lambda r: r.update(op="guess")), "guess"),
    "an operation that is no text": (edited(lambda r: r.update(op=1)), "op"),
    "a verdict that nobody knows": (edited(lambda r: r.update(verdict={"kind": "so-so"})), "so-so"),
    "a verdict of samplers": (edited(lambda r: r.update(verdict={"kind": "survey"})), "survey"),
    "a vocabulary that nobody knows": (
        edited(lambda r: r.update(vocab="sha256:" + "0" * 64)),
        "has no vocabulary",
    ),
    "a flag that nobody knows": (edited(lambda r: r.update(flags=["Nonsense"])), "no flag"),
    "a reason that is none": (edited(lambda r: r.update(why="because")), r"\$\.why"),
    "a text without an end": (edited(huge_recipe), "a recipe must produce at most"),
    "a float": (of_out(b"1.0"), "not a record|canonical"),
    "a float that is no whole number": (of_out(b"1.5"), "not a record"),
    "NaN": (of_out(b"NaN"), "not a record"),
    "Infinity": (of_out(b"-Infinity"), "not a record"),
    "an exponent": (of_out(b"1e400"), "not a record"),
    "a number of 5,000 digits": (of_out(b"9" * 5000), "."),
    "a negative number": (of_out(b"-1"), "not a record"),
    "nesting without an end": (of_out(b"[" * 100_000), "nested too deeply|not a record"),
    "half a surrogate": (put(b'"why":"', b'"why":"\\ud800'), "not a record|canonical"),
    "half a surrogate in UTF-8": (put(b'"why":"', b'"why":"\xed\xa0\x80'), "not a record"),
    "a NUL": (put(b'"why":"', b'"why":"\0'), "not a record"),
    "a byte that is no UTF-8": (put(b'"why":"', b'"why":"\xff'), "not a record"),
    "a space": (put(b'"op":', b'"op": '), "canonical"),
    "a key twice": (put(b'"op":', b'"op":"count","op":'), "canonical"),
    "a carriage return": (lambda line: line + b"\r", "canonical|not a record"),
    "two records in a line": (lambda line: line + line, "not a record"),
    "nothing": (lambda _: b"", "not a record"),
    "a list": (lambda line: b"[" + line + b"]", "not a record"),
    "null": (lambda _: b"null", "not a record"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_record_that_is_none_is_refused_even_if_the_manifest_vouches_for_it(
    name: str, spoiled: Path
) -> None:
    change, sentence = SPOILED[name]
    path = spoiled / RECORDS
    lines = path.read_bytes().split(b"\n")
    lines[3] = change(lines[3])
    path.write_bytes(b"\n".join(lines))
    vouch(spoiled)
    code, said = checked(spoiled)
    assert code == 3, said
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert len(said) < 3000
    if name not in {"a vocabulary that nobody knows", "a flag that nobody knows"}:
        assert f"{path}, line 4: " in said
    with pytest.raises(RecordError, match=sentence):
        open_catalogue(spoiled)


def test_a_nul_in_a_reason_is_a_character_like_others_and_never_printed_as_it_is(
    spoiled: Path,
) -> None:
    path = spoiled / RECORDS
    lines = path.read_bytes().split(b"\n")
    lines[3] = put(b'"why":"', b'"why":"\\u0000\\u001b[31m')(lines[3])
    path.write_bytes(b"\n".join(lines))
    vouch(spoiled)
    (case,) = (case for case in open_catalogue(spoiled).cases if "\0" in case.why)
    result = CliRunner().invoke(main, ["check", "greedy", "--fixtures", str(spoiled)])
    shown = CliRunner().invoke(main, ["show", case.id])
    assert not {"\0", "\x1b"} & {*result.output, *shown.output}


def test_an_id_that_comes_twice_is_refused_in_one_file_and_in_two(spoiled: Path) -> None:
    path = spoiled / RECORDS
    header, first, second, *rest = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([header, first, first, *rest]))
    vouch(spoiled)
    code, said = checked(spoiled)
    assert code == 3
    assert "line 3: the id " in said
    assert "is already used in line 2" in said
    assert second


WHOLE_FILES: Final[dict[str, bytes]] = {
    "empty": b"",
    "a line feed": b"\n",
    "UTF-16": '{"kind":"header"}\n'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"kind":"header"}\n',
    "NULs": bytes(1000),
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0",
    "open brackets": b"[" * 200_000 + b"\n",
    "a number of 100,000 digits": b"9" * 100_000 + b"\n",
    "null": b"null\n",
}


@pytest.mark.parametrize("kind", [RECORDS, "canary.jsonl", "vocab/tiny.json", "MANIFEST.json"])
@pytest.mark.parametrize("name", WHOLE_FILES)
def test_a_file_of_another_kind_is_refused(kind: str, name: str, spoiled: Path) -> None:
    (spoiled / kind).write_bytes(WHOLE_FILES[name])
    if kind != "MANIFEST.json":
        vouch(spoiled)
    code, said = checked(spoiled)
    assert code == 3, said
    assert "Traceback" not in said
    assert said.strip().count("\n") == 0
    assert kind in said or "the vocabulary tiny" in said
    assert len(said) < 3000


@pytest.mark.parametrize("kind", [RECORDS, "vocab/tiny.json", "MANIFEST.json"])
@pytest.mark.parametrize("what", ["a folder", "a loop of links", "nothing", "nobody's to read"])
def test_what_cannot_be_read_is_named(kind: str, what: str, spoiled: Path) -> None:
    path = spoiled / kind
    if what == "nobody's to read":
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
    else:
        path.unlink()
    if what == "a folder":
        path.mkdir()
    elif what == "a loop of links":
        path.symlink_to(path)
    code, said = checked(spoiled)
    assert code == (2 if kind == "MANIFEST.json" else 3)
    assert said.startswith(f"tokenref: {path} cannot be read: ")
    assert said.count("\n") == 1


FUTURE: Final[dict[str, tuple[Callable[[Record], object], str]]] = {
    "another format": (lambda m: m.update(format=2), "format"),
    "a format that is text": (lambda m: m.update(format="1"), "format"),
    "another key": (lambda m: m.update(signed="by somebody"), "unknown field `signed`"),
    "another key of a file": (lambda m: m["files"][0].update(stat=1), "unknown field `stat`"),
    "a key less": (lambda m: m.pop("retired"), "retired"),
    "a way out": (lambda m: m["vocabularies"][0].update(path="../x"), "must be inside the folder"),
    "a path from the root": (
        lambda m: m["vocabularies"][0].update(path="/etc/passwd"),
        "must be inside the folder",
    ),
    "a path with a NUL": (
        lambda m: m["vocabularies"][0].update(path="a\0b"),
        "must be inside the folder",
    ),
}


@pytest.mark.parametrize("name", FUTURE)
def test_a_manifest_of_the_future_is_refused(name: str, spoiled: Path) -> None:
    edit, sentence = FUTURE[name]
    vouch(spoiled, edit)
    code, said = checked(spoiled)
    assert code == 3
    assert sentence in said
    assert said.startswith(f"tokenref: {spoiled / 'MANIFEST.json'}: ")
    assert said.count("\n") == 1


def test_filling_removes_nothing_outside_the_folder(spoiled: Path, tmp_path: Path) -> None:
    from authoring.fixtures import write_files

    mine = tmp_path / "mine.txt"
    mine.write_bytes(b"mine")
    made = {
        path.relative_to(spoiled).as_posix(): path.read_bytes()
        for path in spoiled.rglob("*")
        if path.is_file()
    }
    manifest = json.loads((spoiled / "MANIFEST.json").read_bytes())
    for path in ("../mine.txt", str(mine)):
        manifest["files"].append({"path": path, "sha256": "", "bytes": 4, "cases": None})
    (spoiled / "MANIFEST.json").write_text(json.dumps(manifest), encoding="ascii")
    assert write_files(made, spoiled) == ["MANIFEST.json"]
    assert mine.read_bytes() == b"mine"


@pytest.mark.parametrize("kept", [0, 100, -1])
def test_a_truncated_archive_in_an_installed_package_is_refused_with_2(
    kept: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "fixtures"), "zip", whole))
    archive.write_bytes(archive.read_bytes()[:kept])
    monkeypatch.setattr(packaged, "__file__", str(tmp_path / "packaged.py"))
    for module in (catalogue, packaged):
        monkeypatch.setattr(module, "fixtures_folder", fixtures_folder.__wrapped__)
    said = f"tokenref: {archive} is damaged or incomplete: install tokenref again\n"
    for command in (["check", "reference"], ["--version"]):
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, result.output) == (2, said)


def test_an_altered_file_in_the_archive_is_refused_with_its_name(
    whole: Path, tmp_path: Path
) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "fixtures"), "zip", whole))
    with zipfile.ZipFile(archive) as opened:
        start = opened.getinfo(RECORDS).header_offset + 30 + len(RECORDS)
    data = bytearray(archive.read_bytes())
    data[start : start + 20] = bytes(20)
    archive.write_bytes(data)
    path = zipfile.Path(archive) / RECORDS
    with pytest.raises(InputError, match=f"{RECORDS} is damaged: install tokenref again"):
        read_file(path)
