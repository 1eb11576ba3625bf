"""How long a failure is made smaller."""

import time
from typing import Final

from msgspec import Struct

SECONDS: Final = 20.0
"""For one failure, unless something else is said."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When shrinking stops, finished or not.

    >>> 19 < Limits().left() <= 20, Limits(until=0.0).left()
    (True, 0.0)
    """

    seconds: float = SECONDS
    """For each failure."""

    until: float | None = None
    """For all of them: seconds since 1970, which other machines know, too."""

    def left(self) -> float:
        """Return how many seconds a failure has that is begun now."""
        if self.until is None:
            return self.seconds
        return max(0.0, min(self.seconds, self.until - time.time()))
