r"""Mutants that cut text into wrong pieces, or change it before they do.

A wrong rule is a change of the pattern's source (`with_pattern`). A wrong table
is shown by letting the right pattern see other characters than are there
(`seen_as`): to whom U+3042 is no letter, it might as well be a section sign.
One character is seen as one, so the pieces lie at the same places.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial, wraps
from typing import Final, TypeAlias

from authoring.mutants.mutant import RIGHT, Witness, bytewise, encode, pieces, preparing, replacing
from bpe_ref import PatternError, TextRules, Vocabulary
from bpe_ref.patterns.unicode_tables import category
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.registry import registered

Cut: TypeAlias = Callable[[str], list[str]]
Cutter: TypeAlias = Callable[[Vocabulary], Cut]
Normalizer: TypeAlias = Callable[[Vocabulary], Callable[[str], str]]

_GPT2: Final = registered("r50k_base").pattern
_CL100K: Final = registered("cl100k_base").pattern
_O200K: Final = registered("o200k_base").pattern

_category: Final = lru_cache(maxsize=1 << 16)(category)

_SIGN: Final = "\u00a7"  # neither letter nor digit nor space
_LETTER: Final = "\u00aa"  # a letter without case


# ---- wrong rules


def with_pattern(vocabulary: Vocabulary, *changes: tuple[str, str]) -> Vocabulary:
    """Replace parts of the pattern's source, where they occur.

    >>> with_pattern(bytewise("a+|b"), ("a+", "a")).text.pattern
    'a|b'
    """
    pattern = vocabulary.text.pattern
    if pattern is None:
        return vocabulary
    for part, other in changes:
        pattern = pattern.replace(part, other)
    return _recut(vocabulary, pattern)


def _recut(vocabulary: Vocabulary, pattern: str | None) -> Vocabulary:
    """Return the vocabulary with another pattern; the same one if that cannot be."""
    if pattern == vocabulary.text.pattern:
        return vocabulary
    if pattern is not None:
        try:
            Pattern(pattern, vocabulary.text.tables)
        except PatternError:
            return vocabulary
    return replace(vocabulary, text=replace(vocabulary.text, pattern=pattern))


# ---- wrong tables


def seen_as(change: Callable[[str], str]) -> Cutter:
    r"""See each character as another one when looking for pieces.

    >>> cutter = seen_as(lambda character: "b" if character == "a" else character)
    >>> cutter(bytewise("b+|c"))("abc")
    ['ab', 'c']
    """
    eyes = _Eyes(change)

    @wraps(change)
    def cutter(vocabulary: Vocabulary) -> Cut:
        cut = RIGHT.cutter(vocabulary)

        def cut_seen(text: str) -> list[str]:
            seen = text.translate(eyes)
            if seen == text:
                return cut(text)
            return [text[start:end] for start, end in _places(cut(seen), seen)]

        return cut_seen

    return cutter


class _Eyes(dict[int, str]):
    """What each code point is seen as, found when it is first asked for."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code_point: int) -> str:
        self[code_point] = self._change(chr(code_point))
        return self[code_point]


def _places(found: list[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where the pieces are in the text, each looked for after the one before it."""
    end = 0
    for piece in found:
        start = text.index(piece, end)
        end = start + len(piece)
        yield start, end


def _is(name: str, character: str) -> bool:
    return _category(ord(character)).startswith(name)


def _sign_if(name: str, character: str, *, below: int = 0x80) -> str:
    """See a character of a category as a sign, from `below` on."""
    return _SIGN if ord(character) >= below and _is(name, character) else character


def _if_in(characters: str, character: str, other: str) -> str:
    """See each of these characters as another one."""
    return other if character in characters else character


_LETTERS_OF_UNICODE_16: Final = "\u1c89\u1c8a\ua7cb\ua7cc\ua7cd\ua7da\ua7db\ua7dc"


def changing(change: Callable[[str], str]) -> Normalizer:
    """Change the text first, whatever else is done to it.

    >>> changing(str.lower)(bytewise())("Ab")
    'ab'
    """

    @wraps(change)
    def normalizer(vocabulary: Vocabulary) -> Callable[[str], str]:
        normalize = RIGHT.normalizer(vocabulary)
        return lambda text: normalize(change(text))

    return normalizer


_nfc: Final = partial(unicodedata.normalize, "NFC")


def _in_nfc(content: str) -> Witness:
    vocabulary = replace(bytewise(), text=TextRules(normalization="nfc"))
    return encode(vocabulary, content)


_CONTRACTIONS: Final = ("'(?i:[sdmt]|ll|ve|re)|", "'(?:[sdmt]|ll|ve|re)|")
_CONTRACTIONS_SPELLED: Final = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"


@preparing(pieces(_CL100K, "'Mx"))
def contractions_case_sensitive(vocabulary: Vocabulary) -> Vocabulary:
    """Contractions are split off only in lower case. GPT-2 does so; cl100k_base does not."""
    return with_pattern(vocabulary, ("(?i:", "(?:"))


@replacing("cutter", pieces(_CL100K, "a'\u017fb"))
@seen_as
def long_s_is_no_s(character: str) -> str:
    """`(?i:'s)` also matches a long s (U+017F) in tiktoken, Oniguruma and regex; written out as
    '[sS] it does not. ggml-org/llama.cpp.
    """
    return _if_in("\u017f", character, "\u00df")


@preparing(pieces(_CL100K, "a'llb"))
def contractions_lost(vocabulary: Vocabulary) -> Vocabulary:
    """There is no rule for contractions."""
    return with_pattern(
        vocabulary,
        *((part, "") for part in _CONTRACTIONS),
        (f"{_CONTRACTIONS_SPELLED}|", ""),
        (f"{_CONTRACTIONS_SPELLED}?", ""),
    )


@preparing(pieces(_CL100K, "12"))
def digits_one_by_one(vocabulary: Vocabulary) -> Vocabulary:
    """Each digit is a piece, as for Llama-2 and Qwen. ggml-org/llama.cpp#6920, #7063."""
    return with_pattern(vocabulary, (r"\p{N}{1,3}+", r"\p{N}"), (r"\p{N}{1,3}", r"\p{N}"))


@preparing(pieces(_CL100K, "1234"))
def digits_without_limit(vocabulary: Vocabulary) -> Vocabulary:
    """Any number of digits is one piece, as for GPT-2. ggml-org/llama.cpp#6920."""
    return with_pattern(
        vocabulary,
        (r"\p{N}{1,3}+", r"\p{N}++"),
        (r"\p{N}{1,3}", r"\p{N}+"),
        (r"|\p{N}|", r"|\p{N}+|"),
    )


@preparing(pieces(_CL100K, "1234"))
def digits_from_the_right(vocabulary: Vocabulary) -> Vocabulary:
    """Digits are grouped in threes from the right, as people write them."""
    return with_pattern(
        vocabulary,
        (r"\p{N}{1,3}+", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"),
        (r"\p{N}{1,3}|", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|"),
    )


@preparing(pieces(_CL100K, "2\u00b2"))
def only_decimal_digits(vocabulary: Vocabulary) -> Vocabulary:
    r"""`\d` is used instead of `\p{N}`, so superscripts, fractions and Roman numerals are
    punctuation. umran666/UniqToken#17.
    """
    return with_pattern(vocabulary, (r"\p{N}", r"\p{Nd}"))


@replacing("cutter", pieces(_CL100K, "1\u0662"))
@seen_as
def only_ascii_digits(character: str) -> str:
    """Only 0 to 9 are digits."""
    return _sign_if("N", character)


@replacing("cutter", pieces(_CL100K, "na\u00efve"))
@seen_as
def only_ascii_letters(character: str) -> str:
    """Only A to Z and a to z are letters. Seen in teaching code."""
    return _sign_if("L", character)


@preparing(pieces(_CL100K, "\u6f22a"))
def only_cased_letters(vocabulary: Vocabulary) -> Vocabulary:
    """Only letters of the categories Lu and Ll form words."""
    return with_pattern(vocabulary, (r"\p{L}+", r"[\p{Lu}\p{Ll}]+"))


@replacing("cutter", pieces(_CL100K, "a\U0001d51e"))
@seen_as
def no_letters_beyond_the_first_plane(character: str) -> str:
    """Letters from U+10000 on are read as two signs each by a regular expression that works on
    UTF-16.
    """
    return _sign_if("L", character, below=0x10000)


@replacing("cutter", pieces(_CL100K, "a\u00aab"))
@seen_as
def ordinal_signs_are_signs(character: str) -> str:
    """The letters of Latin-1 without case are not in the table."""
    return _if_in("\u00aa\u00ba", character, _SIGN)


@replacing("cutter", pieces(_CL100K, "\U00010107" * 4))
@seen_as
def no_numbers_beyond_the_first_plane(character: str) -> str:
    """Numbers beyond U+FFFF that are not digits are signs."""
    beyond = character > "\uffff" and _category(ord(character)) in {"No", "Nl"}
    return _SIGN if beyond else character


@replacing("cutter", pieces(_CL100K, "a\u24b6b"))
@seen_as
def circled_letters_are_letters(character: str) -> str:
    """Symbols that Unicode calls alphabetic are letters."""
    return _LETTER if "\u24b6" <= character <= "\u24e9" else character


@replacing("cutter", pieces(_CL100K, "a\u3042"))
@seen_as
def letters_without_case_are_signs(character: str) -> str:
    """Letters of scripts without case (Lo) are not letters. ggml-org/llama.cpp#6920."""
    return _sign_if("Lo", character)


@replacing("cutter", pieces(_CL100K, "a\u02b0"))
@seen_as
def modifier_letters_are_signs(character: str) -> str:
    """Modifier letters (Lm) are not letters."""
    return _sign_if("Lm", character)


@replacing("cutter", pieces(_CL100K, "e\u0301a"))
@seen_as
def marks_are_letters(character: str) -> str:
    r"""`\w` is used instead of `\p{L}`, so combining marks are letters. umran666/UniqToken#17."""
    return _LETTER if _is("M", character) else character


@replacing("cutter", pieces(_CL100K, "a_b"))
@seen_as
def underscore_is_a_letter(character: str) -> str:
    r"""`\w` is used instead of `\p{L}`, so the underscore is a letter."""
    return _if_in("_", character, "a")


@replacing("cutter", pieces(_CL100K, "a\u1c89"))
@seen_as
def older_unicode(character: str) -> str:
    """The letters that Unicode 16.0 added are unknown because the table is older, like that of
    Python 3.11.
    """
    return _if_in(_LETTERS_OF_UNICODE_16, character, _SIGN)


@replacing("cutter", pieces(_CL100K, "a\u088f"))
@seen_as
def newer_unicode(character: str) -> str:
    """U+088F is a letter, as in Unicode 17.0; the tested engines follow 16.0."""
    return _if_in("\u088f", character, _LETTER)


@replacing("cutter", pieces(_CL100K, "\x1c\x1ca"))
@seen_as
def separators_are_space(character: str) -> str:
    r"""U+001C to U+001F are white space, as in Python's `\s` but in no engine.
    umran666/UniqToken#17.
    """
    return _if_in("\x1c\x1d\x1e\x1f", character, "\t")


@replacing("cutter", pieces(_CL100K, "\u3000\u3000a"))
@seen_as
def only_ascii_is_space(character: str) -> str:
    """White space beyond ASCII is treated as punctuation. ggml-org/llama.cpp#7530."""
    return _SIGN if character.isspace() and not character.isascii() else character


@replacing("cutter", pieces(_CL100K, " \x850"))
@seen_as
def next_line_is_no_space(character: str) -> str:
    """U+0085 is treated as punctuation. tiktoken has a test for it after a report."""
    return _if_in("\x85", character, _SIGN)


@replacing("cutter", pieces(_CL100K, " \u00a0a"))
@seen_as
def no_break_space_is_no_space(character: str) -> str:
    """U+00A0 and the narrow no-break spaces are treated as punctuation, as by Python bytes and by
    Java.
    """
    return _if_in("\u00a0\u2007\u202f", character, _SIGN)


@replacing("cutter", pieces(_CL100K, "\x0b\x0ba"))
@seen_as
def vertical_tab_is_no_space(character: str) -> str:
    r"""U+000B is treated as punctuation, as by the `\s` of Perl before 5.18."""
    return _if_in("\x0b", character, _SIGN)


@replacing("cutter", pieces(_CL100K, "\ufeffa"))
@seen_as
def zero_width_is_space(character: str) -> str:
    """U+200B, U+FEFF and U+180E are white space, as U+FEFF is in JavaScript.
    NVIDIA/TensorRT-Model-Connect#1322 shows the set.
    """
    return _if_in("\u200b\ufeff\u180e", character, "\n")


@preparing(pieces(_CL100K, "a  b"))
def last_space_stays_in_run(vocabulary: Vocabulary) -> Vocabulary:
    r"""`\s+(?!\S)` is missing, so a run of spaces keeps the last one, which belongs to the next
    word. After rasbt/LLMs-from-scratch#944.
    """
    return with_pattern(vocabulary, (r"\s+(?!\S)|\s+", r"\s+"), (r"\s+(?!\S)|\s", r"\s+"))


@preparing(pieces(_CL100K, "\n  a"))
def line_ends_do_not_cut(vocabulary: Vocabulary) -> Vocabulary:
    r"""`\s*[\r\n]` is missing, so white space is not cut after a line end.
    ggml-org/llama.cpp#7063.
    """
    return with_pattern(vocabulary, (r"|\s*[\r\n]+", ""), (r"|\s*[\r\n]", ""))


@preparing(pieces(_CL100K, "\ra"))
def carriage_return_forgotten(vocabulary: Vocabulary) -> Vocabulary:
    """Only U+000A ends a line."""
    return with_pattern(vocabulary, (r"\r\n", r"\n"))


@preparing(pieces(_CL100K, ".\n"))
def line_ends_leave_signs(vocabulary: Vocabulary) -> Vocabulary:
    r"""`[\r\n]*` after punctuation is missing."""
    return with_pattern(vocabulary, (r"[\r\n]*+", ""), (r"[\r\n]*", ""), (r"[\r\n/]*", "[/]*"))


@preparing(pieces(_O200K, ".\n/"))
def slash_leaves_signs(vocabulary: Vocabulary) -> Vocabulary:
    r"""The slash in o200k_base's `[\r\n/]*` is missing, as in cl100k_base."""
    return with_pattern(vocabulary, (r"[\r\n/]*", r"[\r\n]*"))


@preparing(pieces(_CL100K, "(a"))
def only_spaces_lead_words(vocabulary: Vocabulary) -> Vocabulary:
    """A word includes a space before it but no other character, as in GPT-2."""
    return with_pattern(
        vocabulary, (r"[^\r\n\p{L}\p{N}]?+\p{L}", r" ?\p{L}"), (r"[^\r\n\p{L}\p{N}]?", " ?")
    )


@preparing(pieces(_CL100K, " a"))
def nothing_leads_words(vocabulary: Vocabulary) -> Vocabulary:
    """A word does not include the space before it. Seen in teaching code."""
    return with_pattern(
        vocabulary,
        (r"[^\r\n\p{L}\p{N}]?+\p{L}", r"\p{L}"),
        (r"[^\r\n\p{L}\p{N}]?", ""),
        (r" ?\p{L}", r"\p{L}"),
    )


@preparing(pieces(_CL100K, " ."))
def nothing_leads_signs(vocabulary: Vocabulary) -> Vocabulary:
    """Punctuation does not include the space before it."""
    return with_pattern(vocabulary, (r" ?[^\s", r"[^\s"))


@preparing(pieces(_CL100K, "1234"))
def gpt2_pattern_for_all(vocabulary: Vocabulary) -> Vocabulary:
    """GPT-2's pattern is used for every vocabulary. ggml-org/llama.cpp#6920."""
    has_words = r"\p{L" in (vocabulary.text.pattern or "")
    return _recut(vocabulary, _GPT2) if has_words else vocabulary


@preparing(pieces(_CL100K, "a b"))
def pattern_ignored(vocabulary: Vocabulary) -> Vocabulary:
    """The text is not cut at all. ggml-org/llama.cpp#3502."""
    return _recut(vocabulary, None)


@preparing(pieces(_O200K, "aB"))
def case_does_not_cut(vocabulary: Vocabulary) -> Vocabulary:
    """The words of o200k_base are letters of any case."""
    return with_pattern(
        vocabulary,
        (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+", r"[\p{L}\p{M}]+"),
    )


@replacing("cutter", pieces(_O200K, "a\u01c5"))
@seen_as
def title_case_is_lower_case(character: str) -> str:
    """A title-case letter (Lt) is treated as a lower-case one."""
    return "a" if _is("Lt", character) else character


@preparing(pieces(_O200K, "a\u0301\u0301b"))
def marks_cut_words(vocabulary: Vocabulary) -> Vocabulary:
    r"""`\p{M}` is missing in o200k_base's words."""
    return with_pattern(vocabulary, (r"\p{M}", ""))


@preparing(pieces(r"a+$|a|\n", "aa\n"))
def end_before_last_line_end(vocabulary: Vocabulary) -> Vocabulary:
    """`$` also matches before a final line end, as in Python but not in Rust."""
    return with_pattern(vocabulary, ("$", r"(?=\n?\z)"))


@replacing("cutter", pieces("[a-z]+", "ab12cd"))
def unmatched_text_kept(vocabulary: Vocabulary) -> Cut:
    """Text that the pattern does not match becomes a piece; tiktoken drops it."""
    cut = RIGHT.cutter(vocabulary)

    def cut_and_fill(text: str) -> list[str]:
        kept: list[str] = []
        covered = 0
        for start, end in _places(cut(text), text):
            kept += [text[covered:start], text[start:end]]
            covered = end
        return [piece for piece in (*kept, text[covered:]) if piece]

    return cut_and_fill


@replacing("cutter", pieces("[a-z]+", "ab12cd"))
def unmatched_text_ends_all(vocabulary: Vocabulary) -> Cut:
    """Everything after text that the pattern does not match is dropped. GitHub's bpe-openai."""
    cut = RIGHT.cutter(vocabulary)

    def cut_until(text: str) -> list[str]:
        kept: list[str] = []
        covered = 0
        for start, end in _places(cut(text), text):
            if start > covered:
                break
            kept.append(text[start:end])
            covered = end
        return kept

    return cut_until


@replacing("normalizer", encode(bytewise(), "e\u0301"))
@changing
def nfc_always(text: str) -> str:
    """Text is put into Normalization Form C although the vocabulary does not ask for it."""
    return unicodedata.normalize("NFC", text)


@replacing("normalizer", _in_nfc("e\u0301"))
def nfc_never(_: Vocabulary) -> Callable[[str], str]:
    """Text is not normalized although the vocabulary asks for it."""
    return str


@replacing("normalizer", _in_nfc("\ufb01"))
def nfkc_for_nfc(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Form KC is used instead of form C. google/sentencepiece#185 shows the cost."""
    if vocabulary.text.normalization is None:
        return str
    return lambda text: unicodedata.normalize("NFKC", text)


@replacing("normalizer", _in_nfc("\uac00\u11a7"))
def nfc_takes_11a7_for_a_final(vocabulary: Vocabulary) -> Callable[[str], str]:
    """U+11A7 composes with a syllable before it, as if it were a final consonant."""
    return _nfc_by(vocabulary, lambda text: re.sub("([\uac00-\ud7a3])\u11a7", r"\1", _nfc(text)))


@replacing("normalizer", _in_nfc("\uac00\u11c2"))
def nfc_leaves_the_last_final(vocabulary: Vocabulary) -> Callable[[str], str]:
    """U+11C2, the last of the final consonants, never composes."""
    return _nfc_by(vocabulary, lambda text: "\u11c2".join(map(_nfc, text.split("\u11c2"))))


@replacing("normalizer", _in_nfc("\U00011099\U000110ba"))
def nfc_of_the_first_plane(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Nothing beyond U+FFFF is composed or decomposed."""
    parts = re.compile("[\U00010000-\U0010ffff]+|[^\U00010000-\U0010ffff]+")
    return _nfc_by(
        vocabulary,
        lambda text: "".join(
            part if part[0] > "\uffff" else _nfc(part) for part in parts.findall(text)
        ),
    )


@replacing("normalizer", _in_nfc("e" + "\u0301" * 33 + "\u0323"))
def nfc_sorts_32_marks(vocabulary: Vocabulary) -> Callable[[str], str]:
    """A buffer has room for 32 marks; those behind them are sorted by themselves."""

    def change(text: str) -> str:
        full = re.sub("([\u0300-\u036f]{32})(?=[\u0300-\u036f])", "\\1\uf8ff", text)
        return _nfc(full).replace("\uf8ff", "")

    return _nfc_by(vocabulary, change)


def _nfc_by(vocabulary: Vocabulary, change: Callable[[str], str]) -> Callable[[str], str]:
    """Return the wrong NFC where the vocabulary asks for NFC."""
    return RIGHT.normalizer(vocabulary) if vocabulary.text.normalization is None else change


@replacing("normalizer", encode(bytewise(), "A"))
@changing
def lower_cased(text: str) -> str:
    """Text is converted to lower case. After BERT's tokenizers."""
    return text.lower()


@replacing("normalizer", encode(bytewise(), "a\r\nb"))
@changing
def line_ends_unified(text: str) -> str:
    r"""`\r\n` becomes `\n`, as when a file is read as text."""
    return text.replace("\r\n", "\n")


@replacing("normalizer", encode(bytewise(), "\ufeffa"))
@changing
def byte_order_mark_stripped(text: str) -> str:
    """U+FEFF at the start is dropped."""
    return text.removeprefix("\ufeff")


@replacing("normalizer", encode(bytewise(), " a\n"))
@changing
def outer_space_stripped(text: str) -> str:
    """White space at both ends is dropped."""
    return text.strip()


@replacing("normalizer", encode(bytewise(), "a  b"))
@changing
def spaces_collapsed(text: str) -> str:
    """Several spaces become one. huggingface/transformers#25069."""
    return re.sub("  +", " ", text)


@replacing("normalizer", encode(bytewise(), "a"))
@changing
def space_put_in_front(text: str) -> str:
    """A space is put before the text, as Llama-2 and SentencePiece do."""
    return f" {text}" if text[:1].strip() else text


@replacing("normalizer", encode(bytewise(), "a\0b"))
@changing
def controls_removed(text: str) -> str:
    """Control characters are dropped, as BERT's tokenizers do."""
    return "".join(c for c in text if c in "\t\n\r" or _category(ord(c)) != "Cc")


@replacing("normalizer", encode(bytewise(), "<0x40>"))
@changing
def spelled_byte_read_as_byte(text: str) -> str:
    """The text `<0x40>` becomes the byte 0x40. zml/zml#37."""
    return re.sub("<0x([0-7][0-9A-F])>", lambda found: chr(int(found[1], 16)), text)
