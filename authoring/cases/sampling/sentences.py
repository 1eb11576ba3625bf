"""Sentences of cases that ask one thing in several ways: each says which way it is."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from authoring.cases.sampling.draft import SamplerDraft


def asked_as(why: str, *ways: str) -> str:
    """Return the sentence with what tells the case from those beside it.

    >>> asked_as("The number 0 draws the first token.", "reach", "f64")
    'The number 0 draws the first token (reach, f64).'
    """
    return f"{why.removesuffix('.')} ({', '.join(ways)})."


def told_apart(drafts: Iterable[SamplerDraft]) -> Iterator[SamplerDraft]:
    """Yield drafts, each with a sentence of its own: where one has several, with their names."""
    every = list(drafts)
    groups = defaultdict(list)
    for draft in every:
        groups[draft.why].append((draft.op, draft.topic))
    for draft in every:
        ops, topics = zip(*groups[draft.why], strict=True)
        if len(ops) == 1:
            yield draft
            continue
        parts = [draft.op] if len(set(ops)) > 1 else []
        parts += [draft.topic] if len(set(topics)) > 1 else []
        ways = [part.replace("_", " ") for part in parts] + [draft.slug.replace("-", " ")]
        yield replace(draft, why=asked_as(draft.why, *ways))
