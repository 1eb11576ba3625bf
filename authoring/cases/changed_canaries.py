"""Canaries that are a right answer with one thing changed, for all operations but the oldest."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from authoring.cases.draft import Draft, finish
from authoring.cases.vocabularies import vocabulary_named
from authoring.tokenizer_files.table import fixture_tokenizers, token_ids
from tokenref.questions.sequences import (
    Call,
    CallAnswer,
    CallsInput,
    DecodeCall,
    EagerInput,
    GrammarCall,
    GrammarMaskInput,
    SessionInput,
    StreamInput,
)
from tokenref.questions.text import (
    CanonicalInput,
    ChunksInput,
    CompletionsInput,
    DecodeInput,
    DetokenizeInput,
    DetokenizeStreamInput,
    IntervalsInput,
    LimitInput,
    SplitInput,
    TokenizeInput,
)
from tokenref.record import PIPELINE_OPS, Case, make_case, op_of
from tokenref.verdicts import Exact

Change = Callable[[Any], dict[str, Any]]
"""From the right answer to the fields that are to be others."""


@dataclass(frozen=True)
class _Changed:
    slug: str
    op: str
    subject: str
    """The name of a vocabulary, or of a tokenizer."""

    request: Struct
    change: Change
    why: str


def changed_canaries() -> Iterator[Case]:
    """Yield the records.

    >>> next(changed_canaries()).id
    'canary/append/wrong-count'
    """
    for canary in (*_of_vocabularies(), *_of_tokenizers()):
        is_tokenizer = canary.op in PIPELINE_OPS
        draft = Draft(
            op=canary.op,
            topic="canaries",
            slug=canary.slug,
            vocabulary=canary.subject,
            request=canary.request,
            why="The record that the canary is made from.",
            flags=["Canary"],
            profile="hugging-face" if is_tokenizer else "definition",
        )
        subject = (
            fixture_tokenizers()[canary.subject]
            if is_tokenizer
            else vocabulary_named(canary.subject)
        )
        yield _changed(canary, finish(draft, subject))


def _changed(canary: _Changed, right: Case) -> Case:
    """Return the canary that a right record becomes."""
    out: Any = right.out
    return make_case(
        op_of(right),
        id=f"canary/{canary.op}/{canary.slug}",
        profile=right.profile,
        vocab=right.vocab,
        why=f"{canary.why} A right engine must fail this.",
        flags=["Canary"],
        spec=right.spec,
        verdict=Exact(),
        input=right.input,
        out=msgspec.structs.replace(out, **canary.change(out)),
    )


def _plus_one(values: Sequence[int]) -> list[int]:
    """Return the numbers, the last one greater by one."""
    return [*values[:-1], values[-1] + 1]


def _all_at_the_end(out: Any) -> dict[str, Any]:
    """Return all tokens at the end."""
    tail = [id_ for part in (*out.parts, out.tail) for id_ in part]
    return {"parts": [[]] * len(out.parts), "tail": tail}


def _calls(*pushes: bytes) -> CallsInput:
    return CallsInput(calls=[Call(push=content.hex()) for content in pushes])


def _of_vocabularies() -> Iterator[_Changed]:
    yield _Changed(
        "wrong-count",
        "append",
        "doubles",
        _calls(b"a", b"a", b"a"),
        lambda out: {"counts": _plus_one(out.counts)},
        "The count after the last call is one too high.",
    )
    yield _Changed(
        "wrong-ids",
        "append",
        "doubles",
        _calls(b"a", b"a", b"a"),
        lambda out: {"ids": out.ids[::-1]},
        "All counts are right and the tokens are in the wrong order.",
    )
    yield _Changed(
        "wrong-count",
        "prepend",
        "doubles",
        _calls(b"a", b"a", b"a"),
        lambda out: {"counts": [out.counts[0] + 1, *out.counts[1:]]},
        "The count after the first call is one too high.",
    )
    yield _Changed(
        "too-late",
        "eager",
        "readme",
        EagerInput(pushes=[b"c".hex(), b"a".hex(), b"c".hex()]),
        _all_at_the_end,
        "The tokens are right, but all of them are returned at the end.",
    )
    yield _Changed(
        "wrong-count",
        "intervals",
        "doubles",
        IntervalsInput(octets=b"aaaa".hex(), ranges=[(0, 4), (1, 4)]),
        lambda out: {"counts": _plus_one(out.counts)},
        "The second range has one token too many.",
    )
    yield _Changed(
        "never-more",
        "limit",
        "doubles",
        LimitInput(text="aaaa", limit=2),
        lambda _: {"count": None},
        "A text with exactly the allowed number of tokens is reported as having more.",
    )
    yield _Changed(
        "one-less",
        "split",
        "doubles",
        SplitInput(text="aaaaa", most=2),
        lambda out: {"characters": out.characters - 1},
        "One character more would have no more tokens.",
    )
    yield _Changed(
        "last-lost",
        "chunks",
        "doubles",
        ChunksInput(text="aaaaa", most=1, overlap=0),
        lambda out: {"chunks": out.chunks[:-1]},
        "The last chunk is missing.",
    )
    yield _Changed(
        "tail-lost",
        "stream",
        "shortcut",
        StreamInput(ids=[97, 0xC3], errors="replace"),
        lambda _: {"tail": ""},
        "What is still open at the end is lost.",
    )
    yield _Changed(
        "wrong-offset",
        "offsets",
        "shortcut",
        CanonicalInput(ids=[97, 98]),
        lambda out: {"offsets": _plus_one(out.offsets)},
        "The last token starts one character later.",
    )
    yield _Changed(
        "one-lost",
        "completions",
        "doubles",
        CompletionsInput(text="aaa", complete=True),
        lambda out: {"completions": out.completions[:-1]},
        "One of the completions is missing.",
    )
    yield _Changed(
        "not-canonical",
        "canonical",
        "doubles",
        CanonicalInput(ids=[1, 0]),
        lambda out: {"canonical": not out.canonical},
        "Canonical tokens are reported as not canonical.",
    )

    asked = GrammarMaskInput(pattern="ab", calls=[GrammarCall(accept=0)])
    yield _Changed(
        "stale",
        "grammar_mask",
        "readme",
        asked,
        lambda out: {"masks": [out.masks[0]] * 2},
        "The mask of before the token is returned again.",
    )
    yield _Changed(
        "end-too-early",
        "grammar_mask",
        "readme",
        asked,
        lambda out: {"masks": [msgspec.structs.replace(each, end=True) for each in out.masks]},
        "The text may end before it is complete.",
    )
    half = DecodeCall(input=DecodeInput(ids=[0xF0, 0x9F], errors="replace"))
    letter = DecodeCall(input=DecodeInput(ids=[97], errors="replace"))
    yield _Changed(
        "leaked",
        "session",
        "tiny",
        SessionInput(calls=[half, letter]),
        lambda _: {"answers": [CallAnswer(text=""), CallAnswer(text="\ufffda")]},
        "Unfinished input of the first call appears in the second.",
    )


def _of_tokenizers() -> Iterator[_Changed]:
    text = TokenizeInput(text="the cat", add_special_tokens=True)
    changes: tuple[tuple[str, Change, str], ...] = (
        ("ids", lambda out: {"ids": _plus_one(out.ids)}, "The last id is its neighbour's."),
        ("tokens", lambda out: {"tokens": [*out.tokens[:-1], "?"]}, "The last string is another."),
        (
            "offsets",
            lambda out: {"offsets": [*out.offsets[:-1], (out.offsets[-1][0], 99)]},
            "The last token ends far beyond the text.",
        ),
        ("types", lambda out: {"type_ids": _plus_one(out.type_ids)}, "The last type is another."),
        ("words", lambda out: {"words": _plus_one(out.words)}, "The last word has another number."),
        (
            "special-mask",
            lambda out: {"special_tokens_mask": [0] * len(out.ids)},
            "The mask does not mark the special token.",
        ),
        (
            "attention",
            lambda out: {"attention_mask": [*out.attention_mask[:-1], 0]},
            "The mask leaves the last token out.",
        ),
    )
    for slug, change, why in changes:
        yield _Changed(f"wrong-{slug}", "tokenize", "post_template_bos", text, change, why)
    yield _Changed(
        "overflow-lost",
        "tokenize",
        "truncate",
        TokenizeInput(text="a c e g i k", add_special_tokens=True),
        lambda _: {"overflowing": []},
        "What is cut off is missing.",
    )
    words = token_ids("decoder_fuse", ["the", "</s>", "cat"])
    yield _Changed(
        "wrong-text",
        "detokenize",
        "decoder_fuse",
        DetokenizeInput(ids=words, skip_special_tokens=True),
        lambda out: {"text": f"{out.text} "},
        "There is one space more at the end.",
    )
    split = token_ids("decoder_byte_level", ["Ã", "©"])
    for mode in ("certain", "engine"):
        yield _Changed(
            f"wrong-part-{mode}",
            "detokenize_stream",
            "decoder_byte_level",
            DetokenizeStreamInput(ids=split, skip_special_tokens=True, mode=mode),
            lambda out: {"parts": out.parts[::-1]},
            "The text is returned with the first token instead of the second.",
        )
