"""The added tokens of a pipeline, as counting and cutting ask for them."""

from collections.abc import Sequence

from bpe_ref.aligned_text import AlignedText
from bpe_ref.cutting.whole import Span
from bpe_ref.encoding import Encoding
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.post_processors import process


def repeats_nothing(pipeline: Pipeline) -> bool:
    """Return whether the template, without its special tokens, is the text.

    >>> from bpe_ref.models.bpe import BPE
    >>> repeats_nothing(Pipeline(BPE({"a": 0}, [])))
    True
    """
    one = Encoding.of([(0, "", (0, 0), 0)])
    return len(process(pipeline.post_processor, one, add_special_tokens=False).ids) == 1


def added_spans(pipeline: Pipeline, text: str) -> Sequence[Span]:
    """Return where the added tokens are in a text without surrogates, with what they strip.

    >>> from bpe_ref.added_tokens import AddedToken
    >>> from bpe_ref.models.bpe import BPE
    >>> added_spans(Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]), "a<s>")
    [(1, 4)]
    """
    added, as_text = pipeline.added, pipeline.encode_special_tokens
    if pipeline.normalizer is not None and added.has(normalized=True):
        pieces = pipeline.pieces(text)
        return [(piece.start, piece.end) for piece, token in pieces if token is not None]
    spans: list[Span] = []
    for start, stop, token in added.cut(text, normalized=False, special_as_text=as_text):
        if token is not None:
            spans.append((start, stop))
            continue
        inner = added.cut(text[start:stop], normalized=True, special_as_text=as_text)
        spans += [(start + cut.start, start + cut.stop) for cut in inner if cut.token is not None]
    return spans


def written_tokens(pipeline: Pipeline) -> dict[str, bool]:
    """Return the added tokens as they are and as normalized, and which strip what follows.

    >>> from bpe_ref.added_tokens import AddedToken
    >>> from bpe_ref.models.bpe import BPE
    >>> written_tokens(Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>", rstrip=True)]))
    {'<s>': True}
    """
    normalizer = pipeline.normalizer
    found: dict[str, bool] = {}
    for token in pipeline.added.tokens.values():
        texts = {token.content}
        if token.normalized and normalizer is not None:
            texts.add(normalizer.normalize(AlignedText.of(token.content)).text)
        for text in texts:
            found[text] = found.get(text, False) or token.rstrip
    return found
