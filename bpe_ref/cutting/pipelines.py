"""Tokenizers of other formats, as the functions of this package take them.

No safe cut is proven for them: a normalizer may prepend, strip or replace
anything anywhere, and a pre-tokenizer may be any sequence of patterns. So they
are counted from scratch (`by_definition`).

What must not be cut
    Every added token that is found in the text, special or not, with the white
    space that it strips; and in SentencePiece models every user-defined piece.
    They are found before anything else happens to the text.

What the source leaves open
    A pipeline may truncate and pad. Neither has a part in counting: a text that
    is truncated to 512 tokens does not have 512 tokens.
"""

from collections.abc import Sequence
from dataclasses import replace

from bpe_ref.cutting.surrogates import in_the_original
from bpe_ref.cutting.whole import Span, Whole, by_definition
from bpe_ref.errors import ParameterError
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer
from bpe_ref.tokenizer import without_surrogates


def whole_pipeline(pipeline: Pipeline) -> Whole:
    """Return the pipeline of a Hugging Face file.

    >>> from bpe_ref.hugging_face.added_tokens import AddedToken
    >>> from bpe_ref.hugging_face.model import BPE
    >>> whole = whole_pipeline(Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]))
    >>> whole.count("a<s>"), whole.unbreakable("a<s>")
    (2, [(1, 4)])
    """
    if not isinstance(pipeline, Pipeline):
        raise ParameterError("pipeline", pipeline, "must be a Pipeline")
    bare = replace(pipeline, truncation=None, padding=None)

    def count(text: str) -> int:
        return len(bare.ids(text, add_special_tokens=False))

    def added_tokens(text: str) -> Sequence[Span]:
        pieces = bare.pieces(without_surrogates(text))
        spans = [(piece.start, piece.end) for piece, token in pieces if token is not None]
        return in_the_original(text, spans)

    return by_definition(count, added_tokens)


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

    return by_definition(tokenizer.count, user_defined)
