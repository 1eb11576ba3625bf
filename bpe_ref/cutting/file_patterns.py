r"""The patterns that Hugging Face files cut with, and what is certain about their borders.

Source: the `tokenizer.json` files of GPT-2, Llama 3 (its models up to 3.3; GPT-4 converted), Qwen
2 and 2.5, gpt-oss (o200k_harmony) and Mistral Nemo (tekken), as their makers wrote the patterns in
Oniguruma's dialect; and the registry's patterns as `patterns.to_oniguruma` writes them.

Proofs
    Where a file has a registered pattern in other words, `borders` has the proof.

    *Llama 3* is voyage3, but that up to three numbers go together; so it has all
    the borders of voyage3 but those between two numbers. cl100k differs from it
    in white space at the end of the text only: it is one piece, and here it is
    cut behind the last line end. Then there is nothing behind it but white
    space, and no border is certain in white space.

    *tekken* is o200k without contractions, and each number alone. All that is
    said of o200k but the exception for contractions holds for it, and *between
    two numbers* there is a border.

Not every registered pattern may stand in a file as it is: `\s++$` and `{1,3}+` mean something else
in Oniguruma. In those words they are not known here.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from bpe_ref.cutting.borders import (
    BY_PATTERN,
    CL100K,
    NUMBERS_ALONE,
    O200K,
    BorderRule,
)
from bpe_ref.cutting.kinds import kinds_of
from bpe_ref.patterns.to_oniguruma import to_oniguruma
from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN
from bpe_ref.registry import REGISTRY

TABLES_OF_FILES: Final = "unicode-16.0-oniguruma"

LLAMA3_PATTERN: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN_PATTERN: Final = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

BY_SOURCE: Final = MappingProxyType(
    {
        **{to_oniguruma(pattern): borders for pattern, borders in BY_PATTERN.items()},
        **{
            REGISTRY[name].pattern: BY_PATTERN[REGISTRY[name].pattern]
            for name in ("o200k_base", "voyage3_base")
        },
        GPT2_PATTERN: BY_PATTERN[REGISTRY["gpt2"].pattern],
        LLAMA3_PATTERN: CL100K,
        TEKKEN_PATTERN: replace(O200K, pairs=O200K.pairs | NUMBERS_ALONE),
    }
)
"""From the pattern in Oniguruma's dialect to what is certain."""


def rule_of_source(source: str, *, normalized: bool) -> BorderRule | None:
    r"""Return what is certain about a pattern of a file; None if it is not known.

    >>> rule_of_source(GPT2_PATTERN, normalized=False).is_certain("", "a", " ")
    True
    >>> rule_of_source(REGISTRY["cl100k_base"].pattern, normalized=False) is None
    True
    """
    borders = BY_SOURCE.get(source)
    return None if borders is None else BorderRule(borders, kinds_of(TABLES_OF_FILES), normalized)
