"""Records with wrong answers: whoever passes one of them does not really compare.

A right engine fails every one. They are made from right answers by one change
each, so that only a comparison of the very thing that was changed notices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from authoring.cases.changed_canaries import changed_canaries
from authoring.cases.draft import Draft, finish
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.text import (
    CountOutput,
    DecodeInput,
    DecodeOutput,
    IdsOutput,
    PiecesOutput,
    Recipe,
    SpecialInput,
    Stages,
    TextInput,
)
from tokenref.record import OPS, Case, Exact, MustRefuse, make_case


@dataclass(frozen=True)
class _Canary:
    slug: str
    op: str
    vocabulary: str
    request: Struct
    out: Any
    """The wrong answer; None for a refusal."""

    why: str
    codes: tuple[Any, ...] = ()
    """The wrong reasons to refuse."""


def _listed() -> Iterator[_Canary]:
    yield _Canary(
        "wrong-ids",
        "encode",
        "doubles",
        TextInput(text="aaa"),
        IdsOutput(ids=[0, 1]),
        "The tokens are right in number and wrong in order.",
    )
    yield _Canary(
        "one-id-too-many",
        "encode",
        "doubles",
        TextInput(text="aaa"),
        IdsOutput(ids=[1, 0, 0]),
        "The tokens are right, and one too many at the end.",
    )
    yield _Canary(
        "one-id-too-few",
        "encode",
        "doubles",
        TextInput(text="aaa"),
        IdsOutput(ids=[1]),
        "The tokens are right, but the last is left out.",
    )
    yield _Canary(
        "no-ids",
        "encode",
        "tiny",
        TextInput(text="hello"),
        IdsOutput(ids=[]),
        "No tokens at all for a text that has some.",
    )
    yield _Canary(
        "wrong-count",
        "count",
        "tiny",
        TextInput(text="hello world"),
        CountOutput(count=99),
        "The count is far off.",
    )
    yield _Canary(
        "wrong-pieces",
        "pieces",
        "tiny",
        TextInput(text="a b"),
        PiecesOutput(pieces=["61", "20", "62"]),
        "Here the space is a separate piece.",
    )
    yield _Canary(
        "wrong-bytes",
        "decode",
        "doubles",
        DecodeInput(ids=[1, 0]),
        DecodeOutput(octets="616162"),
        "The last of three bytes is another one.",
    )
    yield _Canary(
        "wrong-text",
        "decode",
        "shortcut",
        DecodeInput(ids=[255], errors="replace"),
        DecodeOutput(text="?"),
        "A question mark is used as the replacement character.",
    )
    yield _Canary(
        "wrong-runs",
        "encode",
        "doubles",
        TextInput(recipe=Recipe(unit="61", times=101, before="", after="")),
        IdsOutput(runs=[(1, 49), (0, 3)]),
        "The runs spell the text in other tokens.",
    )
    yield _Canary(
        "wrong-special",
        "special",
        "tiny",
        SpecialInput(text="<|endoftext|>", allowed="all", disallowed=[]),
        IdsOutput(ids=[2001]),
        "The special token has its neighbour's id.",
    )
    yield _Canary(
        "refused-although-fine",
        "encode",
        "missing_bytes",
        TextInput(text="ab"),
        None,
        "A text that has tokens is reported as refused.",
        ("MISSING_BYTE",),
    )
    yield _Canary(
        "answered-although-refused",
        "encode",
        "missing_bytes",
        TextInput(text="axb"),
        IdsOutput(ids=[1, 0]),
        "A text that must be refused is reported with tokens.",
    )
    yield _Canary(
        "wrong-code",
        "decode",
        "holes",
        DecodeInput(ids=[0]),
        None,
        "The refusal is right and its reason is another.",
        ("INVALID_UTF8",),
    )
    yield _Canary(
        "wrong-special-code",
        "special",
        "tiny",
        SpecialInput(text="<|endoftext|>", allowed=[], disallowed="all"),
        None,
        "The refusal is right and its reason is another: no byte is missing.",
        ("MISSING_BYTE",),
    )


def canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> {case.id.split("/")[0] for case in canaries()}
    {'canary'}
    """
    cases = [
        make_case(
            canary.op,
            id=f"canary/{canary.op}/{canary.slug}",
            profile="definition",
            vocab=vocabulary_named(canary.vocabulary).digest(),
            why=f"{canary.why} A right engine must fail this.",
            flags=["Canary"],
            spec="docs/bpe.md#definition",
            verdict=MustRefuse(codes=list(canary.codes)) if canary.codes else Exact(),
            input=canary.request,
            out=canary.out,
        )
        for canary in _listed()
    ]
    return [*cases, _wrong_stage(), *changed_canaries()]


def _wrong_stage() -> Case:
    """Return a record whose tokens are right and whose pieces on the way are not.

    An engine that does not tell its pieces would pass it, so its tokens are
    wrong as well: by one more at the end.
    """
    draft = Draft(
        op="encode",
        topic="stages",
        slug="right",
        vocabulary="tiny",
        request=TextInput(text="a b"),
        why="The record that the canary is made from.",
        flags=["Canary"],
    )
    right = finish(draft, vocabulary_named("tiny"))
    out = right.out
    assert isinstance(out, IdsOutput)  # noqa: S101 - of an encode case
    assert not isinstance(out.ids, msgspec.UnsetType)  # noqa: S101 - and of no recipe
    return make_case(
        OPS[1],
        id="canary/encode/wrong-stage",
        profile="definition",
        vocab=right.vocab,
        why="Pieces on the way are cut wrongly, and a token is added. A right engine must fail it.",
        flags=["Canary"],
        spec="docs/bpe.md#pieces",
        verdict=Exact(),
        input=right.input,
        out=IdsOutput(ids=[*out.ids, 0], stages=Stages(pieces=["6120", "62"])),
    )
