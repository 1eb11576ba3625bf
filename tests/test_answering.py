"""A file of requests is answered by an engine of this program, or named with its wrong line."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.engines.table import Unavailable, engine
from tokenref.errors import InvalidRunError
from tokenref.protocol.requests import answer_requests, export, judge_responses, read_requests
from tokenref.record import op_of


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"nonsense\n", "line 1: not a request"),
        (b'{"cmd":"bye"}\n', "hello must be the first line and must not be repeated"),
        (b'{"cmd":"hello","proto":1}\n{"cmd":"hello","proto":1}\n', "line 2: hello must be"),
        (
            b'{"cmd":"hello","proto":1}\n{"cmd":"load","id":"l0","path":"none","vocab":"sha256:'
            + b"0" * 64
            + b'"}\n',
            "line 2: .* cannot be loaded",
        ),
        (
            b'{"cmd":"hello","proto":1}\n{"cmd":"run","id":"b0","op":"encode","profile":"definition",'
            b'"cases":[],"vocab":"sha256:' + b"0" * 64 + b'"}\n',
            "was not loaded before",
        ),
    ],
)
def test_a_file_that_holds_no_requests_is_named_with_its_line(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(content)
    found = engine("reference")
    assert not isinstance(found, Unavailable)
    with pytest.raises(InvalidRunError, match=sentence):
        list(answer_requests(found, path))


def test_a_vocabulary_must_be_the_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    entry = next(one for one in open_catalogue().manifest.subjects if one.path)
    message = {"cmd": "load", "id": "l0", "path": entry.path, "vocab": "sha256:" + "0" * 64}
    hello = b'{"cmd":"hello","proto":1}\n'
    path.write_bytes(hello + msgspec.json.encode(message) + b"\n")
    found = engine("reference")
    assert not isinstance(found, Unavailable)
    with pytest.raises(InvalidRunError, match=r"must have the digest sha256:0000.* got sha256:"):
        list(answer_requests(found, path))


def test_what_the_reference_answers_by_files_passes_and_no_canary_does(tmp_path: Path) -> None:
    catalogue = open_catalogue()
    subjects = catalogue.manifest.subjects
    paths = {entry.digest: str(entry.path) for entry in subjects if entry.path}
    wanted = {"encode", "tokenize", "decode"}
    shipped = [case for case in catalogue.cases if op_of(case) in wanted and case.vocab in paths]
    catalogue.cases = shipped[::20]
    assert len({case.profile for case in catalogue.cases}) > 2
    catalogue.canaries = [case for case in catalogue.canaries if case.vocab in paths]
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    lines = export(
        catalogue.cases, catalogue, "sha256:" + "0" * 64, lambda loading: paths[loading.digest]
    )
    requests.write_bytes(b"".join(lines))
    found, done = engine("reference"), list[int]()
    assert not isinstance(found, Unavailable)
    responses.write_bytes(b"".join(answer_requests(found, requests, done.append)))
    assert sum(done) == len(catalogue.cases) + len(catalogue.canaries)
    verdicts = judge_responses(responses, read_requests(requests, catalogue), catalogue)
    assert (verdicts.trouble, verdicts.canaries) == ([], [])
    assert {result.judgement.status for result in verdicts.results} == {"pass"}


def test_what_is_never_answered_is_not_declared(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    row = b'{"k":"0","in":{"probs":{"f32":"3f000000"},"params":{},"draws":9}}'
    path.write_bytes(
        b'{"cmd":"hello","proto":1}\n{"cmd":"run","id":"b0","op":"stat","profile":"standard",'
        b'"cases":[' + row + b"]}\n"
    )
    found = engine("reference")
    assert not isinstance(found, Unavailable)
    (hello,) = answer_requests(found, path)
    assert msgspec.json.decode(hello)["ops"] == {}


def test_the_command_writes_the_responses(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(
        b'{"cmd":"hello","proto":1}\n'
        b'{"cmd":"run","id":"b0","op":"softmax","profile":"standard","cases":'
        b'[{"k":"0","in":{"logits":{"f32":"0000000000000000"}}}]}\n{"cmd":"bye"}\n'
    )
    done = CliRunner().invoke(main, ["answer", "reference", str(path)])
    assert done.exit_code == 0
    assert (
        '{"id":"b0","results":[{"k":"0","ok":{"probs":{"f32":"3f0000003f000000"}}}]}' in done.stdout
    )
    assert CliRunner().invoke(main, ["answer", "nobody", str(path)]).exit_code == 2
