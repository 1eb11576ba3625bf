"""The questions of records and their answers, one module per subject."""

from typing import ClassVar

from msgspec import UNSET

from tokenref.floats import Strict


class OneOf(Strict, frozen=True, kw_only=True):
    """A structure that must have exactly one of some fields."""

    one_of: ClassVar[tuple[str, ...]]
    """The names of these fields."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the fields is given."""
        if sum(getattr(self, name) is not UNSET for name in self.one_of) != 1:
            encoded = dict(zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True))
            *names, last = (f"`{encoded[name]}`" for name in self.one_of)
            raise ValueError(f"must have exactly one of {', '.join(names)} and {last}")
