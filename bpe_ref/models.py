"""Which vocabulary a model uses.

Source: openai/tiktoken 0.14.0, `tiktoken/model.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bpe_ref.errors import ParameterError, UnknownVocabularyError

# As vocabulary and names; an exact name counts first.
_MODELS: Final = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 "
        "text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 "
        "code-cushman-002 code-cushman-001 davinci-codex cushman-codex"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": (
        "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 "
        "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001 "
        "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001 "
        "code-search-ada-code-001"
    ),
    "gpt2": "gpt2 gpt-2",
}

MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {model: name for name, models in _MODELS.items() for model in models.split()}
)
"""The vocabulary's name for each model named exactly."""

# The first that fits counts, so "ft:gpt-4o" stands before "ft:gpt-4".
MODEL_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "o1-": "o200k_base",
        "o3-": "o200k_base",
        "o4-mini-": "o200k_base",
        "gpt-5": "o200k_base",
        "gpt-4.5-": "o200k_base",
        "gpt-4.1-": "o200k_base",
        "chatgpt-4o-": "o200k_base",
        "gpt-4o-": "o200k_base",
        "gpt-4-": "cl100k_base",
        "gpt-3.5-turbo-": "cl100k_base",
        "gpt-35-turbo-": "cl100k_base",
        "gpt-oss-": "o200k_harmony",
        "ft:gpt-4o": "o200k_base",
        "ft:gpt-4": "cl100k_base",
        "ft:gpt-3.5-turbo": "cl100k_base",
        "ft:davinci-002": "cl100k_base",
        "ft:babbage-002": "cl100k_base",
    }
)
"""The vocabulary's name for each model whose name begins so."""


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
