"""Mutants whose pre-tokenizers cut text into other pieces."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.pipelines import Cutting, answering_pipeline, changed, component, tokenizes
from bpe_ref.aligned_text import AlignedText
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import (
    BertPreTokenizer,
    Digits,
    Punctuation,
    Whitespace,
    WhitespaceSplit,
)
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.sequence import Sequence
from bpe_ref.pre_tokenizers.split_by_pattern import CharDelimiterSplit, FixedLength, Split
from bpe_ref.pre_tokenizers.splitting import split
from bpe_ref.pre_tokenizers.unicode_scripts import UnicodeScripts
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import PipelineSession

_ASCII_MARKS: Final = "!\"#%&'()*,-./:;?@[\\]_{}"  # of category P
_ASCII_SYMBOLS: Final = "$+<=>^`|~"
_BEHAVED: Final = (Split, Punctuation)


def _runs(text: str, is_member: Callable[[str], bool]) -> list[tuple[int, int, bool]]:
    """Return members one by one, and the stretches between them."""
    found: list[tuple[int, int, bool]] = []
    for at, letter in enumerate(text):
        member = is_member(letter)
        if found and not member and not found[-1][2]:
            found[-1] = (found[-1][0], at + 1, False)
        else:
            found.append((at, at + 1, member))
    return found


def _cut_at(is_member: Callable[[str], bool], behavior: str) -> Cutting:
    return Cutting(lambda text: split(text, _runs(text.text, is_member), behavior))


def _behaving(right: Any, before: str, after: str) -> Any:
    return replace(right, behavior=after) if right.behavior == before else right


def _source_without(right: Split, part: str, instead: str) -> Split:
    """Write an expression otherwise."""
    pattern = right.pattern
    if not isinstance(pattern, Regex):
        return right
    return replace(right, pattern=Regex(pattern.source.replace(part, instead)))


def _scheme(right: Metaspace, before: str, after: str) -> Metaspace:
    return replace(right, prepend_scheme=after) if right.prepend_scheme == before else right


def _is_space(letter: str) -> bool:
    return letter.isspace() and not "\x1c" <= letter <= "\x1f"


@component("pre_tokenizer", Split, tokenizes("pre_split_text_digits", "a1"))
def tokenize_split_text_as_expression(right: Split) -> Split:
    r"""The text \d of a Split is used as a regular expression; it must never match.
    ggml-org/llama.cpp#29211.
    """
    pattern = right.pattern
    if not isinstance(pattern, Literal) or pattern.text not in {".", r"\d"}:
        return right
    return replace(right, pattern=Regex(pattern.text))


@component("pre_tokenizer", Split, tokenizes("pre_split_digits", "a1"))
def tokenize_split_expression_as_text(right: Split) -> Split:
    """The regular expression of a Split is used as plain text. ggml-org/llama.cpp#29211."""
    pattern = right.pattern
    return replace(right, pattern=Literal(pattern.source)) if isinstance(pattern, Regex) else right


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_removed", "a-b"))
def tokenize_removed_is_isolated(right: Any) -> Any:
    """Matches that should be removed become pieces."""
    return _behaving(right, "Removed", "Isolated")


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_isolated", "a-b"))
def tokenize_isolated_is_removed(right: Any) -> Any:
    """Matches that should become pieces are removed."""
    return _behaving(right, "Isolated", "Removed")


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_isolated", "--"))
def tokenize_isolated_is_contiguous(right: Any) -> Any:
    """Adjacent matches are one piece where each should be one."""
    return _behaving(right, "Isolated", "Contiguous")


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_contiguous", "--"))
def tokenize_contiguous_is_isolated(right: Any) -> Any:
    """Each match is a piece where adjacent matches should be one."""
    return _behaving(right, "Contiguous", "Isolated")


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_merged_with_previous", "a-b"))
def tokenize_previous_is_next(right: Any) -> Any:
    """Matches begin the next piece instead of ending the one before."""
    return _behaving(right, "MergedWithPrevious", "MergedWithNext")


@component("pre_tokenizer", _BEHAVED, tokenizes("pre_split_merged_with_next", "a-b"))
def tokenize_next_is_previous(right: Any) -> Any:
    """Matches end the piece before instead of beginning the next one."""
    return _behaving(right, "MergedWithNext", "MergedWithPrevious")


@component("pre_tokenizer", Split, tokenizes("pre_split_invert_removed", "a-b"))
def tokenize_invert_ignored(right: Split) -> Any:
    """The matches are used instead of the text between them."""
    return replace(right, invert=False) if right.invert else right


@component("pre_tokenizer", Split, tokenizes("pre_split_lines", "a\n#"))
def tokenize_split_anchored_once(right: Split) -> Any:
    """^ matches only at the start of the text, unlike in Ruby's regular expressions.
    huggingface/tokenizers.js#24.
    """
    return _source_without(right, "^", r"\A")


@component("pre_tokenizer", Split, tokenizes("pre_split_folded", "aTHE"))
def tokenize_split_case_sensitive(right: Split) -> Any:
    """The flag (?i) is ignored. huggingface/tokenizers.js#35."""
    return _source_without(right, "(?i:", "(?:")


@component("pre_tokenizer", Split, tokenizes("pre_split_digits", "1234"))
def tokenize_split_digits_without_limit(right: Split) -> Any:
    """Digits are not cut into groups of three. ggml-org/llama.cpp#6920."""
    return _source_without(right, "{1,3}", "+")


@component("pre_tokenizer", Split, tokenizes("pre_split_ahead", "a  b"))
def tokenize_split_without_look_ahead(right: Split) -> Any:
    """The last space of a run stays with the run. huggingface/transformers#25069."""
    return _source_without(right, r"|\s+(?!\S)", "")


@component("pre_tokenizer", Split, tokenizes("pre_split_empty", "ab"))
def tokenize_split_empty_never(right: Split) -> Any:
    """The empty text matches nowhere, as a comment in the library's source claims."""
    return Sequence(()) if right.pattern == Literal("") else right


@component("pre_tokenizer", Digits, tokenizes("pre_digits", "a٤"))
def tokenize_digits_ascii(right: Digits) -> Any:
    """Only ASCII digits are numbers."""
    return _cut_at(
        lambda letter: letter.isascii() and letter.isdigit(),
        "Isolated" if right.individual_digits else "Contiguous",
    )


@component("pre_tokenizer", Digits, tokenizes("pre_digits", "a½"))
def tokenize_digits_decimal(right: Digits) -> Any:
    """Only decimal digits are numbers, not fractions or Roman numerals."""
    return _cut_at(str.isdecimal, "Isolated" if right.individual_digits else "Contiguous")


@component("pre_tokenizer", Digits, tokenizes("pre_digits", "12"))
def tokenize_digits_always_together(right: Digits) -> Any:
    """Digits stay together where each should be a piece."""
    return replace(right, individual_digits=False) if right.individual_digits else right


@component("pre_tokenizer", Digits, tokenizes("pre_digits_whole", "12"))
def tokenize_digits_always_apart(right: Digits) -> Any:
    """Each digit is a piece where they should stay together."""
    return right if right.individual_digits else replace(right, individual_digits=True)


@component("pre_tokenizer", Punctuation, tokenizes("pre_punctuation_isolated", "a。"))
def tokenize_punctuation_ascii(right: Punctuation) -> Any:
    """Only ASCII characters are punctuation."""
    return _cut_at(lambda x: x in _ASCII_MARKS + _ASCII_SYMBOLS, right.behavior)


@component("pre_tokenizer", Punctuation, tokenizes("pre_punctuation_isolated", "a$"))
def tokenize_punctuation_without_symbols(right: Punctuation) -> Any:
    """ASCII symbols such as the dollar sign are not punctuation. huggingface/tokenizers#1057."""
    return _cut_at(lambda x: x in _ASCII_MARKS or x in "“”…。、", right.behavior)


@component("pre_tokenizer", Whitespace, tokenizes("pre_whitespace", "a."))
def tokenize_whitespace_keeps_signs(_: Whitespace) -> Any:
    """Whitespace splits only at white space and does not separate words from punctuation."""
    return WhitespaceSplit()


@component("pre_tokenizer", WhitespaceSplit, tokenizes("pre_whitespace_split", "a."))
def tokenize_whitespace_split_cuts_signs(_: WhitespaceSplit) -> Any:
    """WhitespaceSplit also separates words from punctuation."""
    return Whitespace()


@component("pre_tokenizer", WhitespaceSplit, tokenizes("pre_whitespace_split", "a b"))
def tokenize_white_space_kept(_: WhitespaceSplit) -> Any:
    """White space becomes a piece instead of being removed."""
    return _cut_at(_is_space, "Isolated")


@component("pre_tokenizer", WhitespaceSplit, tokenizes("pre_whitespace_split", "a\u3000b"))
def tokenize_white_space_ascii(_: WhitespaceSplit) -> Any:
    """Only ASCII white space separates. ggml-org/llama.cpp#7530."""
    return _cut_at(lambda letter: letter in " \t\n\r\f\v", "Removed")


@component("pre_tokenizer", CharDelimiterSplit, tokenizes("pre_delimiter", "a_b"))
def tokenize_delimiter_kept(right: CharDelimiterSplit) -> Any:
    """The delimiter becomes a piece instead of being removed."""
    return Split(Literal(right.delimiter), "Isolated", invert=False)


@component("pre_tokenizer", BertPreTokenizer, tokenizes("pre_bert", "a."))
def tokenize_bert_cuts_no_signs(_: BertPreTokenizer) -> Any:
    """BERT's pre-tokenizer splits only at white space."""
    return WhitespaceSplit()


@component("pre_tokenizer", BertPreTokenizer, tokenizes("pre_bert", ".."))
def tokenize_bert_signs_together(_: BertPreTokenizer) -> Any:
    """BERT's pre-tokenizer keeps adjacent punctuation together."""
    return Sequence((WhitespaceSplit(), Punctuation("Contiguous")))


def _unlike(right: Any, hidden: str, other: str) -> Cutting:
    """Return a pre-tokenizer that sees each of these characters as another one."""

    def rule(text: AlignedText) -> list[AlignedText]:
        seen = text.text.translate(dict.fromkeys(map(ord, hidden), other))
        places = right.cut(AlignedText.of(seen))
        return [text.slice(piece.start, piece.end) for piece in places]

    return Cutting(rule)


@component("pre_tokenizer", BertPreTokenizer, tokenizes("pre_bert", "a\U00010100b"))
def tokenize_bert_signs_of_plane_0(right: BertPreTokenizer) -> Any:
    """Punctuation beyond U+FFFF is none."""
    return _unlike(right, "\U00010100", "x")


@component("pre_tokenizer", BertPreTokenizer, tokenizes("pre_bert", "a\u203fb"))
def tokenize_bert_connectors_are_letters(right: BertPreTokenizer) -> Any:
    """Punctuation that connects, apart from the underscore, belongs to words."""
    return _unlike(right, "\u203f\u2040\u2054\ufe33\ufe34\uff3f", "x")


@component("pre_tokenizer", BertPreTokenizer, tokenizes("pre_bert", "a\x85b"))
def tokenize_bert_next_line_is_no_space(right: BertPreTokenizer) -> Any:
    """U+0085 is no white space."""
    return _unlike(right, "\x85", "x")


@component("pre_tokenizer", UnicodeScripts, tokenizes("pre_scripts", "日か"))
def tokenize_scripts_kana_apart(_: UnicodeScripts) -> Cutting:
    """Hiragana and Katakana are separate scripts, as in Unicode but not in the library."""
    right = UnicodeScripts()

    def kind(letter: str) -> int:
        return 1 + (letter >= "\u30a0") if "\u3040" <= letter <= "\u30ff" else 0

    def rule(text: AlignedText) -> list[AlignedText]:
        pieces = []
        for piece in right.cut(text):
            start = 0
            for at in range(1, len(piece.text) + 1):
                ends = at == len(piece.text)
                if ends or kind(piece.text[at]) != kind(piece.text[at - 1]):
                    pieces.append(piece.slice(start, at))
                    start = at
        return pieces

    return Cutting(rule)


@component("pre_tokenizer", UnicodeScripts, tokenizes("pre_scripts", "カー"))
def tokenize_scripts_long_mark_common(right: UnicodeScripts) -> Cutting:
    """U+30FC is of the script Common, as in Unicode but not in the library."""
    return _unlike(right, "ー", ",")


@component("pre_tokenizer", UnicodeScripts, tokenizes("pre_scripts", " a"))
def tokenize_scripts_leading_kept(_: UnicodeScripts) -> Cutting:
    """Text before the first letter with a script is kept."""
    right = UnicodeScripts()

    def rule(text: AlignedText) -> list[AlignedText]:
        pieces = right.cut(text)
        lost = len(text.text) - sum(len(piece.text) for piece in pieces)
        return [text.slice(0, lost), *pieces] if lost else pieces

    return Cutting(rule)


@component("pre_tokenizer", FixedLength, tokenizes("pre_fixed_length", "éaa"))
def tokenize_fixed_length_of_bytes(right: FixedLength) -> Cutting:
    """The length is counted in bytes."""

    def rule(text: AlignedText) -> list[AlignedText]:
        pieces = []
        start = 0
        for at in range(1, len(text.text) + 1):
            ends = at == len(text.text)
            if ends or len(text.text[start : at + 1].encode()) > right.length:
                pieces.append(text.slice(start, at))
                start = at
        return pieces

    return Cutting(rule)


@component("pre_tokenizer", FixedLength, tokenizes("pre_fixed_length", "a"))
def tokenize_fixed_length_no_rest(right: FixedLength) -> Cutting:
    """The last piece, which is shorter, is dropped."""
    return Cutting(
        lambda text: [piece for piece in right.cut(text) if len(piece.text) == right.length]
    )


@component("pre_tokenizer", FixedLength, tokenizes("pre_fixed_length", "aaaa"))
def tokenize_fixed_length_default(_: FixedLength) -> Any:
    """The length is not read from the file."""
    return FixedLength()


@component("pre_tokenizer", Metaspace, tokenizes("added_metaspace", "i<s>a"))
def tokenize_metaspace_always(right: Metaspace) -> Any:
    """An underline is put before each stretch of text, even after special tokens.
    huggingface/transformers#24569, #27230.
    """
    return _scheme(right, "first", "always")


@component("pre_tokenizer", Metaspace, tokenizes("added_always", "a<s>a"))
def tokenize_metaspace_first_only(right: Metaspace) -> Any:
    """An underline is put only before the first stretch of text where all should have one.
    huggingface/transformers#23889.
    """
    return _scheme(right, "always", "first")


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_always", "a"))
def tokenize_metaspace_never(right: Metaspace) -> Any:
    """No underline is put in front of a text. huggingface/transformers#25700."""
    return replace(right, prepend_scheme="never")


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_never", "a"))
def tokenize_metaspace_never_ignored(right: Metaspace) -> Any:
    """An underline is put in front although the scheme is never."""
    return _scheme(right, "never", "always")


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_always", " a"))
def tokenize_metaspace_twice(right: Metaspace) -> Any:
    """A text that begins with a space gets one more underline. huggingface/transformers#25700."""
    if right.prepend_scheme == "never":
        return right
    bare = replace(right, prepend_scheme="never")
    is_first = right.prepend_scheme == "first"
    return Cutting(
        lambda text: bare.cut(text if is_first and text.start else text.prepend(right.replacement))
    )


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_whole", "a b"))
def tokenize_metaspace_always_splits(right: Metaspace) -> Any:
    """Text is cut at spaces where split is false."""
    return right if right.split else replace(right, split=True)


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_always", "a b"))
def tokenize_metaspace_never_splits(right: Metaspace) -> Any:
    """Text is not cut at spaces where split is true."""
    return replace(right, split=False) if right.split else right


@component("pre_tokenizer", Metaspace, tokenizes("pre_metaspace_letter", "a"))
def tokenize_metaspace_usual_letter(right: Metaspace) -> Any:
    """U+2581 replaces spaces, whatever the file says."""
    return replace(right, replacement="\u2581")


@component("pre_tokenizer", ByteLevel, tokenizes("pre_byte_level_space", "a"))
def tokenize_byte_level_no_prefix(right: ByteLevel) -> Any:
    """No space is put in front of a text."""
    return replace(right, add_prefix_space=False)


@component("pre_tokenizer", ByteLevel, tokenizes("pre_byte_level", "a"))
def tokenize_byte_level_prefix_always(right: ByteLevel) -> Any:
    """A space is put in front although the file does not say so."""
    return replace(right, add_prefix_space=True)


@component("pre_tokenizer", ByteLevel, tokenizes("pre_byte_level_space", " a"))
def tokenize_byte_level_prefix_twice(right: ByteLevel) -> Any:
    """A text that begins with a space gets another one in front."""
    if not right.add_prefix_space:
        return right
    bare = replace(right, add_prefix_space=False)
    return Cutting(lambda text: bare.cut(text.prepend(" ")))


@component("pre_tokenizer", ByteLevel, tokenizes("pre_byte_level", "a b"))
def tokenize_byte_level_pattern_ignored(right: ByteLevel) -> Any:
    """Text is not split by GPT-2's pattern."""
    return replace(right, use_regex=False)


@component("pre_tokenizer", ByteLevel, tokenizes("pre_byte_level_whole", "a  b"))
def tokenize_byte_level_pattern_always(right: ByteLevel) -> Any:
    """Text is split by GPT-2's pattern although use_regex is false."""
    return replace(right, use_regex=True)


@component("pre_tokenizer", object, tokenizes("pre_digits", "a1"))
def tokenize_not_cut(_: object) -> None:
    """The pre-tokenizer is not read from the file. ggml-org/llama.cpp#3502."""


@component("pre_tokenizer", Sequence, tokenizes("pre_sequence", "a."))
def tokenize_first_cutter_only(right: Sequence) -> Sequence:
    """Only the first pre-tokenizer of a sequence is used. ggml-org/llama.cpp#3502."""
    return Sequence(right.pretokenizers[:1])


@component("pre_tokenizer", Sequence, tokenizes("pre_sequence", "a b"))
def tokenize_last_cutter_only(right: Sequence) -> Sequence:
    """Only the last pre-tokenizer of a sequence is used. ggml-org/llama.cpp#6920."""
    return Sequence(right.pretokenizers[-1:])


@answering_pipeline(tokenizes("added_metaspace", "a<s>a"))
def tokenize_cache_forgets_first(
    right: PipelineSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Pieces are cached by the text of a stretch alone although the first stretch is split
    differently.
    """

    def remembering(metaspace: Metaspace) -> Any:
        if metaspace.prepend_scheme != "first":
            return metaspace
        known: dict[str, bool] = {}

        def rule(text: AlignedText) -> list[AlignedText]:
            is_first = known.setdefault(text.text, text.start == 0)
            return replace(metaspace, prepend_scheme="always" if is_first else "never").cut(text)

        return Cutting(rule)

    wrong = changed("pre_tokenizer", Metaspace, remembering, right.tokenizer)
    return PipelineSession(wrong, right.unknown_ids).answer(op, request)
