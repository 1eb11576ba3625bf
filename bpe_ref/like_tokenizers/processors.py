"""The post-processors under the names, and with the defaults, of `tokenizers.processors`."""
# ruff: noqa: N802 -- the library's names and shapes

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Row
from typing import Any

from bpe_ref import post_processors as definition
from bpe_ref.errors import VocabularyError
from bpe_ref.post_processors.templates import Piece, SequencePiece, SpecialToken, parse_template

BertProcessing = definition.BertProcessing
RobertaProcessing = definition.RobertaProcessing


def ByteLevel(
    add_prefix_space: bool | None = None,
    trim_offsets: bool | None = None,
    use_regex: bool | None = None,
) -> definition.ByteLevel:
    """Return the post-processor that trims offsets; what is None is true."""
    return definition.ByteLevel(
        *(True if flag is None else flag for flag in (add_prefix_space, trim_offsets, use_regex))
    )


def Sequence(processors: Iterable[definition.PostProcessor]) -> definition.PostProcessorSequence:
    """Return one post-processor after the other."""
    return definition.PostProcessorSequence(tuple(processors))


def TemplateProcessing(
    single: str | Row[str] | None = None,
    pair: str | Row[str] | None = None,
    special_tokens: Iterable[tuple[str, int] | tuple[int, str] | Mapping[str, Any]] | None = None,
) -> definition.TemplateProcessing:
    """Return a template's post-processor.

    Raises `VocabularyError` for a piece that the table lacks, and a pair without one of its texts.

    >>> TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 1)]).added_tokens(is_pair=False)
    1
    """
    table = {token.id: token for token in map(_special_token, special_tokens or ())}
    template = definition.TemplateProcessing(
        parse_template("$A" if single is None else single),
        parse_template("$A:0 $B:1" if pair is None else pair),
        table,
    )
    if {piece.id for piece in template.pair if isinstance(piece, SequencePiece)} != {"A", "B"}:
        raise VocabularyError(f"a template for a pair must use both sequences, got {pair!r}")
    pieces: tuple[Piece, ...] = (*template.single, *template.pair)
    names = {piece.id for piece in pieces if not isinstance(piece, SequencePiece)}
    if not names <= table.keys():
        raise VocabularyError(
            f"a template must use special tokens of its own table, got {sorted(names - {*table})}"
        )
    return template


def _special_token(token: object) -> SpecialToken:
    """Return an entry of the table, from any of the forms that it may have."""
    match token:
        case {"id": str(name), "ids": ids, "tokens": tokens}:
            return SpecialToken(name, tuple(ids), tuple(tokens))
        case (str(name), int(number)) | (int(number), str(name)):
            return SpecialToken(name, (number,), (name,))
    raise VocabularyError(
        f"a template's special token must be a string and an id, or a dict, got {token!r}"
    )
