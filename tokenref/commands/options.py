"""Options that several commands share: an operation, and time limits for a program."""

import difflib
from collections.abc import Callable
from functools import wraps
from math import isnan
from typing import Any, TypeVar

import click

from tokenref.protocol.channel import Patience
from tokenref.record import OPS, SAMPLER_OPS


class _Operation(click.Choice[str]):
    """One of many names. Whoever mistypes one is told the nearest, and not all of them."""

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """Return what help shows in the place of a value."""
        return "OP"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the operation."""
        if value in self.choices:
            return str(value)
        if value in OPS:
            self.fail(f"{value!r} is an operation on tokenizers, and has no rules.", param, ctx)
        near = difflib.get_close_matches(str(value), list(self.choices), 1)
        meant = f"; did you mean {near[0]!r}?" if near else "; fixtures/README.md lists them."
        return self.fail(f"there is no operation {value!r}{meant}", param, ctx)


OPERATION = _Operation(OPS)
"""Any operation of records."""

SAMPLER_OPERATION = _Operation(SAMPLER_OPS)
"""An operation on samplers."""


def number_of_seconds(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Refuse what is in no range, and what click lets pass in each."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is no number of seconds.")
    return value


_Command = TypeVar("_Command", bound=Callable[..., Any])


def patience_options(command: _Command) -> _Command:
    """Add the options to a command, which is given them as `patience`."""
    default = Patience()
    options = (
        ("--timeout", default.per_batch, "Seconds that a program has for a batch of questions."),
        ("--timeout-per-case", default.per_case, "Seconds that it has for each in addition."),
        ("--timeout-to-start", default.to_start, "Seconds that it has to start, and to load."),
    )

    @wraps(command)
    def with_patience(
        *args: Any,
        timeout: float,
        timeout_per_case: float,
        timeout_to_start: float,
        **others: Any,
    ) -> Any:
        patience = Patience(timeout, timeout_per_case, timeout_to_start)
        return command(*args, patience=patience, **others)

    decorated: Any = with_patience
    for name, value, text in reversed(options):
        decorated = click.option(
            name,
            type=click.FloatRange(min=0, max=86_400, min_open=True),
            callback=number_of_seconds,
            default=value,
            show_default=True,
            help=text,
        )(decorated)
    result: _Command = decorated
    return result
