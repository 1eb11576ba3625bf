"""A golden record: one question to a tokenizer or a sampler, its answer, and why it is asked.

The normative description is `fixtures/README.md`; this module expresses it as types.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct

from sampling_ref.steps.table import STEPS
from tokenref.floats import Strict
from tokenref.questions import sampling as samplers
from tokenref.questions.sequences import (
    CallsInput,
    EagerInput,
    EagerOutput,
    GrowingOutput,
    SessionInput,
    SessionOutput,
    StreamInput,
    StreamOutput,
)
from tokenref.questions.text import (
    CanonicalInput,
    CanonicalOutput,
    ChunksInput,
    ChunksOutput,
    CompletionsInput,
    CompletionsOutput,
    CountOutput,
    CountsOutput,
    DecodeInput,
    DecodeOutput,
    DetokenizeInput,
    DetokenizeOutput,
    DetokenizeStreamInput,
    DetokenizeStreamOutput,
    IdsOutput,
    IntervalsInput,
    LimitInput,
    LimitOutput,
    OffsetsOutput,
    PiecesOutput,
    SpecialInput,
    SplitInput,
    SplitOutput,
    TextInput,
    TokenizeInput,
    TokenizeOutput,
)
from tokenref.verdicts import ErrorCode, Exact, MustRefuse, Seeds, Stat, Survey, Verdict

__all__ = [
    "ADAPTIVE_OPS",
    "ANY_CASE",
    "CASE_OF_OP",
    "FILTER_OPS",
    "FORMAT",
    "OPERATIONS",
    "OPS",
    "OWN_DRAW_OPS",
    "PIPELINE_OPS",
    "ROW_OPS",
    "SAMPLER_OPS",
    "TOKENIZER_OPS",
    "Case",
    "Digest",
    "ErrorCode",
    "Exact",
    "MustRefuse",
    "Operation",
    "RecordError",
    "Slug",
    "Verdict",
    "Why",
    "answer_type",
    "canonical_json",
    "has_answer",
    "make_case",
    "meaning_digest",
    "op_of",
]

FORMAT: Final = 1

Digest: TypeAlias = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Slug: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9_]+(/[a-z0-9_.-]+)+$")]
Why: TypeAlias = Annotated[str, Meta(min_length=20)]

TokenizerProfile: TypeAlias = Literal["definition", "tiktoken", "hugging-face", "strict"]
SamplerProfile: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9.+_-]*$")]
"""A rule's name (`tokenref.rules`), or an engine's (`sampling_ref.PROFILES`)."""


class RecordError(Exception):
    """A record file that cannot be used. The message names file and line."""


class Case(Strict, frozen=True, kw_only=True, tag_field="op"):
    """The fields of every case."""

    id: Slug
    """Permanent, never reused."""

    profile: str
    """The profile whose rules the answer follows where the definition leaves a choice."""

    vocab: Digest | None
    """The digest of the vocabulary. Records about samplers have none."""

    why: Why
    """Why this case exists."""

    flags: list[str]
    """The kinds of bugs that it looks for, from the glossary."""

    spec: str
    """Where the rule is written down."""

    verdict: Verdict
    sum: Digest
    """Digest of op, profile, vocab, in, out and verdict. It changes if the meaning changes."""

    input: Any = msgspec.field(name="in")
    """The question."""

    out: Any
    """The answer; null if the input must be refused."""


class TokenizerCase(Case, frozen=True, kw_only=True):
    """A question about a vocabulary, or a whole tokenizer."""

    profile: TokenizerProfile
    vocab: Digest
    verdict: Exact | MustRefuse


class SamplerCase(Case, frozen=True, kw_only=True, omit_defaults=True):
    """A question about a sampler."""

    profile: SamplerProfile
    vocab: None = None
    verdict: Verdict


@dataclass(frozen=True)
class Operation:
    """The question and the answer of an operation."""

    question: type[Struct]
    answer: type[Struct]
    about: str
    """One sentence, which is also part of the schema."""


_TOKENIZER_OPERATIONS: Final[Mapping[str, Operation]] = {
    "pieces": Operation(TextInput, PiecesOutput, "Asks for the pieces of a text."),
    "encode": Operation(
        TextInput, IdsOutput, "Asks for the tokens of a text; special tokens are treated as text."
    ),
    "count": Operation(
        TextInput, CountOutput, "Asks for the number of tokens; special tokens are treated as text."
    ),
    "decode": Operation(DecodeInput, DecodeOutput, "Asks for the bytes or text of tokens."),
    "special": Operation(
        SpecialInput, IdsOutput, "Asks for the tokens of a text that may contain special tokens."
    ),
    "stream": Operation(
        StreamInput, StreamOutput, "Asks for the text that each token makes certain."
    ),
    "offsets": Operation(
        CanonicalInput, OffsetsOutput, "Asks in which character of the text each token starts."
    ),
    "append": Operation(
        CallsInput, GrowingOutput, "Asks for the number of tokens while a text grows at its end."
    ),
    "prepend": Operation(
        CallsInput,
        GrowingOutput,
        "Asks for the number of tokens while a text grows at its beginning.",
    ),
    "eager": Operation(
        EagerInput, EagerOutput, "Asks for the tokens that each part of a text makes certain."
    ),
    "intervals": Operation(
        IntervalsInput, CountsOutput, "Asks for the number of tokens of parts of a piece."
    ),
    "limit": Operation(LimitInput, LimitOutput, "Asks for the number of tokens, up to a limit."),
    "split": Operation(
        SplitInput,
        SplitOutput,
        "Asks for the longest first part of a text with a limited number of tokens.",
    ),
    "chunks": Operation(
        ChunksInput, ChunksOutput, "Asks for chunks with a limited number of tokens each."
    ),
    "completions": Operation(
        CompletionsInput,
        CompletionsOutput,
        "Asks for the tokens that stay, and what the rest may become.",
    ),
    "canonical": Operation(
        CanonicalInput, CanonicalOutput, "Asks whether tokens are the encoding of their text."
    ),
    "session": Operation(
        SessionInput, SessionOutput, "Asks for the answers to calls on one tokenizer, in order."
    ),
    "tokenize": Operation(
        TokenizeInput,
        TokenizeOutput,
        "Asks a whole tokenizer for the tokens of a text with all information about them.",
    ),
    "detokenize": Operation(
        DetokenizeInput, DetokenizeOutput, "Asks a whole tokenizer for the text of tokens."
    ),
    "detokenize_stream": Operation(
        DetokenizeStreamInput,
        DetokenizeStreamOutput,
        "Asks a whole tokenizer for text, token by token.",
    ),
}

FILTER_OPS: Final = (
    "top_k",
    "top_p",
    "min_p",
    "typical",
    "epsilon",
    "eta",
    "top_n_sigma",
    "top_a",
    "tail_free",
    "top_h",
    "xtc",
)
"""The operations that ask which tokens of a row are kept."""

ADAPTIVE_OPS: Final = ("mirostat_1", "mirostat_2", "adaptive_p")
"""The operations that draw a token and adapt to what was drawn."""

OWN_DRAW_OPS: Final = ("stat", "stat_speculative", "stat_batch", "seeds")
"""The operations that an engine answers with its own random numbers."""

ROW_OPS: Final = tuple(
    name for name in STEPS if name not in {*FILTER_OPS, *ADAPTIVE_OPS, "greedy", "logprobs"}
)
"""The operations that change a row of logits: every other step of `sampling_ref`."""

_SAMPLER_OPERATIONS: Final[Mapping[str, Operation]] = {
    **{
        op: Operation(
            samplers.FilterInput,
            samplers.KeepOutput,
            f"Asks which tokens {op.replace('_', '-')} keeps.",
        )
        for op in FILTER_OPS
    },
    **{
        op: Operation(
            samplers.RowInput,
            samplers.LogitsOutput,
            f"Asks for the logits after the step {op.replace('_', ' ')}.",
        )
        for op in ROW_OPS
    },
    **{
        op: Operation(
            samplers.AdaptiveInput,
            samplers.AdaptiveOutput,
            f"Asks for the token that {op.replace('_', ' ')} draws, and its new state.",
        )
        for op in ADAPTIVE_OPS
    },
    "softmax": Operation(
        samplers.LogitsInput, samplers.ProbsOutput, "Asks for the probabilities of a row of logits."
    ),
    "logprobs": Operation(
        samplers.LogitsInput,
        samplers.LogprobsOutput,
        "Asks for the logarithms of the probabilities of a row of logits.",
    ),
    "greedy": Operation(
        samplers.LogitsInput, samplers.TokenOutput, "Asks for the token with the largest logit."
    ),
    "chain": Operation(
        samplers.ChainInput, samplers.ChainOutput, "Asks which tokens an engine's chain keeps."
    ),
    "distribution": Operation(
        samplers.ChainInput,
        samplers.ProbsOutput,
        "Asks for the probability of each token after an engine's chain.",
    ),
    "sample": Operation(
        samplers.ChainInput,
        samplers.TokenOutput,
        "Asks for the token that an engine draws with these random numbers.",
    ),
    "draw": Operation(
        samplers.DrawInput,
        samplers.DrawOutput,
        "Asks for the token that is drawn with these random numbers.",
    ),
    "random_words": Operation(
        samplers.RandomWordsInput, samplers.WordsOutput, "Asks for the words of a generator."
    ),
    "uniforms": Operation(
        samplers.WordsInput,
        samplers.UniformsOutput,
        "Asks for the uniform numbers made from random words.",
    ),
    "speculative": Operation(
        samplers.SpeculativeInput,
        samplers.SpeculativeOutput,
        "Asks which drafted tokens are accepted, and which tokens follow.",
    ),
    "residual": Operation(
        samplers.ResidualInput,
        samplers.ProbsOutput,
        "Asks for the distribution to draw from after a rejection.",
    ),
    "batch": Operation(
        samplers.BatchInput,
        samplers.BatchOutput,
        "Asks several questions of one operation in one call.",
    ),
    "sequence": Operation(
        samplers.SequenceInput,
        samplers.SequenceOutput,
        "Asks for the tokens of calls on one sampler, in order.",
    ),
    "stat": Operation(
        samplers.StatInput, samplers.StatOutput, "Asks how often each token is drawn."
    ),
    "stat_speculative": Operation(
        samplers.SpeculativeStatInput,
        samplers.SpeculativeStatOutput,
        "Asks how often a step of speculative decoding, including its drafts, gives each result.",
    ),
    "stat_batch": Operation(
        samplers.BatchStatInput,
        samplers.BatchStatOutput,
        "Asks for tokens of copies of a row in a batch, for many calls.",
    ),
    "seeds": Operation(
        samplers.SeedsInput,
        samplers.SeedsOutput,
        "Asks for tokens of rows with seeds, alone and in batches.",
    ),
}

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {**_TOKENIZER_OPERATIONS, **_SAMPLER_OPERATIONS}
)
"""Every operation by its name."""


def _case_type(op: str, operation: Operation, base: type[Case]) -> type[Case]:
    """Return the type of an operation's cases."""
    made: Any = msgspec.defstruct(
        "".join(part.capitalize() for part in op.split("_")) + "Case",
        [("input", operation.question, msgspec.field(name="in")), ("out", operation.answer | None)],
        bases=(base,),
        namespace={"__doc__": operation.about},
        module=__name__,
        tag_field="op",
        tag=op,
        frozen=True,
        kw_only=True,
    )
    return cast("type[Case]", made)


CASE_OF_OP: Final[Mapping[str, type[Case]]] = MappingProxyType(
    {op: _case_type(op, each, TokenizerCase) for op, each in _TOKENIZER_OPERATIONS.items()}
    | {op: _case_type(op, each, SamplerCase) for op, each in _SAMPLER_OPERATIONS.items()}
)
ANY_CASE: Final[Any] = reduce(or_, CASE_OF_OP.values())
"""The union of all types of cases."""

OPS: Final = tuple(CASE_OF_OP)
TOKENIZER_OPS: Final = tuple(_TOKENIZER_OPERATIONS)
SAMPLER_OPS: Final = tuple(_SAMPLER_OPERATIONS)
PIPELINE_OPS: Final = ("tokenize", "detokenize", "detokenize_stream")
"""The operations on a whole tokenizer; the others are on a vocabulary or a sampler."""


def op_of(case: Case) -> str:
    """Return the name of a case's operation.

    >>> op_of(make_case("count", id="bpe/count/a", profile="definition", vocab="sha256:" + "0" * 64,
    ...     why="An example for the documentation.", flags=[], spec="definition",
    ...     verdict=Exact(), input=TextInput(text="a"), out=CountOutput(count=1)))
    'count'
    """
    return str(type(case).__struct_config__.tag)


def answer_type(op: str) -> Any:
    """Return the type of an operation's answers.

    >>> answer_type("count")
    tokenref.questions.text.CountOutput | None
    """
    return get_type_hints(CASE_OF_OP[op])["out"]


def has_answer(verdict: Verdict) -> bool:
    """Return whether a record with this verdict has an `out`.

    >>> has_answer(Exact()), has_answer(MustRefuse(codes=["INVALID_ROW"]))
    (True, False)
    """
    return not isinstance(verdict, MustRefuse | Stat | Seeds | Survey)


def make_case(op: str, **parts: Any) -> Case:
    """Return a case with its `sum` computed; the other parts are given by name."""
    case_type = CASE_OF_OP[op]
    blank = case_type(sum="sha256:" + "0" * 64, **{"out": None, **parts})
    case: Case = msgspec.structs.replace(blank, sum=meaning_digest(blank))
    return case


def meaning_digest(case: Case) -> str:
    """Return the digest for `sum`."""
    content = msgspec.to_builtins(case)
    keys = ("op", "profile", "vocab", "in", "out", "verdict")
    meaning = {key: content[key] for key in keys if key in content}
    return f"sha256:{sha256(canonical_json(meaning)).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON of a value: ASCII, sorted keys, no spaces.

    >>> canonical_json({"b": [1], "a": True})
    b'{"a":true,"b":[1]}'
    """
    return json.dumps(
        value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")
