"""What a piece consists of before anything merges: one symbol per character.

Definition
    Steps 1 and 2 of the model (see `models.bpe`): each character is looked up, with
    the prefix or the suffix that its place asks for. What is missing becomes
    bytes, or the unknown token.

Source, and what it leaves open: see `models.bpe`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from bpe_ref.errors import SymbolError
from bpe_ref.models.merging import Symbol
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary.merges import Pair, TokenId


@dataclass(frozen=True, eq=False)
class Speller:
    """Spells pieces with the tokens of characters; the fields are those of the model.

    >>> Speller({"a": 0, "<unk>": 1}, unk_token="<unk>").symbols("ab")
    [(0, 1), (1, 1)]
    """

    vocab: Mapping[str, TokenId]
    unk_token: str | None = None
    prefix: str = ""
    suffix: str = ""
    fuse_unk: bool = False
    byte_fallback: bool = False
    quirks: Quirks = field(default=HUGGING_FACE, repr=False)

    def symbols(self, piece: str) -> list[Symbol]:
        """Return the symbols, each with the number of bytes that it covers.

        Raises `SymbolError` for a character that no token can stand for.

        >>> vocab = {"<unk>": 0, "<0x61>": 1}
        >>> Speller(vocab, unk_token="<unk>", byte_fallback=True).symbols("ba")
        [(1, 1), (0, 1)]
        """
        vocab = self.vocab
        late = self.quirks.unknown_after_bytes
        symbols: list[Symbol] = []
        unknown: list[Symbol] = []  # at most one, which may yet grow
        for place, character in enumerate(piece):
            text = self.prefix + character if place else character
            if place == len(piece) - 1:
                text += self.suffix
            if text in vocab:
                symbols += [*unknown, (vocab[text], len(character.encode()))]
                unknown = []
            elif (spelled := self._bytes_of(text)) is not None:
                if unknown and not late:
                    symbols += unknown
                    unknown = []
                symbols += spelled
            else:
                unknown = self._unknown(unknown, character, symbols)
        return symbols + unknown

    def always_falls_back(self, merging: Iterable[Pair]) -> bool:
        """Return whether every missing character becomes bytes, none of them in a merging pair.

        >>> Speller({"a": 0}, byte_fallback=True).always_falls_back([])
        False
        """
        of_bytes = set(self.byte_tokens)
        if not self.byte_fallback or None in of_bytes:
            return False
        return of_bytes.isdisjoint(chain.from_iterable(merging))

    @cached_property
    def byte_tokens(self) -> Sequence[TokenId | None]:
        """The token of each byte."""
        return [self.vocab.get(f"<0x{byte:02X}>") for byte in range(256)]

    def _bytes_of(self, text: str) -> list[Symbol] | None:
        """Return the tokens of the bytes of a text that is no token, if there are all of them."""
        if not self.byte_fallback:
            return None
        tokens = [self.byte_tokens[byte] for byte in text.encode()]
        found = [(token, 1) for token in tokens if token is not None]
        return found if len(found) == len(tokens) else None

    def _unknown(
        self, unknown: list[Symbol], character: str, symbols: list[Symbol]
    ) -> list[Symbol]:
        """Return the unknown token still to be added; one that cannot grow goes to `symbols`."""
        if self.unk_token is None:
            if self.quirks.missing_characters_dropped:
                return unknown
            raise SymbolError(
                f"a text must be made of characters of the vocabulary, got {character!r}, "
                "and there is no unknown token"
            )
        if self.unk_token not in self.vocab:
            raise SymbolError(
                f"unk_token must be in the vocabulary to stand for {character!r}, "
                f"got {self.unk_token!r:.80}"
            )
        length = len(character.encode())
        if unknown and self.fuse_unk:
            return [(unknown[0][0], unknown[0][1] + length)]
        symbols += unknown
        return [(self.vocab[self.unk_token], length)]
