"""What the loop is made of: a model, a sampler, a decoder. Any that have these shapes."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any, Protocol, TypeAlias

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import TokenId

Model: TypeAlias = Callable[[list[TokenId], int], Any]
"""`model(tokens, start_pos)`: the row of logits that follows the last of these tokens.

The first of them has position `start_pos`. The model remembers the tokens before it."""


class Sampler(Protocol):
    """A sampler that remembers what it has seen. It is made with the prompt, if it needs it."""

    def sample(self, logits: Any, /) -> TokenId:
        """Return the next token."""

    def accept(self, token: TokenId, /) -> object:
        """Remember the token that was chosen."""


Choice: TypeAlias = Callable[[Any, list[TokenId]], TokenId]
"""`choose(logits, history)`: the next token. The history begins with the prompt."""


class Decoder(Protocol):
    """Tokens in, text out: what the stream decoders of tokenizers offer."""

    def push(self, token: TokenId, /) -> str:
        """Return the text that is certain now and was not before."""

    def finish(self) -> str:
        """Return the rest."""


Texts: TypeAlias = Callable[[TokenId], str | None]
"""A decoder that is only a function: the text that a token brings, None if it brings none."""


def chooser(sampler: Sampler | Choice) -> Choice:
    """Return a sampler of either kind as a function that returns a token of the row.

    >>> chooser(lambda logits, history: logits.index(max(logits)))([0.5, 1.5], [])
    1
    """
    is_object = hasattr(sampler, "sample") and hasattr(sampler, "accept")
    if not is_object and not callable(sampler):
        raise ParameterError("sampler", sampler, "must be callable, or have sample and accept")
    asked: Any = sampler

    def choose(logits: Any, history: list[TokenId]) -> TokenId:
        size = row_size(logits)
        chosen = asked.sample(logits) if is_object else asked(logits, history)
        token = read_token("sampler", chosen, size)
        if is_object:
            asked.accept(token)
        return token

    return choose


def decoding(decoder: Decoder | Texts | None) -> tuple[Callable[[TokenId], str], Callable[[], str]]:
    """Return what gives the text of a token, and what gives the rest.

    >>> push, finish = decoding("abc".__getitem__)
    >>> push(1), finish()
    ('b', '')
    """
    if decoder is None:
        return (lambda _: ""), str
    if hasattr(decoder, "push") and hasattr(decoder, "finish"):
        return decoder.push, decoder.finish
    if callable(decoder):
        return (lambda token: decoder(token) or ""), str
    raise ParameterError("decoder", decoder, "must be callable, or have push and finish")


def row_size(logits: Any) -> int:
    """Return how many tokens a row has. What is in it the sampler checks."""
    try:
        return len(logits)
    except TypeError:
        kind = type(logits).__name__
        raise RowError(f"the model must return a row of logits, got {kind}") from None


def read_token(name: str, token: Any, size: int) -> TokenId:
    """Return a token id below `size`; integers of other libraries are taken too.

    >>> read_token("sampler", 5, 4)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: sampler must return a token id below 4, got 5
    """
    read = read_index(token)
    if read is None or not 0 <= read < size:
        raise ParameterError(name, token, f"must return a token id below {size}")
    return read


def read_tokens(name: str, tokens: Any) -> list[TokenId]:
    """Return a list of token ids. Sets and mappings are refused: their tokens are in no order.

    >>> read_tokens("prompt", (3, 1))
    [3, 1]
    >>> read_tokens("prompt", [3, -1])
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: prompt must hold token ids only, got -1
    """
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    is_other = isinstance(tokens, str | bytes | Mapping | AbstractSet)
    if is_other or not hasattr(tokens, "__iter__"):
        raise ParameterError(name, tokens, "must be a sequence of token ids")
    read: list[TokenId] = []
    for token in tokens:
        number = read_index(token)
        if number is None or number < 0:
            raise ParameterError(name, token, "must hold token ids only")
        read.append(number)
    return read


def read_index(value: Any) -> int | None:
    """Return an integer of any library as an int, or None if it is not an integer."""
    if isinstance(value, bool):
        return None
    try:
        return index(value)
    except TypeError:
        return None
