"""Records with wrong answers: whoever passes one of them does not really compare.

A right engine fails every one. They are made from right answers by one change
each, so that only a comparison of the very thing that was changed notices.
"""

import msgspec

from authoring.cases.changed_canaries import changed_canaries
from authoring.cases.draft import Draft, finish
from authoring.cases.vocabularies import vocabulary_named
from authoring.data import tables
from tokenref.questions.text import IdsOutput, Stages, TextInput
from tokenref.record import OPERATIONS, OPS, Case, make_case
from tokenref.verdicts import Exact, MustRefuse


def canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> {case.id.split("/")[0] for case in canaries()}
    {'canary'}
    """
    cases = [
        make_case(
            op,
            id=f"canary/{op}/{slug}",
            profile="definition",
            vocab=vocabulary_named(vocabulary).digest(),
            why=f"{why} A right engine must fail this.",
            flags=["Canary"],
            spec="docs/bpe.md#definition",
            verdict=MustRefuse(codes=wrong) if isinstance(wrong, list) else Exact(),
            input=msgspec.convert(question, OPERATIONS[op].question),
            out=None if isinstance(wrong, list) else msgspec.convert(wrong, OPERATIONS[op].answer),
        )
        for slug, op, vocabulary, question, wrong, why in tables("canaries")["canaries"]
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
