"""Recognize a registered vocabulary by its content, for engines that have only their own."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256

from bpe_ref import Vocabulary
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.merges import ByConcatenation


def which(vocabulary: Vocabulary, names: Iterable[str]) -> str | None:
    """Return which of the registered vocabularies this one is, special tokens aside.

    Pattern, tables and normalization must be the registered ones, and the
    tokens, written in the tiktoken format, must have the registered sha256. So
    no file is needed. Whether a piece that is a token is taken whole does not
    matter: in these vocabularies each token is what its own bytes encode to.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> which(vocabulary_by_concatenation({b"a": 0}), REGISTRY) is None
    True
    """
    rule, text = vocabulary.rule, vocabulary.text
    if not isinstance(rule, ByConcatenation):
        return None
    for name in names:
        entry = REGISTRY[name]
        if (
            len(vocabulary.tokens) == entry.token_count
            and (text.pattern, text.tables) == (entry.pattern, entry.tables)
            and text.normalization == entry.normalization
            and all(rule.ranks[token] == token for token in vocabulary.tokens)
            and _file_sha256(vocabulary) == entry.sha256
        ):
            return name
    return None


def _file_sha256(vocabulary: Vocabulary) -> str:
    hasher = sha256()
    for token in sorted(vocabulary.tokens):
        hasher.update(b"%b %d\n" % (b64encode(vocabulary.tokens[token]), token))
    return hasher.hexdigest()
