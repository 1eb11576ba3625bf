"""The benchmarks run, and what they say has the right shape; how fast it is, is not tested."""

import doctest
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import loading, plot, run, texts
from bpe_ref import ENCODERS, BpeError
from bpe_ref.finding import find

TEXT = "This is a text, and not a long one: it's here 12 times.\n" * 3
TINY = "tiny"


def measure() -> ModuleType:
    """Return the measurements, or skip the test where what they need is not installed."""
    pytest.importorskip("tiktoken")
    pytest.importorskip("resource")  # how much memory is used is asked of Unix
    from benchmarks import measure

    return measure


def positive(numbers: dict[str, float]) -> bool:
    return bool(numbers) and all(0 < number < math.inf for number in numbers.values())


@pytest.fixture
def _real() -> None:
    """Skip the test where the vocabulary that `run` measures is not."""
    pytest.importorskip("tiktoken")
    try:
        find(run.VOCABULARY)
    except BpeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("module", [loading, plot, run, texts])
def test_examples_hold(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_examples_of_the_measurements_hold() -> None:
    assert doctest.testmod(measure(), optionflags=doctest.ELLIPSIS).failed == 0


def test_the_texts_are_long_enough_and_always_the_same() -> None:
    for text in (texts.english_prose(), texts.python_code(), texts.mixed_scripts()):
        assert 500_000 <= len(text) <= texts.CHARACTERS
    assert texts.english_prose() == texts.english_prose()
    assert texts.python_code(1000) == texts.python_code()[:1000]
    assert len(texts.random_letters(100)) == 100
    assert texts.mixed_scripts(1000) == texts.mixed_scripts()[:1000]


def test_a_vocabulary_like_another_one_is_measured() -> None:
    found = measure().passes(TINY, TEXT, 50, (300, r"\w+|\W+"))
    assert positive(found)


@pytest.mark.usefixtures("_real")
def test_the_fastest_tokenizers_are_measured_on_the_same_parts() -> None:
    found = measure().fastest(run.VOCABULARY, TEXT, 50, 1)
    assert {"ours", "tiktoken"} <= found.keys()
    assert positive(found)


def test_pretokenized_text_is_measured_in_both_passes() -> None:
    found = measure().passes(TINY, TEXT)
    assert {"first", "first_wall", "repeated", "repeated_wall"} <= found.keys()
    assert positive(found)


def test_unsplit_text_is_measured() -> None:
    assert positive(measure().unsplit(TINY, TEXT, rounds=2))


@pytest.mark.parametrize("encoder", ["heap", "prefix_table", "backtracking"])
def test_random_letters_are_measured_against_a_tenth_of_them(encoder: str) -> None:
    found = measure().random_piece(TINY, encoder, length=2000, rounds=2)
    assert {"growth", "to_tiktoken", "seconds"} <= found.keys()
    assert positive(found)


def test_growing_texts_are_measured_beside_a_pass_over_them() -> None:
    found = measure().appending(TINY, TEXT, rounds=2)
    assert {"appending", "prepending", "automaton_seconds"} <= found.keys()
    assert positive(found)


def test_parts_are_counted_beside_encoding_them() -> None:
    found = measure().intervals(TINY, TEXT, length=50, times=5, rounds=2)
    assert {"faster", "with_preparing", "microseconds"} <= found.keys()
    assert positive(found)


def test_the_growth_of_everything_is_measured() -> None:
    assert tuple(measure().GROWING) == run._GROWING
    for what in measure().GROWING:
        found = measure().growth(TINY, what, TEXT, lengths=[10, 100], rounds=1)
        assert {"growth_100", "seconds"} == found.keys()
        assert positive(found)


@pytest.mark.parametrize("encoder", ["intervals", "backtracking"])
def test_counting_parts_has_a_curve(encoder: str) -> None:
    found = measure().counting_curve(TINY, encoder, TEXT, [10, 30])
    assert list(found) == ["10", "30"]
    assert positive(found)


@pytest.mark.usefixtures("_real")
def test_the_pictures_of_growing_texts_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    measure()
    job = run.Job({"text": TEXT}, characters=30, picture=tmp_path / "picture.svg")
    assert list(run.draw_incremental(job)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "appending_time.svg",
        "counting_time.svg",
        "worst_case_time.svg",
    ]


def test_memory_is_measured_in_megabytes() -> None:
    assert 1 < measure().memory(TINY, TEXT)["megabytes"] < 100_000


@pytest.mark.parametrize("encoder", [*ENCODERS, "tiktoken", "appending"])
def test_every_encoder_has_a_curve(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = measure()
    monkeypatch.setattr(module, "ENOUGH_SECONDS", 0)
    found = module.curve(TINY, encoder, TEXT, [10, 30, 100])
    assert list(found) == ["10", "30", "100"]
    assert positive(found)


def test_a_quadratic_encoder_is_stopped_when_it_gets_too_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = measure()
    monkeypatch.setattr(module, "TOO_SLOW_SECONDS", -1)
    assert list(module.curve(TINY, "naive", TEXT, [10, 30])) == ["10"]
    assert list(module.curve(TINY, "heap", TEXT, [10, 30])) == ["10", "30"]


def test_the_picture_is_drawn_and_the_same_for_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = {name: {10: 1e-5, 100: 1e-4} for name in (*ENCODERS, "tiktoken")}
    curves["naive"] = {10: 1.0}
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    plot.draw(curves, first, "title")
    plot.draw(curves, second, "title")
    assert first.read_bytes() == second.read_bytes()
    content = first.read_text(encoding="utf-8")
    assert all(f">{name}<" in content for name in curves)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (run.Row("at the limit", 2, at_most=2), "met"),
        (run.Row("above it", 2.1, at_most=2), "MISSED"),
        (run.Row("at the limit", 2, at_least=2), "met"),
        (run.Row("below it", 1.9, at_least=2), "MISSED"),
        (run.Row("without a target", 2), ""),
    ],
)
def test_a_row_says_whether_its_target_is_met(row: run.Row, verdict: str) -> None:
    assert row.cells()[-1] == verdict


def test_a_tokenizer_file_is_measured_beside_the_library(tmp_path: Path) -> None:
    measure()
    pytest.importorskip("tokenizers")
    from benchmarks import tokenizer_files

    assert doctest.testmod(tokenizer_files).failed == 0
    path = tmp_path / "small.json"
    path.write_text(
        json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}),
        encoding="utf-8",
    )
    for length in (0, 10):
        found = tokenizer_files.passes(str(path), "ab" * 100, length)
        assert {"load", "first", "repeated_wall"} <= found.keys()
        assert positive(found)


def test_files_that_are_not_there_are_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tokenizers")
    job = run.Job({"text": TEXT}, rounds=1, tokenizers=tmp_path)
    assert list(run.measure_files(job)) == []
    assert f"There is no {tmp_path / 'gpt2.tokenizer.json.gz'}" in capsys.readouterr().out


@pytest.mark.usefixtures("_real")
def test_a_part_is_run_in_fresh_processes_and_printed_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert run.main(["passes", "loading", "--rounds", "1", "--text", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "| mine.txt, first pass: share of tiktoken's throughput" in printed
    assert "| loading to the first encoded text: times tiktoken's time" in printed
    assert "heap" not in printed


@pytest.mark.usefixtures("_real")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["speed"], "a part must be one of passes, unsplit,"),
        (["passes", "--rounds", "0"], "--rounds must be at least 1, got 0"),
        (["plot", "--characters", "-1"], "--characters must be at least 1, got -1"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run.main(arguments)
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err
