"""`AddedToken` as the Python package `tokenizers` has it."""

from dataclasses import asdict
from typing import Any

from bpe_ref import added_tokens as definition
from bpe_ref.parameters import check_text


def _fixed(name: str, meaning: str) -> Any:
    """Return the property that was given once."""
    return property(lambda owner: owner._fixed[name], doc=meaning)  # noqa: SLF001 -- its owner


class AddedToken:
    """A text that becomes one token. `content` and `special` can be set, the rest is fixed.

    Left out, `normalized` is what `special` is not, also when that is set later.

    >>> AddedToken("<s>", special=True).normalized
    False
    """

    def __init__(
        self,
        content: str | None = None,
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        self.content = "" if content is None else content
        self.special = special
        self._fixed = {"single_word": single_word, "lstrip": lstrip, "rstrip": rstrip}
        self._normalized = normalized
        check_text("content", self.content)

    single_word = _fixed("single_word", "Whether it must not touch a letter.")
    lstrip = _fixed("lstrip", "Whether it takes the white space before it.")
    rstrip = _fixed("rstrip", "Whether it takes the white space behind it.")

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in the normalized text."""
        return not self.special if self._normalized is None else self._normalized

    @property
    def value(self) -> definition.AddedToken:
        """The frozen token that this is now."""
        return definition.AddedToken(
            self.content, **self._fixed, normalized=self.normalized, special=self.special
        )

    @classmethod
    def of(cls, token: definition.AddedToken) -> "AddedToken":
        """Return the token of a frozen one."""
        flags = asdict(token)
        del flags["id"]
        return cls(**flags)

    def __str__(self) -> str:
        """Return the content."""
        return self.content

    def __repr__(self) -> str:
        """Return what the library prints."""
        return (
            f'AddedToken("{self.content}", rstrip={self.rstrip}, lstrip={self.lstrip}, '
            f"single_word={self.single_word}, normalized={self.normalized}, "
            f"special={self.special})"
        )

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is the same token now."""
        return isinstance(other, AddedToken) and self.value == other.value

    def __hash__(self) -> int:
        """Return the hash of what the token is now."""
        return hash(self.value)
