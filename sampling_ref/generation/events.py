"""The events of a generation as values, how long they took, and a runner's screen that shows them.

The runner's documentation (see `loop`), section 5.5. The rule:

    The time to first token (TTFT) runs from the start to the moment the first token is
    chosen: the whole prompt is in it. The times between tokens (TBT) run from one choice to
    the next. Their mean is printed, and 1000 divided by it in milliseconds.

What this leaves open
    *A single token* has no interval. The published code divides 0 by 0 and prints NaN; here
    a sentence says so. (The program itself, `src/bin/generate.rs` of
    https://github.com/hedone21/llm_rs2, then prints no second line.)
    *A clock that stands still* between two tokens: published, `inf` tokens a second.
    *No token at all*: the published code always makes one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Final, Literal, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.row import TokenId


@dataclass(frozen=True)
class Times:
    """Seconds to the first token, None if there is none, and seconds between tokens.

    >>> times = Times(0.5, (0.25, 0.75))
    >>> times.mean, times.tokens_per_second
    (0.5, 2.0)
    >>> Times(0.5, ()).mean is None
    True
    """

    to_first: float | None
    between: tuple[float, ...]
    as_published: bool = field(default=False, repr=False)
    """Whether the loop ran as published; then the report is the published one."""

    @property
    def mean(self) -> float | None:
        """The mean time between two tokens in seconds; None if there are not two."""
        return sum(self.between) / len(self.between) if self.between else None

    @property
    def tokens_per_second(self) -> float | None:
        """How many tokens follow in a second; None if no time was measured."""
        return 1 / self.mean if self.mean else None

    def report(self, *, as_published: bool = False) -> str:
        """Return the two lines that the runner prints; better ones where there is no interval.

        Times that were measured as published are reported so, too.

        >>> print(Times(0.24532, (0.03815,)).report())
        TTFT: 245.32 ms
        Avg TBT: 38.15 ms (26.2 tokens/sec)
        >>> print(Times(0.5, ()).report())
        TTFT: 500.00 ms
        Avg TBT: none, a single token has no interval
        >>> print(Times(0.5, ()).report(as_published=True))
        TTFT: 500.00 ms
        Avg TBT: NaN ms (NaN tokens/sec)
        """
        if as_published or self.as_published:
            return f"TTFT: {(self.to_first or 0.0) * 1000:.2f} ms\n{self._published_mean()}"
        if self.to_first is None:
            return "TTFT: none, no token was generated"
        first = f"TTFT: {self.to_first * 1000:.2f} ms"
        if self.mean is None:
            return f"{first}\nAvg TBT: none, a single token has no interval"
        mean = f"Avg TBT: {self.mean * 1000:.2f} ms"
        if self.tokens_per_second is None:
            return f"{first}\n{mean} (too short for the clock)"
        return f"{first}\n{mean} ({self.tokens_per_second:.1f} tokens/sec)"

    def _published_mean(self) -> str:
        """Return the second line as the published code calculates it, in milliseconds."""
        total = 0.0
        for seconds in self.between:  # one after the other, as there: `sum` may correct itself
            total += seconds * 1000
        mean = total / len(self.between) if self.between else nan
        rate = 1000 / mean if mean else inf
        return f"Avg TBT: {mean:.2f} ms ({rate:.1f} tokens/sec)".replace("nan", "NaN")


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
    """The place of the token, counted from the first token of the prompt."""

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


def print_now(text: str) -> None:
    """Print a part of a line, and let it be seen at once."""
    print(text, end="", flush=True)  # noqa: T201 - a runner's output


def show(
    events: Iterable[Event],
    write: Callable[[str], object] = print_now,
    *,
    as_published: bool = False,
) -> Finished:
    """Write what happens, and return the last event.

    Published, the line about the prompt is not there.

    >>> from sampling_ref.generation.events import Times
    >>> end = Finished("full cache", "", (7, 8), Times(0.5, (0.25,)))
    >>> events = [Prefilled(3, 0.5), Token(7, "Hel", 3, 0.5), Token(8, "lo", 4, 0.25), end]
    >>> show(events) is end
    Prompt: 3 tokens in 500.00 ms
    Hello
    [Stopped: Max context length reached]
    TTFT: 500.00 ms
    Avg TBT: 250.00 ms (4.0 tokens/sec)
    True
    """
    for event in events:
        if isinstance(event, Prefilled):
            if not as_published:
                write(f"Prompt: {event.tokens} tokens in {event.seconds * 1000:.2f} ms\n")
        elif isinstance(event, Token):
            if event.text:
                write(event.text)
        else:
            reason = f"\n{event.message}\n" if event.message else "\n"
            write(f"{event.text}{reason}{event.times.report(as_published=as_published)}\n")
            return event
    raise ParameterError("events", events, "must end with Finished")
