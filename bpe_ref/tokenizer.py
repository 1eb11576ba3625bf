"""One tokenizer for every file format: its components, put together.

    text -> added tokens cut out -> normalizer -> pre-tokenizer -> model
         -> truncation -> post-processor -> padding -> ids
    ids  -> strings of tokens -> decoder -> text

Definition
    Every component may be missing but the model. Added tokens are cut out, before and after
    normalizing; the pre-tokenizer cuts what is left into pieces, and the model turns these into
    tokens (`pieces` has the steps). Truncation, post-processor and padding work on the encoding. A
    word is one piece, or one added token. Offsets are characters of the given text. Text that is a
    list of words becomes tokens word by word.

    Tokens are decoded by their strings: special ones can be left out, the decoder does the rest.

Source: `TokenizerImpl` of Hugging Face tokenizers 0.23.3 (tokenizers/src/tokenizer/mod.rs,
pre_tokenizer.rs). tiktoken's encodings and SentencePiece's models have the same steps with other
components: see `tokenizer_of` and `formats.sentencepiece`.

What the source leaves open
    *Offsets*: see `pieces`. *Several inserted or removed characters*: see `aligned_text`. *Special
    tokens in a text*: see `added_tokens`. *Lone surrogates*: see `given_text`.
    *Strings of tokens*: the string of an added token is its content; it hides a token of the model
    with the same id. Tokens of bytes are written in the byte alphabet.
    *A pair without a post-processor* is one text after the other, with the type ids 0 and 1.

Where only ids are needed, there is a faster way to them: see `quick_ids`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from bpe_ref.added_tokens import (
    AddedToken,
    AddedTokens,
    AddedVocabulary,
    Recognised,
    Special,
    Treatment,
    spelled_in,
    treatment_of,
)
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Decoder, Draw, Model, Normalizer, PreTokenizer, WithoutTables
from bpe_ref.decoders import ByteLevel, DecoderSequence, decode_tokens, with_errors
from bpe_ref.decoders.stream import Hopeless, Stream, continuations
from bpe_ref.decoders.to_bytes import as_id, bytes_to_text, in_order
from bpe_ref.decoders.utf8_stream import Utf8Stream, check_errors, never
from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import BpeError, ParameterError, TokenIdError, VocabularyError, shown
from bpe_ref.given_text import places_in, without_surrogates
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.parameters import check_flag
from bpe_ref.pieces import Piece, encode_pieces, pieces_of
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.quick_ids import QuickIds, reads_origins, writes_letters
from bpe_ref.quirks import STRICT
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair
from bpe_ref.vocabulary.byte_alphabet import from_letters, read_letters, to_letters
from bpe_ref.vocabulary.merges import TokenId

if TYPE_CHECKING:  # loaded when they are needed: most programs do not cut texts
    from bpe_ref.auditing import Audit
    from bpe_ref.cutting.growing import AppendCounter
    from bpe_ref.cutting.safe_cuts import TextCounter
    from bpe_ref.cutting.splitting import Chunk
    from bpe_ref.post_processors import PostProcessor
    from bpe_ref.post_processors.padding import Padding
    from bpe_ref.post_processors.truncation import Truncation

Text: TypeAlias = str | Sequence[str]
"""A text, or its words."""

UnknownIds: TypeAlias = Literal["refuse", "skip"]
"""What decoding does with ids that no token has."""

_Content = TypeVar("_Content")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")

_HOLE: Final = -1  # in a template: the ids of the text go here
_MOST_TREATMENTS: Final = 64
_METHODS: Final = {
    "normalizer": "normalize_text",
    "pre_tokenizer": "cut_text",
    "post_processor": "process_encodings",
    "decoder": "decode_chain",
    "truncation": "truncate",
    "padding": "pad",
}
"""A method of each component, by which it is recognised."""
_OF_ITEM: Final = ("text", "pair", "ids", "item")  # the names of what differs in a batch


class TracedPiece(NamedTuple):
    """A piece of a text, and its tokens after each step of the model's definition."""

    piece: str
    steps: list[list[TokenId]]


@dataclass(frozen=True, eq=False)
class Tokenizer(WithoutTables):
    """A tokenizer. It is pickled and copied as its components, without caches.

    Attributes:
        model: turns a piece into tokens. All other components may be missing.
        normalizer: changes the text first.
        pre_tokenizer: cuts it into pieces.
        post_processor: puts special tokens around the text.
        decoder: turns strings of tokens into text. Without one they are joined with spaces.
        added_tokens: as the file lists them.
        truncation, padding: see there.
        name: what it was loaded as, if anything.
        changes: what `load(..., like=...)` changed, a sentence each.
        notes: what the file lacks, a sentence each; see `load`.

    Raises `VocabularyError` for added tokens that contradict one another. `bpe_ref.load` returns
    the tokenizer of a name or a file.

    >>> from bpe_ref.models.bpe import BPE
    >>> tokenizer = Tokenizer(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> tokenizer.encode("aba"), tokenizer.tokenize("aba").tokens, tokenizer.decode([2, 0])
    ([2, 0], ('ab', 'a'), 'ab a')

    """

    model: Model
    normalizer: Normalizer | None = None
    pre_tokenizer: PreTokenizer | None = None
    post_processor: "PostProcessor | None" = None
    decoder: Decoder | None = None
    added_tokens: AddedTokens = field(default_factory=AddedTokens)
    truncation: "Truncation | None" = None
    padding: "Padding | None" = None
    name: str | None = None
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Give the added tokens their ids, so that what is wrong is found at once."""
        if not hasattr(self.model, "tokenize"):
            rule = "must be a model, such as BPE; `load` returns the tokenizer of a name or a file"
            raise ParameterError("model", self.model, rule)
        for name, method in _METHODS.items():
            component = getattr(self, name)
            if component is not None and not hasattr(component, method):
                raise ParameterError(name, component, f"must be a {name} or None")
        _ = self.added

    def __repr__(self) -> str:
        """Return the name and the number of tokens, special ones included."""
        special = f"{len(self.special_tokens)} of them special"
        return f"<Tokenizer {self.name or 'unnamed'}, {len(self)} tokens, {special}>"

    def __len__(self) -> int:
        """Return the number of tokens, special ones included. Their ids may have gaps.

        >>> from bpe_ref import load
        >>> len(load("tiny"))
        2004
        """
        return len(self.vocab)

    def replace(self, **components: Any) -> "Tokenizer":
        """Return the tokenizer with other components.

        >>> from bpe_ref import load
        >>> load("tiny").replace(name="mine")
        <Tokenizer mine, 2004 tokens, 4 of them special>
        """
        known = [each.name for each in fields(self) if each.init]
        for name in components:
            if name not in known:
                near = get_close_matches(name, known, 1)
                advice = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
                raise TypeError(f"a tokenizer has no component {name!r}; {advice}")
        return replace(self, **components)

    # ---- text to tokens

    def encode(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> list[TokenId]:
        """Return the ids of a text, or of a pair of texts.

        Args:
            text: a text, or its words if `is_pretokenized`. A lone surrogate becomes U+FFFD, as in
                tiktoken; `text.encode()` raises an error for such a text.
            pair: a second text, if there is one.
            add_special_tokens: whether to add the special tokens of the template.
            special: how to treat special tokens that the text spells; see `added_tokens`. Added
                tokens that the file does not call special, such as Qwen3's `<think>`, are
                recognised in any case, as in engines, unless it is "refuse_added" or
                "ordinary_added". Use one of these for texts that you do not trust.
            is_pretokenized: whether `text` and `pair` are lists of words.
            draw: returns the random numbers for dropout.

        Raises `SpecialTokenError` for a special token that is refused, `SymbolError` if no token
        stands for a character or a byte, and `ParameterError` if an argument is not what it should
        be or truncation cannot do what it should.

        >>> from bpe_ref import load
        >>> load("tiny").encode("to be<|endoftext|>")
        [555, 397, 2000]

        """
        if pair is None and not is_pretokenized and self._is_quick:
            own = self._quick.ids(without_surrogates(text), self.treatment(special), draw)
            check_flag("add_special_tokens", add_special_tokens)
            frame = self._frames[add_special_tokens]
            if frame is None:
                return own
            ids: list[TokenId] = []
            for part in frame:
                ids += own if part == _HOLE else (part,)
            return ids
        encoding = self.tokenize(
            text,
            pair,
            add_special_tokens=add_special_tokens,
            special=special,
            is_pretokenized=is_pretokenized,
            draw=draw,
        )
        return list(encoding.ids)

    def tokenize(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> Encoding:
        """Return everything about the tokens of a text, or of a pair of texts.

        The arguments are those of `encode`, and so are the errors.

        >>> from bpe_ref import load
        >>> load("tiny").tokenize("to be").offsets
        ((0, 2), (2, 5))
        """
        treatment = self.treatment(special)

        def encoded(name: str, one: Text, type_id: int) -> Encoding:
            if not is_pretokenized:
                return self._encoded(name, one, type_id, treatment, draw)
            if isinstance(one, str) or not isinstance(one, Sequence):
                rule = "must be a sequence of words if is_pretokenized is true"
                raise ParameterError(name, one, rule)
            return merge(
                self._encoded(f"{name}[{number}]", word, type_id, treatment, draw, number)
                for number, word in enumerate(one)
            )

        first = encoded("text", text, 0)
        second = None if pair is None else encoded("pair", pair, 1)
        return self.finish(first, second, add_special_tokens=add_special_tokens)

    def finish(
        self, first: Encoding, second: Encoding | None = None, *, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text or a pair, truncated, with the template's tokens, padded.

        >>> from bpe_ref.models.bpe import BPE
        >>> from bpe_ref.post_processors.truncation import Truncation
        >>> tokenizer = Tokenizer(BPE({"a": 0}, []), truncation=Truncation(1))
        >>> tokenizer.finish(Encoding.of([(0, "a", (0, 1), 0), (0, "a", (1, 2), 0)])).tokens
        ('a',)
        """
        if self.truncation is not None:
            added = 0
            if add_special_tokens and self.post_processor is not None:
                added = self.post_processor.added_tokens(is_pair=second is not None)
            first, second = self.truncation.truncate(first, second, added)
        encoding = self._processed(first, second, add_special_tokens)
        return encoding if self.padding is None else self.padding.pad([encoding])[0]

    def count(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> int:
        """Return the number of tokens: `len(encode(...))` with the same arguments.

        >>> from bpe_ref import load
        >>> load("tiny").count("to be")
        2
        """
        ids = self.encode(
            text,
            pair,
            add_special_tokens=add_special_tokens,
            special=special,
            is_pretokenized=is_pretokenized,
            draw=draw,
        )
        return len(ids)

    def encode_batch(
        self,
        inputs: Iterable[Text | tuple[Text, Text]],
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> list[list[TokenId]]:
        """Return the ids of several texts, or pairs of texts, padded together if the file says so.

        A tuple is a pair; a text that is given as words is a list. The other arguments are those of
        `encode`. An error names the item.

        >>> from bpe_ref import load
        >>> load("tiny").encode_batch(["to", " be"])
        [[555], [397]]
        """
        options: dict[str, Any] = {
            "add_special_tokens": add_special_tokens,
            "special": special,
            "is_pretokenized": is_pretokenized,
            "draw": draw,
        }
        if self.padding is not None:
            return [list(encoding.ids) for encoding in self.tokenize_batch(inputs, **options)]
        return _each("inputs", inputs, lambda item: self.encode(*_texts(item), **options))

    def tokenize_batch(
        self,
        inputs: Iterable[Text | tuple[Text, Text]],
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
        is_pretokenized: bool = False,
        draw: Draw | None = None,
    ) -> list[Encoding]:
        """Return the encodings of several texts, or pairs of texts; see `encode_batch`.

        >>> from bpe_ref.models.bpe import BPE
        >>> from bpe_ref.post_processors.padding import Padding
        >>> tokenizer = Tokenizer(BPE({"a": 0, "b": 1}, []), padding=Padding(pad_id=1))
        >>> [encoding.ids for encoding in tokenizer.tokenize_batch(["a", "ab"])]
        [(0, 1), (0, 1)]
        """
        encoded = partial(
            self.tokenize,
            add_special_tokens=add_special_tokens,
            special=special,
            is_pretokenized=is_pretokenized,
            draw=draw,
        )
        encodings = _each("inputs", inputs, lambda item: encoded(*_texts(item)))
        return encodings if self.padding is None else self.padding.pad(encodings)

    def pieces(self, text: str, *, special: Recognised = "recognise") -> list[str]:
        """Return the pieces of a text in order; merges never cross them.

        They are normalized text. An added token is a piece.

        >>> from bpe_ref import load
        >>> load("tiny").pieces("to be<|endoftext|>")
        ['to', ' be', '<|endoftext|>']
        """
        treatment, text = self.treatment(special), without_surrogates(text)
        if self._is_quick_text:
            return self._quick.pieces(text, treatment)
        return [self._read(*piece) for piece in self._aligned_pieces(text, treatment)]

    def trace(self, text: str, *, special: Recognised = "recognise") -> list[TracedPiece]:
        """Return each piece of a text with its tokens after each step of the model.

        The first step is what the piece starts as, the last one is its tokens. Merges that
        dropout would skip are not skipped. Raises `ParameterError` for a piece of more than 1,000
        characters, because a trace grows with the square of its length.

        >>> from bpe_ref import load
        >>> load("tiny").trace("to be")[0]
        TracedPiece(piece='to', steps=[[555]])
        """
        from bpe_ref.tracing import check_length

        traced: list[TracedPiece] = []
        treatment = self.treatment(special)
        for piece, token in self._aligned_pieces(without_surrogates(text), treatment):
            if token is None:
                check_length(piece.text)
            steps = self.model.steps(piece.text) if token is None else [[token]]
            traced.append(TracedPiece(self._read(piece, token), steps))
        return traced

    # ---- counting and cutting

    def chunks(
        self,
        text: str,
        most: int,
        overlap: int = 0,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
    ) -> "list[Chunk]":
        """Return parts of at most `most` tokens that cover the text, in order.

        A part is a named tuple: `start` and `stop`, its place in the text, and `tokens`, its number
        of tokens as `count` returns it with the same arguments, without truncation and padding.
        Neighbours share up to `overlap` tokens, special ones of a template not counted. Raises
        `ParameterError` if a part that must not be cut has more than `most` tokens.

        For nearly all files this takes time in proportion to the text, because the counts of two
        parts add up wherever no token, whatever else the text contains, can reach from one into
        the other: at nearly every word. `cutting.safe_cuts` says which places these are, and
        `cutting.fewest` where a chunk may end between them. For files of which neither is known,
        the time is quadratic.

        >>> from bpe_ref import load
        >>> [tuple(chunk) for chunk in load("tiny").chunks("to be or not to be", 3)]
        [(0, 8, 3), (8, 18, 3)]
        """
        return list(
            self.each_chunk(
                text, most, overlap, add_special_tokens=add_special_tokens, special=special
            )
        )

    def each_chunk(
        self,
        text: str,
        most: int,
        overlap: int = 0,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
    ) -> "Iterator[Chunk]":
        """Yield the chunks that `chunks` returns, each as soon as it is known.

        >>> from bpe_ref import load
        >>> next(load("tiny").each_chunk("to be or not to be", 3)).stop
        8
        """
        from bpe_ref.cutting import splitting

        counter = self.framed_counter(add_special_tokens=add_special_tokens, special=special)
        return splitting.each_chunk(counter, text, most, overlap)

    def split_at(
        self,
        text: str,
        most: int,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
    ) -> int:
        """Return how many characters the longest beginning with at most `most` tokens has.

        >>> from bpe_ref import load
        >>> load("tiny").split_at("to be or not to be", 3)
        8
        """
        from bpe_ref.cutting import splitting

        counter = self.framed_counter(add_special_tokens=add_special_tokens, special=special)
        return splitting.split_at(counter, text, most)

    def count_till_limit(
        self,
        text: str,
        limit: int,
        *,
        add_special_tokens: bool = True,
        special: Recognised = "recognise",
    ) -> int | None:
        """Return the number of tokens, or None if there are more than `limit`.

        Stops reading as soon as there are certainly more.

        >>> from bpe_ref import load
        >>> load("tiny").count_till_limit("to be", 2), load("tiny").count_till_limit("to be", 1)
        (2, None)
        """
        from bpe_ref.cutting import counting

        counter = self.framed_counter(add_special_tokens=add_special_tokens, special=special)
        return counting.count_till_limit(counter, text, limit)

    def growing(
        self, *, add_special_tokens: bool = True, special: Recognised = "recognise"
    ) -> "AppendCounter":
        """Return a text that grows at its end, and its number of tokens at any moment.

        >>> from bpe_ref import load
        >>> growing = load("tiny").growing()
        >>> growing.extend("to be")
        >>> growing.count
        2
        """
        from bpe_ref.cutting import growing

        counter = self.framed_counter(add_special_tokens=add_special_tokens, special=special)
        return growing.AppendCounter(counter)

    def framed_counter(
        self, *, add_special_tokens: bool = True, special: Recognised = "recognise"
    ) -> "TextCounter":
        """Return what counts and cuts texts, and knows how many tokens the template adds to them.

        >>> from bpe_ref import load
        >>> load("tiny").framed_counter().added
        0
        """
        from bpe_ref.cutting import safe_cuts

        check_flag("add_special_tokens", add_special_tokens)
        frame = self._frames[add_special_tokens]
        bare = self if self.truncation is None and self.padding is None else self._untrimmed
        if frame is None:
            return bare.text_counter(special)
        if frame.count(_HOLE) == 1:
            return replace(bare.text_counter(special), added=len(frame) - 1)

        def count(text: str) -> int:
            return bare.count(text, add_special_tokens=add_special_tokens, special=special)

        return safe_cuts.TextCounter(count, bare.text_counter(special).spans)

    def text_counter(self, special: Recognised = "recognise") -> "TextCounter":
        """Return what counts and cuts texts without template, truncation and padding.

        >>> from bpe_ref import load
        >>> load("tiny").text_counter().is_safe_cut("o", " ")
        True
        """
        from bpe_ref.cutting import safe_cuts

        if self.truncation is not None or self.padding is not None:
            return self._untrimmed.text_counter(special)
        treatment = self.treatment(special)
        counter = self._counters.get(treatment)
        if counter is None:
            counter = safe_cuts.counter_of(self, special)
            _keep(self._counters, treatment, counter)
        return counter

    @cached_property
    def _counters(self) -> "dict[Treatment, TextCounter]":
        return {}

    @cached_property
    def _untrimmed(self) -> "Tokenizer":
        return replace(self, truncation=None, padding=None)

    # ---- tokens to text

    def decode(
        self,
        ids: Iterable[TokenId],
        *,
        skip_special_tokens: bool = False,
        errors: str = "replace",
        unknown_ids: UnknownIds = "refuse",
    ) -> str:
        """Return the text of tokens.

        Args:
            ids: the tokens, in order.
            skip_special_tokens: whether special tokens are left out.
            errors: what becomes of bytes that are not UTF-8, such as half of a character.
                "replace" follows the file's decoder. A byte level, and every file without a
                decoder of its own, puts one U+FFFD for each maximal part of a character, as Python
                does. `ByteFallback` puts one for each byte of a run that is not UTF-8 as a whole.
                "strict" raises `DecodingError`; Python's other handlers work as in Python.
            unknown_ids: "refuse" or "skip" ids that no token has.

        Raises `TokenIdError` for an id that is refused, and `DecodingError` if the decoder cannot
        decode the tokens.

        >>> from bpe_ref import load
        >>> load("tiny").decode([555, 397, 2000], skip_special_tokens=True)
        'to be'

        """
        check_flag("skip_special_tokens", skip_special_tokens)
        if skip_special_tokens and self._ends:
            runs = groupby(in_order(ids), key=lambda id_: type(id_) is int and id_ in self._ends)
            decoded = partial(self.decode, errors=errors, unknown_ids=unknown_ids)
            return "".join([decoded(run) for is_end, run in runs if not is_end])
        if self._contents is not None:
            contents = self._found(self._contents, ids, skip_special_tokens, unknown_ids)
            return bytes_to_text(b"".join(contents), errors)
        strings = self._found(self._strings.__getitem__, ids, skip_special_tokens, unknown_ids)
        return decode_tokens(with_errors(self.decoder, errors), strings)

    def decode_bytes(
        self,
        ids: Iterable[TokenId],
        *,
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "refuse",
    ) -> bytes:
        r"""Return the bytes of tokens: UTF-8, except where tokens stand for other bytes.

        >>> from bpe_ref import load
        >>> load("tiny").decode_bytes([555, 195])
        b'to\xc3'
        """
        check_flag("skip_special_tokens", skip_special_tokens)
        if self._contents is not None:
            return b"".join(self._found(self._contents, ids, skip_special_tokens, unknown_ids))
        text = self.decode(
            ids,
            skip_special_tokens=skip_special_tokens,
            errors="surrogateescape",
            unknown_ids=unknown_ids,
        )
        return text.encode("utf-8", "surrogateescape")

    def decode_batch(
        self,
        batch: Iterable[Sequence[TokenId]],
        *,
        skip_special_tokens: bool = False,
        errors: str = "replace",
        unknown_ids: UnknownIds = "refuse",
    ) -> list[str]:
        """Return the text of each row of tokens, as `decode` does with the same arguments.

        An error names the item.

        >>> from bpe_ref import load
        >>> load("tiny").decode_batch([[555], [397]])
        ['to', ' be']
        """
        decoded = partial(
            self.decode,
            skip_special_tokens=skip_special_tokens,
            errors=errors,
            unknown_ids=unknown_ids,
        )
        return _each("batch", batch, decoded)

    def stream(
        self,
        *,
        skip_special_tokens: bool = False,
        errors: str = "replace",
        unknown_ids: UnknownIds = "refuse",
    ) -> Stream:
        """Return a decoder that takes one token at a time; see `decoders.stream`.

        The arguments are those of `decode`; `errors` must be one of `STREAM_ERRORS`.

        >>> from bpe_ref import load
        >>> stream = load("tiny").stream()
        >>> stream.push(195), stream.push(169), stream.finish()
        ('', 'é', '')
        """
        check_errors(errors)
        check_flag("skip_special_tokens", skip_special_tokens)
        _check_unknown(unknown_ids)
        read = partial(self._content_of, skip_special_tokens, unknown_ids)  # can be pickled
        if self._contents is None:
            from bpe_ref.decoders.chain_stream import ChainStream

            return Stream(read, ChainStream(with_errors(self.decoder, errors)))
        hopeless: Callable[[bytes, str], bool] = never
        if isinstance(self.model, ByteBPE):
            hopeless = Hopeless(self.model.vocabulary.remember(continuations))
        ends = self._ends if skip_special_tokens else frozenset[TokenId]()
        return Stream(read, Utf8Stream(errors, hopeless), ends)

    # ---- tokens

    @cached_property
    def vocab(self) -> Mapping[str, TokenId]:
        """The id of each token by its string, added tokens included.

        >>> from bpe_ref import load
        >>> load("tiny").vocab["<|endoftext|>"]
        2000
        """
        return {**self.model.vocab, **self.added.ids}

    @cached_property
    def special_tokens(self) -> Mapping[str, TokenId]:
        """The id of each special token by its string: what decoding can skip, or never writes.

        In a SentencePiece model these are the control pieces. A tokenizer file does not say
        which of them ends an answer.

        >>> from bpe_ref import load
        >>> load("tiny").special_tokens["<|endoftext|>"]
        2000
        """
        control = getattr(self.model, "unspellable", frozenset[str]())
        return {
            string: id_
            for string, id_ in self.vocab.items()
            if string in control or (id_ in self._skipped and string in self.added.ids)
        }

    def id_to_token(self, token: TokenId) -> str:
        """Return the string of a token. Raises `TokenIdError` for an id that no token has.

        >>> from bpe_ref import load
        >>> load("tiny").id_to_token(397)
        'Ġbe'
        """
        id_ = as_id(token)
        string = self.added.strings.get(id_, self.model.strings.get(id_))
        if string is None:
            raise self._unknown(id_)
        return string

    def token_bytes(self, token: TokenId) -> bytes:
        r"""Return the bytes that the letters of a token stand for, or its string in UTF-8.

        Raises `TokenIdError` for an id that no token has.

        >>> from bpe_ref import load
        >>> load("tiny").token_bytes(397), load("tiny").token_bytes(153)
        (b' be', b'\x99')
        """
        string = self.id_to_token(token)
        if token not in self.added.strings and self.has_letters:
            with suppress(KeyError):  # a string of other characters
                return from_letters(string)
        return string.encode(errors="surrogatepass")

    def show_token(self, token: TokenId) -> str:
        r"""Return a token as people read it: `␣` is a space, `\xf0` a part of a character.

        >>> from bpe_ref import load
        >>> print(*map(load("tiny").show_token, [371, 153, 1088, 397]))
        ␣\xf0\x9f \x99 ö ␣be
        """
        from bpe_ref.tracing import show_token

        return show_token(self.token_bytes(token))

    def token_to_id(self, token: str | bytes) -> TokenId | None:
        """Return the id of a token by its string, or by the bytes it stands for; None if none.

        Bytes find ordinary tokens first; a special token is its text.

        >>> from bpe_ref import load
        >>> load("tiny").token_to_id(" be"), load("tiny").token_to_id(b" be")
        (None, 397)
        """
        if isinstance(token, str):
            return self.added.ids.get(token, self.model.vocab.get(token))
        if not isinstance(token, bytes | bytearray | memoryview):
            raise ParameterError("token", token, "must be bytes or str")
        content = bytes(token)
        if isinstance(self.model, ByteBPE):
            found = self.model.vocabulary.ids.get(content.decode("latin-1"))
            text = content.decode("utf-8", "surrogateescape")  # of no token if it is not UTF-8
            return self.added.ids.get(text) if found is None else found
        return self._by_bytes.get(content)

    @cached_property
    def added(self) -> AddedVocabulary:
        """The added tokens with their ids."""
        given = self.added_tokens.ids_as_given
        return self.added_tokens.with_ids({} if given else self.model.vocab, self.normalizer)

    @cached_property
    def unspellable(self) -> frozenset[str]:
        """The control pieces that no text becomes, whatever `special` is: those of SentencePiece.

        >>> from bpe_ref import load
        >>> load("tiny").unspellable
        frozenset()
        """
        return getattr(self.model, "unspellable", frozenset[str]()).difference(self.added.ids)

    def spelled(self, text: str) -> list[str]:
        """Return the added and control tokens that a text spells, each once, in its order.

        Look here before text from users reaches a model. The text is searched for the tokens as
        the file spells them, but not for white space, which some files list as added tokens.

        >>> from bpe_ref import load
        >>> load("tiny").spelled("to<|endoftext|> be")
        ['<|endoftext|>']
        """
        names = self.treatment("refuse_added").refused
        names = names | self.unspellable if self.unspellable else names
        return spelled_in(without_surrogates(text), names)

    def audit(self) -> "Audit":
        """Return what is unusual about the tokens and merges; see `auditing`.

        >>> from bpe_ref import load
        >>> load("tiny").audit().dead_tokens
        ()
        """
        from bpe_ref import auditing

        try:
            found = auditing.audit(vocabulary_of(self))
        except VocabularyError:  # it does not merge bytes
            ranks = self.model.ranks_of_tokens
            added = {*self.added.tokens, *self.special_tokens.values()}
            found = auditing.audit_model(self.model, added, ranks)
        return replace(found, changes=self.changes, notes=self.notes)

    # ---- how

    def treatment(self, special: Recognised) -> Treatment:
        """Return what `special` means here. Raises `ParameterError` unless it means something.

        >>> from bpe_ref import load
        >>> sorted(load("tiny").treatment("ordinary").ordinary)
        ['<|endoftext|>', '<|fim_middle|>', '<|fim_prefix|>', '<|fim_suffix|>']
        """
        found = self._treatments.get(special) if type(special) is str else None
        if found is not None:
            return found
        chosen = (special.recognise, special.refuse) if isinstance(special, Special) else (special,)
        can_be_kept = all(isinstance(one, str | frozenset) for one in chosen)
        if can_be_kept and special in self._treatments:
            return self._treatments[special]
        found = treatment_of(special, self.added.special, self.added.ids)
        named = {text for one in chosen if not isinstance(one, str) for text in one}
        for text in sorted(named & self.unspellable):
            rule = "must not name control tokens, which no text can spell"
            raise ParameterError("special", text, rule)
        if not isinstance(special, str | Special):  # one may refuse any text
            for text in sorted({*special} - self.added.ids.keys()):
                rule = "must name special tokens of this tokenizer only"
                raise ParameterError("special", text, rule)
        if can_be_kept:
            _keep(self._treatments, special, found)
        return found

    @cached_property
    def _treatments(self) -> dict[object, Treatment]:
        return {}

    def _encoded(
        self,
        name: str,
        text: Any,
        type_id: int,
        treatment: Treatment,
        draw: Draw | None,
        word: int | None = None,
    ) -> Encoding:
        """Return the encoding of one text, before anything is cut off or added."""
        joined = without_surrogates(text, name)
        quick = isinstance(self.model, BPE | ByteBPE) and self._is_quick_text
        columns = self._quick.columns(joined, treatment, word) if quick else None
        if columns is not None:
            encoding = Encoding.of_columns(*columns, type_id=type_id)
        else:
            pieces = self._aligned_pieces(joined, treatment)
            encoding = encode_pieces(self.model, pieces, joined, type_id, word, draw)
        if len(joined) == len(text):
            return encoding
        places = places_in(text)
        offsets = tuple((places[start], places[stop]) for start, stop in encoding.offsets)
        return replace(encoding, offsets=offsets)

    def _processed(
        self, first: Encoding, second: Encoding | None, add_special_tokens: bool
    ) -> Encoding:
        """Return the encoding of a text or a pair with what the post-processor adds."""
        if self.post_processor is None and second is None:
            return first
        from bpe_ref.post_processors import process

        return process(self.post_processor, first, second, add_special_tokens=add_special_tokens)

    def _aligned_pieces(self, text: str, treatment: Treatment) -> list[Piece]:
        return pieces_of(text, self.added, self.normalizer, self.pre_tokenizer, treatment)

    def _read(self, piece: AlignedText, token: TokenId | None) -> str:
        """Return a piece, or an added token, as text, also if it is in letters."""
        if token is None:
            reads = writes_letters(self.normalizer, self.pre_tokenizer)
        else:
            reads = self.added.tokens[token].normalized and writes_letters(self.normalizer, None)
        return read_letters(piece.text) if reads else piece.text

    @cached_property
    def _is_quick_text(self) -> bool:
        return not reads_origins(self.normalizer, self.pre_tokenizer)

    @cached_property
    def _is_quick(self) -> bool:
        return self.truncation is None and self.padding is None and self._is_quick_text

    @cached_property
    def _quick(self) -> QuickIds:
        return QuickIds(self.model, self.added, self.normalizer, self.pre_tokenizer)

    @cached_property
    def _frames(self) -> tuple[list[TokenId] | None, list[TokenId] | None]:
        """The ids of any text, without and with special tokens; None if nothing is added."""
        hole = Encoding.of([(_HOLE, "", (0, 0), 0)])
        without, with_ = (list(self._processed(hole, None, choice).ids) for choice in (False, True))
        return (None if without == [_HOLE] else without), (None if with_ == [_HOLE] else with_)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """What `vocabulary_of` returns."""
        model = self.model
        if isinstance(model, ByteBPE):
            return model.vocabulary
        if not isinstance(model, BPE):
            raise VocabularyError(
                f"a vocabulary of bytes must merge bytes, which a {type(model).__name__} does not"
            )
        if model.continuing_subword_prefix or model.end_of_word_suffix:
            raise VocabularyError(
                "a vocabulary of bytes must have tokens without prefix and suffix, "
                f"the model has {model.continuing_subword_prefix or model.end_of_word_suffix!r}"
            )

        @cache
        def as_content(token: str) -> bytes:
            try:
                return from_letters(token)
            except KeyError:
                raise VocabularyError(
                    "a vocabulary of bytes must have tokens in the letters of the byte-level "
                    f"alphabet, got {token!r:.80}"
                ) from None

        added = self.added.ids
        ids = {as_content(token): id_ for token, id_ in model.vocab.items() if token not in added}
        merges = [(as_content(left), as_content(right)) for left, right in model.merges]
        text = TextRules(whole_piece=model.ignore_merges)
        return vocabulary_by_pair(ids, merges, text=text, special_tokens=added)

    # ---- what tokens are to the decoder

    def _found(
        self,
        read: Callable[[TokenId], _Content],
        ids: Iterable[TokenId],
        skip_special_tokens: bool,
        unknown_ids: UnknownIds,
    ) -> list[_Content]:
        """Return what tokens are to the decoder: what `read` returns."""
        row = list(in_order(ids))
        if not set(map(type, row)) <= {int}:  # True would pass for 1 as a key
            row = list(map(as_id, row))
        if _check_unknown(unknown_ids):
            row = [id_ for id_ in row if id_ in self._strings]
        if skip_special_tokens:
            row = [id_ for id_ in row if id_ not in self._skipped]
        try:
            return list(map(read, row))
        except KeyError as missing:
            raise self._unknown(missing.args[0]) from None

    def _unknown(self, id_: TokenId) -> TokenIdError:
        known = self.vocab.values()
        ends = f", from {min(known)} to {max(known)}" if known else ""
        rule = f"must be one of this tokenizer's {len(known)}{ends}"
        return TokenIdError(f"a token id {rule}, got {shown(id_)}")

    def _content_of(
        self, skip_special_tokens: bool, unknown_ids: UnknownIds, token: TokenId
    ) -> Any:
        """Return what a token is to the decoder; None if it is skipped."""
        read: Callable[[TokenId], Any] = self._contents or self._strings.__getitem__
        found = self._found(read, [token], skip_special_tokens, unknown_ids)
        return found[0] if found else None

    @cached_property
    def _strings(self) -> dict[TokenId, str]:
        """The string of each token, as the decoder gets it."""
        return {**self.model.strings, **self._strings_of_added}

    @property
    def _strings_of_added(self) -> Mapping[TokenId, str]:
        """The strings of added tokens, in letters if the decoder reads these."""
        added, quirks = self.added.strings, self.added_tokens.quirks
        if quirks.byte_level_maps_added_tokens or not _reads_letters(self.decoder):
            return added
        return {id_: to_letters(string.encode()) for id_, string in added.items()}

    @cached_property
    def _contents(self) -> Callable[[TokenId], bytes] | None:
        """What returns the bytes of a token, if the decoder only joins bytes."""
        decoder = self.decoder
        if type(decoder) is not ByteLevel or decoder.errors != "replace":
            return None
        if isinstance(self.model, ByteBPE):
            added = {id_: decoder.to_bytes(s) for id_, s in self._strings_of_added.items()}
            return {**self.model.vocabulary.tokens, **added}.__getitem__
        strings = self._strings
        return cache(lambda id_: decoder.to_bytes(strings[id_]))  # a text has few of all tokens

    @cached_property
    def has_letters(self) -> bool:
        """Whether letters stand for bytes in strings of tokens: `Ġ` for a space.

        >>> from bpe_ref import load
        >>> load("tiny").has_letters
        True
        """
        return _reads_letters(self.decoder) or writes_letters(self.normalizer, self.pre_tokenizer)

    @cached_property
    def _skipped(self) -> frozenset[TokenId]:
        """The special tokens."""
        added = self.added
        return frozenset(id_ for id_, text in added.strings.items() if added.is_skipped(id_, text))

    @cached_property
    def _ends(self) -> frozenset[TokenId]:
        """The special tokens that bytes are not joined over, where these are left out."""
        joins = getattr(self.decoder, "joins_over_special", True)
        return frozenset() if joins else self._skipped

    @cached_property
    def _by_bytes(self) -> Mapping[bytes, TokenId]:
        """The id of each token by its bytes; of several the first one, ordinary ones first."""
        found: dict[bytes, TokenId] = {}
        for token in [*self.model.strings, *self.added.tokens]:
            found.setdefault(self.decode_bytes([token]), token)
        return found


def tokenizer_of(vocabulary: Vocabulary, *, name: str | None = None) -> Tokenizer:
    """Return the tokenizer of a vocabulary of bytes, with the components of its text rules.

    Raises `ParameterError` for an unknown normalization, and `PatternError`.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> ranks = {b"a": 0, b"b": 1, b"ab": 2, b" ": 3}
    >>> tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, text=TextRules("[ab]+| +")))
    >>> tokenizer.encode("ab ba"), tokenizer.decode([2, 3, 1, 0]), tokenizer.pieces("ab ba")
    ([2, 3, 1, 0], 'ab ba', ['ab', ' ', 'ba'])
    """
    rules = vocabulary.text
    if rules.normalization not in (None, "nfc"):
        raise ParameterError("normalization", rules.normalization, 'must be "nfc" or None')
    specials = [
        AddedToken(content, normalized=False, special=True, id=id_)
        for content, id_ in vocabulary.special_tokens.items()
    ]
    normalizer = None
    if rules.normalization is not None:
        from bpe_ref.normalizers.nfc import PinnedNFC

        normalizer = PinnedNFC()
    return Tokenizer(
        ByteBPE(vocabulary, rules.whole_piece),
        normalizer=normalizer,
        pre_tokenizer=None if rules.pattern is None else Pattern(rules.pattern, rules.tables),
        decoder=ByteLevel(add_prefix_space=False, trim_offsets=False),
        added_tokens=AddedTokens(specials, quirks=STRICT, ids_as_given=True),
        name=name,
    )


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the vocabulary of a tokenizer whose model merges bytes.

    For a tokenizer.json this is the merging, and whether a piece that is a token is taken whole,
    but not how text is normalized and cut. Added tokens are its special tokens. Raises
    `VocabularyError` for a model that does not spell bytes, or whose words have a prefix or suffix.

    >>> from bpe_ref.models.bpe import BPE
    >>> vocabulary_of(Tokenizer(BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))).tokens[2]
    b' a'
    """
    return tokenizer._vocabulary  # noqa: SLF001 -- kept there, built once


def _each(name: str, items: Iterable[_Item], answer: Callable[[_Item], _Content]) -> list[_Content]:
    """Return the answer for each item of a batch. An error about one of them names it.

    Raises `ParameterError` for a single text by mistake.
    """
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise ParameterError(name, items, "must be an iterable, and not a single text")
    answers = []
    for place, item in enumerate(items):
        try:
            answers.append(answer(item))
        except BpeError as error:
            of_item = not isinstance(error, ParameterError) or error.name.startswith(_OF_ITEM)
            if of_item:  # and not about an argument that is the same for all
                error.args = (f"{name}[{place}]: {error}",)
            raise
    return answers


def _texts(item: Text | tuple[Text, Text]) -> tuple[Any, ...]:
    """Return the text of an item of a batch, and the second one of a pair."""
    if not isinstance(item, tuple):
        return (item,)
    if len(item) not in (1, 2):
        raise ParameterError("item", item, "must be a text, or a pair of texts")
    return item


def _keep(kept: dict[_Key, _Content], key: _Key, value: _Content) -> None:
    """Remember one of a few values; programs that use more are rare, and lose all of them."""
    if len(kept) >= _MOST_TREATMENTS:
        kept.clear()
    kept[key] = value


def _check_unknown(unknown: str) -> bool:
    """Return whether unknown ids are skipped. Raises `ParameterError`."""
    if unknown not in ("refuse", "skip"):
        raise ParameterError("unknown_ids", unknown, 'must be "refuse" or "skip"')
    return unknown == "skip"


def _reads_letters(decoder: Decoder | None) -> bool:
    if isinstance(decoder, DecoderSequence):
        return any(map(_reads_letters, decoder.decoders))
    return isinstance(decoder, ByteLevel)
