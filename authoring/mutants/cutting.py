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
from functools import lru_cache
from typing import Final

from authoring.mutants.mutant import (
    Mutant,
    Prepare,
    Witness,
    bytewise,
    encode,
    mutant,
    pieces,
)
from bpe_ref import PatternError, Pretokenizer, Steps, TextRules, Vocabulary
from bpe_ref.patterns.unicode_tables import category
from bpe_ref.registry import registered

Cut = Callable[[str], list[str]]

_GPT2: Final = registered("r50k_base").pattern
_CL100K: Final = registered("cl100k_base").pattern
_O200K: Final = registered("o200k_base").pattern

_cutter: Final = Steps().cutter
_category: Final = lru_cache(maxsize=1 << 16)(category)

_SIGN: Final = "\u00a7"  # neither letter nor digit nor space
_LETTER: Final = "\u00aa"  # a letter without case


# ---- wrong rules


def with_pattern(*changes: tuple[str, str]) -> Prepare:
    """Return what replaces parts of the pattern's source, where they occur.

    >>> with_pattern(("a+", "a"))(bytewise("a+|b")).text.pattern
    'a|b'
    """

    def prepare(vocabulary: Vocabulary) -> Vocabulary:
        old = vocabulary.text.pattern
        if old is None:
            return vocabulary
        new = old
        for part, other in changes:
            new = new.replace(part, other)
        return _recut(vocabulary, new)

    return prepare


def _recut(vocabulary: Vocabulary, pattern: str | None) -> Vocabulary:
    """Return the vocabulary with another pattern; the same one if that cannot be."""
    if pattern == vocabulary.text.pattern:
        return vocabulary
    if pattern is not None:
        try:
            Pretokenizer(pattern, vocabulary.text.tables)
        except PatternError:
            return vocabulary
    return replace(vocabulary, text=replace(vocabulary.text, pattern=pattern))


def _as_gpt2(vocabulary: Vocabulary) -> Vocabulary:
    has_words = r"\p{L" in (vocabulary.text.pattern or "")
    return _recut(vocabulary, _GPT2) if has_words else vocabulary


# ---- wrong tables


def seen_as(change: Callable[[str], str]) -> Steps:
    r"""Return the steps that see each character as another one when they look for pieces.

    >>> steps = seen_as(lambda character: "b" if character == "a" else character)
    >>> steps.cutter(bytewise("b+|c"))("abc")
    ['ab', 'c']
    """
    eyes = _Eyes(change)

    def cutter(vocabulary: Vocabulary) -> Cut:
        cut = _cutter(vocabulary)

        def cut_seen(text: str) -> list[str]:
            seen = text.translate(eyes)
            if seen == text:
                return cut(text)
            return [text[start:end] for start, end in _places(cut(seen), seen)]

        return cut_seen

    return Steps(cutter=cutter)


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


def _blind_to(name: str, *, below: int = 0x80) -> Steps:
    """Return the steps that take the characters of a category for signs, from `below` on."""
    return seen_as(lambda c: _SIGN if ord(c) >= below and _is(name, c) else c)


def _taking(characters: str, what: str) -> Steps:
    """Return the steps that take each of these characters for another one."""
    return seen_as(lambda c: what if c in characters else c)


def _only_ascii_is_space(character: str) -> str:
    return _SIGN if character.isspace() and not character.isascii() else character


_LETTERS_OF_UNICODE_16: Final = "\u1c89\u1c8a\ua7cb\ua7cc\ua7cd\ua7da\ua7db\ua7dc"


# ---- what no match covers


def _unmatched_kept(vocabulary: Vocabulary) -> Cut:
    cut = _cutter(vocabulary)

    def cut_and_fill(text: str) -> list[str]:
        kept: list[str] = []
        covered = 0
        for start, end in _places(cut(text), text):
            kept += [text[covered:start], text[start:end]]
            covered = end
        return [piece for piece in (*kept, text[covered:]) if piece]

    return cut_and_fill


def _stop_at_unmatched(vocabulary: Vocabulary) -> Cut:
    cut = _cutter(vocabulary)

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


# ---- text changed before it is cut


def changing(change: Callable[[str], str]) -> Steps:
    """Return the steps that change the text first, whatever else is done to it.

    >>> changing(str.lower).normalizer(bytewise())("Ab")
    'ab'
    """
    right = Steps().normalizer

    def normalizer(vocabulary: Vocabulary) -> Callable[[str], str]:
        normalize = right(vocabulary)
        return lambda text: normalize(change(text))

    return Steps(normalizer=normalizer)


def _nfkc_if_nfc(vocabulary: Vocabulary) -> Callable[[str], str]:
    if vocabulary.text.normalization is None:
        return str
    return lambda text: unicodedata.normalize("NFKC", text)


def _escaped_byte(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _without_controls(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or _category(ord(c)) != "Cc")


def _in_nfc(content: str) -> Witness:
    vocabulary = replace(bytewise(), text=TextRules(normalization="nfc"))
    return encode(vocabulary, content)


_CONTRACTIONS: Final = ("'(?i:[sdmt]|ll|ve|re)|", "'(?:[sdmt]|ll|ve|re)|")
_CONTRACTIONS_SPELLED: Final = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

CUTTING: Final[tuple[Mutant, ...]] = (
    mutant(
        "contractions-case-sensitive",
        "Contractions are split off in lower case only. GPT-2 does so; cl100k_base does not.",
        pieces(_CL100K, "'Mx"),
        prepare=with_pattern(("(?i:", "(?:")),
    ),
    mutant(
        "long-s-is-no-s",
        "`(?i:'s)` matches a long s (U+017F) too, in tiktoken, Oniguruma and regex; expanded by "
        "hand to '[sS] it does not. ggml-org/llama.cpp.",
        pieces(_CL100K, "a'\u017fb"),
        steps=_taking("\u017f", "\u00df"),
    ),
    mutant(
        "contractions-lost",
        "There is no rule for contractions. Own.",
        pieces(_CL100K, "a'llb"),
        prepare=with_pattern(
            *((part, "") for part in _CONTRACTIONS),
            (f"{_CONTRACTIONS_SPELLED}|", ""),
            (f"{_CONTRACTIONS_SPELLED}?", ""),
        ),
    ),
    mutant(
        "digits-one-by-one",
        "Each digit is a piece, as for Llama-2 and Qwen. ggml-org/llama.cpp#6920, #7063.",
        pieces(_CL100K, "12"),
        prepare=with_pattern((r"\p{N}{1,3}+", r"\p{N}"), (r"\p{N}{1,3}", r"\p{N}")),
    ),
    mutant(
        "digits-without-limit",
        "Any number of digits is one piece, as for GPT-2. ggml-org/llama.cpp#6920.",
        pieces(_CL100K, "1234"),
        prepare=with_pattern(
            (r"\p{N}{1,3}+", r"\p{N}++"), (r"\p{N}{1,3}", r"\p{N}+"), (r"|\p{N}|", r"|\p{N}+|")
        ),
    ),
    mutant(
        "digits-from-the-right",
        "Digits are grouped by threes from the right, as people write them. Own.",
        pieces(_CL100K, "1234"),
        prepare=with_pattern(
            (r"\p{N}{1,3}+", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"),
            (r"\p{N}{1,3}|", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|"),
        ),
    ),
    mutant(
        "only-decimal-digits",
        r"`\d` stands where `\p{N}` should, so superscripts, fractions and Roman numerals are "
        "signs. umran666/UniqToken#17.",
        pieces(_CL100K, "2\u00b2"),
        prepare=with_pattern((r"\p{N}", r"\p{Nd}")),
    ),
    mutant(
        "only-ascii-digits",
        "Only 0 to 9 are digits. Own.",
        pieces(_CL100K, "1\u0662"),
        steps=_blind_to("N"),
    ),
    mutant(
        "only-ascii-letters",
        "Only A to Z and a to z are letters. Seen in teaching code.",
        pieces(_CL100K, "na\u00efve"),
        steps=_blind_to("L"),
    ),
    mutant(
        "only-cased-letters",
        "Only letters of the categories Lu and Ll make words. Own.",
        pieces(_CL100K, "\u6f22a"),
        prepare=with_pattern((r"\p{L}+", r"[\p{Lu}\p{Ll}]+")),
    ),
    mutant(
        "no-letters-beyond-the-first-plane",
        "Letters from U+10000 on are taken for two signs each, by a regular expression that sees "
        "UTF-16. Own.",
        pieces(_CL100K, "a\U0001d51e"),
        steps=_blind_to("L", below=0x10000),
    ),
    mutant(
        "letters-without-case-are-signs",
        "Letters of scripts without case (Lo) are no letters. ggml-org/llama.cpp#6920.",
        pieces(_CL100K, "a\u3042"),
        steps=_blind_to("Lo"),
    ),
    mutant(
        "modifier-letters-are-signs",
        "Modifier letters (Lm) are no letters. Own.",
        pieces(_CL100K, "a\u02b0"),
        steps=_blind_to("Lm"),
    ),
    mutant(
        "marks-are-letters",
        r"`\w` stands where `\p{L}` should, so combining marks are letters. "
        "umran666/UniqToken#17.",
        pieces(_CL100K, "e\u0301a"),
        steps=seen_as(lambda c: _LETTER if _is("M", c) else c),
    ),
    mutant(
        "underscore-is-a-letter",
        r"`\w` stands where `\p{L}` should, so the underscore is a letter.",
        pieces(_CL100K, "a_b"),
        steps=_taking("_", "a"),
    ),
    mutant(
        "older-unicode",
        "The letters that Unicode 16.0 added are unknown: an older table, as Python 3.11's own.",
        pieces(_CL100K, "a\u1c89"),
        steps=_taking(_LETTERS_OF_UNICODE_16, _SIGN),
    ),
    mutant(
        "newer-unicode",
        "U+088F is a letter, as in Unicode 17.0; the engines measured follow 16.0.",
        pieces(_CL100K, "a\u088f"),
        steps=_taking("\u088f", _LETTER),
    ),
    mutant(
        "separators-are-space",
        r"U+001C to U+001F are white space, as in Python's `\s` and in no engine's. "
        "umran666/UniqToken#17.",
        pieces(_CL100K, "\x1c\x1ca"),
        steps=_taking("\x1c\x1d\x1e\x1f", "\t"),
    ),
    mutant(
        "only-ascii-is-space",
        "White space beyond ASCII is taken for signs. ggml-org/llama.cpp#7530.",
        pieces(_CL100K, "\u3000\u3000a"),
        steps=seen_as(_only_ascii_is_space),
    ),
    mutant(
        "next-line-is-no-space",
        "U+0085 is taken for a sign. tiktoken tests it after a report.",
        pieces(_CL100K, " \x850"),
        steps=_taking("\x85", _SIGN),
    ),
    mutant(
        "no-break-space-is-no-space",
        "U+00A0 and its narrow sisters are taken for signs, as by Python's bytes and by Java. Own.",
        pieces(_CL100K, " \u00a0a"),
        steps=_taking("\u00a0\u2007\u202f", _SIGN),
    ),
    mutant(
        "vertical-tab-is-no-space",
        r"U+000B is taken for a sign, as by the `\s` of Perl before 5.18. Own.",
        pieces(_CL100K, "\x0b\x0ba"),
        steps=_taking("\x0b", _SIGN),
    ),
    mutant(
        "zero-width-is-space",
        "U+200B, U+FEFF and U+180E are white space, as U+FEFF is in JavaScript. Own; "
        "NVIDIA/TensorRT-Model-Connect#1322 for the set that is meant.",
        pieces(_CL100K, "\ufeffa"),
        steps=_taking("\u200b\ufeff\u180e", "\n"),
    ),
    mutant(
        "last-space-stays-in-run",
        r"`\s+(?!\S)` is missing, so a run of spaces keeps the one that belongs to the next word. "
        "After rasbt/LLMs-from-scratch#944.",
        pieces(_CL100K, "a  b"),
        prepare=with_pattern((r"\s+(?!\S)|\s+", r"\s+"), (r"\s+(?!\S)|\s", r"\s+")),
    ),
    mutant(
        "line-ends-do-not-cut",
        r"`\s*[\r\n]` is missing, so white space is not cut after a line end. "
        "ggml-org/llama.cpp#7063.",
        pieces(_CL100K, "\n  a"),
        prepare=with_pattern((r"|\s*[\r\n]+", ""), (r"|\s*[\r\n]", "")),
    ),
    mutant(
        "carriage-return-forgotten",
        "Only U+000A ends a line. Own.",
        pieces(_CL100K, "\ra"),
        prepare=with_pattern((r"\r\n", r"\n")),
    ),
    mutant(
        "line-ends-leave-signs",
        r"`[\r\n]*` after signs is missing. Own.",
        pieces(_CL100K, ".\n"),
        prepare=with_pattern((r"[\r\n]*+", ""), (r"[\r\n]*", ""), (r"[\r\n/]*", "[/]*")),
    ),
    mutant(
        "slash-leaves-signs",
        r"The slash in o200k_base's `[\r\n/]*` is missing, as in cl100k_base. Own.",
        pieces(_O200K, ".\n/"),
        prepare=with_pattern((r"[\r\n/]*", r"[\r\n]*")),
    ),
    mutant(
        "only-spaces-lead-words",
        "A word takes a space before it along, but no other sign, as for GPT-2.",
        pieces(_CL100K, "(a"),
        prepare=with_pattern(
            (r"[^\r\n\p{L}\p{N}]?+\p{L}", r" ?\p{L}"), (r"[^\r\n\p{L}\p{N}]?", " ?")
        ),
    ),
    mutant(
        "nothing-leads-words",
        "A word does not take the space before it along. Seen in teaching code.",
        pieces(_CL100K, " a"),
        prepare=with_pattern(
            (r"[^\r\n\p{L}\p{N}]?+\p{L}", r"\p{L}"),
            (r"[^\r\n\p{L}\p{N}]?", ""),
            (r" ?\p{L}", r"\p{L}"),
        ),
    ),
    mutant(
        "nothing-leads-signs",
        "Signs do not take the space before them along. Own.",
        pieces(_CL100K, " ."),
        prepare=with_pattern((r" ?[^\s", r"[^\s")),
    ),
    mutant(
        "gpt2-pattern-for-all",
        "GPT-2's pattern is used whatever the vocabulary asks for. ggml-org/llama.cpp#6920.",
        pieces(_CL100K, "1234"),
        prepare=_as_gpt2,
    ),
    mutant(
        "pattern-ignored",
        "The text is not cut at all. ggml-org/llama.cpp#3502.",
        pieces(_CL100K, "a b"),
        prepare=lambda vocabulary: _recut(vocabulary, None),
    ),
    mutant(
        "case-does-not-cut",
        "o200k_base's words are letters of whatever case. Own.",
        pieces(_O200K, "aB"),
        prepare=with_pattern(
            (
                r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
                r"[\p{L}\p{M}]+",
            )
        ),
    ),
    mutant(
        "title-case-is-lower-case",
        "A title-case letter (Lt) is taken for a lower-case one. Own.",
        pieces(_O200K, "a\u01c5"),
        steps=seen_as(lambda c: "a" if _is("Lt", c) else c),
    ),
    mutant(
        "marks-cut-words",
        r"`\p{M}` is missing in o200k_base's words. Own.",
        pieces(_O200K, "a\u0301\u0301b"),
        prepare=with_pattern((r"\p{M}", "")),
    ),
    mutant(
        "end-before-last-line-end",
        "`$` matches before a final line end too, as in Python and not in Rust. Own.",
        pieces(r"a+$|a|\n", "aa\n"),
        prepare=with_pattern(("$", r"(?=\n?\z)")),
    ),
    mutant(
        "unmatched-text-kept",
        "Text that the pattern does not match becomes a piece; tiktoken drops it.",
        pieces("[a-z]+", "ab12cd"),
        steps=Steps(cutter=_unmatched_kept),
    ),
    mutant(
        "unmatched-text-ends-all",
        "At text that the pattern does not match the rest is dropped. GitHub's bpe-openai.",
        pieces("[a-z]+", "ab12cd"),
        steps=Steps(cutter=_stop_at_unmatched),
    ),
    mutant(
        "nfc-always",
        "Text is put into Normalization Form C though the vocabulary does not ask for it. Own.",
        encode(bytewise(), "e\u0301"),
        steps=changing(lambda text: unicodedata.normalize("NFC", text)),
    ),
    mutant(
        "nfc-never",
        "Text is not normalized though the vocabulary asks for it. Own.",
        _in_nfc("e\u0301"),
        steps=Steps(normalizer=lambda _: str),
    ),
    mutant(
        "nfkc-for-nfc",
        "Form KC is taken for form C. google/sentencepiece#185 for what it costs.",
        _in_nfc("\ufb01"),
        steps=Steps(normalizer=_nfkc_if_nfc),
    ),
    mutant(
        "lower-cased",
        "Text is put into lower case. Own, after BERT's tokenizers.",
        encode(bytewise(), "A"),
        steps=changing(str.lower),
    ),
    mutant(
        "line-ends-unified",
        r"`\r\n` becomes `\n`, as when a file is read as text. Own.",
        encode(bytewise(), "a\r\nb"),
        steps=changing(lambda text: text.replace("\r\n", "\n")),
    ),
    mutant(
        "byte-order-mark-stripped",
        "U+FEFF at the start is dropped. Own.",
        encode(bytewise(), "\ufeffa"),
        steps=changing(lambda text: text.removeprefix("\ufeff")),
    ),
    mutant(
        "outer-space-stripped",
        "White space at both ends is dropped. Own.",
        encode(bytewise(), " a\n"),
        steps=changing(str.strip),
    ),
    mutant(
        "spaces-collapsed",
        "Several spaces become one. huggingface/transformers#25069.",
        encode(bytewise(), "a  b"),
        steps=changing(lambda text: re.sub("  +", " ", text)),
    ),
    mutant(
        "space-put-in-front",
        "A space is put before the text, as Llama-2 and SentencePiece do. Own.",
        encode(bytewise(), "a"),
        steps=changing(lambda text: f" {text}" if text[:1].strip() else text),
    ),
    mutant(
        "controls-removed",
        "Control characters are dropped, as BERT's tokenizers do. Own.",
        encode(bytewise(), "a\0b"),
        steps=changing(_without_controls),
    ),
    mutant(
        "spelled-byte-read-as-byte",
        "The text `<0x40>` becomes the byte 0x40. zml/zml#37.",
        encode(bytewise(), "<0x40>"),
        steps=changing(lambda text: re.sub("<0x([0-7][0-9A-F])>", _escaped_byte, text)),
    ),
)
"""The mutants that cut wrongly."""
