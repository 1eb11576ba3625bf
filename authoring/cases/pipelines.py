"""Cases about whole tokenizers, and the same again where the strict profile answers otherwise."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from authoring.cases import detokenizing, tokenizing
from authoring.cases.draft import Draft
from authoring.cases.tokenizer_blame import blamed, blaming, right_answer
from authoring.tokenizer_files.table import fixture_tokenizers
from bpe_ref import BpeError
from tokenref.answers import Crashed
from tokenref.subjects import read_tokenizer


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for draft in (*tokenizing.drafts(), *detokenizing.drafts()):
        yield draft
        strict = _strict(draft)
        if strict is not None:
            yield strict


def _strict(draft: Draft) -> Draft | None:
    """Return the same question under the strict profile, if that has another answer."""
    tokenizer, op = draft.vocabulary, draft.op
    if not _loads_strictly(tokenizer) or draft.topic == "engine":
        return None
    answer = right_answer(op, tokenizer, "strict", draft.request)
    if isinstance(answer, Crashed) or answer == right_answer(
        op, tokenizer, draft.profile, draft.request
    ):
        return None
    names = blamed(op, tokenizer, "strict", draft.request)
    fact = draft.why.partition(" Fails with:")[0]
    strict = blaming(
        op,
        draft.topic,
        f"{draft.slug}-strict",
        tokenizer,
        draft.request,
        f"By the words of the format, not as the engine does it. {fact}",
        [*draft.flags, "StrictProfile"],
        anchor="quirks",
        names=names,
        profile="strict",
    )
    return replace(strict, flags=[flag for flag in strict.flags if flag != "EngineQuirk"])


@cache
def _loads_strictly(tokenizer: str) -> bool:
    """Return whether the strict profile accepts the file."""
    try:
        read_tokenizer(fixture_tokenizers()[tokenizer].content, tokenizer, "strict")
    except BpeError:
        return False
    return True
