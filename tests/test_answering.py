"""A file of requests is answered by an engine of this program, or named with its wrong line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tokenref.cli import main
from tokenref.engines.table import Unavailable, engine
from tokenref.protocol.answering import answer_requests
from tokenref.protocol.offline import ExchangeError


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"nonsense\n", "line 1: not a request"),
        (b'{"cmd":"bye"}\n', "hello must be the first line, and no other"),
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
    with pytest.raises(ExchangeError, match=sentence):
        list(answer_requests(found, path))


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
