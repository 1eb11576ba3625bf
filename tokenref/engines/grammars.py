"""Engines for grammars: llguidance, xgrammar and outlines-core.

What they can express
    Any vocabulary whose ids are not too large: the mask of llguidance and xgrammar has a bit for
    every id up to the largest. Ids without a token, and special tokens, are given to them as
    special or without bytes. One id more ends a text. It is not part of the answer: `end` is what
    the engine says about the text so far.

What they answer
    `grammar_mask`, as `fill_next_token_bitmask` or the like does for inference engines. A call that
    an engine rejects, by False or by an exception, is its refusal. llguidance and xgrammar also
    apply bitmasks to rows of 32 bits in place: `token_mask` with words, lowest bit first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from bpe_ref import TokenId, Vocabulary
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.reference import id_ranges
from tokenref.floats import pack, type_of, unpack

LARGEST: Final = 1 << 17
"""Maximum number of ids."""


class RefusedError(Exception):
    """The engine rejects a pattern or a call."""


class Matcher:
    """A pattern and a vocabulary in an engine. Raises `RefusedError` for what it rejects."""

    def __init__(self, tokens: Sequence[bytes], ids: Mapping[TokenId, bytes], pattern: str) -> None:
        """Start with no tokens; of `tokens`, those that are not among `ids` are special."""
        raise NotImplementedError

    def allowed(self) -> tuple[Sequence[TokenId], bool]:
        """Return the allowed ids in order, and whether the text may end."""
        raise NotImplementedError

    def accept(self, token: TokenId) -> None:
        """Add a token."""
        raise NotImplementedError

    def rollback(self, count: int) -> None:
        """Take the last tokens back."""
        raise NotImplementedError


@dataclass(frozen=True)
class GrammarSession:
    """An engine with a vocabulary, which is prepared for each pattern."""

    vocabulary: Vocabulary
    matcher: type[Matcher]

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "grammar_mask":
            return Unsupported("only has grammars")
        ids = self.vocabulary.tokens
        tokens = [ids.get(token, b"") for token in range(max(ids, default=-1) + 1)]
        masks = []
        try:
            matcher = self.matcher(tokens, ids, request["pattern"])
            for call in ({}, *request["calls"]):
                if "accept" in call:
                    matcher.accept(call["accept"])
                elif call:
                    matcher.rollback(call["rollback"])
                allowed, end = matcher.allowed()
                masks.append({"allowed": id_ranges(t for t in allowed if t in ids), "end": end})
        except RefusedError as error:
            unknown = any(not self._knows(call.get("accept", 0)) for call in request["calls"])
            return Refused("UNKNOWN_ID" if unknown else "INVALID_PARAMETER", f"{error}"[:300])
        return Ok({"masks": masks})

    def _knows(self, token: TokenId) -> bool:
        return token in self.vocabulary.tokens or token in self.vocabulary.special_bytes


class GrammarEngine:
    """An engine for grammars.

    >>> LLGuidanceEngine("1.9.1").load_profile("vllm")
    Unsupported(reason='has no samplers, only bitmasks')
    """

    name: str
    matcher: type[Matcher]

    def __init__(self, version: str) -> None:
        self.version = version

    def load(self, vocabulary: Vocabulary, name: str) -> GrammarSession | Unsupported:
        if max(vocabulary.tokens, default=0) >= LARGEST:
            return Unsupported("has a bit for every id, and ids are too large")
        return GrammarSession(vocabulary, self.matcher)

    def load_profile(self, profile: str) -> "MaskSession | Unsupported":
        """Select a profile: only the standard rule of bitmasks."""
        if profile != "standard" or type(self).apply is GrammarEngine.apply:
            return Unsupported("has no samplers, only bitmasks")
        return MaskSession(self)

    def apply(self, row: Any, words: Any, size: int) -> None:
        """Apply a bitmask to a row in place; both are arrays of numpy with one row."""
        raise NotImplementedError


@dataclass(frozen=True)
class MaskSession:
    """The function of an engine that applies bitmasks."""

    engine: GrammarEngine

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "token_mask":
            return Unsupported("has no samplers, only bitmasks")
        params, dtype = request["params"], type_of(request["logits"])
        words, size = params.get("words"), params.get("vocab_size")
        if params.keys() - {"words", "vocab_size"} or not isinstance(words, list):
            return Unsupported("has bitmasks of words, lowest bit first")
        if dtype not in ("f32", "f16") or not all(0 <= word < 1 << 32 for word in words):
            return Unsupported("is asked about rows of 32 and 16 bits, and words of 32 bits")
        import numpy as np

        row = np.array([unpack(request["logits"])], np.float32 if dtype == "f32" else np.float16)
        if len(words) * 32 < (size or row.shape[1]):
            return Unsupported("reads what is behind a mask that is too short")
        if not np.isfinite(row[row != -inf]).all() or not 0 < (size or 1) <= row.shape[1]:
            return Unsupported("does not check rows or sizes")
        self.engine.apply(row, np.array([words], np.uint32).view(np.int32), size or row.shape[1])
        return Ok({"logits": pack(row[0].tolist(), dtype)})


# ---- llguidance


class _Tokens:
    """The tokens as llguidance reads them, with one more that ends a text."""

    bos_token_id = None

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self.tokens, self.eos_token_id = [*tokens, b"</s>"], len(tokens)
        self.special_token_ids = [self.eos_token_id]
        self.ids = {data: token for token, data in enumerate(tokens)}

    def __call__(self, text: bytes) -> list[int]:
        """Return tokens of a text that the grammar forces, the longest first."""
        found, at = [], 0
        while at < len(text):
            sizes = range(len(text) - at, 0, -1)
            size = next((size for size in sizes if text[at : at + size] in self.ids), 0)
            if not size:
                break
            found.append(self.ids[text[at : at + size]])
            at += size
        return found


class LLGuidanceMatcher(Matcher):
    """llguidance's `LLMatcher`."""

    def __init__(self, tokens: Sequence[bytes], ids: Mapping[TokenId, bytes], pattern: str) -> None:
        from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

        tokenizer = LLTokenizer(TokenizerWrapper(_Tokens(tokens)))
        grammar = LLMatcher.grammar_from_regex(pattern)
        self.matcher, self.size = LLMatcher(tokenizer, grammar, log_level=0), len(tokens)
        self._check()

    def _check(self) -> None:
        if self.matcher.is_error():
            raise RefusedError(self.matcher.get_error())

    def allowed(self) -> tuple[Sequence[TokenId], bool]:
        bits = self.matcher.compute_bitmask()
        self._check()
        ids = [token for token in range(self.size) if bits[token >> 3] >> (token & 7) & 1]
        return ids, self.matcher.is_accepting()

    def accept(self, token: TokenId) -> None:
        if not 0 <= token < self.size or not self.matcher.consume_token(token):
            raise RefusedError(self.matcher.get_error() or "no such token")

    def rollback(self, count: int) -> None:
        if count < 0 or not self.matcher.rollback(count):
            raise RefusedError(self.matcher.get_error() or "a negative number")


class LLGuidanceEngine(GrammarEngine):
    """llguidance: https://github.com/guidance-ai/llguidance."""

    name = "llguidance"
    matcher = LLGuidanceMatcher

    def apply(self, row: Any, words: Any, size: int) -> None:
        from llguidance.numpy import apply_token_bitmask_inplace

        apply_token_bitmask_inplace(row, words[:, : -(-size // 32)])


# ---- xgrammar


class XGrammarMatcher(Matcher):
    """xgrammar's `GrammarMatcher`."""

    def __init__(self, tokens: Sequence[bytes], ids: Mapping[TokenId, bytes], pattern: str) -> None:
        import xgrammar

        self.size = len(tokens)
        info = xgrammar.TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[self.size])
        try:
            compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_regex(pattern)
        except (RuntimeError, ValueError) as error:
            raise RefusedError(str(error)) from None
        self.matcher = xgrammar.GrammarMatcher(compiled)
        self.words = xgrammar.allocate_token_bitmask(1, self.size + 1)

    def allowed(self) -> tuple[Sequence[TokenId], bool]:
        self.matcher.fill_next_token_bitmask(self.words)
        words = self.words[0].tolist()
        ids = [token for token in range(self.size) if words[token >> 5] >> (token & 31) & 1]
        return ids, self.matcher.is_completed()

    def accept(self, token: TokenId) -> None:
        if not 0 <= token < self.size or not self.matcher.accept_token(token):
            raise RefusedError("the token is not accepted")

    def rollback(self, count: int) -> None:
        try:
            self.matcher.rollback(count)
        except RuntimeError as error:
            raise RefusedError(str(error)) from None


class XGrammarEngine(GrammarEngine):
    """xgrammar: https://github.com/mlc-ai/xgrammar."""

    name = "xgrammar"
    matcher = XGrammarMatcher

    def apply(self, row: Any, words: Any, size: int) -> None:
        import torch
        import xgrammar

        rows, masks = torch.from_numpy(row), torch.from_numpy(words)
        xgrammar.apply_token_bitmask_inplace(rows, masks, vocab_size=size)


# ---- outlines-core


class OutlinesCoreMatcher(Matcher):
    """outlines-core's `Guide`, of an `Index` that is built for all tokens at once."""

    def __init__(self, tokens: Sequence[bytes], ids: Mapping[TokenId, bytes], pattern: str) -> None:
        from outlines_core import Guide, Index, Vocabulary

        self.end = len(tokens)
        by_bytes = {data: [token] for token, data in ids.items()}
        try:
            self.guide = Guide(Index(pattern, Vocabulary(self.end, by_bytes)), 64)
        except ValueError as error:
            raise RefusedError(str(error)) from None

    def allowed(self) -> tuple[Sequence[TokenId], bool]:
        return sorted(set(self.guide.get_tokens()) - {self.end}), self.guide.is_finished()

    def accept(self, token: TokenId) -> None:
        try:
            self.guide.advance(token, return_tokens=False)
        except (OverflowError, ValueError) as error:
            raise RefusedError(str(error)) from None

    def rollback(self, count: int) -> None:
        try:
            self.guide.rollback_state(count)
        except (OverflowError, ValueError) as error:
            raise RefusedError(str(error)) from None


class OutlinesCoreEngine(GrammarEngine):
    """outlines-core: https://github.com/dottxt-ai/outlines-core."""

    name = "outlines-core"
    matcher = OutlinesCoreMatcher
