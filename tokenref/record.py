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
from tokenref.questions import sampling as rows
from tokenref.questions import sequences as calls
from tokenref.questions import text
from tokenref.verdicts import Exact, MustRefuse, Seeds, Stat, Survey, Verdict

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
    """What it asks. The sentence "Asks ..." is part of the schema."""


_TOKENIZER_OPERATIONS: Final[Mapping[str, Operation]] = {
    "pieces": Operation(text.TextInput, text.PiecesOutput, "for the pieces of a text"),
    "encode": Operation(
        text.TextInput,
        text.IdsOutput,
        "for the tokens of a text; special tokens are treated as text",
    ),
    "count": Operation(
        text.TextInput,
        text.CountOutput,
        "for the number of tokens; special tokens are treated as text",
    ),
    "decode": Operation(text.DecodeInput, text.DecodeOutput, "for the bytes or text of tokens"),
    "special": Operation(
        text.SpecialInput,
        text.IdsOutput,
        "for the tokens of a text that may contain special tokens",
    ),
    "stream": Operation(
        calls.StreamInput, calls.StreamOutput, "for the text that each token makes certain"
    ),
    "offsets": Operation(
        text.CanonicalInput, text.OffsetsOutput, "in which character of the text each token starts"
    ),
    "append": Operation(
        calls.CallsInput,
        calls.GrowingOutput,
        "for the number of tokens while a text grows at its end",
    ),
    "prepend": Operation(
        calls.CallsInput,
        calls.GrowingOutput,
        "for the number of tokens while a text grows at its beginning",
    ),
    "eager": Operation(
        calls.EagerInput, calls.EagerOutput, "for the tokens that each part of a text makes certain"
    ),
    "intervals": Operation(
        text.IntervalsInput, text.CountsOutput, "for the number of tokens of parts of a piece"
    ),
    "limit": Operation(
        text.LimitInput, text.LimitOutput, "for the number of tokens, up to a limit"
    ),
    "split": Operation(
        text.SplitInput,
        text.SplitOutput,
        "for the longest first part of a text with a limited number of tokens",
    ),
    "chunks": Operation(
        text.ChunksInput, text.ChunksOutput, "for chunks with a limited number of tokens each"
    ),
    "completions": Operation(
        text.CompletionsInput,
        text.CompletionsOutput,
        "for the tokens that stay, and what the rest may become",
    ),
    "canonical": Operation(
        text.CanonicalInput, text.CanonicalOutput, "whether tokens are the encoding of their text"
    ),
    "session": Operation(
        calls.SessionInput,
        calls.SessionOutput,
        "for the answers to calls on one tokenizer, in order",
    ),
    "tokenize": Operation(
        text.TokenizeInput,
        text.TokenizeOutput,
        "a whole tokenizer for the tokens of a text with all information about them",
    ),
    "detokenize": Operation(
        text.DetokenizeInput, text.DetokenizeOutput, "a whole tokenizer for the text of tokens"
    ),
    "detokenize_stream": Operation(
        text.DetokenizeStreamInput,
        text.DetokenizeStreamOutput,
        "a whole tokenizer for text, token by token",
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
            rows.FilterInput, rows.KeepOutput, f"which tokens {op.replace('_', '-')} keeps"
        )
        for op in FILTER_OPS
    },
    **{
        op: Operation(
            rows.RowInput,
            rows.LogitsOutput,
            f"for the logits after the step {op.replace('_', ' ')}",
        )
        for op in ROW_OPS
    },
    **{
        op: Operation(
            rows.AdaptiveInput,
            rows.AdaptiveOutput,
            f"for the token that {op.replace('_', ' ')} draws, and its new state",
        )
        for op in ADAPTIVE_OPS
    },
    "softmax": Operation(
        rows.LogitsInput, rows.ProbsOutput, "for the probabilities of a row of logits"
    ),
    "logprobs": Operation(
        rows.LogitsInput,
        rows.LogprobsOutput,
        "for the logarithms of the probabilities of a row of logits",
    ),
    "greedy": Operation(rows.LogitsInput, rows.TokenOutput, "for the token with the largest logit"),
    "chain": Operation(rows.ChainInput, rows.ChainOutput, "which tokens an engine's chain keeps"),
    "distribution": Operation(
        rows.ChainInput,
        rows.ProbsOutput,
        "for the probability of each token after an engine's chain",
    ),
    "sample": Operation(
        rows.ChainInput,
        rows.TokenOutput,
        "for the token that an engine draws with these random numbers",
    ),
    "draw": Operation(
        rows.DrawInput, rows.DrawOutput, "for the token that is drawn with these random numbers"
    ),
    "random_words": Operation(
        rows.RandomWordsInput, rows.WordsOutput, "for the words of a generator"
    ),
    "uniforms": Operation(
        rows.WordsInput, rows.UniformsOutput, "for the uniform numbers made from random words"
    ),
    "speculative": Operation(
        rows.SpeculativeInput,
        rows.SpeculativeOutput,
        "which drafted tokens are accepted, and which tokens follow",
    ),
    "residual": Operation(
        rows.ResidualInput, rows.ProbsOutput, "for the distribution to draw from after a rejection"
    ),
    "batch": Operation(
        rows.BatchInput, rows.BatchOutput, "several questions of one operation in one call"
    ),
    "sequence": Operation(
        rows.SequenceInput, rows.SequenceOutput, "for the tokens of calls on one sampler, in order"
    ),
    "stat": Operation(rows.StatInput, rows.StatOutput, "how often each token is drawn"),
    "stat_speculative": Operation(
        rows.SpeculativeStatInput,
        rows.SpeculativeStatOutput,
        "how often a step of speculative decoding, including its drafts, gives each result",
    ),
    "stat_batch": Operation(
        rows.BatchStatInput,
        rows.BatchStatOutput,
        "for tokens of copies of a row in a batch, for many calls",
    ),
    "seeds": Operation(
        rows.SeedsInput, rows.SeedsOutput, "for tokens of rows with seeds, alone and in batches"
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
        namespace={"__doc__": f"Asks {operation.about}."},
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
    ...     verdict=Exact(), input=text.TextInput(text="a"), out=text.CountOutput(count=1)))
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
