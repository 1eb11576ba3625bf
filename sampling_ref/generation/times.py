"""How long it took: to the first token, and from each token to the next.

The runner's documentation (see `loop`), section 5.5. In our words:

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

from dataclasses import dataclass, field
from math import inf, nan


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
            return f"TTFT: {self._published_first():.2f} ms\n{self._published_mean()}"
        if self.to_first is None:
            return "TTFT: none, no token was generated"
        first = f"TTFT: {self.to_first * 1000:.2f} ms"
        if self.mean is None:
            return f"{first}\nAvg TBT: none, a single token has no interval"
        mean = f"Avg TBT: {self.mean * 1000:.2f} ms"
        if self.tokens_per_second is None:
            return f"{first}\n{mean} (too short for the clock)"
        return f"{first}\n{mean} ({self.tokens_per_second:.1f} tokens/sec)"

    def _published_first(self) -> float:
        return 0.0 if self.to_first is None else self.to_first * 1000

    def _published_mean(self) -> str:
        """Return the second line as the published code calculates it, in milliseconds."""
        total = 0.0
        for seconds in self.between:  # one after the other, as there: `sum` may correct itself
            total += seconds * 1000
        mean = total / len(self.between) if self.between else nan
        rate = 1000 / mean if mean else inf
        return f"Avg TBT: {mean:.2f} ms ({rate:.1f} tokens/sec)".replace("nan", "NaN")
