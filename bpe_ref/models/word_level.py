"""The WordLevel model: a word is a token, or it is unknown.

Definition
    A word that is in the vocabulary is that token. Any other word is the unknown token.

Source: `WordLevel` of Hugging Face tokenizers 0.23.3
(tokenizers/src/models/wordlevel/mod.rs).

What the source leaves open
    *The unknown token itself is missing*: an error, but only when it is needed.
    *Two tokens with one id*: the engine lets the order of a hash table decide what the id means.
    Here it is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from bpe_ref.components import Draw, Token, WithoutMerges
from bpe_ref.errors import SymbolError, VocabularyError
from bpe_ref.vocabulary.merges import ID_LIMIT, TokenId


def checked_strings(vocab: Mapping[str, TokenId]) -> Mapping[TokenId, str]:
    """Return the token of each id. Raises `VocabularyError` for ids that cannot be used.

    >>> checked_strings({"a": 1})
    {1: 'a'}
    """
    if vocab and not 0 <= min(vocab.values()) <= max(vocab.values()) < ID_LIMIT:
        raise VocabularyError(
            f"vocab must hold ids from 0 to {ID_LIMIT - 1}, "
            f"got {min(vocab.values())} to {max(vocab.values())}"
        )
    strings = {id_: token for token, id_ in vocab.items()}
    if len(strings) < len(vocab):
        token = next(token for token, id_ in vocab.items() if strings[id_] != token)
        raise VocabularyError(
            f"vocab must give each id to one token, but {vocab[token]} "
            f"to both {token!r:.80} and {strings[vocab[token]]!r:.80}"
        )
    return strings


def unknown_token(vocab: Mapping[str, TokenId], unk_token: str, word: str) -> Token:
    """Return the unknown token for a word. Raises `SymbolError` if there is none.

    >>> unknown_token({"?": 3}, "?", "é")
    Token(id=3, string='?', start=0, end=2)
    """
    token = vocab.get(unk_token)
    if token is None:
        raise SymbolError(
            f"unk_token must be in the vocabulary to stand for {word!r:.80}, got {unk_token!r:.80}"
        )
    return Token(token, unk_token, 0, len(word.encode()))


@dataclass(frozen=True, eq=False, repr=False)
class WordLevel(WithoutMerges):
    """The model of a tokenizer, as its file describes it.

    Attributes:
        vocab: from token to id.
        unk_token: what stands for a word that is no token.

    Raises `VocabularyError` for ids that two tokens have or that do not fit in 32 bits.

    >>> model = WordLevel({"<unk>": 0, "a": 1})
    >>> model.ids("a"), model.ids("b"), model.tokenize("b")
    ([1], [0], [Token(id=0, string='<unk>', start=0, end=1)])

    """

    vocab: Mapping[str, TokenId] = field(repr=False)
    unk_token: str = "<unk>"  # noqa: S105 -- not a password

    def __post_init__(self) -> None:
        """Build the table, so that what is wrong is found at once."""
        _ = self.strings

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to token."""
        return checked_strings(self.vocab)

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the token of a word, and the bytes that it covers: all of them.

        Raises `SymbolError` if the unknown token is needed and there is none.
        """
        token = self.vocab.get(piece)
        if token is None:
            return [unknown_token(self.vocab, self.unk_token, piece)]
        return [Token(token, piece, 0, len(piece.encode()))]
