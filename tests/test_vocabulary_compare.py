"""`tokenref vocabulary compare` names all that differs between two tokenizers, and nothing else."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from bpe_ref import BpeError, Tokenizer, load
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.models.bpe import BPE
from bpe_ref.pre_tokenizers.pattern import Pattern
from tests.small_fixtures import checkout_fixtures
from tokenref.cli import main
from tokenref.commands.vocabulary import differences

FILES: Final = sorted(
    path for kind in ("tokenizer", "vocab") for path in (checkout_fixtures() / kind).glob("*.json")
)
FAMILY: Final = checkout_fixtures() / "tokenizer" / "family_llama2.json"
TEXTS: Final = (
    "",
    "to be, or not to be",
    " A\tb\n\n c é 日本 🙂 12345",
    "<s>aab</s> abab",
    "\x00\x7f",
)


def tokenref(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["vocabulary", "compare", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def encoded(tokenizer: Tokenizer, text: str) -> object:
    try:
        return tokenizer.encode(text)
    except BpeError as error:
        return type(error)


def test_of_long_settings_that_differ_the_difference_is_shown_and_no_more() -> None:
    def change(old: str, new: str) -> str:
        model = BPE({"a": 0}, [])
        made = [Tokenizer(model, pre_tokenizer=Pattern(each)) for each in (old, new)]
        [(path, how)] = differences(*made)
        assert path == "pre_tokenizer.pattern"
        return how

    assert change("a|b", "a|c") == "'a|b' became 'a|c'"
    begin, end = "x" * 300, "y" * 300
    shown = [f"...{'x' * 20}{each}{'y' * 20}..." for each in ("", "1", "22")]
    for one, first in zip(("", "1", "22"), shown, strict=True):
        for other, second in zip(("", "1", "22"), shown, strict=True):
            if one != other:
                assert change(begin + one + end, begin + other + end) == f"{first} became {second}"


def test_a_file_is_the_same_as_itself() -> None:
    assert len(FILES) > 200
    for path in FILES:
        assert differences(load(path), load(path)) == [], path.name


def test_tokenizers_without_a_difference_encode_alike() -> None:
    loaded = [load(path) for path in FILES]
    alike = 0
    for one, other in combinations(loaded, 2):
        if len(one.vocab) == len(other.vocab) and not differences(one, other):
            alike += 1
            for text in TEXTS:
                assert encoded(one, text) == encoded(other, text), (one.name, other.name)
    assert alike > 0


def changed(change: Callable[[dict[str, Any]], object], folder: Path) -> list[tuple[str, str]]:
    """Return the differences between a tokenizer.json and what a change makes of it."""
    content = json.loads(FAMILY.read_text("utf-8"))
    change(content)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return differences(load(FAMILY), load(path))


def test_each_part_of_a_file_that_is_changed_is_named(tmp_path: Path) -> None:
    def swap_merges(content: dict[str, Any]) -> None:
        merges = content["model"]["merges"]
        merges[0], merges[1] = merges[1], merges[0]

    def swap_ids(content: dict[str, Any]) -> None:
        vocab = content["model"]["vocab"]
        one, other = list(vocab)[-2:]
        vocab[one], vocab[other] = vocab[other], vocab[one]

    changes: list[tuple[Callable[[dict[str, Any]], object], list[str]]] = [
        (dict.copy, []),
        (lambda content: content["model"]["merges"].pop(), ["merges removed"]),
        (swap_merges, ["order of merges"]),
        (swap_ids, ["ids changed"]),
        (lambda content: content["model"]["vocab"].update(zzz=5000), ["tokens added"]),
        (
            lambda content: content["model"].update(fuse_unk=not content["model"]["fuse_unk"]),
            ["model.fuse_unk"],
        ),
        (lambda content: content.update(normalizer=None), ["normalizer"]),
        (lambda content: content.update(pre_tokenizer={"type": "Whitespace"}), ["pre_tokenizer"]),
        (lambda content: content.update(post_processor=None), ["post_processor"]),
        (lambda content: content.update(decoder=None), ["decoder"]),
        (lambda content: content["added_tokens"][0].update(lstrip=True), ["added tokens"]),
    ]
    for change, labels in changes:
        assert [label for label, _ in changed(change, tmp_path)] == labels


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """Return two versions of a small file in the tiktoken format."""
    old, new = tmp_path / "old.tiktoken", tmp_path / "new.tiktoken"
    write_tiktoken({b"a": 0, b"b": 1, b" ": 2, b"ab": 3, b"bb": 4}, old)
    write_tiktoken({b"a": 0, b"b": 1, b" ": 2, b"ba": 3, b"ab": 4}, new)
    return old, new


def test_json_has_what_differs_and_all_encodings_that_differ(
    versions: tuple[Path, Path], tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a b\nba\nbb\n", encoding="utf-8")
    result = tokenref(*versions, "--texts", texts, "--json")
    old, new = map(load, versions)
    assert (result.exit_code, json.loads(result.stdout)) == (
        1,
        {
            "differences": dict(differences(old, new)),
            "texts": 3,
            "other_ids": [
                {
                    "text": f"Line {line} of texts.txt",
                    "old": old.encode(text),
                    "new": new.encode(text),
                }
                for line, text in ((2, "ba"), (3, "bb"))
            ],
        },
    )
    same = tokenref(versions[0], versions[0], "--json")
    assert (same.exit_code, json.loads(same.stdout)) == (
        0,
        {"differences": {}, "texts": 0, "other_ids": []},
    )


def test_what_differs_is_listed_with_the_first_text_that_is_encoded_otherwise(
    versions: tuple[Path, Path], tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a b\nb ab\naba\nc\n", encoding="utf-8")
    found = tokenref(*versions, "--pattern", "r50k_base", "--texts", texts)
    assert found.exit_code == 1, found.output
    assert found.stdout.splitlines() == [
        "tokens removed    1: 4 bb",
        "tokens added      1: 3 ba",
        "ids changed       1: 3 ab is 4",
        "merges removed    1: bb",
        "merges added      1: ba",
        "texts             2 of 4 have other ids",
        "first             Line 2 of texts.txt, from token 3 on",
        "old               1: 3 ab",
        "new               1: 4 ab",
    ]


def test_the_exit_code_is_0_if_nothing_differs(versions: tuple[Path, Path], tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\nb", encoding="utf-8")
    old, new = versions
    same = tokenref(old, old, "--pattern", "r50k_base", "--file", text)
    assert (same.exit_code, same.stdout.splitlines()) == (
        0,
        [
            "same              tokens, ids, merges, added tokens, other settings",
            "texts             0 of 1 have other ids",
        ],
    )
    assert tokenref("tiny", "tiny").exit_code == 0
    other = tokenref(old, new, "--file", text)
    assert (other.exit_code, "texts             0 of 1" in other.stdout) == (1, True)
    assert "holds no pattern" in other.stderr
    patterns = tokenref("cl100k_base", "no/such")
    assert (patterns.exit_code, "no/such" in patterns.stderr) == (2, True)


def test_the_other_texts_are_compared_if_a_file_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff")
    (tmp_path / "b.txt").write_text("to be", encoding="utf-8")
    said = f"{tmp_path / 'a.txt'} must be UTF-8, but byte 0 is not"
    shown = tokenref("tiny", "tiny", "--file", tmp_path)
    assert (shown.exit_code, shown.stderr) == (2, f"tokenref: {said}\n")
    assert "0 of 1 have other ids" in shown.stdout
    listed = json.loads(tokenref("tiny", "tiny", "--file", tmp_path, "--json").stdout)
    assert (listed["texts"], listed["errors"]) == (1, [said])
    alone = tokenref("tiny", "tiny", "--file", tmp_path / "a.txt")
    assert (alone.exit_code, alone.stdout, said in alone.stderr) == (2, "", True)


def test_a_text_that_one_tokenizer_refuses_is_encoded_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "few.tiktoken"
    write_tiktoken({b"a": 0, b"b": 1}, path)
    (tmp_path / "text.txt").write_text("abc", encoding="utf-8")
    found = tokenref(path, "tiny", "--file", tmp_path / "text.txt")
    assert found.exit_code == 1
    assert "\nold               refused: " in found.stdout
    assert re_line(found.stdout, "new").startswith("1: ")


def re_line(shown: str, label: str) -> str:
    """Return the value of a line."""
    (line,) = [line for line in shown.splitlines() if line.startswith(f"{label} ")]
    return line[18:]
