"""How the questions of a campaign are numbered, and which of them are asked."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from tokenref.record import PIPELINE_OPS, SAMPLER_OPS

GENERATOR: Final = 1
"""Changes whenever a question of some seed and index becomes another one."""

GROUP: Final = 16
"""Questions about one thing: question i is in group i // GROUP."""

Kind: TypeAlias = Literal["vocabulary", "tokenizer", "sampler"]


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions a campaign asks."""

    ops: list[str]
    profiles: list[str] = []
    """Of samplers; all that there are if empty."""

    subjects: list[str] = []
    """Vocabularies and tokenizers by name or path; if empty, drawn ones and those shipped."""


def kind_of(op: str) -> Kind:
    """Return what an operation asks about.

    >>> kind_of("encode"), kind_of("tokenize"), kind_of("top_p")
    ('vocabulary', 'tokenizer', 'sampler')
    """
    if op in PIPELINE_OPS:
        return "tokenizer"
    return "sampler" if op in SAMPLER_OPS else "vocabulary"
