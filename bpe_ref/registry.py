"""The vocabularies that have names: what they are, beside their tokens.

A vocabulary file says which tokens there are. Everything else that decides how text is cut (the
pattern, the normalization, the special tokens) is in no file; engines have it in their source, and
it is written down here, as frozen data.

Sources
    openai/tiktoken 0.14.0, `tiktoken_ext/openai_public.py` (patterns, special tokens, addresses,
    digests). github/rust-gems a7aecfb97c96, `crates/bpe-openai` (voyage3_base). Which model uses
    which vocabulary is in `data/models.json`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bpe_ref.data import document
from bpe_ref.errors import ParameterError, UnknownVocabularyError
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.vocabulary import DEFAULT_TABLES, TextRules
from bpe_ref.vocabulary.merges import TokenId


@dataclass(frozen=True)
class RegisteredVocabulary:
    """One named vocabulary: everything about it but the tokens themselves.

    >>> REGISTRY["gpt2"].file, REGISTRY["gpt2"].special_tokens
    ('r50k_base', (('<|endoftext|>', 50256),))
    """

    name: str

    file: str
    """The name of the file that has the tokens, without its extension."""

    sha256: str
    """Of that file, unpacked."""

    token_count: int
    """How many tokens the file has; special tokens are not in it."""

    pattern: str
    """The pre-tokenization pattern, as the engine writes it."""

    special_tokens: tuple[tuple[str, TokenId], ...] = ()
    """Texts and ids, in the engine's order; of two with one id the first is decoded to."""

    url: str | None = None
    """Where the file can be downloaded; None where nobody offers it by itself."""

    normalization: str | None = None
    """What is done to text first: `"nfc"` or nothing."""

    whole_piece: bool = True
    """Whether a piece that is itself a token becomes that token without any merge."""

    tables: str = DEFAULT_TABLES
    r"""What the pattern's \p{L}, \s and so on mean."""

    def text_rules(self) -> TextRules:
        """Return what happens to text before its pieces are merged.

        >>> REGISTRY["voyage3_base"].text_rules().normalization
        'nfc'
        """
        return TextRules(self.pattern, self.tables, self.normalization, self.whole_piece)


_PUBLIC: Final = "https://openaipublic.blob.core.windows.net/encodings/"

_END_OF_TEXT: Final = "<|endoftext|>"
_END_OF_PROMPT: Final = "<|endofprompt|>"


def _fill_in_middle(first: TokenId) -> tuple[tuple[str, TokenId], ...]:
    """Return the three special tokens for filling in the middle, with ids from `first` on."""
    return (("<|fim_prefix|>", first), ("<|fim_middle|>", first + 1), ("<|fim_suffix|>", first + 2))


# openai_public.py, o200k_harmony: those of o200k_base, then every id up to 201087, reserved where
# it has no name here. So 200018 has two names; tiktoken decodes it to the first one.
_HARMONY_NAMES: Final = {
    200002: "<|return|>",
    200003: "<|constrain|>",
    200005: "<|channel|>",
    200006: "<|start|>",
    200007: "<|end|>",
    200008: "<|message|>",
    200012: "<|call|>",
}
_HARMONY_SPECIALS: Final = (
    (_END_OF_TEXT, 199999),
    (_END_OF_PROMPT, 200018),
    ("<|startoftext|>", 199998),
    *(
        (_HARMONY_NAMES.get(token, f"<|reserved_{token}|>"), token)
        for token in range(200000, 201088)
    ),
)

# The tokens of each file of tiktoken: its sha256, the number of tokens, and the pattern.
_FILES: Final = {
    "r50k_base": (
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", 50256, "gpt2"
    ),
    "p50k_base": (
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", 50280, "gpt2"
    ),
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", 100256, "cl100k"
    ),
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", 199998, "o200k"
    ),
}  # fmt: skip


def _of_tiktoken(
    name: str, file: str, special_tokens: tuple[tuple[str, TokenId], ...]
) -> RegisteredVocabulary:
    sha256, token_count, pattern = _FILES[file]
    source, url = PATTERNS[pattern].source, f"{_PUBLIC}{file}.tiktoken"
    return RegisteredVocabulary(name, file, sha256, token_count, source, special_tokens, url)


_ENTRIES: Final = (
    # openai_public.py. tiktoken builds gpt2 from two files of another format, vocab.bpe and
    # encoder.json; the tokens and ranks are those of r50k_base, so its file is used.
    _of_tiktoken("gpt2", "r50k_base", ((_END_OF_TEXT, 50256),)),
    _of_tiktoken("r50k_base", "r50k_base", ((_END_OF_TEXT, 50256),)),
    # those of r50k_base, and after the special token the runs of 2 to 25 spaces
    _of_tiktoken("p50k_base", "p50k_base", ((_END_OF_TEXT, 50256),)),
    _of_tiktoken("p50k_edit", "p50k_base", ((_END_OF_TEXT, 50256), *_fill_in_middle(50281))),
    _of_tiktoken(
        "cl100k_base",
        "cl100k_base",
        ((_END_OF_TEXT, 100257), *_fill_in_middle(100258), (_END_OF_PROMPT, 100276)),
    ),
    _of_tiktoken("o200k_base", "o200k_base", ((_END_OF_TEXT, 199999), (_END_OF_PROMPT, 200018))),
    _of_tiktoken("o200k_harmony", "o200k_base", _HARMONY_SPECIALS),
    # rust-gems, crates/bpe-openai/src/lib.rs and data/voyage3_base.tiktoken.gz: no special
    # tokens. (The Python package bpe-openai 0.1.4 names four, and another pattern, in its
    # registry.py; its compiled part, which encodes, has the crate's pattern.)
    RegisteredVocabulary(
        name="voyage3_base",
        file="voyage3_base",
        sha256="b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        token_count=151643,
        pattern=PATTERNS["voyage3"].source,
        normalization="nfc",
        whole_piece=False,  # the crate has no such shortcut
    ),
)

REGISTRY: Final[Mapping[str, RegisteredVocabulary]] = MappingProxyType(
    {entry.name: entry for entry in _ENTRIES}
)
"""Every registered vocabulary by its name."""


def registered(name: str) -> RegisteredVocabulary:
    """Return what is known of a vocabulary by its name.

    Raises `UnknownVocabularyError` for a name that is not registered.

    >>> registered("p50k_edit").file
    'p50k_base'
    >>> registered("p50k")
    Traceback (most recent call last):
    bpe_ref.errors.UnknownVocabularyError: a registered vocabulary must be one of gpt2, ...
    """
    entry = REGISTRY.get(name)
    if entry is None:
        raise UnknownVocabularyError(
            f"a registered vocabulary must be one of {', '.join(REGISTRY)}, got {name!r}"
        )
    return entry


def text_rules_of(pattern: str) -> TextRules:
    r"""Return what a registered name, llama3 or a regular expression says about text.

    tiktoken takes pieces that are tokens whole, so this is what a regular expression alone means.
    Raises `ParameterError` for anything else, and for a word that is not a name: as a regular
    expression it would only match itself.

    >>> text_rules_of("gpt2") == REGISTRY["gpt2"].text_rules(), text_rules_of(r"\w+").pattern
    (True, '\\w+')
    >>> text_rules_of("cl100k")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: pattern must be one of gpt2, ..., llama3, or a regular ...
    """
    if pattern in REGISTRY:
        return REGISTRY[pattern].text_rules()
    source = PATTERNS["llama3"].source if pattern == "llama3" else pattern
    if not isinstance(source, str) or re.fullmatch(r"[\w-]*", source):
        rule = f"must be one of {', '.join(REGISTRY)}, llama3, or a regular expression"
        raise ParameterError("pattern", pattern, rule)
    return TextRules(source, whole_piece=True)


MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {model: name for name, models in document("models")["exact"].items() for model in models}
)
"""The vocabulary's name for each model named exactly."""

MODEL_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(dict(document("models")["prefixes"]))
"""The vocabulary's name for each model whose name begins so. The first that fits counts, so
"ft:gpt-4o" stands before "ft:gpt-4"."""


def encoding_name_for_model(model: str) -> str:
    """Return the name of the vocabulary that a model uses, as tiktoken knows it.

    An exact name counts first, then the first prefix that fits. Raises
    `UnknownVocabularyError` for any other model.

    >>> encoding_name_for_model("gpt-4o-mini"), encoding_name_for_model("gpt-4-32k")
    ('o200k_base', 'cl100k_base')
    """
    if not isinstance(model, str):
        raise ParameterError("model", model, "must be the name of a model")
    if model in MODELS:
        return MODELS[model]
    for prefix, name in MODEL_PREFIXES.items():
        if model.startswith(prefix):
            return name
    raise UnknownVocabularyError(
        f"a model must be one that tiktoken 0.14.0 knows by name or prefix, got {model!r}"
    )
