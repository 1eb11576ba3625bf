"""The worked examples of where encoders differ, by their numbers, E1 to E13.

Each is the smallest input known to tell one way of encoding from another, and
each answer was known before it was computed. They are in `data/examples.toml`.
"""

from collections.abc import Iterator

from authoring.cases.draft import Draft, answers, refuses
from authoring.cases.rivals import fails
from authoring.data import tables
from tokenref.questions.text import TextInput


def drafts() -> Iterator[Draft]:
    """Yield the examples."""
    for slug, vocabulary, text, tokens, flags, why, *options in tables("examples")["examples"]:
        given = options[0] if options else {}
        known = refuses("MISSING_BYTE") if tokens == "refused" else answers(*tokens)
        yield Draft(
            op="encode",
            topic="examples",
            slug=slug,
            vocabulary=vocabulary,
            request=TextInput(text=text),
            why=why,
            flags=flags,
            spec=f"docs/bpe.md#{given.get('spec', 'definition')}",
            purposes=(known, *fails(*given.get("rivals", ()))),
        )
