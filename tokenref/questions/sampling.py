"""Questions about samplers: filters, changes of rows, probabilities, draws, whole chains."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import TYPES, Count, Floats, FloatsError, Id, Strict, from_digits, pack

Parameters = dict[str, Any]
"""Parameters by name, in the form of `pack_parameters`."""

Words = list[Annotated[str, Meta(pattern="^[0-9a-f]{8}([0-9a-f]{8})?$")]]
"""Words of 32 or 64 bits, in lower-case hexadecimal digits."""


class State(Strict, frozen=True, kw_only=True):
    """The state of an adaptive step between two tokens."""

    mu: Floats | UnsetType = UNSET
    past: Floats | UnsetType = UNSET
    """Adaptive-p's two sums."""


def one_row(probs: object, logits: object) -> None:
    """Raise `ValueError` unless exactly one of the two is given.

    >>> one_row(UNSET, "logits")
    """
    if (probs is UNSET) == (logits is UNSET):
        raise ValueError("must have exactly one of `probs` and `logits`")


class FilterInput(Strict, frozen=True, kw_only=True):
    """A row of probabilities or logits, and the parameters of a filter."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    uniforms: Floats | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one row is given."""
        one_row(self.probs, self.logits)


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


class ChainInput(Strict, frozen=True, kw_only=True):
    """The complete input of an engine's chain."""

    logits: Floats
    history: list[int]
    prompt_length: Count
    params: Parameters
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


class TokenOutput(Strict, frozen=True, kw_only=True):
    """The chosen token."""

    token: Id


class DrawInput(Strict, frozen=True, kw_only=True):
    """A row, and the random numbers to draw with."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    uniforms: Floats
    """One number per draw for an inverse CDF; one per token for a race."""

    count: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """Number of different tokens to draw; the answer is then a list. (A `torch walk` draws with
    replacement.)"""

    order: list[Id] | UnsetType = UNSET
    """The order of the tokens for the inverse CDF of one draw, an engine's candidates."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one row is given."""
        one_row(self.probs, self.logits)


class DrawOutput(Strict, frozen=True, kw_only=True):
    """The token drawn, or the tokens in the order drawn."""

    token: Id | UnsetType = UNSET
    tokens: list[Id] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the two forms is given."""
        if (self.token is UNSET) == (self.tokens is UNSET):
            raise ValueError("must have exactly one of `token` and `tokens`")


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


class ResidualInput(Strict, frozen=True, kw_only=True):
    """A row of the target and a row of the draft."""

    target: Floats
    draft: Floats
    params: Parameters


class BatchInput(Strict, frozen=True, kw_only=True):
    """Questions of one operation in one call, each with its own parameters."""

    op: str
    rows: Annotated[list[dict[str, Any]], Meta(min_length=1)]


class BatchOutput(Strict, frozen=True, kw_only=True):
    """The answer to each row."""

    rows: list[dict[str, Any]]


class SampleCall(Strict, frozen=True, kw_only=True):
    """Draw a token from a row. The token is only remembered by `accept`."""

    logits: Floats
    uniforms: Floats


class Call(Strict, frozen=True, kw_only=True):
    """One call on a sampler that remembers tokens; exactly one field is set."""

    sample: SampleCall | UnsetType = UNSET
    accept: int | UnsetType = UNSET
    """Remember a token that was chosen elsewhere."""

    truncate: Count | UnsetType = UNSET
    """Forget all tokens after the first `truncate`."""

    reset: Literal[True] | UnsetType = UNSET
    """Forget everything since the beginning."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the fields is set."""
        given = [self.sample, self.accept, self.truncate, self.reset]
        if given.count(UNSET) != 3:
            raise ValueError("must have exactly one of `sample`, `accept`, `truncate`, `reset`")


class SequenceInput(Strict, frozen=True, kw_only=True):
    """Calls on one sampler, in order."""

    params: Parameters
    prompt: list[int]
    calls: Annotated[list[Call], Meta(min_length=1)]


class SequenceOutput(Strict, frozen=True, kw_only=True):
    """The token of each call that draws; null for other calls."""

    answers: list[Id | None]


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
        try:
            return pack([value], "f32")
        except FloatsError:
            return pack([value], "f64")
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
        return {_key(_unpack(key)): _unpack(entry) for key, entry in value["map"]}
    if len(value) == 1:
        ((name, digits),) = value.items()
        for known in TYPES:
            if name == known:
                numbers = from_digits(digits, known)
                if len(numbers) == 1:
                    return numbers[0]
    raise FloatsError(f"a parameter must be one number's bits, a map, or plain, got {value!r:.80}")


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
