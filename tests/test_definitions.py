"""`tokenref rules OP --definition`: an author can implement an operation without the source."""

import pytest
from click.testing import CliRunner

from tokenref.commands.look import definition_of, rules
from tokenref.operations import ABOUT
from tokenref.record import SAMPLER_OPS

ASK_OTHERS = {"chain", "distribution", "sample", "batch", "sequence", "stat", "seeds"}
"""Questions about an engine's whole chain, or several questions of another operation."""

DEFINED = [op for op in SAMPLER_OPS if ABOUT[op].modules]


def test_every_operation_is_defined_or_asks_another_one() -> None:
    undefined = set(SAMPLER_OPS) - set(DEFINED)
    assert {op.partition("_")[0] for op in undefined} <= ASK_OTHERS


@pytest.mark.parametrize("op", DEFINED)
def test_a_definition_says_something_of_each_of_its_modules(op: str) -> None:
    words = definition_of(op)
    assert words is not None
    assert len(words) > 200 * len(ABOUT[op].modules)
    assert not words.startswith((" ", "\n"))


def test_what_both_versions_of_mirostat_share_is_part_of_their_definitions() -> None:
    for op in ("mirostat_1", "mirostat_2"):
        assert "How both versions of mirostat learn" in str(definition_of(op))


def test_the_command_prints_the_definition_as_it_stands() -> None:
    result = CliRunner().invoke(rules, ["tail_free", "--definition"])
    assert result.exit_code == 0
    assert result.output == f"{definition_of('tail_free')}\n"
    assert "the last one never" in result.output


def test_what_has_no_definition_is_one_sentence() -> None:
    for arguments in (["--definition"], ["batch", "--definition"]):
        result = CliRunner().invoke(rules, arguments)
        assert result.exit_code == 2
        assert len(result.output.splitlines()) == 4  # three of usage
