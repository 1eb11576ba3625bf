"""Mutants whose pre-tokenizers cut text into other pieces."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.mutant import AskPipeline, Mutant, Witness, pipeline_mutant
from authoring.mutants.pipelines import Cutting, changing, tokenizes
from bpe_ref.aligned_text import AlignedText
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pre_tokenizers import (
    BertPreTokenizer,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    Punctuation,
    Sequence,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from bpe_ref.pre_tokenizers.splitting import split
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_pipeline import PipelineSession

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


def _behaving(before: str, after: str) -> Callable[[Any], Any]:
    return lambda right: replace(right, behavior=after) if right.behavior == before else right


def _text_as_expression(right: Split) -> Split:
    pattern = right.pattern
    if not isinstance(pattern, Literal) or pattern.text not in {".", r"\d"}:
        return right
    return replace(right, pattern=Regex(pattern.text))


def _expression_as_text(right: Split) -> Split:
    pattern = right.pattern
    return replace(right, pattern=Literal(pattern.source)) if isinstance(pattern, Regex) else right


def _source_without(part: str, instead: str) -> Callable[[Split], Split]:
    """Return what writes an expression otherwise."""

    def change(right: Split) -> Split:
        pattern = right.pattern
        if not isinstance(pattern, Regex) or part not in pattern.source:
            return right
        return replace(right, pattern=Regex(pattern.source.replace(part, instead)))

    return change


def _empty_never_matches(right: Split) -> Any:
    return Sequence(()) if right.pattern == Literal("") else right


def _prefix_twice(right: ByteLevel) -> Any:
    """Put a space in front even of a text that begins with one."""
    if not right.add_prefix_space:
        return right
    bare = replace(right, add_prefix_space=False)
    return Cutting(lambda text: bare.cut(text.prepend(" ")))


def _metaspace_twice(right: Metaspace) -> Any:
    """Put an underline in front even of a text that begins with one."""
    if right.prepend_scheme == "never":
        return right
    bare = replace(right, prepend_scheme="never")
    is_first = right.prepend_scheme == "first"
    return Cutting(
        lambda text: bare.cut(text if is_first and text.start else text.prepend(right.replacement))
    )


def _scheme(before: str, after: str) -> Callable[[Metaspace], Metaspace]:
    return lambda right: (
        replace(right, prepend_scheme=after) if right.prepend_scheme == before else right
    )


def _remembering(pipeline: Pipeline) -> Pipeline:
    """Return a tokenizer that remembers what became of a stretch, first one or not."""

    def remembering(right: Metaspace) -> Any:
        if right.prepend_scheme != "first":
            return right
        known: dict[str, bool] = {}

        def rule(text: AlignedText) -> list[AlignedText]:
            is_first = known.setdefault(text.text, text.start == 0)
            return replace(right, prepend_scheme="always" if is_first else "never").cut(text)

        return Cutting(rule)

    return changing("pre_tokenizer", Metaspace, remembering)(pipeline)


def _forgetting_first() -> AskPipeline:
    """Let each text be cut by a tokenizer that remembers its own stretches only."""

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        return PipelineSession(_remembering(right.pipeline)).answer(op, request)

    return ask


def _kana_apart(_: UnicodeScripts) -> Cutting:
    """Tell kana from Chinese characters."""
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


def _leading_kept(_: UnicodeScripts) -> Cutting:
    """Keep what stands before the first letter that has a script."""
    right = UnicodeScripts()

    def rule(text: AlignedText) -> list[AlignedText]:
        pieces = right.cut(text)
        lost = len(text.text) - sum(len(piece.text) for piece in pieces)
        return [text.slice(0, lost), *pieces] if lost else pieces

    return Cutting(rule)


def _by_bytes(right: FixedLength) -> Cutting:
    """Count bytes, as far as they are whole characters."""

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


def _no_short_piece(right: FixedLength) -> Cutting:
    """Drop what is left over at the end."""
    return Cutting(
        lambda text: [piece for piece in right.cut(text) if len(piece.text) == right.length]
    )


def _not_cut(pipeline: Pipeline) -> Pipeline:
    return pipeline if pipeline.pre_tokenizer is None else replace(pipeline, pre_tokenizer=None)


def _part_of_sequence(at: slice) -> Callable[[Pipeline], Pipeline]:
    def prepare(pipeline: Pipeline) -> Pipeline:
        right = pipeline.pre_tokenizer
        if not isinstance(right, Sequence) or len(right.pretokenizers) <= 1:
            return pipeline
        return replace(pipeline, pre_tokenizer=Sequence(right.pretokenizers[at]))

    return prepare


def _is_space(letter: str) -> bool:
    return letter.isspace() and not "\x1c" <= letter <= "\x1f"


def _mutant(
    name: str,
    story: str,
    witness: Witness,
    kind: type | tuple[type, ...],
    change: Callable[[Any], Any],
) -> Mutant:
    prepare = changing("pre_tokenizer", kind, change)
    return pipeline_mutant(f"tokenize-{name}", story, witness, prepare=prepare)


CUTTING: Final[tuple[Mutant, ...]] = (
    _mutant(
        "split-text-as-expression",
        r"The text \d of a Split is read as an expression; it must never match. "
        "ggml-org/llama.cpp#29211.",
        tokenizes("pre_split_text_digits", "a1"),
        Split,
        _text_as_expression,
    ),
    _mutant(
        "split-expression-as-text",
        "The expression of a Split is looked for as text. ggml-org/llama.cpp#29211.",
        tokenizes("pre_split_digits", "a1"),
        Split,
        _expression_as_text,
    ),
    _mutant(
        "removed-is-isolated",
        "Matches that should be dropped are pieces. Own.",
        tokenizes("pre_split_removed", "a-b"),
        _BEHAVED,
        _behaving("Removed", "Isolated"),
    ),
    _mutant(
        "isolated-is-removed",
        "Matches that should be pieces are dropped. Own.",
        tokenizes("pre_split_isolated", "a-b"),
        _BEHAVED,
        _behaving("Isolated", "Removed"),
    ),
    _mutant(
        "isolated-is-contiguous",
        "Matches side by side are one piece where each should be one. Own.",
        tokenizes("pre_split_isolated", "--"),
        _BEHAVED,
        _behaving("Isolated", "Contiguous"),
    ),
    _mutant(
        "contiguous-is-isolated",
        "Each match is a piece where those side by side should be one. Own.",
        tokenizes("pre_split_contiguous", "--"),
        _BEHAVED,
        _behaving("Contiguous", "Isolated"),
    ),
    _mutant(
        "previous-is-next",
        "Matches begin the next piece instead of ending the one before. Own.",
        tokenizes("pre_split_merged_with_previous", "a-b"),
        _BEHAVED,
        _behaving("MergedWithPrevious", "MergedWithNext"),
    ),
    _mutant(
        "next-is-previous",
        "Matches end the piece before instead of beginning the next one. Own.",
        tokenizes("pre_split_merged_with_next", "a-b"),
        _BEHAVED,
        _behaving("MergedWithNext", "MergedWithPrevious"),
    ),
    _mutant(
        "invert-ignored",
        "Matches are not exchanged for what lies between them. Own.",
        tokenizes("pre_split_invert_removed", "a-b"),
        Split,
        lambda right: replace(right, invert=False) if right.invert else right,
    ),
    _mutant(
        "split-anchored-once",
        "The sign ^ is the start of the text only, as without Ruby's rules. "
        "huggingface/tokenizers.js#24.",
        tokenizes("pre_split_lines", "a\n#"),
        Split,
        _source_without("^", r"\A"),
    ),
    _mutant(
        "split-case-sensitive",
        "The switch (?i) is not understood. huggingface/tokenizers.js#35.",
        tokenizes("pre_split_folded", "aTHE"),
        Split,
        _source_without("(?i:", "(?:"),
    ),
    _mutant(
        "split-digits-without-limit",
        "Digits are not cut into groups of three. ggml-org/llama.cpp#6920.",
        tokenizes("pre_split_digits", "1234"),
        Split,
        _source_without("{1,3}", "+"),
    ),
    _mutant(
        "split-without-look-ahead",
        "The last space of a run stays with the run. huggingface/transformers#25069.",
        tokenizes("pre_split_ahead", "a  b"),
        Split,
        _source_without(r"|\s+(?!\S)", ""),
    ),
    _mutant(
        "split-empty-never",
        "The empty text matches nowhere, as a comment in the library's source says. Own.",
        tokenizes("pre_split_empty", "ab"),
        Split,
        _empty_never_matches,
    ),
    _mutant(
        "digits-ascii",
        "Only digits of ASCII are numbers. Own.",
        tokenizes("pre_digits", "a٤"),
        Digits,
        lambda right: _cut_at(
            lambda letter: letter.isascii() and letter.isdigit(),
            "Isolated" if right.individual_digits else "Contiguous",
        ),
    ),
    _mutant(
        "digits-decimal",
        "Only decimal digits are numbers, not fractions or Roman numerals. Own.",
        tokenizes("pre_digits", "a½"),
        Digits,
        lambda right: _cut_at(
            str.isdecimal, "Isolated" if right.individual_digits else "Contiguous"
        ),
    ),
    _mutant(
        "digits-always-together",
        "Digits stay together where each should be a piece. Own.",
        tokenizes("pre_digits", "12"),
        Digits,
        lambda right: replace(right, individual_digits=False) if right.individual_digits else right,
    ),
    _mutant(
        "digits-always-apart",
        "Each digit is a piece where they should stay together. Own.",
        tokenizes("pre_digits_whole", "12"),
        Digits,
        lambda right: right if right.individual_digits else replace(right, individual_digits=True),
    ),
    _mutant(
        "punctuation-ascii",
        "Only marks of ASCII are punctuation. Own.",
        tokenizes("pre_punctuation_isolated", "a。"),
        Punctuation,
        lambda right: _cut_at(lambda x: x in _ASCII_MARKS + _ASCII_SYMBOLS, right.behavior),
    ),
    _mutant(
        "punctuation-without-symbols",
        "The symbols of ASCII, as the dollar sign, are no punctuation. "
        "huggingface/tokenizers#1057.",
        tokenizes("pre_punctuation_isolated", "a$"),
        Punctuation,
        lambda right: _cut_at(lambda x: x in _ASCII_MARKS or x in "“”…。、", right.behavior),
    ),
    _mutant(
        "whitespace-keeps-signs",
        "Whitespace cuts at white space only, and leaves words and signs together. Own.",
        tokenizes("pre_whitespace", "a."),
        Whitespace,
        lambda _: WhitespaceSplit(),
    ),
    _mutant(
        "whitespace-split-cuts-signs",
        "WhitespaceSplit cuts words from signs as well. Own.",
        tokenizes("pre_whitespace_split", "a."),
        WhitespaceSplit,
        lambda _: Whitespace(),
    ),
    _mutant(
        "white-space-kept",
        "White space is a piece of its own instead of vanishing. Own.",
        tokenizes("pre_whitespace_split", "a b"),
        WhitespaceSplit,
        lambda _: _cut_at(_is_space, "Isolated"),
    ),
    _mutant(
        "white-space-ascii",
        "Only white space of ASCII separates. ggml-org/llama.cpp#7530.",
        tokenizes("pre_whitespace_split", "a\u3000b"),
        WhitespaceSplit,
        lambda _: _cut_at(lambda letter: letter in " \t\n\r\f\v", "Removed"),
    ),
    _mutant(
        "delimiter-kept",
        "The delimiter is a piece instead of vanishing. Own.",
        tokenizes("pre_delimiter", "a_b"),
        CharDelimiterSplit,
        lambda right: Split(Literal(right.delimiter), "Isolated", invert=False),
    ),
    _mutant(
        "bert-cuts-no-signs",
        "BERT's pre-tokenizer cuts at white space only. Own.",
        tokenizes("pre_bert", "a."),
        BertPreTokenizer,
        lambda _: WhitespaceSplit(),
    ),
    _mutant(
        "bert-signs-together",
        "BERT's pre-tokenizer leaves signs in a row together. Own.",
        tokenizes("pre_bert", ".."),
        BertPreTokenizer,
        lambda _: Sequence((WhitespaceSplit(), Punctuation("Contiguous"))),
    ),
    _mutant(
        "scripts-kana-apart",
        "Kana are scripts of their own, as Unicode has it and the library has not. Own.",
        tokenizes("pre_scripts", "日か"),
        UnicodeScripts,
        _kana_apart,
    ),
    _mutant(
        "scripts-leading-kept",
        "What stands before the first letter that has a script is kept. Own.",
        tokenizes("pre_scripts", " a"),
        UnicodeScripts,
        _leading_kept,
    ),
    _mutant(
        "fixed-length-of-bytes",
        "The length is counted in bytes. Own.",
        tokenizes("pre_fixed_length", "éaa"),
        FixedLength,
        _by_bytes,
    ),
    _mutant(
        "fixed-length-no-rest",
        "The last piece, which is shorter, is dropped. Own.",
        tokenizes("pre_fixed_length", "a"),
        FixedLength,
        _no_short_piece,
    ),
    _mutant(
        "fixed-length-default",
        "The length of the file is not read. Own.",
        tokenizes("pre_fixed_length", "aaaa"),
        FixedLength,
        lambda _: FixedLength(),
    ),
    _mutant(
        "metaspace-always",
        "An underline is put before each stretch of text, also behind special tokens. "
        "huggingface/transformers#24569, #27230.",
        tokenizes("added_metaspace", "i<s>a"),
        Metaspace,
        _scheme("first", "always"),
    ),
    _mutant(
        "metaspace-first-only",
        "An underline is put before the first text only where all should have one. "
        "huggingface/transformers#23889.",
        tokenizes("added_always", "a<s>a"),
        Metaspace,
        _scheme("always", "first"),
    ),
    _mutant(
        "metaspace-never",
        "No underline is put in front of a text. huggingface/transformers#25700.",
        tokenizes("pre_metaspace_always", "a"),
        Metaspace,
        lambda right: replace(right, prepend_scheme="never"),
    ),
    _mutant(
        "metaspace-never-ignored",
        "An underline is put in front although the scheme is never. Own.",
        tokenizes("pre_metaspace_never", "a"),
        Metaspace,
        _scheme("never", "always"),
    ),
    _mutant(
        "metaspace-twice",
        "A text that begins with a space gets one more underline. huggingface/transformers#25700.",
        tokenizes("pre_metaspace_always", " a"),
        Metaspace,
        _metaspace_twice,
    ),
    _mutant(
        "metaspace-always-splits",
        "Text is cut at spaces where split is false. Own.",
        tokenizes("pre_metaspace_whole", "a b"),
        Metaspace,
        lambda right: right if right.split else replace(right, split=True),
    ),
    _mutant(
        "metaspace-never-splits",
        "Text is not cut at spaces where split is true. Own.",
        tokenizes("pre_metaspace_always", "a b"),
        Metaspace,
        lambda right: replace(right, split=False) if right.split else right,
    ),
    _mutant(
        "metaspace-usual-letter",
        "The letter for spaces is U+2581, whatever the file says. Own.",
        tokenizes("pre_metaspace_letter", "a"),
        Metaspace,
        lambda right: replace(right, replacement="\u2581"),
    ),
    _mutant(
        "byte-level-no-prefix",
        "No space is put in front of a text. Own.",
        tokenizes("pre_byte_level_space", "a"),
        ByteLevel,
        lambda right: replace(right, add_prefix_space=False),
    ),
    _mutant(
        "byte-level-prefix-always",
        "A space is put in front where the file does not say so. Own.",
        tokenizes("pre_byte_level", "a"),
        ByteLevel,
        lambda right: replace(right, add_prefix_space=True),
    ),
    _mutant(
        "byte-level-prefix-twice",
        "A text that begins with a space gets another one in front. Own.",
        tokenizes("pre_byte_level_space", " a"),
        ByteLevel,
        _prefix_twice,
    ),
    _mutant(
        "byte-level-pattern-ignored",
        "Text is not cut by the pattern of GPT-2. Own.",
        tokenizes("pre_byte_level", "a b"),
        ByteLevel,
        lambda right: replace(right, use_regex=False),
    ),
    _mutant(
        "byte-level-pattern-always",
        "Text is cut by the pattern of GPT-2 although use_regex is false. Own.",
        tokenizes("pre_byte_level_whole", "a  b"),
        ByteLevel,
        lambda right: replace(right, use_regex=True),
    ),
    pipeline_mutant(
        "tokenize-not-cut",
        "The pre-tokenizer is not read from the file. ggml-org/llama.cpp#3502.",
        tokenizes("pre_digits", "a1"),
        prepare=_not_cut,
    ),
    pipeline_mutant(
        "tokenize-first-cutter-only",
        "Of a sequence of pre-tokenizers only the first is used. ggml-org/llama.cpp#3502.",
        tokenizes("pre_sequence", "a."),
        prepare=_part_of_sequence(slice(1)),
    ),
    pipeline_mutant(
        "tokenize-last-cutter-only",
        "Of a sequence of pre-tokenizers only the last is used. ggml-org/llama.cpp#6920.",
        tokenizes("pre_sequence", "a b"),
        prepare=_part_of_sequence(slice(-1, None)),
    ),
    pipeline_mutant(
        "tokenize-cache-forgets-first",
        "What a stretch became is remembered by its text alone, although the first stretch is "
        "cut otherwise. Own.",
        tokenizes("added_metaspace", "a<s>a"),
        begin=_forgetting_first,
    ),
)
"""Mutants of the pre-tokenizers."""
