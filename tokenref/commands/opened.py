"""One face for all kinds of tokenizers that a name or a file may stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bpe_ref import (
    SentencePieceTokenizer,
    TokenId,
    Tokenizer,
    load_tokenizer,
    whole_pipeline,
    whole_sentencepiece,
    whole_tokenizer,
)
from bpe_ref.cutting.whole import Whole
from tokenref.commands.paths import InputError


class Opened(Protocol):
    """A tokenizer, as the commands see it."""

    @property
    def whole(self) -> Whole:
        """The tokenizer as counting and cutting see it: text alone, without a template."""

    def encode(self, text: str, *, template: bool) -> list[TokenId]:
        """Return the tokens of a text, with what a template adds or without."""

    def shown(self, ids: Sequence[TokenId]) -> list[str]:
        """Return each token as people can read it."""

    def spelled(self, ids: Sequence[TokenId]) -> dict[str, list[str]]:
        """Return each token for programs: `bytes` in hexadecimal digits, or `tokens` as text."""

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool, strict: bool) -> str:
        """Return the text of tokens."""


def opened(name_or_path: str, *, special: bool | None) -> Opened:
    """Load a tokenizer.

    `special` says whether special tokens in a text are special; None leaves it
    to the kind of tokenizer: they are text in a vocabulary of bytes, and
    special in a tokenizer.json.

    >>> opened("tiny", special=None).encode("a<|endoftext|>", template=True)[:1]
    [97]
    """
    tokenizer = load_tokenizer(name_or_path)
    if isinstance(tokenizer, Tokenizer):
        return OpenedVocabulary(tokenizer, special=bool(special))
    if isinstance(tokenizer, Tokenizer):
        return OpenedPipeline(replace(tokenizer, encode_special_tokens=special is False))
    if special:
        raise InputError(f"{name_or_path} is a SentencePiece model, which takes no --special")
    return OpenedModel(tokenizer)


def _not_strict(*, strict: bool) -> None:
    """Refuse what only a vocabulary of bytes can do, for an option without effect is a lie."""
    if strict:
        raise InputError("--strict is for vocabularies of bytes: this tokenizer has a decoder")


@dataclass(frozen=True)
class OpenedVocabulary:
    """A vocabulary of bytes, from any of its formats."""

    tokenizer: Tokenizer
    special: bool

    @property
    def whole(self) -> Whole:
        """The tokenizer as counting and cutting see it."""
        return whole_tokenizer(self.tokenizer, allowed_special="all" if self.special else ())

    def encode(self, text: str, *, template: bool) -> list[TokenId]:
        """Return the tokens of a text."""
        if self.special:
            return self.tokenizer.encode(text, allowed_special="all")
        return self.tokenizer.encode_ordinary(text)

    def shown(self, ids: Sequence[TokenId]) -> list[str]:
        """Return the bytes of each token as Python writes them."""
        return [repr(self.tokenizer.token_bytes(token)) for token in ids]

    def spelled(self, ids: Sequence[TokenId]) -> dict[str, list[str]]:
        """Return the bytes of each token as records write them."""
        return {"bytes": [self.tokenizer.token_bytes(token).hex() for token in ids]}

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool, strict: bool) -> str:
        """Return the text of tokens."""
        errors = "strict" if strict else "replace"
        return self.tokenizer.decode(ids, skip_special_tokens=skip_special, errors=errors)


@dataclass(frozen=True)
class OpenedPipeline:
    """A whole tokenizer, from a tokenizer.json."""

    pipeline: Tokenizer

    @property
    def whole(self) -> Whole:
        """The tokenizer as counting and cutting see it."""
        return whole_pipeline(self.pipeline)

    def encode(self, text: str, *, template: bool) -> list[TokenId]:
        """Return the tokens of a text."""
        return self.pipeline.ids(text, add_special_tokens=template)

    def shown(self, ids: Sequence[TokenId]) -> list[str]:
        """Return the string of each token."""
        return [str(self.pipeline.id_to_token(token)) for token in ids]

    def spelled(self, ids: Sequence[TokenId]) -> dict[str, list[str]]:
        """Return the string of each token."""
        return {"tokens": self.shown(ids)}

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool, strict: bool) -> str:
        """Return the text of tokens. Its decoder decides what becomes of bytes."""
        _not_strict(strict=strict)
        return self.pipeline.decode(ids, skip_special_tokens=skip_special)


@dataclass(frozen=True)
class OpenedModel:
    """A SentencePiece model."""

    tokenizer: SentencePieceTokenizer

    @property
    def whole(self) -> Whole:
        """The tokenizer as counting and cutting see it."""
        return whole_sentencepiece(self.tokenizer)

    def encode(self, text: str, *, template: bool) -> list[TokenId]:
        """Return the tokens of a text."""
        return self.tokenizer.encode(text)

    def shown(self, ids: Sequence[TokenId]) -> list[str]:
        """Return the string of each piece."""
        return [self.tokenizer.id_to_piece(token) for token in ids]

    def spelled(self, ids: Sequence[TokenId]) -> dict[str, list[str]]:
        """Return the string of each piece."""
        return {"tokens": self.shown(ids)}

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool, strict: bool) -> str:
        """Return the text of tokens."""
        _not_strict(strict=strict)
        return self.tokenizer.decode(ids)
