"""A tokenizer of a vocabulary of bytes, as counting and cutting see it.

What is sure about it is in `by_pieces`: special tokens are cut out, the rest is
normalized and cut by a pattern, or one piece without, and bytes merge.
"""

from collections.abc import Sequence

from bpe_ref.added_tokens import Recognised
from bpe_ref.cutting.borders import border_rule
from bpe_ref.cutting.by_pieces import CountedByPieces, Pieces, SpecialTokens
from bpe_ref.cutting.whole import Components, Span, Whole
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.normalizers.nfc import PinnedNFC
from bpe_ref.pre_tokenizers.pattern import Pattern


def of_bytes(
    tokenizer: Components, model: ByteBPE, special: Recognised = "recognise"
) -> Whole | None:
    """Return what is known of such a tokenizer; None with components that such a one has not.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1}, special_tokens={"<ab>": 9})
    >>> whole = of_bytes(tokenizer_of(vocabulary), ByteBPE(vocabulary))
    >>> whole.count("a<ab>b"), whole.unbreakable("a<ab>b"), whole.is_safe_cut("", "a", "b")
    (3, [(1, 5)], False)
    """
    pattern, normalizer = tokenizer.pre_tokenizer, tokenizer.normalizer
    tokens = tokenizer.added.tokens.values()
    if not isinstance(pattern, Pattern | None) or not isinstance(normalizer, PinnedNFC | None):
        return None
    if any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return None
    vocabulary, treatment = model.vocabulary, tokenizer.treatment(special)
    specials = frozenset(tokenizer.added.ids) - treatment.ordinary
    normalized = normalizer is not None
    rule = (
        None
        if pattern is None
        else border_rule(pattern.pattern, pattern.tables, normalized=normalized)
    )
    bounded = (pattern is None or rule is not None) and not normalized
    sizes = [*map(len, vocabulary.tokens.values()), *map(len, specials)]

    def cut(text: str) -> list[str]:
        text = text if normalizer is None else normalizer.normalize_text(text)
        if pattern is None:
            return [text] if text else []
        return pattern.cut_text(text)

    def special_spans(text: str) -> Sequence[Span]:
        cuts = tokenizer.added.cut(text, normalized=False, treatment=treatment)
        return [(start, stop) for start, stop, token in cuts if token is not None]

    pieces = Pieces(
        cut=cut,
        count=lambda piece: len(model.ids(piece)),
        rule=rule,
        patterned=pattern is not None,
        normalized=normalized,
        vocabulary=vocabulary,
    )
    special_tokens = SpecialTokens(specials, special_spans)
    longest = max(sizes, default=1) if bounded else None
    return CountedByPieces(
        lambda text: len(tokenizer.encode(text, add_special_tokens=False, special=special)),
        special_tokens,
        special_tokens.pairs(),
        pieces,
        longest,
    )
