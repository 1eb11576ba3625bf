"""What campaigns found is part of the fixtures: promoted, filled, checked and listed."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click.testing
import msgspec
import pytest

from authoring import fixtures
from authoring.cases import examples
from authoring.cases.canaries import canaries
from authoring.cases.vocabularies import fixture_vocabularies, vocabulary_named
from authoring.kept_records import kept_records
from bpe_ref import Vocabulary, vocabulary_by_concatenation
from tests.small_fixtures import vouch
from tokenref.catalogue import Selection, open_catalogue
from tokenref.cli import main
from tokenref.engines.table import engine
from tokenref.errors import InputError
from tokenref.fuzzing.comparing import answered_anew
from tokenref.fuzzing.findings import Finding, written
from tokenref.fuzzing.plan import Question
from tokenref.fuzzing.promoting import Promoted, own_target, promoted, promoted_to_fixtures
from tokenref.known import read_known
from tokenref.operations import FLAGS
from tokenref.packaged import fixtures_folder
from tokenref.record import Case, RecordError, canonical_json, meaning_digest
from tokenref.record_files import dump_records, read_records
from tokenref.runner import run_engine
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile

WHY = "It was found by a campaign, and stays right from now on."
OWN = vocabulary_by_concatenation({b"q": 0, b"r": 1, b"qr": 2, b"rq": 3})
FILE = "regress/2026.jsonl"


def finding(subject: Subject, op: str, request: Mapping[str, Any], profile: str) -> Finding:
    case = answered_anew(Question(op, profile, subject, "", request), "it", slug="a", why=WHY)
    parts = {
        "index": 3,
        "status": "fail",
        "detail": "entry 0: expected 1, got 2",
        "got": {"ok": {}},
        "record": msgspec.to_builtins(case),
        "subject": written(subject, ""),
        "asked": {"op": op, "in": dict(request)},
    }
    return msgspec.convert({"kind": "finding", **parts}, Finding)


def encoding(text: str, vocabulary: Vocabulary = OWN) -> Finding:
    return finding(vocabulary, "encode", {"text": text}, "definition")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder as `fixtures` makes it of a few cases, which stay the only ones."""
    drafts = list(examples.drafts())[:3]
    names = {draft.vocabulary for draft in drafts}
    digests = {vocabulary_named(name).digest() for name in names}
    few = {name: named for name, named in fixture_vocabularies().items() if name in names}
    wrong = [case for case in canaries() if case.vocab in digests]
    assert wrong
    for name, value in (
        ("all_drafts", lambda: drafts),
        ("all_sampler_drafts", list),
        ("fixture_vocabularies", lambda: few),
        ("fixture_tokenizers", dict),
        ("canaries", lambda: wrong),
        ("sampler_canaries", list),
    ):
        monkeypatch.setattr(fixtures, name, value)
    made = tmp_path / "fixtures"
    fixtures.write_files(fixtures.make_files(None, made), made)
    return made


def written_down(result: Promoted) -> list[Case]:
    for path, content in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return result.cases


def promote(folder: Path, *found: Finding, **options: Any) -> list[Case]:
    return written_down(promoted_to_fixtures(found, WHY, folder, 2026, **options))


def edit_first(path: Path, change: Callable[[dict[str, Any]], object], *, honest: bool) -> None:
    """Change the first record of a file; its sum stays right if `honest`."""
    header, first, *rest = path.read_bytes().split(b"\n")
    record = json.loads(first)
    change(record)
    if honest:
        case = msgspec.convert(record, type(read_records(path)[0]))
        record["sum"] = meaning_digest(case)
    path.write_bytes(b"\n".join([header, canonical_json(record), *rest]))


# ---- promoting into fixtures


def test_what_promote_writes_is_what_fill_makes(folder: Path) -> None:
    promote(folder, encoding("qrq"), encoding("rqr"))
    (case,) = promote(folder, encoding("qq"), slug="twice", flags=["LeftmostTie", "Dyadic"])
    assert (case.id, case.flags) == ("bpe/encode/regress/twice", ["Dyadic", "LeftmostTie"])
    request = {"probs": {"f32": "3f0000003f000000"}, "params": {"k": 1}}
    promote(folder, finding(SAMPLERS, "top_k", request, "standard"))
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []
    assert fixtures.write_files(fixtures.make_files(None, folder), folder) == []


def test_promoted_records_are_selected_judged_and_counted_as_any_other(folder: Path) -> None:
    before = open_catalogue(folder)
    (case,) = promote(folder, encoding("rqr"), slug="leftmost")
    catalogue = open_catalogue(folder)
    assert len(catalogue.cases) == len(before.cases) + 1
    assert catalogue.manifest.cases == len(catalogue.cases)
    assert catalogue.select(Selection(ids=("*/regress/*",))) == [case]
    assert case in catalogue.select(Selection(ops=("encode",)))
    (entry,) = (each for each in catalogue.manifest.files if each.path == FILE)
    assert entry.cases == 1
    for name, failures in (("reference", 0), ("greedy", 1)):
        assert len(run_engine(engine(name), [case], catalogue).failures) == failures  # type: ignore[arg-type]  # they are there


def test_the_vocabulary_of_a_promoted_record_stands_beside_the_others(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    entry = open_catalogue(folder).entry(OWN.digest())
    assert entry.path == f"vocab/{entry.name}.json"
    assert entry.name == f"regress-{OWN.digest()[7:23]}"
    assert entry.licence == "MIT"


def test_what_the_fixtures_have_already_gets_no_second_file(folder: Path) -> None:
    readme = next(draft.vocabulary for draft in examples.drafts())
    before = {path.name for path in (folder / "vocab").iterdir()}
    promote(folder, encoding("ac", vocabulary_named(readme)))
    assert {path.name for path in (folder / "vocab").iterdir()} == before
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_a_shipped_vocabulary_that_this_folder_lacks_is_brought_along(folder: Path) -> None:
    promote(folder, encoding("aaa", vocabulary_named("one_letter")))
    assert open_catalogue(folder).entry(vocabulary_named("one_letter").digest()).path is not None
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_a_tokenizer_of_its_own_is_brought_along(folder: Path) -> None:
    source = fixtures_folder() / "tokenizer" / "unk.json"
    content = json.loads(source.read_bytes())
    content["model"]["unk_token"] = None
    file = TokenizerFile("mine", json.dumps(content).encode())
    request = {"text": "the", "add_special_tokens": False}
    promote(folder, finding(file, "tokenize", request, "hugging-face"))
    catalogue = open_catalogue(folder)
    assert isinstance(catalogue.subject(file.digest()), TokenizerFile)
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_vocabularies_are_listed_by_name_in_whatever_order_they_came(folder: Path) -> None:
    few = [vocabulary_by_concatenation({letter: 0}) for letter in (b"x", b"y", b"z")]
    for vocabulary in sorted(few, key=Vocabulary.digest, reverse=True):
        text = vocabulary.tokens[0].decode()
        promote(folder, encoding(text, vocabulary))
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_an_id_and_a_meaning_are_used_once_in_all_files(folder: Path) -> None:
    promote(folder, encoding("qrq"), slug="one")
    same = promoted_to_fixtures([encoding("qrq")], WHY, folder, 2026, slug="two")
    assert (same.cases, same.files, same.present) == ([], {}, ["bpe/encode/regress/one"])
    with pytest.raises(InputError, match="has another case with the id bpe/encode/regress/one"):
        promote(folder, encoding("qq"), slug="one")
    other = promoted_to_fixtures
    with pytest.raises(InputError, match="has another case with the id"):
        other([encoding("qq")], WHY, folder, 2027, slug="one")
    known = open_catalogue(folder).cases[0]
    again = finding(
        vocabulary_named(next(examples.drafts()).vocabulary),
        "encode",
        msgspec.to_builtins(known.input),
        "definition",
    )
    same = promoted_to_fixtures([again], WHY, folder, 2026)
    assert (same.cases, same.files, same.present) == ([], {}, [known.id])


def test_records_of_two_years_stand_in_two_files(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    written_down(promoted_to_fixtures([encoding("rqr")], WHY, folder, 2027))
    assert [path.name for path in sorted((folder / "regress").iterdir())] == [
        "2026.jsonl",
        "2027.jsonl",
    ]
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_promoting_into_fixtures_that_are_not_whole_is_refused(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    edit_first(folder / FILE, lambda record: record.update(why=WHY[::-1]), honest=False)
    with pytest.raises(RecordError, match="the sha256 must be"):
        promote(folder, encoding("rqr"))


def test_a_finding_of_a_file_of_ones_own_needs_no_fixtures(tmp_path: Path) -> None:
    cases = written_down(promoted([encoding("qrq")], WHY, own_target(tmp_path / "mine.jsonl")))
    assert read_records(tmp_path / "mine.jsonl", file=None) == cases
    assert [path.name for path in (tmp_path / "vocab").iterdir()] == [f"{OWN.digest()[7:23]}.json"]


# ---- filling


def test_a_kept_answer_that_is_not_the_references_is_named(folder: Path) -> None:
    promote(folder, encoding("qrq"), slug="leftmost")
    path = folder / FILE
    edit_first(path, lambda record: record.update(out={"ids": [0, 3]}), honest=True)
    found = fixtures.differences(fixtures.make_files(None, folder), folder)
    (sentence,) = (each for each in found if each.startswith(FILE))
    assert sentence.startswith(
        f"{FILE}: bpe/encode/regress/leftmost: the kept answer is not the reference's: "
        'kept {"ids":[0,3]}, right {"ids":[2,0],'
    )
    fixtures.write_files(fixtures.make_files(None, folder), folder)
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


def test_a_kept_verdict_is_not_that_of_the_campaigns_of_today(folder: Path) -> None:
    request = {"logits": {"bf16": "41d04228"}}
    promote(folder, finding(SAMPLERS, "logprobs", request, "standard"), slug="close")
    verdict = {"kind": "close", "ulp": 7}
    edit_first(folder / FILE, lambda record: record.update(verdict=verdict), honest=True)
    vouch(folder)
    fixtures.write_files(fixtures.make_files(None, folder), folder)
    assert msgspec.to_builtins(read_records(folder / FILE)[0].verdict) == verdict


def test_a_kept_refusal_that_is_an_answer_now_gets_it(folder: Path) -> None:
    promote(folder, encoding("qrq"), slug="leftmost")
    refused = {"out": None, "verdict": {"kind": "error", "codes": ["MISSING_BYTE"]}}
    edit_first(folder / FILE, lambda record: record.update(refused), honest=True)
    found = fixtures.differences(fixtures.make_files(None, folder), folder)
    assert any(
        'kept {"kind":"error","codes":["MISSING_BYTE"]}, right {"ids":[2,0],' in each
        for each in found
    )


def test_why_flags_and_place_of_a_kept_record_stay(folder: Path) -> None:
    promote(folder, encoding("qrq"), flags=["LeftmostTie"])
    edit_first(
        folder / FILE,
        lambda record: record.update(why="So it is, and so it shall be."),
        honest=False,
    )
    vouch(folder)
    before = (folder / FILE).read_bytes()
    fixtures.write_files(fixtures.make_files(None, folder), folder)
    assert (folder / FILE).read_bytes() == before


def test_a_record_about_nothing_that_is_there_is_named(folder: Path) -> None:
    promote(folder, encoding("qrq"), slug="lost")
    for path in (folder / "vocab").glob("regress-*"):
        path.unlink()
    with pytest.raises(RecordError, match=r"2026.jsonl: bpe/encode/regress/lost: what it is about"):
        fixtures.make_files(None, folder)


def test_a_vocabulary_that_no_kept_record_needs_any_more_is_removed(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    (folder / FILE).unlink()
    removed = fixtures.write_files(fixtures.make_files(None, folder), folder)
    assert FILE in removed
    assert not list((folder / "vocab").glob("regress-*"))
    assert fixtures.differences(fixtures.make_files(None, folder), folder) == []


@pytest.mark.parametrize(
    ("name", "header", "sentence"),
    [
        ("latest.jsonl", "regress/latest.jsonl", "must be named by a year"),
        ("2026.jsonl", "2026.jsonl", "the header must name the file"),
    ],
)
def test_a_regression_file_under_another_name_is_refused(
    folder: Path, name: str, header: str, sentence: str
) -> None:
    cases = promote(folder, encoding("qrq"))
    (folder / FILE).unlink()
    (folder / "regress" / name).write_bytes(dump_records(header, cases))
    with pytest.raises(RecordError, match=sentence):
        fixtures.make_files(None, folder)


def test_only_found_records_stand_in_a_regression_file(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    other = next(case for case in open_catalogue(folder).cases if "/regress/" not in case.id)
    (folder / FILE).write_bytes(dump_records(FILE, [other]))
    with pytest.raises(RecordError, match=r"does not belong in regress/2026\.jsonl"):
        kept_records(folder, {})


def test_an_id_of_a_regression_file_that_another_has_is_refused_by_fill(folder: Path) -> None:
    promote(folder, encoding("qrq"))
    cases = read_records(folder / FILE)
    (folder / "regress" / "2027.jsonl").write_bytes(dump_records("regress/2027.jsonl", cases))
    with pytest.raises(RecordError, match="is used by two record files"):
        fixtures.make_files(None, folder)


# ---- the command


def command(*arguments: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "give --out FILE, or --fixtures FOLDER and --year YEAR"),
        (("--out", "a", "--fixtures", "b", "--year", "2026"), "give --out FILE, or"),
        (("--fixtures", "b"), "give --out FILE, or"),
        (("--out", "a", "--year", "2026"), "give --out FILE, or"),
        (("--out", "a", "--flag", "Nothing"), "the glossary has no flag 'Nothing'"),
        (("--fixtures", "b", "--year", "26"), "26"),
    ],
)
def test_promote_says_what_it_needs(options: Sequence[str], sentence: str) -> None:
    result = command("promote", "nothing.jsonl", "--why", WHY, *options)
    assert result.exit_code == 2
    assert sentence in result.output


# ---- those that are kept


@pytest.fixture(scope="module")
def kept() -> list[Case]:
    return open_catalogue().select(Selection(ids=("*/regress/*",)))


def test_the_fixtures_keep_what_campaigns_found(kept: list[Case]) -> None:
    assert len(kept) >= 10
    assert all(case.flags != ["Random"] and set(case.flags) <= FLAGS.keys() for case in kept)


def test_each_kept_record_has_the_answer_of_the_reference(kept: list[Case]) -> None:
    catalogue = open_catalogue()
    run = run_engine(engine("reference"), kept, catalogue)  # type: ignore[arg-type]  # it is there
    assert run.is_valid
    assert run.count("pass") == len(kept)


def test_nearly_each_kept_record_is_a_known_difference_of_some_engine(kept: list[Case]) -> None:
    known = read_known()
    free = {case.id for case in kept if not any(e.covers(e.engine, case.id) for e in known)}
    assert free == {"bpe/offsets/regress/unknown-id"}  # it was our adapter's difference
