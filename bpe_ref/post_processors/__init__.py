"""Put special tokens around the texts, number their parts, and trim offsets.

Definition
    A post-processor maps a row of encodings, at first one per text, to a row of encodings; in the
    end they are merged. At the start every text's tokens, and those of its overflowing parts, are
    ranged under the text's number, and the tokens (not those of the parts) get it as type id.
    Without a post-processor, texts keep the type ids they were encoded with, the parts are not
    ranged, and neither is a single text.

Source: `PostProcessor::process` in tokenizer/mod.rs, processors/*.rs and `process_offsets` in
pre_tokenizers/byte_level.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open, and what it does unexpectedly
    - In a `Sequence`, later processors see a template's special tokens as texts of their own.
      `ByteLevel` then numbers all of them; `BertProcessing` frames the first, and closes every
      other one; a second template is an error, unless there are one or two.
    - A template gives new type ids to the texts, but not to their overflowing parts.
    - A special token that the table lacks, and a text B where there is none, are errors when the
      template is used (the library panics). In counting added tokens they count nothing.
    - What BERT's and RoBERTa's special tokens are put around loses the marks of special tokens and
      of padding that it had, and so do its overflowing parts.
    - In trimming, offsets never cross: their start stays at most their old end, their end at least
      their start. An end that is less than the number of white characters stays, and so do the
      parts of overflowing parts.

Trimmed offsets
    As many white characters as a token's string begins with, its offsets begin later; as many as
    it ends with, they end earlier. White are the letter Ġ of a space, and white space as it is.
    With `add_prefix_space`, one white character stays with the first token, or with one that
    begins at 0, for it was put there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

from bpe_ref.aligned_text import Span
from bpe_ref.components import by_name
from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import ParameterError, VocabularyError
from bpe_ref.parameters import check_flag
from bpe_ref.patterns.unicode_tables import white_space
from bpe_ref.post_processors.templates import Piece, SequencePiece, SpecialPiece, SpecialToken
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE
from bpe_ref.vocabulary.merges import TokenId

NamedId: TypeAlias = tuple[str, TokenId]
"""A token's string and its id."""


def _check_named_id(name: str, value: object) -> None:
    """Raise `ParameterError` unless the value is a token's string and its id."""
    match value:
        case (str(), int(number)) if not isinstance(number, bool) and number >= 0:
            return
    raise ParameterError(name, value, "must be a token's string and its id")


def _special_encoding(tokens: Sequence[NamedId], type_id: int) -> Encoding:
    plain = Encoding.of([(number, name, (0, 0), None) for name, number in tokens], type_id)
    return replace(plain, special_tokens_mask=(1,) * len(tokens))


def _frame(
    encoding: Encoding,
    before: Sequence[NamedId],
    after: NamedId,
    sequence: int,
    sep_type: int | None = None,
) -> Encoding:
    """Return a text, and its parts, between special tokens; the text alone is in the range.

    The type id is 0 for the tokens before, and the text's number for the one after, if there is no
    other for it.
    """
    start, stop = len(before), len(before) + len(encoding)
    plain = replace(
        encoding,
        overflowing=(),
        sequence_ranges=(),
        special_tokens_mask=(0,) * len(encoding),
        attention_mask=(1,) * len(encoding),
    )
    framed = merge(
        [
            _special_encoding(before, 0),
            plain,
            _special_encoding([after], sequence if sep_type is None else sep_type),
        ]
    )
    parts = tuple(
        _frame(replace(part, overflowing=()), before, after, sequence, sep_type)
        for part in encoding.overflowing
    )
    return replace(framed, overflowing=parts, sequence_ranges=((sequence, start, stop),))


def _trim_offsets(encoding: Encoding, *, add_prefix_space: bool) -> Encoding:
    """Return an encoding and its parts with white space taken out of the offsets."""
    parts = (  # a part of a part stays as it is: the library looks no deeper
        replace(part, offsets=_trimmed(part, add_prefix_space)) for part in encoding.overflowing
    )
    offsets = _trimmed(encoding, add_prefix_space)
    return replace(encoding, offsets=offsets, overflowing=tuple(parts))


def _trimmed(encoding: Encoding, add_prefix_space: bool) -> tuple[Span, ...]:
    return tuple(
        _trim_span(token, span, is_prefix=add_prefix_space and (number == 0 or span[0] == 0))
        for number, (token, span) in enumerate(zip(encoding.tokens, encoding.offsets, strict=True))
    )


def _trim_span(token: str, span: Span, *, is_prefix: bool) -> Span:
    """Return the characters of a token without its white space, as its string shows it."""
    start, end = span
    spaces = white_space() + LETTER_OF_BYTE[0x20]
    leading = len(token) - len(token.lstrip(spaces))
    trailing = len(token) - len(token.rstrip(spaces))
    if leading and not (is_prefix and leading == 1):
        start = min(start + leading, end)
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end


class PostProcessor(Protocol):
    """Changes the row of encodings that a text, or a pair of texts, became."""

    def added_tokens(self, *, is_pair: bool) -> int:
        """Return how many tokens it adds to a text or a pair."""

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        """Return the new row."""


def process(
    processor: PostProcessor | None,
    encoding: Encoding,
    pair: Encoding | None = None,
    *,
    add_special_tokens: bool = True,
) -> Encoding:
    """Return the one encoding that a text, or a pair of texts, becomes.

    >>> a, b = (Encoding.of([(n, "ab"[n], (0, 1), 0)], n) for n in (0, 1))
    >>> bert = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    >>> process(bert, a, b).tokens
    ('[CLS]', 'a', '[SEP]', 'b', '[SEP]')
    """
    texts = [encoding] if pair is None else [encoding, pair]
    if processor is None:
        if pair is None:
            return encoding
        return merge(text.of_sequence(number) for number, text in enumerate(texts))
    row = []
    for number, text in enumerate(texts):
        parts = tuple(part.of_sequence(number) for part in text.overflowing)
        row.append(replace(text.of_sequence(number).of_type(number), overflowing=parts))
    return merge(processor.process_encodings(row, add_special_tokens=add_special_tokens))


@dataclass(frozen=True)
class PostProcessorSequence:
    """One post-processor after the other; they add what all of them add.

    >>> bert = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    >>> PostProcessorSequence((bert,)).added_tokens(is_pair=True)
    3
    """

    processors: tuple[PostProcessor, ...]

    def added_tokens(self, *, is_pair: bool) -> int:
        return sum(processor.added_tokens(is_pair=is_pair) for processor in self.processors)

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        row = list(encodings)
        for processor in self.processors:
            row = processor.process_encodings(row, add_special_tokens=add_special_tokens)
        return row


@dataclass(frozen=True)
class ByteLevel:
    """Trims offsets if asked to, and numbers the texts; `use_regex` means nothing here.

    >>> trim = ByteLevel(add_prefix_space=False, trim_offsets=True)
    >>> process(trim, Encoding.of([(0, "Ġa", (0, 2), 0)])).offsets
    ((1, 2),)
    """

    add_prefix_space: bool
    trim_offsets: bool
    use_regex: bool = True

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        check_flag("add_prefix_space", self.add_prefix_space)
        check_flag("trim_offsets", self.trim_offsets)
        check_flag("use_regex", self.use_regex)

    def added_tokens(self, *, is_pair: bool) -> int:
        return 0

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        if self.trim_offsets:
            encodings = [
                _trim_offsets(encoding, add_prefix_space=self.add_prefix_space)
                for encoding in encodings
            ]
        return [encoding.of_sequence(number) for number, encoding in enumerate(encodings)]


@dataclass(frozen=True)
class TemplateProcessing:
    """Puts texts and special tokens in the order of a template: one for a text, one for a pair.

    >>> cls = SpecialToken("[CLS]", (101,), ("[CLS]",))
    >>> from bpe_ref.post_processors.templates import parse_template
    >>> single, pair = map(parse_template, ("[CLS] $A:2", "$A $B"))
    >>> template = TemplateProcessing(single, pair, {"[CLS]": cls})
    >>> process(template, Encoding.of([(0, "a", (0, 1), 0)])).type_ids
    (0, 2)
    """

    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]
    special_tokens: Mapping[str, SpecialToken]

    def added_tokens(self, *, is_pair: bool) -> int:
        pieces = self.pair if is_pair else self.single
        names = [piece.id for piece in pieces if not isinstance(piece, SequencePiece)]
        return sum(
            len(self.special_tokens[name].ids) for name in names if name in self.special_tokens
        )

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        """Return the new row. Raises `VocabularyError` for a piece that stands for nothing."""
        if len(encodings) not in {1, 2}:
            raise VocabularyError(
                f"a template must be given one text or two, got {len(encodings)} parts "
                "from the post-processor before it"
            )
        row = []
        for piece in self.single if len(encodings) == 1 else self.pair:
            if isinstance(piece, SequencePiece):
                number = "AB".index(piece.id)
                if number >= len(encodings):
                    raise VocabularyError(
                        "a template for a single text must not use the sequence B"
                    )
                row.append(encodings[number].of_type(piece.type_id).of_sequence(number))
            elif add_special_tokens:
                if piece.id not in self.special_tokens:
                    raise VocabularyError(
                        f"a template must use special tokens of its own table, got {piece.id!r}"
                    )
                token = self.special_tokens[piece.id]
                named = list(zip(token.tokens, token.ids, strict=True))
                row.append(_special_encoding(named, piece.type_id))
        return row


Frame: TypeAlias = tuple[Sequence[NamedId], Sequence[NamedId]]
"""The tokens before and behind a text."""


def framed(first: Frame, second: Frame = ((), ())) -> TemplateProcessing:
    """Return the template that puts tokens around a text, and around the second one of a pair.

    >>> framed(([("<s>", 0)], [])).added_tokens(is_pair=False)
    1
    """
    special = {
        string: SpecialToken(string, (token,), (string,))
        for string, token in (*first[0], *first[1], *second[0], *second[1])
    }

    def pieces(number: int, frame: Frame) -> tuple[Piece, ...]:
        before, behind = ([SpecialPiece(string, number) for string, _ in one] for one in frame)
        return *before, SequencePiece("AB"[number], number), *behind

    single = pieces(0, first)
    return TemplateProcessing(single, (*single, *pieces(1, second)), special)


@dataclass(frozen=True)
class BertProcessing:
    """Puts `cls` before the first text and `sep` after each.

    >>> BertProcessing(("[SEP]", 102), ("[CLS]", 101)).added_tokens(is_pair=False)
    2
    """

    sep: NamedId
    cls: NamedId

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are tokens."""
        _check_named_id("sep", self.sep)
        _check_named_id("cls", self.cls)

    def added_tokens(self, *, is_pair: bool) -> int:
        return 3 if is_pair else 2

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        if not add_special_tokens:
            return list(encodings)
        return [
            _frame(encoding, [] if number else [self.cls], self.sep, min(number, 1))
            for number, encoding in enumerate(encodings)
        ]


@dataclass(frozen=True)
class RobertaProcessing:
    """Puts `cls` before the first text, `sep` before the others and after each; all of type 0.

    >>> sep, cls = ("</s>", 2), ("<s>", 0)
    >>> roberta = RobertaProcessing(sep, cls, trim_offsets=True, add_prefix_space=True)
    >>> roberta.added_tokens(is_pair=True)
    4
    """

    sep: NamedId
    cls: NamedId
    trim_offsets: bool = True
    add_prefix_space: bool = True

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are tokens and bools."""
        _check_named_id("sep", self.sep)
        _check_named_id("cls", self.cls)
        check_flag("trim_offsets", self.trim_offsets)
        check_flag("add_prefix_space", self.add_prefix_space)

    def added_tokens(self, *, is_pair: bool) -> int:
        return 4 if is_pair else 2

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        row = [encoding.of_type(0) for encoding in encodings]
        if self.trim_offsets:
            row = [
                _trim_offsets(encoding, add_prefix_space=self.add_prefix_space) for encoding in row
            ]
        if not add_special_tokens:
            return row
        framed = []
        for number, encoding in enumerate(row):
            parts = tuple(part.of_type(0) for part in encoding.overflowing)
            before = self.sep if number else self.cls
            plain = replace(encoding, overflowing=parts)
            framed.append(_frame(plain, [before], self.sep, min(number, 1), sep_type=0))
        return framed


POST_PROCESSORS: Final[Mapping[str, type]] = {
    "Sequence": PostProcessorSequence,
    **by_name(ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing),
}
"""The post-processors by the format's type names. Their fields have the format's names."""
