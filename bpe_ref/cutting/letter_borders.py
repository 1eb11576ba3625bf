"""Letters of a model between which no merge can happen, by the model's fields alone.

Definition
    Between x and y there is a border if no merge makes a token in which they
    stand side by side, and both are tokens; or, instead of the latter, if every
    character that is no token becomes its bytes, and those never merge.

`models.borders` proves that merging the letters of two texts side by side
then gives the tokens of the one and those of the other, and why no unknown
token and no vanished character can change that.
"""

from dataclasses import dataclass

from bpe_ref.models.bpe import BPE


@dataclass(frozen=True)
class LetterBorders:
    """Where a model has borders.

    >>> borders = borders_of(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> borders.between("a", "b"), borders.between("b", "a"), borders.between("b", "?")
    (False, True, False)
    """

    joints: frozenset[str]
    known: frozenset[str] | None
    """The characters that are tokens; None if those that are none become their bytes."""

    def between(self, left: str, right: str) -> bool:
        """Return whether there is a border between two characters."""
        if left + right in self.joints:
            return False
        return self.known is None or (left in self.known and right in self.known)


def borders_of(model: BPE) -> LetterBorders | None:
    """Return the borders of a model; None if cutting a text may change its tokens anywhere.

    >>> borders_of(BPE({"a": 0}, [], ignore_merges=True)) is None
    True
    """
    if model.ignore_merges or not is_plain(model):
        return None
    made = {left + right for left, right in model.merges}
    joints = frozenset(token[at : at + 2] for token in made for at in range(len(token) - 1))
    if _always_falls_back(model):
        return LetterBorders(joints, None)
    return LetterBorders(joints, frozenset(token for token in model.vocab if len(token) == 1))


def is_plain(model: BPE) -> bool:
    """Return whether letters are symbols wherever they stand, and merge without chance.

    >>> is_plain(BPE({"a": 0}, [], dropout=0.5))
    False
    """
    affixed = model.continuing_subword_prefix or model.end_of_word_suffix
    return not affixed and not model.drops_merges


def gives_a_token(model: BPE) -> bool:
    """Return whether every character that is no token becomes at least one of its own.

    >>> gives_a_token(BPE({"?": 0}, [], unk_token="?")), gives_a_token(BPE({"a": 0}, []))
    (True, False)
    """
    unknown = bool(model.unk_token) and model.unk_token in model.vocab and not model.fuse_unk
    return unknown or _always_falls_back(model)


def _always_falls_back(model: BPE) -> bool:
    byte_tokens = {f"<0x{byte:02X}>" for byte in range(256)}
    if not model.byte_fallback or not byte_tokens.issubset(model.vocab):
        return False
    return all(byte_tokens.isdisjoint(pair) for pair in model.merges)
