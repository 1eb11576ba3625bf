"""The ids of a text, without origins: the quick way beside the definition in `pipeline`.

Definition: the ids of `Pipeline.encode`, before anything is cut off or added.

The quick way
    Text is cut out, normalized and cut into pieces as bare strings, which know
    nothing of where they come from. What each piece becomes is remembered, by
    the piece as it stands in the text: where a byte level comes last, its
    letters are written for new pieces only. New ones that are not ASCII are cut
    once more, between characters whose bytes no merge joins.

Why this is the same answer
    *Bare strings*: every component has a way without origins that returns the
    same text, or else `reads_origins` says so, and this way is not taken.
    *Remembering*: pieces do not influence one another, so what a piece became
    once, it becomes again. With dropout nothing is remembered.
    *Letters later*: a byte level without prefix space writes each piece by
    itself, whatever stands around it.
    *Cutting once more*: see `borders`. Text that nothing cuts is cut only there,
    and its words are remembered, not the text: see `partwise`.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from bpe_ref.added_tokens import AddedVocabulary
from bpe_ref.models.bpe import BPE
from bpe_ref.models.character_borders import CharacterBorders
from bpe_ref.models.merging import Draw
from bpe_ref.models.piece_cache import PieceCache
from bpe_ref.normalizers.sequence import Step
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.sequence import (
    PreTokenizer,
    Sequence,
    needs_alignment,
    reads_start,
)
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.merges import TokenId

_Cut: TypeAlias = Callable[[str, bool], list[str]]
"""Cuts a text; the flag tells whether the original begins with it."""


class QuickIds:
    """Encodes texts, and remembers pieces.

    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> QuickIds(model, AddedVocabulary([], model.vocab), None, None).ids("aba")
    [2, 0]
    """

    def __init__(
        self,
        model: BPE,
        added: AddedVocabulary,
        normalizer: Step | None,
        pre_tokenizer: PreTokenizer | None,
        *,
        special_as_text: bool = False,
    ) -> None:
        """Take the components, of which `reads_origins` must be false."""
        self._model: Final = model
        self._added: Final = added
        self._normalizer: Final = normalizer
        self._special_as_text: Final = special_as_text
        self._cut, self._finish = _cutting(pre_tokenizer)
        by_parts = model.always_merges and not _cuts(pre_tokenizer)
        self._uncut: Final = model.partwise if by_parts else None
        self._cache: Final = PieceCache(self._piece_ids)
        cuts_more = self._finish is _in_letters and model.always_merges
        self._characters: Final = CharacterBorders(model.borders) if cuts_more else None

    def ids(self, text: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids; `draw` gives the random numbers for dropout."""
        if not self._added.may_be_in(text, normalized=False):
            return self._stretch_ids(text, draw, at_start=True)
        ids: list[TokenId] = []
        for start, stop, token in self._added.cut(
            text, normalized=False, special_as_text=self._special_as_text
        ):
            if token is None:
                ids += self._stretch_ids(text[start:stop], draw, at_start=start == 0)
            else:
                ids.append(token)
        return ids

    def _stretch_ids(self, text: str, draw: Draw | None, *, at_start: bool) -> list[TokenId]:
        """Return the ids of a stretch between tokens that are not normalized."""
        changed = text if self._normalizer is None else self._normalizer.normalize_text(text)
        if changed and not self._added.may_be_in(changed, normalized=True):
            return self._ids_of(self._cut(changed, at_start), draw)
        ids: list[TokenId] = []
        for start, stop, token in self._added.cut(
            changed, normalized=True, special_as_text=self._special_as_text
        ):
            if token is None:
                pieces = self._cut(changed[start:stop], at_start and start == 0)
                ids += self._ids_of(pieces, draw)
            else:
                ids.append(token)
        return ids

    def _ids_of(self, pieces: list[str], draw: Draw | None) -> list[TokenId]:
        if self._uncut is not None:
            return self._uncut.ids(pieces[0]) if pieces else []  # it is in one piece
        if self._model.drops_merges:
            return [token for piece in pieces for token in self._piece_ids(piece, draw)]
        return self._cache.encode(pieces)

    def _piece_ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        if self._characters is not None and len(piece) > 1 and not piece.isascii():
            parts = self._characters.cut(piece)
            if len(parts) > 1:
                return self._cache.encode(parts)
        return self._model.tokenize_ids(self._finish(piece), draw)


def reads_origins(normalizer: Step | None, pre_tokenizer: PreTokenizer | None) -> bool:
    """Tell whether cutting depends on where text comes from, in a way that text does not tell.

    >>> reads_origins(None, None)
    False
    """
    if getattr(normalizer, "may_insert_first", False):
        return True
    if pre_tokenizer is None:
        return False
    return needs_alignment(pre_tokenizer) or (normalizer is not None and reads_start(pre_tokenizer))


def _cuts(pre_tokenizer: PreTokenizer | None) -> bool:
    """Tell whether text is cut at all before the model gets it."""
    if isinstance(pre_tokenizer, Metaspace):
        return pre_tokenizer.split
    return pre_tokenizer is not None


def _cutting(pre_tokenizer: PreTokenizer | None) -> tuple[_Cut, Callable[[str], str]]:
    """Return how text is cut into pieces, and what then becomes of each piece on its own."""
    if pre_tokenizer is None:
        return _whole, _unchanged
    *before, last = _steps(pre_tokenizer)
    if not isinstance(last, ByteLevel):
        return pre_tokenizer.cut_text, _unchanged
    if not before:
        return lambda text, _: last.plain_pieces(text), _in_letters
    if last.use_regex or last.add_prefix_space:
        return pre_tokenizer.cut_text, _unchanged
    return Sequence(before).cut_text, _in_letters


def _whole(text: str, at_start: bool) -> list[str]:
    """Return the text as one piece."""
    return [text]


def _unchanged(piece: str) -> str:
    return piece


def _in_letters(piece: str) -> str:
    return to_letters(piece.encode())


def _steps(pre_tokenizer: PreTokenizer) -> list[PreTokenizer]:
    """Return the components that cut one after the other, sequences resolved."""
    if not isinstance(pre_tokenizer, Sequence):
        return [pre_tokenizer]
    return [step for part in pre_tokenizer.pretokenizers for step in _steps(part)] or [
        pre_tokenizer
    ]
