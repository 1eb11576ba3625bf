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
from dataclasses import replace

from bpe_ref.cutting.added_text import added_spans, repeats_nothing
from bpe_ref.cutting.letters_of_files import by_letters
from bpe_ref.cutting.longest import longest_of
from bpe_ref.cutting.pieces_of_files import by_pieces
from bpe_ref.cutting.surrogates import in_the_original
from bpe_ref.cutting.whole import Span, Whole, by_definition
from bpe_ref.errors import ParameterError
from bpe_ref.given_text import without_surrogates
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.sentencepiece.model import SentencePieceModel
from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer


def whole_pipeline(pipeline: Pipeline) -> Whole:
    """Return the pipeline of a Hugging Face file.

    >>> from bpe_ref.added_tokens import AddedToken
    >>> from bpe_ref.models.bpe import BPE
    >>> whole = whole_pipeline(Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]))
    >>> whole.count("a<s>"), whole.unbreakable("a<s>")
    (2, [(1, 4)])
    """
    if not isinstance(pipeline, Pipeline):
        raise ParameterError("pipeline", pipeline, "must be a Pipeline")
    bare = replace(pipeline, truncation=None, padding=None)

    if not repeats_nothing(bare):
        return by_definition(count_in(bare), spans_in(bare))
    return (
        by_pieces(bare)
        or by_letters(bare)
        or by_definition(count_in(bare), spans_in(bare), longest_of(bare))
    )


def count_in(pipeline: Pipeline) -> Callable[[str], int]:
    """Return what counts the tokens of a text from scratch.

    >>> from bpe_ref.models.bpe import BPE
    >>> count_in(Pipeline(BPE({"a": 0}, [])))("aa")
    2
    """
    return lambda text: len(pipeline.ids(text, add_special_tokens=False))


def spans_in(pipeline: Pipeline) -> Callable[[str], Sequence[Span]]:
    r"""Return what finds the added tokens of a text, and the surrogate pairs.

    >>> from bpe_ref.models.bpe import BPE
    >>> spans_in(Pipeline(BPE({"a": 0}, [])))("\ud83d\ude00")
    [(0, 2)]
    """
    return lambda text: in_the_original(text, added_spans(pipeline, without_surrogates(text)))


def whole_sentencepiece(tokenizer: SentencePieceTokenizer) -> Whole:
    """Return the tokenizer of a SentencePiece model.

    >>> from bpe_ref.sentencepiece.model import Piece, SentencePieceModel
    >>> pieces = [Piece("<unk>", kind="unknown"), Piece("▁"), Piece("ab", kind="user-defined")]
    >>> whole = whole_sentencepiece(SentencePieceTokenizer(SentencePieceModel(pieces)))
    >>> whole.count("ab"), whole.unbreakable("ab")
    (2, [(0, 2)])
    """
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise ParameterError("tokenizer", tokenizer, "must be a SentencePieceTokenizer")
    frozen = tokenizer.model.frozen

    def user_defined(text: str) -> Sequence[Span]:
        found = tokenizer.encode_with_offsets(text)
        spans = [(entry.start, entry.end) for entry in found if entry.piece in frozen]
        return in_the_original(text, spans)

    return by_definition(tokenizer.count, user_defined, _longest_piece(tokenizer.model))


def _longest_piece(model: SentencePieceModel) -> int | None:
    """Return the most characters that a token stands for.

    Every character becomes a symbol or its bytes, if the map and the removal of spaces make none
    vanish, and if unknown ones are not joined to one token. A token spells its symbols.
    """
    rules = model.normalization
    if rules.charsmap is not None or rules.remove_extra_whitespaces or not model.byte_fallback:
        return None
    return max(len(piece.text) for piece in model.pieces)
