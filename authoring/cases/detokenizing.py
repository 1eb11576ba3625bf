"""Cases about the text that whole tokenizers make of tokens, at once and token by token."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from authoring.cases.draft import Draft
from authoring.cases.tokenizer_blame import REFUSED, blamed, blaming, right_answer
from authoring.cases.tokenizer_texts import FAMILIES
from authoring.cases.tokenizing import flags_of
from authoring.tokenizer_files import decoders, families
from authoring.tokenizer_files.table import described_tokenizers, ids_of_text, token_ids
from bpe_ref.vocabulary.byte_alphabet import to_letters
from tokenref.questions.text import DetokenizeInput, DetokenizeStreamInput

Mode = Literal["certain", "engine"]

_U: Final = "\u2581"
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


ROWS: Final = (
    Spelled(
        "words", (f"{_U}the", f"{_U}cat", "a", f"a{_U}b"), "words with underlines", ("Metaspace",)
    ),
    Spelled("parts", ("the", "cat", "##s", "##'", "hello"), "words and their ends", ("Affixes",)),
    Spelled(
        "special",
        ("<s>", "the", "<t>", "cat", "</s>"),
        "special tokens, left out",
        ("SkippedSpecial",),
    ),
    Spelled(
        "special-shown",
        ("<s>", "the", "<t>", "</s>"),
        "special tokens, shown",
        ("SkippedSpecial",),
        skip=False,
    ),
    Spelled(
        "bytes",
        ("<0xC3>", "<0xA9>", "the", "<0xE6>", "<0x97>"),
        "bytes, a character and a part of one",
        ("ByteFallback", "SplitCharacter"),
    ),
    Spelled(
        "bad-bytes",
        ("<0x41>", "<0xFF>", "a", "<0xC3>", "<0xC3>", "<0xA9>", "<0x0A>"),
        "runs of bytes that are no text",
        ("ByteFallback", "ReplaceMaximalPart", "EngineQuirk"),
    ),
    Spelled(
        "odd-bytes",
        ("<0x+1>", "<0xe4>", "<0x4>", "<0x41>"),
        "what only looks like a byte token",
        ("ByteFallback", "EngineQuirk"),
    ),
    Spelled(
        "bytes-around",
        ("<0xE6>", "<s>", "<0x97>", "<0xA5>", "a"),
        "a special token between the bytes of a character",
        ("ByteFallback", "SkippedSpecial"),
    ),
    Spelled("unknown", ("the", 9999, "cat", "<unk>"), "an id that no token has", ("UnknownId",)),
    Spelled(
        "suffixes",
        ("the</w>", "cat</w>", "a</w>b", "</w>", "the</w>"),
        "suffixes, also inside",
        ("Affixes",),
    ),
    Spelled(
        "marks",
        ("the", ".", "'", "t", "do not", " .", "n't", "'s"),
        "marks that may lose their space",
        ("Cleanup",),
    ),
    Spelled(
        "spaces",
        (" ", "  ", "the", " ", f"{_U}{_U}", "a b"),
        "spaces, and tokens of nothing else",
        ("WhiteSpace",),
    ),
    Spelled(
        "first-underlines", (f"{_U}{_U}", f"{_U}the"), "two underlines in front", ("Metaspace",)
    ),
    Spelled(
        "replacement", ("\ufffd", "a", "x\ufffd", "the"), "a real U+FFFD", ("ReplaceMaximalPart",)
    ),
    Spelled("letters", ("t", "t", "t", "a", "t", "t", "a"), "one letter several times", ()),
    Spelled("none", (), "no tokens", ("EmptyInput",)),
)
"""Tokens of the tokenizers in `decoders`."""


def _letters(text: str) -> tuple[str, ...]:
    return tuple(to_letters(text.encode()))


BYTE_ROWS: Final = (
    Spelled(
        "split",
        ("the", *_letters("é日👍"), "Ġa"),
        "characters over several tokens",
        ("SplitCharacter", "ByteLevel"),
    ),
    Spelled(
        "cut-short",
        (*_letters("日")[:2], "a", *_letters("👍")[:3]),
        "characters cut short",
        ("SplitCharacter", "ReplaceMaximalPart"),
    ),
    Spelled(
        "replacement",
        (*_letters("\ufffd"), "a", *_letters("\ufffd")),
        "a real U+FFFD",
        ("ReplaceMaximalPart",),
    ),
    Spelled("spaces", ("Ġ", "ĠĠ", "the", "Ġ", "Ċ"), "spaces and a line feed", ("WhiteSpace",)),
    Spelled("unknown", ("the", 9999, "a"), "an id that no token has", ("UnknownId",)),
    Spelled("none", (), "no tokens", ("EmptyInput",)),
)
"""Tokens of tokenizers with a byte level."""

OWN_ROWS: Final = {
    "added_bytes": (
        Spelled(
            "added",
            ("é!", "Ġfoo", "日本", "a"),
            "added tokens whose letters stand for bytes",
            ("AddedToken", "EngineQuirk"),
            skip=False,
        ),
        Spelled(
            "added-parts",
            ("æ", "日本", "Ĺ", "¥"),
            "an added token between the bytes of a character",
            ("AddedToken", "SplitCharacter"),
            skip=False,
        ),
    ),
    "decoder_byte_level": (
        Spelled(
            "no-letters",
            ("the\u2581", "日", "a"),
            "tokens with letters that stand for no byte",
            ("ByteLevel", "EngineQuirk"),
        ),
    ),
}
"""Tokens of one tokenizer only."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of `detokenize` and `detokenize_stream` under the engine's profile."""
    found: Counter[str] = Counter()
    for name, rows in _asked():
        yield from _of_tokenizer(name, rows, found)


def _asked() -> Iterator[tuple[str, list[Spelled]]]:
    """Yield tokenizers and the tokens that they are asked about."""
    for described in decoders.tokenizers():
        if described.name not in _BYTE_LEVELS:
            yield described.name, list(ROWS)
    for name in _BYTE_LEVELS:
        yield name, [*OWN_ROWS.get(name, ()), *BYTE_ROWS]
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
                    for asked in FAMILIES
                    if asked.pair is None and asked.special
                ],
            )


def _of_tokenizer(name: str, rows: Sequence[Spelled], found: Counter[str]) -> Iterator[Draft]:
    """Yield cases of one tokenizer: the first tokens, and those that find a mutant still sought."""
    here: set[str] = set()
    asked_at_all = False
    for row in rows:
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
