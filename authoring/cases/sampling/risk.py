"""How the risk of a false alarm is divided among the records that count draws.

The 18 records of the operation `stat` share one in a million. No run has all of these: 10 of
them follow the standard rule, and no engine's own profile has more than 3. That leaves 5 / 18
of the millionth in any run by rules and one engine's profile. The records of the other
operations that count draws, all of them by rules, have that.
"""

from fractions import Fraction
from typing import Final

OTHERS: Final = 100
"""Each record of another operation than `stat` has 1e-6 divided by this."""

MOST: Final = int(Fraction(5, 18) * OTHERS)
"""So many such records there may be: with more, a run would have a risk of more than 1e-6."""
