"""Small tokenizers as the content of a `tokenizer.json`, trained by the library itself."""

import json
from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.texts import CONTRACTIONS, DIGITS, PUNCTUATION, SCRIPTS, SPACES, WORDS

Document = dict[str, Any]

BYTES = {f"<0x{byte:02X}>": byte for byte in range(256)}
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@cache
def _trained(prefix: str | None, suffix: str | None, words: bool, scripts: bool) -> str:
    """Return a model trained on the atoms of the tests' texts."""
    affixes: dict[str, Any] = {
        key: affix
        for key, affix in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix))
        if affix is not None
    }
    tokenizer = Tokenizer(models.BPE(**affixes))
    if words:
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=420, show_progress=False, **affixes)
    lines = [f"{word} {word}{end}" for word in WORDS for end in (*CONTRACTIONS, *DIGITS[:5])]
    lines += [f"{word}{space}{mark}" for word in WORDS for space in SPACES for mark in PUNCTUATION]
    lines += [f"{one}{other}" for one in SCRIPTS for other in SCRIPTS] if scripts else []
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer.to_str()


def trained_model(
    *,
    prefix: str | None = None,
    suffix: str | None = None,
    byte_tokens: int = 0,
    unk: bool = False,
    words: bool = False,
    scripts: bool = False,
    **fields: object,
) -> Document:
    """Return a model; `byte_tokens` is how many of `<0x00>`, `<0x01>` ... it has."""
    model: Document = json.loads(_trained(prefix, suffix, words, scripts))["model"]
    tokens = [*(["<unk>"] if unk else []), *list(BYTES)[:byte_tokens], *model["vocab"]]
    return {
        **model,
        "vocab": {token: number for number, token in enumerate(dict.fromkeys(tokens))},
        "unk_token": "<unk>" if unk else None,
        "byte_fallback": byte_tokens > 0,
        **fields,
    }


def added(content: str, *flags: str, id_: int = 0) -> Document:
    """Return an added token with these flags."""
    return {"id": id_, "content": content, **{flag: flag in flags for flag in FLAGS}}


def document(model: Document, **sections: object) -> Document:
    """Return a tokenizer file with this model."""
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    head: Document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    return {**head, **empty, "model": model, **sections}


def engine(content: Document) -> Tokenizer:
    """Return the library's tokenizer."""
    return Tokenizer.from_str(json.dumps(content))
