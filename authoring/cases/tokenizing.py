"""Cases about what whole tokenizers make of texts: ids, strings, offsets, types, masks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET

from authoring.cases.draft import Draft
from authoring.cases.tokenizer_blame import REFUSED, blamed, blaming
from authoring.data import tables
from authoring.tokenizer_files import (
    added_tokens,
    families,
    lengths,
    models,
    normalizers,
    other_models,
    post_processors,
    pre_tokenizers,
)
from authoring.tokenizer_files.document import Described
from tokenref.questions.text import TokenizeInput


@dataclass(frozen=True)
class Asked:
    """A text, or a pair of them, and what is special about it."""

    slug: str
    text: str
    what: str
    """As the middle of a sentence."""

    flags: Sequence[str] = ()
    pair: str | None = None
    special: bool = True
    """Whether special tokens are to be added."""

    only: str | None = None
    """The only tokenizer that is asked; None: all of the kind."""


def texts_for(kind: str) -> list[Asked]:
    """Return the texts that aim at a kind of component, and an empty one.

    >>> texts_for("families")[-1].slug
    'empty'
    """
    listed = [
        Asked(slug, text, what, flags, **(options[0] if options else {}))
        for slug, text, what, flags, *options in tables("tokenizer_texts")[kind]
    ]
    return [*listed, Asked("empty", "", "an empty text", ("EmptyInput",))]


KINDS: Final = (
    ("model", models, "ModelFlags", "model"),
    ("added-tokens", added_tokens, "AddedToken", "added-tokens"),
    ("normalizers", normalizers, "Normalizer", "normalizers"),
    ("pre-tokenizers", pre_tokenizers, "PreTokenizer", "pre-tokenizers"),
    ("post-processors", post_processors, "PostProcessor", "post-processors"),
    ("lengths", lengths, "Lengths", "truncation"),
    ("families", families, "WholeTokenizer", "files"),
    ("other-models", other_models, "ModelFlags", "model"),
)
"""Kinds of components: topic, tokenizers, flag, and the section with the rules."""

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
    for topic, module, flag, anchor in KINDS:
        found: Counter[str] = Counter()
        texts = texts_for(topic.replace("-", "_"))
        for tokenizer in module.tokenizers():
            own = [asked for asked in texts if asked.slug == tokenizer.name.replace("_", "-")]
            rest = [asked for asked in texts if asked.only in {None, tokenizer.name}]
            yield from _of_tokenizer(topic, tokenizer, own or rest, [flag], anchor, found)


def _slug(name: str, slug: str) -> str:
    """Return the slug of a case: both, or the name alone if the text is the tokenizer's own."""
    return name if slug == name else f"{name}-{slug}"


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


def _of_tokenizer(
    topic: str,
    tokenizer: Described,
    texts: Sequence[Asked],
    flags: Sequence[str],
    anchor: str,
    found: Counter[str],
) -> Iterator[Draft]:
    """Yield cases of one tokenizer: the first text, and those that find a mutant still sought.

    A mutant is sought until this tokenizer has a case for it, and not where enough others have.
    """
    here: set[str] = set()
    kept = False
    for asked in texts:
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
            topic,
            _slug(tokenizer.name.replace("_", "-"), asked.slug),
            tokenizer.name,
            request,
            f"{tokenizer.about}: {asked.what}.",
            [*flags, *asked.flags, *flags_of(tokenizer.name)],
            anchor=anchor,
            names=names,
        )
