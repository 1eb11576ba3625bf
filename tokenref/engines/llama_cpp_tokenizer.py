r"""llama.cpp's tokenizers as an engine: https://github.com/ggml-org/llama.cpp.

What it can express
    A tokenizer.json of byte-level BPE whose pre-tokenizer is the published one of a pre-tokenizer
    type of llama.cpp. It becomes a GGUF file with a vocabulary and no model. Some of the types
    match other expressions than the published ones, or are code. That is their difference, and not
    a reason to leave them out. Ids that the vocabulary leaves out are unused tokens. The type
    decides about `ignore_merges`; where no type decides as the file does, every token must be what
    its own letters merge to, so that it makes no difference.

What it answers
    `llama_tokenize`, which always finds special tokens here, and `llama_detokenize`. An unknown id
    ends the process of the latter, so it is not run and reported as a crash.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from ctypes import c_int, c_void_p, create_string_buffer
from functools import cache, lru_cache
from itertools import chain, pairwise
from math import inf
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any, Final
from weakref import finalize

from bpe_ref.formats.gguf import pre_tokenizers
from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN
from bpe_ref.registry import REGISTRY
from tokenref.answers import Unsupported
from tokenref.engines.json_files import JsonEngine, without_possessive

_MOST_IDS: Final = 1 << 20
_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5
_ANY_CASE: Final = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BOTH_CASES: Final = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_O200K: Final = without_possessive(str(REGISTRY["o200k_base"].pattern))
_PUNCTUATION: Final = "Punctuation"
_PUBLISHED: Final[Mapping[tuple[str, ...], str]] = {
    (without_possessive(str(REGISTRY["r50k_base"].pattern)),): "gpt-2",
    (_O200K,): "gpt-4o",
    (_O200K.replace(_ANY_CASE + "?", "").replace("{1,3}", ""),): "tekken",
    (r"\d{1,3}(?=(?:\d{3})*\b)", _O200K): "tiny_aya",
    (_PUNCTUATION, GPT2_PATTERN, r"\p{N}+", "[0-9][0-9][0-9]"): "falcon",
}
"""Pre-tokenizers that types implement by other expressions, as the comments of the types say."""


@cache
def _types() -> Mapping[tuple[str, ...], list[str]]:
    """Return the names of pre-tokenizers for each list of expressions."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, (patterns, _) in pre_tokenizers().items():
        found.setdefault(tuple(map(_canonical, patterns)), []).append(name)
    for published, name in _PUBLISHED.items():
        same = tuple(map(_canonical, pre_tokenizers()[name][0]))
        found[tuple(map(_canonical, published))] = [name, *found[same]]
    return found


def _canonical(pattern: str) -> str:
    r"""Return a pattern as llama.cpp writes it. What no pattern matches is a piece there.

    >>> _canonical(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\s+(?!\S)|\s+")[-18:]
    "]|'[dD])|\\s+(?!\\S)"
    """
    return pattern.replace(_ANY_CASE, _BOTH_CASES).removesuffix(r"|\s+")


class EndsProcessError(Exception):
    """A question that is not run because it ends the process, with a `std::out_of_range`."""


class LlamaCppTokenizers(JsonEngine):
    """llama.cpp with any vocabulary that it can express."""

    name = "llama.cpp"

    def open(self, content: bytes) -> "Opened":
        described = json.loads(content)
        return Opened(gguf_of(described), described.get("decoder"))

    def encode(self, tokenizer: "Opened", text: str, *, added: bool) -> list[int]:
        data = text.encode()
        size = len(data) + 2
        ids = (tokenizer.engine.llama_token * size)()
        count = tokenizer.engine.llama_tokenize(
            tokenizer.vocab, data, len(data), ids, size, added, True
        )
        return list(ids[:count])

    def decode(self, tokenizer: "Opened", ids: list[int], *, skip: bool) -> bytes | Unsupported:
        if (tokenizer.decoder or {}).get("type") != "ByteLevel":
            return Unsupported("has no decoder but that of bytes")
        for token in ids:
            if not 0 <= token < tokenizer.size:
                raise EndsProcessError(f"not run: the process ends for the id {token}")
        given = (tokenizer.engine.llama_token * len(ids))(*ids)
        size = 64 + 64 * len(ids)
        while True:
            text = create_string_buffer(size)
            count = tokenizer.engine.llama_detokenize(
                tokenizer.vocab, given, len(ids), text, size, False, not skip
            )
            if count >= 0:
                return text.raw[:count]
            size = -count


class Opened:
    """A vocabulary that llama.cpp has loaded. Raises `ValueError` with its message if it fails."""

    def __init__(self, content: bytes, decoder: Mapping[str, Any] | None) -> None:
        import llama_cpp.llama_cpp as engine

        messages = [""]

        @engine.llama_log_callback  # type: ignore[untyped-decorator]  # of ctypes
        def log(level: c_int, text: bytes, _: c_void_p) -> None:
            messages.append(text.decode(errors="replace"))

        self.engine: Any = engine
        self.decoder = decoder
        self._log = log  # which must not be freed
        engine.llama_log_set(log, c_void_p())
        settings = engine.llama_model_default_params()
        settings.vocab_only = True
        with TemporaryDirectory() as folder:
            path = Path(folder) / "vocabulary.gguf"
            path.write_bytes(content)
            model = engine.llama_model_load_from_file(str(path).encode(), settings)
        if not model:
            raise ValueError(
                next(line for line in messages if "error" in line or line is messages[-1])
            )
        finalize(self, engine.llama_model_free, model)
        self.vocab = engine.llama_model_get_vocab(model)
        self.size: int = engine.llama_vocab_n_tokens(self.vocab)


def gguf_of(described: Mapping[str, Any]) -> bytes:
    """Return a tokenizer.json as a GGUF file. Raises `ValueError` if it is not expressible."""
    model = described["model"]
    plain = {"type": "BPE", "byte_fallback": False, "dropout": None, "unk_token": None}
    for key in (*plain, "continuing_subword_prefix", "end_of_word_suffix"):
        if (model.get(key) or plain.get(key)) != plain.get(key):
            raise ValueError(f"has no {key} {model[key]!r:.80} for bytes")
    for key in ("normalizer", "truncation", "padding"):
        if described.get(key) is not None:
            raise ValueError(f"has no {key} for bytes")
    merges = [one.split(" ") if isinstance(one, str) else one for one in model["merges"]]
    vocab: dict[str, int] = dict(model["vocab"])
    kinds = dict.fromkeys(vocab.values(), _NORMAL)
    for added in described.get("added_tokens", ()):
        if any(added.get(flag) for flag in ("single_word", "lstrip", "rstrip")):
            raise ValueError("has no flags of added tokens")
        vocab[added["content"]] = added["id"]
        kinds[added["id"]] = _CONTROL if added["special"] else _USER_DEFINED
    size = max(vocab.values()) + 1
    if size > _MOST_IDS:
        raise ValueError(f"is not run with ids beyond {_MOST_IDS:,}: it has a row for each")
    tokens = [f"\x01{token}" for token in range(size)]
    for text, token in vocab.items():
        tokens[token] = text
    keys = {
        "model": "gpt2",
        "pre": _pre(described, merges),
        "tokens": tokens,
        "token_type": [kinds.get(token, _UNUSED) for token in range(size)],
        "merges": [" ".join(merge) for merge in merges],
        **_frame(described.get("post_processor")),
    }
    named = {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    return written({"general.architecture": "llama", **named})


def written(values: Mapping[str, Any]) -> bytes:
    r"""Return a GGUF file without tensors.

    >>> written({"a": True})[24:]
    b'\x01\x00\x00\x00\x00\x00\x00\x00a\x07\x00\x00\x00\x01'
    """
    entries = [_text(key) + _value(value) for key, value in values.items()]
    return b"GGUF" + pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def _text(text: str) -> bytes:
    data = text.encode()
    return pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return pack("<IB", 7, value)
        case int():
            return pack("<II", 4, value)
        case str():
            return pack("<I", 8) + _text(value)
        case [int(), *_]:
            return pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))


def _pre(described: Mapping[str, Any], merges: Sequence[Sequence[str]]) -> str:
    """Return the name of the pre-tokenizer."""
    outer = described.get("pre_tokenizer") or {}
    steps = outer.get("pretokenizers", [outer])
    patterns = tuple(_canonical(pattern) for step in steps for pattern in _patterns(step))
    names = _types().get(patterns)
    if names is None:
        raise ValueError("has no such pre-tokenizer")
    whole = bool(described["model"].get("ignore_merges"))
    for name in names:
        if ("ignore_merges" in pre_tokenizers()[name][1]) == whole:
            return name
    added = {one["content"] for one in described.get("added_tokens", ())}
    words = frozenset(described["model"]["vocab"]) - added
    if not _are_merged(words, tuple(map(tuple, merges))):
        raise ValueError("decides otherwise about ignore_merges")
    return names[0]


def _patterns(step: Mapping[str, Any]) -> Iterable[str]:
    """Return the expressions of a step."""
    match step:
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return [GPT2_PATTERN] if step.get("use_regex", True) else []
        case {
            "type": "Split",
            "behavior": "Isolated",
            "invert": False,
            "pattern": {"Regex": str(found)},
        }:
            return [found]
        case {
            "type": "Split",
            "behavior": "Removed",
            "invert": True,
            "pattern": {"Regex": str(found)},
        }:
            return [found]
        case {"type": "Digits", "individual_digits": bool(single)}:
            return [r"\p{N}" if single else r"\p{N}+"]
        case {"type": "Punctuation", "behavior": "Contiguous"}:
            return [_PUNCTUATION]
    raise ValueError("has no such pre-tokenizer")


@lru_cache(maxsize=1)  # because only the added tokens differ from one file to the next
def _are_merged(words: frozenset[str], merges: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether the letters of every word merge to it."""
    ranks = {(left, right): rank for rank, (left, right) in enumerate(merges)}
    return all(_is_merged(word, ranks) for word in words)


def _is_merged(word: str, ranks: Mapping[tuple[str, str], int]) -> bool:
    """Return whether the letters of a word merge to it."""
    parts = list(word)
    while len(parts) > 1:
        found = [ranks.get(pair, inf) for pair in pairwise(parts)]
        least = min(found)
        if least == inf:
            return False
        at = found.index(least)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return True


def _frame(processor: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the keys about the tokens that are added before and behind a text."""
    match processor:
        case None | {"type": "ByteLevel"}:
            before, behind = [], []
        case {"type": "Sequence", "processors": list(steps)}:
            frames = [frame for frame in map(_frame, steps) if len(frame) > 2]
            return frames[0] if frames else _frame(None)
        case {"type": "RobertaProcessing", "cls": [_, int(first)], "sep": [_, int(last)]}:
            before, behind = [first], [last]
        case {"type": "TemplateProcessing", "single": list(single), "special_tokens": specials}:
            ids = [
                specials[one["SpecialToken"]["id"]]["ids"] if "SpecialToken" in one else []
                for one in single
            ]
            at = next(place for place, one in enumerate(single) if "Sequence" in one)
            before, behind = [*chain(*ids[:at])], [*chain(*ids[at + 1 :])]
        case _:
            raise ValueError("has no such post-processor")
    if max(len(before), len(behind)) > 1:
        raise ValueError("adds only one token before and behind a text")
    frame: dict[str, Any] = {"add_bos_token": bool(before), "add_eos_token": bool(behind)}
    if before:
        frame["bos_token_id"] = before[0]
    if behind:
        frame["eos_token_id"] = behind[0]
    return frame
