"""Tokenizers of other formats, as the functions of this package take them.

Most pipelines of Hugging Face files are of a kind whose safe cuts are known:
see `pieces_of_files` and `letters_of_files`; the proofs are in `by_pieces` and
`by_letters`. (A template that repeats or omits the text makes it unknown.) Nothing is
proven for the others: a normalizer may strip or replace anything anywhere, and
a pre-tokenizer may be any sequence of patterns. They are counted from scratch
(`by_definition`), and so are SentencePiece models, but no further than the most
characters that a token stands for allow, where that is known (see `longest`).

What must not be cut
    Every added token that is found in the text, special or not, with the white
    space that it strips; and in SentencePiece models every user-defined piece.
    They are found before anything else happens to the text.

What the source leaves open
    A pipeline may truncate and pad. Neither has a part in counting: a text that
    is truncated to 512 tokens does not have 512 tokens.
"""

from collections.abc import Callable, Sequence

from bpe_ref.added_tokens import Recognised
from bpe_ref.cutting.added_text import added_spans
from bpe_ref.cutting.letters_of_files import by_letters
from bpe_ref.cutting.longest import longest_of
from bpe_ref.cutting.pieces_of_files import by_pieces
from bpe_ref.cutting.reference import of_bytes
from bpe_ref.cutting.surrogates import in_the_original
from bpe_ref.cutting.whole import Components, Span, Whole, by_definition
from bpe_ref.given_text import without_surrogates
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.sentencepiece import SentencePieceModel
from bpe_ref.pieces import encode_pieces, pieces_of


def whole_of(tokenizer: Components, special: Recognised = "recognise") -> Whole:
    """Return a tokenizer as counting and cutting see it.

    It must neither truncate nor pad; its template is not looked at.

    >>> from bpe_ref.added_tokens import AddedToken, AddedTokens
    >>> from bpe_ref.models.bpe import BPE
    >>> from bpe_ref.tokenizer import Tokenizer
    >>> added = AddedTokens([AddedToken("<s>")])
    >>> whole = whole_of(Tokenizer(BPE({"a": 0}, []), added_tokens=added))
    >>> whole.count("a<s>"), whole.unbreakable("a<s>")
    (2, [(1, 4)])
    """
    model = tokenizer.model
    known: Whole | None = None
    if isinstance(model, ByteBPE):
        known = of_bytes(tokenizer, model, special)
    if known is None:
        known = by_pieces(tokenizer, special) or by_letters(tokenizer, special)
    if known is not None:
        return known
    if isinstance(model, SentencePieceModel):
        longest = _longest_piece(model)
    else:
        longest = longest_of(tokenizer)
    return by_definition(count_in(tokenizer, special), spans_in(tokenizer, special), longest)


def count_in(tokenizer: Components, special: Recognised) -> Callable[[str], int]:
    """Return what counts the tokens of a text from scratch."""
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False, special=special))


def spans_in(tokenizer: Components, special: Recognised) -> Callable[[str], Sequence[Span]]:
    """Return what finds the parts of a text that must not be cut."""
    treatment = tokenizer.treatment(special)

    def spans(text: str) -> Sequence[Span]:
        joined = without_surrogates(text)
        found = added_spans(tokenizer, joined, treatment)
        model = tokenizer.model
        if isinstance(model, SentencePieceModel):
            pieces = pieces_of(joined, tokenizer.added, tokenizer.normalizer, None, treatment)
            encoding = encode_pieces(model, pieces, joined, 0)
            tokens = zip(encoding.tokens, encoding.offsets, strict=True)
            frozen = model.user_defined.pieces
            found = sorted([*found, *(span for token, span in tokens if token in frozen)])
        return in_the_original(text, found)

    return spans


def _longest_piece(model: SentencePieceModel) -> int | None:
    """Return the most characters that a token stands for.

    Every character becomes a symbol or its bytes, if the map and the removal of spaces make none
    vanish, and if unknown ones are not joined to one token. A token spells its symbols.
    """
    rules = model.normalization
    if rules.charsmap is not None or rules.remove_extra_whitespaces or not model.byte_fallback:
        return None
    return max(len(piece.text) for piece in model.pieces)
