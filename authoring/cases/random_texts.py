"""Random cases: texts that spell tokens, so that merges really happen and compete.

Random letters hardly ever merge. So each text here is a row of tokens of its
vocabulary, some of them several times. It seldom comes back as the same row,
and how it does is what the `why` says. Of all that are drawn, those are kept
that some wrong way of encoding gets wrong.
"""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.merging import encode_draft
from authoring.cases.rivals import (
    EVERYDAY,
    cut,
    differing,
    encoded_otherwise,
    fails,
    fails_cut,
    right_tokens,
)
from authoring.cases.splitmix import SplitMix64
from authoring.cases.texts import FLAG_OF_CUTTER
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.text import TextInput

SEED: Final = 0x70_6B_72_65_66
LONGEST: Final = 40

_MERGING: Final = (
    "quadruples",
    "runs_falling",
    "runs_three_first",
    "improper_letters",
    "nontopological",
    "ambiguous_splits",
    "tokens_in_all_sizes",
    "readme",
    "holes",
    "shuffled_ids",
    "pair_out_of_order",
    "pair_two_ways",
)
_EACH_MERGING: Final = 9
_TRIES: Final = 400
"""Texts drawn at most; a vocabulary that nothing is wrong about yields few cases or none."""

_CUTTING: Final = {"tiny": 60, "tiny_r50k": 30, "tiny_o200k": 50, "tiny_original_cl100k": 20}


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for place, vocabulary in enumerate(_MERGING):
        yield from _merging(vocabulary, SplitMix64(SEED + place))
    for place, (vocabulary, count) in enumerate(_CUTTING.items()):
        yield from _cutting(vocabulary, count, SplitMix64(SEED + 1000 + place))


def row_of_tokens(generator: SplitMix64, words: list[str], most: int) -> str:
    """Return a text that spells up to `most` of the words, some of them repeated.

    >>> len(row_of_tokens(SplitMix64(1), ["ab"], 5)) % 2
    0
    """
    parts = []
    for _ in range(1 + generator.below(most)):
        times = (1, 1, 1, 2, 3)[generator.below(5)]
        parts.append(generator.choice(words) * times)
    return "".join(parts)[:LONGEST]


def _merging(vocabulary: str, generator: SplitMix64) -> Iterator[Draft]:
    named = vocabulary_named(vocabulary)
    words = [content.decode() for _, content in sorted(named.tokens.items())]
    seen: set[str] = set()
    for _ in range(_TRIES):
        text = row_of_tokens(generator, words, 9)
        if len(text) > 6 and text not in seen and differing(named, text.encode()):
            seen.add(text)
            if len(seen) > _EACH_MERGING:
                return
            slug = f"{vocabulary.replace('_', '-')}-{len(seen):02}"
            yield encode_draft("random", slug, vocabulary, text, EVERYDAY)


def _cutting(vocabulary: str, count: int, generator: SplitMix64) -> Iterator[Draft]:
    named = vocabulary_named(vocabulary)
    words = [text for _, content in sorted(named.tokens.items()) if (text := _text(content))]
    seen: set[str] = set()
    for _ in range(_TRIES):
        text = row_of_tokens(generator, words, 7)
        wrong = encoded_otherwise(named, text)
        pieces = cut(named, text)
        longest = max(pieces, key=len).encode()
        mistaken = differing(named, longest, ("longest first", "fewest tokens"))
        if text in seen or not (wrong or mistaken):
            continue
        if len(seen) == count:
            return
        seen.add(text)
        blamed = ", ".join([*wrong, *mistaken])
        tokens = len(right_tokens(named, text))
        yield Draft(
            op="encode",
            topic="random",
            slug=f"{vocabulary.replace('_', '-')}-{len(seen):03}",
            vocabulary=vocabulary,
            request=TextInput(text=text),
            why=f"Random tokens are {tokens} tokens in {len(pieces)} "
            f"pieces, from {pieces[0]!a:.24} on. Fails with: {blamed}.",
            flags=sorted({"Random", *(FLAG_OF_CUTTER[name] for name in wrong)}),
            spec="docs/bpe.md#pieces" if wrong else "docs/bpe.md#definition",
            purposes=(*fails_cut(*wrong), *(fails(*mistaken) if len(pieces) == 1 else ())),
        )


def _text(content: bytes) -> str:
    """Return the token as text, or nothing if it is part of a character."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""
