"""Cases about the text that whole tokenizers make of tokens, at once and token by token."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from authoring.cases.draft import Draft
from authoring.cases.tokenizer_blame import REFUSED, blamed, blaming, right_answer
from authoring.cases.tokenizing import flags_of, texts_for
from authoring.data import tables
from authoring.tokenizer_files import decoders, families
from authoring.tokenizer_files.table import described_tokenizers, ids_of_text, token_ids
from tokenref.questions.text import DetokenizeInput, DetokenizeStreamInput

Mode = Literal["certain", "engine"]

_ENOUGH: Final = 6
"""How many tokenizers have a case for a mutant, before it is no reason for another."""

_ENOUGH_STREAMED: Final = 16
_BYTE_LEVELS: Final = ("decoder_byte_level", "added_bytes", "added_spaces", "family_gpt2")
_OTHERS: Final = (
    *("byte_fallback", "byte_fallback_partial", "prefix", "suffix", "space_tokens"),
    *("added_metaspace", "added_always", "added_twice", "normalizer_byte_level"),
    *("pre_byte_level_space", "pre_falcon", "post_roberta_trim_space"),
)
"""Tokenizers of other kinds whose decoders are worth a question."""


@dataclass(frozen=True)
class Spelled:
    """Some tokens, and what is special about them."""

    slug: str
    tokens: Sequence[str | int]
    what: str
    """As the middle of a sentence."""

    flags: Sequence[str] = ()
    skip: bool = True
    only: str | None = None
    """The only tokenizer that is asked; None: all of a table."""


def _spelled(table: str) -> list[Spelled]:
    """Return the tokens of a table."""
    return [
        Spelled(slug, tokens, what, flags, **(options[0] if options else {}))
        for slug, tokens, what, flags, *options in tables("detokenizing").get(table, [])
    ]


def drafts() -> Iterator[Draft]:
    """Yield the cases of `detokenize` and `detokenize_stream` under the engine's profile."""
    found: Counter[str] = Counter()
    for name, rows in _asked():
        yield from _of_tokenizer(name, rows, found)


def _asked() -> Iterator[tuple[str, list[Spelled]]]:
    """Yield tokenizers and the tokens that they are asked about."""
    for described in decoders.tokenizers():
        if described.name not in _BYTE_LEVELS:
            yield described.name, _spelled("tokens")
    for name in _BYTE_LEVELS:
        yield name, [*_spelled(name), *_spelled("bytes")]
    for name in (*(described.name for described in families.tokenizers()), *_OTHERS):
        if name not in _BYTE_LEVELS:
            yield (
                name,
                [
                    Spelled(
                        asked.slug,
                        ids_of_text(name, asked.text),
                        f"the tokens of {asked.what}",
                        asked.flags,
                        skip=asked.slug != "special",
                    )
                    for asked in texts_for("families")
                    if asked.pair is None and asked.special
                ],
            )


def _of_tokenizer(name: str, rows: Sequence[Spelled], found: Counter[str]) -> Iterator[Draft]:
    """Yield cases of one tokenizer: the first tokens, and those that find a mutant still sought."""
    here: set[str] = set()
    asked_at_all = False
    for row in rows:
        if row.only not in {None, name}:
            continue
        ids = token_ids(name, row.tokens)
        slug = f"{name.replace('_', '-')}-{row.slug}"
        about = described_tokenizers()[name].about
        flags = ["Decoder", *row.flags, *flags_of(name)]
        request = DetokenizeInput(ids=ids, skip_special_tokens=row.skip)
        names = blamed("detokenize", name, "hugging-face", request)
        if names is REFUSED:
            continue
        sought = {each for each in names if each not in here and found[each] < _ENOUGH}
        if sought or not asked_at_all:
            asked_at_all = True
            found.update(set(names) - here)
            here.update(names)
            yield blaming(
                "detokenize",
                "decoders",
                slug,
                name,
                request,
                f"{about}: {row.what}.",
                flags,
                anchor="decoders",
                names=names,
            )
        for mode in ("certain", "engine"):
            yield from _streamed(name, row, ids, mode, (slug, about, flags), here, found)


def _streamed(
    name: str,
    row: Spelled,
    ids: list[int],
    mode: Mode,
    shared: tuple[str, str, list[str]],
    here: set[str],
    found: Counter[str],
) -> Iterator[Draft]:
    """Yield the question about the same tokens one by one, if it finds a mutant still sought."""
    slug, about, flags = shared
    request = DetokenizeStreamInput(ids=ids, skip_special_tokens=row.skip, mode=mode)
    names = blamed("detokenize_stream", name, "hugging-face", request)
    sought = {each for each in names if each not in here and found[each] < _ENOUGH_STREAMED}
    refused = right_answer("detokenize_stream", name, "hugging-face", request) == "INVALID_PREFIX"
    if names is REFUSED or not (sought or refused):
        return
    found.update(set(names) - here)
    here.update(names)
    how = "as soon as it is certain" if mode == "certain" else "as the engine's stream gives it"
    yield blaming(
        "detokenize_stream",
        mode,
        slug,
        name,
        request,
        f"{about}: {row.what}, text token by token, {how}."
        + " What was given turns out wrong, which is an error." * refused,
        [*flags, "TextStream"],
        anchor="decoders",
        names=names,
    )
