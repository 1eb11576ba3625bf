"""A command loads what it needs, and nothing that only other commands need."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import click
import pytest

from tests.children import ROOT
from tokenref.commands.table import COMMANDS, CommandTable
from tokenref.errors import FOREIGN, InputError, InvalidRunError, exit_code
from tokenref.goldens import GoldensError
from tokenref.protocol.channel import StartError
from tokenref.protocol.opening import GreetingError
from tokenref.record import RecordError

ENGINES = {
    "tokenref.engines.llama_cpp_samplers",
    "tokenref.engines.numpy_draws",
    "tokenref.engines.reference",
    "tokenref.engines.reference_samplers",
    "tokenref.engines.tokenizers",
    "tokenref.engines.torch_samplers",
    "tokenref.engines.transformers_samplers",
}
FOR_OTHERS = {
    *ENGINES,
    *("dask", "hypothesis", "numpy", "ssl", "tokenizers", "torch", "transformers"),
    *("sampling_ref.engines", "authoring"),
    *("tokenref.fuzzing", "tokenref.reports.html.page", "tokenref.strategies"),
}
"""What checking engines needs none of, but for an engine that is named."""

HEAVY = {
    *FOR_OTHERS,
    *("msgspec", "sampling_ref", "tokenref.catalogue", "tokenref.engines", "tokenref.record"),
    *("tokenref.judge", "tokenref.protocol", "tokenref.runner"),
}
"""What all needs that judges, and nothing else."""


UNNEEDED = {
    "--version": {*HEAVY, "bpe_ref.tokenizer", "rich.progress"},
    "encode abc": HEAVY,
    "check --help": {*FOR_OTHERS, "tiktoken"},
    "check tiktoken --id bpe/count/missing_bytes/*": FOR_OTHERS,
}


@pytest.mark.parametrize("command", UNNEEDED)
def test_what_a_command_does_not_need_is_not_imported(command: str) -> None:
    script = (
        "import sys; from tokenref.cli import main; "
        "main(sys.argv[1:], standalone_mode=False); print('loaded', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert sorted(UNNEEDED[command] & set(loaded)) == []


def test_a_file_of_tiktoken_is_loaded_without_what_other_files_need() -> None:
    unneeded = {
        *("bpe_ref.canonical", "bpe_ref.completions", "bpe_ref.learning", "bpe_ref.models.unigram"),
        *("bpe_ref.formats.hugging_face_writing", "bpe_ref.normalizers.nfc", "fractions"),
        *("bpe_ref.normalizers.replacing", "bpe_ref.normalizers.rewriting"),
    }
    for name in unneeded:
        import_module(name)  # else a new name would make this an empty claim
    script = (
        "import sys, bpe_ref; bpe_ref.load('tiny').encode('a'); print(*sys.modules); "
        "bpe_ref.train; bpe_ref.is_canonical; bpe_ref.nothing"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert sorted(unneeded & set(done.stdout.split())) == []
    error = "AttributeError: module 'bpe_ref' has no attribute 'nothing'"
    assert done.stderr.splitlines()[-1] == error


def test_fixtures_are_filled_without_what_only_campaigns_need() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None; import authoring.fixtures; print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout == "done\n", done.stderr


def test_every_module_that_must_not_be_loaded_is_one_that_there_is() -> None:
    """Else a new name would make the claim above an empty one."""
    for name in HEAVY:
        if name.startswith(("tokenref", "sampling_ref")):
            import_module(name)


def test_every_command_is_there_under_its_own_name() -> None:
    table = CommandTable()
    assert {name: table[name].name for name in table} == {name: name for name in COMMANDS}
    assert len(table) == len(COMMANDS)


def test_a_command_may_be_added_and_taken_away() -> None:
    table = CommandTable()
    table["mine"] = click.Command("mine")
    assert table["mine"].name == "mine"
    del table["mine"], table["encode"]
    assert "mine" not in table
    assert "encode" not in table


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_an_error_that_is_known_by_name_exists_and_has_its_exit_code(name: str) -> None:
    module, _, kind = name.rpartition(".")
    found = getattr(import_module(module), kind)
    assert issubclass(found, Exception)
    assert exit_code(found.__new__(found)) == 2
    special: Any = type("Special", (found,), {})
    assert exit_code(special.__new__(special)) == 2


def test_errors_of_input_and_of_runs_have_their_exit_codes() -> None:
    assert {exit_code(kind("")) for kind in (InputError, StartError, GoldensError)} == {2}
    assert {exit_code(kind("")) for kind in (InvalidRunError, RecordError, GreetingError)} == {3}


def test_an_error_of_nobody_has_no_exit_code() -> None:
    for error in (ValueError(), OSError(), KeyboardInterrupt(), SystemExit()):
        assert exit_code(error) is None
