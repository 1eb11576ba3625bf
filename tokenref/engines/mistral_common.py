"""mistral-common as an engine: https://github.com/mistralai/mistral-common.

What it can express
    Vocabularies by concatenation with a token for each byte. In its files the special tokens are
    first, then the bytes, then the other tokens by rank, so the ids are translated. No merge
    results in a single byte, so their ranks do not matter. Otherwise it can express what tiktoken
    can, which it uses.

What it answers
    `encode` and `decode` are for text, and `id_to_byte_piece` returns the bytes of one token. It
    finds no special tokens in a text, and cannot disallow them.

What it refuses
    An unknown id with a `KeyError`.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from bpe_ref import Vocabulary
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.tiktoken import ONE_PIECE, PackageSession, why_not

_BYTES: Final = [bytes([byte]) for byte in range(256)]


@dataclass(frozen=True)
class MistralCommonEngine:
    """mistral-common with any vocabulary that it can express.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> MistralCommonEngine("1.13.0").load(vocabulary_by_concatenation({b"a": 0}), "a")
    Unsupported(reason='needs a token for each byte')
    """

    version: str
    name: str = "mistral-common"

    def load(self, vocabulary: Vocabulary, name: str) -> "MistralCommonSession | Unsupported":
        reason, rule = why_not(vocabulary, needs_ranks=False), vocabulary.rule
        if reason is not None or not isinstance(rule, ByConcatenation):
            return Unsupported(reason or "only merges by concatenation")
        ids = {word: token for token, word in vocabulary.tokens.items()}
        if not ids.keys() >= {*_BYTES}:
            return Unsupported("needs a token for each byte")
        longer = sorted(ids.keys() - {*_BYTES}, key=lambda word: rule.ranks[ids[word]])
        special, words = vocabulary.special_bytes, [*_BYTES, *longer]
        from mistral_common.tokens.tokenizers.base import TokenizerVersion
        from mistral_common.tokens.tokenizers.tekken import SpecialTokenInfo, Tekkenizer, TokenInfo

        tekkenizer = Tekkenizer(
            [
                TokenInfo(rank=rank, token_bytes=b64encode(word).decode(), token_str=None)
                for rank, word in enumerate(words)
            ],
            [
                SpecialTokenInfo(rank=rank, token_str=content.decode(), is_control=True)
                for rank, content in enumerate(special.values())
            ],
            vocabulary.text.pattern or ONE_PIECE,
            len(special) + len(words),
            len(special),
            TokenizerVersion.v15,
            name=name,
        )
        return MistralCommonSession(
            tekkenizer, vocabulary, [*special, *(ids[word] for word in words)]
        )


@dataclass(frozen=True)
class MistralCommonSession(PackageSession):
    """mistral-common with a vocabulary loaded; the package is a `Tekkenizer`."""

    ids: list[int]
    """The vocabulary's ids by mistral-common's."""

    @cached_property
    def _own(self) -> dict[int, int]:
        return {token: own for own, token in enumerate(self.ids)}

    def encode(self, text: str) -> list[int]:
        return [self.ids[token] for token in self.package.encode(text, bos=False, eos=False)]

    def special(self, text: str, request: Mapping[str, Any]) -> Answer:
        given = [each for each in (request["allowed"], request["disallowed"]) if each != "all"]
        if any(each in text for each in {*self.vocabulary.special_tokens}.union(*given)):
            return Unsupported("finds no special tokens in a text")
        return Ok({"ids": self.encode(text)})

    def decode(self, request: Mapping[str, Any]) -> Answer:
        if request.get("errors", "replace") != "replace":
            return Unsupported("only decodes with replacement")
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        keep = SpecialTokenPolicy.KEEP
        count = len(self.ids)
        ids = [
            self._own.get(token, token + count if 0 <= token < count else token)
            for token in request["ids"]
        ]
        try:
            if "errors" in request:
                return Ok({"text": self.package.decode(ids, keep)})
            parts = [self.package.id_to_byte_piece(token, keep) for token in ids]
            return Ok({"bytes": b"".join(parts).hex()})
        except KeyError as error:
            return Refused("UNKNOWN_ID", str(error))
