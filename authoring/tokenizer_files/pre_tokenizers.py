"""Tokenizers for the pre-tokenizers."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    Content,
    Described,
    byte_letters,
    byte_level,
    component,
    described,
    metaspace,
    plain,
    regex,
    sequence,
    text,
)

BEHAVIORS: Final = ("Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext")

_SEEN: Final = (
    "IVWDTHEABN\u2581\u00a0\u3000\t\n\r日本語カタかな中文éжя٤½Ⅷ²"
    '$+<=>^`|~€#&()[]{}*/:;"\\@%“”…。、\u0301\u200d'
)
_BYTES: Final = byte_level(use_regex=False)
_LLAMA: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_ABOUT: Final = {
    "Removed": "are dropped",
    "Isolated": "are pieces",
    "Contiguous": "are pieces, those side by side one piece",
    "MergedWithPrevious": "end the piece before",
    "MergedWithNext": "begin the piece after",
}


def split(pattern: Content, behavior: str = "Isolated", *, invert: bool = False) -> Content:
    """Return a `Split`."""
    return component("Split", pattern=pattern, behavior=behavior, invert=invert)


def cuts(*components: Content) -> Content:
    """Return pre-tokenizers one after the other."""
    return sequence("pretokenizers", *components)


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    for name, about, pre_tokenizer in (*_splits(), *_classes(), *_others(), *_metaspaces()):
        yield described(f"pre_{name}", about, plain(_SEEN), pre_tokenizer=pre_tokenizer)
    for name, about, pre_tokenizer in _byte_levels():
        yield described(
            f"pre_{name}", about, byte_letters(), pre_tokenizer=pre_tokenizer, decoder=byte_level()
        )


def _snake(behavior: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in behavior)


def _splits() -> Iterator[tuple[str, str, Content]]:
    for behavior in BEHAVIORS:
        yield (
            f"split{_snake(behavior)}",
            f"Hyphens {_ABOUT[behavior]}",
            split(text("-"), behavior),
        )
    for behavior in BEHAVIORS:
        yield (
            f"split_invert{_snake(behavior)}",
            f"All but letters and digits {_ABOUT[behavior]}",
            split(regex("[a-z0-9]+"), behavior, invert=True),
        )
    yield "split_text", "A full stop is a full stop, no expression", split(text("."))
    yield "split_text_digits", r"The text \d is no expression and never matches", split(text(r"\d"))
    yield "split_digits", "Digits in groups of up to three", split(regex(r"\p{N}{1,3}"))
    yield "split_lines", "Hash signs at the start of any line", split(regex("^#+"))
    yield "split_folded", "Case is folded in some branches", split(regex("(?i:'s|'ll|the)"))
    yield "split_empty", "The empty text matches everywhere", split(text(""))
    yield (
        "split_ahead",
        "A space before a word goes with it, by looking ahead",
        split(regex(r" ?[a-z]+|\s+(?!\S)|\s+")),
    )


def _classes() -> Iterator[tuple[str, str, Content]]:
    for individual, about in ((True, "Numbers, digit by digit"), (False, "Numbers as a whole")):
        name = "digits" if individual else "digits_whole"
        yield name, about, component("Digits", individual_digits=individual)
    for behavior in BEHAVIORS:
        yield (
            f"punctuation{_snake(behavior)}",
            f"Punctuation marks {_ABOUT[behavior]}",
            component("Punctuation", behavior=behavior),
        )
    yield "punctuation_default", "Punctuation without a behavior", component("Punctuation")
    yield "whitespace", "Words, and signs in rows, without white space", component("Whitespace")
    yield "whitespace_split", "All that white space leaves", component("WhitespaceSplit")
    yield (
        "delimiter",
        "Cut at underscores, which vanish",
        component("CharDelimiterSplit", delimiter="_"),
    )


def _others() -> Iterator[tuple[str, str, Content]]:
    yield "bert", "Words and single marks, as BERT has them", component("BertPreTokenizer")
    yield "scripts", "Cut where the script changes", component("UnicodeScripts")
    yield "fixed_length", "Every three characters", component("FixedLength", length=3)
    yield "fixed_length_default", "Every five characters, by default", component("FixedLength")
    yield (
        "sequence",
        "White space first, then marks, then digits",
        cuts(
            component("WhitespaceSplit"),
            component("Punctuation", behavior="Contiguous"),
            component("Digits", individual_digits=True),
        ),
    )
    yield "sequence_empty", "An empty sequence cuts nothing", cuts()


def _metaspaces() -> Iterator[tuple[str, str, Content]]:
    for scheme, about in (
        ("always", "An underline is put before every text"),
        ("first", "An underline is put before the first text"),
        ("never", "No underline is put before a text"),
    ):
        yield f"metaspace_{scheme}", about, metaspace(scheme)
    yield (
        "metaspace_whole",
        "Underlines for spaces, and nothing is cut",
        metaspace("first", split=False),
    )
    yield "metaspace_letter", "Another letter stands for spaces", metaspace("always", letter="_")
    yield (
        "metaspace_old",
        "The fields of old files: add_prefix_space is true and there is no scheme",
        component("Metaspace", replacement="\u2581", add_prefix_space=True, str_rep="\u2581"),
    )
    yield (
        "metaspace_in_sequence",
        "Behind white space, only the piece at the very beginning is first",
        cuts(component("WhitespaceSplit"), metaspace("first")),
    )


def _byte_levels() -> Iterator[tuple[str, str, Content]]:
    for prefix_space in (False, True):
        for use_regex in (True, False):
            name = f"byte_level{'_space' * prefix_space}{'_whole' * (not use_regex)}"
            about = (
                f"Bytes as letters, {'with' if prefix_space else 'without'} a space in front, "
                f"{'cut by the pattern of GPT-2' if use_regex else 'uncut'}"
            )
            yield name, about, byte_level(prefix_space=prefix_space, use_regex=use_regex)
    yield (
        "starcoder",
        "Digits first, then the pattern of GPT-2",
        cuts(component("Digits", individual_digits=True), byte_level()),
    )
    yield (
        "falcon",
        "Marks, the pattern of GPT-2, numbers, and those in threes",
        cuts(
            component("Punctuation", behavior="Contiguous"),
            byte_level(),
            component("Digits", individual_digits=False),
            split(regex("[0-9][0-9][0-9]")),
        ),
    )
    yield (
        "deepseek",
        "Digits in threes, Chinese and Japanese, then words, then bytes",
        cuts(
            split(regex(r"\p{N}{1,3}")),
            split(regex("[一-龥\u3040-ゟ\u30a0-ヿ]+")),
            split(regex(r"[\r\n]|\s?\p{L}+|\s?\p{P}+|\s+")),
            _BYTES,
        ),
    )
    yield "llama", "The pattern of Llama 3, then bytes", cuts(split(regex(_LLAMA)), _BYTES)
    yield (
        "matches_only",
        "What the pattern does not match is dropped",
        cuts(split(regex("[a-z]+| "), "Removed", invert=True), _BYTES),
    )
