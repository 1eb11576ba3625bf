"""Cases about whole tokenizers at sizes: many tokens, far offsets, long words, many added tokens."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from authoring.cases.draft import Draft
from authoring.cases.sizes import random_letters
from authoring.tokenizer_files.table import described_tokenizers, ids_of_text
from tokenref.questions.text import DetokenizeInput, DetokenizeStreamInput, TokenizeInput

TEXT: Final = "the other hand, 12 x's in you and the end. "
"""Forty-three characters: no power of two, and no power of ten, is a multiple of that."""

MANY: Final = ("family_gpt2", "pre_metaspace_always")
"""Tokenizers that cut, normalize and count offsets in different ways."""

DECODERS: Final = ("family_gpt2", "family_llama2", "decoder_word_piece", "decoder_byte_fallback")


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _many_tokens()
    yield from _far_offsets()
    yield from _long_words()
    yield from _added_tokens()
    yield from _lengths()
    yield from _texts_of_tokens()


def _case(op: str, slug: str, tokenizer: str, request: Struct, why: str, *flags: str) -> Draft:
    return Draft(
        op=op,
        topic="sizes",
        slug=f"{tokenizer.replace('_', '-')}-{slug}",
        vocabulary=tokenizer,
        request=request,
        why=f"{described_tokenizers()[tokenizer].about}: {why}",
        flags=sorted({"WholeTokenizer", "LengthThreshold", *flags}),
        spec=f"docs/tokenizers.md#{'decoders' if op != 'tokenize' else 'files'}",
        profile="hugging-face",
    )


def _asked(text: str, *, special: bool = True) -> TokenizeInput:
    return TokenizeInput(text=text, add_special_tokens=special)


def _many_tokens() -> Iterator[Draft]:
    for tokenizer in MANY:
        for size in (64, 256) if tokenizer == "family_gpt2" else (128,):
            text = TEXT * 20
            while len(ids_of_text(tokenizer, text)) > size + 9:
                text = text[:-3]
            count = len(ids_of_text(tokenizer, text))
            yield _case(
                "tokenize",
                f"tokens-{size}",
                tokenizer,
                _asked(text),
                f"a text of {len(text)} characters and {count} tokens.",
            )


def _far_offsets() -> Iterator[Draft]:
    for tokenizer, sizes in (
        ("family_bert", (64, 256, 1024, 4096)),
        ("pre_split_removed", (256,)),
        ("pre_delimiter", (256,)),
        ("normalizer_strip_left", (256, 4096)),
    ):
        for size in sizes:
            gap = {"pre_delimiter": "-", "pre_split_removed": " "}.get(tokenizer, " ")
            text = gap * size + "the" if "strip" in tokenizer else "the" + gap * size + "you and"
            if len(ids_of_text(tokenizer, text)) > 20:
                continue
            yield _case(
                "tokenize",
                f"offsets-{size}",
                tokenizer,
                _asked(text),
                f"tokens that stand {size:,} characters and more after the start of the text.",
                "Offsets",
            )


def _long_words() -> Iterator[Draft]:
    for tokenizer in ("long_pieces", "family_bert", "family_gpt2"):
        for size in (64, 100):
            word = random_letters(size + 2, "the")
            yield _case(
                "tokenize",
                f"word-{size + 2}",
                tokenizer,
                _asked(word, special=False),
                f"one word of {size + 2} letters.",
                "LongRun",
            )


def _added_tokens() -> Iterator[Draft]:
    for count in (65, 129):
        yield _case(
            "tokenize",
            f"added-{count}",
            "added_flags",
            _asked("a<n>" * count, special=False),
            f"a text with {count} added tokens.",
            "AddedToken",
        )


def _lengths() -> Iterator[Draft]:
    for tokenizer in ("truncate_long", "pad_long"):
        for size in (99, 140):
            yield _case(
                "tokenize",
                f"letters-{size}",
                tokenizer,
                _asked(random_letters(size, "abcd ")),
                f"a text of {size} letters and spaces.",
                "Truncation" if tokenizer == "truncate_long" else "Padding",
            )


def _texts_of_tokens() -> Iterator[Draft]:
    for tokenizer in DECODERS:
        every = ids_of_text(tokenizer, TEXT * 80)
        sizes = (65, 101, 129, 257, 1025) if tokenizer == "family_gpt2" else (65, 257)
        for size in sizes:
            ids = every[:size]
            yield _case(
                "detokenize",
                f"tokens-{size}",
                tokenizer,
                DetokenizeInput(ids=ids, skip_special_tokens=True),
                f"the text of {size:,} tokens.",
                "Decoder",
            )
            if size < 1000:
                yield _case(
                    "detokenize_stream",
                    f"tokens-{size}",
                    tokenizer,
                    DetokenizeStreamInput(ids=ids, skip_special_tokens=True, mode="certain"),
                    f"the text of {size:,} tokens, one after the other.",
                    "Decoder",
                    "TextStream",
                )
