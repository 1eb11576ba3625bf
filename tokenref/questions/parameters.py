"""Parameters of samplers in records: plain JSON, but each real number as its bits."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tokenref.floats import TYPES, FloatsError, from_digits, pack

Packed: TypeAlias = Any
"""null, a boolean, a whole number, a string, a list of these, `{"f32": digits}`, or a map.

A map, whose keys may be tokens or sequences, is `{"map":[[key, value], ...]}`.
"""


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Packed]:
    """Return parameters as a record has them.

    A real number is written in 32 bits where these hold it exactly, else in 64.

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
    """Return parameters from what a record has. Raises `FloatsError` for what is none of it.

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
