"""What a tokenizer makes of a text, on the command line: for people, and as JSON for programs."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tty
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bpe_ref import (
    TextRules,
    Tokenizer,
    VocabularyFileError,
    load,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.finding import default_folder
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.models.bpe import BPE
from bpe_ref.registry import REGISTRY
from tests.sentencepiece_models import trained
from tests.test_pages import ROOT, code_of
from tests.test_tekken import a_file, tokens_of_tiny
from tokenref.answers import Engine
from tokenref.cli import main
from tokenref.fetching import packaged_files
from tokenref.files import _closed
from tokenref.record import canonical_json
from tokenref.reports.changes import ONLY_IDS
from tokenref.subjects import Subject, _digest_of, load_subject

TEXT = "Hello, wörld! 你好 It's <|endoftext|> fine."


def tokenref(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def as_json(*arguments: str | Path, stdin: bytes | None = None) -> Any:
    result = tokenref(*arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


WHOLE = str(Path(__file__).parents[1] / "fixtures" / "tokenizer" / "family_llama2.json")


@pytest.fixture(scope="module")
def pipeline_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pipeline") / "tokenizer.json"
    write_tokenizer_json(vocabulary_of(load("tiny")), path)
    return path


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tokenizer.model"
    path.write_bytes(trained("byte fallback"))
    return path


def test_encode_prints_a_line_per_token() -> None:
    lines = tokenref("encode", TEXT).stdout.splitlines()
    ids = load("tiny").encode(TEXT, special="ordinary")
    assert [int(line.split("\t")[0]) for line in lines] == ids


@pytest.mark.parametrize("command", ["encode", "trace"])
def test_tokens_are_shown_as_text_and_bytes_where_they_have_parts_of_characters(
    command: str, pipeline_file: Path
) -> None:
    text = "schön 🙂"
    for vocabulary in ("tiny", str(pipeline_file)):
        shown = tokenref(command, text, "--vocabulary", vocabulary).stdout
        last = [line.rpartition("\t")[2] for line in shown.splitlines()]
        words = [word for line in last for word in line.split()]
        assert {"ö", r"␣\xf0\x9f", r"\x99"} <= {*words}
        assert not {*"ĠÃ¶ðŁ"} & {*shown}


def test_the_text_may_come_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    given = as_json("encode", TEXT)
    assert as_json("encode", "--file", path) == given
    assert as_json("encode", stdin=TEXT.encode()) == given


def test_what_is_encoded_decodes_to_the_text(pipeline_file: Path) -> None:
    for vocabulary in ("tiny", str(pipeline_file)):
        for text, option in ((TEXT, ["--json"]), (TEXT, []), ("12", []), ("", [])):
            written = tokenref("encode", text, "--vocabulary", vocabulary, *option).stdout
            again = tokenref("decode", "--vocabulary", vocabulary, stdin=written.encode())
            assert again.stdout == text
    assert tokenref("decode", stdin=b"17\t18\n").stdout == load("tiny").decode([17, 18])


def test_special_tokens_are_text_unless_they_are_asked_for(pipeline_file: Path) -> None:
    special = load("tiny").vocab["<|endoftext|>"]
    tiny = as_json("encode", TEXT)["ids"]
    assert special not in tiny
    assert special in as_json("encode", TEXT, "--special")["ids"]
    for command in (["encode"], ["count"], ["chunks", "--most", "9"]):
        said = tokenref(*command, TEXT).stderr
        assert "such as <|endoftext|>, were treated as text; --special recognises them" in said
        for option in ("--special", "--as-text"):
            assert "treated as text" not in tokenref(*command, TEXT, option).stderr
    ours = ("--vocabulary", pipeline_file)
    said = "tokenref: special tokens in the text, such as <|endoftext|>, were recognised; --as-text"
    for command in (["encode"], ["count"], ["chunks", "--most", "9"]):
        assert tokenref(*command, TEXT, *ours).stderr == f"{said} treats them as text\n"
        for option in ("--special", "--as-text"):
            assert tokenref(*command, TEXT, option, *ours).stderr == ""
        assert tokenref(*command, "to be", *ours).stderr == ""
    assert special in as_json("encode", TEXT, *ours)["ids"]
    assert as_json("encode", TEXT, "--as-text", *ours)["ids"] == tiny


def test_texts_that_spell_added_tokens_are_listed_and_nothing_else_changes(tmp_path: Path) -> None:
    names = [f"<{number}>" for number in range(10)]
    listed = [AddedToken(name, special=name != "<9>", normalized=False) for name in names]
    model = BPE({letter: n for n, letter in enumerate("a\n<>0123456789")}, [])
    file, folder = tmp_path / "tokenizer.json", tmp_path / "texts"
    added = AddedTokens([*listed, AddedToken("\n", normalized=False)])
    file.write_bytes(dump_tokenizer_json(Tokenizer(model, added_tokens=added)))
    folder.mkdir()
    every = "".join(names)
    texts = {"a": "a<9>a<0>\n<9>", "b": "a\n<a>", "c": every, "d": "\xff"}
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    ours = ("--vocabulary", file)
    few = [f"tokenref: {folder}/a spells <9>, <0>", f"tokenref: {folder}/c spells <0>, <1>, <2>, "]
    for command in (["encode"], ["count"], ["chunks", "--most", "3"]):
        for options in ([], ["--as-text"], ["--added-as-text"], ["--special"]):
            asked: list[str | Path] = [*command, "--file", folder, *options, *ours]
            plain, listing = tokenref(*asked), tokenref(*asked, "--refuse")
            assert plain.stdout == listing.stdout
            lines = listing.stderr.splitlines()
            assert lines[-3:] == [
                few[0],
                f"{few[1]}<3>, <4>, <5>, <6>, <7> and 2 more",
                "tokenref: 2 of 4 texts spell added tokens",
            ]
            assert (plain.exit_code, listing.exit_code) == (2, 2)  # d is not UTF-8
        for text, spelled in (("a<9>", ["<9>"]), ("a\n<a>", [])):
            found = tokenref(*command, text, "--refuse", "--json", *ours)
            assert found.exit_code == int(bool(spelled))
            assert json.loads(found.stdout)["spelled"] == spelled
            assert found.stderr == "".join(f"tokenref: an argument spells {e}\n" for e in spelled)
    (folder / "d").unlink()
    rows = tokenref("count", "--file", folder, "--refuse", "--json", *ours)
    each_spelled = [each["spelled"] for each in json.loads(rows.stdout)["files"]]
    assert (each_spelled, rows.exit_code) == ([["<9>", "<0>"], [], names], 1)


def test_added_tokens_that_are_not_special_are_text_only_if_all_added_tokens_are(
    tmp_path: Path,
) -> None:
    listed = [
        AddedToken("<s>", special=True, normalized=False),
        AddedToken("<think>", normalized=False),
        AddedToken("\n", normalized=False),
    ]
    file = tmp_path / "tokenizer.json"
    model = BPE({letter: n for n, letter in enumerate("a\n<s>think")}, [])
    file.write_bytes(dump_tokenizer_json(Tokenizer(model, added_tokens=AddedTokens(listed))))
    ours = ("--vocabulary", file)
    tokenizer = load(file)
    for command in (["encode"], ["count"], ["chunks", "--most", "20"]):
        said = tokenref(*command, "a\n<s><think>", "--as-text", *ours)
        assert (said.exit_code, said.stderr) == (
            0,
            (
                "tokenref: added tokens in the text, such as <think>, were recognised, because the "
                "file does not call them special; --added-as-text treats them as text\n"
            ),
        )
        for text, option in (
            ("a\n<s>", "--as-text"),
            ("<think>", "--special"),
            ("<s><think>", "--added-as-text"),
        ):
            assert tokenref(*command, text, option, *ours).stderr == ""
    text = "<s><think>"
    assert as_json("encode", text, "--as-text", *ours)["ids"] == tokenizer.encode(
        text, special="ordinary"
    )
    assert as_json("encode", text, "--added-as-text", *ours)["ids"] == tokenizer.encode(
        text, special="ordinary_added"
    )
    for option in ("--special", "--as-text"):
        refused = tokenref("count", text, "--added-as-text", option, *ours)
        assert (refused.exit_code, refused.stderr) == (
            2,
            f"tokenref: --added-as-text and {option} must not be given together\n",
        )
    wanted: list[list[str | Path]] = [
        ["count", text],
        ["fill", text, "--out", tmp_path / "o.jsonl"],
    ]
    for asked in wanted:
        for options in (["--special", "--as-text"], ["--as-text", "--special"]):
            refused = tokenref(*asked, *options, *ours)
            assert (refused.exit_code, refused.stderr) == (
                2,
                "tokenref: --special and --as-text must not be given together\n",
            )


def test_every_kind_of_tokenizer_encodes_as_it_does_in_python(
    pipeline_file: Path, model_file: Path
) -> None:
    pipeline = load(pipeline_file)
    assert as_json("encode", TEXT, "--vocabulary", pipeline_file)["ids"] == pipeline.encode(TEXT)
    ids = load(model_file).encode(TEXT)
    assert as_json("encode", TEXT, "--vocabulary", model_file)["ids"] == ids
    assert as_json("count", TEXT, "--vocabulary", model_file) == {"count": len(ids)}


def test_count_stops_at_the_limit() -> None:
    total = load("tiny").count(TEXT, special="ordinary")
    assert as_json("count", TEXT) == {"count": total}
    assert as_json("count", TEXT, "--limit", str(total)) == {"count": total}
    assert as_json("count", TEXT, "--limit", str(total - 1)) == {"count": None}
    more = tokenref("count", TEXT, "--limit", "3")
    assert (more.exit_code, more.stdout) == (0, "more than 3\n")


@pytest.mark.parametrize("overlap", ["0", "2"])
def test_chunks_cover_the_text_and_none_is_too_long(
    pipeline_file: Path, model_file: Path, overlap: str
) -> None:
    for vocabulary in ("tiny", str(pipeline_file), str(model_file)):
        options = ("--vocabulary", vocabulary, "--most", "5", "--overlap", overlap)
        chunks = as_json("chunks", TEXT, *options)["chunks"]
        covered = {at for chunk in chunks for at in range(chunk["start"], chunk["stop"])}
        assert covered == set(range(len(TEXT)))
        for chunk in chunks:
            assert chunk["text"] == TEXT[chunk["start"] : chunk["stop"]]
            counted = as_json("count", chunk["text"], "--vocabulary", vocabulary)["count"]
            assert counted == chunk["tokens"] <= 5


@pytest.mark.parametrize("template", ["--template", "--no-template"])
@pytest.mark.parametrize("text", ["to be", "to be or not " * 90])
def test_what_is_counted_and_cut_is_what_encode_prints(
    template: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenref.commands.text.SMALL", 500)
    path = tmp_path / "text.txt"
    path.write_text(text)
    ours = ("--file", path, "--vocabulary", WHOLE, template)
    ids = as_json("encode", *ours)["ids"]
    assert as_json("count", *ours) == {"count": len(ids)}
    assert as_json("count", *ours, "--limit", str(len(ids)))["count"] == len(ids)
    assert as_json("count", *ours, "--limit", str(len(ids) - 1))["count"] is None
    (whole,) = as_json("chunks", *ours, "--most", str(len(ids)))["chunks"]
    assert (whole["stop"], whole["tokens"]) == (len(text), len(ids))
    assert len(as_json("chunks", *ours, "--most", str(len(ids) - 1))["chunks"]) == 2


def test_ids_are_read_from_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "ids.json"
    path.write_text(tokenref("encode", "to be", "--json").stdout)
    assert tokenref("decode", "--file", path).stdout == "to be"
    assert tokenref("decode", "--file", "-", stdin=path.read_bytes()).stdout == "to be"


def test_a_dash_is_standard_input() -> None:
    assert tokenref("count", "--file", "-", stdin=b"to be").stdout == "2\n"
    twice = tokenref("count", "--file", "-", "--file", "-", stdin=b"to be")
    assert twice.stderr.startswith("tokenref: --file - must be given at most once: ")


def test_audit_takes_a_byte_level_tokenizer_json(pipeline_file: Path) -> None:
    assert "by pair" in tokenref("audit", pipeline_file).output
    assert "by concatenation" in tokenref("audit", "tiny").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("encode", "a", "--file", "x"), "give the text either as an argument"),
        (("encode", "--file", "no/such"), "no/such cannot be read"),
        (("encode", "--file", ""), "--file must name a file, got ''"),
        (
            ("decode", "1", "x"),
            "ids must be whole numbers, or what `tokenref encode --json` writes",
        ),
        (("decode", "[1"), "ids must be valid JSON"),
        (("decode", "1", "--file", "x"), "give the ids either as arguments or with --file"),
        (("decode", "--file", "no/such"), "no/such cannot be read"),
        (("decode", "[true]"), "ids must be a list of whole numbers"),
        (("decode", "999999"), "from 0 to 2003, got 999999; no --vocabulary was given, so "),
        (("decode", "999999", "--vocabulary", WHOLE), ", got 999999\n"),
        (("decode", "-1"), "from 0 to 2003, got -1; no --vocabulary was given, so "),
        (("decode", "--strict", "195"), "the tokens' bytes must be UTF-8"),
        (("count", "a", "--vocabulary", "nobody"), "there is no file 'nobody'"),
        (("chunks", "a", "--most", "2", "--overlap", "2"), "tokenref: --overlap must be"),
        (("chunks", "你好", "--most", "1"), "tokenref: --most must be at least 2"),
        (("encode", "a\udcff"), "the text must be UTF-8, but its character 1 is not"),
        (("trace", "\udcff"), "the text must be UTF-8, but its character 0 is not"),
    ],
)
def test_bad_input_is_one_sentence(arguments: Sequence[str], sentence: str) -> None:
    result = tokenref(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("tokenref: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["count"], ["encode"], ["chunks", "--most", "3"]])
def test_a_file_that_is_wrong_does_not_end_the_others_and_the_exit_code_is_two(
    command: list[str], tmp_path: Path
) -> None:
    texts = {"a.txt": b"to be", "b.txt": b"or\xff", "c.txt": b"not to"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "missing.txt", "c.txt", "x" * 300)]
    files = [part for path in paths for part in ("--file", path)]
    result = tokenref(*command, *files, "--vocabulary", "tiny")
    assert result.exit_code == 2
    assert [line.partition("\t")[0] for line in result.stdout.splitlines()] == [
        *(str(paths[at]) for at in (0, 3)),
        "total",
    ]
    assert result.stderr.splitlines() == [
        f"tokenref: {paths[1]} must be UTF-8, but byte 2 is not",
        f"tokenref: {paths[2]} cannot be read: No such file or directory",
        f"tokenref: {paths[4]} cannot be read: File name too long",
    ]
    result = tokenref(*command, *files, "--vocabulary", "tiny", "--json")
    rows = json.loads(result.stdout)["files"]
    assert result.exit_code == 2
    assert [row["file"] for row in rows] == list(map(str, paths))
    assert [row.get("error", "")[-8:] for row in rows] == [
        "",
        "2 is not",
        "irectory",
        "",
        "too long",
    ]


def test_standard_input_may_be_one_of_several_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be")
    files = ("--file", "-", "--file", tmp_path / "a.txt", "--vocabulary", "tiny")
    shown = tokenref("count", *files, stdin=b"not to").stdout
    assert shown == f"standard input\t3\n{tmp_path / 'a.txt'}\t2\ntotal\t5\n"
    rows = json.loads(tokenref("count", *files, "--json", stdin=b"not to").stdout)["files"]
    assert [row["file"] for row in rows] == ["-", str(tmp_path / "a.txt")]


def test_a_vocabulary_that_is_wrong_does_not_end_the_audit_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("To be, or not to be.\n")
    result = tokenref("audit", path, "tiny")
    said = f"{path} must be a tokenizer file, it is a plain text"
    assert (result.exit_code, result.stderr) == (2, f"tokenref: {said}\n")
    assert "\ntiny\t2000\t" in result.stdout
    result = tokenref("audit", path, "tiny", "--json")
    found = {row["vocabulary"]: row for row in json.loads(result.stdout)["vocabularies"]}
    assert result.exit_code == 2
    assert found[str(path)]["error"] == said
    assert found["tiny"]["tokens"] == 2000


@pytest.mark.parametrize(
    "command",
    [
        ["count", "a", "--vocabulary"],
        ["audit"],
        ["fill", "--texts", __file__, "--out", "no/such", "--vocabulary"],
        ["check", "reference", "--corpus", __file__, "--vocabulary"],
    ],
)
def test_a_tokenizer_that_can_be_fetched_is_pointed_out(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TOKENREF_VOCABULARIES", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    said = tokenref(*command, "gemma3").stderr
    assert said.startswith("tokenref: there is no file 'gemma3', and no vocabulary of that name; ")
    assert said.endswith("; to download it: tokenref vocabulary fetch gemma3\n")

    said = tokenref(*command, "llama3").stderr
    assert said.endswith("; to download it: tokenref vocabulary fetch llama3_1\n")
    assert tokenref(*command, "lama_3").stderr == said.replace("llama3", "lama_3", 1)
    (tmp_path / "mistral_v3.model").touch()
    said = tokenref(*command, "mistral").stderr
    assert said.endswith(" fetch mistral_v1 or mistral_v7; did you mean 'mistral_v3'?\n")
    for name in ("gpt4o", "gpt-4o-mini"):
        said = tokenref(*command, name).stderr
        assert said.endswith("; the model of that name uses o200k_base\n")
    said = tokenref(*command, "ada").stderr
    assert said.startswith("tokenref: vocabulary r50k_base was found nowhere: ")
    said = tokenref("vocabulary", "fetch", "mistral").stderr
    assert said.endswith("; did you mean mistral_v1 or mistral_v3 or mistral_v7?\n")


def test_all_names_are_listed_and_where_each_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TIKTOKEN_CACHE_DIR", "TOKENREF_VOCABULARIES", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: None)
    (tmp_path / "r50k_base.tiktoken").touch()
    said = dict(line.split("\t") for line in tokenref("vocabulary", "list").stdout.splitlines())
    assert said.keys() == {"tiny", "book", "odd", *REGISTRY, *packaged_files()}
    assert (said["tiny"], said["voyage3_base"]) == ("included", "in bpe-openai")
    assert said["gpt2"] == said["r50k_base"] == str(tmp_path / "r50k_base.tiktoken")
    assert said["o200k_base"] == "tokenref vocabulary fetch o200k_base"
    assert said["qwen3"] == "tokenref vocabulary fetch qwen3"


def test_decoding_without_a_vocabulary_says_which_was_used() -> None:
    assert "so tiny was used" in tokenref("decode", "555").stderr
    assert tokenref("decode", "555", "--vocabulary", "tiny").stderr == ""


def test_standard_input_must_be_text() -> None:
    result = tokenref("encode", stdin=b"a\xff")
    assert result.exit_code == 2
    assert result.stderr == "tokenref: standard input must be UTF-8, but byte 1 is not\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_text_in_utf_16_is_recognised_by_its_byte_order_mark(encoding: str) -> None:
    result = tokenref("encode", stdin="\ufeffto be".encode(encoding))
    said = "standard input must be UTF-8, but byte 0 is not; it begins like UTF-16"
    assert result.stderr == f"tokenref: {said}\n"


def test_a_text_to_trace_may_be_in_a_file_or_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("to be\nor not", encoding="utf-8")
    typed = tokenref("trace", "to be\nor not")
    assert typed.exit_code == 0
    assert typed.stdout.startswith("piece 'to'")
    assert tokenref("trace", "--file", path).stdout == typed.stdout
    assert tokenref("trace", stdin=path.read_bytes()).stdout == typed.stdout
    for arguments, sentence in (
        (("a", "--file", path), "give the text either as an argument or with --file, not both"),
        (("--file", path, "--file", path), "--file must name one file, got 2"),
    ):
        refused = tokenref("trace", *arguments)
        assert (refused.exit_code, refused.stderr) == (2, f"tokenref: {sentence}\n")


def test_programs_are_told_the_bytes_of_a_token_or_its_text(
    pipeline_file: Path, model_file: Path
) -> None:
    told = as_json("encode", "Hi 你")
    assert "tokens" not in told
    assert bytes.fromhex("".join(told["bytes"])).decode() == "Hi 你"
    for file in (pipeline_file, model_file):
        told = as_json("encode", "Hi", "--vocabulary", file)
        assert "".join(told["tokens"]).removeprefix("▁") == "Hi"


def test_programs_are_told_the_offsets_of_each_token(pipeline_file: Path, model_file: Path) -> None:
    assert as_json("encode", "é🙂 be")["offsets"] == [
        *([0, 1], [1, 2], [1, 2], [1, 2], [2, 5])  # é, three parts of 🙂, " be"
    ]
    for file in ("tiny", pipeline_file, model_file):
        told = as_json("encode", "Hi the", "--vocabulary", file)
        found = load(file).tokenize("Hi the")
        assert told["ids"] == [*found.ids]
        assert told["offsets"] == [[*span] for span in found.offsets]


def test_an_option_that_a_tokenizer_has_no_use_for_is_refused(model_file: Path) -> None:
    refused = tokenref("encode", "a", "--special", "--vocabulary", model_file)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"tokenref: {model_file} is a SentencePiece model, which takes no --special: a text never "
        "becomes one of its control pieces, such as </s>\n"
    )
    assert tokenref("encode", "a", "--as-text", "--vocabulary", model_file).exit_code == 0


def test_control_pieces_in_a_text_are_never_recognised_and_the_command_says_so(
    model_file: Path,
) -> None:
    tokenizer = load(model_file)
    rendered = "<s>a</s>"
    assert tokenizer.encode(rendered) == tokenizer.encode(rendered, special="ordinary")
    said = tokenref("count", rendered, "--vocabulary", model_file)
    assert (said.exit_code, said.stdout) == (0, f"{tokenizer.count(rendered)}\n")
    assert said.stderr == (
        "tokenref: special tokens in the text, such as <s>, were treated as text; "
        "a SentencePiece model never recognises its control pieces\n"
    )
    assert tokenref("count", rendered, "--as-text", "--vocabulary", model_file).stderr == ""
    assert tokenref("count", "a", "--vocabulary", model_file).stderr == ""


@pytest.mark.parametrize("option", [(), ("--strict",)])
def test_strict_decoding_refuses_part_of_a_character_whatever_the_file(
    pipeline_file: Path, option: tuple[str, ...]
) -> None:
    result = tokenref("decode", "195", *option, "--vocabulary", pipeline_file)
    assert result.exit_code == (2 if option else 0)
    assert ("the tokens' bytes must be UTF-8" in result.stderr) == bool(option)


def test_every_kind_of_tokenizer_can_be_traced(pipeline_file: Path, model_file: Path) -> None:
    for file in (pipeline_file, model_file):
        result = tokenref("trace", "the", "--vocabulary", file)
        assert result.exit_code == 0
        assert "piece '" in result.stdout
        ids = as_json("encode", "the", "--vocabulary", file)["tokens"]
        about_merges = re.compile(r" +(merged|instead of) ")
        lines = [line for line in result.stdout.splitlines() if not about_merges.match(line)]
        last = lines[-2:]
        assert last[0].split()[1:] == ids
        numbers = as_json("encode", "the", "--vocabulary", file)["ids"]
        assert last[1].partition(";")[0].split() == ["ids", *map(str, numbers)]


def test_a_trace_shows_the_pairs_that_lost_whatever_the_file(pipeline_file: Path) -> None:
    text = "abab cdcd someone"
    for vocabulary in ("tiny", str(pipeline_file)):
        shown = tokenref("trace", text, "--vocabulary", vocabulary).stdout
        assert "instead of " in shown
    lost = [
        [line for line in out.splitlines() if "instead of" in line]
        for out in (
            tokenref("trace", text, "--vocabulary", vocabulary).stdout
            for vocabulary in ("tiny", str(pipeline_file))
        )
    ]
    pair = r"(\S+ \+ \S+) \(rank \d+, place (\d+)\)"
    places = [[re.findall(pair, line) for line in each] for each in lost]
    assert places[0] == places[1]
    assert all(places[0])


def test_a_trace_of_a_list_of_merges_names_each_merge_and_its_rank(pipeline_file: Path) -> None:
    merges = json.loads(pipeline_file.read_text(encoding="utf-8"))["model"]["merges"]
    of_tiny, of_file = (
        tokenref("trace", "abab cdcd someone", "--vocabulary", vocabulary).stdout
        for vocabulary in ("tiny", str(pipeline_file))
    )
    table = re.findall(r"^ +\d+ +\d+ +(\d+)  (\S+ \+ \S+ = \S+)", of_tiny, re.MULTILINE)
    merged = re.findall(r"merged (.*) \(rank (\d+), place (\d+)\)", of_file)
    assert table == [(place, merge) for merge, _, place in merged]
    assert len(table) > 5
    for merge, rank, _ in merged:
        left, right = merge.replace("␣", "Ġ").partition(" = ")[0].split(" + ")
        assert merges[int(rank)] in ([left, right], f"{left} {right}")


def test_every_kind_of_tokenizer_can_be_audited(model_file: Path) -> None:
    result = tokenref("audit", model_file)
    assert result.exit_code == 0
    assert "SentencePieceModel" in result.stdout
    assert "missing bytes" not in result.stdout


@pytest.mark.parametrize("ids", [[97, 27, 91, 50, 74, 98], [195], [13, 10, 0, 10], [226, 130], []])
def test_decode_writes_exactly_the_bytes_of_the_tokens(ids: list[int]) -> None:
    command = [sys.executable, "-m", "tokenref", "decode", "--vocabulary", "tiny"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*command, *map(str, ids)], input=b"", capture_output=True, check=True, env=environment
    )
    assert (done.stdout, done.stderr) == (load("tiny").decode_bytes(ids), b"")


def test_decode_writes_exactly_the_bytes_to_a_terminal_too() -> None:
    terminal, inner = os.openpty()
    tty.setraw(inner)  # a terminal changes line ends otherwise
    command = [sys.executable, "-m", "tokenref", "decode", "97", "27", "91", "50", "74", "10", "98"]
    subprocess.run(command, stdout=inner, check=True, stdin=subprocess.DEVNULL)
    os.close(inner)
    assert os.read(terminal, 100) == b"a\x1b[2J\nb"
    os.close(terminal)


def test_tokens_with_control_characters_are_shown_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    vocab = {"a": 0, "\x1b[2J": 1, "b\nc": 2}
    added = [
        {"id": token, "content": text, "special": False, "normalized": False}
        | {"single_word": False, "lstrip": False, "rstrip": False}
        for text, token in vocab.items()
    ]
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": added, "model": model}))
    for command in (["encode"], ["trace"]):
        shown = tokenref(*command, "a\x1b[2Jb\nc", "--vocabulary", path).stdout
        assert "\\x1b[2J" in shown
        assert "b\\nc" in shown
        assert "\x1b" not in shown
        assert "b\nc" not in shown
    raw = tokenref("decode", "1", "2", "--vocabulary", path).stdout_bytes
    assert raw == b"\x1b[2J b\nc"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "empty.txt"]
    for path, text in zip(paths, ("to be", "or not to be", ""), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def options(files: Sequence[Path]) -> list[str]:
    return [word for path in files for word in ("--file", str(path))]


def test_several_files_have_a_line_each_and_a_total(files: list[Path]) -> None:
    tiny = load("tiny")
    ids = [tiny.encode(path.read_text()) for path in files]
    counts = [len(row) for row in ids]
    assert tokenref("count", *options(files)).stdout.splitlines() == [
        *(f"{path}\t{count}" for path, count in zip(files, counts, strict=True)),
        f"total\t{sum(counts)}",
    ]
    assert tokenref("encode", *options(files)).stdout.splitlines() == [
        *(
            f"{path}\t{len(row)}\t{' '.join(map(str, row))}"
            for path, row in zip(files, ids, strict=True)
        ),
        f"total\t{sum(counts)}",
    ]
    assert tokenref("chunks", "--most", "1", *options(files)).stdout.splitlines() == [
        *(f"{path}\t{count}\t{count}" for path, count in zip(files, counts, strict=True)),
        f"total\t{sum(counts)}\t{sum(counts)}",
    ]


def test_a_folder_or_a_pattern_is_all_files_in_it(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "in/c.md", ".hidden", "in[1]/d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("to be")
    names = ["a.txt", "b.md", "in/c.md", "in[1]/d.md"]
    for given, expected in (
        (tmp_path, names),
        (tmp_path / "**" / "*.md", names[1:]),
        (tmp_path / "in[1]", ["in[1]/d.md"]),
        (tmp_path / "in[1]" / "d.md", ["in[1]/d.md"]),
    ):
        shown = tokenref("count", "--file", given, "--file", tmp_path / "a.txt").stdout
        *lines, last, total = shown.splitlines()
        assert lines == [f"{tmp_path / name}\t2" for name in expected]
        assert [last, total] == [f"{tmp_path / 'a.txt'}\t2", f"total\t{2 * len(expected) + 2}"]
    alone = f"{tmp_path / 'in' / 'c.md'}\t2\ntotal\t2\n"
    assert tokenref("count", "--file", tmp_path / "in").stdout == alone  # as if there were more
    assert as_json("count", "--file", tmp_path / "in" / "*")["total"] == 2
    assert tokenref("count", "--file", tmp_path / "in" / "c.md").stdout == "2\n"
    for empty in (tmp_path / "*.rs", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        refused = tokenref("count", "--file", empty)
        assert refused.exit_code == 2
        assert f"--file must name files, but '{empty}' has none" in refused.stderr


def test_a_text_is_utf8_in_any_locale() -> None:
    command = [sys.executable, "-m", "tokenref", "encode", "--vocabulary", "tiny", "--json"]
    locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    text = "héllo 文"
    done = subprocess.run([*command, text], env=locale, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["ids"] == load("tiny").encode(text)
    broken = subprocess.run([*command, b"a\xff"], env=locale, capture_output=True, check=False)
    assert broken.returncode == 2
    assert b"the text must be UTF-8, but its character 1 is not" in broken.stderr


def test_links_to_folders_in_a_folder_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("dir/a.txt", "dir/in/b.txt", "dir/.git/c.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("to be")
    Path("dir/loop").symlink_to(".")
    Path("dir/in/loop").symlink_to("..")
    Path("dir/same.txt").symlink_to("a.txt")  # a link to a file is a file
    Path("dir/nowhere").symlink_to("nothing")
    Path("link").symlink_to("dir")
    names = ["dir/a.txt", "dir/in/b.txt", "dir/same.txt"]
    linked = ["link/a.txt", "link/in/b.txt", "link/same.txt"]
    for given, expected in {
        "dir": names,
        "dir/**": names,
        "dir/**/*.txt": names,
        "dir/**/**/*.txt": names,
        "dir/**/in/**/*.txt": names[1:2],
        "**/a.txt": names[:1],
        "link": linked,  # what is named itself is followed
        "link/**/*.txt": linked,
        "*/a.txt": ["dir/a.txt", "link/a.txt"],
    }.items():
        *lines, total = tokenref("count", "--file", given).stdout.splitlines()
        assert lines == [f"{name}\t2" for name in expected], given
        assert total == f"total\t{2 * len(expected)}"
    assert "'no/**/*.txt' has none" in tokenref("count", "--file", "no/**/*.txt").stderr


@pytest.fixture
def closed_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder that nobody may read, beside a file; root becomes another user for it."""
    tokenref("count", "to be")  # what is imported later might be closed, too
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.chdir(name)
        Path(name).chmod(0o755)
        Path("a.txt").write_text("to be")
        folder = Path("sub")
        folder.mkdir()
        write_tokenizer_json(vocabulary_of(load("tiny")), folder / "tokenizer.json")
        folder.chmod(0)
        if is_root:
            os.seteuid(65534)
        yield folder
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        monkeypatch.chdir(ROOT)


def test_a_folder_that_may_not_be_read_is_named(closed_folder: Path) -> None:
    denied = f"tokenref: {closed_folder} cannot be read: Permission denied\n"
    patterns = ("sub/**", "sub/*.txt", "sub/*/*.txt", "s*/*", "**/*.md")
    for given in (closed_folder, *patterns):
        alone = tokenref("count", "--file", given)
        assert (alone.exit_code, alone.stdout, alone.stderr) == (2, "", denied), given
    assert not list(_closed(closed_folder / "[[]1].txt"))  # it is a name, not a pattern
    among = tokenref("count", "--vocabulary", "tiny", "--file", ".")
    assert (among.exit_code, among.stdout, among.stderr) == (2, "a.txt\t2\ntotal\t2\n", denied)
    vocabulary = tokenref("count", "--vocabulary", closed_folder, "to be")
    assert (vocabulary.exit_code, vocabulary.stdout, vocabulary.stderr) == (2, "", denied)
    path = closed_folder / "tokenizer.json"
    with pytest.raises(VocabularyFileError, match=f"^{path} cannot be read: Permission denied$"):
        load(path)


def test_programs_get_every_file_and_the_total_as_json(files: list[Path]) -> None:
    counted = as_json("count", *options(files))
    alone = [as_json("count", "--file", path) for path in files]
    named = [{"file": str(path), **found} for path, found in zip(files, alone, strict=True)]
    assert counted == {"files": named, "total": sum(found["count"] for found in alone)}
    cut = as_json("chunks", "--most", "2", *options(files))
    assert [entry["file"] for entry in cut["files"]] == list(map(str, files))
    assert cut["files"][1]["chunks"] == as_json("chunks", "--most", "2", "or not to be")["chunks"]
    assert cut["total"] == {
        "chunks": sum(len(entry["chunks"]) for entry in cut["files"]),
        "tokens": counted["total"],
    }
    encoded = as_json("encode", *options(files))
    assert encoded["files"][0] == {"file": str(files[0]), **as_json("encode", "to be")}
    assert encoded["total"] == counted["total"]


def test_a_limit_applies_to_each_file_and_the_total_says_what_is_certain(files: list[Path]) -> None:
    counts = [load("tiny").count(path.read_text()) for path in files]
    assert counts[0] < counts[1]
    shown = tokenref("count", "--limit", str(counts[0]), *options(files)).stdout.splitlines()
    assert shown[0].endswith(f"\t{counts[0]}")
    assert shown[1].endswith(f"\tmore than {counts[0]}")
    assert shown[-1] == f"total\tmore than {2 * counts[0]}"
    assert as_json("count", "--limit", str(counts[0]), *options(files))["total"] is None


@pytest.mark.parametrize("command", [["encode"], ["count"], ["chunks", "--most", "5"]])
def test_an_argument_that_names_a_file_is_refused_with_the_option_that_reads_it(
    command: list[str], files: list[Path]
) -> None:
    refused = tokenref(*command, files[0])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"use --file {files[0]}" in refused.stderr
    several = tokenref(*command, *files)
    assert several.exit_code == 2
    assert f"use --file {files[0]} --file {files[1]}" in several.stderr
    assert tokenref(*command, "to", "be").exit_code == 2
    assert tokenref(*command, "x" * 10000).exit_code == 0


@pytest.mark.parametrize("command", [["encode"], ["count"], ["chunks", "--most", "5"]])
def test_the_vocabulary_that_nobody_named_is_named_on_standard_error(command: list[str]) -> None:
    silent = tokenref(*command, "to be", "--vocabulary", "tiny")
    told = tokenref(*command, "to be")
    assert silent.stderr == ""
    assert "so tiny was used" in told.stderr
    assert told.stdout == silent.stdout


@pytest.mark.parametrize("command", [["count"], ["chunks", "--most", "500"]])
def test_long_files_are_counted_in_parts_with_a_progress_bar(
    command: list[str], tmp_path: Path
) -> None:
    path, out = tmp_path / "[long].txt", tmp_path / "out.json"
    text = "to be or not to be, thät is\nthe question " * 30_000
    path.write_text(text, encoding="utf-8")
    terminal, inner = os.openpty()
    program = [sys.executable, "-m", "tokenref", *command, "--vocabulary", "tiny", "--json"]
    with out.open("wb") as file:
        running = subprocess.Popen([*program, *options([path, path])], stdout=file, stderr=inner)
    os.close(inner)
    shown = b"".join(_written_to(terminal)).decode()
    assert running.wait() == 0
    assert "[long].txt" in shown
    assert "%" in shown
    total = json.loads(out.read_bytes())["total"]
    found = load("tiny").count(text, special="ordinary")
    if command == ["count"]:
        assert total == 2 * found
    else:
        assert total["tokens"] >= 2 * found


def test_the_progress_of_a_run_is_shown_on_a_terminal() -> None:
    terminal, inner = os.openpty()
    program = [sys.executable, "-m", "tokenref", "check", "naive", "--op", "encode"]
    running = subprocess.Popen(
        [*program, "--vocabulary", "tiny"], stdout=subprocess.DEVNULL, stderr=inner
    )
    os.close(inner)
    shown = b"".join(_written_to(terminal)).decode()
    assert running.wait() == 0
    assert re.search(r"[1-9]\d?%", shown)


def _written_to(terminal: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # Linux's way to say that nobody writes any more
        while data := os.read(terminal, 1 << 16):
            yield data
    os.close(terminal)


def test_a_file_without_a_pattern_is_given_one_and_otherwise_says_so(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "mine.tiktoken"
    text.write_text("low lower lowest " * 50, encoding="utf-8")
    trained_one = tokenref("train", "--size", "262", "--out", out, text)
    assert trained_one.stdout == f"{out}: 262 tokens; use it with --pattern cl100k_base\n"
    note = load(out).notes[0]
    given = ("--vocabulary", out)
    pattern = ("--pattern", "cl100k_base")
    for command in (["encode"], ["count"], ["chunks", "--most", "9"], ["trace"]):
        without = tokenref(*command, "low low", *given)
        assert (without.exit_code, without.stderr) == (0, f"tokenref: {note}\n")
        patterned = tokenref(*command, "low low", *given, *pattern)
        assert (patterned.exit_code, patterned.stderr) == (0, "")
    expected = load(out, pattern="cl100k_base").encode("low low")
    assert as_json("encode", "low low", *given, *pattern)["ids"] == expected
    html = tmp_path / "x.html"
    assert tokenref("explain", "bpe", "low", *given, *pattern, "--html", html).exit_code == 0
    assert as_json("audit", out)["notes"] == [note]
    assert "notes" not in as_json("audit", out, *pattern)
    assert re.search(rf"note +{re.escape(note)}", tokenref("audit", out).stdout)
    assert tokenref("audit", out, out, *pattern).exit_code == 0
    refused = tokenref("count", "low", "--vocabulary", "tiny", *pattern)
    rule = "--pattern must not be given for tiny, which holds its own rules, got 'cl100k_base'"
    assert (refused.exit_code, refused.stderr) == (2, f"tokenref: {rule}\n")


def test_several_vocabularies_are_audited_with_a_line_each_and_a_total(
    pipeline_file: Path, model_file: Path
) -> None:
    result = tokenref("audit", "tiny", pipeline_file, model_file)
    titles, *lines = (line.split("\t") for line in result.stdout.splitlines())
    assert titles == ["vocabulary", "tokens", "dead", "improper", "holes", "missing bytes"]
    assert [line[0] for line in lines] == ["tiny", str(pipeline_file), str(model_file), "total"]
    numbers = [list(map(int, line[1:])) for line in lines]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert numbers[0][0] == len(vocabulary_of(load("tiny")).tokens)


def test_an_audit_counts_tokens_without_special_ones_whatever_the_file(
    pipeline_file: Path, model_file: Path, tmp_path: Path
) -> None:
    content = json.loads(pipeline_file.read_text(encoding="utf-8"))
    in_model, beside = (
        {"content": text, "id": id_} for text, id_ in (("<s>", 4000), ("<x>", 5000))
    )
    plain = {"content": "<plain>", "id": 5001, "special": False}
    content["model"]["vocab"]["<s>"] = 4000
    content["model"] |= {"byte_fallback": True, "unk_token": "<s>"}  # it does not merge bytes
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] = [
        flags | {"special": True} | each for each in (in_model, beside, plain)
    ]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    for vocabulary in ("tiny", pipeline_file, model_file, tmp_path):
        tokenizer = load(vocabulary)
        special = len(tokenizer.special_tokens)
        ordinary = len(tokenizer) - special
        assert special > 0
        assert as_json("audit", vocabulary)["tokens"] == ordinary
        lines = tokenref("audit", vocabulary).stdout.splitlines()
        assert f"{'tokens':18}{ordinary:,} without special ones" in lines
        assert f"{'special tokens':18}{special:,}" in lines


def test_what_a_file_takes_whole_is_not_called_dead(tmp_path: Path) -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    for whole_piece in (False, True):
        path = tmp_path / f"{whole_piece}.json"
        rules = TextRules(whole_piece=whole_piece)
        write_tokenizer_json(vocabulary_by_concatenation(ranks, text=rules), path)
        assert (load(path).encode("abc") == [3]) is whole_piece
        found = load(path).audit()
        assert (found.dead_tokens, found.whole_tokens) == (
            ((), (3,)) if whole_piece else ((3,), ())
        )
        assert not found.is_orderly
        lines = tokenref("audit", path).stdout.splitlines()
        dead = "0" if whole_piece else "1: 3 abc"
        assert f"{'dead tokens':18}{dead}" in lines
        assert (f"{'only taken whole':18}1: 3 abc" in lines) is whole_piece
        assert as_json("audit", path).get("only_whole", []) == ([3] if whole_piece else [])


def test_control_pieces_are_not_dead(model_file: Path) -> None:
    tokenizer = load(model_file)
    special = {*tokenizer.special_tokens.values(), 0}  # 0 is the unknown piece
    assert tokenizer.show_token(0) == "<unk>"
    assert special & tokenizer.model.strings.keys()
    assert not special & {*tokenizer.audit().dead_tokens}


def test_programs_get_all_ids_of_an_audit(tmp_path: Path, model_file: Path) -> None:
    path = tmp_path / "v.tiktoken"
    path.write_text("YQ== 0\nYWFh 1\nYWE= 2\nYWJj 5\n")  # a, aaa, aa, abc
    odd = {
        "vocabulary": str(path),
        "tokens": 4,
        "dead": [5],
        "improper": [1],
        "holes": [[3, 4]],
        "missing_bytes": bytes(byte for byte in range(256) if byte != ord("a")).hex(),
        "ids_follow_ranks": True,
        "notes": list(load(path).notes),
    }
    assert as_json("audit", path) == odd
    first, second = as_json("audit", path, model_file)["vocabularies"]
    assert first == odd
    assert second["missing_bytes"] is None


def test_goldens_can_be_made_for_a_whole_tokenizer(tmp_path: Path, pipeline_file: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text(f"{TEXT}\n\n a\n", encoding="utf-8")
    made = tokenref("fill", "--vocabulary", pipeline_file, "--texts", texts, "--out", out)
    assert made.exit_code == 0, made.output
    beside = tmp_path / "goldens.tokenizer.json"
    assert beside.read_bytes() == pipeline_file.read_bytes()
    checked = tokenref("check", "reference", "tokenizers", "--records", out, "--vocabulary", beside)
    assert checked.exit_code == 0, checked.output


@pytest.fixture
def fetched(
    tmp_path: Path, pipeline_file: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a folder to work in, with texts, and vocabularies in the user's cache."""
    monkeypatch.delenv("TOKENREF_VOCABULARIES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "tokenref" / "qwen3").mkdir(parents=True)
    shutil.copy(pipeline_file, tmp_path / "tokenref" / "qwen3" / "tokenizer.json")
    shutil.copy(model_file, tmp_path / "tokenref" / "mistral_v3.model")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "a.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "count hi --vocabulary {}",
        "check tokenizers --corpus a.txt --vocabulary {}",
        "fill --vocabulary {} --texts a.txt --out a.jsonl",
    ],
)
def test_every_command_finds_what_was_fetched_by_its_name(command: str, fetched: Path) -> None:
    found = tokenref(*command.format("qwen3").split())
    assert found.exit_code == 0, found.output
    if not command.startswith("count"):
        refused = tokenref(*command.format("mistral_v3").split())
        assert refused.exit_code == 2
        assert "tokenref: mistral_v3 must be a byte-level BPE, or what a " in refused.stderr
        assert "its model is SentencePieceModel, and a tokenizer.json has no " in refused.stderr
        assert "use the tokenizer.json of the same model, which save_pretrained" in refused.stderr
    if command.startswith("fill"):
        named = tokenref("check", "reference", "--records", "a.jsonl", "--vocabulary", "qwen3")
        beside = tokenref("check", "reference", "--records", "a.jsonl")
        assert (named.exit_code, beside.exit_code) == (0, 0), named.output


def test_records_are_checked_with_the_file_of_their_kind_next_to_them(
    tmp_path: Path, pipeline_file: Path
) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("a\n", encoding="utf-8")
    vocabulary = tmp_path / "v.tiktoken"
    vocabulary.write_text("YQ== 0\nYWE= 1\n")
    for made_from in (vocabulary, pipeline_file, vocabulary):
        fill: list[str | Path] = ["fill", "--vocabulary", made_from, "--texts", texts, "--out", out]
        before = out.read_bytes() if out.exists() else None
        if before is not None:
            refused = tokenref(*fill)
            said = f"tokenref: {out} exists already; use --replace to write it anew, or --append to"
            assert (refused.exit_code, out.read_bytes()) == (2, before)
            assert said in refused.stderr
        made = tokenref(*fill, "--replace")
        assert made.exit_code == 0, made.output
        checked = tokenref("check", "reference", "--records", out)
        assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize("given", ["file", "folder"])
def test_goldens_cannot_be_made_for_a_sentencepiece_model(
    tmp_path: Path, model_file: Path, given: str
) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("a\n", encoding="utf-8")
    vocabulary = model_file if given == "file" else model_file.parent
    made = tokenref("fill", "--vocabulary", vocabulary, "--texts", texts, "--out", out)
    assert made.exit_code == 2
    assert "but its model is SentencePieceModel" in made.stderr
    assert "use the tokenizer.json of the same model, which save_pretrained" in made.stderr
    assert not out.exists()


def test_a_vocabulary_is_loaded_and_hashed_once_for_all_its_goldens(
    tmp_path: Path, pipeline_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    hashed: list[object] = []

    def load_once(engine: Engine, subject: Subject, name: str, profile: str) -> Any:
        loaded.append(name)
        return load_subject(engine, subject, name, profile)

    def hash_once(value: object) -> bytes:
        hashed.append(value)
        return canonical_json(value)

    monkeypatch.setattr("tokenref.goldens.load_subject", load_once)
    monkeypatch.setattr("tokenref.subjects.canonical_json", hash_once)
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("a\nb\nc\n", encoding="utf-8")
    fill: list[str | Path] = ["fill", "--replace", "--texts", texts, "--out", out]
    for vocabulary, hashes in ((pipeline_file, 1), ("tiny", 0)):  # a vocabulary has its own way
        _digest_of.cache_clear()
        made = tokenref(*fill, "--vocabulary", vocabulary)
        assert made.exit_code == 0, made.output
        assert (len(loaded), len(hashed)) == (1, hashes)
        loaded.clear()
        hashed.clear()


def test_texts_with_line_feeds_are_given_as_json(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.JSONL", tmp_path / "goldens.jsonl"
    lines = ['"two\\nlines"', '{"id": 3, "text": "a\\r\\n"}', '"two\\u000alines"', '""\r']
    texts.write_bytes("\n".join(lines).encode())
    made = tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", out)
    assert made.exit_code == 0, made.output
    assert "goldens.jsonl: 3 cases, 1 duplicate omitted" in made.output
    records = [json.loads(line) for line in out.read_bytes().splitlines()[1:]]
    assert [record["in"]["text"] for record in records] == ["two\nlines", "a\r\n", ""]
    assert records[2]["why"].startswith("Line 4 of texts.JSONL, ")
    assert tokenref("check", "naive", "--records", out, "--vocabulary", "tiny").exit_code == 0


def test_own_records_treat_special_tokens_as_fill_is_told(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("to<|endoftext|>be\n", encoding="utf-8")
    fill: list[str | Path] = ["fill", "--texts", texts, "--out", out, "--replace", "--vocabulary"]
    said = "special tokens in the text, such as <|endoftext|>, were treated as text; --special"
    for option, op, ends in (
        ([], "encode", False),
        (["--as-text"], "encode", False),
        (["--special"], "special", True),
    ):
        made = tokenref(*fill, "tiny", *option)
        assert (made.exit_code, said in made.stderr) == (0, not option)
        record = json.loads(out.read_bytes().splitlines()[1])
        assert (record["op"], 2000 in record["out"]["ids"]) == (op, ends)
        assert (
            tokenref("check", "tiktoken", "--records", out, "--vocabulary", "tiny").exit_code == 0
        )
    made = tokenref(*fill, "tiny", "--added-as-text")
    assert (made.stderr, json.loads(out.read_bytes().splitlines()[1])["op"]) == ("", "encode")
    refused = tokenref(*fill, "tiny", "--added-as-text", "--special")
    said = "tokenref: --added-as-text and --special must not be given together\n"
    assert (refused.exit_code, refused.stderr) == (2, said)


def test_own_records_of_a_tokenizer_json_may_treat_special_or_added_tokens_as_text(
    tmp_path: Path,
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    listed = [
        AddedToken("<s>", special=True, normalized=False),
        AddedToken("h", special=True, normalized=False),
        AddedToken("é", special=True, normalized=False),  # a token of the copy that text spells
        AddedToken("<think>", normalized=False),
    ]
    file, out = tmp_path / "tokenizer.json", tmp_path / "goldens.jsonl"
    model = BPE({letter: n for n, letter in enumerate("a<s>think")}, [])
    file.write_bytes(dump_tokenizer_json(Tokenizer(model, added_tokens=AddedTokens(listed))))
    ours, theirs = load(file), tokenizers.Tokenizer.from_file(str(file))
    fill: list[str | Path] = ["fill", "--vocabulary", file, "--out", out, "--replace"]
    text = "<s>think<think>ah"

    said = "special tokens in the text, such as <s>, were recognised; --as-text treats them as text"
    assert tokenref(*fill, text).stderr == f"tokenref: {said}\n"
    assert tokenref(*fill, text, "--special").stderr == ""
    said = "added tokens in the text, such as <think>, were recognised, because the file does not"
    theirs.encode_special_tokens = True
    right = {"--as-text": theirs.encode(text).ids}
    right["--added-as-text"] = ours.encode(text, special="ordinary_added")
    assert len({*map(tuple, [*right.values(), ours.encode(text)])}) == 3
    for option, ids in right.items():
        made = tokenref(*fill, text, option)
        assert (made.exit_code, said in made.stderr) == (0, option == "--as-text"), made.output
        record = json.loads(out.read_bytes().splitlines()[1])
        assert (record["in"]["text"], record["out"]["ids"]) == (text, ids)
        which = "special" if option == "--as-text" else "added"
        by = "encoded by the reference with goldens.tokenizer.json"
        assert record["why"] == f"Text of an argument, with {which} tokens as text, {by}."
        assert tokenref("check", "tokenizers", "--records", out).exit_code == 0

    before = out.read_bytes()
    for options, said in (
        (["--no-copy"], "--no-copy must not be given with --as-text and --added-as-text, because"),
        (["--op", "detokenize"], "--op must be tokenize with --as-text and --added-as-text, which"),
        (["é"], "an argument must have the same tokens with a copy of the file that lacks"),
    ):
        refused = tokenref(*fill, *([text] if options[0][0] == "-" else []), "--as-text", *options)
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.output
        assert refused.stderr.count("\n") <= 2
    assert out.read_bytes() == before


@pytest.mark.parametrize("line", ["plain", "3", '{"content": "a"}', '{"text": 3}', "", '"a" "b"'])
def test_a_line_that_is_not_json_is_named(tmp_path: Path, line: str) -> None:
    texts, out = tmp_path / "texts.jsonl", tmp_path / "goldens.jsonl"
    texts.write_text(f'"a"\n{line}\n', encoding="utf-8")
    made = tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", out)
    assert made.exit_code == 2
    rule = 'must be JSON: a string, or an object whose "text" is a string; got '
    assert f"tokenref: {texts}, line 2 {rule}{line!r}: " in made.stderr
    assert not out.exists()


def test_goldens_without_a_template_have_none_of_its_special_tokens(
    tmp_path: Path, pipeline_file: Path
) -> None:
    path, texts, out = tmp_path / "t.json", tmp_path / "texts.txt", tmp_path / "out.jsonl"
    content = json.loads(pipeline_file.read_bytes())
    first = {"id": "<|begin|>", "ids": [7], "tokens": ["<|begin|>"]}
    sequences: list[dict[str, Any]] = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    single = [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}}, sequences[0]]
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": sequences,
        "special_tokens": {"<|begin|>": first},
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    texts.write_text(TEXT, encoding="utf-8")
    ids = load(path).encode(TEXT, add_special_tokens=False)
    for options, right, code in (([], [7, *ids], 3), (["--no-template"], ids, 0)):
        fill: list[str | Path] = ["fill", "--vocabulary", path, "--texts", texts, "--out", out]
        assert tokenref(*fill, *options, "--replace").exit_code == 0
        assert json.loads(out.read_bytes().splitlines()[1])["out"]["ids"] == right
        checked = tokenref("check", "kitoken", "--records", out)
        assert checked.exit_code == code, checked.output
        assert ("`fill --no-template` makes records without them" in checked.output) == bool(code)


def test_the_progress_of_making_goldens_is_shown_on_a_terminal(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("".join(f"{TEXT} {number}\n" for number in range(2000)), encoding="utf-8")
    terminal, inner = os.openpty()
    fill = ["fill", "--vocabulary", "tiny", "--texts", str(texts), "--out", str(out)]
    program = [sys.executable, "-m", "tokenref", *fill]
    running = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=inner)
    os.close(inner)
    shown = b"".join(_written_to(terminal)).decode()
    assert running.wait() == 0
    assert re.search(r"[1-9]\d?%", shown)


SHOWN = [
    line
    for page in (ROOT / "README.md", ROOT / "docs" / "commands.md")
    for block in code_of(page, "sh")
    for line in block.splitlines()
    if re.match(
        r"tokenref (encode|count|chunks|audit|sample|compare|profiles|trace|explain|show|rules"
        r"|fill --t) ?",
        line,
    )
    and "--records" not in line  # those need records: the test of their section runs them in order
]


@pytest.mark.parametrize("line", dict.fromkeys(SHOWN))
def test_the_commands_that_the_front_page_shows_work_as_typed(
    line: str, tmp_path: Path, pipeline_file: Path, model_file: Path
) -> None:
    if "cl100k_base" in line:
        pytest.importorskip("bpe_openai")
    folder = tmp_path / "path" / "to"
    folder.mkdir(parents=True)
    shutil.copy(pipeline_file, folder / "tokenizer.json")
    shutil.copy(model_file, folder / "tokenizer.model")
    (folder / "tekken.json").write_text(json.dumps(a_file(tokens_of_tiny())))
    (tmp_path / "qwen3").mkdir()
    shutil.copy(pipeline_file, tmp_path / "qwen3" / "tokenizer.json")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (tmp_path / "qwen3" / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "Llama-3").mkdir()
    tokens = vocabulary_of(load("tiny")).tokens
    for name in ("mine.tiktoken", "Llama-3/tokenizer.model"):
        write_tiktoken({content: token for token, content in tokens.items()}, tmp_path / name)
    shutil.copy(pipeline_file, tmp_path / "tokenizer.json")
    for name in ("my.txt", "other.txt", "prompt.txt"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(shutil.which("bash")), "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == int("tokenref compare" in line), done.stderr  # all of them differ
    assert done.stdout or "--html" in line
    for name in re.findall(r"--html (\S+)", line):
        assert (tmp_path / name).read_bytes().startswith(b"<!doctype html>")
    if "decode" in line:
        assert done.stdout == TEXT


def test_the_page_about_own_golden_records_works_line_by_line_as_typed(tmp_path: Path) -> None:
    """Nothing is downloaded: lines about a file that is not in the cache are left out."""
    pytest.importorskip("kitoken")
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    section = page.partition("## Your own golden records\n")[2].partition("\n## ")[0]
    lines = "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL)).splitlines()
    assert len(lines) == 23
    prose = [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("**/*.md"))]
    words = re.findall(r"\w+", " ".join(prose))
    texts = [" ".join(words[at : at + 100]) for at in range(0, len(words), 100)]
    (tmp_path / "my.txt").write_text("\n".join(texts), encoding="utf-8")
    cache = tmp_path / "cache"
    cache.mkdir()
    for name, file in (("qwen3", "qwen3"), ("r50k_base", "r50k_base.tiktoken")):
        there = default_folder() / file
        if not there.exists():
            lines = [line for line in lines if name not in line]
        elif there.is_dir():
            shutil.copytree(there, cache / file)
            shutil.copytree(there, tmp_path / file)
        else:
            shutil.copy(there, cache / file)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines:
        done = subprocess.run(
            [str(shutil.which("bash")), "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "TOKENREF_VOCABULARIES": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        code = int(line.endswith("# exits with 1"))
        assert (done.returncode, bool(done.stdout)) == (code, True), f"{line}: {done}"


def test_the_front_page_shows_every_command_about_text_and_sampling() -> None:
    commands = {line.split()[1] for line in SHOWN}
    names = {"encode", "count", "chunks", "audit", "sample", "compare", "profiles", "trace"}
    assert commands == names | {"explain", "fill", "show", "rules"}


def test_own_records_of_a_file_without_a_pattern_say_so_or_take_one(tmp_path: Path) -> None:
    texts, file, out = (tmp_path / name for name in ("my.txt", "mine.tiktoken", "own.jsonl"))
    texts.write_text("2024 and 12345\n" * 9)
    trained = tokenref("train", texts, "--size", "262", "--out", file)
    assert trained.exit_code == 0
    said = tokenref("fill", "--vocabulary", file, "--texts", texts, "--out", out)
    assert f"tokenref: {file} holds no pattern" in said.stderr
    assert "tokenref: without a pattern, the records test only how pieces merge\n" in said.stderr
    pattern = ["--pattern", "cl100k_base"]
    fill: list[str | Path] = ["fill", "--replace", "--texts", texts, "--out", out]
    said = tokenref(*fill, "--vocabulary", file, *pattern)
    assert (said.exit_code, said.stderr) == (0, "")
    (record,) = (json.loads(line) for line in out.read_text().splitlines()[1:])
    assert record["out"]["ids"] == load(file, pattern="cl100k_base").encode("2024 and 12345")
    compared = tokenref("check", "heap", "--corpus", texts, "--vocabulary", file)
    assert "note: " in compared.output
    assert "holds no pattern" in compared.output.replace("\n", " ")
    for option, path in (("--corpus", texts), ("--records", out)):
        checked = tokenref("check", "heap", option, path, "--vocabulary", file, *pattern)
        assert (checked.exit_code, "holds no pattern" in checked.output) == (0, False)
    alone = tokenref("check", "heap", *pattern)
    assert (alone.exit_code, "--pattern needs --corpus or --records" in alone.stderr) == (2, True)
    refused = tokenref("check", "heap", "--corpus", texts, "--vocabulary", "tiny", *pattern)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("tokenref: --pattern must not be given for tiny")


IDS_ONLY = """
import json, sys
from bpe_ref import load

for line in sys.stdin:
    message = json.loads(line)
    answer = {"id": message.get("id"), "ok": {}}
    if message["cmd"] == "hello":
        ops = {"tokenize": {"profiles": ["hugging-face"]}}
        answer = {"proto": 1, "impl": {"name": "ids", "version": "1"}, "ops": ops}
    elif message["cmd"] == "load":
        tokenizer = load(message["path"])
    elif message["cmd"] == "run":
        results = []
        for case in message["cases"]:
            text = case["in"].pop("text")
            ids = tokenizer.encode(text, **case["in"])
            results.append({"k": case["k"], "ok": {"ids": [0] if text == WRONG else ids}})
        answer = {"id": message["id"], "results": results}
    if message["cmd"] != "bye":
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("wrong", [None, "to be"])
def test_an_engine_that_returns_only_ids_is_compared_by_ids(
    tmp_path: Path, wrong: str | None
) -> None:
    texts, out, program = (tmp_path / name for name in ("my.txt", "own.jsonl", "engine.py"))
    texts.write_text("to be\nor not\n", encoding="utf-8")
    program.write_text(IDS_ONLY.replace("WRONG", repr(wrong)), encoding="utf-8")
    check = ["check", "--cmd", f"{sys.executable} {program}", "--records", str(out)]
    tokenref("fill", "--vocabulary", WHOLE, "--texts", texts, "--out", out)
    silent = tokenref(*check)
    lacking = "the ids are right, but there are no tokens: only ids are compared with --ids-only"
    assert (silent.exit_code, silent.output.count(lacking)) == (1, 1)  # one says it for all
    assert ("  and 1 more; use --json FILE" in silent.output) == (wrong is None)
    assert ("expected" in silent.output.partition(lacking)[0]) == (wrong is not None)  # first
    assert "crash" not in silent.output
    compared = tokenref(*check, "--ids-only")
    assert compared.exit_code == int(wrong is not None)
    assert ONLY_IDS in compared.output
    assert compared.output.count("--ids-only\n") == int(wrong is not None)  # run it again
    corpus = tokenref(*check[:-2], "--corpus", texts, "--vocabulary", WHOLE)
    assert "same" in corpus.output
    if wrong is None:
        some = ["--op", "tokenize", "--vocabulary", WHOLE, "--seed", "1", "--cases", "4"]
        fuzzed = tokenref("fuzz", *check[1:3], *some, "--ids-only")
        assert (fuzzed.exit_code, ONLY_IDS in fuzzed.output) == (0, True), fuzzed.output
        examined = tokenref("doctor", *check[1:3], "--ids-only")
        assert examined.exit_code == 0, examined.output
        correct = r"ok      tokenize: 3 of the first 3 questions are correct \(.*; only ids\)"
        assert re.search(correct, examined.output)
        assert re.search(r"tokenref check --cmd .* --ids-only\n$", examined.output)
        asked = tokenref("doctor", *check[1:3])
        assert (asked.exit_code, lacking in asked.output) == (1, True)
        some += ["--most", "1", "--shrink-seconds", "0"]
        assert lacking in tokenref("fuzz", *check[1:3], *some).output


@pytest.mark.parametrize("declared", [False, True])
def test_doctor_shows_only_the_ids_of_ordinary_text_if_only_ids_are_compared(
    tmp_path: Path, declared: bool
) -> None:
    program = tmp_path / "engine.py"
    version = '"version": "1"' + ', "ids_only": True' * declared
    wrong = IDS_ONLY.replace('"version": "1"', version).replace("WRONG", "'Hello the world! hello'")
    program.write_text(wrong, encoding="utf-8")
    command = ["doctor", "--cmd", f"{sys.executable} {program}"]
    examined = tokenref(*command, *["--ids-only"] * (not declared))
    assert examined.exit_code == 1
    assert re.search(r'expected  {"k":"\d+","ok":{"ids":\[[\d,]+\]}}\n', examined.output)
    assert '"offsets"' not in examined.output


def test_a_program_may_say_in_hello_that_it_has_only_ids(tmp_path: Path) -> None:
    texts, out, program = (tmp_path / name for name in ("my.txt", "own.jsonl", "engine.py"))
    texts.write_text("to be\nor not\n", encoding="utf-8")
    says = IDS_ONLY.replace('"version": "1"', '"version": "1", "ids_only": True')
    program.write_text(says.replace("WRONG", "None"), encoding="utf-8")
    tokenref("fill", "--vocabulary", WHOLE, "--texts", texts, "--out", out)
    command = ["--cmd", f"{sys.executable} {program}"]
    junit, page = tmp_path / "junit.xml", tmp_path / "page.html"
    checked = tokenref("check", *command, "--records", out, "--junit", junit, "--html", page)
    assert (checked.exit_code, f"ids: {ONLY_IDS}" in checked.output) == (0, True), checked.output
    assert all(ONLY_IDS in path.read_text(encoding="utf-8") for path in (junit, page))
    some = ["--op", "tokenize", "--vocabulary", WHOLE, "--seed", "1", "--cases", "4"]
    fuzzed = tokenref("fuzz", *command, *some)
    assert (fuzzed.exit_code, ONLY_IDS in fuzzed.output) == (0, True), fuzzed.output
    examined = tokenref("doctor", *command)
    assert (examined.exit_code, "; only ids)" in examined.output) == (0, True), examined.output


def test_the_same_answers_with_only_ids_pass_in_check_and_in_judge(tmp_path: Path) -> None:
    pytest.importorskip("splintr")
    texts, out, there = (tmp_path / name for name in ("my.txt", "own.jsonl", "there"))
    texts.write_text("to be\nor not\n", encoding="utf-8")
    file = Path(WHOLE).with_name("family_gpt2.json")
    tokenref("fill", "--vocabulary", file, "--texts", texts, "--out", out)
    checked = tokenref("check", "splintr-rs", "--records", out)
    sentence = f"splintr-rs: {ONLY_IDS}"
    assert (checked.exit_code, sentence in checked.output) == (0, True), checked.output
    tokenref("export", "--records", out, "--folder", there)
    requests, responses = there / "requests.jsonl", there / "responses.jsonl"
    answered = tokenref("answer", "splintr-rs", requests)
    judge: list[str | Path] = ["judge", requests, responses, "--records", out]
    responses.write_bytes(answered.stdout_bytes)
    judged = tokenref(*judge)
    assert (judged.exit_code, sentence in judged.output) == (0, True), judged.output
    responses.write_bytes(
        answered.stdout_bytes.replace(b',"ids_only":true', b"")
    )  # nothing says it
    failed = tokenref(*judge)
    lacking = "the ids are right, but there are no tokens"
    assert (failed.exit_code, failed.output.count(lacking)) == (1, 1), failed.output
    assert "  and 1 more; use --json FILE" in failed.output
    judged = tokenref(*judge, "--ids-only")
    assert (judged.exit_code, sentence in judged.output) == (0, True), judged.output


@pytest.mark.parametrize(("op", "fitting"), [("decode", "detokenize"), ("encode", "tokenize")])
def test_an_operation_of_another_kind_of_vocabulary_names_the_fitting_one(
    op: str, fitting: str
) -> None:
    refused = tokenref("fuzz", "tokenizers", "--op", op, "--vocabulary", WHOLE, "--cases", "1")
    assert (refused.exit_code, f"use --op {fitting}\n" in refused.stderr) == (2, True)
    refused = tokenref("fuzz", "heap", "--op", fitting, "--vocabulary", "tiny", "--cases", "1")
    assert (refused.exit_code, f"use --op {op}\n" in refused.stderr) == (2, True)
