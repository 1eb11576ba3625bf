"""Whole encodings of a user's own text."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bpe_ref import ENCODERS, Vocabulary, load, vocabulary_of
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from tests.real_vocabularies import real_vocabulary
from tests.small_fixtures import checkout_fixtures
from tokenref import corpus, files
from tokenref.answers import Answer, Engine, Ok, Refused, Session, Unsupported
from tokenref.cli import main
from tokenref.corpus import CorpusComparer, shrink
from tokenref.engines.reference import ReferenceEngine, with_encoder
from tokenref.engines.table import Unavailable, engine
from tokenref.errors import InputError
from tokenref.files import read_text
from tokenref.skeletons import write_skeleton

TOKENS = b"YQ== 0\nYg== 1\nCg== 2\nYWI= 3\n"  # a, b, newline, ab


@dataclass(frozen=True)
class Broken:
    """An engine that is wrong wherever it meets `trouble`: as `answer` says, or by panic."""

    trouble: str
    reply: Answer | None = None
    name: str = "broken"
    version: str = "0"

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        right = ReferenceEngine(with_stages=False).load(vocabulary, name)
        assert not isinstance(right, Unsupported)
        return BrokenSession(self, right)


@dataclass(frozen=True)
class BrokenSession:
    engine: Broken
    right: Session

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        assert op == "encode"
        if self.engine.trouble not in request["text"]:
            return self.right.answer(op, request)
        if self.engine.reply is None:
            raise BaseException("index out of bounds")  # noqa: TRY002 - as a panic is
        return self.engine.reply


@dataclass(frozen=True)
class LoadsNothing:
    name: str = "nothing"
    version: str = "0"

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        return Unsupported(f"no {name.rpartition('/')[2]}" if vocabulary.tokens else "")


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(TOKENS)
    return str(path)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "text.txt"
    path.write_bytes(content)
    return path


def test_an_engine_that_agrees_is_the_same(tmp_path: Path, vocabulary: str) -> None:
    path = written(tmp_path, b"ab\nba\n")
    (result,) = CorpusComparer(vocabulary, [ReferenceEngine()]).compare(path).results
    assert (result.engine, result.status, result.tokens) == ("reference", "same", 5)
    assert result.difference is None


def test_the_first_difference_has_its_line_byte_and_tokens(tmp_path: Path, vocabulary: str) -> None:
    path = written(tmp_path, b"b\nbb\nbbab\nab\n")
    letters = with_encoder(lambda _, symbols: list(symbols))
    (result,) = (
        CorpusComparer(vocabulary, [ReferenceEngine(name="letters", prepare_tokenizer=letters)])
        .compare(path)
        .results
    )
    assert result.status == "different"
    assert result.tokens == 13
    difference = result.difference
    assert difference is not None
    assert (difference.line, difference.byte) == (3, 7)
    assert difference.expected == [(3, b"ab"), (2, b"\n"), (3, b"ab")]
    assert difference.got == [(0, b"a"), (1, b"b"), (2, b"\n")]
    assert difference.smallest == "ab"


def test_an_answer_that_is_too_short_or_has_unknown_ids_is_different(
    tmp_path: Path, vocabulary: str
) -> None:
    path = written(tmp_path, b"ab\nb")
    short, unknown = (
        CorpusComparer(
            vocabulary, [Broken("ab", Ok({"ids": [3]})), Broken("ab", Ok({"ids": [9, 9]}))]
        )
        .compare(path)
        .results
    )
    assert short.difference is not None
    assert (short.difference.line, short.difference.byte) == (1, 2)
    assert short.difference.got == []
    assert unknown.difference is not None
    assert unknown.difference.got == [(9, None), (9, None)]


def test_a_difference_over_several_lines_is_found_in_the_whole_text(
    tmp_path: Path, vocabulary: str
) -> None:
    path = written(tmp_path, b"b\n" * 5 + b"a\n\n\nb\n" + b"b\n" * 5)
    (result,) = (
        CorpusComparer(vocabulary, [Broken("a\n\n\nb", Ok({"ids": []}))]).compare(path).results
    )
    assert result.difference is not None
    assert result.difference.smallest == "a\n\n\nb"
    assert result.difference.line == 1


def test_a_text_too_long_to_shrink_keeps_its_difference(
    tmp_path: Path, vocabulary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "LONGEST_STRETCH", 3)
    path = written(tmp_path, b"abababab")
    (result,) = CorpusComparer(vocabulary, [Broken("ab", Ok({"ids": []}))]).compare(path).results
    assert result.difference is not None
    assert result.difference.smallest == ""


def test_engines_that_break_refuse_or_cannot_are_told_apart(
    tmp_path: Path, vocabulary: str
) -> None:
    path = written(tmp_path, b"ab")
    engines: list[Engine] = [
        Broken("ab"),
        Broken("ab", Refused("MISSING_BYTE", "no such byte")),
        Broken("ab", Unsupported("no such text")),
        LoadsNothing(),
        ReferenceEngine(),
    ]
    results = CorpusComparer(vocabulary, engines).compare(path).results
    assert [(result.status, result.detail) for result in results] == [
        ("crash", "BaseException: index out of bounds"),
        ("refused", "no such byte"),
        ("unsupported", "no such text"),
        ("unsupported", "no small.tiktoken"),
        ("same", ""),
    ]


def test_a_text_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, vocabulary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, sentence in (
        (b"ab\xff", "must be UTF-8, but byte 2 is not"),
        (b"abc", "cannot be encoded: byte 0x63 at position 2"),
    ):
        with pytest.raises(InputError, match=sentence):
            CorpusComparer(vocabulary, []).compare(written(tmp_path, content))
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    with pytest.raises(InputError, match="must contain text, got an empty file"):
        read_text(written(tmp_path, b""))
    monkeypatch.setattr(files, "LARGEST", 2)
    with pytest.raises(InputError, match="must have at most 2 bytes, it has more"):
        read_text(written(tmp_path, b"abc"))


def test_line_ends_are_left_as_they_are(tmp_path: Path) -> None:
    assert read_text(written(tmp_path, "a\r\n\u00e9\r".encode())) == "a\r\n\u00e9\r"


def test_shrinking_keeps_the_difference_and_cuts_both_ends() -> None:
    for text, needle in (("abcdefgh" * 50 + "!?" + "xyz" * 70, "!?"), ("x", "x"), ("", "")):
        assert shrink(text, partial(_holds, needle)) == needle


def _holds(needle: str, part: str) -> bool:
    return needle in part


def test_real_engines_encode_a_text_as_the_reference_does(tmp_path: Path) -> None:
    real_vocabulary("cl100k_base")
    engines = [engine(name) for name in ("tiktoken", "tokenizers", "bpe-openai", "rs-bpe")]
    here = [found for found in engines if not isinstance(found, Unavailable)]
    if not here:
        pytest.skip("none of the real engines is installed")
    text = "It's 12345 \u6f22\u5b57  \n\n <|endoftext|> e\u0301\r\n\t\U0001f600" * 50
    greedy = ReferenceEngine(name="greedy", prepare_tokenizer=with_encoder(ENCODERS["greedy"]))
    path = written(tmp_path, text.encode())
    results = CorpusComparer("cl100k_base", [*here, greedy]).compare(path).results
    assert [result.status for result in results[:-1]] == ["same"] * len(here)
    assert all(result.tokens == results[0].tokens for result in results[:-1])


# ---- whole tokenizers


@dataclass(frozen=True)
class LosesAnId(ReferenceEngine):
    """Answers without its second id where a text has more than one, but only about whole files."""

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session:
        return _LosesAnId(super().load_tokenizer(content, name, profile))


@dataclass(frozen=True)
class _LosesAnId:
    right: Session

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        answer = self.right.answer(op, request)
        assert isinstance(answer, Ok)
        assert (op, request["add_special_tokens"]) == ("tokenize", False)
        ids = answer.out["ids"]
        return Ok({"ids": ids[:1] + ids[2:]})


def test_a_tokenizer_json_that_does_not_merge_bytes_is_compared_as_a_whole(tmp_path: Path) -> None:
    file = checkout_fixtures() / "tokenizer" / "family_llama2.json"
    path = written(tmp_path, "\u00e9\u00e9 ab\nand \u00e9 so on\n".encode())
    engines: list[Engine] = [ReferenceEngine(), LosesAnId("loses"), LoadsNothing()]
    same, other, none = CorpusComparer(str(file), engines).compare(path).results
    ids = load(file).encode(path.read_text("utf-8"), add_special_tokens=False)
    assert (same.status, same.tokens) == ("same", len(ids))
    assert (other.status, other.tokens) == ("different", len(ids) - 1)
    assert (none.status, none.detail) == ("unsupported", "cannot read a tokenizer.json")
    found = other.difference
    assert found is not None
    spans = load(file).tokenize(path.read_text("utf-8"), add_special_tokens=False).offsets
    start = spans[1][0]
    assert found.byte == len(path.read_text("utf-8")[:start].encode())
    assert [token for token, _ in found.expected] == ids[1:4]
    assert [token for token, _ in found.got] == ids[2:5]
    assert found.smallest


def test_several_texts_and_vocabularies_are_compared_each_with_each(tmp_path: Path) -> None:
    texts = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for text in texts:
        text.write_text("ab ab\n", encoding="utf-8")
    several = [part for text in texts for part in ("--corpus", str(text))]
    command = ["check", "naive", *several, "--vocabulary", "tiny", "--vocabulary", "cl100k_base"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    rows = [re.split(r" *│ *", line) for line in done.output.splitlines() if "│" in line]
    assert [row[1:] for row in rows] == [["tiny", "2", "2", "6"], ["cl100k_base", "2", "2", "6"]]
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(main, [*command, "--corpus", str(tmp_path), "--json", str(out)])
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    headers = [line for line in lines if line["kind"] == "header"]
    asked = [(text, name) for name in ("tiny", "cl100k_base") for text in (*texts, *texts)]
    found = [(Path(each["text"]["path"]), each["vocabulary"]) for each in headers]
    assert [each for each in found if each[0] in texts] == asked


def test_texts_that_cannot_be_compared_are_in_the_json(tmp_path: Path, vocabulary: str) -> None:
    (tmp_path / "texts").mkdir()
    bad, out = tmp_path / "texts" / "bad.txt", tmp_path / "out.jsonl"
    bad.write_bytes(b"\xff")
    (tmp_path / "texts" / "good.txt").write_bytes(b"ab")
    command = ["check", "naive", "--vocabulary", vocabulary, "--corpus", str(tmp_path / "texts")]
    assert CliRunner().invoke(main, [*command, "--json", str(out)]).exit_code == 2
    *_, footer, error = (json.loads(line) for line in out.read_text("utf-8").splitlines())
    assert footer["statuses"] == {"same": 1}
    assert error == {
        "kind": "error",
        "text": str(bad),
        "detail": f"{bad} must be UTF-8, but byte 0 is not",
    }


def test_the_good_files_of_a_folder_are_compared_and_an_empty_one_is_the_same(
    tmp_path: Path, vocabulary: str
) -> None:
    for name, content in ("a.txt", b"\xff"), ("b.txt", b""), ("c.md", b"ab"), ("d/e.txt", b"ba"):
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_bytes(content)
    command = ["check", "naive", "greedy", "--vocabulary", vocabulary, "--corpus"]
    done = CliRunner().invoke(main, [*command, str(tmp_path / "texts")])
    row = r"^{} 0.1.0 +│ small.tiktoken +│ +{} │ +{} │ +{}$"
    done_by = partial(_has_row, row.replace("small.tiktoken", vocabulary))
    assert done.exit_code == 2
    assert done_by(done.stdout, "naive", 3, 3, 3)
    assert done_by(done.stdout, "greedy", 3, 3, 3)
    assert done.stderr == f"tokenref: {tmp_path}/texts/a.txt must be UTF-8, but byte 0 is not\n"
    done = CliRunner().invoke(main, [*command, str(tmp_path / "texts" / "[b-c].*")])
    assert done.exit_code == 0
    assert done_by(done.stdout, "greedy", 2, 2, 1)
    done = CliRunner().invoke(main, [*command, str(tmp_path / "*.no")])
    assert (done.exit_code, "--corpus must name files, but " in done.stderr) == (2, True)
    (empty,) = (
        CorpusComparer(vocabulary, [Broken("", Ok({"ids": [1]}))])
        .compare(written(tmp_path, b""))
        .results
    )
    assert empty.status == "different"


def _has_row(row: str, output: str, *cells: object) -> bool:
    return re.search(row.format(*cells), output, re.MULTILINE) is not None


def test_many_texts_have_one_table_and_only_a_few_differences(
    tmp_path: Path, vocabulary: str
) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_bytes(b"ab" * number)
    command = ["check", "py:tests.test_corpus:loses_all", "--vocabulary", vocabulary, "--corpus"]
    done = CliRunner().invoke(main, [*command, str(tmp_path / "*.txt")])
    assert done.exit_code == 1
    assert "broken 0 │" in done.output
    assert (done.output.count("┃ texts ┃"), done.output.count("first differs")) == (1, 5)
    assert f"broken ({tmp_path}/1.txt by {vocabulary}): first differs at line 1" in done.output
    assert "\nbroken: 2 more like these\n" in done.output


def loses_all() -> Broken:
    return Broken("ab", Ok({"ids": []}))


# ---- programs


def program(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """Return the options that check a skeleton in Python, changed so."""
    write_skeleton("python", folder)
    path = folder / "engine.py"
    content = path.read_text("utf-8")
    for old, new in changes:
        assert old in content
        content = content.replace(old, new)
    path.write_text(content, "utf-8")
    return ["--cmd", shlex.join([sys.executable, str(path)])]


def test_a_program_is_asked_as_the_kind_of_the_vocabulary_demands(
    tmp_path: Path, vocabulary: str
) -> None:
    text = written(tmp_path, b"ab\nba\n")
    asked = ["check", *program(tmp_path / "engine"), "--corpus", str(text), "--vocabulary"]
    done = CliRunner().invoke(main, [*asked, vocabulary])
    assert done.exit_code == 0, done.output
    assert _has_row(r"^my-engine 0.1 │ {} │ +1 │ +1 │ +5$", done.output, vocabulary)
    whole = str(checkout_fixtures() / "tokenizer" / "family_llama2.json")
    done = CliRunner().invoke(main, [*asked, whole])
    assert done.exit_code == 3
    assert "my-engine: does not declare the operation tokenize" in done.output


def test_an_engine_that_compares_nothing_is_never_a_success(
    tmp_path: Path, vocabulary: str
) -> None:
    text = written(tmp_path, b"ab\nba\n")
    other = program(tmp_path / "engine", ('"definition"', '"tiktoken"'))
    asked = ["check", "naive", "--corpus", str(text), "--vocabulary", vocabulary]
    assert CliRunner().invoke(main, asked).exit_code == 0
    done = CliRunner().invoke(main, [*asked, *other])
    assert done.exit_code == 3, done.output
    assert "my-engine: does not declare the profile definition" in done.output
    (tmp_path / "long.txt").write_bytes(b"ab" * 2000)  # naive compares the other text
    both = [*asked, "--corpus", str(tmp_path / "long.txt")]
    done = CliRunner().invoke(main, both)
    assert (done.exit_code, "naive is not run" in done.output) == (0, False), done.output


def test_a_long_text_gets_more_time_and_a_late_program_names_the_option(
    tmp_path: Path, vocabulary: str
) -> None:
    sleeps = "    __import__('time').sleep(0.6)\n    return [0] * len(text)\n"
    begin = '    ids, ranks = vocabulary["ids"]'
    limit = "LONGEST = 2000"
    slow = program(tmp_path / "engine", (begin, sleeps + begin), (limit, "LONGEST = 10**6"))
    for size, code in (10_000, 1), (60_000, 0):
        text = written(tmp_path, b"a" * size)
        asked = ["check", *slow, "--corpus", str(text), "--vocabulary", vocabulary]
        done = CliRunner().invoke(main, [*asked, "--timeout", "0.3"])
        assert done.exit_code == code, done.output
        late = "my-engine: it did not answer within 0.35 seconds (--timeout)"
        assert (late in done.output) == (code == 1)


def test_tokens_are_shown_as_text_whatever_the_file(tmp_path: Path) -> None:
    file, texts = tmp_path / "tokenizer.json", written(tmp_path, "e\u00e4a\u00e4".encode())
    write_tokenizer_json(vocabulary_of(load("tiny")), file)
    (result,) = CorpusComparer(str(file), [LosesAnId("loses")]).compare(texts).results
    assert result.difference is not None
    assert result.difference.expected == [(680, b"\xc3\xa4"), (97, b"a"), (680, b"\xc3\xa4")]
    given = ["check", "greedy", "--corpus", str(texts), "--vocabulary", "tiny"]
    output = CliRunner().invoke(main, given).output
    assert re.search(r"expected +97 a, 680 \u00e4$", output, re.MULTILINE), output
