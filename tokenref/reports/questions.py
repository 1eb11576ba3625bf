"""How long a question is: the smallest failure says most."""

import msgspec

from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.record import Case, canonical_json


def length(case: Case) -> int:
    """Return how long the question is: characters, bytes or ids; else as written."""
    if isinstance(case.input, DecodeInput):
        return len(case.input.ids)
    if isinstance(case.input, TextInput):
        return len(case.input.content())
    if isinstance(case.input, SpecialInput):
        return len(case.input.text)
    return len(canonical_json(msgspec.to_builtins(case.input)))
