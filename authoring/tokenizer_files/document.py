"""How a tokenizer.json is put together: a model, components, and the content of the file.

The models are as small as can be: letters, and a few merges. What a component
does shows in the pieces, each of which is a word of its own, and in the offsets.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE
from tokenref.subjects import TokenizerFile

Content = dict[str, Any]
"""A part of a tokenizer.json."""

LETTERS: Final = " abcdefghijklmnopqrstuvwxyz0123456789'.,!?-_"
MERGES: Final = "t h, th e, i n, in g, a n, an d, e r, o u, y ou, l l, r e, 1 2"
BYTE_MERGES: Final = f"{MERGES}, Ġ the, Ġ a, Ġ Ġ, Ã ©, Ġ 's, ' s"
BYTE_TOKENS: Final = tuple(f"<0x{byte:02X}>" for byte in range(256))

_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True)
class Described:
    """A tokenizer of the fixtures."""

    name: str
    about: str
    """What is special about it, as the beginning of a sentence."""

    file: TokenizerFile


def described(name: str, about: str, model: Content, **sections: object) -> Described:
    """Return a tokenizer of a model and other sections of the file; those not given are null.

    >>> described("one", "A letter", letters("a")).file.content.splitlines()[6]
    b'"pre_tokenizer":null,'
    """
    content: Content = {
        "version": "1.0",
        **dict.fromkeys(("truncation", "padding")),
        "added_tokens": [],
        **dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder")),
        **sections,
        "model": model,
    }
    content["added_tokens"] = _with_ids(content["added_tokens"], model["vocab"])
    return as_it_is(name, about, content)


def as_it_is(name: str, about: str, content: Mapping[str, object]) -> Described:
    """Return a tokenizer whose file has these sections and no others, one per line."""
    lines = (
        f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
        for key, value in content.items()
    )
    return Described(
        name, about, TokenizerFile(name, f"{{\n{(',' + chr(10)).join(lines)}\n}}\n".encode())
    )


def letters(
    alphabet: Iterable[str] = LETTERS,
    merges: str = "",
    *,
    first: Sequence[str] = ("<unk>",),
    words: Sequence[str] = (),
    as_text: bool = False,
    **flags: object,
) -> Content:
    """Return a model of letters, and of what the merges make of them.

    `first` are the tokens before the letters; `words` are made by no merge. Ids are given in the
    order: first, letters, words, merged. The unknown token is `<unk>`, if it is among the first.

    >>> letters("ab", "a b")["vocab"], letters("ab", "a b", as_text=True)["merges"]
    ({'<unk>': 0, 'a': 1, 'b': 2, 'ab': 3}, ['a b'])
    """
    listed = merges.split(", ") if merges else []
    pairs = [line.split(" ") for line in listed]
    skipped = len(str(flags.get("continuing_subword_prefix") or ""))
    made = [pair[0] + pair[1][skipped:] for pair in pairs]
    tokens = dict.fromkeys([*first, *alphabet, *words, *made])
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>" if "<unk>" in first else None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        **flags,
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": listed if as_text else pairs,
    }


def plain(more: Iterable[str] = "", **options: Any) -> Content:
    """Return the usual model of letters, with some more."""
    return letters(dict.fromkeys([*LETTERS, *more]), MERGES, **options)


def byte_letters(merges: str = BYTE_MERGES, **options: Any) -> Content:
    """Return the usual model of the letters of all bytes."""
    return letters(LETTER_OF_BYTE, merges, **{"first": (), **options})


def added(content: str, *flags: str, id_: int | None = None) -> Content:
    """Return an added token with these flags; without an id, `described` gives it one.

    >>> added("<s>", "special")["special"]
    True
    """
    return {"id": id_, "content": content, **{flag: flag in flags for flag in _FLAGS}}


def component(type_name: str, **fields: object) -> Content:
    """Return a component.

    >>> component("Fuse")
    {'type': 'Fuse'}
    """
    return {"type": type_name, **fields}


def sequence(kind: str, *components: Content) -> Content:
    """Return components one after the other; `kind` is the field's name, as "normalizers".

    >>> sequence("decoders", component("Fuse"))
    {'type': 'Sequence', 'decoders': [{'type': 'Fuse'}]}
    """
    return {"type": "Sequence", kind: list(components)}


def replace(pattern: Content, content: str) -> Content:
    """Return a `Replace`, normalizer or decoder."""
    return component("Replace", pattern=pattern, content=content)


def text(source: str) -> Content:
    """Return a pattern that is a text."""
    return {"String": source}


def regex(source: str) -> Content:
    """Return a pattern that is an expression."""
    return {"Regex": source}


def byte_level(
    *, prefix_space: bool = False, trim: bool = False, use_regex: bool = True
) -> Content:
    """Return a `ByteLevel`, pre-tokenizer, post-processor or decoder."""
    return component(
        "ByteLevel", add_prefix_space=prefix_space, trim_offsets=trim, use_regex=use_regex
    )


def metaspace(scheme: str = "always", *, split: bool = True, letter: str = "\u2581") -> Content:
    """Return a `Metaspace`, pre-tokenizer or decoder."""
    return component("Metaspace", replacement=letter, prepend_scheme=scheme, split=split)


def template(
    single: str, pair: str, special_tokens: Mapping[str, Sequence[tuple[str, int]]]
) -> Content:
    """Return a `TemplateProcessing`, of templates such as `<s> $A:0 $B:1`."""
    return component(
        "TemplateProcessing",
        single=[_piece(part) for part in single.split(" ")],
        pair=[_piece(part) for part in pair.split(" ")],
        special_tokens={
            name: {
                "id": name,
                "ids": [number for _, number in tokens],
                "tokens": [token for token, _ in tokens],
            }
            for name, tokens in special_tokens.items()
        },
    )


def _with_ids(listed: Iterable[Content], vocab: Mapping[str, int]) -> list[Content]:
    """Return added tokens, those without an id with the one that the library gives them."""
    ids: dict[str, int] = {}
    free = len(vocab)
    for token in listed:
        known = ids.get(token["content"], vocab.get(token["content"]))
        ids[token["content"]] = free if known is None else known
        free += known is None
    return [
        {**token, "id": ids[token["content"]] if token["id"] is None else token["id"]}
        for token in listed
    ]


def _piece(part: str) -> Content:
    name, _, type_id = part.partition(":")
    if name.startswith("$"):
        return {"Sequence": {"id": name[1:], "type_id": int(type_id or 0)}}
    return {"SpecialToken": {"id": name, "type_id": int(type_id or 0)}}
