"""A golden record: one question to a tokenizer, the answer, and why it is asked.

The normative description for consumers is `fixtures/README.md`; this module is
the same thing in types.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta

from tokenref.questions.base import Strict
from tokenref.questions.cutting import (
    CanonicalInput,
    CanonicalOutput,
    ChunksInput,
    ChunksOutput,
    CompletionsInput,
    CompletionsOutput,
    CountsOutput,
    IntervalsInput,
    LimitInput,
    LimitOutput,
    OffsetsOutput,
    SplitInput,
    SplitOutput,
)
from tokenref.questions.pipelines import (
    DetokenizeInput,
    DetokenizeOutput,
    DetokenizeStreamInput,
    DetokenizeStreamOutput,
    TokenizeInput,
    TokenizeOutput,
)
from tokenref.questions.sequences import (
    CallsInput,
    EagerInput,
    EagerOutput,
    GrowingOutput,
    StreamInput,
    StreamOutput,
)
from tokenref.questions.text import (
    CountOutput,
    DecodeInput,
    DecodeOutput,
    IdsOutput,
    PiecesOutput,
    SpecialInput,
    TextInput,
)

FORMAT: Final = 1

Digest: TypeAlias = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Slug: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9_]+(/[a-z0-9_.-]+)+$")]
Why: TypeAlias = Annotated[str, Meta(min_length=20)]

ErrorCode: TypeAlias = Literal[
    "MISSING_BYTE",
    "UNKNOWN_ID",
    "INVALID_UTF8",
    "DISALLOWED_SPECIAL",
    "TOO_LONG",
    "MISSING_CHARACTER",
    "INVALID_PREFIX",
]
"""Why an input is refused; `fixtures/README.md` says what each one means."""

Profile: TypeAlias = Literal["definition", "tiktoken", "hugging-face", "strict"]


class RecordError(Exception):
    """A record file that cannot be used; the sentence names file and line."""


class Exact(Strict, frozen=True, kw_only=True, tag_field="kind", tag="exact"):
    """The answer must be this one."""


class MustRefuse(Strict, frozen=True, kw_only=True, tag_field="kind", tag="error"):
    """The input must be refused, for one of these reasons. Messages are not compared."""

    codes: Annotated[list[ErrorCode], Meta(min_length=1)]


class _Case(Strict, frozen=True, kw_only=True, tag_field="op"):
    """What every case has, whatever it asks."""

    id: Slug
    """Permanent, never used again for anything else."""

    profile: Profile
    """Whose rules the answer follows where the definition leaves something open."""

    vocab: Digest
    """The vocabulary, by its meaning."""

    why: Why
    """The reason why this case exists."""

    flags: list[str]
    """Kinds of bug that it hunts, from the glossary."""

    spec: str
    """Where the rule is written down."""

    verdict: Exact | MustRefuse
    sum: Digest
    """Digest of op, profile, vocab, in, out and verdict: changes if the meaning does."""


class PiecesCase(_Case, frozen=True, kw_only=True, tag="pieces"):
    """Asks for the pieces of a text."""

    input: TextInput = msgspec.field(name="in")
    out: PiecesOutput | None


class EncodeCase(_Case, frozen=True, kw_only=True, tag="encode"):
    """Asks for the tokens of a text in which nothing is special."""

    input: TextInput = msgspec.field(name="in")
    out: IdsOutput | None


class CountCase(_Case, frozen=True, kw_only=True, tag="count"):
    """Asks for the number of tokens of a text in which nothing is special."""

    input: TextInput = msgspec.field(name="in")
    out: CountOutput | None


class DecodeCase(_Case, frozen=True, kw_only=True, tag="decode"):
    """Asks what tokens decode to."""

    input: DecodeInput = msgspec.field(name="in")
    out: DecodeOutput | None


class SpecialCase(_Case, frozen=True, kw_only=True, tag="special"):
    """Asks for the tokens of a text that may hold special ones."""

    input: SpecialInput = msgspec.field(name="in")
    out: IdsOutput | None


class StreamCase(_Case, frozen=True, kw_only=True, tag="stream"):
    """Asks for the text that each token makes certain."""

    input: StreamInput = msgspec.field(name="in")
    out: StreamOutput | None


class OffsetsCase(_Case, frozen=True, kw_only=True, tag="offsets"):
    """Asks in which character of the text each token starts."""

    input: CanonicalInput = msgspec.field(name="in")
    out: OffsetsOutput | None


class AppendCase(_Case, frozen=True, kw_only=True, tag="append"):
    """Asks for the number of tokens while a text grows at its end."""

    input: CallsInput = msgspec.field(name="in")
    out: GrowingOutput | None


class PrependCase(_Case, frozen=True, kw_only=True, tag="prepend"):
    """Asks for the number of tokens while a text grows at its beginning."""

    input: CallsInput = msgspec.field(name="in")
    out: GrowingOutput | None


class EagerCase(_Case, frozen=True, kw_only=True, tag="eager"):
    """Asks for the tokens that each part of a text makes certain."""

    input: EagerInput = msgspec.field(name="in")
    out: EagerOutput | None


class IntervalsCase(_Case, frozen=True, kw_only=True, tag="intervals"):
    """Asks for the number of tokens of parts of a piece."""

    input: IntervalsInput = msgspec.field(name="in")
    out: CountsOutput | None


class LimitCase(_Case, frozen=True, kw_only=True, tag="limit"):
    """Asks for the number of tokens, if there are not too many."""

    input: LimitInput = msgspec.field(name="in")
    out: LimitOutput | None


class SplitCase(_Case, frozen=True, kw_only=True, tag="split"):
    """Asks how much of a text has no more than so many tokens."""

    input: SplitInput = msgspec.field(name="in")
    out: SplitOutput | None


class ChunksCase(_Case, frozen=True, kw_only=True, tag="chunks"):
    """Asks for chunks that have no more than so many tokens each."""

    input: ChunksInput = msgspec.field(name="in")
    out: ChunksOutput | None


class CompletionsCase(_Case, frozen=True, kw_only=True, tag="completions"):
    """Asks for what stays, and what may become of the rest."""

    input: CompletionsInput = msgspec.field(name="in")
    out: CompletionsOutput | None


class CanonicalCase(_Case, frozen=True, kw_only=True, tag="canonical"):
    """Asks whether some tokens are what their text encodes to."""

    input: CanonicalInput = msgspec.field(name="in")
    out: CanonicalOutput | None


class TokenizeCase(_Case, frozen=True, kw_only=True, tag="tokenize"):
    """Asks a whole tokenizer for the tokens of a text, and all about them."""

    input: TokenizeInput = msgspec.field(name="in")
    out: TokenizeOutput | None


class DetokenizeCase(_Case, frozen=True, kw_only=True, tag="detokenize"):
    """Asks a whole tokenizer for the text of some tokens."""

    input: DetokenizeInput = msgspec.field(name="in")
    out: DetokenizeOutput | None


class DetokenizeStreamCase(_Case, frozen=True, kw_only=True, tag="detokenize_stream"):
    """Asks a whole tokenizer for text, token by token."""

    input: DetokenizeStreamInput = msgspec.field(name="in")
    out: DetokenizeStreamOutput | None


Case: TypeAlias = (
    PiecesCase
    | EncodeCase
    | CountCase
    | DecodeCase
    | SpecialCase
    | StreamCase
    | OffsetsCase
    | AppendCase
    | PrependCase
    | EagerCase
    | IntervalsCase
    | LimitCase
    | SplitCase
    | ChunksCase
    | CompletionsCase
    | CanonicalCase
    | TokenizeCase
    | DetokenizeCase
    | DetokenizeStreamCase
)
CASE_OF_OP: Final = {
    "pieces": PiecesCase,
    "encode": EncodeCase,
    "count": CountCase,
    "decode": DecodeCase,
    "special": SpecialCase,
    "stream": StreamCase,
    "offsets": OffsetsCase,
    "append": AppendCase,
    "prepend": PrependCase,
    "eager": EagerCase,
    "intervals": IntervalsCase,
    "limit": LimitCase,
    "split": SplitCase,
    "chunks": ChunksCase,
    "completions": CompletionsCase,
    "canonical": CanonicalCase,
    "tokenize": TokenizeCase,
    "detokenize": DetokenizeCase,
    "detokenize_stream": DetokenizeStreamCase,
}
OPS: Final = tuple(CASE_OF_OP)
PIPELINE_OPS: Final = ("tokenize", "detokenize", "detokenize_stream")
"""The operations that ask a whole tokenizer; all others ask a vocabulary."""


def op_of(case: Case) -> str:
    """Return the name of the operation that a case asks for.

    >>> op_of(make_case("count", id="bpe/count/a", profile="definition", vocab="sha256:" + "0" * 64,
    ...     why="An example for the documentation.", flags=[], spec="definition",
    ...     verdict=Exact(), input=TextInput(text="a"), out=CountOutput(count=1)))
    'count'
    """
    return str(type(case).__struct_config__.tag)


def answer_type(op: str) -> Any:  # noqa: ANN401 - a struct, or a union of structs
    """Return the type of an operation's answers.

    >>> answer_type("count")
    tokenref.questions.text.CountOutput | None
    """
    return get_type_hints(CASE_OF_OP[op])["out"]


def make_case(op: str, **parts: Any) -> Case:  # noqa: ANN401 - the types are the structs'
    """Return a case with its `sum` filled in; the other parts are given by name."""
    case_type = CASE_OF_OP[op]
    blank = case_type(sum="sha256:" + "0" * 64, **{"out": None, **parts})
    case: Case = msgspec.structs.replace(blank, sum=meaning_digest(blank))
    return case


def meaning_digest(case: Case) -> str:
    """Return the digest that belongs into `sum`."""
    content = msgspec.to_builtins(case)
    meaning = {key: content[key] for key in ("op", "profile", "vocab", "in", "out", "verdict")}
    return f"sha256:{sha256(canonical_json(meaning)).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """Return the one JSON text for a value: ASCII, keys sorted, no spaces.

    >>> canonical_json({"b": [1], "a": True})
    b'{"a":true,"b":[1]}'
    """
    return json.dumps(
        value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")
