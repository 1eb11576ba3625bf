"""Mutants that normalize text wrongly, or lose count of where it came from."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.pipelines import (
    Rewriting,
    component,
    preparing_pipeline,
    quirks_without,
    tokenizes,
)
from bpe_ref.aligned_text import AlignedText
from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, NFKD
from bpe_ref.normalizers.precompiled import Precompiled
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.rewriting import Lowercase, Nmt
from bpe_ref.normalizers.sequence import Sequence
from bpe_ref.normalizers.stripping import Strip, StripAccents
from bpe_ref.patterns.matches import Literal, Regex, matches
from bpe_ref.patterns.unicode_tables import white_space
from bpe_ref.tokenizer import Tokenizer

_NOTHING: Final = Sequence(())


def _written(rewrite: Callable[[str], str]) -> Rewriting:
    """Return a normalizer of texts that keep their length."""
    return Rewriting(lambda text: replace(text, text=rewrite(text.text)))


def _lower_ascii(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _stripped(spaces: str, right: Strip) -> Rewriting:
    def rule(text: AlignedText) -> AlignedText:
        start, stop = 0, len(text.text)
        while right.strip_left and start < stop and text.text[start] in spaces:
            start += 1
        while right.strip_right and stop > start and text.text[stop - 1] in spaces:
            stop -= 1
        return replace(text.slice(start, stop), start=text.start, end=text.end)

    return Rewriting(rule)


@component("normalizer", NFC, tokenizes("normalizer_nfc", "e\u0301"))
def tokenize_nfc_skipped(_: NFC) -> Any:
    """Text is not composed."""
    return _NOTHING


@component("normalizer", NFC, tokenizes("normalizer_nfc", "ﬁ"))
def tokenize_nfc_is_nfkc(_: NFC) -> Any:
    """Text is put in NFKC where NFC is asked for. google/sentencepiece#185."""
    return NFKC()


@component("normalizer", NFD, tokenizes("normalizer_nfd", "é"))
def tokenize_nfd_is_nfc(_: NFD) -> Any:
    """Text is composed where it should be decomposed."""
    return NFC()


@component("normalizer", NFKC, tokenizes("normalizer_nfkc", "ﬁ"))
def tokenize_nfkc_is_nfc(_: NFKC) -> Any:
    """Compatibility characters are kept."""
    return NFC()


@component("normalizer", NFKD, tokenizes("normalizer_nfkd", "ﬁ"))
def tokenize_nfkd_is_nfd(_: NFKD) -> Any:
    """Compatibility characters are kept when text is decomposed."""
    return NFD()


@component("normalizer", Lowercase, tokenizes("normalizer_lowercase", "AΣ"))
def tokenize_lowercase_final_sigma(right: Lowercase) -> Any:
    """A sigma at the end of a word becomes a final sigma, as in Python's str.lower."""
    return Rewriting(lambda text: replace(right.normalize(text), text=text.text.lower()))


@component("normalizer", Lowercase, tokenizes("normalizer_lowercase", "É"))
def tokenize_lowercase_ascii(_: Lowercase) -> Any:
    """Only ASCII letters are converted to lower case."""
    return _written(_lower_ascii)


@component("normalizer", Lowercase, tokenizes("normalizer_lowercase", "\u212a"))
def tokenize_lowercase_kelvin_kept(right: Lowercase) -> Any:
    """The Kelvin sign, which is no letter K, has no small letter."""
    return _around((0x212A, 0x212A))(right)


@component("normalizer", Strip, tokenizes("normalizer_strip_left", " a "))
def tokenize_ends_both(_: Strip) -> Any:
    """White space is removed at both ends, whichever the file names."""
    return Strip(strip_left=True, strip_right=True)


@component("normalizer", Strip, tokenizes("normalizer_strip", "\ta"))
def tokenize_ends_spaces_only(right: Strip) -> Any:
    """Only plain spaces are removed at the ends."""
    return _stripped(" ", right)


@component("normalizer", Strip, tokenizes("normalizer_strip", "\u200ba"))
def tokenize_ends_zero_width(right: Strip) -> Any:
    """U+200B and U+FEFF are removed at the ends as if they were white space."""
    return _stripped(" \t\n\r\v\f\xa0\u2028\u3000\u200b\ufeff", right)


@component("normalizer", Strip, tokenizes("normalizer_strip", "\x1ca"))
def tokenize_ends_separators(right: Strip) -> Any:
    """U+001C to U+001F are removed at the ends, as by Python's str.strip."""
    return _stripped(white_space() + "\x1c\x1d\x1e\x1f", right)


@component("normalizer", StripAccents, tokenizes("normalizer_strip_accents", "é"))
def tokenize_accents_decomposed(right: StripAccents) -> Any:
    """Text is decomposed before its marks are removed although the file does not say so."""
    return Sequence((NFD(), right))


@component("normalizer", StripAccents, tokenizes("normalizer_strip_accents", "a\U000110b9"))
def tokenize_accents_of_plane_0(right: StripAccents) -> Any:
    """Marks beyond U+FFFF stay."""
    return _around((0x10000, 0x10FFFF))(right)


@component("normalizer", Prepend, tokenizes("normalizer_between_added", " <s>a"))
def tokenize_prepend_to_nothing(right: Prepend) -> Rewriting:
    """Text of which nothing is left gets a prefix nevertheless."""

    def rule(text: AlignedText) -> AlignedText:
        if text.text or text.start == text.end:
            return right.normalize(text)
        spans = ((text.start, text.end),) * len(right.prepend)
        return AlignedText(right.prepend, spans, text.start, text.end)

    return Rewriting(rule)


@component("normalizer", Prepend, tokenizes("normalizer_between_added", "a<s>b"))
def tokenize_prepend_once(right: Prepend) -> Rewriting:
    """Text after a special token gets no prefix. huggingface/transformers#27279, #24569."""
    return Rewriting(lambda text: right.normalize(text) if text.start == 0 else text)


@component("normalizer", Prepend, tokenizes("normalizer_prepend", "__a"))
def tokenize_prepend_if_missing(right: Prepend) -> Rewriting:
    """A text that begins with the prefix does not get another one.
    huggingface/transformers#25700.
    """
    return Rewriting(
        lambda text: text if text.text.startswith(right.prepend) else right.normalize(text)
    )


@component("normalizer", Replace, tokenizes("normalizer_replace_text", "a.b."))
def tokenize_replace_once(right: Replace) -> Rewriting:
    """Only the first match is replaced."""

    def rule(text: AlignedText) -> AlignedText:
        found = [span for span in matches(right.pattern, text.text) if span[0] < span[1]]
        if not found:
            return text
        end = found[0][1]
        head, tail = text.slice(0, end), text.slice(end, len(text.text))
        head = right.normalize(head)
        return AlignedText(head.text + tail.text, (*head.spans, *tail.spans), text.start, text.end)

    return Rewriting(rule)


@component("normalizer", Replace, tokenizes("normalizer_replace_regex", "a  b"))
def tokenize_replace_expression_as_text(right: Replace) -> Replace:
    """The regular expression of a Replace is used as plain text."""
    pattern = right.pattern
    return replace(right, pattern=Literal(pattern.source)) if isinstance(pattern, Regex) else right


@component("normalizer", Replace, tokenizes("normalizer_replace_text", "ab"))
def tokenize_replace_text_as_expression(right: Replace) -> Replace:
    """The text of a Replace is used as a regular expression, so a full stop matches any
    character.
    """
    pattern = right.pattern
    is_special = isinstance(pattern, Literal) and pattern.text in {".", "?", "|"}
    return replace(right, pattern=Regex(pattern.text)) if is_special else right  # type: ignore[union-attr]


@component("normalizer", Replace, tokenizes("normalizer_replace_lines", "a\nb"))
def tokenize_replace_anchored_once(right: Replace) -> Any:
    """^ matches only at the start of the text. huggingface/tokenizers.js#24."""
    if not isinstance(right.pattern, Regex) or not right.pattern.source.startswith("^"):
        return right
    return replace(right, pattern=Regex(rf"\A{right.pattern.source[1:]}"))


@component("normalizer", Nmt, tokenizes("normalizer_nmt", "a\u200bb"))
def tokenize_nmt_keeps_zero_width(right: Nmt) -> Rewriting:
    """Nmt keeps zero-width spaces."""

    def rule(text: AlignedText) -> AlignedText:
        after = right.normalize(text)
        places = [place for place, letter in enumerate(text.text) if letter == "\u200b"]
        kept = [
            "\u200b" if span[0] in {text.spans[place][0] for place in places} else letter
            for letter, span in zip(after.text, after.spans, strict=True)
        ]
        return replace(after, text="".join(kept))

    return Rewriting(rule)


@preparing_pipeline(tokenizes("normalizer_precompiled", "ab"))
def tokenize_precompiled_longest(pipeline: Tokenizer) -> Tokenizer:
    """The longest rule applies at each place, as in SentencePiece."""
    return quirks_without(pipeline, "precompiled_by_clusters", "normalizer")


@component("normalizer", Precompiled, tokenizes("normalizer_precompiled", "中"))
def tokenize_precompiled_is_nfkc(_: Precompiled) -> Any:
    """The rules of the file are replaced by NFKC."""
    return NFKC()


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "é"))
def tokenize_bert_accents_kept(right: BertNormalizer) -> Any:
    """Accents are kept if the file does not mention them."""
    return replace(right, strip_accents=bool(right.strip_accents))


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert_cased", "é"))
def tokenize_bert_accents_always(right: BertNormalizer) -> Any:
    """Accents are removed although capitals are kept."""
    return replace(right, strip_accents=True)


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "中文"))
def tokenize_bert_ideographs_together(right: BertNormalizer) -> Any:
    """Ideographs get no spaces around them."""
    return replace(right, handle_chinese_chars=False)


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "a\x07"))
def tokenize_bert_not_cleaned(right: BertNormalizer) -> Any:
    """Control characters are kept."""
    return replace(right, clean_text=False)


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert_lower", "中"))
def tokenize_bert_everything_on(_: BertNormalizer) -> Any:
    """All of BERT's normalization is done, whatever the file says."""
    return BertNormalizer()


def _around(*hidden: tuple[int, int]) -> Callable[[Any], Rewriting]:
    """Return what hides characters from a normalizer."""

    def change(right: Any) -> Rewriting:
        def rule(text: AlignedText) -> AlignedText:
            seen = text.text
            for first, last in hidden:
                seen = "".join(
                    chr(_HIDDEN + ord(c) % 256) if first <= ord(c) <= last else c for c in seen
                )
            after: AlignedText = right.normalize(replace(text, text=seen))
            back = {seen[at]: letter for at, letter in enumerate(text.text) if seen[at] != letter}
            return replace(after, text="".join(back.get(letter, letter) for letter in after.text))

        return Rewriting(rule)

    return change


_HIDDEN: Final = 0xA000
"""The first of the letters that stand for hidden ones."""


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "\U00020000a"))
def tokenize_bert_ideographs_of_plane_2(right: BertNormalizer) -> Any:
    """Ideographs beyond U+FFFF get no spaces around them."""
    return _around((0x20000, 0x2FFFF))(right)


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "\u3400a"))
def tokenize_bert_ideographs_of_one_block(right: BertNormalizer) -> Any:
    """Only the ideographs from U+4E00 on get spaces around them."""
    return _around((0x3400, 0x4DBF))(right)


@component("normalizer", BertNormalizer, tokenizes("normalizer_bert", "a\u093f"))
def tokenize_bert_spacing_marks_gone(right: BertNormalizer) -> Any:
    """Spacing marks are removed with the accents."""
    if not (right.lowercase if right.strip_accents is None else right.strip_accents):
        return right
    return Sequence((right, Replace(Literal("\u093f"), "")))


@component("normalizer", Sequence, tokenizes("normalizer_sequence", "é"))
def tokenize_normalizers_reversed(right: Sequence) -> Sequence:
    """The normalizers of a sequence run in reverse order."""
    return Sequence(right.normalizers[::-1])


@component("normalizer", Sequence, tokenizes("normalizer_sequence", "É"))
def tokenize_first_normalizer_only(right: Sequence) -> Sequence:
    """Only the first normalizer of a sequence runs."""
    return Sequence(right.normalizers[:1])


@component("normalizer", object, tokenizes("normalizer_remove", "a-b"))
def tokenize_offsets_in_normalized_text(right: Any) -> Rewriting:
    """Offsets count characters of the normalized text, so removed characters shift them.
    huggingface/tokenizers#663.
    """

    def rule(text: AlignedText) -> AlignedText:
        after: AlignedText = right.normalize(text)
        spans = tuple((text.start + at, text.start + at + 1) for at in range(len(after.text)))
        return replace(after, spans=spans)

    return Rewriting(rule)


@component("normalizer", object, tokenizes("normalizer_nfc", "e\u0301"))
def tokenize_offsets_over_the_removed(right: Any) -> Rewriting:
    """A character also covers the removed characters after it, as a composed é covers its e and its
    mark; in the library it covers only the first. huggingface/tokenizers#663.
    """

    def rule(text: AlignedText) -> AlignedText:
        after: AlignedText = right.normalize(text)
        ends = [span[0] for span in after.spans[1:]] + [text.end]
        spans = tuple(
            (start, max(stop, end)) for (start, stop), end in zip(after.spans, ends, strict=True)
        )
        return replace(after, spans=spans)

    return Rewriting(rule)
