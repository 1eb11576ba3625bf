"""From the name of a model to its encoding, as `tiktoken.model` does it."""

from bpe_ref import registry
from bpe_ref.errors import UnknownVocabularyError
from bpe_ref.like_tiktoken.core import Encoding
from bpe_ref.like_tiktoken.registry import get_encoding

MODEL_TO_ENCODING = dict(registry.MODELS)
MODEL_PREFIX_TO_ENCODING = dict(registry.MODEL_PREFIXES)


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding that a model uses. Raises `KeyError` for no known model.

    >>> encoding_name_for_model("gpt-4o")
    'o200k_base'
    """
    try:
        return registry.encoding_name_for_model(model_name)
    except UnknownVocabularyError:
        raise KeyError(
            f"Could not automatically map {model_name} to a tokeniser. "
            "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
        ) from None


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding that a model uses. Raises `KeyError` for no known model.

    >>> encoding_for_model("gpt-9")
    Traceback (most recent call last):
    KeyError: 'Could not automatically map gpt-9 to a tokeniser. ...'
    """
    return get_encoding(encoding_name_for_model(model_name))
