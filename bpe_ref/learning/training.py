"""Learn a vocabulary from text: what `learning` says, from an iterable of texts.

Texts are cut into pieces as encoding cuts them, and read one at a time; what
is kept is how often each piece occurs.

Special tokens
    do not count towards `size`; their ids follow the last token that was
    learned. In the texts they are ordinary text.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from bpe_ref.errors import ParameterError
from bpe_ref.learning import BYTES
from bpe_ref.learning.incremental import learn_incrementally
from bpe_ref.tokenizer import tokenizer_of
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation
from bpe_ref.vocabulary.merges import ID_LIMIT


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is: reported after every text read and every token learned.

    >>> TrainingProgress(texts=1, pieces=40, tokens=256, size=300, count=0).tokens
    256
    """

    texts: int
    """How many texts have been read."""

    pieces: int
    """How many different pieces they hold."""

    tokens: int
    """How many tokens there are, without special ones; 256 while texts are being read."""

    size: int
    """How many are wanted."""

    count: int
    """How often the last pair that was merged occurred; 0 before the first."""


def train(
    texts: Iterable[str],
    size: int,
    *,
    text_rules: TextRules | None = None,
    special_tokens: Sequence[str] = (),
    max_token_length: int | None = None,
    min_count: int = 2,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> Vocabulary:
    """Learn a vocabulary of `size` tokens, whose pairs merge by concatenation.

    Ids are ranks: first the 256 bytes, then what was learned, in that order.
    `max_token_length` is in bytes. Texts are read one at a time, and only the
    different pieces and their counts are kept. To stop early, let `progress`
    raise. Raises `ParameterError`, and `PatternError` for a bad pattern.

    >>> vocabulary = train(["aaabdaaabac"], 259)
    >>> [vocabulary.tokens[token] for token in range(256, 259)]
    [b'aa', b'ab', b'aaab']
    """
    _check(size, special_tokens, max_token_length, min_count)
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise ParameterError("texts", type(texts), "must be several texts, not one")
    if text_rules is not None and not isinstance(text_rules, TextRules):
        raise ParameterError("text_rules", text_rules, "must be TextRules or None")
    if progress is not None and not callable(progress):
        raise ParameterError("progress", progress, "must be a function or None")
    tokens = [bytes([byte]) for byte in range(BYTES)]
    untrained = _vocabulary(tokens, text_rules, special_tokens)

    # cut by the tokenizer itself, so that training sees the pieces that encoding will see
    cut = partial(tokenizer_of(untrained).pieces, special="ordinary")
    read = 0
    pieces: Counter[bytes] = Counter()
    for text in texts:
        pieces.update(piece.encode() for piece in cut(text))
        read += 1
        if progress is not None:
            progress(TrainingProgress(read, len(pieces), BYTES, size, 0))

    learning = learn_incrementally(pieces, max_token_length=max_token_length, min_count=min_count)
    for left, right, count in islice(learning, size - BYTES):
        tokens.append(tokens[left] + tokens[right])
        if progress is not None:
            progress(TrainingProgress(read, len(pieces), len(tokens), size, count))

    return _vocabulary(tokens, text_rules, special_tokens)


def _vocabulary(
    tokens: Sequence[bytes], text_rules: TextRules | None, special_tokens: Sequence[str]
) -> Vocabulary:
    """Return the vocabulary of these tokens, ids in order, special tokens last."""
    return vocabulary_by_concatenation(
        {content: rank for rank, content in enumerate(tokens)},
        text=text_rules,
        special_tokens={text: token for token, text in enumerate(special_tokens, len(tokens))},
    )


def _check(
    size: int, special_tokens: Sequence[str], max_token_length: int | None, min_count: int
) -> None:
    if type(size) is not int or not BYTES <= size <= ID_LIMIT:
        raise ParameterError("size", size, f"must be a whole number from {BYTES} to {ID_LIMIT}")
    if type(min_count) is not int or min_count < 1:
        raise ParameterError("min_count", min_count, "must be a whole number from 1")
    if max_token_length is not None and (type(max_token_length) is not int or max_token_length < 1):
        raise ParameterError(
            "max_token_length", max_token_length, "must be a whole number from 1, or None"
        )
    if (
        isinstance(special_tokens, str)
        or not isinstance(special_tokens, Collection)
        or not all(isinstance(text, str) and text for text in special_tokens)
    ):
        raise ParameterError("special_tokens", special_tokens, "must be texts that are not empty")
    if len(set(special_tokens)) < len(special_tokens):
        raise ParameterError("special_tokens", special_tokens, "must be different texts")
