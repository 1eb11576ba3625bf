"""What happens while text is generated, as values: one for each thing that happens."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sampling_ref.generation.times import Times
from sampling_ref.row import TokenId

Reason: TypeAlias = Literal["stop token", "number of tokens", "full cache"]
"""Why a generation ended."""

CACHE_FULL: Final = "[Stopped: Max context length reached]"
"""What the runner prints when its cache is full."""


@dataclass(frozen=True)
class Prefilled:
    """The model has read the prompt."""

    tokens: int
    """How many tokens the prompt has."""

    seconds: float
    """How long reading took, from the start."""


@dataclass(frozen=True)
class Token:
    """A token was chosen."""

    token: TokenId

    text: str
    """What to print now: the text that is certain by now. Often nothing."""

    position: int
    """Where the token stands, counted from the first token of the prompt."""

    seconds: float
    """Time since the token before it; for the first, since the start."""


@dataclass(frozen=True)
class Finished:
    """It has ended."""

    reason: Reason

    text: str
    """The rest of the text, which waited for a token that will not come. Mostly nothing."""

    tokens: tuple[TokenId, ...]
    """All tokens that were chosen, a stop token included, without the prompt."""

    times: Times

    @property
    def message(self) -> str:
        """What the runner says about the reason: something only if the cache is full."""
        return CACHE_FULL if self.reason == "full cache" else ""


Event: TypeAlias = Prefilled | Token | Finished
"""First `Prefilled`, then a `Token` for each token, at the end `Finished`."""
