"""Merging shards, and promoting findings."""

import json
import re
import shlex
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tokenref.cli import main
from tokenref.errors import InputError
from tokenref.fuzzing.campaign import open_engine
from tokenref.fuzzing.drawn_questions import plan_of
from tokenref.fuzzing.findings import likely_bugs
from tokenref.fuzzing.journal import Group, Journal, merged, read_journal
from tokenref.fuzzing.plan import Plan, Selection, Shard
from tokenref.fuzzing.promoting import own_target, promoted
from tokenref.goldens import open_own
from tokenref.record import RecordError
from tokenref.record_files import read_records
from tokenref.reports.results import dump_report, read_results
from tokenref.runner import run_engine

WHY = "A text that a token spells must not become that token unless merges make it."


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def base() -> Plan:
    selection = Selection(ops=["encode"])
    return plan_of(seed=1, engine="heap", engine_version="0", selection=selection, cases=150)


def journal(base: Plan, number: int, count: int, groups: list[int]) -> Journal:
    made = Journal(msgspec.structs.replace(base, shard=Shard(number, count)))
    for group in groups:
        made.add(Group(group=group, counts={"encode": {"same": 16}}))
    return made


def test_shards_that_are_all_there_are_added_up(base: Plan) -> None:
    journals = {
        "b": journal(base, 2, 3, [1, 4, 7]),
        "a": journal(base, 1, 3, [0, 3, 6, 9]),
        "c": journal(base, 3, 3, [2, 5, 8]),
    }
    result, trouble = merged(journals)
    assert not trouble
    assert result.counts() == {"encode": {"same": 160}}
    assert result.questions == 150


@pytest.mark.parametrize(
    ("shards", "sentences"),
    [
        ({"a": (1, 3, [0, 3, 6, 9]), "c": (3, 3, [2, 5, 8])}, ["shard 2/3 is missing"]),
        (
            {
                "a": (1, 2, [0, 2, 4, 6, 8]),
                "b": (1, 2, [0, 2, 4, 6, 8]),
                "c": (2, 2, [1, 3, 5, 7, 9]),
            },
            ["shard 1/2 occurs 2 times: a, b"],
        ),
        (
            {"a": (1, 2, [0, 2, 8]), "b": (2, 2, [1, 3, 5, 7])},
            [
                "a: questions 64 to 111 of shard 1/2 are missing",
                "b: questions 144 to 159 of shard 2/2 are missing",
            ],
        ),
        ({"a": (1, 1, [])}, ["a: questions 0 to 159 of shard 1/1 are missing"]),
        ({"a": (1, 1, [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9])}, ["a: questions 16 to 31 occur twice"]),
        (
            {"a": (1, 2, [0]), "b": (2, 3, [1])},
            ["b belongs to another campaign than a: shards must be of 2, got 2/3"],
        ),
    ],
)
def test_what_is_missing_or_there_twice_is_named(
    base: Plan, shards: dict[str, tuple[int, int, list[int]]], sentences: list[str]
) -> None:
    result, trouble = merged({name: journal(base, *parts) for name, parts in shards.items()})
    assert trouble == sentences
    assert not result.counts()


def test_journals_of_two_campaigns_are_not_added_up(base: Plan) -> None:
    other = msgspec.structs.replace(base, seed=2)
    _, trouble = merged({"a": journal(base, 1, 2, [0]), "b": journal(other, 2, 2, [1])})
    assert trouble == ["b belongs to another campaign than a: --seed must be 1, got 2"]


def test_a_campaign_that_time_ended_is_whole_up_to_where_all_shards_were(base: Plan) -> None:
    endless = msgspec.structs.replace(base, cases=None)
    other = journal(endless, 2, 2, [1])
    result, trouble = merged({"a": journal(endless, 1, 2, [0, 2, 4]), "b": other})
    assert not trouble
    assert result.questions == 3 * 16
    _, gap = merged({"a": journal(endless, 1, 2, [0, 4]), "b": other})
    assert gap == ["a: questions 32 to 47 of shard 1/2 are missing"]


def test_shards_from_the_command_merge_to_what_one_campaign_found(tmp_path: Path) -> None:
    options = ["fuzz", "greedy", "--op", "encode", "--seed", "5", "--cases", "96", "--most", "99"]
    files = [tmp_path / f"{number}.jsonl" for number in (1, 2)]
    for number, path in enumerate(files, start=1):
        command(*options, "--shard", f"{number}/2", "--state", path)
    whole = tmp_path / "whole.jsonl"
    command(*options, "--state", whole)
    result = command("merge", *files)
    assert result.exit_code == 1, result.output
    assert "2 shards, questions 0 to 95" in result.output
    together, _ = merged({str(path): read_journal(path) for path in files})
    assert together.findings.keys() == read_journal(whole).findings.keys()
    assert "; 1 shard, questions 0 to 95" in command("merge", whole).output
    assert command("merge", files[0]).exit_code == 3
    assert command("merge", files[0], files[0]).exit_code == 2


FAILS_TOGETHER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"id": message.get("id")}
    if message["cmd"] == "hello":
        ops = {"greedy": {"profiles": ["standard"]}}
        answer = {"proto": 1, "impl": {"name": "pairs", "version": "1"}, "ops": ops}
    elif message["cmd"] == "bye":
        break
    elif len(message["cases"]) > 1:
        print(f"worker {os.getpid()} is lost", file=sys.stderr, flush=True)
        os.abort()
    else:
        skip = {"reason": "is lazy"}
        answer["results"] = [{"k": case["k"], "skip": skip} for case in message["cases"]]
    print(json.dumps(answer), flush=True)
"""


def test_questions_that_fail_only_together_are_kept_counted_and_repeated(tmp_path: Path) -> None:
    (program := tmp_path / "pairs.py").write_text(FAILS_TOGETHER, "utf-8")
    started = ("fuzz", "--cmd", shlex.join([sys.executable, str(program)]), "--op", "greedy")
    files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for number, path in enumerate(files, start=1):
        shard = ("--seed", "1", "--cases", "60", "--shard", f"{number}/2", "--state", path)
        ended = command(*started, *shard)
        assert (ended.exit_code, ended.output.count("2 times, the first time: ")) == (1, 1)
        assert command(*started, *shard).exit_code == 1  # also after it was continued
    merged = command("merge", *reversed(files))
    assert merged.exit_code == 1
    (said,) = re.findall(r"4 times, the first time: (.*)\n", merged.output)
    how = r"in a batch of 16 \(greedy\), of which no question failed alone"
    assert re.match(
        f"it was ended by SIGABRT {how}; its last line on standard error: 'worker .*'", said
    )
    lines = files[1].read_text("utf-8").splitlines()
    groups = [line for line in map(json.loads, lines) if line["kind"] == "group"]
    assert [len(group["incidents"]) for group in groups] == [1, 1]
    assert (
        "questions  48 to 59\n"
        in command(*started, "--seed", "1", "--cases", "60", "--shard", "4/4").output
    )
    for output, numbers in ((merged.output, "0 to 15"), (ended.output, "16 to 31")):
        assert f"  questions  {numbers}\n" in output
        (again,) = re.findall(r"  again      tokenref (fuzz .*)\n", output)
        repeated = command(*shlex.split(again))
        assert (repeated.exit_code, f"  questions  {numbers}\n" in repeated.output) == (1, True)
        assert "the first time" not in repeated.output


FAILS_ONCE = FAILS_TOGETHER.replace(
    """    elif len(message["cases"]) > 1:
""",
    """    elif len(message["cases"]) > 1 and not os.path.exists(LOST):
        open(LOST, "w").close()
""",
).replace(
    """        skip = {"reason": "is lazy"}
        answer["results"] = [{"k": case["k"], "skip": skip} for case in message["cases"]]
""",
    """        from tokenref.engines.reference_samplers import SamplerSession
        session = SamplerSession("standard")
        answer["results"] = []
        for case in message["cases"]:
            said = session.answer("greedy", case["in"])
            right = {"ok": said.out} if hasattr(said, "out") else {
                "err": {"code": said.code, "msg": "it is invalid"}
            }
            answer["results"].append({"k": case["k"], **right})
""",
)
LISTED = """
[[known]]
title = "loses a worker"
engine = "{}"
cases = ["*{} in a batch of *"]
status = "incident"
reason = "A worker is lost now and then, until it is mended."
"""


def test_incidents_that_are_listed_fail_neither_check_nor_fuzz(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    known, lost = tmp_path / "known.toml", tmp_path / "lost"
    (program := tmp_path / "pairs.py").write_text(FAILS_TOGETHER, "utf-8")
    (once := tmp_path / "once.py").write_text(FAILS_ONCE.replace("LOST", repr(str(lost))), "utf-8")
    fuzz = ("fuzz", "--cmd", shlex.join([sys.executable, str(program)]), "--op", "greedy")
    for pattern, code in (("SIGABRT", 3), ("SIGSEGV", 1)):  # it declines all questions
        known.write_text(LISTED.format("pairs", pattern), "utf-8")
        asked = command(*fuzz, "--seed", "1", "--cases", "16", "--known", known)
        assert (asked.exit_code, "in a batch of" in asked.output) == (code, code == 1)
    check = ("check", "--cmd", shlex.join([sys.executable, str(once)]), "--op", "greedy")
    for pattern, code in (("SIGABRT", 0), ("SIGSEGV", 1)):
        known.write_text(LISTED.format("pairs", pattern), "utf-8")
        lost.unlink(missing_ok=True)
        done = command(*check, "--known", known, "--rows-at-most", "1")
        assert (done.exit_code, lost.exists()) == (code, True), done.output
        assert ("known: pairs: " in capfd.readouterr().err) == (code == 0)
    new, badge = tmp_path / "new.toml", tmp_path / "badge.json"
    lost.unlink()
    few = (*check, "--rows-at-most", "1")
    assert command(*few, "--write-known", new).exit_code == 1
    (entry,) = tomllib.loads(new.read_text("utf-8"))["known"]
    assert (entry["status"], len(entry["cases"])) == ("incident", 1)
    for how in (
        " once, at a, which was answered",
        " in a batch of 7 (greedy), of which no question",
    ):
        said = f"it was ended by SIGABRT{how}; its last line on standard error: 'worker 5 is lost'"
        assert fnmatchcase(said, entry["cases"][0])
    new.write_text(new.read_text("utf-8").replace("TODO: why?", WHY), "utf-8")
    lost.unlink()
    assert command(*few, "--known", new, "--badge", badge).exit_code == 0
    shown = json.loads(badge.read_text("utf-8"))
    assert (shown["color"], "1 known incident" in shown["message"]) == ("yellow", True)


# ---- promoting


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("found") / "greedy.jsonl"
    command("fuzz", "greedy", "--op", "encode", "--seed", "5", "--cases", "96", "--state", state)
    return state


def test_a_finding_becomes_a_record_that_its_engine_fails(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "regress" / "2026.jsonl"
    name = next(iter(read_journal(found).findings.values())).record["id"]
    result = command("promote", found, "--id", name, "--why", WHY, "--out", out)
    assert result.exit_code == 0, result.output
    (case,) = read_records(out)
    assert case.id == name
    assert case.why == WHY
    (vocabulary,) = (out.parent / "vocab").iterdir()
    catalogue = open_own(out, str(vocabulary))
    assert [case.id for case in catalogue.cases] == [name]
    for engine, code in (("greedy", 1), ("heap", 0)):
        results = tmp_path / f"{engine}.jsonl"
        options = ("--records", out, "--vocabulary", vocabulary, "--json", results)
        checked = command("check", engine, *options)
        assert checked.exit_code == code, checked.output
        assert read_results(results).header.fixtures_version == catalogue.manifest.version


def test_a_regression_file_brings_its_vocabularies_along(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "2026.jsonl"
    command("promote", found, "--all", "--why", WHY, "--out", out)
    catalogue = open_own(out)
    assert len(catalogue.cases) == len(read_journal(found).findings)
    for engine, failures in (("greedy", len(catalogue.cases)), ("heap", 0)):
        run = run_engine(open_engine(engine), catalogue.cases, catalogue)
        assert run.is_valid
        assert len(run.failures) == failures
    files = [f"vocab/{file.name}" for file in (tmp_path / "vocab").iterdir()]
    for file in (tmp_path / "vocab").iterdir():
        file.write_text("{}")
    with pytest.raises(RecordError, match="not a vocabulary"):
        open_own(out)
    for file in (tmp_path / "vocab").iterdir():
        file.unlink()
    with pytest.raises(RecordError, match=r"needs the vocabulary sha256:.* --vocabulary NAME") as e:
        open_own(out)
    assert (
        "`promote` wrote next to the records there again, and commit it with them (vocab/" in str(e)
    )
    assert str(e.value).rpartition("(")[2].removesuffix(")") in files


def test_a_vocabulary_next_to_the_records_is_not_written_again(found: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first" / "2026.jsonl", tmp_path / "second" / "2026.jsonl"
    command("promote", found, "--all", "--why", WHY, "--out", first)
    second.parent.mkdir()
    for place, file in enumerate((first.parent / "vocab").iterdir()):
        file.rename(second.with_name(f"{place}.vocabulary.json"))
    command("promote", found, "--all", "--why", WHY, "--out", second)
    assert not (second.parent / "vocab").exists()
    assert second.read_bytes() == first.read_bytes()
    catalogue = open_own(second)
    assert len({case.vocab for case in catalogue.cases}) > 1
    assert not run_engine(open_engine("heap"), catalogue.cases, catalogue).failures


def test_a_second_finding_is_added_and_the_same_one_only_once(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "2026.jsonl"
    findings = list(read_journal(found).findings.values())
    for finding in findings[:2]:
        command("promote", found, "--id", finding.record["id"], "--why", WHY, "--out", out)
    assert len(read_records(out)) == 2
    before = out.read_bytes()
    first = findings[0].record["id"]
    again = command("promote", found, "--id", first, "--why", WHY, "--out", out)
    assert again.exit_code == 0
    said = f"already in {out}, and left as they are: {first}; nothing was added\n"
    assert again.output == said
    assert out.read_bytes() == before


def test_one_record_is_kept_of_each_likely_bug(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "2026.jsonl"
    result = command("promote", found, "--why", WHY, "--out", out)
    findings = read_journal(found).findings.values()
    bugs = likely_bugs(findings)
    assert len(bugs) < len(findings)
    assert [case.id for case in read_records(out)] == [bug.first.record["id"] for bug in bugs]
    assert len(findings) - len(bugs) == 1
    assert "1 more finding is likely one of the same bugs; --all promotes all" in result.output


def test_shards_are_promoted_together_as_the_whole_campaign_is(tmp_path: Path) -> None:
    how = ["fuzz", "greedy", "--op", "encode", "--cases", "64", "--seed", "1"]
    made: list[Path] = []
    states = [tmp_path / f"{number}.jsonl" for number in (1, 2)]
    for number, state in enumerate(states, 1):
        command(*how, "--shard", f"{number}/2", "--state", state)
    command(*how, "--state", tmp_path / "whole.jsonl")
    made = []
    for files in (states, states[::-1], [tmp_path / "whole.jsonl"]):
        made.append(tmp_path / f"out-{len(made)}.jsonl")
        promoting = command("promote", *files, "--all", "--why", WHY, "--out", made[-1])
        assert promoting.exit_code == 0
    one, other, whole = ({case.id for case in read_records(out)} for out in made)
    assert one == other == whole != set()


def test_failures_like_those_of_listed_own_records_are_known(found: Path, tmp_path: Path) -> None:
    out, known, files = tmp_path / "regress.jsonl", tmp_path / "known.toml", [found]
    how = ["fuzz", "greedy", "--op", "encode", "--cases", "96", "--seed", "5"]
    how += ["--known", str(known)]
    listed = ("check", "greedy", "--records", out, "--write-known", known)
    for _ in range(3):  # what may be a new bug is a finding, until it is listed, too
        command("promote", files[-1], "--all", "--why", WHY, "--out", out)
        known.unlink(missing_ok=True)
        assert command(*listed).exit_code == 1
        known.write_text(known.read_text("utf-8").replace("TODO: why?", WHY), "utf-8")
        files.append(tmp_path / f"found-{len(files)}.jsonl")
        given = command(*how, "--records", out, "--state", files[-1])
        assert " known" in given.output
        for said in ("perhaps   the listed", ", perhaps the listed"):  # and in the summary
            assert (said in given.output) == (given.exit_code == 1)
    assert given.exit_code == 0, given.output
    without = command(*how)
    assert (without.exit_code, " known" in without.output) == (1, False)
    missing = command(*how, "--records", tmp_path / "none.jsonl")
    assert (missing.exit_code, "none.jsonl" in missing.output) == (2, True)
    assert "--records needs --known" in command("fuzz", "greedy", "--records", out).output


def test_a_campaign_that_found_nothing_has_nothing_to_promote(tmp_path: Path) -> None:
    state, out = tmp_path / "state.jsonl", tmp_path / "out.jsonl"
    assert (
        command("fuzz", "heap", "--op", "encode", "--cases", "16", "--state", state).exit_code == 0
    )
    result = command("promote", state, "--why", WHY, "--out", out)
    assert (result.exit_code, result.output) == (
        0,
        f"{state} has no findings, so nothing was added\n",
    )
    assert not out.exists()


def test_only_what_fuzz_has_written_can_be_promoted(tmp_path: Path) -> None:
    results, out = tmp_path / "results.jsonl", tmp_path / "out.jsonl"
    results.write_bytes(dump_report([], {}))
    refused = command("promote", results, "--why", WHY, "--out", out)
    said = f"{results} must be a file that `tokenref fuzz --state` wrote, not results\n"
    assert (refused.exit_code, refused.output) == (2, f"tokenref: {said}")
    results.write_bytes(b"to be\n")
    assert "--state` wrote\n" in command("promote", results, "--why", WHY, "--out", out).output


def test_a_record_under_another_slug(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "2026.jsonl"
    name = next(iter(read_journal(found).findings.values())).record["id"]
    command("promote", found, "--id", name, "--why", WHY, "--out", out, "--slug", "own-name")
    assert read_records(out)[0].id == "bpe/encode/regress/own-name"
    refused = command("promote", found, "--all", "--why", WHY, "--out", out, "--slug", "x")
    assert "--slug needs exactly one finding" in refused.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--why", "too short"), "must have at least 20 characters"),
        (("--why", " " * 30), "must have at least 20 characters"),
        (("--why", WHY, "--id", "nothing/*"), "--id must match one of the "),
    ],
)
def test_what_is_not_promoted_leaves_no_file(
    found: Path, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    out = tmp_path / "2026.jsonl"
    result = command("promote", found, *options, "--out", out)
    assert result.exit_code == 2
    assert sentence in result.output
    assert not list(tmp_path.iterdir())


def test_the_answer_is_computed_anew_and_not_taken_from_the_journal(
    found: Path, tmp_path: Path
) -> None:
    finding = next(iter(read_journal(found).findings.values()))
    right = finding.record["out"]
    lied = msgspec.structs.replace(finding, record={**finding.record, "out": {"ids": [9, 9, 9]}})
    (case,) = promoted([lied], WHY, own_target(tmp_path / "out.jsonl")).cases
    assert msgspec.to_builtins(case.out) == right


def test_a_finding_that_makes_no_sense_is_refused(found: Path, tmp_path: Path) -> None:
    finding = next(iter(read_journal(found).findings.values()))
    for record, subject in (
        ({**finding.record, "in": {"text": 5}}, finding.subject),
        ({**finding.record, "in": {}}, finding.subject),
        ({**finding.record, "op": "nothing"}, finding.subject),
        (finding.record, {"name": "no such vocabulary"}),
        (finding.record, {"vocabulary": {"tokens": []}}),
        (finding.record, {}),
    ):
        broken = msgspec.structs.replace(finding, record=record, subject=subject)
        with pytest.raises(InputError, match="bpe/encode/regress/"):
            promoted([broken], WHY, own_target(tmp_path / "out.jsonl"))


def test_a_finding_about_samplers_needs_no_vocabulary(tmp_path: Path) -> None:
    finding = {
        "kind": "finding",
        "index": 3,
        "status": "fail",
        "detail": "keep: expected [0], got [0, 1]",
        "got": {"ok": {"keep": [0, 1]}},
        "record": {
            "id": "sampling/top_k/regress/a",
            "op": "top_k",
            "profile": "standard",
            "in": {"params": {"k": 1}, "probs": {"f32": "3f0000003f000000"}},
            "sum": "sha256:" + "0" * 64,
        },
        "subject": None,
        "asked": {"op": "top_k", "in": {}},
    }
    selection = Selection(ops=["top_k"])
    header = plan_of(seed=1, engine="x", engine_version="0", selection=selection, cases=None)
    state = tmp_path / "state.jsonl"
    state.write_bytes(msgspec.json.encode(header) + b"\n" + json.dumps(finding).encode() + b"\n")
    out = tmp_path / "2026.jsonl"
    result = command("promote", state, "--why", WHY, "--out", out)
    assert result.exit_code == 0, result.output
    (case,) = read_records(out)
    assert case.id.startswith("sampling/top_k/regress/")
    assert not (tmp_path / "vocab").exists()
