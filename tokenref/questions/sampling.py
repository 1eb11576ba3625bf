"""Questions about samplers: filters, changes of rows, probabilities, draws, whole chains.

The last ones are answered with the engine's own random numbers: many draws, or seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import (
    Count,
    Floats,
    FloatsError,
    Id,
    Strict,
    numbers_of,
    pack_shortly,
    size_of,
)
from tokenref.questions import OneOf

Parameters = dict[str, Any]
"""Parameters by name, in the form of `pack_parameters`."""

Words = list[Annotated[str, Meta(pattern="^[0-9a-f]{8}([0-9a-f]{8})?$")]]
"""Words of 32 or 64 bits, in lower-case hexadecimal digits."""


class State(Strict, frozen=True, kw_only=True):
    """The state of an adaptive step between two tokens."""

    mu: Floats | UnsetType = UNSET
    past: Floats | UnsetType = UNSET
    """Adaptive-p's two sums."""


class _OneRow(OneOf, frozen=True, kw_only=True):
    one_of = ("probs", "logits")
    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET


class FilterInput(_OneRow, frozen=True, kw_only=True):
    """A row of probabilities or logits, and the parameters of a filter."""

    params: Parameters
    uniforms: Floats | UnsetType = UNSET


class KeepOutput(Strict, frozen=True, kw_only=True):
    """The tokens that are kept, ascending."""

    keep: list[Id]


class RowInput(Strict, frozen=True, kw_only=True):
    """A row of logits, the tokens so far, and the parameters of a step."""

    logits: Floats
    history: list[int]
    prompt_length: Count
    params: Parameters


class LogitsOutput(Strict, frozen=True, kw_only=True):
    """The logits after the step, in the type of the question."""

    logits: Floats


class LogitsInput(Strict, frozen=True, kw_only=True):
    """A row of logits."""

    logits: Floats


class ProbsOutput(Strict, frozen=True, kw_only=True):
    """A probability for each token."""

    probs: Floats


class LogprobsOutput(Strict, frozen=True, kw_only=True):
    """The natural logarithm of each token's probability."""

    logprobs: Floats


class AdaptiveInput(Strict, frozen=True, kw_only=True):
    """A row of logits, the state before, and the random numbers of the draw."""

    logits: Floats
    params: Parameters
    state: State
    uniforms: Floats


class AdaptiveOutput(Strict, frozen=True, kw_only=True):
    """The token drawn, and the state after."""

    token: Id
    state: State


class ChainInput(RowInput, frozen=True, kw_only=True):
    """The complete input of an engine's chain."""

    uniforms: Floats | UnsetType = UNSET
    state: State | UnsetType = UNSET


class StageOutput(Strict, frozen=True, kw_only=True):
    """The tokens left after one step of a chain."""

    step: str
    keep: list[Id]


class ChainOutput(Strict, frozen=True, kw_only=True):
    """The tokens left by the chain, and by each step that was applied."""

    keep: list[Id]
    stages: list[StageOutput] | UnsetType = UNSET


class StepOfSteps(Strict, frozen=True, kw_only=True):
    """A step, with its parameters and its choices at open points, all by name."""

    step: str
    params: Parameters


class StepsInput(Strict, frozen=True, kw_only=True):
    """A row of logits, the tokens so far, and steps to apply in this order."""

    logits: Floats
    history: list[int]
    prompt_length: Count
    steps: Annotated[list[StepOfSteps], Meta(min_length=1)]
    uniforms: Floats | UnsetType = UNSET
    draw: Floats | UnsetType = UNSET
    """One number: draw a token from what is left, by the standard rule of `draw`."""


class StepsOutput(Strict, frozen=True, kw_only=True):
    """The tokens left, and the token drawn from them if the question has a number to draw with."""

    keep: list[Id] | UnsetType = UNSET
    """A fused kernel may return the token alone. A record always has both."""

    stages: list[StageOutput] | UnsetType = UNSET
    token: Id | UnsetType = UNSET


class TokenOutput(Strict, frozen=True, kw_only=True):
    """The chosen token."""

    token: Id


class DrawInput(_OneRow, frozen=True, kw_only=True):
    """A row, and the random numbers to draw with."""

    uniforms: Floats
    """One number per draw for an inverse CDF; one per token for a race."""

    count: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """Number of different tokens to draw; the answer is then a list. (A `torch walk` draws with
    replacement.)"""

    order: list[Id] | UnsetType = UNSET
    """The order of the tokens for the inverse CDF of one draw, an engine's candidates."""


class DrawOutput(OneOf, frozen=True, kw_only=True):
    """The token drawn, or the tokens in the order drawn."""

    one_of = ("token", "tokens")
    token: Id | UnsetType = UNSET
    tokens: list[Id] | UnsetType = UNSET


class RandomWordsInput(Strict, frozen=True, kw_only=True):
    """How a generator is seeded, and which of its words to return."""

    seed: Annotated[str, Meta(pattern="^[0-9a-f]{1,64}$")] | UnsetType = UNSET
    """A number."""

    key: Words | UnsetType = UNSET
    """The words of a longer seed, of a state, or of the key of a block, low word first."""

    counter: Words | UnsetType = UNSET
    """The words of the first block's counter, low word first; zeros if omitted."""

    taken: Annotated[int, Meta(ge=0, le=1 << 20)]
    """Number of words to skip."""

    count: Annotated[int, Meta(ge=1, le=1 << 16)]


class WordsOutput(Strict, frozen=True, kw_only=True):
    """The words, in order."""

    words: Words


class WordsInput(Strict, frozen=True, kw_only=True):
    """Random words."""

    words: Words


class UniformsOutput(Strict, frozen=True, kw_only=True):
    """The uniform numbers made from the words."""

    uniforms: Floats


class SpeculativeInput(Strict, frozen=True, kw_only=True):
    """Drafted tokens with the rows they were drawn from, the target's rows, and random numbers."""

    draft: list[Floats]
    """The row that each drafted token was drawn from; empty if only the target is used."""

    target: list[Floats]
    """The target's first row, then its row after each drafted token."""

    tokens: list[int]
    uniforms: Floats
    """One number per drafted token, then one for the token at the end. `target only` takes one
    more at the beginning; `typical` takes none."""

    params: Parameters
    """`parents` of a tree: for each token the position of its predecessor, counted from 1, or 0.
    `weight` of the target in a mixture. Thresholds have the names of the reference."""


class SpeculativeOutput(Strict, frozen=True, kw_only=True):
    """The number of accepted drafted tokens, and all resulting tokens."""

    accepted: Count
    tokens: list[Id]


class SpeculativeStepsInput(Strict, frozen=True, kw_only=True):
    """Drafted tokens, the target's rows as they came, and the steps that it draws after."""

    target: list[Floats]
    """The target's logits at the place of each drafted token, and after the last one."""

    draft: list[Floats]
    """The row of weights that each drafted token was drawn from; empty for `matching`."""

    tokens: list[int]
    history: list[int]
    prompt_length: Count
    steps: Annotated[list[StepOfSteps], Meta(min_length=1)]
    """Applied to each row of the target, with the drafted tokens before it as history."""

    uniforms: Floats
    """One number per drafted token, then one for the token at the end."""


class ResidualInput(Strict, frozen=True, kw_only=True):
    """A row of the target and a row of the draft."""

    target: Floats
    draft: Floats
    params: Parameters


class Layout(Strict, frozen=True, kw_only=True):
    """How the rows of a batch lie in memory. It changes no answer."""

    stride: Annotated[int, Meta(ge=1)]
    """Numbers from the beginning of one row to that of the next; what is between is garbage."""

    order: list[Count]
    """For each row, its place in memory."""


class TopLogprobsInput(Strict, frozen=True, kw_only=True):
    """A row of logits, the token that was drawn, and how many of the best tokens to report."""

    logits: Floats
    steps: list[StepOfSteps]
    """What the engine does to the row before it draws. Only by `of.processed` it counts."""

    token: int
    n: int


class TopLogprobsOutput(Strict, frozen=True, kw_only=True):
    """The tokens that are reported, the log-probability of each, and the drawn token's rank."""

    tokens: list[Id]
    logprobs: Floats
    rank: Count


class PromptLogprobsInput(Strict, frozen=True, kw_only=True):
    """A prompt, the row of logits behind each of its tokens, and how many tokens to report."""

    rows: list[Floats]
    tokens: list[int]
    n: int


class PromptLogprobsOutput(Strict, frozen=True, kw_only=True):
    """What is reported of each token of the prompt; null for the first one."""

    rows: list[TopLogprobsOutput | None]


class BatchInput(Strict, frozen=True, kw_only=True):
    """Questions of one operation in one call, each with its own parameters."""

    op: str
    rows: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    vocab_size: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """The numbers of each row from this index on are padding: each answer is as if they did not
    exist, and they may be anything, also NaN."""

    layout: Layout | UnsetType = UNSET
    calls: Annotated[int, Meta(ge=2, le=16)] | UnsetType = UNSET
    """Ask for the whole batch this many times; the answer has the rows of all calls in order.
    Equal questions must have equal bits in every call."""

    def __post_init__(self) -> None:
        """Raise `ValueError` if the layout has not one place for each row."""
        if self.layout is not UNSET and sorted(self.layout.order) != [*range(len(self.rows))]:
            raise ValueError("`order` must have each number below the number of rows once")


class BatchOutput(Strict, frozen=True, kw_only=True):
    """The answer to each row."""

    rows: list[dict[str, Any]]


class SampleCall(Strict, frozen=True, kw_only=True):
    """Draw a token from a row. The token is only remembered by `accept`."""

    logits: Floats
    uniforms: Floats


class Call(OneOf, frozen=True, kw_only=True):
    """One call on a sampler that remembers tokens; exactly one field is set."""

    one_of = ("sample", "accept", "truncate", "reset")
    sample: SampleCall | UnsetType = UNSET
    accept: int | UnsetType = UNSET
    """Remember a token that was chosen elsewhere."""

    truncate: Count | UnsetType = UNSET
    """Forget all tokens after the first `truncate`."""

    reset: Literal[True] | UnsetType = UNSET
    """Forget everything since the beginning."""


class SequenceInput(Strict, frozen=True, kw_only=True):
    """Calls on one sampler, in order."""

    params: Parameters
    prompt: list[int]
    calls: Annotated[list[Call], Meta(min_length=1)]


class SequenceOutput(Strict, frozen=True, kw_only=True):
    """The token of each call that draws; null for other calls."""

    answers: list[Id | None]


Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""The seed of a row's own random numbers."""


class StatInput(_OneRow, frozen=True, kw_only=True):
    """A row to draw from many times with the engine's own random numbers."""

    params: Parameters
    draws: Annotated[int, Meta(ge=1)]


class StatOutput(Strict, frozen=True, kw_only=True):
    """The number of draws of each token. Tokens that were never drawn may be omitted."""

    counts: list[tuple[Id, Count]]


class SpeculativeStatInput(Strict, frozen=True, kw_only=True):
    """A step of speculative decoding to run many times, including the drafts."""

    draft: Annotated[list[Floats], Meta(min_length=1)]
    """The draft model's logits at each position. The engine draws a token from each."""

    target: Annotated[list[Floats], Meta(min_length=2)]
    """The target's logits at each position, and one more row for the token after the drafts."""

    draft_params: Parameters
    """How drafts are drawn: `temperature`, then `k`, by the standard rules."""

    params: Parameters
    """The same for the target's rows."""

    draws: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the target has one row more than the draft."""
        if len(self.target) != len(self.draft) + 1:
            raise ValueError("`target` must have one row more than `draft`")


class SpeculativeStatOutput(Strict, frozen=True, kw_only=True):
    """The number of times that a step returned each list of tokens; others may be omitted."""

    counts: list[tuple[list[Id], Count]]


class BatchStatInput(_OneRow, frozen=True, kw_only=True):
    """A row that occurs several times in a batch, to draw one token for each, many times."""

    params: Parameters
    rows: Annotated[int, Meta(ge=2, le=1 << 10)]
    """Number of copies of the row in the batch."""

    draws: Annotated[int, Meta(ge=2)]
    """Number of calls for the batch."""


class BatchStatOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each call in order, one for each row."""

    tokens: list[list[Id]]


class SeedsInput(_OneRow, frozen=True, kw_only=True):
    """Batches of copies of one row, some with seeds."""

    params: Parameters
    batches: Annotated[list[Annotated[list[Seed | None], Meta(min_length=1)]], Meta(min_length=1)]
    """The seed of each row of each batch; null for a row without one."""

    tokens: Annotated[int, Meta(ge=1)]
    """Number of tokens to draw for each row."""


class SeedsOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each row of each batch."""

    batches: list[list[list[Id]]]


Packed: TypeAlias = Any
"""null, a boolean, an integer, a string, a list of these, `{"f32": digits}`, or a map.

A map, whose keys may be tokens or sequences, is `{"map":[[key, value], ...]}`.
"""


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Packed]:
    """Return parameters in the form of a record.

    A float is written in 32 bits if they represent it exactly, else in 64.

    >>> pack_parameters({"p": 0.75, "k": 3, "logit_bias": {5: -1.0}})
    {'p': {'f32': '3f400000'}, 'k': 3, 'logit_bias': {'map': [[5, {'f32': 'bf800000'}]]}}
    """
    return {name: _pack(value) for name, value in parameters.items()}


def _pack(value: Any) -> Packed:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return pack_shortly([value])
    if isinstance(value, Mapping):
        return {"map": [[_pack(key), _pack(entry)] for key, entry in value.items()]}
    return [_pack(entry) for entry in value]


def unpack_parameters(packed: Mapping[str, Packed]) -> dict[str, Any]:
    """Return parameters from the form of a record. Raises `FloatsError` if they are invalid.

    >>> unpack_parameters({"p": {"f32": "3f400000"}, "words": [[1, 2]]})
    {'p': 0.75, 'words': [[1, 2]]}
    """
    return {name: _unpack(value) for name, value in packed.items()}


def _unpack(value: Packed) -> Any:
    if isinstance(value, list):
        return [_unpack(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"map"}:
        pairs = [(_unpack(key), _unpack(entry)) for key, entry in value["map"]]
        return {tuple(key) if isinstance(key, list) else key: entry for key, entry in pairs}
    numbers = numbers_of(value)
    if numbers is not None and len(numbers) == 1:
        return numbers[0]
    raise FloatsError(f"a parameter must be one number's bits, a map, or plain, got {value!r:.80}")


def tokens_of(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of all tokens of rows without making these from their recipes.

    >>> tokens_of([{"logits": {"f32": "0000000000000000"}}, {"probs": {"gen": "grid.v1", "n": 9}}])
    11
    """
    parts = [row.get(name, []) for row in rows for name in ("logits", "probs", "target")]
    numbers = [each for part in parts for each in (part if isinstance(part, list) else [part])]
    return sum(map(size_of, numbers))
