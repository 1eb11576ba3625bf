"""A golden record: one question to a tokenizer or a sampler, its answer, and why it is asked.

The normative description is `fixtures/README.md`; this module expresses it as types.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from operator import or_
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct, inspect

from sampling_ref.steps.table import STEPS
from tokenref.errors import InvalidRunError
from tokenref.floats import Floats, Strict
from tokenref.operations import ABOUT
from tokenref.questions import sampling as rows
from tokenref.questions import sequences as calls
from tokenref.questions import text
from tokenref.verdicts import Exact, MustRefuse, Row, Rows, Seeds, Stat, Survey, Verdict

FORMAT: Final = 1

Digest: TypeAlias = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Slug: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9_]+(/[a-z0-9_.-]+)+$")]
Why: TypeAlias = Annotated[str, Meta(min_length=20)]

TokenizerProfile: TypeAlias = Literal["definition", "tiktoken", "hugging-face", "strict"]
SamplerProfile: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9.+_-]*$")]
"""A rule's name (`tokenref.rules`), or an engine's (`sampling_ref.PROFILES`)."""


class RecordError(InvalidRunError):
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


_TOKENIZER_TYPES: Final[Mapping[str, tuple[type[Struct], type[Struct]]]] = {
    "pieces": (text.TextInput, text.PiecesOutput),
    "encode": (text.TextInput, text.IdsOutput),
    "count": (text.TextInput, text.CountOutput),
    "decode": (text.DecodeInput, text.DecodeOutput),
    "special": (text.SpecialInput, text.IdsOutput),
    "stream": (calls.StreamInput, calls.StreamOutput),
    "offsets": (text.CanonicalInput, text.OffsetsOutput),
    "append": (calls.CallsInput, calls.GrowingOutput),
    "prepend": (calls.CallsInput, calls.GrowingOutput),
    "eager": (calls.EagerInput, calls.EagerOutput),
    "intervals": (text.IntervalsInput, text.CountsOutput),
    "limit": (text.LimitInput, text.LimitOutput),
    "split": (text.SplitInput, text.SplitOutput),
    "chunks": (text.ChunksInput, text.ChunksOutput),
    "completions": (text.CompletionsInput, text.CompletionsOutput),
    "canonical": (text.CanonicalInput, text.CanonicalOutput),
    "grammar_mask": (calls.GrammarMaskInput, calls.GrammarMaskOutput),
    "session": (calls.SessionInput, calls.SessionOutput),
    "tokenize": (text.TokenizeInput, text.TokenizeOutput),
    "detokenize": (text.DetokenizeInput, text.DetokenizeOutput),
    "detokenize_stream": (text.DetokenizeStreamInput, text.DetokenizeStreamOutput),
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

_SAMPLER_TYPES: Final[Mapping[str, tuple[type[Struct], type[Struct]]]] = {
    **dict.fromkeys(FILTER_OPS, (rows.FilterInput, rows.KeepOutput)),
    **dict.fromkeys(ROW_OPS, (rows.RowInput, rows.LogitsOutput)),
    **dict.fromkeys(ADAPTIVE_OPS, (rows.AdaptiveInput, rows.AdaptiveOutput)),
    "softmax": (rows.LogitsInput, rows.ProbsOutput),
    "logprobs": (rows.LogitsInput, rows.LogprobsOutput),
    "greedy": (rows.LogitsInput, rows.TokenOutput),
    "chain": (rows.ChainInput, rows.ChainOutput),
    "steps": (rows.StepsInput, rows.StepsOutput),
    "distribution": (rows.ChainInput, rows.ProbsOutput),
    "sample": (rows.ChainInput, rows.TokenOutput),
    "draw": (rows.DrawInput, rows.DrawOutput),
    "random_words": (rows.RandomWordsInput, rows.WordsOutput),
    "uniforms": (rows.WordsInput, rows.UniformsOutput),
    "speculative": (rows.SpeculativeInput, rows.SpeculativeOutput),
    "speculative_steps": (rows.SpeculativeStepsInput, rows.SpeculativeOutput),
    "residual": (rows.ResidualInput, rows.ProbsOutput),
    "top_logprobs": (rows.TopLogprobsInput, rows.TopLogprobsOutput),
    "prompt_logprobs": (rows.PromptLogprobsInput, rows.PromptLogprobsOutput),
    "batch": (rows.BatchInput, rows.BatchOutput),
    "sequence": (rows.SequenceInput, rows.SequenceOutput),
    "stat": (rows.StatInput, rows.StatOutput),
    "stat_speculative": (rows.SpeculativeStatInput, rows.SpeculativeStatOutput),
    "stat_batch": (rows.BatchStatInput, rows.BatchStatOutput),
    "seeds": (rows.SeedsInput, rows.SeedsOutput),
}

OPERATIONS: Final[Mapping[str, Operation]] = {
    op: Operation(question, answer, ABOUT[op].asks)
    for op, (question, answer) in {**_TOKENIZER_TYPES, **_SAMPLER_TYPES}.items()
}
"""Every operation by its name."""


def _case_type(op: str, operation: Operation, base: type[Case]) -> type[Case]:
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


CASE_OF_OP: Final[Mapping[str, type[Case]]] = {
    op: _case_type(op, each, TokenizerCase if op in _TOKENIZER_TYPES else SamplerCase)
    for op, each in OPERATIONS.items()
}
ANY_CASE: Final[Any] = reduce(or_, CASE_OF_OP.values())
"""The union of all types of cases."""

OPS: Final = tuple(CASE_OF_OP)
TOKENIZER_OPS: Final = tuple(_TOKENIZER_TYPES)
SAMPLER_OPS: Final = tuple(_SAMPLER_TYPES)
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


def rows_op(case: Case) -> str:
    """Return the name of a case's operation, for a batch that of its rows."""
    return case.input.op if isinstance(case.input, rows.BatchInput) else op_of(case)


def answer_type(op: str) -> Any:
    """Return the type of an operation's answers.

    >>> answer_type("count")
    tokenref.questions.text.CountOutput | None
    """
    return get_type_hints(CASE_OF_OP[op])["out"]


def form_of(op: str, integer: int | str = "N") -> str:
    """Return what the answers of an operation look like, without fields that may be omitted.

    >>> form_of("seeds"), form_of("stat", 0)
    ('{"batches":[[[N]]]}', '{"counts":[[0,0]]}')
    >>> form_of("top_logprobs"), form_of("draw")
    ('{"tokens":[N],"logprobs":{"f32":"..."},"rank":N}', '{"token":N} or {"tokens":[N]}')
    """
    answer = OPERATIONS[op].answer
    parts = msgspec.structs.fields(answer)
    needed = [each for each in parts if each.required]
    # The question about fused steps determines which fields its answer needs.
    forms = [needed or [each for each in parts if each.name != "stages"]]
    if one_of := getattr(answer, "one_of", ()):
        forms = [[*needed, each] for each in parts if each.name in one_of]
    made = ({each.encode_name: _example(inspect.type_info(each.type)) for each in f} for f in forms)
    shown = " or ".join(json.dumps(each, separators=(",", ":")) for each in made)
    return shown.replace(f'"{_INTEGER}"', str(integer))


def _example(kind: inspect.Type) -> Any:
    """Return a value of a type, with `...` for a string."""
    match kind:
        case inspect.UnionType(types=[first, *_]):
            return _example(first)
        case inspect.ListType(item_type=item):
            return [_example(item)]
        case inspect.TupleType(item_types=items):
            return [_example(item) for item in items]
        case inspect.StructType(cls=cls) if issubclass(cls, Floats):
            return {"f32": "..."}
        case inspect.StructType(fields=fields):
            return {each.encode_name: _example(each.type) for each in fields}
    plain = {inspect.BoolType: True, inspect.DictType: {}, inspect.AnyType: {}}
    return _INTEGER if isinstance(kind, inspect.IntType) else plain.get(type(kind), "...")


_INTEGER: Final = "integer"


def has_answer(verdict: Verdict) -> bool:
    """Return whether a record with this verdict has an `out`.

    >>> has_answer(Exact()), has_answer(MustRefuse(codes=["INVALID_ROW"]))
    (True, False)
    """
    return not isinstance(verdict, MustRefuse | Row | Rows | Stat | Seeds | Survey)


def make_case(op: str, **parts: Any) -> Case:
    """Return a case with its `sum` computed; the other parts are given by name."""
    case_type = CASE_OF_OP[op]
    blank = case_type(sum="sha256:" + "0" * 64, **{"out": None, **parts})
    case: Case = msgspec.structs.replace(blank, sum=meaning_digest(blank))
    return case


_MEANING: Final = ("in", "op", "out", "profile", "verdict", "vocab")
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SORTED: Final = msgspec.json.Encoder(order="sorted")


def meaning_digest(case: Case) -> str:
    """Return the digest for `sum`."""
    return digest_of_line(canonical_case(case))


def digest_of_line(line: bytes) -> str:
    """Return the digest for `sum` of a case in canonical form."""
    members = _MEMBERS.decode(line)
    meaning = [b'"%b":%b' % (key.encode(), members[key]) for key in _MEANING if key in members]
    return f"sha256:{sha256(b'{%b}' % b','.join(meaning)).hexdigest()}"


def canonical_case(case: Case) -> bytes:
    """Return the canonical JSON of a case, its line in a record file."""
    line = _SORTED.encode(case)  # much faster; a case has no floats, and only escapes differ
    if line.isascii() and b"\x7f" not in line:
        return line
    return canonical_json(msgspec.to_builtins(case))


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON of a value: ASCII, sorted keys, no spaces.

    >>> canonical_json({"b": [1], "a": True})
    b'{"a":true,"b":[1]}'
    """
    return json.dumps(
        value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


_PLACE: Final = re.compile(r" - at `(?:key in )?(\$[^`]*)`")


def reason_and_place(sentence: str) -> tuple[str, str]:
    """Return the reason and the path of an error message of msgspec.

    >>> reason_and_place("Expected `int`, got `str` - at `$.a[0]`")
    ('Expected `int`, got `str`', '$.a[0]')
    """
    place = _PLACE.search(sentence)
    return (sentence[: place.start()], place.group(1)) if place else (sentence, "")


KINDS: Final[Mapping[str, str]] = {
    "str": "a string",
    "int": "an integer",
    "float": "a number with a point",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "a list",
}
"""The types of JSON in plain words, by the names that msgspec has for them."""
