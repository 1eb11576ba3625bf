"""What docs/ci.md promises never to change: names that were released are still there.

`data/released_names.txt` has every name of 0.1.0, one a line. A line is added when a name is
released, and never removed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click

import tokenref.pytest
from sampling_ref import PROFILES
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.engines.table import engine_names
from tokenref.generators import CONVERSIONS, GENERATORS
from tokenref.operations import FLAGS
from tokenref.protocol.messages import PROTO
from tokenref.record import OPS
from tokenref.reports.results import FORMAT
from tokenref.rules import points, slug
from tokenref.verdicts import SamplerErrorCode, Status, TokenizerErrorCode

RELEASED = Path(__file__).parent / "data" / "released_names.txt"


def names() -> Iterator[str]:
    """Yield all names of today, each with its kind."""
    yield from (f"operation {op}" for op in OPS)
    for op in OPS:
        for point, choices in points(op).items():
            yield from (f"choice {op} {point} {slug(choice)}" for choice in choices)
    yield from (f"profile {name}" for name in (*PROFILES, *GENERATORS, *CONVERSIONS))
    yield from (f"profile {case.profile}" for case in open_catalogue().cases if case.vocab)
    yield from (f"engine {name}" for name in engine_names())
    yield from (f"flag {flag}" for flag in FLAGS)
    yield from (f"status {status}" for status in get_args(Status))
    yield from (f"code {c}" for c in (*get_args(TokenizerErrorCode), *get_args(SamplerErrorCode)))
    yield from (f"helper {name}" for name in vars(tokenref.pytest) if name[0] != "_")
    yield from _options("tokenref", main)
    yield f"protocol {PROTO}"
    yield f"results {FORMAT}"


def _options(path: str, command: click.Command) -> Iterator[str]:
    yield f"command {path}"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (f"option {path} {name}" for name in parameter.opts)
    if isinstance(command, click.Group):
        for name in command.commands:
            yield from _options(f"{path} {name}", command.commands[name])


def test_every_name_that_was_released_is_still_there() -> None:
    released = RELEASED.read_text("utf-8").splitlines()
    assert len(released) >= 717
    assert sorted(set(released) - set(names())) == []
