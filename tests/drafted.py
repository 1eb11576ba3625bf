"""The cases of drafts, as the fixtures have them."""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from authoring.cases.draft import Draft
from authoring.cases.sampling.draft import SamplerDraft
from tokenref.catalogue import open_catalogue
from tokenref.goldens import OPTIONAL
from tokenref.record import OPERATIONS, Case


@cache
def _cases() -> Mapping[str, Case]:
    return {case.id: case for case in open_catalogue().cases}


def cases_of(drafts: Iterable[Draft | SamplerDraft]) -> tuple[Case, ...]:
    """Return the cases of drafts as the fixtures have them.

    To answer all drafts again takes minutes: `python -m authoring fixtures --check` does that.
    """
    found = []
    for draft in drafts:
        case = _cases().get(draft.id)
        assert case is not None, f"{draft.id} is new: run `python -m authoring fixtures`"
        question = msgspec.convert(
            msgspec.to_builtins(draft.request), OPERATIONS[draft.op].question
        )
        flags = {flag for flag in case.flags if flag in draft.flags or flag != OPTIONAL}
        asked = (question, draft.why, {*draft.flags}, draft.spec, draft.profile)
        same = asked == (case.input, case.why, flags, case.spec, case.profile)
        assert same, f"{draft.id} has changed: run `python -m authoring fixtures`"
        found.append(case)
    return tuple(found)
