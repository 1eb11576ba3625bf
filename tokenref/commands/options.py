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
    """A choice among many names. The error for an unknown name suggests the nearest one."""

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """Return the placeholder that help shows for the value."""
        return "OP"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the operation. An unknown one is a usage error."""
        if value in self.choices:
            return str(value)
        if value in OPS:
            self.fail(f"{value!r} is an operation on tokenizers, which has no rules.", param, ctx)
        near = difflib.get_close_matches(str(value), list(self.choices), 1)
        meant = f"; did you mean {near[0]!r}?" if near else "; fixtures/README.md lists them."
        return self.fail(f"unknown operation {value!r}{meant}", param, ctx)


OPERATION = _Operation(OPS)
"""Any operation of records."""

SAMPLER_OPERATION = _Operation(SAMPLER_OPS)
"""An operation on samplers."""


def number_of_seconds(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Raise `BadParameter` for NaN, which every range of click accepts."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


_Command = TypeVar("_Command", bound=Callable[..., Any])


def patience_options(command: _Command) -> _Command:
    """Add the options to a command. It receives them as the argument `patience`."""
    default = Patience()
    options = (
        ("--timeout", default.per_batch, "Seconds allowed per batch of questions."),
        ("--timeout-per-case", default.per_case, "Additional seconds allowed per question."),
        ("--timeout-to-start", default.to_start, "Seconds allowed to start, and to load."),
    )

    @wraps(command)
    def with_patience(
        *args: Any, timeout: float, timeout_per_case: float, timeout_to_start: float, **others: Any
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
