"""How long a program under test may take, and how often it may have to be restarted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Seconds, and the number of restarts.

    >>> Patience().seconds(64), Patience().sentence()
    (5.2, '2 s + 0.05 s per case; 30 s to start or load; at most 20 restarts')
    """

    per_batch: float = 2.0
    per_case: float = 0.05
    """Seconds that a batch may take are `per_batch`, and this for each case."""

    to_start: float = 30.0
    """Seconds for the answer to hello, and to load."""

    restarts: int = 20
    """After so many restarts the run is given up."""

    def seconds(self, cases: int) -> float:
        """Return how long a batch of so many cases may take."""
        return self.per_batch + self.per_case * cases

    def sentence(self) -> str:
        """Say it in one line, for the report."""
        return (
            f"{self.per_batch:g} s + {self.per_case:g} s per case; "
            f"{self.to_start:g} s to start or load; at most {self.restarts} restarts"
        )
