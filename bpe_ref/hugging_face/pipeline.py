"""The pipeline of Hugging Face tokenizers: all components, put together.

Definition
    A text is encoded in these steps; each may be missing but the model.
    1. Added tokens are cut out of the text as it is.
    2. Each stretch between them is normalized.
    3. Added tokens are cut out of what came of it.
    4. Each stretch between is cut into pieces by the pre-tokenizer.
    5. The model turns each piece into tokens.
    6. Truncation, the post-processor and padding work on the encoding.
    A word is one piece, or one added token. Offsets are characters of the text.
    Text that comes as a list of words goes through 1 to 5 word by word.

    Tokens are decoded by their strings: special ones are left out, the decoder
    does the rest.

Source: `TokenizerImpl` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/mod.rs, pre_tokenizer.rs).

What the source leaves open
    *Offsets of a token* go from the first character of the text that its first
    byte comes from to the last one that its last byte comes from. Bytes of one
    character share that character.
    *Positions behind the end of a piece* (see `model`) are taken for bytes of
    the whole text, from its beginning, and where they lie behind that too, they
    stay the numbers they are.
    *Of several inserted or removed characters*: see `aligned_text`.

The quick way
    `ids` and `count` keep no origins, and remember the tokens of pieces.
    Pieces do not influence one another, so what a piece became once, it becomes
    again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.hugging_face.added_tokens import AddedToken, AddedVocabulary
from bpe_ref.hugging_face.byte_alphabet import to_letters
from bpe_ref.hugging_face.decoders import ByteLevel, DecoderSequence, decode_tokens
from bpe_ref.hugging_face.encoding import Encoding, merge
from bpe_ref.hugging_face.merging import Draw
from bpe_ref.hugging_face.model import BPE
from bpe_ref.hugging_face.normalizers.sequence import Step
from bpe_ref.hugging_face.padding import Padding
from bpe_ref.hugging_face.post_processors import PostProcessor, process
from bpe_ref.hugging_face.pre_tokenizers.byte_level import ByteLevel as PreByteLevel
from bpe_ref.hugging_face.pre_tokenizers.metaspace import Metaspace
from bpe_ref.hugging_face.pre_tokenizers.sequence import (
    PreTokenizer,
    needs_alignment,
    reads_start,
)
from bpe_ref.hugging_face.pre_tokenizers.sequence import Sequence as PreSequence
from bpe_ref.hugging_face.profile import HUGGING_FACE, Profile
from bpe_ref.hugging_face.shapes import Decoder, Token
from bpe_ref.hugging_face.truncation import Truncation
from bpe_ref.merges import TokenId
from bpe_ref.piece_cache import PieceCache

Text = str | Sequence[str]
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
        """Give the added tokens their ids, and prepare what long pieces need."""
        _ = self.added
        cuts = self.pre_tokenizer is not None
        if isinstance(self.pre_tokenizer, Metaspace):
            cuts = self.pre_tokenizer.split
        if not cuts:
            _ = self.model.borders

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

    def pieces(self, text: str) -> list[tuple[AlignedText, TokenId | None]]:
        """Return the pieces of a text in order; of an added token also the id.

        >>> pipeline = Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")])
        >>> [(piece.text, token) for piece, token in pipeline.pieces("a<s>")]
        [('a', None), ('<s>', 1)]
        """
        pieces: list[tuple[AlignedText, TokenId | None]] = []
        for stretch, token in self._stretches(AlignedText.of(text), normalized=False):
            if token is not None:
                pieces.append((stretch, token))
                continue
            changed = stretch if self.normalizer is None else self.normalizer.normalize(stretch)
            for part, inner in self._stretches(changed, normalized=True):
                if inner is not None or self.pre_tokenizer is None:
                    pieces.append((part, inner))
                else:
                    pieces += [(piece, None) for piece in self.pre_tokenizer.cut(part)]
        return pieces

    # ---- text to ids only

    def ids(
        self, text: str, *, add_special_tokens: bool = True, draw: Draw | None = None
    ) -> list[TokenId]:
        """Return `encode(text).ids`, faster.

        >>> Pipeline(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).ids("aba")
        [2, 0]
        """
        if self.truncation is not None or self.padding is not None:
            return list(self.encode(text, add_special_tokens=add_special_tokens, draw=draw).ids)
        own = self._own_ids(without_surrogates("text", text), draw)
        if self.post_processor is None:
            return own
        ids: list[TokenId] = []
        for token in self._frames[add_special_tokens]:
            if token == _HOLE:
                ids += own
            else:
                ids.append(token)
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
        added = self.added
        strings: list[str] = []
        for id_ in ids:
            string = self.id_to_token(id_)
            if string is None:
                if self.profile.unknown_ids_dropped:
                    continue
                raise TokenIdError(f"an id must be that of a token, got {id_!r:.80}")
            if skip_special_tokens and added.is_skipped(id_, string):
                continue
            if id_ in added.tokens and self._spells_bytes:
                string = to_letters(string.encode())
            strings.append(string)
        return strings

    # ---- the vocabulary

    def token_to_id(self, token: str) -> TokenId | None:
        """Return the id of a token, or None.

        >>> Pipeline(BPE({"a": 0}, [])).token_to_id("b") is None
        True
        """
        return self.added.ids.get(token, self.model.vocab.get(token))

    def id_to_token(self, id_: TokenId) -> str | None:
        """Return the token with an id, or None.

        >>> Pipeline(BPE({"a": 0}, [])).id_to_token(0)
        'a'
        """
        if not isinstance(id_, int) or isinstance(id_, bool):
            raise TokenIdError(f"an id must be an integer, got {id_!r:.80}")
        return self.added.strings.get(id_, self.model.strings.get(id_))

    def vocabulary(self, *, with_added_tokens: bool = True) -> Mapping[str, TokenId]:
        """Return all tokens with their ids.

        >>> Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]).vocabulary()
        {'a': 0, '<s>': 1}
        """
        return {**self.model.vocab, **(self.added.ids if with_added_tokens else {})}

    def vocabulary_size(self, *, with_added_tokens: bool = True) -> int:
        """Return the number of tokens.

        >>> Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]).vocabulary_size()
        2
        """
        size = len(self.model.vocab)
        if with_added_tokens:
            size += sum(token not in self.model.vocab for token in self.added.ids)
        return size

    # ---- how

    def _encode_one(
        self, name: str, text: Text, type_id: int, draw: Draw | None, *, is_pretokenized: bool
    ) -> Encoding:
        """Return the encoding of one text, before anything is cut off or added."""
        if not is_pretokenized:
            return self._encode_text(without_surrogates(name, text), type_id, None, draw)
        if isinstance(text, str) or not isinstance(text, Sequence):
            raise ParameterError(name, text, "must be a sequence of words, if is_pretokenized")
        words = [without_surrogates(f"{name}[{n}]", word) for n, word in enumerate(text)]
        return merge(self._encode_text(word, type_id, n, draw) for n, word in enumerate(words))

    def _encode_text(
        self, text: str, type_id: int, word: int | None, draw: Draw | None
    ) -> Encoding:
        rows: list[tuple[TokenId, str, Span, int | None]] = []
        for number, (piece, added) in enumerate(self.pieces(text)):
            if added is not None:
                tokens = [Token(added, piece.text, 0, len(piece.text.encode()))]
            else:
                tokens = self.model.tokenize(piece.text, draw)
            spans = offsets_of(piece, tokens, text)
            rows += [
                (token.id, token.string, span, number if word is None else word)
                for token, span in zip(tokens, spans, strict=True)
            ]
        return Encoding.of(rows, type_id)

    def _stretches(
        self, text: AlignedText, *, normalized: bool
    ) -> list[tuple[AlignedText, TokenId | None]]:
        """Return the added tokens in a text, and what is between them."""
        if not self.added.has(normalized=normalized):
            return [(text, None)] if text.text else []
        cuts = self.added.cut(
            text.text, normalized=normalized, special_as_text=self.encode_special_tokens
        )
        return [(text.slice(start, stop), token) for start, stop, token in cuts]

    def _own_ids(self, text: str, draw: Draw | None) -> list[TokenId]:
        """Return the ids of a text without what the post-processor adds."""
        model, added = self.model, self.added
        if self._reads_origins:
            ids: list[TokenId] = []
            for piece, token in self.pieces(text):
                ids += model.tokenize_ids(piece.text, draw) if token is None else [token]
            return ids
        cut, finish = self._cutting
        as_text = self.encode_special_tokens
        ids = []
        for start, stop, token in added.cut(text, normalized=False, special_as_text=as_text):
            if token is not None:
                ids.append(token)
                continue
            changed = text[start:stop]
            if self.normalizer is not None:
                changed = self.normalizer.normalize_text(changed)
            for first, last, inner in added.cut(changed, normalized=True, special_as_text=as_text):
                if inner is not None:
                    ids.append(inner)
                    continue
                pieces = cut(changed[first:last], start == 0 and first == 0)
                if model.drops_merges:
                    for cut_piece in pieces:
                        ids += model.tokenize_ids(finish(cut_piece), draw)
                else:
                    ids += self._cache.encode(pieces)
        return ids

    @cached_property
    def _cutting(self) -> tuple[Callable[[str, bool], list[str]], Callable[[str], str]]:
        """How text is cut into pieces, and what then becomes of each piece on its own.

        A byte level that comes last writes each piece's bytes as letters. Done after looking a
        piece up in the cache, that is seldom done.
        """
        if self.pre_tokenizer is None:
            return _whole, _unchanged
        *before, last = _steps(self.pre_tokenizer)
        if not isinstance(last, PreByteLevel):
            return self.pre_tokenizer.cut_text, _unchanged
        if not before:
            return lambda text, _: last.plain_pieces(text), _in_letters
        if last.use_regex or last.add_prefix_space:
            return self.pre_tokenizer.cut_text, _unchanged
        return PreSequence(before).cut_text, _in_letters

    @cached_property
    def _cache(self) -> PieceCache:
        """The ids of pieces seen before, before their bytes are written as letters; bounded."""
        finish, tokenize = self._cutting[1], self.model.tokenize_ids
        return PieceCache(lambda piece: tokenize(finish(piece)))

    @cached_property
    def _reads_origins(self) -> bool:
        """Whether cutting depends on where text comes from, and text may not say that."""
        if getattr(self.normalizer, "may_insert_first", False):
            return True
        if self.pre_tokenizer is None:
            return False
        return needs_alignment(self.pre_tokenizer) or (
            self.normalizer is not None and reads_start(self.pre_tokenizer)
        )

    @cached_property
    def _frames(self) -> tuple[list[TokenId], list[TokenId]]:
        """What the post-processor puts around a text, without and with special tokens."""
        hole = Encoding.of([(_HOLE, "", (0, 0), 0)])
        without, with_ = (
            list(process(self.post_processor, hole, add_special_tokens=choice).ids)
            for choice in (False, True)
        )
        return without, with_

    @cached_property
    def _spells_bytes(self) -> bool:
        """Whether added tokens must be written as byte letters to be decoded as they are."""
        return not self.profile.byte_level_maps_added_tokens and _reads_letters(self.decoder)


def offsets_of(piece: AlignedText, tokens: Iterable[Token], original: str) -> list[Span]:
    """Return the characters of the original that the tokens of a piece stand for.

    >>> offsets_of(AlignedText.of("éa"), [Token(0, "?", 1, 2), Token(1, "a", 2, 3)], "éa")
    [(0, 1), (1, 2)]
    """
    spans = piece.spans
    character_of = character_of_byte(piece.text)
    size = len(character_of)
    offsets: list[Span] = []
    for token in tokens:
        if token.end <= size:
            first, last = character_of[token.start], character_of[token.end - 1]
            offsets.append((spans[first][0], spans[last][1]))
        else:
            offsets.append(_behind_the_end(token, original))
    return offsets


def character_of_byte(text: str) -> Sequence[int]:
    """Return for each byte of the text's UTF-8 the number of its character.

    >>> character_of_byte("éa")
    [0, 0, 1]
    """
    if text.isascii():
        return range(len(text))
    # A character begins at each byte that does not continue one.
    starts = (byte & 0xC0 != 0x80 for byte in text.encode())  # noqa: PLR2004 - 10xxxxxx continues
    return [number - 1 for number in accumulate(starts)]


def without_surrogates(name: str, text: object) -> str:
    r"""Return the text with surrogate pairs joined and lone surrogates replaced by U+FFFD.

    Raises `ParameterError` for what is not text.

    >>> without_surrogates("text", "\ud83d!") == "\ufffd!"
    True
    """
    if not isinstance(text, str):
        raise ParameterError(name, text, "must be a str")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _behind_the_end(token: Token, original: str) -> Span:
    """Return the offsets of a token of which the piece has not enough bytes."""
    character_of = character_of_byte(original)
    size = len(character_of)
    if token.start >= size:
        return token.start, token.end
    start = character_of[token.start]
    if token.end < size:
        return start, character_of[token.end]
    return start, (character_of[token.end - 1] if token.end == size else start + 1) + 1


def _whole(text: str, at_start: bool) -> list[str]:  # noqa: ARG001, FBT001 -- shaped like a pre-tokenizer's `cut_text`
    """Return the text as one piece."""
    return [text]


def _unchanged(piece: str) -> str:
    return piece


def _in_letters(piece: str) -> str:
    return to_letters(piece.encode())


def _steps(pre_tokenizer: PreTokenizer) -> list[PreTokenizer]:
    """Return the components that cut one after the other, sequences resolved."""
    if not isinstance(pre_tokenizer, PreSequence):
        return [pre_tokenizer]
    return [step for part in pre_tokenizer.pretokenizers for step in _steps(part)] or [
        pre_tokenizer
    ]


def _reads_letters(decoder: Decoder | None) -> bool:
    """Tell whether a decoder reads byte letters."""
    if isinstance(decoder, DecoderSequence):
        return any(map(_reads_letters, decoder.decoders))
    return isinstance(decoder, ByteLevel)
