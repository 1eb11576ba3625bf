"""Draw from a Hypothesis strategy by a key: the same key, the same value.

Hypothesis chooses its examples by what it has seen before, by its database and
by the constants in whatever code is loaded. None of that may decide what case
number 77 is. So the choices are read from bytes, as an outside fuzzer would give
them (`fuzz_one_input`, a public way in), and the bytes are SHAKE-256 of the key.
"""

from hashlib import shake_256
from threading import Lock
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_Drawn = TypeVar("_Drawn")

_BYTES: Final = 1 << 12
_MOST_BYTES: Final = 1 << 20
_ATTEMPTS: Final = 40


class DrawingError(Exception):
    """A strategy from which nothing can be drawn: a bug here, or in the strategy."""


def drawn(strategy: st.SearchStrategy[_Drawn], *key: str | int) -> _Drawn:
    """Return the value that the strategy gives for a key.

    Where a key's bytes are too few, or are filtered out, the next ones are taken.

    >>> drawn(st.integers(0, 99), 1, "a") == drawn(st.integers(0, 99), 1, "a")
    True
    """
    name, size = "/".join(map(str, key)), _BYTES
    with _LOCK:
        for attempt in range(_ATTEMPTS):
            _WANTED[:] = [strategy]
            _GOT.clear()
            _from_bytes(shake_256(f"{name}/{attempt}".encode()).digest(size))
            if _GOT:
                value: _Drawn = _GOT.pop()
                return value
            size = min(2 * size, _MOST_BYTES)
    raise DrawingError(f"nothing could be drawn for {name} in {_ATTEMPTS} attempts")


_LOCK: Final = Lock()
_WANTED: Final[list[st.SearchStrategy[Any]]] = []
_GOT: Final[list[Any]] = []


@settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def _keep(data: st.DataObject) -> None:
    _GOT.append(data.draw(_WANTED[0]))


_from_bytes: Final = _keep.hypothesis.fuzz_one_input  # type: ignore[attr-defined]  # set by given
