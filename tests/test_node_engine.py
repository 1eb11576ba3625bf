"""Tokenizers of npm under Node: the adapters, and what the packages are known to do otherwise.

Where Node or a package is missing these tests are skipped; nothing is installed by them. The
packages are looked for as `tokenref check` does, see `tokenref/engines/node_packages.py`.
"""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bpe_ref import Vocabulary, load, vocabulary_by_concatenation, vocabulary_by_pair, vocabulary_of
from bpe_ref.errors import BpeError
from bpe_ref.vocabulary import TextRules
from tokenref.answers import Answer, HasIncidents, Ok, Refused, Skipped, Unsupported
from tokenref.catalogue import Catalogue, Selection, open_catalogue
from tokenref.corpus import CorpusComparer
from tokenref.engines.node_packages import NODE_PACKAGES, NodePackage, node_command, node_package
from tokenref.engines.table import Unavailable, engine
from tokenref.known import read_known
from tokenref.runner import run_engine

OPS = ("encode", "count", "special", "decode", "session")
BYTES = {bytes([byte]): byte for byte in range(256)}
PROGRAMS = Path(__file__).parent.parent / "tokenref" / "node_engines"


@cache
def catalogue() -> Catalogue:
    return open_catalogue()


OVER_THE_PROTOCOL = sorted(NODE_PACKAGES.keys() - {"tokenizers-js"})
"""The other one reads a tokenizer.json, see `test_json_engines`."""


@pytest.fixture(scope="module", params=OVER_THE_PROTOCOL)
def package(request: pytest.FixtureRequest) -> NodePackage:
    found = node_package(request.param)
    if isinstance(found, str):
        if os.environ.get("TOKENREF_ALL_ENGINES"):
            pytest.fail(found)
        pytest.skip(found)
    return found


def ask(
    package: NodePackage, op: str, request: Mapping[str, Any], vocabulary: Vocabulary | None = None
) -> Answer:
    session = package.load(vocabulary or vocabulary_by_concatenation(BYTES), "under test")
    assert not isinstance(session, Unsupported)
    return session.answer(op, request)


def published(name: str) -> Vocabulary:
    try:
        return vocabulary_of(load(name))
    except BpeError as error:
        pytest.skip(f"the vocabulary {name} is not here: {error}")


def test_the_package_differs_only_as_is_known(package: NodePackage) -> None:
    run = run_engine(
        package,
        catalogue().select(Selection(ops=OPS)),
        catalogue(),
        known=read_known(),
        complete=True,
    )
    assert [(each.case.id, each.judgement) for each in run.failures] == []
    assert run.stale == []
    assert run.is_valid, run.trouble
    assert not run.incidents
    assert run.count("pass") > 2000


def test_the_version_is_that_of_the_known_differences(package: NodePackage) -> None:
    assert package.version == NODE_PACKAGES[package.name]


def test_what_it_is_not_asked_for_is_a_skip_with_a_reason(package: NodePackage) -> None:
    asked: list[tuple[str, Mapping[str, Any]]] = [
        ("encode", {"bytes": "ff"}),
        ("encode", {"recipe": {"before": "", "unit": "ff", "times": 2, "after": ""}}),
        ("count", {"recipe": {"before": "", "unit": "61", "times": 10**9, "after": ""}}),
        ("encode", {"recipe": {"before": "", "unit": "61", "times": 10_001, "after": ""}}),
        ("decode", {"ids": [65]}),
        ("decode", {"ids": [65], "errors": "strict"}),
        ("decode", {"ids": [2**64], "errors": "replace"}),
    ]
    for op, request in asked:
        assert isinstance(ask(package, op, request), Skipped), request


def test_only_a_long_piece_is_too_long(package: NodePackage) -> None:
    """The packages take quadratic time for one piece, not for a text of short ones."""
    words = vocabulary_by_concatenation(BYTES, text=TextRules(pattern=r"\w+|\W"))
    text = "some words " * 2000
    assert ask(package, "encode", {"text": text}, words) == Ok({"ids": list(text.encode())})
    for vocabulary, piece in ((words, "x" * 10_001), (None, text)):  # without a pattern, one piece
        answer = ask(package, "count", {"text": piece}, vocabulary)
        assert isinstance(answer, Skipped)
        assert "is not asked for a piece of more than 1" in answer.reason


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        (vocabulary_by_pair({b"a": 0}, []), "merges by concatenation only"),
        (
            vocabulary_by_concatenation({b"a": 0, b"b": 1}, ids={b"a": 1, b"b": 0}),
            "besides the ranks",
        ),
        (
            vocabulary_by_concatenation(BYTES, text=TextRules(normalization="nfc")),
            "no normalization",
        ),
        (
            vocabulary_by_concatenation(BYTES, text=TextRules(pattern="a|(?s:.)")),
            r"has no pattern a\|",
        ),
        (
            vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"abc": 3}),
            "matters for dead tokens",
        ),
    ],
)
def test_a_vocabulary_that_it_cannot_express_is_skipped(
    package: NodePackage, vocabulary: Vocabulary, reason: str
) -> None:
    answer = ask(package, "encode", {"text": "a"}, vocabulary)
    if package.name == "tiktoken-wasm" and vocabulary.text.pattern is not None:
        assert answer == Ok({"ids": [97]})  # it reads any pattern in tiktoken's dialect
        return
    assert isinstance(answer, Skipped)
    assert reason.replace("\\", "") in answer.reason


def test_characters_outside_of_the_first_plane_arrive_as_they_are(package: NodePackage) -> None:
    text = "\x00é€\U0001f600\U0010fffd\u2028"
    expected = Ok({"ids": list(text.encode())})
    assert ask(package, "encode", {"text": text}) == expected
    assert ask(package, "encode", {"bytes": text.encode().hex()}) == expected
    mark = {"bytes": "efbbbf61"}
    assert ask(package, "encode", mark) == Ok({"ids": [0xEF, 0xBB, 0xBF, 0x61]})
    whole = vocabulary_by_concatenation({**BYTES, b"\xef\xbb": 256, b"\xef\xbb\xbf": 257})
    assert ask(package, "encode", {"text": "\ufeff"}, whole) == Ok({"ids": [257]})
    assert ask(package, "count", {"text": text}) == Ok({"count": len(text.encode())})
    ids = list(text.encode())
    assert ask(package, "decode", {"ids": ids, "errors": "replace"}) == Ok({"text": text})


def test_one_answer_does_not_depend_on_the_one_before(package: NodePackage) -> None:
    """gpt-tokenizer keeps half a character for its next call; the adapter sees to that."""
    request = {"ids": list("\U0001f600".encode()), "errors": "replace"}
    alone = ask(package, "decode", request)
    ask(package, "decode", {"ids": [0xF0, 0x9F], "errors": "replace"})
    assert ask(package, "decode", request) == alone == Ok({"text": "\U0001f600"})


def test_special_tokens_are_refused_for_the_right_reason(package: NodePackage) -> None:
    vocabulary = published("cl100k_base")
    request = {"text": "<|endoftext|>", "allowed": [], "disallowed": "all"}
    answer = ask(package, "special", request, vocabulary)
    assert isinstance(answer, Refused)
    assert answer.code == "DISALLOWED_SPECIAL"
    allowed = {"text": "<|endoftext|>a", "allowed": "all", "disallowed": "all"}
    assert ask(package, "special", allowed, vocabulary) == Ok({"ids": [100257, 64]})


def test_its_own_encodings_are_recognised_by_their_content(package: NodePackage) -> None:
    """A byte order mark shows whose ranks are used: gpt-tokenizer does not find it in its own."""
    marks = {"gpt-tokenizer": [171, 3299], "js-tiktoken": [3305], "tiktoken-wasm": [3305]}
    answer = ask(package, "encode", {"text": "\ufeff"}, published("cl100k_base"))
    assert answer == Ok({"ids": marks[package.name]})


@pytest.mark.parametrize("name", sorted(NODE_PACKAGES))
def test_an_absent_package_is_unavailable_with_the_line_that_installs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENREF_NODE_MODULES", str(tmp_path))
    monkeypatch.setattr(shutil, "which", str)
    found = engine(name)
    assert isinstance(found, Unavailable)
    other = {"tiktoken-wasm": "tiktoken", "tokenizers-js": "@huggingface/tokenizers"}
    package = other.get(name, name)
    assert f"npm install {package}@{NODE_PACKAGES[name]}" in found.reason
    assert "TOKENREF_NODE_MODULES" in found.reason


def test_without_node_the_packages_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = engine("js-tiktoken")
    assert isinstance(found, Unavailable)
    assert found.reason == "node is not installed"


def test_a_package_file_that_is_none_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", str)
    monkeypatch.setenv("TOKENREF_NODE_MODULES", str(tmp_path))
    (tmp_path / "js-tiktoken").mkdir()
    for content in ("{", "[]", "{}", "null"):
        (tmp_path / "js-tiktoken" / "package.json").write_text(content)
        assert isinstance(node_package("js-tiktoken"), str)


def test_the_command_names_program_and_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENREF_NODE_MODULES", "/with a space/node_modules")
    node, program, folder = shlex.split(node_command("gpt-tokenizer"))
    assert node == "node"
    assert Path(program).is_file()
    assert folder == "/with a space/node_modules"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_package_that_breaks_while_it_loads_is_said_to(tmp_path: Path) -> None:
    """The adapter dies with the reason on standard error, and answers nothing."""
    (tmp_path / "js-tiktoken").mkdir()
    (tmp_path / "js-tiktoken" / "package.json").write_text('{"version":"9"}')
    done = subprocess.run(
        [str(shutil.which("node")), str(PROGRAMS / "js_tiktoken.mjs"), str(tmp_path)],
        input=json.dumps({"cmd": "load", "id": "l", "path": "/none", "vocab": "sha256:0"}) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert json.loads(done.stdout)["crash"]["msg"].startswith("Error: ENOENT")


def test_the_packages_encode_a_text_of_ones_own(package: NodePackage, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Hello, world\n  12345 caf\u00e9\n", encoding="utf-8")
    [compared] = CorpusComparer("cl100k_base", [package]).compare(tmp_path / "text.txt").results
    assert (compared.status, compared.detail) == ("same", "")


def test_an_engine_of_node_is_ended_and_forgiven_like_other_programs() -> None:
    assert isinstance(NodePackage("gpt-tokenizer", "4.0.0"), HasIncidents)
