"""The tokens of a text, without origins: the quick way beside the definition in `pieces`.

Definition: those of `Tokenizer.tokenize`, before anything is cut off or added.

The quick way
    Text is cut out, normalized and cut into pieces as bare strings, which know
    nothing of where they come from. What each piece becomes is remembered, by
    the piece as it stands in the text: where a byte level comes last, its
    letters are written for new pieces only. New ones that are not ASCII are cut
    once more by the model, between characters whose bytes no merge joins.
    Between added tokens, what a whole stretch of text becomes is remembered
    too: where line ends are such tokens, a stretch is a line.

Why this is the same answer
    *Bare strings*: every component has a way without origins that returns the
    same text, or else `reads_origins` says so, and this way is not taken.
    *Remembering*: pieces do not influence one another, so what a piece became
    once, it becomes again. With dropout nothing is remembered.
    *Stretches*: at each place the longest added token is taken, whatever stands around
    it. So none starts in a stretch, in the text or alone, and a token is found in its own
    text. What else becomes of a stretch depends on what is before it only if the
    pre-tokenizer `reads_start`; then stretches are not remembered.
    *Letters later*: a byte level that is not the only step cuts and writes each
    piece by itself, whatever stands around it.
    *Offsets* (`rows`): where nothing is inserted or removed and pieces are the text in
    order, each of its characters stands for itself, so the offsets of a piece's tokens
    are those that they have in the piece alone, counted from where it starts.
    *Cutting once more*: see `borders`. Text that nothing cuts is cut only there,
    and its words are remembered, not the text: see `partwise`.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from bpe_ref.added_tokens import RECOGNISE_ALL, AddedVocabulary, Cut, Treatment
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Draw, Model, Normalizer, PreTokenizer, steps_of
from bpe_ref.encoding import TokenRow
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.piece_cache import LONGEST_PIECE, PieceCache
from bpe_ref.pieces import offsets_of
from bpe_ref.pre_tokenizers.byte_level import ByteLevel, write_aligned
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.sequence import Sequence, needs_alignment, reads_start
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.merges import TokenId

_LONGEST_STRETCH: Final = 2 * LONGEST_PIECE  # a line, if line ends are added tokens

_Cut: TypeAlias = Callable[[str, bool], list[str]]
"""Cuts a text; the flag tells whether the original begins with it."""

_Finish: TypeAlias = Callable[[str], list[str]]
"""Cuts a piece once more, whatever stands around it."""


class QuickIds:
    """Encodes texts, and remembers pieces.

    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> QuickIds(model, AddedVocabulary([]), None, None).ids("aba")
    [2, 0]
    """

    def __init__(
        self,
        model: Model,
        added: AddedVocabulary,
        normalizer: Normalizer | None,
        pre_tokenizer: PreTokenizer | None,
    ) -> None:
        """Take the components, of which `reads_origins` must be false."""
        self._model: Final = model
        self._added: Final = added
        self._normalize: Final = None if normalizer is None else normalizer.normalize_text
        self._cut, self._finish, self._cut_on = _cutting(pre_tokenizer)
        merges_letters = isinstance(model, BPE) and model.always_merges
        by_parts = merges_letters and not _cuts(pre_tokenizer)
        self._uncut: Final = model.partwise if by_parts and isinstance(model, BPE) else None
        self._stretches: Final = PieceCache(self._stretch_ids, _LONGEST_STRETCH)
        self._splits: Final = not model.drops_merges and not (
            pre_tokenizer is not None and reads_start(pre_tokenizer)
        )
        self._remembers: Final = self._uncut is None and not model.drops_merges
        self._ids_of_text: Final = (
            model.ids_of_text if isinstance(model, BPE) and self._finish is _in_letters else None
        )
        self._cache: Final = PieceCache(self._ids_of_text or self._piece_ids)
        self._rows: Final = PieceCache(self._piece_rows)
        self._tokens_of: Final = (
            model.tokens_of
            if isinstance(model, BPE) and self._finish is _in_letters and model.spells_bytes
            else None
        )
        self._added_count: Final = len(added.ids)
        finishes = self._finish is not _unchanged
        self.cuts_letters: Final = not finishes and writes_letters(normalizer, pre_tokenizer)
        """Whether `pieces` returns byte letters."""

    def ids(
        self, text: str, treatment: Treatment = RECOGNISE_ALL, draw: Draw | None = None
    ) -> list[TokenId]:
        """Return the ids; `draw` gives the random numbers for dropout."""
        if treatment.refused:
            treatment.check(text)
        searches = len(treatment.ordinary) < self._added_count
        if not (searches and self._added.may_be_in(text, normalized=False)):
            changed = text if self._normalize is None else self._normalize(text)
            if not (searches and self._added.may_be_in(changed, normalized=True)):
                pieces = self._cut(changed, True) if changed else []
                return self._cache.encode(pieces) if self._remembers else self._ids_of(pieces, draw)
        elif self._splits and treatment == RECOGNISE_ALL:
            stretches = self._added.split(text)
            if stretches is not None:
                one = len(stretches) == 1
                return self._stretch_ids(text) if one else self._stretches.encode(stretches)
        return self._ids_of_parts(text, treatment, draw)

    def _stretch_ids(self, text: str) -> list[TokenId]:
        """Return the ids of a stretch of text, or of an added token, where `added.split` cut."""
        token = self._added.spelled(text)
        if token is not None:
            return [token]
        changed = text if self._normalize is None else self._normalize(text)
        if self._added.may_be_in(changed, normalized=True):
            return self._ids_of_parts(text, RECOGNISE_ALL, None)
        pieces = self._cut(changed, True) if changed else []
        return self._piece_ids(pieces[0]) if len(pieces) == 1 else self._ids_of(pieces, None)

    def _ids_of_parts(self, text: str, treatment: Treatment, draw: Draw | None) -> list[TokenId]:
        """Return the ids of a text that may contain added tokens."""
        ids: list[TokenId] = []
        for pieces, token in self._parts(text, treatment):
            if token is None:
                ids += self._ids_of(pieces, draw)
            else:
                ids.append(token)
        return ids

    def pieces(self, text: str, treatment: Treatment = RECOGNISE_ALL) -> list[str]:
        """Return the pieces; those of added tokens are their texts.

        >>> QuickIds(BPE({"a": 0}, []), AddedVocabulary([]), None, None).pieces("aa")
        ['aa']
        """
        treatment.check(text)
        return [
            part
            for pieces, token in self._parts(text, treatment)
            for piece in pieces
            for part in (self._cut_on(piece) if token is None else [piece])
        ]

    def rows(
        self, text: str, treatment: Treatment, word: int | None = None
    ) -> list[TokenRow] | None:
        """Return what `pieces.encode_pieces` makes an encoding of; None if only that can tell.

        `keeps_places` must be true of the components.

        >>> QuickIds(BPE({"a": 0}, []), AddedVocabulary([]), None, None).rows("aa", RECOGNISE_ALL)
        [(0, 'a', (0, 1), 0), (0, 'a', (1, 2), 0)]
        """
        if self._normalize is not None and self._normalize(text) != text:
            return None
        treatment.check(text)
        rows: list[TokenRow] = []
        start = number = 0
        for pieces, added in self._parts(text, treatment):
            for piece in pieces:
                found = self._rows[piece] if added is None else [(added, piece, 0, len(piece))]
                of_word = number if word is None else word
                for token, string, first, last in found:
                    rows.append((token, string, (start + first, start + last), of_word))
                start += len(piece)
                number += 1
        return rows if start == len(text) else None  # else something was left out

    def _piece_rows(self, piece: str) -> list[tuple[TokenId, str, int, int]]:
        """Return id, string, start and end of each token of a piece."""
        aligned = AlignedText.of(piece)
        if self._finish is _in_letters:
            aligned = write_aligned(aligned)
        tokens = self._tokens_of and self._tokens_of(self._cache[piece], aligned.text)
        if tokens is None:
            tokens = self._model.tokenize(aligned.text)
        spans = offsets_of(aligned, tokens, piece)
        return [(token.id, token.string, *span) for token, span in zip(tokens, spans, strict=True)]

    def _parts(self, text: str, treatment: Treatment) -> Iterator[tuple[list[str], TokenId | None]]:
        """Yield the pieces of each stretch, and each added token with its text."""
        added = self._added
        if added.may_be_in(text, normalized=False):
            cuts = added.cut(text, normalized=False, treatment=treatment)
        else:
            cuts = [Cut(0, len(text), None)]
        for start, stop, token in cuts:
            stretch = text[start:stop]
            if token is not None:
                yield [stretch], token
                continue
            changed = stretch if self._normalize is None else self._normalize(stretch)
            if not added.may_be_in(changed, normalized=True):
                if changed:
                    yield self._cut(changed, start == 0), None
                continue
            for first, last, inner in added.cut(changed, normalized=True, treatment=treatment):
                part = changed[first:last]
                if inner is not None:
                    yield [part], inner
                else:
                    yield self._cut(part, start == 0 and first == 0), None

    def _ids_of(self, pieces: list[str], draw: Draw | None) -> list[TokenId]:
        if self._remembers:
            return self._cache.encode(pieces)
        if self._uncut is not None:
            return self._uncut.ids(pieces[0]) if pieces else []  # it is in one piece
        return [token for piece in pieces for token in self._piece_ids(piece, draw)]

    def _piece_ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        if self._ids_of_text is not None:
            return self._ids_of_text(piece, draw)
        if self._finish is _unchanged:
            return self._model.ids(piece, draw)
        return [token for part in self._finish(piece) for token in self._model.ids(part, draw)]


def keeps_places(
    model: Model,
    added: AddedVocabulary,
    normalizer: Normalizer | None,
    pre_tokenizer: PreTokenizer | None,
) -> bool:
    """Return whether each character stands for itself if the pieces are as long as the text.

    >>> keeps_places(BPE({"a": 0}, []), AddedVocabulary([]), None, None)
    True
    """
    from bpe_ref.normalizers.nfc import PinnedNFC
    from bpe_ref.normalizers.normalization_forms import NFC

    return (
        (isinstance(model, ByteBPE) or (isinstance(model, BPE) and model.spells_alike))
        and not model.drops_merges
        and not any(token.lstrip or token.rstrip for token in added.tokens.values())
        and all(isinstance(step, NFC | PinnedNFC) for step in steps_of(normalizer))
        and all(isinstance(cut, Pattern | Split | ByteLevel) for cut in steps_of(pre_tokenizer))
        and _cutting(pre_tokenizer)[1] in (_in_letters, _unchanged)
    )


def reads_origins(normalizer: Normalizer | None, pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether cutting depends on where text comes from, in a way that text does not tell.

    >>> reads_origins(None, None)
    False
    """
    if getattr(normalizer, "may_insert_first", False):
        return True
    if pre_tokenizer is None:
        return False
    return needs_alignment(pre_tokenizer) or (normalizer is not None and reads_start(pre_tokenizer))


def writes_letters(normalizer: Normalizer | None, pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether a normalizer or a pre-tokenizer writes bytes as letters.

    >>> writes_letters(None, ByteLevel(add_prefix_space=False, trim_offsets=True))
    True
    """
    steps = steps_of(normalizer) + steps_of(pre_tokenizer)
    return any(getattr(step, "writes_letters", False) for step in steps)


def _cuts(pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether text is cut at all before the model gets it."""
    if isinstance(pre_tokenizer, Metaspace):
        return pre_tokenizer.split
    return pre_tokenizer is not None


def _cutting(pre_tokenizer: PreTokenizer | None) -> tuple[_Cut, _Finish, _Finish]:
    """Return how text is cut, what then becomes of each piece on its own, and its final pieces.

    What becomes of a piece are the strings that the model gets. Its final pieces are those strings
    before bytes are written as letters.
    """
    if pre_tokenizer is None:
        return _whole, _unchanged, _unchanged
    *before, last = steps_of(pre_tokenizer) or [pre_tokenizer]
    if not isinstance(last, ByteLevel):
        return pre_tokenizer.cut_text, _unchanged, _unchanged
    if not before:
        return lambda text, _: last.plain_pieces(text), _in_letters, _unchanged
    if not last.use_regex and not last.add_prefix_space:
        return Sequence(before).cut_text, _in_letters, _unchanged
    return Sequence(before).cut_text, last.cut_text, last.plain_pieces


def _whole(text: str, at_start: bool) -> list[str]:
    return [text]


def _unchanged(piece: str) -> list[str]:
    return [piece]


def _in_letters(piece: str) -> list[str]:
    return [to_letters(piece.encode())]
