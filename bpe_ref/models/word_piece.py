"""The WordPiece model: a word to the longest tokens that fit, from the left.

Definition
    The first token of a word is the longest one that the word begins with. Each further token
    is the longest one that is `continuing_subword_prefix` and then the beginning of what is left
    of the word. If there is no such token, the whole word is the unknown token; and so is a
    word of more than `max_input_chars_per_word` characters.

Source: `WordPiece` of Hugging Face tokenizers 0.23.3 (tokenizers/src/models/wordpiece/mod.rs),
after `WordpieceTokenizer` of google-research/bert.

What the source leaves open
    *An empty word* has no token.
    *The unknown token itself is missing*: an error, but only when it is needed.
    *Two tokens with one id*: the engine lets the order of a hash table decide what the id means.
    Here it is an error.
    *A word that is spelled like a token with the prefix*, such as `##s`, is that token.
    *The length* is in characters (code points), not in bytes. It is compared before anything
    is looked up, so that a long word is unknown even if it is a token.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from bpe_ref.components import Draw, Token, WithoutMerges
from bpe_ref.models.word_level import checked_strings, unknown_token
from bpe_ref.vocabulary.longest_matches import Searcher, searcher_of
from bpe_ref.vocabulary.merges import TokenId


@dataclass(frozen=True, eq=False, repr=False)
class WordPiece(WithoutMerges):
    """The model of a tokenizer, as its file describes it.

    Attributes:
        vocab: from token to id.
        unk_token: what stands for a word that cannot be divided.
        continuing_subword_prefix: what a token that is not the first of its word begins with.
        max_input_chars_per_word: the most characters of a word that is divided.

    Raises `VocabularyError` for ids that two tokens have or that do not fit in 32 bits.

    >>> model = WordPiece({"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "u": 4})
    >>> model.ids("unaffable"), model.ids("unaffablest")
    ([1, 2, 3], [0])
    >>> model.tokenize("unaffable")[1]
    Token(id=2, string='##aff', start=2, end=5)

    """

    vocab: Mapping[str, TokenId] = field(repr=False)
    unk_token: str = "[UNK]"  # noqa: S105 -- not a password
    continuing_subword_prefix: str = "##"
    max_input_chars_per_word: int = 100

    def __post_init__(self) -> None:
        """Build the tables, so that what is wrong is found at once."""
        _ = self.strings, self._first, self._inner

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to token."""
        return checked_strings(self.vocab)

    @cached_property
    def _first(self) -> Searcher:
        return searcher_of([token for token in self.vocab if token])

    @cached_property
    def _inner(self) -> Searcher:
        """What finds the tokens that continue a word, without their prefix."""
        prefix = self.continuing_subword_prefix
        inner = (token.removeprefix(prefix) for token in self.vocab if token.startswith(prefix))
        return searcher_of([token for token in inner if token])

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a word, and the bytes of the word that each covers.

        Raises `SymbolError` if the unknown token is needed and there is none.
        """
        if len(piece) > self.max_input_chars_per_word:
            return self._unknown(piece)
        tokens: list[Token] = []
        for token in self._divided(piece):
            if token is None:
                return self._unknown(piece)
            tokens.append(token)
        return tokens

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids found so far after each token, and those of the word at the end.

        >>> WordPiece({"[UNK]": 0, "a": 1, "##b": 2}).steps("abc")
        [[1], [1, 2], [0]]
        """
        ids = self.ids(piece)
        if len(piece) > self.max_input_chars_per_word:
            return [ids]
        found = [token.id for token in self._divided(piece) if token is not None]
        steps = [found[: count + 1] for count in range(len(found))]
        return steps if steps and steps[-1] == ids else [*steps, ids]

    def _divided(self, piece: str) -> Iterator[Token | None]:
        """Yield the tokens of a word, and None where there is no further one."""
        matches = self._first.matches(piece)
        inner = self._inner.matches(piece)
        start = at_byte = 0
        while start < len(piece):
            lengths = (inner if start else matches).lengths_at(start)
            if not lengths:
                yield None
                return
            text = piece[start : start + lengths[0]]
            string = f"{self.continuing_subword_prefix}{text}" if start else text
            end = at_byte + len(text.encode())
            yield Token(self.vocab[string], string, at_byte, end)
            start, at_byte = start + len(text), end

    def _unknown(self, piece: str) -> list[Token]:
        return [unknown_token(self.vocab, self.unk_token, piece)]
