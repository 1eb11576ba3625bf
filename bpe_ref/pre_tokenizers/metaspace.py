"""`Metaspace`: write each space as a visible character, and cut before it.

Definition
    1. Replace each space by `replacement`.
    2. Prepend one more, unless the text is empty or starts with it already: always, or only to a
       piece from the beginning of the original (`first`), or never, as `prepend_scheme` says.
    3. If `split`, cut with behavior `MergedWithNext` at each replacement.

Source: pre_tokenizers/metaspace.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    A replacement that the text held from the start is treated like a space. *Beginning of the
    original* is where the piece's part of it begins at 0: in a `Sequence`, several pieces may do
    so, when one original character became many; none does, when the first character was removed.

Where old files differ
    `str_rep` is read and ignored. `add_prefix_space` is only compared: false contradicts every
    scheme but `never`, the scheme being `always` where the file has none, and is an error; true
    contradicts nothing, not even `never`.
"""

from dataclasses import InitVar, dataclass, replace
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_character, check_choice, check_flag, check_text
from bpe_ref.patterns.matches import Literal, find_matches
from bpe_ref.pre_tokenizers.splitting import split

PREPEND_SCHEMES: Final = ("first", "never", "always")


@dataclass(frozen=True)
class Metaspace:
    """Writes spaces as another character and cuts before each.

    `add_prefix_space` and `str_rep` are fields of old files, checked and not kept.

    >>> Metaspace("_").cut_text("a b  c")
    ['_a', '_b', '_', '_c']
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True
    add_prefix_space: InitVar[bool | None] = None
    str_rep: InitVar[str | None] = None

    def __post_init__(self, add_prefix_space: bool | None, str_rep: str | None) -> None:
        """Raise `ParameterError` unless the library takes these fields."""
        check_character("replacement", self.replacement)
        check_choice("prepend_scheme", self.prepend_scheme, PREPEND_SCHEMES)
        check_flag("split", self.split)
        if add_prefix_space is not None:
            check_flag("add_prefix_space", add_prefix_space)
            if not add_prefix_space and self.prepend_scheme != "never":
                rule = 'must be "never" where add_prefix_space is false'
                raise ParameterError("prepend_scheme", self.prepend_scheme, rule)
        if str_rep is not None:
            check_text("str_rep", str_rep)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        # One character replaces one, so that the spans stay.
        spaced = replace(text, text=text.text.replace(" ", self.replacement))
        if self._prepends(spaced.text, at_start=text.start == 0):
            spaced = spaced.prepend(self.replacement)
        if not self.split:
            return [spaced] if spaced.text else []
        matches = find_matches(Literal(self.replacement), spaced.text)
        return split(spaced, matches, "MergedWithNext")

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts; `at_start` for the beginning of the original."""
        spaced = text.replace(" ", self.replacement)
        if self._prepends(spaced, at_start=at_start):
            spaced = self.replacement + spaced
        if not self.split:
            return [spaced] if spaced else []
        # Each replacement is the first of its piece, alone if another one follows.
        first, *others = spaced.split(self.replacement)
        return [first] * bool(first) + [self.replacement + other for other in others]

    def _prepends(self, spaced: str, *, at_start: bool) -> bool:
        if not spaced or spaced.startswith(self.replacement):
            return False
        return self.prepend_scheme == "always" or (self.prepend_scheme == "first" and at_start)

    @property
    def reads_start(self) -> bool:
        """Whether the pieces depend on whether the original begins with the text."""
        return self.prepend_scheme == "first"

    def meeting(self, left: str, right: str) -> Meeting:
        """Return the two characters, with a border before a space; see `components.Meeting`."""
        here, there = (self.replacement if one == " " else one for one in (left, right))
        is_space = there == self.replacement
        alone = is_space or self.prepend_scheme == "never"
        return Meeting(frozenset(here), frozenset(there), self.split and is_space, alone)
