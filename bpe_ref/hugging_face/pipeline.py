"""The pipeline of Hugging Face tokenizers: all components, put together.

Definition
    A text is encoded in these steps; each may be missing but the model.
    1. to 5. Added tokens are cut out, before and after normalizing; the
       pre-tokenizer cuts what is left into pieces, and the model turns these
       into tokens: see `text_to_tokens`.
    6. Truncation, the post-processor and padding work on the encoding.
    A word is one piece, or one added token. Offsets are characters of the text.
    Text that comes as a list of words goes through 1 to 5 word by word.

    Tokens are decoded by their strings: special ones are left out, the decoder
    does the rest.

Source: `TokenizerImpl` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/mod.rs, pre_tokenizer.rs).

What the source leaves open
    *Offsets*: see `piece_offsets`.
    *Of several inserted or removed characters*: see `aligned_text`.

Where only ids are asked for, there is a quicker way to them: see `quick_ids`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from bpe_ref.added_tokens import AddedToken, AddedVocabulary
from bpe_ref.components import Decoder
from bpe_ref.decoders import decode_tokens
from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import ParameterError
from bpe_ref.given_text import without_surrogates
from bpe_ref.hugging_face.quick_ids import QuickIds, reads_origins
from bpe_ref.hugging_face.text_to_tokens import Piece, encode_pieces, pieces_of
from bpe_ref.hugging_face.token_strings import TokenStrings
from bpe_ref.models.bpe import BPE
from bpe_ref.models.merging import Draw
from bpe_ref.normalizers.sequence import Step
from bpe_ref.post_processors import PostProcessor, process
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import Truncation
from bpe_ref.pre_tokenizers.sequence import PreTokenizer
from bpe_ref.profile import HUGGING_FACE, Profile
from bpe_ref.vocabulary.merges import TokenId

Text: TypeAlias = str | Sequence[str]
"""A text, or its words."""

_HOLE = -1  # in a template: here the ids of the text go


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A tokenizer, as a `tokenizer.json` describes it.

    Attributes:
        model: see `model`; the other components may be None.
        added_tokens: as the file lists them.
        encode_special_tokens: whether special tokens in a text are read as ordinary text.

    Raises `VocabularyError` for added tokens that contradict one another.

    >>> pipeline = Pipeline(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> pipeline.encode("aba").tokens, pipeline.ids("aba"), pipeline.decode([2, 0])
    (('ab', 'a'), [2, 0], 'ab a')

    """

    model: BPE
    normalizer: Step | None = None
    pre_tokenizer: PreTokenizer | None = None
    post_processor: PostProcessor | None = None
    decoder: Decoder | None = None
    added_tokens: Sequence[AddedToken] = ()
    truncation: Truncation | None = None
    padding: Padding | None = None
    encode_special_tokens: bool = False
    profile: Profile = field(default=HUGGING_FACE, repr=False)

    def __post_init__(self) -> None:
        """Give the added tokens their ids, and prepare what long and foreign pieces need."""
        _ = self.added, self.model.borders

    @cached_property
    def added(self) -> AddedVocabulary:
        """The added tokens with their ids."""
        return AddedVocabulary(self.added_tokens, self.model.vocab, self.normalizer, self.profile)

    # ---- text to tokens

    def encode(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        add_special_tokens: bool = True,
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> Encoding:
        """Return the tokens of a text, or of a pair of texts, with their origins.

        `draw` gives the random numbers for dropout. Raises `ParameterError` for what is not text
        and where truncation cannot do what it should; `SymbolError` and `SpecialTokenError` for
        text that cannot be encoded.

        >>> pipeline = Pipeline(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
        >>> pipeline.encode(["ab", "a"], is_pretokenized=True).words
        (0, 1)
        """
        first = self._encode_one("text", text, 0, draw, is_pretokenized=is_pretokenized)
        second = (
            None
            if pair is None
            else self._encode_one("pair", pair, 1, draw, is_pretokenized=is_pretokenized)
        )
        if self.truncation is not None:
            added = 0
            if add_special_tokens and self.post_processor is not None:
                added = self.post_processor.added_tokens(is_pair=second is not None)
            first, second = self.truncation.truncate(first, second, added)
        encoding = process(
            self.post_processor, first, second, add_special_tokens=add_special_tokens
        )
        return encoding if self.padding is None else self.padding.pad([encoding])[0]

    def encode_batch(
        self,
        inputs: Iterable[Text | tuple[Text, Text]],
        *,
        add_special_tokens: bool = True,
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> list[Encoding]:
        """Return the encodings of several texts, or pairs of texts, padded together.

        A tuple is a pair; a text that comes as words is a list.

        >>> pipeline = Pipeline(BPE({"a": 0, "b": 1}, []), padding=Padding(pad_id=1))
        >>> [encoding.ids for encoding in pipeline.encode_batch(["a", "ab"])]
        [(0, 1), (0, 1)]
        """
        encodings = [
            self.encode(
                *(item if isinstance(item, tuple) else (item,)),
                add_special_tokens=add_special_tokens,
                is_pretokenized=is_pretokenized,
                draw=draw,
            )
            for item in inputs
        ]
        return encodings if self.padding is None else self.padding.pad(encodings)

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a text in order; of an added token also the id.

        >>> pipeline = Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")])
        >>> [(piece.text, token) for piece, token in pipeline.pieces("a<s>")]
        [('a', None), ('<s>', 1)]
        """
        return pieces_of(
            text,
            self.added,
            self.normalizer,
            self.pre_tokenizer,
            special_as_text=self.encode_special_tokens,
        )

    # ---- text to ids only

    def ids(
        self, text: str, *, add_special_tokens: bool = True, draw: Draw | None = None
    ) -> list[TokenId]:
        """Return `encode(text).ids`, faster.

        >>> Pipeline(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).ids("aba")
        [2, 0]
        """
        if self.truncation is not None or self.padding is not None or self._reads_origins:
            return list(self.encode(text, add_special_tokens=add_special_tokens, draw=draw).ids)
        own = self._quick.ids(without_surrogates(text), draw)
        frame = self._frames[add_special_tokens]
        if frame == [_HOLE]:
            return own
        ids: list[TokenId] = []
        for id_ in frame:
            ids += own if id_ == _HOLE else [id_]
        return ids

    def count(self, text: str, *, add_special_tokens: bool = True, draw: Draw | None = None) -> int:
        """Return how many tokens a text has.

        >>> Pipeline(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).count("aba")
        2
        """
        return len(self.ids(text, add_special_tokens=add_special_tokens, draw=draw))

    # ---- tokens to text

    def decode(self, ids: Iterable[TokenId], *, skip_special_tokens: bool = True) -> str:
        """Return the text of tokens.

        Raises `TokenIdError` for what is no id, and `DecodingError` where the decoder cannot.

        >>> Pipeline(BPE({"a": 0, "b": 1}, [])).decode([0, 1, 7])
        'a b'
        """
        strings = self.decoded_strings(ids, skip_special_tokens=skip_special_tokens)
        return decode_tokens(self.decoder, strings)

    def decoded_strings(
        self, ids: Iterable[TokenId], *, skip_special_tokens: bool = True
    ) -> list[str]:
        """Return what the decoder gets to see of tokens.

        >>> Pipeline(BPE({"a": 0, "b": 1}, [])).decoded_strings([0, 1])
        ['a', 'b']
        """
        return self._strings.decoded(ids, skip_special_tokens=skip_special_tokens)

    # ---- the vocabulary

    def token_to_id(self, token: str) -> TokenId | None:
        """Return the id of a token, or None.

        >>> Pipeline(BPE({"a": 0}, [])).token_to_id("b") is None
        True
        """
        return self._strings.id_of(token)

    def id_to_token(self, id_: TokenId) -> str | None:
        """Return the token with an id, or None.

        >>> Pipeline(BPE({"a": 0}, [])).id_to_token(0)
        'a'
        """
        return self._strings.token_of(id_)

    def vocabulary(self, *, with_added_tokens: bool = True) -> Mapping[str, TokenId]:
        """Return all tokens with their ids.

        >>> Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]).vocabulary()
        {'a': 0, '<s>': 1}
        """
        return self._strings.vocabulary(with_added_tokens=with_added_tokens)

    def vocabulary_size(self, *, with_added_tokens: bool = True) -> int:
        """Return the number of tokens.

        >>> Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]).vocabulary_size()
        2
        """
        return self._strings.size(with_added_tokens=with_added_tokens)

    # ---- how

    def _encode_one(
        self, name: str, text: Text, type_id: int, draw: Draw | None, *, is_pretokenized: bool
    ) -> Encoding:
        """Return the encoding of one text, before anything is cut off or added."""
        if not is_pretokenized:
            return self._encode_text(without_surrogates(text, name), type_id, None, draw)
        if isinstance(text, str) or not isinstance(text, Sequence):
            raise ParameterError(name, text, "must be a sequence of words, if is_pretokenized")
        words = [without_surrogates(word, f"{name}[{n}]") for n, word in enumerate(text)]
        return merge(self._encode_text(word, type_id, n, draw) for n, word in enumerate(words))

    def _encode_text(
        self, text: str, type_id: int, word: int | None, draw: Draw | None
    ) -> Encoding:
        return encode_pieces(self.model, self.pieces(text), text, type_id, word, draw)

    @cached_property
    def _quick(self) -> QuickIds:
        return QuickIds(
            self.model,
            self.added,
            self.normalizer,
            self.pre_tokenizer,
            special_as_text=self.encode_special_tokens,
        )

    @cached_property
    def _reads_origins(self) -> bool:
        return reads_origins(self.normalizer, self.pre_tokenizer)

    @cached_property
    def _strings(self) -> TokenStrings:
        return TokenStrings(self.model, self.added, self.decoder, self.profile)

    @cached_property
    def _frames(self) -> tuple[list[TokenId], list[TokenId]]:
        """What the post-processor puts around a text, without and with special tokens."""
        hole = Encoding.of([(_HOLE, "", (0, 0), 0)])
        without, with_ = (
            list(process(self.post_processor, hole, add_special_tokens=choice).ids)
            for choice in (False, True)
        )
        return without, with_
