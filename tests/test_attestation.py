"""The pages about real engines say what the engines say, and nothing is written while one fails."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from authoring.__main__ import main
from authoring.attestation import engines
from authoring.attestation.engines import AttestationError, opened
from authoring.attestation.pages import (
    END_MARK,
    REPORT,
    TABLES_MARK,
    differences_page,
    numbers_of,
    pages,
    report_page,
    says_the_same,
    with_part,
    with_processor,
    with_tables,
)
from authoring.attestation.pages import PROCESSOR_MARK as PROCESSOR
from authoring.attestation.unconfirmed import unconfirmed_page
from tests.results_files import catalogue, record
from tests.small_fixtures import small_fixtures
from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.engines.table import Unavailable
from tokenref.floats import floats
from tokenref.known import Known
from tokenref.questions.sampling import LogitsInput, TokenOutput
from tokenref.record import Case, make_case
from tokenref.result import Result as CaseResult
from tokenref.runner import Run
from tokenref.verdicts import Exact, Judgement

SHARED = {
    "README.md": f"a\n{TABLES_MARK}\nold\n{END_MARK}\nz\n",
    "docs/gpu.md": f"{PROCESSOR}\n{END_MARK}\n",
}


def row(slug: str, profile: str = "standard") -> Case:
    """Return a record about the largest of three logits."""
    return make_case(
        "greedy",
        id=f"sampling/greedy/topic/{slug}",
        profile=profile,
        vocab=None,
        why=f"The reason why {slug} is asked.",
        flags=[],
        spec="docs/sampling.md#rows",
        verdict=Exact(),
        input=LogitsInput(logits=floats([1.0, 2.0, 0.0], "f16")),
        out=TokenOutput(token=1),
    )


def run(engine: str, ended: Sequence[tuple[Case, str, str]]) -> Run:
    """Return a run in which records ended so, with a detail each."""
    results = [
        CaseResult(case, Judgement(status, detail), 1.0)  # type: ignore[arg-type]  # a status
        for case, status, detail in ended
    ]
    return Run(engine, "1.0", len(results), results)


def known(engine: str, title: str, *cases: str) -> Known:
    return Known(
        engine=engine,
        title=title,
        cases=list(cases),
        status="fail",
        reason="The reason of the difference.",
        link="https://example.org",
    )


ONE, TWO, THREE = record("count", "one"), record("count", "two"), record("encode", "three")
FOUR, FIVE = row("four"), row("five", "vllm")


@pytest.fixture(name="runs")
def two_runs() -> list[Run]:
    return [
        run(
            "first",
            [
                (ONE, "pass", ""),
                (TWO, "xfail", "known: The reason."),
                (THREE, "unsupported", "does not declare the operation encode"),
                (FOUR, "unsupported", "has no samplers"),
                (FIVE, "unsupported", "has no samplers"),
            ],
        ),
        run(
            "torch",
            [
                (ONE, "unsupported", "has no tokenizer"),
                (TWO, "unsupported", "has no tokenizer"),
                (THREE, "unsupported", "has no tokenizer"),
                (FOUR, "pass", ""),
                (FIVE, "unsupported", "does not implement the profile vllm"),
            ],
        ),
    ]


def all_cases() -> Catalogue:
    return catalogue([ONE, TWO, THREE, FOUR, FIVE], "cl100k_base")


def test_the_readme_counts_tokenizers_by_vocabulary_and_samplers_apart(runs: list[Run]) -> None:
    page = with_tables(SHARED["README.md"], runs, all_cases())
    head = "| tokenizer | records | agree | known differences | not tested |"
    assert page.startswith(f"a\n{TABLES_MARK}\n\n{head} `cl100k_base` | `o200k_base` |\n")
    assert page.endswith(f"|\n\n{END_MARK}\nz\n")
    rows = [line for line in page.splitlines() if line.startswith(("| first", "| torch"))]
    assert rows == ["| first 1.0 | 3 | 1 | 1 | 1 | 1 + 1 of 3 |  |", "| torch 1.0 | 2 | 1 |  | 1 |"]


@pytest.mark.parametrize("page", ["", TABLES_MARK, f"{END_MARK}{TABLES_MARK}"])
def test_a_page_without_a_place_for_its_table_is_named(page: str) -> None:
    with pytest.raises(AttestationError, match=r"page must hold the line .* and, later, <!-- end"):
        with_part("page", page, TABLES_MARK, [])


def test_only_the_part_between_the_marks_is_replaced() -> None:
    page = f"{END_MARK} before\n{TABLES_MARK}\nold\n{END_MARK} behind {END_MARK}"
    assert with_part("page", page, TABLES_MARK, ["new"]) == (
        f"{END_MARK} before\n{TABLES_MARK}\n\nnew\n{END_MARK} behind {END_MARK}"
    )


def test_a_difference_counts_for_the_first_entry_that_covers_it(runs: list[Run]) -> None:
    entries = [
        known("first", "title a", "bpe/count/*"),
        known("first", "title b", "bpe/*"),
        known("other", "title c", "bpe/*"),
    ]
    page = differences_page(entries, runs)
    assert re.findall("^## (.*)$", page, re.MULTILINE) == [
        "first 1.0: title a",
        "first 1.0: title b",
        "torch 1.0",
    ]
    first, second = page.split("title b")
    assert "1 record (fail), for example `bpe/count/topic/two`. See <https://example.org>" in first
    assert "0 records (fail). See" in second
    assert "No differences are known." in second


def test_what_no_engine_confirms_is_counted_and_listed_where_one_had_a_say(runs: list[Run]) -> None:
    entries = [known("first", "title a", "bpe/count/*")]
    page = unconfirmed_page(runs, all_cases(), entries)
    assert "| about tokenizers | 3 | 1 | 1 | 1 |" in page
    assert "| about samplers | 2 | 1 | 0 | 1 |" in page
    assert "- first: title a\n\n```text\nbpe/count/topic/  two\n```" in page
    assert "| `count` | 3 | 1 | has no such operation (first) |" in page
    assert "| vllm | 1 | 0 |" in page
    assert "| `greedy` | 1 | 1 | 1 | `standard` |" in page
    assert "  one" not in page
    assert "four" not in page
    assert "five" not in page


def test_a_record_that_one_engine_confirms_is_confirmed_whatever_others_say() -> None:
    runs = [run("first", [(ONE, "xfail", "known: x")]), run("second", [(ONE, "pass", "")])]
    page = unconfirmed_page(runs, catalogue([ONE]), [])
    assert "| about tokenizers | 1 | 1 | 0 | 0 |" in page


def test_records_of_a_rule_that_an_engine_follows_are_listed_if_they_were_not_asked() -> None:
    runs = [run("torch", [(FOUR, "pass", ""), (row("six"), "unsupported", "not so long")])]
    page = unconfirmed_page(runs, catalogue([FOUR, row("six")]), [])
    assert "- torch: not so long\n\n```text\nsampling/greedy/topic/  six\n```" in page


def test_the_processor_is_counted_by_type_of_number(runs: list[Run]) -> None:
    page = with_processor(SHARED["docs/gpu.md"], runs)
    assert "| torch 1.0 | f16 | 1 | 1 |  |\n" in page
    assert "first" not in page
    assert [numbers_of(case) for case in (ONE, FOUR)] == ["none", "f16"]


def test_a_batch_has_the_type_of_its_rows() -> None:
    types = {
        numbers_of(case) for case in open_catalogue().cases if case.id.split("/")[1] == "batch"
    }
    assert "f32" in types


def test_the_report_is_the_same_whatever_engines_say_in_their_own_words(runs: list[Run]) -> None:
    cases = all_cases()
    page = report_page(runs, cases, [])
    assert page == report_page(runs, cases, [])
    words = [
        run("first", [(c.case, c.judgement.status, "other") for c in runs[0].results]),
        runs[1],
    ]
    other = report_page(words, cases, [])
    assert other != page
    assert says_the_same(REPORT, page, other)
    assert not says_the_same("docs/differences.md", page, other)
    ended = [run("first", [(c.case, "pass", "") for c in runs[0].results]), runs[1]]
    assert not says_the_same(REPORT, page, report_page(ended, cases, []))
    for foreign in (b"", b'<script type="application/json" id="data">[]</script>'):
        assert not says_the_same(REPORT, foreign, page)


def test_all_pages_are_written(runs: list[Run]) -> None:
    entries = [known("first", "title", "bpe/count/*")]
    assert set(pages(runs, all_cases(), entries, SHARED.__getitem__)) == {
        "README.md",
        "docs/differences.md",
        "docs/records.md",
        "docs/unconfirmed.md",
        "docs/gpu.md",
        "docs/report.html",
    }


def test_all_pages_count_records_alike_without_canaries(runs: list[Run]) -> None:
    """A canary whose wrong answer an engine gives is a case of the run, and of no page."""
    canary = msgspec.structs.replace(TWO, id="canary/count/wrong")
    entries = [known("first", "title", "canary/*", "bpe/count/*")]
    first = [(each.case, each.judgement.status, "") for each in runs[0].results]
    asked = [run("first", [*first, (canary, "xfail", "known: title")]), *runs[1:]]
    catalogue = all_cases()
    assert pages(asked, catalogue, entries, SHARED.__getitem__) == pages(
        [run("first", first), *runs[1:]], catalogue, entries, SHARED.__getitem__
    )


def test_engines_that_are_missing_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "engine", lambda name: Unavailable(name, f"no {name} here"))
    with pytest.raises(AttestationError, match=r"missing a \(no a here\); b \(no b here\)$"):
        opened(["a", "b"])


# ---- the command


@pytest.fixture(name="project")
def small_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project with few records, whose one engine is an encoder of the reference."""
    fixtures = small_fixtures(tmp_path / "fixtures")
    monkeypatch.setattr("authoring.__main__.REAL_ENGINES", ("heap",))
    monkeypatch.setattr("authoring.__main__.open_catalogue", lambda: open_catalogue(fixtures))
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    for path, content in SHARED.items():
        (project / path).write_text(content)
    return project


def attest(project: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["attest", "--folder", str(project), *options])


def test_pages_are_written_once_and_then_compared(project: Path) -> None:
    assert attest(project, "--check").exit_code == 1
    assert not (project / REPORT).exists()
    assert (project / "README.md").read_text() == SHARED["README.md"]
    written = attest(project)
    assert (written.exit_code, written.stdout.count("is written")) == (0, 6)
    assert "heap 0.1.0: asked" in written.stderr
    again = attest(project, "--check")
    assert (again.exit_code, again.stdout) == (0, "")
    assert attest(project).stdout == ""
    (project / "docs/differences.md").write_text("nothing differs")
    changed = attest(project, "--check")
    assert (changed.exit_code, changed.stdout) == (1, "docs/differences.md differs\n")


def test_what_is_written_is_what_engines_say_now_word_for_word(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authoring.__main__.says_the_same", lambda *_: True)
    assert attest(project, "--check").exit_code == 0
    assert attest(project).stdout.count("is written") == 6


def test_nothing_is_written_while_an_engine_fails(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authoring.__main__.REAL_ENGINES", ("heap", "greedy"))
    failed = attest(project)
    assert failed.exit_code == 1
    assert re.search(
        r"greedy: \d+ failures, the first bpe/.*; see tokenref check greedy", failed.stderr
    )
    assert "heap: " not in failed.stderr
    assert not (project / REPORT).exists()


def test_a_difference_that_is_no_longer_there_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [known("heap", "title", "bpe/count/*")]
    monkeypatch.setattr("authoring.__main__.read_known", lambda: entries)
    failed = attest(project)
    assert failed.exit_code == 1
    assert "heap: 'bpe/count/*' (title): no case that matches it differs" in failed.stderr
    assert not (project / REPORT).exists()
