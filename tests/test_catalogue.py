"""Fixtures that are not whole prove nothing, so opening them fails."""

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.small_fixtures import checkout_fixtures
from tests.test_cases import PAGES, sections
from tokenref.catalogue import LARGE, Selection, open_catalogue
from tokenref.errors import InputError, InvalidRunError
from tokenref.goldens import OPTIONAL, golden, right_answer
from tokenref.operations import ABOUT
from tokenref.pages import page_text, section
from tokenref.record import SAMPLER_OPS, RecordError, op_of
from tokenref.record_files import MANIFEST, read_manifest
from tokenref.rules import NAMED, choices_of
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Seeds, Stat, Survey

RELEASED = Path(__file__).parent / "data" / "released_records.bin"
"""For every record of 0.1.0, the first 8 bytes of the sha256 of its id, sum and spec, sorted.

A record that is missing here has another meaning. The changelog must name it, and say why.
"""


def test_no_released_record_has_another_id_sum_or_spec() -> None:
    catalogue = open_catalogue()
    lines = (f"{case.id} {case.sum} {case.spec}\n" for case in catalogue.cases)
    canaries = (f"{case.id} {case.sum} {case.spec}\n" for case in catalogue.canaries)
    today = {sha256(line.encode()).digest()[:8] for line in (*lines, *canaries)}
    packed = RELEASED.read_bytes()
    released = {packed[start : start + 8] for start in range(0, len(packed), 8)}
    assert len(released) == 9885
    assert released <= today, f"{len(released - today)} released records have changed"


def test_every_record_cites_a_page_or_a_section_of_the_book() -> None:
    catalogue = open_catalogue()
    cited = {case.spec for case in (*catalogue.cases, *catalogue.canaries)}
    assert sorted(cited - sections() - {f"docs/{page.name}" for page in PAGES}) == []


def test_every_page_that_the_command_names_can_be_shown() -> None:
    named = {about.lesson for about in ABOUT.values()}
    named |= {case.spec for case in open_catalogue().cases}
    for address in sorted(named):
        assert page_text(address).strip(), address
    for address, why in (
        ("docs/bpe", "no page"),
        ("../README.md", "no page"),
        ("docs/bpe.md#x", "no s"),
    ):
        with pytest.raises(InputError, match=why):
            page_text(address)


def test_a_section_ends_at_the_next_heading_of_its_level() -> None:
    code = "```sh\n# no heading\n```"
    page = f'# A\n<a id="b"></a>\n\n## B c!\n\n{code}\n### D\n<a id="e"></a>\ntext\n# F\n'
    long = f"## B c!\n\n{code}\n### D\ntext"
    assert section(page, "b") == section(page, "b-c") == long
    assert [section(page, each) for each in ("d", "e", "f", "g")] == [
        "### D\ntext",
        "text",
        "# F",
        "",
    ]


def test_no_record_of_an_engine_or_without_an_answer_is_optional() -> None:
    for case in open_catalogue().cases:
        rule = choices_of(op_of(case), case.profile)
        is_rule = op_of(case) in SAMPLER_OPS and op_of(case) not in NAMED and rule is not None
        if OPTIONAL in case.flags:
            assert case.profile == "tiktoken" or is_rule or op_of(case) == "batch", case.id
            assert not isinstance(case.verdict, Seeds | Stat | Survey), case.id
        else:
            assert case.profile != "tiktoken", case.id


@pytest.mark.parametrize(
    ("p", "optional"),
    [("3f400000", True), ("3f000000", True), ("3f19999a", True), ("3f800000", False)],
)
def test_a_record_is_optional_if_another_choice_changes_its_answer(p: str, optional: bool) -> None:
    request = {"probs": {"f32": "3f0000003e8000003e800000"}, "params": {"p": {"f32": p}}}
    right = right_answer("top_p", "standard", SAMPLERS, "", request)
    case = golden(
        "top_p",
        SAMPLERS,
        request,
        right,
        id="sampling/top_p/t/s",
        profile="standard",
        spec="docs/sampling.md",
        why="A record for this test.",
        flags=[],
    )
    assert case.flags == [OPTIONAL] * optional


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """Return a copy of the fixtures that a test may spoil."""
    folder = tmp_path / "fixtures"
    shutil.copytree(checkout_fixtures(), folder)
    return folder


def edit_manifest(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest, and make every sha256 in it right again."""
    content = json.loads((folder / MANIFEST).read_bytes())
    edit(content)
    for entry in content["files"]:
        path = folder / entry["path"]
        if path.is_file():
            entry["sha256"] = sha256(path.read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(content), encoding="ascii")


def entry_of(content: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in content["files"] if e["path"] == path)
    return found


def test_the_fixtures_of_the_package_are_whole() -> None:
    catalogue = open_catalogue()
    assert len(catalogue.cases) == catalogue.manifest.cases
    assert catalogue.canaries
    shipped = [entry for entry in catalogue.manifest.vocabularies if entry.path]
    for entry in shipped:
        assert not isinstance(catalogue.subject(entry.digest), str)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda content: content.update(cases=1), "the manifest announces 1 cases"),
        (
            lambda content: entry_of(content, "bpe/encode/examples.jsonl").update(cases=3),
            "the manifest announces 3 cases, but the file has",
        ),
        (
            lambda content: content["files"].remove(entry_of(content, "canary.jsonl")),
            "there are no canaries",
        ),
        (lambda content: content["vocabularies"].clear(), "the manifest has no vocabulary"),
        (lambda content: content["flags"].clear(), "the glossary has no flag"),
        (lambda content: content.update(surprise=1), "unknown field `surprise`"),
        (
            lambda content: entry_of(content, "bpe/encode/examples.jsonl").update(path="../x"),
            "must be inside the folder",
        ),
    ],
)
def test_a_manifest_that_disagrees_with_the_files_is_refused(
    fixtures: Path, edit: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    edit_manifest(fixtures, edit)
    with pytest.raises(RecordError, match=sentence):
        open_catalogue(fixtures)


def test_a_file_under_another_name_is_refused(fixtures: Path) -> None:
    (fixtures / "bpe/encode/examples.jsonl").rename(fixtures / "bpe/encode/other.jsonl")
    edit_manifest(
        fixtures,
        lambda content: entry_of(content, "bpe/encode/examples.jsonl").update(
            path="bpe/encode/other.jsonl"
        ),
    )
    with pytest.raises(RecordError, match=r"must name the file 'bpe/encode/other\.jsonl'"):
        open_catalogue(fixtures)


def test_an_id_in_two_files_is_refused(fixtures: Path) -> None:
    path = fixtures / "canary.jsonl"
    canary = path.read_bytes().splitlines(keepends=True)
    twice = fixtures / "canary_two.jsonl"
    header = canary[0].replace(b"canary.jsonl", b"canary_two.jsonl")
    twice.write_bytes(header + b"".join(canary[1:]))

    def edit(content: dict[str, Any]) -> None:
        entry = dict(entry_of(content, "canary.jsonl"), path="canary_two.jsonl")
        content["files"].append(entry)

    edit_manifest(fixtures, edit)
    with pytest.raises(RecordError, match=r"the id 'canary/\S+' is used by two record files"):
        open_catalogue(fixtures)


def test_a_shipped_vocabulary_that_cannot_be_read_is_no_excuse(fixtures: Path) -> None:
    catalogue = open_catalogue(fixtures)
    entry = next(entry for entry in catalogue.manifest.vocabularies if entry.name == "readme")
    (fixtures / "vocab/readme.json").write_bytes(b"{}")
    with pytest.raises(RecordError, match="the vocabulary readme: "):
        catalogue.subject(entry.digest)


def test_a_vocabulary_file_with_another_meaning_is_said_to_be_another(fixtures: Path) -> None:
    catalogue = open_catalogue(fixtures)
    entry = next(entry for entry in catalogue.manifest.vocabularies if entry.name == "readme")
    shutil.copy(fixtures / "vocab/doubles.json", fixtures / "vocab/readme.json")
    assert "does not have the digest" in str(catalogue.subject(entry.digest))


def test_an_empty_selection_is_an_error_that_names_the_options() -> None:
    catalogue = open_catalogue()
    with pytest.raises(InvalidRunError, match=r"--op decode --vocabulary nobody; unknown vo"):
        catalogue.select(Selection(ops=("decode",), vocabularies=("nobody",)))


def test_records_with_a_flag_can_be_left_out() -> None:
    catalogue = open_catalogue()
    kept = catalogue.select(Selection(without_flags=(OPTIONAL,)))
    dropped = catalogue.select(Selection(flags=(OPTIONAL,)))
    assert len(kept) + len(dropped) == len(catalogue.select(Selection()))
    assert not any(OPTIONAL in case.flags for case in kept)
    with pytest.raises(InvalidRunError, match="unknown flag 'Optimal'; did you mean Optional"):
        catalogue.select(Selection(without_flags=("Optimal",)))


def test_large_records_are_selected_on_demand_by_flag_or_by_name() -> None:
    catalogue = open_catalogue()
    large = {case.id for case in catalogue.cases if LARGE in case.flags}
    assert large
    assert not large & {case.id for case in catalogue.select(Selection())}
    assert not large & {case.id for case in catalogue.select(Selection(ops=("softmax",)))}
    for all_of_them in (Selection(large=True), Selection(flags=(LARGE,))):
        assert large <= {case.id for case in catalogue.select(all_of_them)}
    one = min(large)
    assert [case.id for case in catalogue.select(Selection(ids=(one,)))] == [one]
    assert Selection(ops=("top_k",), large=True).options() == "--op top_k --large"


def test_questions_with_more_rows_in_one_call_are_left_out() -> None:
    """Those are batches, and draws of many rows at once; several rows to accept drafts are one."""
    catalogue = open_catalogue()
    everything = catalogue.select(Selection(large=True))
    few = catalogue.select(Selection(large=True, rows_at_most=8))
    kept = {case.id for case in few}
    left_out = {op_of(case) for case in everything if case.id not in kept}
    assert left_out == {"batch", "stat_batch"}
    assert "sampling/batch/long/greedy-apart" in kept  # eight
    assert "sampling/batch/rules/standard-top_k-9-rows" not in kept
    one = catalogue.select(Selection(large=True, rows_at_most=1))
    assert all(len(case.input.rows) == 1 for case in one if op_of(case) == "batch")
    assert {op_of(case) for case in everything} - {op_of(case) for case in one} == {
        "stat_batch",
        "seeds",
    }
    assert not Selection(rows_at_most=8).is_everything
    assert Selection(rows_at_most=8).options() == "--rows-at-most 8"
    assert Selection(ids=("", "bpe/*")).options() == "--id '' --id 'bpe/*'"


def test_each_part_of_a_selection_narrows_it() -> None:
    catalogue = open_catalogue()
    everything = catalogue.select(Selection())
    ops = catalogue.select(Selection(ops=("count",)))
    both = catalogue.select(Selection(ops=("count",), vocabularies=("tiny",)))
    small = [case for case in catalogue.cases if LARGE not in case.flags]
    assert len(everything) == len(small) > len(ops) > len(both) > 0
    flag = both[0].flags[0]
    assert all(flag in case.flags for case in catalogue.select(Selection(flags=(flag,))))


def test_reading_the_manifest_reads_every_file(fixtures: Path) -> None:
    (fixtures / "glossary.json").write_bytes(b"{}")
    with pytest.raises(RecordError, match=r"glossary\.json: the sha256 must be"):
        read_manifest(fixtures)
