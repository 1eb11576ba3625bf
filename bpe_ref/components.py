"""The one shape of each kind of component; `tokenizer` shows how they follow one another.

Each component is a frozen dataclass whose fields are those of the file format, under the same
names. `formats.hugging_face_components` has the classes by the format's type names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from bpe_ref.aligned_text import AlignedText
from bpe_ref.vocabulary.merges import TokenId

Draw: TypeAlias = Callable[[], float]
"""Returns the next number of a random stream, each from 0 up to and without 1."""


@dataclass(frozen=True, eq=False)
class WithoutTables:
    """Is pickled and copied as its fields, without the tables that are made from them later."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def __repr__(self) -> str:
        """Return the fields that are not at their defaults, of long ones the number of items.

        >>> from bpe_ref.models.bpe import BPE
        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], ignore_merges=True)
        BPE(vocab=<3 items>, merges=<1 items>, ignore_merges=True)
        """
        shown = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
                shown += [f"{entry.name}=<{len(value)} items>"] if entry.init else []
            elif entry.repr and value != entry.default:
                shown.append(f"{entry.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class WithoutMerges(WithoutTables, ABC):
    """A model in which no token is made by merging: it has one step."""

    drops_merges = False

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """Nothing."""
        return {}

    @abstractmethod
    def tokenize(self, piece: str, draw: Draw | None = None) -> "list[Token]":
        """Return the tokens of a piece, and the bytes that each covers."""

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece. Raises what `tokenize` raises."""
        return [token.id for token in self.tokenize(piece)]

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a piece as the only step."""
        return [self.ids(piece)]


class Normalizer(Protocol):
    """Changes a text."""

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the normalized text."""

    def normalize_text(self, text: str) -> str:
        """Return the normalized text only: that of `normalize(AlignedText.of(text))`."""


class PreTokenizer(Protocol):
    """Cuts a text into pieces, and may change them."""

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces, none of them empty."""

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the texts of the pieces; `at_start` if the original begins with this text."""


class Token(NamedTuple):
    """A token of a piece: its id, its string, and the bytes of the piece's UTF-8 it covers.

    One that covers no bytes stands for nothing, at the character that `start` is in.
    """

    id: TokenId
    string: str
    start: int
    end: int


class Model(Protocol):
    """Turns a piece into tokens."""

    @property
    def vocab(self) -> Mapping[str, TokenId]:
        """From the string of a token to its id."""

    @property
    def strings(self) -> Mapping[TokenId, str]:
        """From the id of a token to its string."""

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """From each token that merging makes to its rank; the lower, the earlier."""

    @property
    def drops_merges(self) -> bool:
        """Whether merges are passed over at random, so that `draw` is needed."""

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, in order."""

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece, faster."""

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a piece after each step of the definition, those it starts with first.

        The last ones are those of `ids`. Dropout is left out.
        """


class Decoder(Protocol):
    """Turns the strings of tokens into text, in steps: each maps a list to a list."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the new list; the text is its strings joined."""


class Meeting(NamedTuple):
    """What a component does where two characters stand next to each other in a text.

    Its method `meeting(left, right)` returns one if, for all texts x that end with `left` and y
    that begin with `right`, what becomes of x + y is what becomes of x, and then what becomes of y
    behind `left`, whatever else x is. Otherwise, or if that is not known, it returns None.
    """

    lefts: frozenset[str]
    """The characters that x may end with then."""

    rights: frozenset[str]
    """The characters that y may begin with then."""

    border: bool = False
    """Whether a piece always ends at the place. If not, the last piece of x and the first piece of
    y are always one piece (or x and y are one text, if the component is a normalizer)."""

    alone: bool = True
    """Whether y alone becomes what it becomes behind `left`."""


_MOST_MEETINGS: Final = 256


def meet(steps: Iterable[object], lefts: Iterable[str], rights: Iterable[str]) -> Meeting | None:
    """Return what components do one after the other, if one of the characters meets another.

    A component without the method `meeting` is one of which nothing is known.

    >>> meet([], "a", "b")
    Meeting(lefts=frozenset({'a'}), rights=frozenset({'b'}), border=False, alone=True)
    >>> meet([object()], "a", "b") is None
    True
    """
    here, there, alone, border = frozenset(lefts), frozenset(rights), True, False
    for step in steps:
        if border:  # the components behind cut the pieces on both sides separately
            alone = alone and not getattr(step, "reads_start", False)
            continue
        meeting = getattr(step, "meeting", None)
        if meeting is None or len(here) * len(there) > _MOST_MEETINGS:
            return None
        found: list[Meeting] = []
        for left, right in product(here, there):
            one = meeting(left, right)
            if one is None or one.border != (one if not found else found[0]).border:
                return None
            found.append(one)
        here = frozenset[str]().union(*(one.lefts for one in found))
        there = frozenset[str]().union(*(one.rights for one in found))
        alone = alone and all(one.alone for one in found)
        border = bool(found) and found[0].border
    return Meeting(here, there, border, alone)


def steps_of(component: object) -> list[Any]:
    """Return the components that work one after the other, sequences resolved.

    >>> from bpe_ref.pre_tokenizers.character_classes import Digits
    >>> from bpe_ref.pre_tokenizers.sequence import Sequence
    >>> steps_of(Sequence([Sequence([]), Digits(individual_digits=True)])), steps_of(None)
    ([Digits(individual_digits=True)], [])
    """
    for name in ("normalizers", "pretokenizers", "decoders"):
        if hasattr(component, name):
            return [step for part in getattr(component, name) for step in steps_of(part)]
    return [] if component is None else [component]


def by_name(*components: type) -> Mapping[str, type]:
    """Return classes by their names.

    >>> by_name(Token)["Token"].__name__
    'Token'
    """
    return {component.__name__: component for component in components}
