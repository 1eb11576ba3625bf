"""`Tokenizer` as the Python package `tokenizers` has it: a tokenizer whose parts can be replaced.

It holds a frozen tokenizer and puts another one in its place: `enable_padding`, one with another
`Padding`. Nothing that was given out changes with it.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias

from bpe_ref import added_tokens, encoding, tokenizer
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.like_tokenizers.encodings import SIDES, Encoding, side
from bpe_ref.like_tokenizers.inputs import Text, as_batch, as_id, as_ids, as_pairs, as_text
from bpe_ref.like_tokenizers.tokens import AddedToken
from bpe_ref.models.bpe import BPE
from bpe_ref.models.unigram import Unigram
from bpe_ref.models.word_level import WordLevel
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.parameters import check_choice, check_text
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import Truncation
from bpe_ref.vocabulary.merges import TokenId

STRATEGIES = {
    "longest_first": "LongestFirst",
    "only_first": "OnlyFirst",
    "only_second": "OnlySecond",
}
"""The strategies' names in Python, and in files."""

_Model: TypeAlias = BPE | Unigram | WordLevel | WordPiece


def _component(name: str) -> Any:
    def get(owner: "Tokenizer") -> Any:
        return getattr(owner.frozen, name)

    def set_to(owner: "Tokenizer", value: Any) -> None:
        owner.frozen = owner.frozen.replace(**{name: value})

    return property(get, set_to, doc=f"The {name}, or None.")


class Tokenizer:
    """A tokenizer; its constructor takes a model, `from_file` and the like take all of it.

    >>> tokenizer = Tokenizer(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> tokenizer.encode("aba").tokens, tokenizer.decode([2, 0])
    (['ab', 'a'], 'ab a')
    """

    def __init__(self, model: _Model) -> None:
        if not isinstance(model, _Model):
            raise ParameterError(
                "model", model, "must be a BPE, Unigram, WordLevel or WordPiece model"
            )
        self.encode_special_tokens = False
        """Whether special tokens in a text are read as ordinary text."""

        self.frozen = tokenizer.Tokenizer(model)
        """The frozen tokenizer that this is now."""

    def __repr__(self) -> str:
        """Return the name and the number of tokens, special ones included."""
        return repr(self.frozen)

    @classmethod
    def _of(cls, frozen: tokenizer.Tokenizer) -> "Tokenizer":
        made = cls.__new__(cls)
        made.encode_special_tokens, made.frozen = False, frozen
        return made

    # ---- files

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> "Tokenizer":
        """Return the tokenizer in a `tokenizer.json`."""
        return Tokenizer._of(parse_tokenizer_json(read_unpacked(path), os.fspath(path)))

    @staticmethod
    def from_str(json: str) -> "Tokenizer":
        """Return the tokenizer that such a file's text describes."""
        check_text("json", json)
        return Tokenizer.from_buffer(json.encode("utf-8", "surrogatepass"))

    @staticmethod
    def from_buffer(buffer: bytes) -> "Tokenizer":
        """Return the tokenizer that such a file's bytes describe."""
        if not isinstance(buffer, bytes | bytearray):
            raise ParameterError("buffer", buffer, "must be bytes")
        return Tokenizer._of(parse_tokenizer_json(bytes(buffer), "tokenizer.json"))

    def to_str(self, pretty: bool = False) -> str:
        """Return the file's text; it looks the same whether it should be pretty or not."""
        return dump_tokenizer_json(self.frozen).decode()

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write the file."""
        Path(path).write_text(self.to_str(pretty) + "\n", encoding="utf-8")

    def __reduce__(self) -> tuple[Callable[[str], "Tokenizer"], tuple[str]]:
        """Return what makes this one again, for pickle and copy."""
        return Tokenizer.from_str, (self.to_str(),)

    # ---- text to tokens

    def encode(
        self,
        sequence: Text,
        pair: Text | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Return the encoding of a text, or of a pair of texts."""
        first = as_text("sequence", sequence, is_pretokenized=is_pretokenized)
        second = None
        if pair is not None:
            second = as_text("pair", pair, is_pretokenized=is_pretokenized)
        how = self._how(is_pretokenized)
        return Encoding(
            self.frozen.tokenize(first, second, add_special_tokens=add_special_tokens, **how)
        )

    def _how(self, is_pretokenized: bool) -> dict[str, Any]:
        special = "ordinary" if self.encode_special_tokens else "recognise"
        return {"special": special, "is_pretokenized": is_pretokenized}

    def encode_batch(
        self,
        input: Iterable[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the encodings of texts and pairs of texts, padded to one length."""
        how = self._how(is_pretokenized)
        return self._padded(
            self.frozen.tokenize(*texts, add_special_tokens=add_special_tokens, **how)
            for texts in as_pairs(input, is_pretokenized=is_pretokenized)
        )

    def encode_batch_fast(
        self,
        input: Iterable[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the same without the tokens' strings, offsets and words."""
        how = self._how(is_pretokenized)
        bare = self.frozen.replace(post_processor=None, truncation=None, padding=None)

        def ids_alone(text: Text | None) -> encoding.Encoding | None:
            if text is None:
                return None
            ids = bare.encode(text, **how)
            return encoding.Encoding.of((id_, "", (0, 0), None) for id_ in ids)

        pairs = as_pairs(input, is_pretokenized=is_pretokenized)
        return self._padded(
            self.frozen.finish(
                ids_alone(first) or encoding.Encoding(),
                ids_alone(second),
                add_special_tokens=add_special_tokens,
            )
            for first, second in pairs
        )

    def _padded(self, encodings: Iterable[encoding.Encoding]) -> list[Encoding]:
        """Return the encodings of a batch, padded to one length."""
        padding, parts = self.frozen.padding, list(encodings)
        return list(map(Encoding, parts if padding is None else padding.pad(parts)))

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return one encoding: truncated, with what the post-processor adds, and padded."""
        for name, value in (("encoding", encoding), ("pair", pair or encoding)):
            if not isinstance(value, Encoding):
                raise ParameterError(name, value, "must be an Encoding")
        second = None if pair is None else pair.value
        return Encoding(
            self.frozen.finish(encoding.value, second, add_special_tokens=add_special_tokens)
        )

    # ---- tokens to text

    def decode(self, ids: Iterable[TokenId], skip_special_tokens: bool = True) -> str:
        """Return the text of tokens."""
        return self.frozen.decode(
            as_ids("ids", ids), skip_special_tokens=skip_special_tokens, unknown_ids="skip"
        )

    def decode_batch(
        self, sequences: Iterable[Iterable[TokenId]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Return the text of each row of tokens."""
        return [self.decode(ids, skip_special_tokens) for ids in as_batch("sequences", sequences)]

    # ---- the vocabulary

    def token_to_id(self, token: str) -> TokenId | None:
        """Return the id of a token."""
        check_text("token", token)
        return self.frozen.token_to_id(token)

    def id_to_token(self, id: TokenId) -> str | None:  # noqa: A002 -- the library's name
        """Return the token with an id."""
        known = as_id(id)
        try:
            return self.frozen.id_to_token(known)
        except TokenIdError:
            return None

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, TokenId]:
        """Return the tokens with their ids."""
        return dict(self.frozen.vocab if with_added_tokens else self.frozen.model.vocab)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        return len(self.frozen.vocab if with_added_tokens else self.frozen.model.vocab)

    def get_added_tokens_decoder(self) -> dict[TokenId, AddedToken]:
        """Return the added tokens by their ids."""
        tokens = self.frozen.added.tokens
        return {id_: AddedToken.of(tokens[id_]) for id_ in sorted(tokens)}

    def add_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens and return how many of them were not there already."""
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add special tokens; the `AddedToken`s become special, as in the library."""
        for token in tokens if isinstance(tokens, list) else []:
            if isinstance(token, AddedToken):
                token.special = True
        return self._add(tokens, special=True)

    def _add(self, tokens: list[str | AddedToken], *, special: bool) -> int:
        if not isinstance(tokens, list):
            raise ParameterError("tokens", tokens, "must be a list")
        known = {token.content: token for token in self.frozen.added.tokens.values()}
        new: list[added_tokens.AddedToken] = []
        for token in tokens:
            if isinstance(token, str):
                value = AddedToken(token, special=special).value
            elif isinstance(token, AddedToken):
                value = token.value
            else:
                raise ParameterError("tokens", token, "must hold str and AddedToken")
            same = known.get(value.content)
            if value.content and (same is None or replace(same, id=None) != value):
                new.append(value)
                known[value.content] = value
        if new:
            listed = added_tokens.AddedTokens((*self.frozen.added_tokens.tokens, *new))
            self.frozen = self.frozen.replace(added_tokens=listed)
        return len(new)

    # ---- truncation and padding

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many tokens the post-processor adds."""
        processor = self.frozen.post_processor
        return 0 if processor is None else processor.added_tokens(is_pair=is_pair)

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
    ) -> None:
        """Cut encodings to a length. Raises `ParameterError` if the stride leaves no step."""
        check_choice("strategy", strategy, tuple(STRATEGIES))
        truncation = Truncation(max_length, stride, STRATEGIES[strategy], side(direction))
        left = max_length - self.num_special_tokens_to_add(is_pair=False)
        if 0 <= left < stride:
            rule = f"must be at most the max_length left for the text, {left}"
            raise ParameterError("stride", stride, rule)
        self.frozen = self.frozen.replace(truncation=truncation)

    def no_truncation(self) -> None:
        """Cut nothing."""
        self.frozen = self.frozen.replace(truncation=None)

    @property
    def truncation(self) -> dict[str, Any] | None:
        """What `enable_truncation` was given."""
        chosen = self.frozen.truncation
        if chosen is None:
            return None
        names = {"strategy": _key(STRATEGIES, chosen.strategy)}
        names |= {"direction": _key(SIDES, chosen.direction)}
        return {"max_length": chosen.max_length, "stride": chosen.stride, **names}

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",  # noqa: S107 -- no secret
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Fill encodings up, to a length or to that of the longest in a batch."""
        padding = Padding(
            length, side(direction), pad_to_multiple_of, pad_id, pad_type_id, pad_token
        )
        self.frozen = self.frozen.replace(padding=padding)

    def no_padding(self) -> None:
        """Fill nothing up."""
        self.frozen = self.frozen.replace(padding=None)

    @property
    def padding(self) -> dict[str, Any] | None:
        """What `enable_padding` was given."""
        chosen = self.frozen.padding
        if chosen is None:
            return None
        return {**asdict(chosen), "direction": _key(SIDES, chosen.direction)}

    # ---- components

    @property
    def model(self) -> _Model:
        """The model."""
        model = self.frozen.model
        assert isinstance(model, _Model)  # noqa: S101 -- no other model gets in
        return model

    @model.setter
    def model(self, model: _Model) -> None:
        if not hasattr(model, "ids"):
            raise ParameterError("model", model, "must be a model")
        self.frozen = self.frozen.replace(model=model)

    normalizer = _component("normalizer")
    pre_tokenizer = _component("pre_tokenizer")
    post_processor = _component("post_processor")
    decoder = _component("decoder")


def _key(names: dict[str, str], value: str) -> str:
    """Return the name in Python of one in files."""
    return next(key for key, name in names.items() if name == value)
