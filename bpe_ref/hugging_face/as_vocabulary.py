"""The vocabulary inside a byte-level pipeline: its tokens as bytes, and its list of merges.

Only the merging is taken over, and whether a piece that is a token is taken
whole: not how text is normalized and cut. That is what an audit asks about.
"""

from bpe_ref.errors import VocabularyError
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair
from bpe_ref.vocabulary.byte_alphabet import from_letters


def vocabulary_of(pipeline: Pipeline) -> Vocabulary:
    """Return the vocabulary of a pipeline whose model spells bytes as letters.

    Added tokens are its special tokens. Raises `VocabularyError` for a model
    that does not spell bytes, or whose words have a prefix or suffix.

    >>> from bpe_ref.models.bpe import BPE
    >>> vocabulary_of(Pipeline(BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))).tokens[2]
    b' a'
    """
    model = pipeline.model
    if model.continuing_subword_prefix or model.end_of_word_suffix:
        raise VocabularyError(
            "a vocabulary of bytes must have tokens without prefix and suffix, "
            f"the model has {model.continuing_subword_prefix or model.end_of_word_suffix!r}"
        )
    added = pipeline.added.ids
    ids = {_bytes(token): id_ for token, id_ in model.vocab.items() if token not in added}
    merges = [(_bytes(left), _bytes(right)) for left, right in model.merges]
    text = TextRules(whole_piece=model.ignore_merges)
    return vocabulary_by_pair(ids, merges, text=text, special_tokens=added)


def _bytes(token: str) -> bytes:
    try:
        return from_letters(token)
    except KeyError:
        raise VocabularyError(
            "a vocabulary of bytes must have tokens in the letters of the byte-level alphabet, "
            f"got {token!r:.80}"
        ) from None
