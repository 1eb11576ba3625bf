"""Cases about what whole tokenizers make of texts: ids, strings, offsets, types, masks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from msgspec import UNSET

from authoring.cases.draft import Draft
from authoring.cases.tokenizer_blame import REFUSED, blamed, blaming
from authoring.cases.tokenizer_texts import (
    ADDED,
    FAMILIES,
    LENGTHS,
    MODEL,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    Asked,
)
from authoring.tokenizer_files import (
    added_tokens,
    families,
    lengths,
    models,
    normalizers,
    post_processors,
    pre_tokenizers,
)
from authoring.tokenizer_files.document import Described
from tokenref.questions.text import TokenizeInput


@dataclass(frozen=True)
class Kind:
    """A kind of component: its tokenizers, the texts for them, and where the rules are."""

    topic: str
    tokenizers: ModuleType
    texts: Sequence[Asked]
    flag: str
    anchor: str


KINDS: Final = (
    Kind("model", models, MODEL, "ModelFlags", "model"),
    Kind("added-tokens", added_tokens, ADDED, "AddedToken", "added-tokens"),
    Kind("normalizers", normalizers, NORMALIZERS, "Normalizer", "normalizers"),
    Kind("pre-tokenizers", pre_tokenizers, PRE_TOKENIZERS, "PreTokenizer", "pre-tokenizers"),
    Kind("post-processors", post_processors, POST_PROCESSORS, "PostProcessor", "post-processors"),
    Kind("lengths", lengths, LENGTHS, "Lengths", "truncation"),
    Kind("families", families, FAMILIES, "WholeTokenizer", "files"),
)

_FLAGS_BY_NAME: Final[Mapping[str, str]] = {
    "fallback": "ByteFallback",
    "unk": "UnknownToken",
    "prefix": "Affixes",
    "suffix": "Affixes",
    "dropout": "Dropout",
    "merges": "MergesOfFile",
    "metaspace": "Metaspace",
    "truncate": "Truncation",
    "pad": "Padding",
    "trim": "OffsetsTrimmed",
    "template": "Template",
    "without_types": "OldFile",
    "old": "OldFile",
    "split": "SplitBehavior",
    "byte_level": "ByteLevel",
}
"""What parts of a tokenizer's name say about it."""

_ENOUGH: Final = 6
"""How many tokenizers of a kind have a case for a mutant, before it is no reason for another."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of `tokenize` under the engine's profile."""
    for kind in KINDS:
        found: Counter[str] = Counter()
        for tokenizer in kind.tokenizers.tokenizers():
            yield from _of_tokenizer(kind, tokenizer, found)


def request_of(asked: Asked) -> TokenizeInput:
    """Return the question.

    >>> request_of(Asked("a", "a", "a letter")).add_special_tokens
    True
    """
    return TokenizeInput(
        text=asked.text,
        pair=UNSET if asked.pair is None else asked.pair,
        add_special_tokens=asked.special,
    )


def flags_of(name: str) -> list[str]:
    """Return the flags that a tokenizer's name tells.

    >>> flags_of("pad_left")
    ['Padding']
    """
    return sorted({flag for part, flag in _FLAGS_BY_NAME.items() if part in name})


def _of_tokenizer(kind: Kind, tokenizer: Described, found: Counter[str]) -> Iterator[Draft]:
    """Yield cases of one tokenizer: the first text, and those that find a mutant still sought.

    A mutant is sought until this tokenizer has a case for it, and not where enough others have.
    """
    here: set[str] = set()
    kept = False
    for asked in kind.texts:
        request = request_of(asked)
        names = blamed("tokenize", tokenizer.name, "hugging-face", request)
        sought = {name for name in names if name not in here and found[name] < _ENOUGH}
        if names is REFUSED or (kept and not sought):
            continue
        kept = True
        found.update(set(names) - here)
        here.update(names)
        yield blaming(
            "tokenize",
            kind.topic,
            f"{tokenizer.name.replace('_', '-')}-{asked.slug}",
            tokenizer.name,
            request,
            f"{tokenizer.about}: {asked.what}.",
            [kind.flag, *asked.flags, *flags_of(tokenizer.name)],
            anchor=kind.anchor,
            names=names,
        )
