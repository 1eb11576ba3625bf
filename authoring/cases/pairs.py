"""Cases in which every cut shows in the tokens: each pair of characters is a token.

With a trained vocabulary, text that is cut otherwise often becomes the same tokens, because nothing
merges across the place. Here any two neighbours merge, so engines that do not tell their pieces are
asked about them as well.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.rivals import cut_otherwise, encoded_otherwise
from authoring.cases.splitmix import SplitMix64
from authoring.cases.texts import text_case
from authoring.cases.vocabularies import PAIRED_CHARACTERS, vocabulary_named

_SEED: Final = 0x70_61_69_72
_TRIES: Final = 400
_ENOUGH: Final = 3
"""How many texts show each wrong way to cut."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    generator = SplitMix64(_SEED)
    named = vocabulary_named("all_pairs")
    found: Counter[str] = Counter()
    for _ in range(_TRIES):
        size = 6 + generator.below(8)
        text = "".join(generator.choice(PAIRED_CHARACTERS) for _ in range(size))
        cut = cut_otherwise(named, text)
        if cut != encoded_otherwise(named, text) or all(found[name] >= _ENOUGH for name in cut):
            continue
        found.update(cut)
        yield text_case(
            "encode",
            "pairs",
            f"text-{len(found)}-{found.total()}",
            "all_pairs",
            text,
            f"{text!a}, of which all neighbours merge if they are in one piece",
            ["Pretokenization"],
        )
