"""The added tokens of a pipeline, as counting and cutting ask for them."""

from collections.abc import Sequence

from bpe_ref.added_tokens import Treatment
from bpe_ref.aligned_text import AlignedText
from bpe_ref.cutting.whole import Components, Span
from bpe_ref.pieces import pieces_of


def added_spans(tokenizer: Components, text: str, treatment: Treatment) -> Sequence[Span]:
    """Return where the added tokens are in a text without surrogates, with what they strip.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> from bpe_ref.added_tokens import RECOGNISE_ALL, AddedToken, AddedTokens
    >>> from bpe_ref.models.bpe import BPE
    >>> tokenizer = Tokenizer(BPE({"a": 0}, []), added_tokens=AddedTokens([AddedToken("<s>")]))
    >>> added_spans(tokenizer, "a<s>", RECOGNISE_ALL)
    [(1, 4)]
    """
    added, normalizer = tokenizer.added, tokenizer.normalizer
    if normalizer is not None and added.has(normalized=True):
        pieces = pieces_of(text, added, normalizer, tokenizer.pre_tokenizer, treatment)
        return [(piece.start, piece.end) for piece, token in pieces if token is not None]
    spans: list[Span] = []
    for start, stop, token in added.cut(text, normalized=False, treatment=treatment):
        if token is not None:
            spans.append((start, stop))
            continue
        inner = added.cut(text[start:stop], normalized=True, treatment=treatment)
        spans += [(start + cut.start, start + cut.stop) for cut in inner if cut.token is not None]
    return spans


def written_tokens(tokenizer: Components) -> dict[str, bool]:
    """Return the added tokens as they are and as normalized, and which strip what follows.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> from bpe_ref.added_tokens import AddedToken, AddedTokens
    >>> from bpe_ref.models.bpe import BPE
    >>> added = AddedTokens([AddedToken("<s>", rstrip=True)])
    >>> written_tokens(Tokenizer(BPE({"a": 0}, []), added_tokens=added))
    {'<s>': True}
    """
    normalizer = tokenizer.normalizer
    found: dict[str, bool] = {}
    for token in tokenizer.added.tokens.values():
        texts = {token.content}
        if token.normalized and normalizer is not None:
            texts.add(normalizer.normalize(AlignedText.of(token.content)).text)
        for text in texts:
            found[text] = found.get(text, False) or token.rstrip
    return found
