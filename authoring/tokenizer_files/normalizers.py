"""Tokenizers for the normalizers."""

import base64
from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.charsmaps import compile_charsmap
from authoring.tokenizer_files.document import (
    Content,
    Described,
    added,
    byte_letters,
    component,
    described,
    plain,
    regex,
    replace,
    sequence,
    text,
)

_SEEN: Final = (
    "éÉèñåÅöµßﬁ²½\u03a3\u03c3\u03c2\u0130\u0131KIABTHEA\u0301\u0300\u0323\u0307\u030a한국ㅎㅏㄴ①\uff21ｶガ\u3099中文日本語\u2581\u00a0\u3000\t\n\u200b\u2028\ufeff\x07"
    "<>"
)
_RULES: Final = {
    "ﬁ": "fi",
    "①": "1",
    "\uff21": "a",
    "e\u0301": "é",
    "e": "e",
    "中": "zhong",
    "\u200b": "",
    "\t": " ",
    "ab": "x",
}
_CHARSMAP: Final = base64.b64encode(compile_charsmap(_RULES)).decode()


def bert(*, clean: bool, chinese: bool, accents: bool | None, lower: bool) -> Content:
    """Return a `BertNormalizer`."""
    return component(
        "BertNormalizer",
        clean_text=clean,
        handle_chinese_chars=chinese,
        strip_accents=accents,
        lowercase=lower,
    )


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    for name, about, normalizer in _normalizers():
        yield described(name, about, plain(_SEEN), normalizer=normalizer)
    yield described(
        "normalizer_byte_level",
        "The normalizer writes bytes as letters, and nothing is cut",
        byte_letters(),
        normalizer=component("ByteLevel"),
        decoder=component("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    )
    yield described(
        "normalizer_between_added",
        "Each stretch between added tokens is stripped, and gets its prefix",
        plain(_SEEN),
        normalizer=sequence(
            "normalizers",
            component("Strip", strip_left=True, strip_right=True),
            component("Prepend", prepend="_"),
        ),
        added_tokens=[added("<s>", "special"), added("<n>", "normalized")],
    )


def _normalizers() -> Iterator[tuple[str, str, Content]]:
    for form, about in (
        ("NFC", "Canonical composition"),
        ("NFD", "Canonical decomposition"),
        ("NFKC", "Compatibility composition"),
        ("NFKD", "Compatibility decomposition"),
    ):
        yield f"normalizer_{form.lower()}", about, component(form)
    yield "normalizer_lowercase", "Capitals become small, one by one", component("Lowercase")
    for name, about, left, right in (
        ("strip", "White space is left out at both ends", True, True),
        ("strip_left", "White space is left out at the beginning", True, False),
        ("strip_right", "White space is left out at the end", False, True),
    ):
        strip = component("Strip", strip_left=left, strip_right=right)
        yield f"normalizer_{name}", about, strip
    yield "normalizer_strip_accents", "Marks are left out", component("StripAccents")
    yield (
        "normalizer_sequence",
        "Text is decomposed, loses its marks and its capitals, in this order",
        sequence(
            "normalizers", component("NFD"), component("StripAccents"), component("Lowercase")
        ),
    )
    yield (
        "normalizer_prepend",
        "Two letters are put before the text",
        component("Prepend", prepend="__"),
    )
    yield "normalizer_replace_text", "A full stop becomes two signs", replace(text("."), "!?")
    yield (
        "normalizer_replace_regex",
        "Runs of white space become one space",
        replace(regex(r"\s+"), " "),
    )
    yield "normalizer_remove", "Hyphens vanish", replace(text("-"), "")
    yield (
        "normalizer_replace_lines",
        "The first letter of each line is replaced, as ^ is the start of a line here",
        replace(regex(r"^[a-z]"), "_"),
    )
    yield "normalizer_nmt", "Control characters vanish, others become spaces", component("Nmt")
    yield (
        "normalizer_precompiled",
        "The rules of a SentencePiece model, of which the shortest counts",
        component("Precompiled", precompiled_charsmap=_CHARSMAP),
    )
    yield (
        "normalizer_bert",
        "BERT's normalization with everything on",
        bert(clean=True, chinese=True, accents=None, lower=True),
    )
    yield (
        "normalizer_bert_cased",
        "BERT's normalization that keeps capitals, and thus accents",
        bert(clean=True, chinese=True, accents=None, lower=False),
    )
    yield (
        "normalizer_bert_accents",
        "BERT's normalization that only takes accents away",
        bert(clean=False, chinese=False, accents=True, lower=False),
    )
    yield (
        "normalizer_bert_lower",
        "BERT's normalization that only takes capitals away",
        bert(clean=False, chinese=False, accents=False, lower=True),
    )
