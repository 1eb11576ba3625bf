"""What the loop is made of: a model, a sampler, a decoder. Any that have these shapes."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.parameters import is_whole
from sampling_ref.row import TokenId, plain

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
        token: TokenId = plain(chosen)
        if not is_whole(token, most=size - 1):
            raise ParameterError("sampler", chosen, f"must return a token id below {size}")
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
