"""Write `tokenizer.json`; see `formats.hugging_face` for the format.

What is written means what the tokenizer means, to this package and to the library: the ids of added
tokens, which the library does not read, come out the same because the tokens are listed in the same
order.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bpe_ref.components import Model
from bpe_ref.errors import VocabularyError
from bpe_ref.models.unigram import Unigram
from bpe_ref.tokenizer import Tokenizer

if TYPE_CHECKING:  # loaded when they are needed
    from bpe_ref.post_processors.padding import Padding
    from bpe_ref.post_processors.truncation import Truncation


def dump_tokenizer_json(tokenizer: Tokenizer) -> bytes:
    """Return the content of the file, one line per section; no final newline.

    Raises `VocabularyError` for a tokenizer whose model or other component is not that of such a
    file, and for a token with half of a surrogate pair, which no file can contain.

    >>> from bpe_ref.formats.hugging_face import parse_tokenizer_json
    >>> from bpe_ref.models.bpe import BPE
    >>> content = dump_tokenizer_json(Tokenizer(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])))
    >>> parse_tokenizer_json(content, "x.json").encode("aba")
    [2, 0]
    """
    # here, because every kind of component is loaded with them, and few programs write files
    from bpe_ref.formats.hugging_face import VERSION
    from bpe_ref.formats.hugging_face_components import write_component

    sections: dict[str, Any] = {
        "version": VERSION,
        "truncation": _truncation(tokenizer.truncation),
        "padding": _padding(tokenizer.padding),
        "added_tokens": _added_tokens(tokenizer),
        "normalizer": write_component(tokenizer.normalizer, "normalizer"),
        "pre_tokenizer": write_component(tokenizer.pre_tokenizer, "pre_tokenizer"),
        "post_processor": write_component(tokenizer.post_processor, "post_processor"),
        "decoder": write_component(tokenizer.decoder, "decoder"),
        "model": _model(tokenizer.model),
    }
    lines = (f'"{key}":{_compact(value)}' for key, value in sections.items())
    try:
        return ("{\n" + ",\n".join(lines) + "\n}").encode()
    except UnicodeEncodeError as error:
        raise VocabularyError(
            "a tokenizer file must hold text, which half of a surrogate pair is not, "
            f"got {error.object[error.start]!r}"
        ) from None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _fields(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _model(model: Model) -> dict[str, Any]:
    from bpe_ref.formats.hugging_face import FIELDS, MODELS

    name = type(model).__name__
    if MODELS.get(name) is not type(model):
        raise VocabularyError(
            "a tokenizer.json must have a BPE, WordPiece, WordLevel or Unigram model over "
            f"characters, got {name}; `write_tokenizer_json` writes a vocabulary"
        )
    content = {"type": name, **_fields(model, FIELDS[name]), "vocab": dict(model.vocab)}
    return content | {"vocab": model.pieces} if isinstance(model, Unigram) else content


def _added_tokens(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    names = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
    return [
        {"id": tokenizer.added.ids[token.content], **_fields(token, names)}
        for token in tokenizer.added_tokens.tokens
        if token.content
    ]


def _truncation(truncation: "Truncation | None") -> dict[str, Any] | None:
    if truncation is None:
        return None
    return _fields(truncation, ("direction", "max_length", "strategy", "stride"))


def _padding(padding: "Padding | None") -> dict[str, Any] | None:
    if padding is None:
        return None
    names = ("direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")
    strategy = "BatchLongest" if padding.length is None else {"Fixed": padding.length}
    return {"strategy": strategy, **_fields(padding, names)}
