"""The command does what it says, and bad input of any kind ends in one sentence."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from authoring.__main__ import main as authoring
from authoring.mutants.gate import GateReport, Trial
from authoring.mutants.printing import print_gate
from authoring.mutants.table import MUTANTS
from bpe_ref import ENCODERS, TextRules, load, vocabulary_by_concatenation, vocabulary_of
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.formats.tiktoken import parse_tiktoken, write_tiktoken
from bpe_ref.tiny import tiny_corpus, tiny_vocabulary
from sampling_ref import STEPS
from tests import results_files
from tests.fakes.honest import changed
from tests.small_fixtures import checkout_fixtures
from tokenref import goldens
from tokenref.answers import request_text
from tokenref.catalogue import is_large, open_catalogue
from tokenref.cli import main
from tokenref.commands.paths import output_console
from tokenref.commands.report import Wanted
from tokenref.diagnosis.facts import DIFFERS
from tokenref.goldens import open_own
from tokenref.known import Known
from tokenref.questions.text import TextInput
from tokenref.record import canonical_json, op_of
from tokenref.record_files import (
    MANIFEST,
    dump_records,
    manifest_digest,
    parse_manifest,
    parse_records,
)
from tokenref.reports.known_list import UNEXPLAINED
from tokenref.reports.results import badge, dump_report, read_results
from tokenref.reports.terminal import SHOWN_FAILURES, split_detail
from tokenref.rules import RACES
from tokenref.runner import _MOST_AGAIN, Run

EXAMPLE = "bpe/encode/examples/*"
VERSION = parse_manifest(checkout_fixtures()).version
DIGEST = manifest_digest(parse_manifest(checkout_fixtures()))


def tokenref(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """Return a copy of the fixtures that a test may spoil."""
    folder = tmp_path / "fixtures"
    shutil.copytree(checkout_fixtures(), folder)
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a user's own vocabulary file."""
    path = tmp_path / "mine.tiktoken"
    write_tiktoken({content: token for token, content in tiny_vocabulary().tokens.items()}, path)
    return path


def report(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").split("\n")[:-1]]


def test_the_reference_passes_and_the_counts_are_shown() -> None:
    result = tokenref("check", "reference", "--id", EXAMPLE)
    count = sum(case.id.startswith("bpe/encode/examples/") for case in open_catalogue().cases)
    assert result.exit_code == 0
    assert re.search(rf"reference 0\.1\.0 .* encode .* {count} .* {count} ", result.output)


def test_a_failure_shows_why_where_and_how_to_see_it_again() -> None:
    result = tokenref("check", "greedy", "--id", EXAMPLE)
    assert result.exit_code == 1
    for word in ("why", "of", "in", "at", "expected", "got", "see", "learn", "again"):
        assert re.search(rf"^    {word} +\S", result.output, re.MULTILINE), word
    again = re.search(r"tokenref (check greedy --id \S+)", result.output)
    assert again is not None
    rerun = tokenref(*again[1].split())
    assert rerun.exit_code == 1
    assert "greedy: 1 of 1 answered cases failed\n" in rerun.output


def test_engines_can_be_named_together_and_one_failure_is_a_failure() -> None:
    result = tokenref("check", "naive", "minimal", "heap", "--id", EXAMPLE)
    assert result.exit_code == 1
    assert {"naive 0.1.0", "minimal 0.1.0", "heap 0.1.0"} <= set(
        re.findall(r"\w+ 0\.1\.0", result.output)
    )


def test_the_json_report_has_a_line_per_case_between_header_and_footer(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    assert tokenref("check", "naive", "greedy", "--id", EXAMPLE, "--json", path).exit_code == 1
    header, *lines, footer = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    cases = [line for line in lines if line["kind"] == "case"]
    assert header["kind"] == "header"
    assert header["fixtures"].startswith("sha256:")
    assert len(cases) == header["cases"] == footer["cases"]
    assert header["selection"] == {"id": [EXAMPLE]}
    assert header["unavailable"] == {}
    counted = Counter(line["status"] for line in cases)
    assert footer == {
        "kind": "footer",
        "cases": len(cases),
        "complete": True,
        "statuses": dict(counted),
    }
    assert {line["status"] for line in cases if line["engine"] == "naive"} == {"pass"}
    assert "fail" in {line["status"] for line in cases if line["engine"] == "greedy"}
    engines = [line for line in lines if line["kind"] == "engine"]
    assert [line["exit"] for line in engines] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["check", "no-such-engine"], 2, "an engine must be one of tiktoken, "),
        (["check"], 2, "Missing argument 'ENGINE...'"),
        (["check", "reference", "--op", "embed"], 2, "unknown operation 'embed'"),
        (["check", "reference", "--op", "top-p"], 2, "did you mean 'top_p'?"),
        (["export", "--op", "top-p"], 2, "did you mean 'top_p'?"),
        (["rules", "top-p"], 2, "did you mean 'top_p'?"),
        (["rules", "encode"], 2, "'encode' is an operation on tokenizers, which has no rules"),
        (["check", "--cmd", "x", "--timeout", "nan"], 2, "nan is not a number of seconds"),
        (["fuzz", "reference", "--seconds", "nan"], 2, "nan is not a number of seconds"),
        (["fuzz", "reference", "--shrink-seconds", "nan"], 2, "nan is not a number of seconds"),
        (["check", "reference", "--flag", "LongRuns"], 3, "unknown flag 'LongRuns'; did you"),
        (["check", "reference", "--vocabulary", "cl100k"], 3, "; did you mean cl100k_base?"),
        (["check", "reference", "--id", "nothing/*"], 3, "matches none of the"),
        (["check", "reference", "--flag", "NoSuchFlag"], 3, "matches none of the"),
        (["check", "reference", "--vocabulary", "nobody"], 3, "matches none of the"),
        (["check", "reference", "--fixtures", "/no/such"], 2, "cannot be read: "),
        (["check", "reference", "--known", "/no/such"], 2, "cannot be read: "),
        (["check", "reference", "--corpus", "x"], 2, "needs at least one --vocabulary"),
        (
            ["check", "reference", "--corpus", "/no/such", "--vocabulary", "tiny"],
            2,
            "/no/such cannot be read",
        ),
        *(
            (
                ["check", "reference", "--corpus", "x", "--vocabulary", "tiny", option, value],
                2,
                f"{option} cannot be used together with --corpus",
            )
            for option, value in (
                ("--id", "*"),
                ("--op", "encode"),
                ("--flag", "LongRun"),
                ("--fixtures", "/no/such"),
                ("--known", "/no/such"),
                ("--records", "/no/such"),
            )
        ),
        (
            ["check", "reference", "--records", "x", "--vocabulary", "a", "--vocabulary", "b"],
            2,
            "--records needs exactly one --vocabulary",
        ),
        (
            ["check", "reference", "--records", "/no/such", "--vocabulary", "tiny"],
            2,
            "/no/such cannot be read",
        ),
        (
            ["check", "heap", "--records", "x", "--vocabulary", "tiny", "--fixtures", "y"],
            2,
            "--fixtures cannot be used together with --records",
        ),
        (
            ["train", "x", "--size", "300", "--out", "y", "--pattern", "nobody"],
            2,
            "'nobody' is not one of 'gpt2'",
        ),
        (["train", "x", "--size", "300", "--out", "/no/such/y"], 2, "/no/such/y cannot be written"),
        (["doctor", "tiktoken-wasm"], 2, "an engine of tokenref, tokenref check tiktoken-wasm"),
        (["doctor", "./engine"], 2, "doctor tests your program: use --cmd ./engine, or"),
        (["doctor"], 2, "Missing option '--cmd'"),
        (["fill", "--vocabulary", "tiny"], 2, "Missing option '--out'"),
        (["show", "bpe/encode/no/such"], 2, "no record has the id"),
        (["show", "sampling/no-such/*"], 2, "no record has the id"),
        (
            ["show", "ranks"],
            2,
            "has no such word (`tokenref show glossary` lists all); did you mean rank",
        ),
        (["check", "tokenizer"], 2, "there is no engine 'tokenizer'; did you mean 'tokenizers'?"),
        (
            ["compare", "qwen3", "tiny", "hello"],
            2,
            "compare is about samplers; this is for vocabularies: tokenref vocabulary com",
        ),
        (
            ["check", "reference", "--id", "sampling/topk/sizes/row-65"],
            3,
            "unknown id 'sampling/topk/sizes/row-65'; did you mean sampling/top_k/sizes/row-65?",
        ),
        (["encode", "a", "--vocabulary", "nobody"], 2, "'nobody'"),
        (["encode", "a", "--vocabulary", "/no/such.tiktoken"], 2, "cannot be read"),
        (["trace", "a", "--vocabulary", "/"], 2, ", but it is a folder without any"),
        (["vocabulary", "audit", "nobody"], 2, "'nobody'"),
        (["vocabulary", "fetch", "nobody"], 2, "'nobody'"),
        (["train", "/no/such", "--size", "300", "--out", "x"], 2, "cannot be read"),
        (["no-such-command"], 2, "No such command"),
    ],
)
def test_a_wrong_command_ends_in_one_sentence(
    arguments: Sequence[str], code: int, sentence: str
) -> None:
    result = tokenref(*arguments)
    assert result.exit_code == code
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_a_changed_record_file_makes_the_run_invalid(fixtures: Path) -> None:
    path = fixtures / "bpe" / "encode" / "examples.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"text":"aaa"', b'"text":"aab"', 1))
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "examples.jsonl: the sha256 must be" in result.output


def test_a_missing_record_file_makes_the_run_invalid(fixtures: Path) -> None:
    (fixtures / "bpe" / "encode" / "examples.jsonl").unlink()
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "examples.jsonl cannot be read: No such file or directory, but " in result.output


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format":2}', b"\xff"])
def test_a_manifest_that_is_none_makes_the_run_invalid(fixtures: Path, content: bytes) -> None:
    (fixtures / "MANIFEST.json").write_bytes(content)
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "MANIFEST.json: not a manifest: " in result.output


def test_a_canary_that_passes_makes_the_run_invalid(fixtures: Path) -> None:
    """The answer of a canary is made right, and everything that vouches for the file with it."""
    catalogue = open_catalogue(fixtures)
    right = next(case for case in catalogue.cases if case.id.startswith("bpe/count/"))
    path = fixtures / "canary.jsonl"
    header, first, *rest = path.read_bytes().splitlines(keepends=True)
    line = (fixtures / "bpe/count/texts.jsonl").read_bytes().splitlines(keepends=True)[1]
    renamed = re.sub(rb'"id":"[^"]*"', b'"id":"canary/count/right"', line)
    before = path.read_bytes()
    path.write_bytes(b"".join([header, renamed, *rest]))
    assert first != renamed
    manifest = fixtures / "MANIFEST.json"
    _vouch(manifest, before, path.read_bytes())
    result = tokenref("check", "reference", "--fixtures", fixtures, "--id", right.id)
    assert result.exit_code == 3
    said = "self-check failed: the judge accepted a known-wrong answer (canary canary/count/right)"
    assert said in " ".join(result.output.split())
    every = ["--json", "a.jsonl", "--junit", "a.xml", "--html", "a.html"]
    paths = [fixtures.parent / name for name in every[1::2]]
    options = [part for name, path in zip(every[::2], paths, strict=True) for part in (name, path)]
    tokenref("check", "reference", "--fixtures", fixtures, "--id", right.id, *options)
    for path in paths:
        assert said in path.read_text(encoding="utf-8"), path
    asked: list[str | Path] = ["check", "reference", "--fixtures", fixtures, "--id", right.id]
    changed = tokenref(*asked, "--only-changes", paths[0])
    assert changed.exit_code == 3
    assert f"reference: the run is invalid: {said}" in " ".join(changed.output.split())


def test_a_canary_that_was_failed_can_be_asked_again() -> None:
    result = tokenref("check", "reference", "--id", "canary/encode/wrong-ids")
    assert (result.exit_code, "invalid" in result.output) == (0, False)


def _vouch(manifest: Path, before: bytes, after: bytes) -> None:
    """Make a manifest agree with a file that was changed."""
    content = manifest.read_bytes()
    content = content.replace(
        sha256(before).hexdigest().encode(), sha256(after).hexdigest().encode()
    )
    manifest.write_bytes(content)


def test_a_vocabulary_that_is_not_found_is_counted_and_never_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: None)
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = tokenref("check", "reference", "--vocabulary", "cl100k_base")
    assert result.exit_code == 3
    assert "not run" in result.output
    assert "no cases were run" in result.output
    assert "no cases were run: vocabulary cl100k_base was found nowhere: " in result.output
    assert "145 cases were not run: vocabulary cl100k_base was found nowhere" in result.output


def test_goldens_for_a_vocabulary_and_texts_of_ones_own(tmp_path: Path, mine: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "My goldens.v1.jsonl"
    texts.write_bytes(b"Hello, world!\r\n\n  two  spaces\nHello, world!\nlast")
    result = tokenref("fill", "--vocabulary", mine, "--texts", texts, "--out", out)
    assert result.exit_code == 0, result.output
    beside = tmp_path / "My goldens.v1.vocabulary.json"
    assert f"{out}: 4 cases, 1 duplicate omitted" in result.output
    assert f"{beside}: the vocabulary" in result.output
    cases = parse_records(out.read_bytes(), "goldens.jsonl")
    tokenizer = load(mine)
    assert (
        vocabulary_of(load(beside)).digest() == vocabulary_of(tokenizer).digest() == cases[0].vocab
    )
    lines = report(out)[1:]
    assert [(case.id, case.why) for case in cases] == [
        (
            f"bpe/encode/own/my-goldens.v1-{sha256(canonical_json(record['in'])).hexdigest()[:16]}",
            f"Line {line} of texts.txt, encoded by the reference with mine.tiktoken.",
        )
        for line, record in zip((1, 2, 3, 5), lines, strict=True)
    ]
    for line, text in zip(lines, ["Hello, world!", "", "  two  spaces", "last"], strict=True):
        assert line["in"] == {"text": text}
        assert line["out"]["ids"] == tokenizer.encode(text, special="ordinary")


def test_golden_records_are_written_without_a_copy_of_the_vocabulary(
    tmp_path: Path, mine: Path
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    own: list[str | Path] = []
    for name in ("a.jsonl", "b.jsonl"):
        made = tokenref("fill", "--vocabulary", mine, "--no-copy", "--out", folder / name, "text")
        assert (made.exit_code, "the vocabulary" in made.output) == (0, False), made.output
        own += ["--records", folder / name]
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl", "b.jsonl"]
    lost = tokenref("check", "heap", *own)
    assert (lost.exit_code, "give --vocabulary" in lost.output) == (3, True)
    assert tokenref("check", "heap", *own, "--vocabulary", mine).exit_code == 0


def test_records_of_one_folder_share_one_copy_of_their_vocabulary(
    tmp_path: Path, mine: Path
) -> None:
    def fill(name: str, *more: str | Path) -> Result:
        return tokenref("fill", "--vocabulary", mine, "--out", tmp_path / name, "text", *more)

    a, b, copy = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "a.vocabulary.json"))
    for name in ("a.jsonl", "b.jsonl"):
        assert f"{copy}: the vocabulary\n" in fill(name).output
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.jsonl",
        copy.name,
        "b.jsonl",
        mine.name,
    }
    added = tokenref(*("fill", "--vocabulary", mine, "--out", b, "more", "--append"))
    assert (added.exit_code, f"{copy}: the vocabulary\n" in added.output) == (0, True)
    for own in ([a], [b], [a, b]):
        records = [part for path in own for part in ("--records", path)]
        assert tokenref("check", "heap", *records).exit_code == 0
    for several in (tmp_path, f"{tmp_path}/*.jsonl"):  # with the copy beside them, or without
        both = tokenref("check", "heap", "--records", several).output
        assert both == tokenref("check", "heap", *records).output
        shown = tokenref("show", "bpe/encode/own/*", "--records", several)
        assert (shown.exit_code, shown.stdout.count("  why ")) == (0, 3)
    nothing = tokenref("check", "heap", "--records", f"{tmp_path}/no*.jsonl")
    assert (nothing.exit_code, "--records must name files, but" in nothing.output) == (2, True)
    (old,) = open_own(b, "tiny", upgrade=True).replaced.values()
    assert old is not None  # so that --upgrade shows its tokens
    assert old.digest() == vocabulary_of(load(mine)).digest()

    other = ("fill", "--vocabulary", FAMILY, "text", "--replace", "--out")
    assert tokenref(*other, a).exit_code == 0  # it is of another kind, so the copy stays
    assert tokenref("check", "heap", "--records", b).exit_code == 0
    assert fill("a.jsonl", "--replace").exit_code == 0
    content = copy.read_bytes()
    pattern = ("--pattern", "r50k_base")
    refused = tokenref("fill", "--vocabulary", mine, *pattern, "text", "--replace", "--out", a)
    assert refused.exit_code == 2
    assert f"{copy} must be kept, because {b} needs it: use another --out" in refused.output
    assert copy.read_bytes() == content
    b.unlink()
    made = tokenref("fill", "--vocabulary", mine, *pattern, "text", "--replace", "--out", a)
    assert (made.exit_code, copy.read_bytes() != content) == (0, True)
    assert fill("b.jsonl").exit_code == 0  # the copy is another one now
    for path in (a, b):
        assert tokenref("check", "heap", "--records", path).exit_code == 0
    (tmp_path / "b.vocabulary.json").write_text("{}")
    (tmp_path / "c.vocabulary.json").write_text("{}")  # what is damaged is no copy
    assert fill("d.jsonl").exit_code == 0
    assert (tmp_path / "d.vocabulary.json").is_file()


def test_other_vocabularies_of_a_folder_are_not_read_for_records(
    tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    for name, vocabulary in (("a", mine), ("z", FAMILY), ("b", mine), ("c", "tiny")):
        made = ("fill", "--vocabulary", vocabulary, f"text {name}", "--out")
        assert tokenref(*made, folder / f"{name}.jsonl").exit_code == 0
    assert not (folder / "b.vocabulary.json").exists()
    (folder / "0.vocabulary.json").write_text("{}")
    read: list[str] = []
    parsed = goldens._copied

    def copied(path: Path) -> object:
        read.append(path.name)
        return parsed(path)

    monkeypatch.setattr(goldens, "_copied", copied)
    goldens._digest_of.cache_clear()
    for _ in range(2):
        assert len(open_own(folder / "c.jsonl").cases) == 1
        assert read == []
    for _ in range(2):
        assert len(open_own(folder / "b.jsonl").cases) == 1
    assert read == ["a.vocabulary.json"]


@pytest.mark.parametrize("special", [False, True])
def test_records_of_other_operations_are_made_of_the_ids_of_a_text(
    tmp_path: Path, *, special: bool
) -> None:
    out, texts = tmp_path / "out.jsonl", ["to be é🙂", "<|endoftext|>", ""]
    (tmp_path / "texts.txt").write_text("\n".join([*texts, texts[0], ""]), encoding="utf-8")
    asked = ["encode", "decode", "offsets", "stream", "canonical"] + ["pieces", "count"] * (
        not special
    )
    ops = [part for op in asked for part in ("--op", op)]
    fill = ("fill", "--vocabulary", "tiny", "--out", out, "--texts", tmp_path / "texts.txt")
    made = tokenref(*fill, *ops, *ops, *["--special"] * special)
    cases, again = 3 * len(asked), len(asked)
    assert f"{out}: {cases} cases, {again} duplicates omitted" in made.output, made.output
    found: dict[str, list[Any]] = {}
    for line in report(out)[1:]:
        found.setdefault(line["op"], []).append((line["in"], line["out"]))
    tiny = load("tiny")
    how: dict[str, Any] = {"special": "recognise" if special else "ordinary"}
    for number, text in enumerate(texts):
        ids = tiny.encode(text, **how)
        assert found["special" if special else "encode"][number][1]["ids"] == ids
        assert found["decode"][number] == ({"ids": ids}, {"bytes": text.encode().hex()})
        assert found["offsets"][number][1]["text"] == text
        streamed = found["stream"][number]
        assert streamed[0] == {"ids": ids, "errors": "replace"}
        assert "".join([*streamed[1]["parts"], streamed[1]["tail"]]) == text
        assert found["canonical"][number][0] == {"ids": ids}
        if not special:
            assert found["count"][number] == ({"text": text}, {"count": len(ids)})
            assert bytes.fromhex("".join(found["pieces"][number][1]["pieces"])).decode() == text
    assert tokenref("check", "reference", "--records", out).exit_code == 0
    assert tokenref("check", "tiktoken", "--records", out).exit_code == 0


def test_records_of_chunks_have_their_limits_and_recognise_special_tokens(tmp_path: Path) -> None:
    out, text = tmp_path / "out.jsonl", "to be<|endoftext|> or not"
    fill = ("fill", "--vocabulary", "tiny", "--out", out, text)
    for options, overlap in ((["--most=3"], 0), (["--most=3", "--overlap=1"], 1)):
        made = tokenref(*fill, "--op=chunks", *options, "--replace")
        assert (made.exit_code, made.stderr) == (0, "")
        [record] = report(out)[1:]
        assert record["in"] == {"text": text, "most": 3, "overlap": overlap}
        chunks = load("tiny").chunks(text, 3, overlap)
        assert record["out"]["chunks"] == [[start, stop] for start, stop, _ in chunks]
        assert tokenref("check", "reference", "--records", out).exit_code == 0
    needs = "--op chunks needs --most, which must be larger than --overlap"
    treats = "--op chunks recognises special tokens"
    for said, options in (
        (needs, ["--op=chunks"]),
        (needs, ["--op=chunks", "--most=3", "--overlap=3"]),
        (needs, ["--most=3"]),
        (needs, ["--op=encode", "--overlap=1"]),
        (treats, ["--op=chunks", "--most=3", "--special"]),
        (treats, ["--op=chunks", "--most=3", "--as-text"]),
        (treats, ["--op=chunks", "--most=3", "--added-as-text"]),
    ):
        refused = tokenref(*fill, *options, "--replace")
        assert (refused.exit_code, said in refused.stderr) == (2, True), options


def test_records_of_a_tokenizer_are_made_of_the_ids_of_a_text(tmp_path: Path) -> None:
    out, ops = tmp_path / "out.jsonl", ("tokenize", "detokenize", "detokenize_stream")
    fill: Sequence[str | Path] = (
        "fill",
        "--vocabulary",
        FAMILY,
        "--out",
        out,
        "a b ab",
        *(f"--op={op}" for op in ops),
    )
    assert tokenref(*fill).exit_code == 0
    first, second, third, like_engine = report(out)[1:]
    assert (first["op"], second["op"], third["op"]) == ops
    assert (third["in"]["mode"], like_engine["in"]["mode"]) == ("certain", "engine")
    ids = first["out"]["ids"]
    assert second["in"] == {"ids": ids, "skip_special_tokens": False}
    assert second["out"]["text"] == load(FAMILY).decode(ids)
    assert "".join([*third["out"]["parts"], third["out"]["tail"]]) == second["out"]["text"]
    _, *streams = ops
    skipping = [*(f"--op={op}" for op in streams), "--skip-special-tokens", "--replace"]
    file = tmp_path / "skipping.jsonl"
    made = ("fill", "--vocabulary", FAMILY, "--out", file, "a b ab")
    assert tokenref(*made, *skipping).exit_code == 0
    for line in report(file)[1:]:
        assert line["in"]["skip_special_tokens"] is True
        parts = line["out"].get("parts", [line["out"].get("text")])
        text = "".join([*filter(None, parts), line["out"].get("tail", "")])
        assert text == load(FAMILY).decode(ids, skip_special_tokens=True) != second["out"]["text"]
    assert tokenref("check", "reference", "--records", file).exit_code == 0
    for more in ([], ["--op=tokenize"]):
        refused = tokenref(*made, *more, "--skip-special-tokens")
        assert (refused.exit_code, "--skip-special-tokens needs --op" in refused.output) == (
            2,
            True,
        )
    for engine, answered in (("reference", 4), ("tokenizers", 3)):
        checked = tokenref("check", engine, "--records", out)
        assert checked.exit_code == 0
        assert f"{engine}: {answered} of {answered} answered cases passed" in checked.output


def test_an_operation_that_records_cannot_be_made_of_is_refused(tmp_path: Path, mine: Path) -> None:
    out, lacking = tmp_path / "out.jsonl", "fixtures/vocab/missing_bytes.json"
    refusals: list[tuple[str | Path, list[str], str]] = [
        ("tiny", ["--op", "detokenize"], "--op must be one of encode, pieces, count, decode, "),
        (
            FAMILY,
            ["--op", "nothing"],
            "--op must be one of tokenize, detokenize, detokenize_stream",
        ),
        (
            "tiny",
            ["--op", "count", "--special"],
            "--special must not be given with --op pieces or c",
        ),
        (lacking, ["--op", "decode"], "decode needs the ids of Text of an argument, but "),
    ]
    for vocabulary, more, sentence in refusals:
        refused = tokenref("fill", "--vocabulary", vocabulary, "--out", out, "\x7fé", *more)
        assert (refused.exit_code, sentence in refused.output) == (2, True), refused.output
        assert not out.exists()


def test_an_id_of_ones_own_stays_if_a_text_is_inserted(tmp_path: Path) -> None:
    out, found = tmp_path / "out.jsonl", []
    for texts in ("one\ntwo\n", "zero\none\nnew\ntwo\n"):
        (tmp_path / "texts.txt").write_text(texts, encoding="utf-8")
        fill = ("fill", "--replace", "--vocabulary", "tiny", "--out", out)
        assert tokenref(*fill, "--texts", tmp_path / "texts.txt").exit_code == 0
        found.append({line["in"]["text"]: line["id"] for line in report(out)[1:]})
    assert found[0].items() < found[1].items()
    special = tokenref(*fill, "--texts", tmp_path / "texts.txt", "--special")
    assert special.exit_code == 0
    assert not {line["id"] for line in report(out)[1:]} & {*found[1].values()}


def test_lists_and_results_of_records_of_ones_own_fit_after_a_text_is_inserted(
    tmp_path: Path,
) -> None:
    texts, out, known = tmp_path / "a.txt", tmp_path / "own.jsonl", tmp_path / "known.toml"
    fill = ("fill", "--replace", "--vocabulary", "tiny", "--out", out, "--texts", texts)
    check = ("check", "greedy", "--records", out)
    texts.write_text("".join(tiny_corpus().splitlines(keepends=True)[:40]), encoding="utf-8")
    assert tokenref(*fill).exit_code == 0
    before = tokenref(*check, "--write-known", known, "--json", tmp_path / "before.jsonl")
    assert before.exit_code == 1
    texts.write_text(f"a\n{texts.read_text('utf-8')}", encoding="utf-8")
    assert tokenref(*fill).exit_code == 0
    known.write_text(known.read_text("utf-8").replace(UNEXPLAINED, "greedy is another algorithm"))
    listed = tokenref(*check, "--known", known)
    assert listed.exit_code == 0, listed.output
    changed = tokenref(*check, "--only-changes", tmp_path / "before.jsonl")
    assert (changed.exit_code, "appeared: 1\n" in changed.output) == (0, True), changed.output
    assert "disappeared:" not in changed.output


def test_golden_records_are_made_of_whole_files_folders_patterns_and_standard_input(
    tmp_path: Path,
) -> None:
    folder, out = tmp_path / "texts", tmp_path / "out.jsonl"
    folder.mkdir()
    whole = b"\xef\xbb\xbfone\r\ntwo\n\n"
    (folder / "a.md").write_bytes(whole)
    (folder / "b.txt").write_bytes(b"three\r\nfour\n")
    (folder / "empty.md").write_bytes(b"")
    fill: list[str | Path] = ["fill", "--replace", "--vocabulary", "tiny", "--out", out]

    def texts_of(*arguments: str | Path, given: bytes = b"") -> list[str]:
        typed = [str(argument) for argument in (*fill, *arguments)]
        made = CliRunner().invoke(main, typed, input=given)
        assert made.exit_code == 0, made.output
        assert tokenref("check", "heap", "--records", out).exit_code == 0
        return [line["in"]["text"] for line in report(out)[1:]]

    assert texts_of("--file", folder) == [whole.decode(), "three\r\nfour\n", ""]
    assert texts_of("--file", folder / "*.md") == [whole.decode(), ""]
    assert texts_of("--texts", folder / "b*", "--file", folder / "a.md") == [
        *(whole.decode(), "three", "four")
    ]
    assert texts_of("--texts", folder) == ["\ufeffone", "two", "", "three", "four"]
    assert texts_of("one\r\n") == ["one\r\n"]
    assert texts_of(given=b"a\r\nb") == texts_of("--file", "-", given=b"a\r\nb") == ["a\r\nb"]
    assert texts_of("--texts", "-", given=b"a\r\nb") == ["a", "b"]
    for arguments, sentence in (
        (["--texts", "-", "--file", "-"], "only one of --texts and --file may be -"),
        (["--texts", "-", "--texts", "-"], "--texts - must be given at most once"),
        (["--file", str(tmp_path)], "the texts and --out must be different files"),
        (["--file", str(folder / "c*")], "--file must name files, but "),
        (["--append", "a"], "--replace and --append must not be given together"),
        ([str(folder / "a.md")], "use --file "),
    ):
        refused = tokenref(*fill, *arguments)
        assert (refused.exit_code, sentence in refused.output) == (2, True), refused.output


def test_golden_records_are_added_to_those_that_a_file_has(tmp_path: Path, mine: Path) -> None:
    out, beside = tmp_path / "out.jsonl", tmp_path / "out.vocabulary.json"
    fill: list[str | Path] = ["fill", "--append", "--vocabulary", mine, "--out", out]
    first = tokenref(*fill, "one")
    assert (first.exit_code, f"{out}: 1 case, 0 duplicates" in first.output) == (0, True)
    old = parse_records(out.read_bytes(), "out")[0]
    position = msgspec.structs.replace(old, id="bpe/encode/own/out-000001", flags=[])
    out.write_bytes(dump_records("out.jsonl", [position]))  # as fill named records before
    (tmp_path / "texts.txt").write_bytes(b"two\none\ntwo\nthree\n")
    more = tokenref(*fill, "--texts", tmp_path / "texts.txt")
    assert f"{out}: 2 cases added to 1, 2 duplicates omitted" in more.output
    cases = parse_records(out.read_bytes(), "out")
    assert cases[0] == position
    assert [line["in"]["text"] for line in report(out)[1:]] == ["one", "two", "three"]
    assert tokenref("check", "heap", "--records", out).exit_code == 0
    content = out.read_bytes()
    other = tokenref("fill", "--append", "--vocabulary", "tiny", "--out", out, "four")
    assert other.exit_code == 2
    assert "but tiny is sha256:" in other.output
    assert "all records in a file have the same one" in other.output
    assert (out.read_bytes(), beside.is_file()) == (content, True)
    beside.unlink()
    assert tokenref(*fill, "four").exit_code == 0
    assert tokenref("check", "heap", "--records", out).exit_code == 0  # it was written again
    folder = tokenref("fill", "--append", "--vocabulary", "tiny", "--out", "/dev/null", "a")
    assert "/dev/null must be a file with golden records" in folder.output


def test_records_of_ones_own_are_shown_exported_judged_and_reported(
    tmp_path: Path, mine: Path
) -> None:
    out, there = tmp_path / "own.jsonl", tmp_path / "there"
    (tmp_path / "a.txt").write_text(tiny_corpus(), encoding="utf-8")
    made = tokenref("fill", "--vocabulary", mine, "--out", out, "--file", tmp_path / "a.txt")
    assert made.exit_code == 0
    (case,) = parse_records(out.read_bytes(), "out")
    own = ("--records", out)
    shown = tokenref("show", *own, case.id)
    assert (shown.exit_code, "encoded by the reference with mine" in shown.output) == (0, True)
    assert tokenref("show", *own, "--vocabulary", mine, case.id).output.startswith(case.id)
    assert tokenref("show", case.id).exit_code == 2
    made = tokenref("export", *own, "--folder", there)
    assert made.exit_code == 0, made.output
    assert re.fullmatch(r"1 questions and [1-9]\d* canaries\n", made.stderr)
    requests, responses = there / "requests.jsonl", tmp_path / "responses.jsonl"
    for engine, code in (("heap", 0), ("greedy", 1)):
        answered = subprocess.run(
            [sys.executable, "-m", "tokenref", "answer", engine, "requests.jsonl"],
            cwd=there,
            capture_output=True,
            check=True,
        )
        responses.write_bytes(answered.stdout)
        results = tmp_path / "results.jsonl"
        said = tokenref("judge", requests, responses, *own, "--json", results)
        assert said.exit_code == code, said.output
        header, *lines = report(results)
        assert header["records"] == f"sha256:{sha256(out.read_bytes()).hexdigest()}"
        assert case.id in {line.get("id") for line in lines}
    page = tmp_path / "page.html"
    assert tokenref("report", results, "--html", page).exit_code == 1
    assert "--records with their file shows them" in page.read_text("utf-8")
    told = tokenref("report", results, *own, "--html", page)
    assert (told.exit_code, "Text of a.txt, encoded by the reference" in told.output) == (1, True)
    assert "--records with their file" not in page.read_text("utf-8")
    unlike = tokenref("judge", requests, responses)
    assert (unlike.exit_code, "no record asks the question" in unlike.output) == (3, True)
    tokenref("fill", "--vocabulary", mine, "--out", out, "two", "--append")
    unlike = tokenref("judge", requests, responses, *own)
    assert (unlike.exit_code, "was exported from records sha256:" in unlike.output) == (3, True)
    for arguments, sentence in (
        (("show", case.id, "--vocabulary", mine), "--vocabulary needs --records"),
        (("show", case.id, *own, "--fixtures", tmp_path), "--fixtures cannot be used together"),
        (("export", "--pattern", "llama3"), "--pattern needs --records"),
    ):
        refused = tokenref(*arguments)
        assert (refused.exit_code, sentence in refused.output) == (2, True), refused.output


def test_only_line_feeds_end_a_text_of_ones_own(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    text = "a\u2028b\x0bc\x0cd\x1ce\x1df\x1eg\x85h\ri"
    texts.write_bytes(f"{text}\n".encode())
    result = tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", out)
    assert result.exit_code == 0, result.output
    (case,) = parse_records(out.read_bytes(), "out.jsonl")
    assert isinstance(case.input, TextInput)
    assert case.input.text == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "texts.txt"]


def test_goldens_of_ones_own_and_their_vocabulary_are_written_both_or_not_at_all(
    tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text("a\n", encoding="utf-8")
    arguments: list[str | Path] = ["fill", "--vocabulary", mine, "--texts", texts, "--out", out]

    def full(content: bytes, path: Path) -> None:
        if path == out:
            raise OSError(28, "No space left on device", ".123.tmp")
        path.write_bytes(content)

    monkeypatch.setattr("bpe_ref.formats.files.write_atomically", full)
    result = tokenref(*arguments)
    assert result.exit_code == 2
    assert f"{out} cannot be written: No space left on device" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.tiktoken", "texts.txt"]
    beside = tmp_path / "out.vocabulary.json"
    beside.write_bytes(b"before")
    assert f"{beside} exists already; use --replace" in tokenref(*arguments).output
    assert tokenref(*arguments, "--replace").exit_code == 2
    assert beside.read_bytes() == b"before"


@pytest.mark.parametrize("name", ["texts.txt", "mine.tiktoken"])
def test_what_goldens_are_made_from_is_never_overwritten(
    tmp_path: Path, mine: Path, name: str
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"a\n")
    out = tmp_path / name
    before = out.read_bytes()
    result = tokenref("fill", "--vocabulary", mine, "--texts", texts, "--out", out)
    assert result.exit_code == 2
    assert f" and --out must be different files, got {out}\n" in result.output
    assert out.read_bytes() == before


def test_engines_are_judged_by_records_of_ones_own(tmp_path: Path, mine: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text(tiny_corpus(), encoding="utf-8")
    assert tokenref("fill", "--vocabulary", mine, "--texts", texts, "--out", out).exit_code == 0
    beside = tmp_path / "out.vocabulary.json"
    for vocabulary in (mine, beside):
        good = tokenref("check", "heap", "--records", out, "--vocabulary", vocabulary)
        assert good.exit_code == 0, good.output
    path = tmp_path / "report.jsonl"
    bad = tokenref("check", "greedy", "--records", out, "--vocabulary", beside, "--json", path)
    assert bad.exit_code == 1
    again = re.search(r"again +tokenref (check greedy --id .*)", bad.output)
    assert again is not None
    assert again[1].endswith(shlex.join(["--vocabulary", str(beside), "--records", str(out)]))
    assert tokenref(*shlex.split(again[1])).exit_code == 1
    header, *_ = report(path)
    assert header["records"] == f"sha256:{sha256(out.read_bytes()).hexdigest()}"
    assert header["selection"] == {"vocabulary": [str(beside)], "records": [str(out)]}
    assert tokenref("check", "heap", "--records", out).exit_code == 0  # it lies beside them
    lone = out.rename(tmp_path / "lone.jsonl")
    assert tokenref("check", "heap", "--records", lone).exit_code == 0  # it lies in their folder
    beside.rename(tmp_path / "moved.json")
    lost = tokenref("check", "heap", "--records", lone)
    assert lost.exit_code == 3
    assert f" needs the vocabulary {mine.name}: give --vocabulary {mine.name}" in lost.output
    assert ".vocabulary.json or " in lost.output
    out = lone.rename(out)
    (tmp_path / "moved.json").rename(beside)
    other = tokenref("check", "heap", "--records", out, "--vocabulary", "tiny")
    assert other.exit_code == 2
    assert "is a record of the vocabulary sha256:" in other.output
    assert "with --upgrade, the new file is tested with the answers of the old" in other.output
    one = tokenref("check", "heap", "--records", out, "--vocabulary", mine, "--id", "nothing")
    assert one.exit_code == 3


def test_several_files_of_records_are_one_run(tmp_path: Path, mine: Path) -> None:
    files, own = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], list[str | Path]()
    vocabularies: list[str | Path] = ["tiny", mine]
    for out, vocabulary in zip(files, vocabularies, strict=True):
        assert tokenref("fill", "--vocabulary", vocabulary, "--out", out, "ab").exit_code == 0
        own += ["--records", out]
    results = tmp_path / "results.jsonl"
    run = tokenref("check", "heap", *own, "--json", results)
    assert run.exit_code == 0, run.output
    header, *lines = report(results)
    assert header["selection"] == {"records": [str(path) for path in files]}
    ids = [str(report(path)[1]["id"]) for path in files]
    assert sorted(line["id"] for line in lines if line.get("op") == "encode") == ids
    assert tokenref("show", "bpe/encode/own/*", *own).exit_code == 0
    assert tokenref("report", results, *own).exit_code == 0
    other = tokenref("check", "heap", *own, "--vocabulary", "tiny")
    assert (other.exit_code, f"{files[1]}: {ids[1]} is a record of the v" in other.output) == (2, 1)
    files[0].write_bytes(files[1].read_bytes())
    twice = tokenref("check", "heap", *own, "--vocabulary", mine)
    assert (twice.exit_code, "is used by two record files" in twice.output) == (3, True)


def test_own_records_that_fail_name_the_known_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are lists of ids of the fixtures, so own records never match one."""
    out = tmp_path / "own.jsonl"
    assert tokenref("fill", "--vocabulary", "tiny", "--out", out, tiny_corpus()).exit_code == 0
    entry = {"title": "fails", "cases": ["bpe/*"], "status": "fail", "reason": "a" * 20}
    listed = [msgspec.convert({**entry, "engine": name}, Known) for name in ("greedy", "heap")]
    monkeypatch.setattr("tokenref.commands.check.read_known", lambda *_: listed)
    sentence = "greedy has 1 known difference in tokenref's own records, and these failures may"
    failed = tokenref("check", "greedy", "--records", out)
    assert (failed.exit_code, sentence in failed.output) == (1, True), failed.output
    assert "heap has" not in tokenref("check", "heap", "--records", out).output
    (tmp_path / "known.toml").write_text("known = []\n")
    own = tokenref("check", "greedy", "--records", out, "--known", tmp_path / "known.toml")
    assert "own records" not in own.output


def test_a_new_file_is_tested_with_the_answers_of_the_old_one(tmp_path: Path) -> None:
    old, new, out = tmp_path / "old.tiktoken", tmp_path / "new.tiktoken", tmp_path / "out.jsonl"
    old.write_bytes(b"YQ== 0\nYg== 1\nYWI= 2\n")  # a, b, ab
    new.write_bytes(b"YQ== 0\nYg== 1\nYWE= 3\n")  # a, b, aa
    pattern = ["--pattern", "cl100k_base"]
    texts = tmp_path / "texts.txt"
    texts.write_text("aab\nba\nbb\n", encoding="utf-8")
    filled = tokenref("fill", "--vocabulary", old, "--texts", texts, "--out", out, *pattern)
    assert filled.exit_code == 0
    check: list[str | Path] = ["check", "reference", "--records", out, *pattern, "--vocabulary"]
    assert tokenref(*check, old, "--upgrade").exit_code == 0
    found = tokenref(*check, new, "--upgrade")
    assert found.exit_code == 1
    assert "1 of 3 answered cases failed" in found.output
    assert re.search(r"at +ids, from token 0 \(byte 0\)\n", found.output)
    assert re.search(r"expected 0 'a', 2 'ab'\n", found.output)  # of the old file
    assert re.search(r"got +3 'aa', 1 'b'\n", found.output)
    again = re.search(r"again +tokenref (check .*)", found.output)
    assert again is not None
    assert tokenref(*shlex.split(again[1])).exit_code == 1
    bare = tokenref(*check[:4], "--vocabulary", new, "--upgrade")
    assert (bare.exit_code, "new.tiktoken holds no pattern" in bare.stderr) == (1, True)
    refused = tokenref(*check[:4], "--vocabulary", old)
    assert (
        "; it holds no pattern: give the --pattern of the records, or with --upg" in refused.stderr
    )
    out.with_name("out.vocabulary.json").unlink()
    found = tokenref(*check, new, "--upgrade")  # nothing knows the old tokens
    assert re.search(r"expected 0, 2\n +got +3 'aa', 1 'b'\n", found.output)
    whole = tokenref(*check[:4], "--vocabulary", FAMILY, "--upgrade")
    assert whole.exit_code == 2
    assert "is a record of encode, which cannot be asked of" in whole.output
    alone = tokenref("check", "reference", "--upgrade", "--vocabulary", "tiny")
    assert (alone.exit_code, "--upgrade needs --records and --vocabulary" in alone.output) == (
        2,
        True,
    )


FAMILY = checkout_fixtures() / "tokenizer" / "family_llama2.json"


def test_fill_says_how_large_a_large_copy_is_and_how_to_write_none(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(FAMILY.read_bytes() + b" " * 2_000_000)
    out = tmp_path / "out.jsonl"
    said = f"{out.with_suffix('.tokenizer.json')}: the tokenizer"
    filled = tokenref("fill", "--vocabulary", large, "--out", out, "a b")
    assert f"{said}, 2 MB (--no-copy writes none)\n" in filled.output
    added = tokenref("fill", "--vocabulary", large, "--out", out, "a", "--append")
    assert f"{said}\n" in added.output  # it is there already


def test_wrong_ids_of_a_whole_tokenizer_are_shown_as_tokens(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text("Hello\n", encoding="utf-8")
    assert tokenref("fill", "--vocabulary", FAMILY, "--texts", texts, "--out", out).exit_code == 0
    other = tmp_path / "other.json"
    content = json.loads(FAMILY.read_bytes())
    content["model"]["merges"] = []
    other.write_text(json.dumps(content), encoding="utf-8")
    check: list[str | Path] = ["check", "reference", "--records", out, "--vocabulary", other]
    found = tokenref(*check, "--upgrade", "--ids-only")
    assert found.exit_code == 1
    assert re.search(r"at +ids, from token \d+\n +expected \d+ '.*'.*\n +got +\d+ '", found.output)
    content["model"] = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    content["added_tokens"], content["post_processor"] = [], None
    other.write_text(json.dumps(content), encoding="utf-8")
    found = tokenref(*check, "--upgrade", "--ids-only")  # no id of the record is in this file
    shown = r"expected 1 '<s>', 259 '\u2581', \d+ 'H', \.\.\.\n +got +0 '<unk>'"
    assert re.search(shown, found.output)


def test_other_ids_are_shown_before_other_words_when_a_file_is_replaced(tmp_path: Path) -> None:
    texts, out, other = tmp_path / "texts.txt", tmp_path / "out.jsonl", tmp_path / "other.json"
    file = FAMILY.with_name("family_gpt2.json")
    texts.write_text("a b\n" + "the longest text is the only one with another id: é\n", "utf-8")
    assert tokenref("fill", "--vocabulary", file, "--texts", texts, "--out", out).exit_code == 0
    content = json.loads(file.read_bytes())
    content["model"]["merges"].remove(["Ã", "©"])
    content["pre_tokenizer"]["use_regex"] = False
    other.write_text(json.dumps(content), encoding="utf-8")
    found = tokenref("check", "reference", "--records", out, "--vocabulary", other, "--upgrade")
    places = re.findall(r"^ +at +(.*)", found.output, re.MULTILINE)
    assert places == ["ids, from token 41", "words, entry 1 (same ids)"]


def test_expected_and_wrong_tokens_in_letters_are_both_shown_as_text(tmp_path: Path) -> None:
    texts, out, other = tmp_path / "texts.txt", tmp_path / "out.jsonl", tmp_path / "other.json"
    file = FAMILY.with_name("family_gpt2.json")
    texts.write_text("aé", encoding="utf-8")
    assert tokenref("fill", "--vocabulary", file, "--texts", texts, "--out", out).exit_code == 0
    content = json.loads(file.read_bytes())
    content["model"]["merges"] = []
    other.write_text(json.dumps(content), encoding="utf-8")
    check: list[str | Path] = ["check", "reference", "--records", out, "--vocabulary", other]
    found = tokenref(*check, "--upgrade", "--ids-only")
    assert re.search(r"expected \d+ 'é'\n +got +\d+ b'\\xc3', \d+ b'\\xa9'\n", found.output)


def test_an_option_that_takes_one_value_is_not_silently_given_two(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a\n", encoding="utf-8")
    for arguments in (
        (
            "fill",
            "--vocabulary",
            "tiny",
            "--texts",
            texts,
            "--out",
            tmp_path / "o",
            "--out",
            tmp_path / "p",
        ),
        ("check", "heap", "--known", "a.toml", "--known=b.toml"),
        ("count", "a", "--limit", "3", "--limit", "4"),
        ("vocabulary", "fetch", "gpt2", "--folder", "a", "--folder=b"),
        ("explain", "compare", "vllm", "vllm", "1,2", "--html", "a", "--html", "b"),
    ):
        found = tokenref(*arguments)
        assert (found.exit_code, "takes one value, but was given 2 times" in found.output) == (
            2,
            True,
        )
    assert tokenref("count", "--limit", "3", "--", "--limit").exit_code == 0
    assert tokenref("count", "--file", texts, "--file", texts).exit_code == 0


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"a\xffb", "must be UTF-8"), (b"", "an empty file")]
)
def test_texts_that_cannot_be_read_leave_nothing_behind(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_bytes(content)
    result = tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", out)
    assert result.exit_code == 2
    assert sentence in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]


def test_a_text_of_ones_own_is_compared_whole(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The tokenizer's job\n  is 12345 things.\n" * 20, encoding="utf-8")
    same = tokenref("check", "tiktoken", "heap", "--corpus", text, "--vocabulary", "tiny")
    assert same.exit_code == 0, same.output
    rows = [line.split() for line in same.output.splitlines() if "│" in line]
    tokens = str(load("tiny").count(text.read_text("utf-8")))
    assert [row[-5:] for row in rows] == [["1", "│", "1", "│", tokens]] * 2
    text.write_text(tiny_corpus(), encoding="utf-8")
    other = tokenref("check", "greedy", "--corpus", text, "--vocabulary", "tiny")
    assert other.exit_code == 1
    assert re.search(r"first differs at line [\d,]+, byte [\d,]+", other.output)
    assert "smallest" in other.output
    assert "greedy is not byte-pair encoding" in other.output


def test_the_json_report_of_a_text_has_a_line_per_engine(tmp_path: Path) -> None:
    text, path = tmp_path / "text.txt", tmp_path / "report.jsonl"
    text.write_text(tiny_corpus(), encoding="utf-8")
    arguments: list[str | Path] = ["--corpus", text, "--vocabulary", "tiny", "--json", path]
    assert tokenref("check", "heap", "greedy", *arguments).exit_code == 1
    header, heap, greedy, footer = report(path)
    data = text.read_bytes()
    digest = sha256(data).hexdigest()
    assert header["text"] == {"path": str(text), "bytes": len(data), "sha256": digest}
    assert header["vocabulary"] == "tiny"
    assert header["vocab"] == tiny_vocabulary().digest()
    assert header["selection"] == {"vocabulary": ["tiny"], "corpus": [str(text)]}
    assert (heap["engine"], heap["status"]) == ("heap", "same")
    assert heap["tokens"] == load("tiny").count(tiny_corpus())
    assert greedy["status"] == "different"
    found = greedy["difference"]
    assert sorted(found) == ["byte", "expected", "got", "line"]
    assert found["expected"] != found["got"]
    for token, content in found["expected"]:
        assert tiny_vocabulary().tokens[token].hex() == content
    assert greedy["smallest"] in tiny_corpus()
    assert footer == {
        "kind": "footer",
        "engines": 2,
        "statuses": {"same": 1, "different": 1},
        "complete": True,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "reference", "--json"],
        ["check", "reference", "--corpus", "text.txt", "--vocabulary", "tiny", "--json"],
        ["fill", "--vocabulary", "tiny", "--texts", "text.txt", "--out"],
        ["train", "text.txt", "--size", "300", "--out"],
    ],
)
def test_where_nothing_can_be_written_is_noticed_before_the_work(
    arguments: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for work in (
        *("options.open_catalogue", "check.CorpusComparer", "check.run_engine"),
        *("vocabulary.read_text", "vocabulary.train"),
    ):
        monkeypatch.setattr(f"tokenref.commands.{work}", _never)
    monkeypatch.setattr("tokenref.goldens.texts_in", _never)
    monkeypatch.chdir(tmp_path)
    result = tokenref(*arguments, "no/such/report.jsonl")
    assert result.exit_code == 2
    assert result.output == (
        "tokenref: no/such/report.jsonl cannot be written: No such file or directory\n"
    )


def _never(*_: object, **__: object) -> None:
    raise AssertionError("nothing may have been done yet")


def test_an_interrupted_run_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tokenref.commands.check.run_engine", interrupted)
    result = tokenref("check", "reference", "--id", EXAMPLE)
    assert result.exit_code == 130
    assert result.output.strip() == "tokenref: interrupted"


def test_a_bug_here_is_no_failure_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenref.commands.check.run_engine", _never)
    result = tokenref("check", "reference", "--id", EXAMPLE)
    assert result.exit_code == 4
    assert "tokenref: internal error: AssertionError: nothing may have been done" in result.stderr
    assert "Traceback" in result.stderr


def test_the_shortest_failures_are_shown_first(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    result = tokenref("check", "greedy", "--id", "bpe/encode/[a-e]*", "--json", path)
    failed = {line["id"] for line in report(path) if line.get("status") == "fail"}
    failures = [
        (len(request_text(msgspec.to_builtins(case.input))), case.id)
        for case in open_catalogue().cases
        if op_of(case) == "encode" and case.id in failed
    ]
    shown = re.findall(r"^  (bpe/\S+) fail$", result.output, re.MULTILINE)
    assert len(failures) > SHOWN_FAILURES
    assert shown == [min(failures)[1]]  # one example, because all have the same likely cause
    assert "greedy is not byte-pair encoding" in result.output
    assert "is not byte-pair" not in tokenref("check", "heap", "--id", EXAMPLE).output


def test_other_fixtures_and_known_differences_are_named_when_a_case_is_asked_again(
    fixtures: Path, tmp_path: Path
) -> None:
    known = tmp_path / "my known.toml"
    known.write_text("known = []", encoding="utf-8")
    arguments: list[str | Path] = ["--id", EXAMPLE, "--fixtures", fixtures, "--known", known]
    result = tokenref("check", "greedy", *arguments)
    again = re.search(r"again +tokenref check greedy --id \S+ (.*)", result.output)
    assert again is not None
    assert shlex.split(again[1]) == ["--fixtures", str(fixtures), "--known", str(known)]


def test_a_detail_that_can_be_split_in_two_ways_stays_whole() -> None:
    for detail in ("pieces, entry 0: expected ', got ', got 'x'", "an engine expected more, got 1"):
        assert split_detail(detail) == [("got", detail)]
    assert split_detail("expected A or B, got C") == [("expected", "A or B"), ("got", "C")]


def test_own_records_are_listed_and_canaries_are_not_suggested_instead(tmp_path: Path) -> None:
    out = tmp_path / "own.jsonl"
    assert tokenref("fill", "--vocabulary=tiny", "--out", out, "a b" + "c" * 99).exit_code == 0
    [record] = report(out)[1:]
    listed = tokenref("show", "--records", out)
    assert (listed.exit_code, listed.stdout.count("\n")) == (0, 1)
    assert listed.stdout.startswith(f'{record["id"]}\t{{"text": "a bccc')
    assert len(listed.stdout) < 150
    lines = tokenref("show", "--records", out, "--json").stdout
    assert lines == out.read_text("utf-8").partition("\n")[2]
    for typed, said in (
        ("tokenize/own/*", "no record has the id 'tokenize/own/*'; --records alone lists all\n"),
        (record["id"][:-1], f"did you mean {record['id']}?; --records alone lists all\n"),
    ):
        unknown = tokenref("show", typed, "--records", out)
        assert unknown.exit_code == 2
        assert said in unknown.stderr
        assert "canary" not in unknown.stderr
    missing = tokenref("show")
    assert (missing.exit_code, "Missing argument 'ID|PAGE|WORD'." in missing.stderr) == (2, True)


def test_an_unknown_id_leads_to_the_nearest_and_canaries_can_be_shown() -> None:
    catalogue = open_catalogue()
    case = catalogue.cases[0]
    result = tokenref("show", f"{case.id}x")
    assert result.exit_code == 2
    assert f"no record has the id '{case.id}x'; did you mean {case.id}" in result.output
    assert catalogue.canaries[0].id in tokenref("show", catalogue.canaries[0].id).output
    assert "did you mean docs/book/merging.md?" in tokenref("show", "merging").output


def test_show_prints_what_a_word_means_or_the_whole_glossary() -> None:
    rows = tokenref("show", "docs/book/glossary.md").output.count("\n| ") - 2
    every = tokenref("show", "glossary").output.splitlines()
    assert len(every) == rows > 40
    for word in ("rank", "Top-P", "vocabulary"):
        result = tokenref("show", word)
        assert result.exit_code == 0
        [line] = result.output.splitlines()
        assert line in every
        assert word.lower() in line.partition(":")[0]
        [page] = re.findall(r"\((docs/[^)]*#[^)]*)\)", line)[:1]
        assert tokenref("show", page).exit_code == 0
    assert "a random number in [0, 1): see where they come from (docs/" in "\n".join(every)


FILTERS_AND_PENALTIES: Final = [
    *("top_k", "top_p", "min_p", "typical", "epsilon", "eta", "top_n_sigma", "top_a", "top_h"),
    *("tail_free", "xtc", "mirostat_1", "mirostat_2", "adaptive_p", "temperature", "logit_bias"),
    *("repetition_penalty", "frequency_penalty", "presence_penalty", "no_repeat_ngram", "dry"),
    *("lz", "greedy"),
]


@pytest.mark.parametrize(
    "word",
    [
        *("mirostat", "XTC", "DRY", "speculative decoding", "nucleus", "stale", "tie", "surprise"),
        *("pattern", "n-gram", "byte fallback", "dead", "only taken whole", "combining mark"),
        *(*FILTERS_AND_PENALTIES, *ENCODERS, *RACES, "inverse CDF"),
        *("Unigram", "WordPiece", "BPE"),
    ],
)
def test_show_knows_the_words_of_the_book_with_and_without_quotes(word: str) -> None:
    quoted, split = tokenref("show", word), tokenref("show", *word.split())
    assert quoted.exit_code == 0
    assert quoted.output == split.output != ""


def test_show_says_where_to_look_for_what_it_does_not_know() -> None:
    assert set(FILTERS_AND_PENALTIES) <= {*STEPS}
    for word, hint in (
        ("mirostad", "(`tokenref show glossary` lists all); did you mean mirostat"),
        ("encoder-repetition", "; `tokenref rules encoder_repetition --definition` explains"),
    ):
        result = tokenref("show", word)
        assert result.exit_code == 2
        assert hint in result.output


def test_a_pattern_shows_all_records_whose_ids_match() -> None:
    shown = tokenref("show", "bpe/encode/examples/e2-leftmost").output
    assert '"pieces": ["616161"]' in shown
    assert re.search(r'\n  pieces +\["aaa"\]\n', shown)
    shown = tokenref("show", "sampling/top_k/sizes/row-6?").output
    assert re.findall(r"^sampling/\S+$", shown, re.MULTILINE) == [
        f"sampling/top_k/sizes/row-{size}" for size in (63, 64, 65)
    ]
    lines = tokenref("show", "--json", "sampling/top_k/sizes/row-6?").output.splitlines()
    assert [json.loads(line)["id"][-2:] for line in lines] == ["63", "64", "65"]


@pytest.mark.parametrize("width", [80, 160])
def test_the_names_of_mutants_are_never_cut(width: int) -> None:
    trials = [Trial(mutant, asked=3469) for mutant in MUTANTS.values()]
    some = open_catalogue().cases[:1]
    for trial in trials:
        trial.killers = some * 1700
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        print_gate(console, GateReport(trials, asked=3469, flags=[]))
    shown = capture.get()
    for name in MUTANTS:
        assert re.search(rf"^{name} .* 1,700 .* 49\.0%", shown, re.MULTILINE)
    assert "3,469 cases" in shown
    assert "…" not in shown


def test_a_digest_is_printed_whole_and_what_is_left_out_is_said() -> None:
    result = tokenref("vocabulary", "audit", checkout_fixtures() / "vocab" / "doubles.json")
    assert re.search(r"^digest +sha256:[0-9a-f]{64}$", result.output, re.MULTILINE)
    assert re.search(r"^missing bytes +\d+: 00 01 02 03 04, \.\.\.$", result.output, re.MULTILINE)


def test_a_piece_that_is_taken_whole_is_said_to_be(tmp_path: Path) -> None:
    text = " the" if load("tiny").count(" the") == 1 else "the"
    assert "whole pieces that are tokens are not merged" in tokenref("trace", text).output
    assert "whole pieces" not in tokenref("trace", "qqqqzz").output
    assert tokenref("trace", "a").output == "piece 'a' is token 97, a single byte\n"
    rules = TextRules(whole_piece=True)
    lonely = vocabulary_by_concatenation({b"a": 0, b"xyz": 1}, text=rules)
    path = tmp_path / "lonely.json"
    path.write_bytes(dump_plain_json(NamedVocabulary("lonely", "", lonely)))
    result = tokenref("trace", "xyz", "--vocabulary", path)
    assert result.exit_code == 0
    assert "is token 1: whole pieces that are tokens are not merged" in result.output
    assert tokenref("trace", "xy", "--vocabulary", path).exit_code == 2


def test_one_record_can_be_shown() -> None:
    case = open_catalogue().cases[0]
    result = tokenref("show", case.id)
    assert result.exit_code == 0
    assert case.why in result.output.replace("\n", " ")


def test_a_sampler_s_record_is_shown_in_decimal_or_bit_for_bit() -> None:
    case = "sampling/top_p/boundary/standard-1-below"
    result = tokenref("show", case)
    assert '{"params": {"p": {"f32": [0.49999994]}}, "probs": {"f32": [0.5, 0.25' in result.output
    rule = "standard: keeps the most probable tokens until their probabilities sum to p"
    assert f"rules   {rule}" in result.output
    line = tokenref("show", case, "--json").output
    assert line in (checkout_fixtures() / "sampling/top_p/boundary.jsonl").read_text(
        encoding="ascii"
    )


def test_a_text_can_be_encoded_and_traced() -> None:
    result = tokenref("encode", "don't")
    ids = [int(line.split("\t")[0]) for line in result.stdout.splitlines()]
    assert ids == load("tiny").encode("don't", special="ordinary")
    assert 'piece "\'t"' in tokenref("trace", "don't").output


def test_a_vocabulary_can_be_trained_and_examined(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "mine.tiktoken"
    text.write_text("low lower lowest " * 50, encoding="utf-8")
    result = tokenref("train", text, "--size", "263", "--out", out)
    assert result.exit_code == 0, result.output
    assert b" low" in parse_tiktoken(out.read_bytes(), str(out))
    audit = tokenref("vocabulary", "audit", out)
    assert audit.exit_code == 0
    assert re.search(r"dead tokens\s+0", audit.output)
    assert re.search(r"missing bytes\s+0", audit.output)


def test_a_vocabulary_with_fewer_tokens_than_wanted_is_written_and_said(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "mine.tiktoken"
    text.write_text("to be to be", encoding="utf-8")
    result = tokenref("train", text, "--size", "5000", "--out", out)
    assert (result.exit_code, result.stdout) == (
        1,
        f"{out}: 259 tokens; use it with --pattern cl100k_base\n",
    )
    fewer = "it has fewer than the 5,000 tokens of --size: no pair is left that occurs twice"
    assert result.stderr == f"tokenref: {out}: {fewer}\n"
    assert len(load(out)) == 259


def test_fixtures_with_another_digest_are_refused_before_an_engine_is_asked(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    check = ("check", "naive", "--id", EXAMPLE, "--json", results, "--fixtures-digest")
    refused = tokenref(*check, "sha256:" + "0" * 64)
    assert refused.exit_code == 3
    assert f"fixtures {VERSION} here have the digest {DIGEST}, not 'sha256:000" in refused.output
    remedy = "install the version of tokenref with the expected ones, or expect the digest of these"
    assert f": {remedy}\n" in refused.output
    assert read_results(results).header.trouble.startswith(f"the fixtures {VERSION} here have ")
    assert tokenref(*check, DIGEST).exit_code == 0
    both = tokenref("check", "naive", "--records", "x", "--fixtures-digest", DIGEST)
    assert "--fixtures-digest cannot be used together with --records" in both.output


def test_the_digest_of_the_fixtures_is_that_of_the_manifest_file() -> None:
    assert f"sha256:{sha256((checkout_fixtures() / MANIFEST).read_bytes()).hexdigest()}" == DIGEST


def test_results_have_the_version_of_the_fixtures(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert tokenref("check", "naive", "--id", EXAMPLE, "--json", path).exit_code == 0
    assert read_results(path).header.fixtures_version == VERSION
    page = tmp_path / "page.html"
    assert tokenref("report", path, "--html", page).exit_code == 0
    assert f"fixtures {VERSION} {DIGEST[:19]}" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("engine", "message", "color"),
    [("naive", "1 of 1 passed", "brightgreen"), ("greedy", "1 of 1 failed", "red")],
)
def test_a_badge_shows_the_result(tmp_path: Path, engine: str, message: str, color: str) -> None:
    path = tmp_path / "badge.json"
    tokenref("check", engine, "--id", "bpe/encode/examples/e13-*", "--badge", path)
    shown = {"schemaVersion": 1, "label": "tokenref", "message": message, "color": color}
    assert json.loads(path.read_text()) == shown


def test_a_badge_says_that_known_differences_are_out_of_date_or_answers_too_few() -> None:
    run = Run("one", "1", 0, stale=["'a/*' (fails): no case that matches it differs"])
    results = read_results(Path("results"), dump_report([run], {}))
    shown = json.loads(badge([results], 1))
    assert shown["message"] == "0 of 0 passed, 1 known difference did not occur"
    assert shown["color"] == "yellow"
    run = Run("one", "1", 0, incidents=["only 2 of 3 cases were answered"])
    results = read_results(Path("results"), dump_report([run], {}))
    assert json.loads(badge([results], 1))["message"] == "failed: only 2 of 3 cases were answered"


def test_a_badge_shows_known_crashes_and_that_only_ids_were_compared(tmp_path: Path) -> None:
    change = "if len(case['in']['text']) == 3: os.abort()"
    command = changed(tmp_path, change, ops=["encode", "tokenize"], before="import os")
    (listed := tmp_path / "known.toml").write_text(
        KNOWN_ENTRY.format(engine="honest", case="bpe/encode/examples/e13-*").replace(
            '"fail"', '"crash"'
        )
    )
    path = tmp_path / "badge.json"
    ids = ("--id", "bpe/encode/examples/e13-*", "--id", "bpe/tokenize/families/family-gpt2-special")
    how = ("--known", listed, "--ids-only", "--restarts", "0", "--badge", path)
    shown = tokenref("check", "--cmd", command, *ids, *how)
    assert shown.exit_code == 0, shown.output
    message = "1 of 2 passed, 1 known to crash or hang, only ids compared"
    badge = json.loads(path.read_text())
    assert (badge["message"], badge["color"]) == (message, "yellow")


def test_the_version_names_the_fixtures() -> None:
    shown, named = tokenref("--version"), f"fixtures {VERSION}, {DIGEST}\n"
    assert (shown.exit_code, shown.output) == (
        0,
        f"tokenref, version {version('tokenref')}\n{named}",
    )
    assert tokenref("engines").output.startswith(named)


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--cmd", "./missing"], 2, "'./missing' cannot be started: No such file or directory"),
        (["--cmd", "true"], 3, "--cmd true: no answer to hello: it ended with exit status 0"),
        (["naive", "--fixtures-digest", "sha256:0"], 3, "the fixtures "),
        (["naive", "--id", "nothing"], 3, "the selection matches none of the "),
        (["naive", "--op", "top_p"], 3, "no cases were run: "),
    ],
)
def test_old_reports_do_not_survive_a_run_that_proves_nothing_and_new_ones_say_why(
    tmp_path: Path, options: list[str], code: int, why: str
) -> None:
    names = {"--badge": "b.json", "--junit": "j.xml", "--html": "p.html", "--json": "r.jsonl"}
    paths = {option: tmp_path / name for option, name in names.items()}
    for path in paths.values():
        path.write_text("old")
    reports = [part for pair in paths.items() for part in pair]
    assert tokenref("check", *options, *reports).exit_code == code
    message = json.loads(paths["--badge"].read_text())["message"]
    assert message.startswith(f"invalid run: {why}")
    assert len(message) < 100
    assert f'<error message="{escape(why, quote=False)}' in paths["--junit"].read_text("utf-8")
    assert escape(why) in paths["--html"].read_text("utf-8")
    results = read_results(paths["--json"])
    troubles = [each for line in results.engines.values() for each in line.trouble]
    assert [results.header.trouble, *troubles][-1].startswith(why)
    shown = tokenref("report", paths["--json"])
    assert (shown.exit_code, why in shown.output) == (3, True)


@pytest.mark.parametrize(
    "options",
    [
        *("", "naive --op no-such", "naive --corpus {path}", "naive --records {path} --fixtures ."),
        "naive --corpus {path}",
        "naive --corpus {path} --vocabulary tiny --answered-at-least 1",
    ],
)
def test_after_a_mistake_in_the_options_files_stay_as_they_were(
    tmp_path: Path, options: str
) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("old")
    given = options.format(path=__file__).split()
    assert tokenref("check", *given, "--json", path).exit_code == 2
    assert path.read_text() == "old"


def test_reports_of_a_run_that_is_killed_do_not_show_an_older_one(tmp_path: Path) -> None:
    """The reports are written before anything is run, the results to compare with excepted."""
    new, old, junit = (tmp_path / name for name in ("new.jsonl", "old.jsonl", "junit.xml"))
    case = results_files.line("one", "bpe/count/topic/a", "pass")
    results_files.write(old, results_files.whole([case]))
    with click.Context(main):
        Wanted(junit=junit, old=read_results(old)).begin(new, {})
        assert read_results(new).header.trouble == "it did not finish"
        assert 'message="it did not finish"' in junit.read_text()
        before = old.read_bytes()
        Wanted(old=read_results(old)).begin(old, {})
        assert old.read_bytes() == before


def test_an_engine_that_answers_fewer_cases_than_demanded_fails(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    check = ("check", "naive", "--id", EXAMPLE, "--answered-at-least")
    assert tokenref(*check, "24", "--json", path).exit_code == 0
    result = tokenref(*check, "25", "--only-changes", path)
    said = "naive: only 24 of 24 cases were answered, not the 25 of --answered-at-least\n"
    assert (result.exit_code, said in result.output) == (1, True)
    assert said in tokenref(*check, "25").output


def test_a_report_of_shards_fails_if_one_never_arrived(tmp_path: Path) -> None:
    shards = [tmp_path / "count.jsonl", tmp_path / "encode.jsonl"]
    for path in shards:
        tokenref("check", "naive", "--vocabulary", "tiny", "--op", path.stem, "--json", path)
    sizes = [read_results(path).footer.statuses["pass"] for path in shards]
    demanded = (*("--answered-at-least", str(sum(sizes))), "--badge", tmp_path / "badge.json")
    whole = tokenref("report", *shards, *demanded)
    assert (whole.exit_code, "--answered-at-least" in whole.output) == (0, False)
    other = tmp_path / "other.jsonl"  # as a run of own records: it neither fails nor adds anything
    other.write_bytes(shards[1].read_bytes().replace(b'"fixtures":"', b'"records":"'))
    for arrived in ([shards[0]], [shards[0], other]):
        lost = tokenref("report", *arrived, *demanded)
        said = f"{max(sizes) if other in arrived else sizes[0]:,}"
        assert lost.exit_code == 1
        assert f"naive: only {said} of " in lost.output
        badge = json.loads((tmp_path / "badge.json").read_bytes())
        assert (badge["color"], "failed: only" in badge["message"]) == ("red", True)
    added = tokenref("report", *shards, other, *demanded)
    assert "--answered-at-least" not in added.output


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("naive", "naive\x80", "known.toml: not a list of known differences: it is not UTF-8"),
        (
            "[[known]]",
            "known = []\n[more]",
            "it must contain [[known]] entries only, or known = []",
        ),
        ('"differs"', '"no"', "entry 1: title must be a text of at least 3 characters, got 'no'"),
        ('"fail"', '"failed"', "status must be fail, wrong_error, crash, timeout or incident, got"),
        (
            "cases =",
            "case =",
            "the keys are title, engine, cases, status, reason, link, versions, got 'case'",
        ),
        ('["*"]', '"*"', "cases must be a list of one or more ids, which may contain * and ?"),
        (
            "It is an example that differs, for this test.",
            "It is.",
            "entry 1: reason must be a text of at least 20 characters, got 'It is.'",
        ),
        (
            'status = "fail"\n',
            "",
            "status is missing; it must be fail, wrong_error, crash, timeout or",
        ),
    ],
)
def test_a_mistake_in_a_list_of_known_differences_is_named_with_its_rule(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    path = tmp_path / "known.toml"
    entry = KNOWN_ENTRY.format(engine="naive", case="*")
    path.write_bytes(entry.replace(old, new).encode("latin-1"))
    shown = tokenref("check", "naive", "--id", EXAMPLE, "--known", path)
    assert shown.exit_code == 3
    assert sentence in shown.output


def test_a_list_of_known_differences_may_have_no_link_and_lines_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    entry = KNOWN_ENTRY.format(engine="greedy", case="bpe/encode/examples/e13-*")
    path.write_bytes(entry.replace('link = ""\n', "").replace("\n", "\r\n").encode())
    only = ("--id", "bpe/encode/examples/e13-*")
    assert tokenref("check", "greedy", *only, "--known", path).exit_code == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda _: b"", "own.jsonl: the file is empty"),
        (gzip.compress, "own.jsonl: the file is compressed; decompress it with gunzip first"),
        (lambda data: data.replace(b"\n", b"\r\n"), "lines must end with a line feed only"),
    ],
)
def test_a_record_file_that_was_converted_or_is_empty_says_so(
    tmp_path: Path, change: Callable[[bytes], bytes], sentence: str
) -> None:
    path = tmp_path / "own.jsonl"
    (tmp_path / "a.txt").write_text("to be\n")
    filled = ("--vocabulary", "tiny", "--texts", tmp_path / "a.txt", "--out", path)
    assert tokenref("fill", *filled).exit_code == 0
    path.write_bytes(change(path.read_bytes()))
    shown = tokenref("check", "naive", "--records", path, "--vocabulary", "tiny")
    assert shown.exit_code == 3
    assert sentence in shown.output


def test_a_list_of_known_differences_that_names_no_engine_of_the_run_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "known.toml"
    entry = KNOWN_ENTRY.format(engine="naiv", case=EXAMPLE)
    path.write_text(entry)
    shown = tokenref("check", "naive", "--id", EXAMPLE, "--known", path)
    sentence = "an entry must be about naive, but all are about naiv; did you mean 'naive'?\n"
    assert shown.exit_code == 3
    assert shown.output == f"tokenref: {path}: {sentence}"
    path.write_text(entry + KNOWN_ENTRY.format(engine="naive", case="bpe/encode/other"))
    shown = tokenref("check", "naive", "--id", EXAMPLE, "--known", path)
    assert (shown.exit_code, "about naive" in shown.output) == (0, False)
    shown = tokenref("check", "naive", "heap", "--id", EXAMPLE, "--known", path)
    assert f"{path} has no entry for heap, only for naiv, naive\n" in shown.output


def test_an_entry_holds_for_the_versions_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    entry = KNOWN_ENTRY.format(engine="naive", case=EXAMPLE)  # which passes
    for versions, code in {"": 1, "==0.1": 1, ">=0.1, <0.2": 1, "<0.1": 0, ">0.1.0": 0}.items():
        path.write_text(f'{entry}versions = "{versions}"\n')
        result = tokenref("check", "naive", "--id", EXAMPLE, "--known", path)
        assert result.exit_code == code, versions
        assert ("is listed as a known difference" in result.output) == bool(code)
    path.write_text(f'{entry}versions = "0.1"\n')
    result = tokenref("check", "naive", "--id", EXAMPLE, "--known", path)
    assert result.exit_code == 3
    assert "versions must be conditions such as <0.24 or >=0.7, <0.9, got '0.1'" in result.output


def test_a_list_that_is_out_of_date_can_be_written_without_what_passes(tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(KNOWN_ENTRY.format(engine="naive", case=EXAMPLE))  # which passes
    arguments: list[str | Path] = ["check", "naive", "--id", EXAMPLE, "--known", old]
    shown = tokenref(*arguments).output
    assert "records pass that the list of known differences names. The smallest:" in shown
    assert "--write-known FILE writes the list of known differences without what passes" in shown
    shown = tokenref(*arguments, "--write-known", new).output
    removed = "0 new entries (old ones: 0 kept, 0 shortened, 1 removed)\n"
    assert f"{new} lists the failures in {removed}" in shown
    assert new.read_text() == "known = []\n"
    other = KNOWN_ENTRY.format(engine="greedy", case=EXAMPLE)
    both = KNOWN_ENTRY.format(engine="naive", case=f'{EXAMPLE}", "bpe/count/*')
    old.write_text(old.read_text() + other + both)
    new.unlink()
    shown = tokenref(*arguments, "--write-known", new).output
    sentence = "in 0 new entries (old ones: 1 kept, 1 of them not run, 1 shortened, 1 removed)\n"
    assert sentence in shown


KNOWN_ENTRY = """[[known]]
title = "differs"
engine = "{engine}"
cases = ["{case}"]
status = "fail"
reason = "It is an example that differs, for this test."
link = ""
"""


def hanging(folder: Path) -> Path:
    """Return a program that answers hello and nothing else."""
    program = folder / "hangs"
    ops = {"top_k": {"profiles": ["standard"]}}
    hello = json.dumps({"proto": 1, "impl": {"name": "hangs", "version": "1"}, "ops": ops})
    program.write_text(f"#!/bin/sh\nread line\necho '{hello}'\nexec sleep 100\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("sys.exit(0)", ""),
        (
            "sys.exit('leaks\\nSUMMARY: a leak\\nbye')",
            "exit status 1; its last line on standard error",
        ),
        ("os.abort()", "it was ended by SIGABRT"),
    ],
)
def test_a_program_that_fails_after_bye_fails_the_run_and_is_a_problem(
    end: str, said: str, tmp_path: Path
) -> None:
    command = changed(tmp_path, ops=["greedy", "encode"], before="import os", bye=end)
    results = tmp_path / "results.jsonl"
    shown = tokenref("check", "--cmd", command, "--op", "greedy", "--json", results)
    incidents = read_results(results).engines["honest"].incidents
    assert (shown.exit_code, len(incidents)) == (int(bool(said)), int(bool(said)))
    assert all(each.startswith("after bye, it ") and said in each for each in incidents)
    assert all(("\nlog: leaks\n" in each) == ("leaks" in end) for each in incidents)
    assert "log: leaks" not in shown.output
    (text := tmp_path / "text.txt").write_text("one two\n", encoding="ascii")
    texts = ("--corpus", text, "--vocabulary", "tiny", "--json", results)
    shown = tokenref("check", "--cmd", command, *texts)
    *_, last = map(json.loads, results.read_text("utf-8").splitlines())
    assert shown.exit_code == int(bool(said))
    assert (last["kind"], "honest: after bye, it " in shown.output) == (
        ("incident", True) if said else ("footer", False)
    )
    fuzzed = tokenref("fuzz", "--cmd", command, "--op", "greedy", "--cases", "16", "--seed", "1")
    assert fuzzed.exit_code == int(bool(said))
    assert (fuzzed.output.count("honest: after bye, it "), said in fuzzed.output) == (
        int(bool(said)),
        True,
    )
    doctor = tokenref("doctor", "--cmd", command)
    assert doctor.exit_code == int(bool(said))
    assert ("PROBLEM bye: it " in doctor.output) == bool(said)
    assert ("ok      bye: it ended by itself" in doctor.output) == (not said)


def test_a_misspelt_profile_of_a_program_is_printed(tmp_path: Path) -> None:
    program = hanging(tmp_path)
    sentence = (
        """hangs: no record of top_k has the profile 'standart'; did you mean "standard"?\n"""
    )
    program.write_text(program.read_text().replace("standard", "standart"))
    shown = tokenref("check", "--cmd", program, "--op", "top_k")
    assert (shown.exit_code, sentence in shown.output) == (3, True)
    shown = tokenref("check", "--cmd", program, "--op", "top_p")
    assert (shown.exit_code, "standart" in shown.output) == (3, False)


LARGEST_SO_FAR: Final = """
        if 'ok' in result:
            last = max(last, result['ok']['token'])
            result['ok']['token'] = last
"""
REFUSES_EVER_AFTER: Final = """
        last += 'err' in result
        if last:
            result.pop('ok', None)
            result['err'] = {'code': 'INVALID_ROW', 'msg': 'a flag that is never cleared'}
"""


@pytest.mark.parametrize("change", [LARGEST_SO_FAR, REFUSES_EVER_AFTER])
def test_an_answer_that_depends_on_earlier_questions_is_said_to(
    tmp_path: Path, change: str
) -> None:
    command = changed(tmp_path, change, before="last = 0")
    shown = tokenref("check", "--cmd", command, "--op", "greedy", "--profile", "standard")
    assert shown.exit_code == 1
    assert "pass if a new process is asked nothing else: the program seems to keep" in shown.output


def test_a_program_with_random_ids_is_said_to_be_not_deterministic(tmp_path: Path) -> None:
    """More records fail than are asked again: a third of these stands for all."""
    change = """
        if 'ok' in result:
            result['ok']['ids'] = [random.randrange(1000) for _ in range(3)]
    """
    command = changed(tmp_path, change, before="import random")
    shown = tokenref("check", "--cmd", command, "--op", "encode", "--id", "bpe/encode/random/*")
    assert shown.exit_code == 1
    (count,) = re.findall(rf"These (\d+) failures have in common: {DIFFERS}", shown.output)
    assert int(count) > _MOST_AGAIN
    assert "no known cause" not in shown.output


def test_what_a_random_program_fails_is_not_listed_and_is_said_to_be_random_only(
    tmp_path: Path,
) -> None:
    change = """
        if 'ok' in result and random.random() < 0.3:
            result['ok']['ids'] = [*result['ok']['ids'], 1]
    """
    command = changed(tmp_path, change, before="import random")
    known = tmp_path / "known.toml"
    run = ("check", "--cmd", command, "--op", "encode", "--id", "bpe/encode/random/*")
    shown = tokenref(*run, "--write-known", known)
    assert shown.exit_code == 1
    assert DIFFERS in shown.output
    assert "new process" not in shown.output
    assert "operations whose answers differ are not listed" in " ".join(shown.output.split())
    assert known.read_text("utf-8") == "known = []\n"


def test_incidents_of_one_fault_are_one_line_and_one_entry(tmp_path: Path) -> None:
    """A crash may leave nothing on standard error, so only its signal tells what it was."""
    change = """
        asked += 1
        if asked % 25 == 0:
            os.abort()
    """
    command = changed(tmp_path, change, before="import os; asked = 0")
    known = tmp_path / "known.toml"
    run = ("check", "--cmd", command, "--op", "greedy", "--restarts", "1000")
    shown = tokenref(*run, "--write-known", known)
    assert shown.exit_code == 1
    assert shown.output.count("SIGABRT") == 1
    assert re.search("; and [1-9] more like it", shown.output)
    text = known.read_text("utf-8")
    assert text.count("[[known]]") == text.count('"*it was ended by SIGABRT*"') == 1
    known.write_text(text.replace("TODO: why?", "Nobody knows why it gives up."), "utf-8")
    assert tokenref(*run, "--known", known).exit_code == 0


def test_a_program_that_is_given_up_is_not_said_to_answer_otherwise(tmp_path: Path) -> None:
    change = """
        asked += 1
        if asked > 5:
            sys.exit(3)
        if 'ok' in result:
            result['ok']['token'] += 1
    """
    command = changed(tmp_path, change, before="asked = 0")
    shown = tokenref("check", "--cmd", command, "--op", "greedy", "--restarts", "1")
    assert shown.exit_code == 3  # as the page about CI says
    assert "the engine was abandoned" in shown.output
    assert DIFFERS not in shown.output


def test_draws_of_a_stream_that_goes_on_are_not_said_to_depend_on_earlier_questions(
    tmp_path: Path,
) -> None:
    """A new process answers its first question right, and all later ones wrong."""
    before = """
        from tokenref.engines.reference_laws import example_of_draws
        asked = 0
    """
    change = """
        if result.pop('skip', None):
            right = example_of_draws('stat', message['profile'], case['in'])
            result['ok'] = {'counts': [[0, case['in']['draws']]]} if asked else right
            asked += 1
    """
    command = changed(tmp_path, change, before=before)
    shown = tokenref("check", "--cmd", command, "--op", "stat", "--profile", "standard")
    assert shown.exit_code == 1
    assert "every draw gives the same token" in shown.output
    assert "a new process" not in shown.output


def test_a_known_wrong_answer_is_not_said_to_depend_on_earlier_questions(tmp_path: Path) -> None:
    """It is the answer of a canary, so a judge that is right about it says `pass`."""
    change = """
        if 'ok' in result:
            row = unpack(case['in']['logits'])
            result['ok']['token'] = len(row) - 1 - row[::-1].index(max(row))
    """
    command = changed(tmp_path, change, before="from tokenref.floats import unpack")
    shown = tokenref("check", "--cmd", command, "--id", "sampling/greedy/greedy/*")
    assert shown.exit_code == 1
    assert "seems to keep" not in shown.output


def test_that_an_engine_hangs_is_printed_at_once(tmp_path: Path) -> None:
    limits = ["--timeout", "0.2", "--op", "top_k"]
    command = ["check", "--cmd", str(hanging(tmp_path)), *limits]
    running = subprocess.Popen(
        [sys.executable, "-m", "tokenref", *command], stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    line = running.stderr.readline()
    assert line.startswith("tokenref: hangs: it did not answer within ")
    assert line.endswith(" seconds; it is ended and started again, at most 20 times\n")
    assert running.poll() is None
    running.terminate()
    running.communicate()


def test_who_sees_that_a_program_was_started_again_is_told_what_shows_why(tmp_path: Path) -> None:
    program = hanging(tmp_path)
    program.write_text(program.read_text().replace("exec sleep 100", "exit 1"))
    asked = ("--id", "sampling/top_k/rows/far-apart", "--timeout", "9")
    shown = tokenref("check", "--cmd", program, *asked)
    said = " times in all. The line `again` of such a question asks it alone\n"
    assert said in shown.output
    again = f"{program}.again"
    once = f"test ! -e {again} || exit 3; touch {again}; read "
    program.write_text(program.read_text().replace("read ", once, 1))
    shown = tokenref("check", "--cmd", program, *asked)
    assert (
        f"hangs was started again, once. To find out why: tokenref doctor --cmd {program} "
        "--timeout 9\n"
    ) in shown.output


def test_a_command_that_waits_for_a_program_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tokenref.commands.paths.SLOW", 0.05)
    for command in ("check", "doctor"):
        shown = tokenref(command, "--cmd", "sleep 100", "--timeout-to-start", "1")
        waiting = "tokenref: waiting for an answer of sleep 100; it has 1 seconds to answer hello"
        assert shown.stderr.startswith(waiting)
        assert command == "doctor" or shown.stderr.endswith(
            "; to see why, run: tokenref doctor --cmd 'sleep 100'\n"
        )
    quick = tokenref("check", "--cmd", "true")
    assert "waiting" not in quick.stderr


def test_a_program_in_the_place_of_an_engine_or_without_its_folder_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hanging(tmp_path)
    (tmp_path / "source").write_text("")
    for name, first in {"script": "import sys\n", "odd": "#!/no/python\n"}.items():
        (tmp_path / name).write_text(first)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for arguments, sentence in {
        (
            "./hangs",
        ): "to test a program, use --cmd ./hangs: './hangs' is not the name of an engine\n",
        ("hangs",): "to test a program, use --cmd hangs: 'hangs' is not the name of an engine\n",
        ("--cmd", "hangs"): "No such file or directory; for the file in this folder, write ./hangs",
        ("--cmd", "hang"): "No such file or directory; no program on the PATH is called hang\n",
        ("--cmd", "./hang"): "; its folder has hangs\n",
        ("--cmd", "./sourc", "--junit", "sourc.xml"): "; is it built, and is this its folder?",
        ("--cmd", "./none"): "; is it built, and is this its folder?\n",
        ("--cmd", "build/none"): "; the folder build is missing\n",
        ("--cmd", "./script"): "; it is neither a program for this machine nor a script that ",
        ("--cmd", "./odd"): "its first line names an interpreter that is missing: #!/no/python\n",
        ("--cmd", "./source"): "Permission denied; the file is not executable: chmod +x ./source",
        ("--cmd", "./folder"): "Permission denied: it is a folder",
    }.items():
        shown = tokenref("check", *arguments)
        assert shown.exit_code == 2
        assert sentence in shown.output


def test_engines_are_listed_with_their_versions() -> None:
    result = tokenref("engines")
    assert result.exit_code == 0
    assert result.output.startswith(f"fixtures {VERSION}, {DIGEST}\n")
    assert re.search(r"tiktoken\s+0\.", result.output)
    assert re.search(r"backtracking\s+0\.", result.output)


def test_fixtures_are_not_written_into_any_folder_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(authoring, ["fixtures"])
    assert result.exit_code == 2
    assert "run it in a checkout, or name a --folder" in result.output
    assert list(tmp_path.iterdir()) == []


def test_the_command_speaks_to_terminals_that_know_ascii_only() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tokenref", "check", "reference", "--id", EXAMPLE],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert b"reference" in ran.stdout


def test_points_are_called_as_in_the_names_of_rules() -> None:
    shown = tokenref("rules", "min_p").output
    assert "above-one.best" in shown
    assert "above_one" not in shown


def test_no_bar_is_drawn_where_nobody_watches() -> None:
    result = tokenref("check", "naive", "--id", EXAMPLE)
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_list_of_commands_cuts_no_sentence_off() -> None:
    listed = CliRunner().invoke(main, ["--help"], terminal_width=78).output
    assert "..." not in listed.partition("Commands:")[2]


@pytest.mark.parametrize("command", [[], ["check"], ["fill"], ["vocabulary"]])
def test_every_command_explains_itself(command: Sequence[str]) -> None:
    result = tokenref(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_records_are_selected_by_profile(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    assert tokenref("check", "reference", "--profile", "vllm", "--json", results).exit_code == 0
    records = open_catalogue().records
    run = {each["id"] for each in report(results) if each["kind"] == "case"}
    chosen = {name for name, record in records.items() if record.profile == "vllm"}
    assert run == {name for name in chosen if not name.startswith("canary/")}
    exported = tokenref("export", "--profile", "vllm", "--op", "top_k")
    assert exported.exit_code == 0
    wrong = tokenref("check", "reference", "--profile", "vlm")
    assert "unknown profile 'vlm'; did you mean vllm?" in wrong.output


def test_the_command_under_again_works_after_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = ("--id", "sampling/top_k/ties/both-ends-standard")
    assert tokenref("export", "--folder", "there", *wanted).exit_code == 0
    requests = tmp_path / "there" / "requests.jsonl"
    answers = subprocess.run(
        [sys.executable, "-m", "tokenref", "answer", "reference", requests],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wrong = re.sub(r'"keep":\[[0-9,]+\]', '"keep":[]', answers)
    (tmp_path / "responses.jsonl").write_text(wrong, encoding="utf-8")
    judged = tokenref("judge", requests, "responses.jsonl", "--json", "results.jsonl")
    (again,) = re.findall(r"again +(tokenref .*)", judged.output)
    assert again == f"tokenref export --folder again {' '.join(wanted)}"
    assert tokenref(*shlex.split(again)[1:]).exit_code == 0
    assert (tmp_path / "again" / "requests.jsonl").is_file()
    assert again in tokenref("report", "results.jsonl").output


def test_names_are_complete_where_no_terminal_limits_the_width() -> None:
    shown = tokenref("check", "tokenizers", "--op", "detokenize_stream", "--op", "count").output
    assert "detokenize_stream" in shown
    assert "…" not in shown


ZERO: Final = """
import json, sys
for message in map(json.loads, sys.stdin):
    if message["cmd"] == "hello":
        ops = {"greedy": {"profiles": ["standard"]}, "softmax": {"profiles": ["standard"]}}
        answer = {"proto": 1, "impl": {"name": "zero", "version": "1"}, "ops": ops}
    elif message["cmd"] == "run":
        results = [{"k": case["k"], "ok": {"token": 0}} for case in message["cases"]]
        answer = {"id": message["id"], "results": results}
    else:
        break
    print(json.dumps(answer), flush=True)
"""


def test_check_counts_the_large_records_it_left_out_and_ignores_vocabularies_nobody_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: None)
    for name in ("TOKENREF_VOCABULARIES", "TIKTOKEN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    program = tmp_path / "zero.py"
    program.write_text(ZERO)
    command = ["check", "--cmd", f"{sys.executable} {program}", "--profile", "standard"]
    asked = [*command, "--op", "greedy", "--op", "softmax"]
    catalogue = open_catalogue()
    large = [
        case
        for case in catalogue.cases
        if is_large(case) and case.profile == "standard" and op_of(case) in {"greedy", "softmax"}
    ]
    assert f"{len(large)} Large records were not asked (--large)" in tokenref(*asked).output
    assert "not asked" not in tokenref(*asked, "--large").output
    every = tokenref(*command[:3], "--op", "greedy", "--op", "count").output
    assert "vocabulary" not in every
    assert "not run" not in every


def test_no_progress_is_written_to_a_log_that_forces_colours(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = tokenref("check", "naive", "--id", "bpe/encode/examples/e1*")
    assert (shown.exit_code, capfd.readouterr().err) == (0, "")
    assert "\x1b[" in shown.output
    assert output_console().width > 1000
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in tokenref("check", "naive", "--id", "bpe/encode/examples/e1*").output
