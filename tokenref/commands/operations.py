"""An operation as an option or an argument: one of many names, so that help lists none of them."""

import difflib
from typing import Any

import click

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
