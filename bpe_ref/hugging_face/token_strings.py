"""Tokens by name: what ids are called, and what a decoder gets to see of them.

Definition
    An added token's name is its content; it hides a token of the model with the
    same id. A decoder sees the names of tokens, special ones left out if so
    wished; an id that no token has is left out too.

Source: `TokenizerImpl::decode` and `AddedVocabulary` of Hugging Face
tokenizers 0.23.3.

Where profiles differ: `Profile.unknown_ids_dropped` and
`Profile.byte_level_maps_added_tokens`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from bpe_ref.added_tokens import AddedVocabulary
from bpe_ref.components import Decoder
from bpe_ref.decoders import ByteLevel, DecoderSequence
from bpe_ref.errors import TokenIdError
from bpe_ref.models.bpe import BPE
from bpe_ref.profile import HUGGING_FACE, Profile
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.merges import TokenId


class TokenStrings:
    """The names of all tokens, those of the model and the added ones.

    >>> model = BPE({"a": 0}, [])
    >>> strings = TokenStrings(model, AddedVocabulary([], model.vocab), None)
    >>> strings.token_of(0), strings.id_of("b")
    ('a', None)
    """

    def __init__(
        self,
        model: BPE,
        added: AddedVocabulary,
        decoder: Decoder | None,
        profile: Profile = HUGGING_FACE,
    ) -> None:
        """Take the components of a pipeline."""
        self._model: Final = model
        self._added: Final = added
        self._profile: Final = profile
        spelled = not profile.byte_level_maps_added_tokens and _reads_letters(decoder)
        self._spells_bytes: Final = spelled

    def id_of(self, token: str) -> TokenId | None:
        """Return the id of a token, or None."""
        return self._added.ids.get(token, self._model.vocab.get(token))

    def token_of(self, id_: TokenId) -> str | None:
        """Return the token with an id, or None. Raises `TokenIdError` for what is no id."""
        if not isinstance(id_, int) or isinstance(id_, bool):
            raise TokenIdError(f"an id must be an integer, got {id_!r:.80}")
        return self._added.strings.get(id_, self._model.strings.get(id_))

    def vocabulary(self, *, with_added_tokens: bool) -> Mapping[str, TokenId]:
        """Return all tokens with their ids."""
        return {**self._model.vocab, **(self._added.ids if with_added_tokens else {})}

    def size(self, *, with_added_tokens: bool) -> int:
        """Return the number of tokens."""
        vocab, added = self._model.vocab, self._added.ids if with_added_tokens else {}
        return len(vocab) + sum(token not in vocab for token in added)

    def decoded(self, ids: Iterable[TokenId], *, skip_special_tokens: bool) -> list[str]:
        """Return what the decoder gets to see of tokens.

        Bytes that a decoder reads as letters are written so where added tokens are to come out as
        they are. Raises `TokenIdError`.
        """
        added = self._added
        strings: list[str] = []
        for id_ in ids:
            string = self.token_of(id_)
            if string is None:
                if self._profile.unknown_ids_dropped:
                    continue
                raise TokenIdError(f"an id must be that of a token, got {id_!r:.80}")
            if skip_special_tokens and added.is_skipped(id_, string):
                continue
            if id_ in added.tokens and self._spells_bytes:
                string = to_letters(string.encode())
            strings.append(string)
        return strings


def _reads_letters(decoder: Decoder | None) -> bool:
    """Tell whether a decoder reads byte letters."""
    if isinstance(decoder, DecoderSequence):
        return any(map(_reads_letters, decoder.decoders))
    return isinstance(decoder, ByteLevel)
