"""`Tokenizer` as the Python package `tokenizers` has it: a pipeline whose parts can be replaced.

What changes are the parts, all of them frozen: `enable_padding` puts another `Padding` in its
place. Nothing that was given out changes with it.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from bpe_ref import added_tokens, encoding, tokenizer
from bpe_ref.components import Decoder, Normalizer, PreTokenizer
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.like_tokenizers.encodings import SIDES, Encoding, side
from bpe_ref.like_tokenizers.inputs import Text, as_batch, as_id, as_ids, as_pair, as_text
from bpe_ref.like_tokenizers.tokens import AddedToken
from bpe_ref.models.bpe import BPE
from bpe_ref.models.unigram import Unigram
from bpe_ref.models.word_level import WordLevel
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.post_processors import PostProcessor, process
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
        self._encode_special_tokens = False
        self._set(tokenizer.Tokenizer(model))

    def _set(self, pipeline: tokenizer.Tokenizer) -> None:
        """Become that tokenizer; what happens after the model is done here."""
        self._post_processor = pipeline.post_processor
        self._truncation = pipeline.truncation
        self._padding = pipeline.padding
        parts = (self._post_processor, self._truncation, self._padding)
        if any(part is not None for part in parts):
            pipeline = replace(pipeline, post_processor=None, truncation=None, padding=None)
        self._plain = pipeline

    @classmethod
    def _of(cls, pipeline: tokenizer.Tokenizer) -> "Tokenizer":
        made = cls.__new__(cls)
        made._encode_special_tokens = False  # noqa: SLF001 -- one of this class
        made._set(pipeline)  # noqa: SLF001 -- likewise
        return made

    @property
    def frozen(self) -> tokenizer.Tokenizer:
        """The frozen tokenizer that this is now."""
        return replace(
            self._plain,
            post_processor=self._post_processor,
            truncation=self._truncation,
            padding=self._padding,
        )

    # ---- files

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> "Tokenizer":
        """Return the tokenizer in a `tokenizer.json`."""
        return Tokenizer._of(parse_tokenizer_json(read_unpacked(path), os.fspath(path)))

    @staticmethod
    def from_str(json: str) -> "Tokenizer":
        """Return the tokenizer that such a file's text describes."""
        if not isinstance(json, str):
            raise ParameterError("json", json, "must be a str")
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
        parts = (self._encode(text, number) for number, text in enumerate((first, second)))
        return Encoding(self._finish(*parts, add_special_tokens=add_special_tokens))

    def encode_batch(
        self,
        input: Iterable[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the encodings of texts and pairs of texts, padded to one length."""
        return self._encode_all(input, is_pretokenized, add_special_tokens, lambda part: part)

    def encode_batch_fast(
        self,
        input: Iterable[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the same without the tokens' strings, offsets and words."""
        return self._encode_all(input, is_pretokenized, add_special_tokens, _blank)

    def _encode_all(
        self,
        items: Iterable[Any],
        is_pretokenized: bool,
        add_special_tokens: bool,
        change: Callable[[encoding.Encoding], encoding.Encoding],
    ) -> list[Encoding]:
        encodings = []
        for item in as_batch("input", items):
            texts = as_pair(item, is_pretokenized=is_pretokenized)
            parts = (self._encode(text, number) for number, text in enumerate(texts))
            changed = (None if part is None else change(part) for part in parts)
            encodings.append(self._finish(*changed, add_special_tokens=add_special_tokens))
        if self._padding is not None:
            encodings = self._padding.pad(encodings)
        return list(map(Encoding, encodings))

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return one encoding: truncated, with what the post-processor adds, and padded."""
        for name, value in (("encoding", encoding), ("pair", pair or encoding)):
            if not isinstance(value, Encoding):
                raise ParameterError(name, value, "must be an Encoding")
        second = None if pair is None else pair.value
        return Encoding(self._finish(encoding.value, second, add_special_tokens=add_special_tokens))

    def _encode(self, text: Text | None, number: int) -> encoding.Encoding | None:
        """Return the tokens of the first or second text, as the model gives them."""
        if text is None:
            return None
        is_pretokenized = not isinstance(text, str)
        special: added_tokens.Recognised = (
            "ordinary" if self._encode_special_tokens else "recognise"
        )
        return self._plain.tokenize(text, special=special, is_pretokenized=is_pretokenized).of_type(
            number
        )

    def _finish(
        self,
        first: encoding.Encoding | None,
        second: encoding.Encoding | None,
        *,
        add_special_tokens: bool,
    ) -> encoding.Encoding:
        assert first is not None  # noqa: S101 -- only the second may be missing
        if self._truncation is not None:
            is_pair = second is not None
            added = self.num_special_tokens_to_add(is_pair) if add_special_tokens else 0
            first, second = self._truncation.truncate(first, second, added)
        result = process(self._post_processor, first, second, add_special_tokens=add_special_tokens)
        return result if self._padding is None else self._padding.pad([result])[0]

    # ---- tokens to text

    def decode(self, ids: Iterable[TokenId], skip_special_tokens: bool = True) -> str:
        """Return the text of tokens."""
        return self._plain.decode(
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
        if not isinstance(token, str):
            raise ParameterError("token", token, "must be a str")
        return self._plain.token_to_id(token)

    def id_to_token(self, id: TokenId) -> str | None:  # noqa: A002 -- the library's name
        """Return the token with an id."""
        known = as_id(id)
        try:
            return self._plain.id_to_token(known)
        except TokenIdError:
            return None

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, TokenId]:
        """Return the tokens with their ids."""
        return dict(self._plain.vocab if with_added_tokens else self._plain.model.vocab)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        return len(self._plain.vocab if with_added_tokens else self._plain.model.vocab)

    def get_added_tokens_decoder(self) -> dict[TokenId, AddedToken]:
        """Return the added tokens by their ids."""
        tokens = self._plain.added.tokens
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
        known = {token.content: token for token in self._plain.added.tokens.values()}
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
            listed = added_tokens.AddedTokens((*self._plain.added_tokens.tokens, *new))
            self._plain = replace(self._plain, added_tokens=listed)
        return len(new)

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are read as ordinary text."""
        return self._encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special_tokens = value

    # ---- truncation and padding

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many tokens the post-processor adds."""
        if self._post_processor is None:
            return 0
        return self._post_processor.added_tokens(is_pair=is_pair)

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
    ) -> None:
        """Cut encodings to a length. Raises `ParameterError` if the stride leaves no step."""
        if not isinstance(strategy, str) or strategy not in STRATEGIES:
            raise ParameterError("strategy", strategy, f"must be one of {', '.join(STRATEGIES)}")
        truncation = Truncation(max_length, stride, STRATEGIES[strategy], side(direction))
        left = max_length - self.num_special_tokens_to_add(is_pair=False)
        if 0 <= left < stride:
            rule = f"must be at most the max_length left for the text, {left}"
            raise ParameterError("stride", stride, rule)
        self._truncation = truncation

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._truncation = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """What `enable_truncation` was given."""
        chosen = self._truncation
        if chosen is None:
            return None
        return {
            "max_length": chosen.max_length,
            "stride": chosen.stride,
            "strategy": _key(STRATEGIES, chosen.strategy),
            "direction": _key(SIDES, chosen.direction),
        }

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
        self._padding = Padding(
            length, side(direction), pad_to_multiple_of, pad_id, pad_type_id, pad_token
        )

    def no_padding(self) -> None:
        """Fill nothing up."""
        self._padding = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """What `enable_padding` was given."""
        chosen = self._padding
        if chosen is None:
            return None
        return {
            "length": chosen.length,
            "pad_to_multiple_of": chosen.pad_to_multiple_of,
            "pad_id": chosen.pad_id,
            "pad_token": chosen.pad_token,
            "pad_type_id": chosen.pad_type_id,
            "direction": _key(SIDES, chosen.direction),
        }

    # ---- components

    @property
    def model(self) -> _Model:
        """The model."""
        model = self._plain.model
        assert isinstance(model, _Model)  # noqa: S101 -- no other model gets in
        return model

    @model.setter
    def model(self, model: _Model) -> None:
        if model is None:
            raise ParameterError("model", model, "must be a model")
        _component("model", model, "ids")
        self._plain = replace(self._plain, model=model)

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer."""
        return self._plain.normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        _component("normalizer", normalizer, "normalize")
        self._plain = replace(self._plain, normalizer=normalizer)

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """The pre-tokenizer."""
        return self._plain.pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: PreTokenizer | None) -> None:
        _component("pre_tokenizer", pre_tokenizer, "cut")
        self._plain = replace(self._plain, pre_tokenizer=pre_tokenizer)

    @property
    def post_processor(self) -> PostProcessor | None:
        """The post-processor."""
        return self._post_processor

    @post_processor.setter
    def post_processor(self, post_processor: PostProcessor | None) -> None:
        _component("post_processor", post_processor, "process_encodings")
        self._post_processor = post_processor

    @property
    def decoder(self) -> Decoder | None:
        """The decoder."""
        return self._plain.decoder

    @decoder.setter
    def decoder(self, decoder: Decoder | None) -> None:
        _component("decoder", decoder, "decode_chain")
        self._plain = replace(self._plain, decoder=decoder)


def _component(name: str, value: object, method: str) -> None:
    """Raise `ParameterError` unless the value has the method that makes it such a component."""
    if value is not None and not hasattr(value, method):
        raise ParameterError(name, value, f"must be a {name} or None")


def _blank(known: encoding.Encoding) -> encoding.Encoding:
    """Return the ids alone."""
    return encoding.Encoding.of((id_, "", (0, 0), None) for id_ in known.ids)


def _key(names: dict[str, str], value: str) -> str:
    """Return the name in Python of one in files."""
    return next(key for key, name in names.items() if name == value)
