"""Mutants that normalize text wrongly, or lose count of where it came from."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.mutant import Mutant, PreparePipeline, Witness, pipeline_mutant
from authoring.mutants.pipelines import Rewriting, changing, profile_without, tokenizes
from bpe_ref.aligned_text import AlignedText
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.normalizers import (
    NFC,
    NFD,
    NFKC,
    NFKD,
    BertNormalizer,
    Lowercase,
    Nmt,
    Precompiled,
    Prepend,
    Replace,
    Sequence,
    Strip,
    StripAccents,
)
from bpe_ref.patterns.matches import Literal, Regex, matches

_NOTHING: Final = Sequence(())


def _instead(kind: type, change: Callable[[Any], Any]) -> PreparePipeline:
    return changing("normalizer", kind, change)


def _written(rewrite: Callable[[str], str]) -> Rewriting:
    """Return a normalizer of texts that keep their length."""
    return Rewriting(lambda text: replace(text, text=rewrite(text.text)))


def _lower_with_final_sigma(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(letter.lower()[:1] for letter in text)


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


def _prepended_once(right: Prepend) -> Rewriting:
    return Rewriting(lambda text: right.normalize(text) if text.start == 0 else text)


def _prepended_if_missing(right: Prepend) -> Rewriting:
    return Rewriting(
        lambda text: text if text.text.startswith(right.prepend) else right.normalize(text)
    )


def _replaced_once(right: Replace) -> Rewriting:
    """Replace the first match only."""

    def rule(text: AlignedText) -> AlignedText:
        found = [span for span in matches(right.pattern, text.text) if span[0] < span[1]]
        if not found:
            return text
        end = found[0][1]
        head, tail = text.slice(0, end), text.slice(end, len(text.text))
        head = right.normalize(head)
        return AlignedText(head.text + tail.text, (*head.spans, *tail.spans), text.start, text.end)

    return Rewriting(rule)


def _anchored_once(right: Replace) -> Any:
    if not isinstance(right.pattern, Regex) or not right.pattern.source.startswith("^"):
        return right
    return replace(right, pattern=Regex(rf"\A{right.pattern.source[1:]}"))


def _as_text(right: Replace) -> Replace:
    pattern = right.pattern
    return replace(right, pattern=Literal(pattern.source)) if isinstance(pattern, Regex) else right


def _as_regex(right: Replace) -> Replace:
    pattern = right.pattern
    is_special = isinstance(pattern, Literal) and pattern.text in {".", "?", "|"}
    return replace(right, pattern=Regex(pattern.text)) if is_special else right  # type: ignore[union-attr]


def _without_zero_width(right: Nmt) -> Rewriting:
    """Leave zero-width spaces as they are."""

    def rule(text: AlignedText) -> AlignedText:
        after = right.normalize(text)
        places = [place for place, letter in enumerate(text.text) if letter == "\u200b"]
        kept = [
            "\u200b" if span[0] in {text.spans[place][0] for place in places} else letter
            for letter, span in zip(after.text, after.spans, strict=True)
        ]
        return replace(after, text="".join(kept))

    return Rewriting(rule)


def _reversed(pipeline: Pipeline) -> Pipeline:
    normalizer = pipeline.normalizer
    if not isinstance(normalizer, Sequence):
        return pipeline
    return replace(pipeline, normalizer=Sequence(normalizer.normalizers[::-1]))


def _first_only(pipeline: Pipeline) -> Pipeline:
    normalizer = pipeline.normalizer
    if not isinstance(normalizer, Sequence):
        return pipeline
    return replace(pipeline, normalizer=Sequence(normalizer.normalizers[:1]))


def _always(change: Callable[[Any], Rewriting]) -> PreparePipeline:
    """Return what changes the normalizer as a whole."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if pipeline.normalizer is None:
            return pipeline
        return replace(pipeline, normalizer=change(pipeline.normalizer))

    return prepare


def _own_offsets(right: Any) -> Rewriting:
    """Count characters of the normalized text, as if it were the original."""

    def rule(text: AlignedText) -> AlignedText:
        after: AlignedText = right.normalize(text)
        spans = tuple((text.start + at, text.start + at + 1) for at in range(len(after.text)))
        return replace(after, spans=spans)

    return Rewriting(rule)


def _up_to_the_next(right: Any) -> Rewriting:
    """Let a character stand for all that vanished behind it, as a composed é for both of its."""

    def rule(text: AlignedText) -> AlignedText:
        after: AlignedText = right.normalize(text)
        ends = [span[0] for span in after.spans[1:]] + [text.end]
        spans = tuple(
            (start, max(stop, end)) for (start, stop), end in zip(after.spans, ends, strict=True)
        )
        return replace(after, spans=spans)

    return Rewriting(rule)


def _mutant(
    name: str, story: str, witness: Witness, kind: type, change: Callable[[Any], Any]
) -> Mutant:
    return pipeline_mutant(f"tokenize-{name}", story, witness, prepare=_instead(kind, change))


NORMALIZERS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "nfc-skipped",
        "Text is not composed. Own.",
        tokenizes("normalizer_nfc", "e\u0301"),
        NFC,
        lambda _: _NOTHING,
    ),
    _mutant(
        "nfc-is-nfkc",
        "Text is put in NFKC where NFC is asked for. google/sentencepiece#185.",
        tokenizes("normalizer_nfc", "ﬁ"),
        NFC,
        lambda _: NFKC(),
    ),
    _mutant(
        "nfd-is-nfc",
        "Text is composed where it should be decomposed. Own.",
        tokenizes("normalizer_nfd", "é"),
        NFD,
        lambda _: NFC(),
    ),
    _mutant(
        "nfkc-is-nfc",
        "Compatibility characters stay. Own.",
        tokenizes("normalizer_nfkc", "ﬁ"),
        NFKC,
        lambda _: NFC(),
    ),
    _mutant(
        "nfkd-is-nfd",
        "Compatibility characters stay when text is decomposed. Own.",
        tokenizes("normalizer_nfkd", "ﬁ"),
        NFKD,
        lambda _: NFD(),
    ),
    _mutant(
        "lowercase-final-sigma",
        "A sigma that ends a word becomes a final one, as Python's str.lower writes it. Own.",
        tokenizes("normalizer_lowercase", "AΣ"),
        Lowercase,
        lambda _: _written(_lower_with_final_sigma),
    ),
    _mutant(
        "lowercase-ascii",
        "Only letters of ASCII become small. Own.",
        tokenizes("normalizer_lowercase", "É"),
        Lowercase,
        lambda _: _written(_lower_ascii),
    ),
    _mutant(
        "ends-both",
        "White space is left out at both ends, whichever the file names. Own.",
        tokenizes("normalizer_strip_left", " a "),
        Strip,
        lambda _: Strip(strip_left=True, strip_right=True),
    ),
    _mutant(
        "ends-spaces-only",
        "Only plain spaces are left out at the ends. Own.",
        tokenizes("normalizer_strip", "\ta"),
        Strip,
        lambda right: _stripped(" ", right),
    ),
    _mutant(
        "ends-zero-width",
        "U+200B and U+FEFF are left out at the ends as if they were white space. Own.",
        tokenizes("normalizer_strip", "\u200ba"),
        Strip,
        lambda right: _stripped(" \t\n\r\v\f\xa0\u2028\u3000\u200b\ufeff", right),
    ),
    _mutant(
        "accents-decomposed",
        "Text is decomposed before its marks are left out, where the file does not say so. Own.",
        tokenizes("normalizer_strip_accents", "é"),
        StripAccents,
        lambda right: Sequence((NFD(), right)),
    ),
    _mutant(
        "prepend-once",
        "Text behind a special token gets no prefix. huggingface/transformers#27279, #24569.",
        tokenizes("normalizer_between_added", "a<s>b"),
        Prepend,
        _prepended_once,
    ),
    _mutant(
        "prepend-if-missing",
        "A text that begins with the prefix gets no other. huggingface/transformers#25700.",
        tokenizes("normalizer_prepend", "__a"),
        Prepend,
        _prepended_if_missing,
    ),
    _mutant(
        "replace-once",
        "Only the first match is replaced. Own.",
        tokenizes("normalizer_replace_text", "a.b."),
        Replace,
        _replaced_once,
    ),
    _mutant(
        "replace-expression-as-text",
        "The expression of a Replace is looked for as text. Own.",
        tokenizes("normalizer_replace_regex", "a  b"),
        Replace,
        _as_text,
    ),
    _mutant(
        "replace-text-as-expression",
        "The text of a Replace is read as an expression, so that a full stop is any character. "
        "Own.",
        tokenizes("normalizer_replace_text", "ab"),
        Replace,
        _as_regex,
    ),
    _mutant(
        "replace-anchored-once",
        "The sign ^ is the start of the text only. huggingface/tokenizers.js#24.",
        tokenizes("normalizer_replace_lines", "a\nb"),
        Replace,
        _anchored_once,
    ),
    _mutant(
        "nmt-keeps-zero-width",
        "Nmt leaves zero-width spaces as they are. Own.",
        tokenizes("normalizer_nmt", "a\u200bb"),
        Nmt,
        _without_zero_width,
    ),
    pipeline_mutant(
        "tokenize-precompiled-longest",
        "The longest rule counts at each place, as SentencePiece has it. Own.",
        tokenizes("normalizer_precompiled", "ab"),
        prepare=profile_without("precompiled_by_clusters", "normalizer"),
    ),
    _mutant(
        "precompiled-is-nfkc",
        "The rules of the file are taken for NFKC. Own.",
        tokenizes("normalizer_precompiled", "中"),
        Precompiled,
        lambda _: NFKC(),
    ),
    _mutant(
        "bert-accents-kept",
        "Accents stay where the file says nothing about them. Own.",
        tokenizes("normalizer_bert", "é"),
        BertNormalizer,
        lambda right: replace(right, strip_accents=bool(right.strip_accents)),
    ),
    _mutant(
        "bert-accents-always",
        "Accents go although capitals stay. Own.",
        tokenizes("normalizer_bert_cased", "é"),
        BertNormalizer,
        lambda right: replace(right, strip_accents=True),
    ),
    _mutant(
        "bert-ideographs-together",
        "Ideographs get no spaces around them. Own.",
        tokenizes("normalizer_bert", "中文"),
        BertNormalizer,
        lambda right: replace(right, handle_chinese_chars=False),
    ),
    _mutant(
        "bert-not-cleaned",
        "Control characters stay. Own.",
        tokenizes("normalizer_bert", "a\x07"),
        BertNormalizer,
        lambda right: replace(right, clean_text=False),
    ),
    _mutant(
        "bert-everything-on",
        "All of BERT's normalization is done, whatever the file says. Own.",
        tokenizes("normalizer_bert_lower", "中"),
        BertNormalizer,
        lambda _: BertNormalizer(),
    ),
    pipeline_mutant(
        "tokenize-normalizers-reversed",
        "The last normalizer of a sequence comes first. Own.",
        tokenizes("normalizer_sequence", "é"),
        prepare=_reversed,
    ),
    pipeline_mutant(
        "tokenize-first-normalizer-only",
        "Of a sequence of normalizers only the first is used. Own.",
        tokenizes("normalizer_sequence", "É"),
        prepare=_first_only,
    ),
    pipeline_mutant(
        "tokenize-offsets-in-normalized-text",
        "Offsets count characters of the normalized text, so that what normalization removed "
        "shifts them. huggingface/tokenizers#663.",
        tokenizes("normalizer_remove", "a-b"),
        prepare=_always(_own_offsets),
    ),
    pipeline_mutant(
        "tokenize-offsets-over-the-removed",
        "A character stands for those that vanished behind it too, as a composed é for its e and "
        "its mark; the library gives it the first only. huggingface/tokenizers#663.",
        tokenizes("normalizer_nfc", "e\u0301"),
        prepare=_always(_up_to_the_next),
    ),
)
"""Mutants of the normalizers."""
