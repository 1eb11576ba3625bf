"""A language model that needs no GPU: an n-gram model of the text of the embedded vocabulary.

It needs no package besides the references, so that it also runs in a browser.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from bpe_ref import TokenId, Tokenizer, load
from sampling_ref.generation.ngrams import NgramModel
from sampling_ref.numbers.softmax import softmax

ORDER: Final = 4
"""The model sees three tokens."""

DRAFT_ORDER: Final = 2
"""The worse model, which drafts for it, sees one."""


@cache
def tokenizer() -> Tokenizer:
    """Return the embedded tokenizer, whose tokens the model knows."""
    return load("tiny")


@cache
def training_text() -> tuple[int, tuple[TokenId, ...]]:
    """Return the size of the embedded vocabulary, and the tokens of the text it was trained on."""
    corpus = files("bpe_ref.data").joinpath("tiny_corpus.txt").read_text(encoding="utf-8")
    return len(tokenizer().vocab), tuple(tokenizer().encode(corpus))


@cache
def model(order: int = ORDER) -> NgramModel:
    """Return the model, or a worse one of a lower order.

    >>> tokens, _ = model().likeliest(tokenizer().encode(", the"), 1)
    >>> tokenizer().decode(tokens)
    ' tokens'
    """
    size, text = training_text()
    return NgramModel(text, size, order)


def probabilities(order: int, tokens: Sequence[TokenId]) -> list[float]:
    """Return the probabilities of the next token after some tokens.

    >>> row = probabilities(DRAFT_ORDER, [44])
    >>> len(row), round(sum(row), 9)
    (2004, 1.0)
    """
    return softmax(model(order).row(tokens))
