"""Sampling in readable Python: from a row of logits to a token.

row, parameters     what samplers work on, and how arguments are checked
numbers/     exact decisions about real numbers; 32-bit floats where engines round; orders
steps/, tracing     one file for each rule; what each of them did in a chain
random/, draws/     random bits and numbers, and what is drawn with them
engines/     what real engines do: one profile for each, and what only one engine does
evaluation, sampler     a step, a chain, a distribution or a draw of an engine
comparing     where two engines part, and why
lz/     the compressor behind the LZ penalty
speculative/, generation/     drafts, and whether they are accepted; the loop around a model
public     the names that this package offers
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from sampling_ref.public import *  # noqa: F403 - all of them are offered here
else:  # hidden from type checkers, which would believe that every name is there

    def __getattr__(name: str) -> object:
        """Return one of the public names, or the list of them all as `__all__`.

        Most programs need a few of them, so nothing is loaded before.
        """
        if name == "__version__":
            return import_module("importlib.metadata").version("tokenref")
        offered = vars(import_module("sampling_ref.public"))
        names = [key for key in offered if not key.startswith("_")]
        if name == "__all__":
            return names
        if name not in names:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, offered[name])

    def __dir__() -> list[str]:
        """Return the names in this module, those that are not loaded yet, too."""
        return sorted({*globals(), *__getattr__("__all__")})
