"""The cases that the fixtures are made of, before they are files."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from authoring.cases.all import all_drafts
from authoring.cases.canaries import canaries
from authoring.cases.draft import Draft, PurposeError, answers, finish, refuses
from authoring.cases.splitmix import SplitMix64
from authoring.cases.vocabularies import REAL_NAMES, fixture_vocabularies, vocabulary_named
from authoring.tokenizer_files.table import fixture_tokenizers
from bpe_ref import UnknownVocabularyError, load, vocabulary_of
from bpe_ref.formats.plain_json import dump_plain_json
from tests.drafted import cases_of
from tokenref.answers import TEXT_OPS, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.reference import ReferenceEngine
from tokenref.judge import judge
from tokenref.operations import FLAGS
from tokenref.questions.text import TextInput
from tokenref.record import PIPELINE_OPS, TOKENIZER_OPS, Case, op_of
from tokenref.record_files import dump_records, parse_records
from tokenref.subjects import TokenizerSubject, load_subject
from tokenref.verdicts import TokenizerErrorCode

ROOT = Path(__file__).resolve().parents[1]
ANCHORS = {
    "definition",
    "by-pair",
    "whole-piece",
    "missing-bytes",
    "pieces",
    "unicode",
    "white-space",
    "special-tokens",
    "decoding",
    "counting",
    "bytes-that-are-not-utf8",
    "several-calls",
    "vocabularies",
}


HEADER = len(dump_records("all.jsonl", []))
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def sections() -> frozenset[str]:
    """Return every section of the book and of the front pages, as the records name it."""
    found = set()
    for page in (*PAGES, *(ROOT / name / "README.md" for name in (".", "fixtures", "benchmarks"))):
        text = prose(page)
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
        slugs += re.findall(r'^<a id="([^"]+)"></a>$', text, re.MULTILINE)
        found |= {f"{page.relative_to(ROOT)}#{slug}" for slug in slugs}
    return frozenset(found)


@cache
def drafts() -> tuple[Draft, ...]:
    return tuple(all_drafts())


@cache
def shipped_cases() -> tuple[Case, ...]:
    return cases_of(draft for draft in drafts() if draft.vocabulary not in REAL_NAMES)


def subject_named(name: str) -> TokenizerSubject:
    return fixture_tokenizers().get(name) or vocabulary_named(name)


def test_a_sample_of_the_cases_is_as_the_fixtures_have_it_and_does_what_its_why_claims() -> None:
    assert len(shipped_cases()) > 2500
    shipped = [draft for draft in drafts() if draft.vocabulary not in REAL_NAMES]
    for draft, case in [*zip(shipped, shipped_cases(), strict=True)][::25]:
        assert finish(draft, subject_named(draft.vocabulary)).sum == case.sum


@pytest.mark.parametrize("name", REAL_NAMES)
def test_a_sample_of_the_cases_of_real_vocabularies_does_what_it_claims(name: str) -> None:
    try:
        vocabulary = vocabulary_of(load(name))
    except UnknownVocabularyError as error:
        pytest.skip(str(error))
    cases = [draft for draft in drafts() if draft.vocabulary == name]
    assert len(cases) > 100
    for draft in [*cases[:10], *cases[10::20]]:
        finish(draft, vocabulary)


def test_there_are_between_1500_and_3500_cases_of_text_and_tokens_and_6000_in_all() -> None:
    others = ("sizes", "beside_special", "pairs", "given_pieces")
    usual = [draft for draft in drafts() if draft.topic not in others]
    assert 1500 <= sum(draft.op in TEXT_OPS for draft in usual) <= 3500
    assert len(drafts()) - len(usual) <= 650  # sizes, NFC beside special tokens, one piece
    assert len(drafts()) <= 6000
    by_op = Counter(draft.op for draft in drafts())
    assert set(by_op) == set(TOKENIZER_OPS)
    assert min(by_op.values()) >= 30
    assert min(by_op[op] for op in TEXT_OPS) > 80


def test_ids_are_unique_and_well_formed() -> None:
    ids = [draft.id for draft in drafts()]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert [name for name in ids if not re.fullmatch(r"bpe(/[a-z0-9_.-]+){3}", name)] == []


def test_every_why_is_a_sentence_of_its_own() -> None:
    whys = Counter(draft.why for draft in drafts())
    assert [why for why, times in whys.items() if times > 1] == []
    assert [why for why in whys if len(why) < 25 or not why.endswith(".")] == []
    assert max(map(len, whys)) < 420


def test_every_worked_example_is_a_case() -> None:
    examples = [draft for draft in drafts() if draft.topic == "examples"]
    for number in range(1, 14):
        assert any(draft.slug.startswith(f"e{number}-") for draft in examples), f"E{number}"


def test_every_flag_is_used_and_every_used_flag_is_explained() -> None:
    used = {flag for draft in drafts() for flag in draft.flags}
    used |= {flag for case in open_catalogue().cases for flag in case.flags}  # samplers, too
    used |= {flag for case in canaries() for flag in case.flags}
    assert used == set(FLAGS)
    for name, flag in FLAGS.items():
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", name)
        assert min(len(flag.description), len(flag.effect)) > 20
        assert flag.spec in sections()
        assert all(link.startswith("https://github.com/") for link in flag.links)


def test_every_case_names_a_section_of_the_book() -> None:
    named = {draft.spec for draft in drafts()}
    assert sorted(named - sections()) == []
    assert {spec for spec in named if spec.startswith("docs/bpe.md#")} == {
        f"docs/bpe.md#{anchor}" for anchor in ANCHORS
    }


def test_every_link_of_the_book_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]*(?:#[^)]*)?)\)", prose(page)):
            if target.startswith("https://"):
                continue
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            assert linked.exists(), f"{page.name}: {target}"
            if anchor:
                assert f"{linked.relative_to(ROOT)}#{anchor}" in sections(), (
                    f"{page.name}: {target}"
                )


def test_every_vocabulary_is_used_and_says_why_it_exists() -> None:
    named = fixture_vocabularies()
    used = {draft.vocabulary for draft in drafts() if draft.op not in PIPELINE_OPS}
    assert used == {*named, *REAL_NAMES}
    for name, entry in named.items():
        assert entry.name == name
        assert 30 < len(entry.why) <= 90
        assert entry.why.endswith(".")
    assert len({entry.why for entry in named.values()}) == len(named)


def test_no_two_vocabularies_mean_the_same() -> None:
    digests = Counter(entry.vocabulary.digest() for entry in fixture_vocabularies().values())
    assert set(digests.values()) == {1}


def test_a_draft_that_does_not_do_what_it_claims_stops_the_generator() -> None:
    def draft(*ids: int) -> Draft:
        return Draft(
            op="encode",
            topic="examples",
            slug="x",
            vocabulary="doubles",
            request=TextInput(text="aaa"),
            why="An example for this test.",
            flags=[],
            purposes=(answers(*ids),),
        )

    assert finish(draft(1, 0), vocabulary_named("doubles")).id == "bpe/encode/examples/x"
    with pytest.raises(PurposeError, match="must be"):
        finish(draft(0, 1), vocabulary_named("doubles"))


def test_cases_that_must_be_refused_say_so() -> None:
    refused = [case for case in shipped_cases() if case.out is None]
    assert len(refused) > 80
    codes = {code for case in refused for code in getattr(case.verdict, "codes", [])}
    assert codes == {*get_args(TokenizerErrorCode), "INVALID_PARAMETER"}  # of grammar_mask
    draft = next(draft for draft in drafts() if draft.slug == "e10-missing-alone")
    refuses("MISSING_BYTE")(vocabulary_named(draft.vocabulary), _case(draft.id))


def _case(name: str) -> Case:
    return next(case for case in shipped_cases() if case.id == name)


def test_the_files_of_either_part_are_below_three_megabytes_and_all_below_5_2() -> None:
    sizes = Counter[bool]()
    for case in shipped_cases():
        sizes[op_of(case) in TEXT_OPS] += len(dump_records("all.jsonl", [case])) - HEADER
    sizes[True] += 800 * sum(draft.vocabulary in REAL_NAMES for draft in drafts())
    sizes[True] += sum(len(dump_plain_json(entry)) for entry in fixture_vocabularies().values())
    sizes[False] += sum(len(file.content) for file in fixture_tokenizers().values())
    assert sizes[False] < 3_000_000
    assert sizes[True] < 3_000_000
    assert sizes.total() < 5_200_000


def test_the_cases_survive_being_written_and_read() -> None:
    cases = list(shipped_cases())
    assert parse_records(dump_records("all.jsonl", cases), "all.jsonl") == cases


def test_a_right_engine_fails_every_canary() -> None:
    subjects: dict[str | None, TokenizerSubject] = {
        entry.vocabulary.digest(): entry.vocabulary for entry in fixture_vocabularies().values()
    }
    subjects |= {file.digest(): file for file in fixture_tokenizers().values()}
    found = canaries()
    assert len(found) >= 12
    assert {op_of(case) for case in found} == set(TOKENIZER_OPS)
    for case in found:
        assert re.fullmatch(r"canary(/[a-z0-9_.-]+){2}", case.id)
        subject = subjects[case.vocab]
        for with_stages in (True, False):
            engine = ReferenceEngine(with_stages=with_stages)
            session = load_subject(engine, subject, "", case.profile)
            assert not isinstance(session, Unsupported)
            answer = session.answer(op_of(case), msgspec.to_builtins(case.input))
            assert judge(case, answer, subject).status in {"fail", "wrong_error"}, case.id


def test_the_random_generator_gives_the_words_of_its_definition() -> None:
    generator = SplitMix64(1234567)
    assert [generator.word() for _ in range(2)] == [6457827717110365317, 3203168211198807973]
    assert all(SplitMix64(seed).below(7) < 7 for seed in range(100))


@pytest.mark.skipif(
    not (ROOT / "fixtures" / "MANIFEST.json").is_file(), reason="the fixtures are not filled here"
)
def test_the_consumer_on_the_page_about_the_format_finds_no_failure() -> None:
    page = (ROOT / "fixtures" / "README.md").read_text(encoding="utf-8")
    source = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0]
    assert len(source.strip().splitlines()) <= 30
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = re.fullmatch(r"(\d+) run, 0 failed\n", done.stdout)
    assert found, done.stdout
    assert int(found[1]) > 300
