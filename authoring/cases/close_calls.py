"""Cases that were missing: each one is here because a wrong tokenizer passed all the others.

The wrong tokenizers are the mutants (`authoring.mutants`). Each row of
`data/close_calls.toml` names those that must fail it.
"""

from collections.abc import Iterator

from authoring.cases.draft import Draft, tells_apart
from authoring.data import tables
from authoring.mutants.table import MUTANTS
from tokenref.questions.text import TextInput


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for slug, op, vocabulary, text, flags, mutants, section, why in tables("close_calls")["cases"]:
        yield Draft(
            op=op,
            topic="close_calls",
            slug=slug,
            vocabulary=vocabulary,
            request=TextInput(text=text),
            why=why,
            flags=flags,
            spec=f"docs/bpe.md#{section}",
            purposes=tuple(tells_apart(name, MUTANTS[name].engine) for name in mutants),
        )
