"""What the engines that read a tokenizer.json share; each adds how it is called.

What they can express
    What `dump_byte_level_json` writes. Special tokens are always found, so the file for each
    selection of allowed tokens contains only these, as in `tokenref.engines.tokenizers`. The
    patterns of published vocabularies are written without possessive quantifiers, as model files
    have them: the pieces are the same, and not every engine reads possessive ones.

What they answer
    Of `tokenize` only the ids, so only the ids are judged. A file that raises an exception when it
    is loaded is unsupported.
"""

import re
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.byte_level_json import dump_byte_level_json
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER
from tokenref.answers import Answer, Ok, Refused, TextSession, Unsupported
from tokenref.verdicts import ErrorCode

_PUBLISHED: Final = frozenset(entry.pattern for entry in REGISTRY.values())
_REPLACEMENT: Final = "\ufffd"


Found: TypeAlias = Any
"""What an engine, which has no types, returns: ids, a text or bytes; or `Unsupported`."""


class CrashError(Exception):
    """A panic of the engine, or the end of its process."""


class JsonEngine:
    """An engine that reads a tokenizer.json.

    >>> JsonEngine("1.0").load_tokenizer(b"{}", "empty", "strict")
    Unsupported(reason='only reads a tokenizer.json in its own way')
    """

    name: str
    refusals: Mapping[str, ErrorCode] = MappingProxyType({})
    """How the message of an exception begins that refuses the input."""

    longest: int | None = None
    """Maximum length of a text in characters, for an engine that needs quadratic time."""

    ids_only = True
    """Whether answers to `tokenize` have only ids."""

    ends_lines = False
    """Whether `$` in a pattern means the end of a line, as in Oniguruma."""

    def __init__(self, version: str) -> None:
        self.version = version

    def command(self) -> list[str]:
        """Return the command that runs the engine in a process of its own (`json_process`)."""
        adapter = f"{type(self).__module__}:{type(self).__qualname__}"
        return [sys.executable, "-P", "-m", "tokenref.engines.json_process", adapter]

    def open(self, content: bytes) -> Any:
        """Return the engine's tokenizer. Raises any exception if it cannot read the file."""
        raise NotImplementedError

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        """Return the ids of a text, perhaps with the special tokens that a template adds.

        This and `decode` use the methods of tokenizers, which some engines have, too.
        """
        return tokenizer.encode(text, add_special_tokens=added).ids

    def encode_pair(self, tokenizer: Any, text: str, pair: str, *, added: bool) -> Found:
        """Return the ids of a pair of texts."""
        return Unsupported("has no pairs of texts")

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        """Return the text of tokens or its bytes, perhaps without special tokens.

        None is the refusal of invalid UTF-8.
        """
        return tokenizer.decode(ids, skip_special_tokens=skip)

    def text(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        """Return the text of a whole tokenizer's tokens, or its bytes."""
        return self.decode(tokenizer, ids, skip=skip)

    def load(self, vocabulary: Vocabulary, name: str) -> "VocabularySession":
        """Return a session, which opens the file of the vocabulary when it is first asked."""
        return VocabularySession(self, vocabulary)

    def load_tokenizer(
        self, content: bytes, name: str, profile: str
    ) -> "FileSession | Unsupported":
        """Return a session, which opens the file when it is first asked."""
        if profile != "hugging-face":
            return Unsupported("only reads a tokenizer.json in its own way")
        return FileSession(self, content)

    def opened(self, content: bytes) -> Any:
        """Return the engine's tokenizer, or `Unsupported` with its message."""
        try:
            return self.open(content)
        except CrashError:
            raise
        except Exception as error:  # noqa: BLE001 - each engine has exceptions of its own
            return Unsupported(f"cannot load it: {str(error).splitlines()[0]:.200}")

    def refused(self, error: Exception) -> Refused:
        """Return the refusal that an exception is. Raises the exception if it is none."""
        for beginning, code in self.refusals.items():
            if str(error).startswith(beginning):
                return Refused(code, str(error))
        raise error


def _content(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the file of a vocabulary without its special tokens."""
    plain = replace(vocabulary, special_tokens={})
    content: dict[str, Any] = msgspec.json.decode(dump_byte_level_json(plain))
    if vocabulary.text.pattern in _PUBLISHED:
        split = content["pre_tokenizer"]["pretokenizers"][0]
        split["pattern"]["Regex"] = without_possessive(vocabulary.text.pattern)
    return content


def without_possessive(pattern: str) -> str:
    r"""Return a published pattern with greedy quantifiers instead of possessive ones.

    >>> without_possessive(r"\p{L}++|\p{N}{1,3}+|\s++$")
    '\\p{L}+|\\p{N}{1,3}|\\s+$'
    """
    return re.sub(r"([+*?]|\{[\d,]+\})\+", r"\1", pattern)


@dataclass(frozen=True, eq=False)
class VocabularySession(TextSession):
    """An engine with a vocabulary loaded."""

    engine: JsonEngine
    vocabulary: Vocabulary
    _built: dict[frozenset[str], Any] = field(init=False, repr=False, default_factory=dict)

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        try:
            return super().answer(op, request)
        except Exception as error:  # noqa: BLE001 - each engine has exceptions of its own
            return self.engine.refused(error)

    def encode(self, text: str, allowed: frozenset[str] = frozenset()) -> Found:
        longest = self.engine.longest
        if longest is not None and len(text) > longest:
            return Unsupported(
                f"is not run on texts of more than {longest} characters (quadratic time)"
            )
        tokenizer = self.tokenizer(allowed)
        if isinstance(tokenizer, Unsupported):
            return tokenizer
        return self.engine.encode(tokenizer, text, added=False)

    def special(self, text: str, request: Mapping[str, Any]) -> Answer:
        specials = frozenset(self.vocabulary.special_tokens)
        allowed = specials if request["allowed"] == "all" else frozenset(request["allowed"])
        every = request["disallowed"] == "all"
        disallowed = specials - allowed if every else frozenset(request["disallowed"])
        if any(content in text for content in disallowed):
            return Unsupported("cannot disallow special tokens")
        ids = self.encode(text, self._needed(text, allowed & specials))
        return ids if isinstance(ids, Unsupported) else Ok({"ids": ids})

    def _needed(self, text: str, allowed: frozenset[str]) -> frozenset[str]:
        """Return the special tokens that the file has: all that are allowed, if one occurs."""
        return allowed if any(content in text for content in allowed) else frozenset()

    def decode(self, request: Mapping[str, Any]) -> Answer:
        # of two special tokens with one id, the first listed is what it decodes to
        firsts = {content.decode() for content in self.vocabulary.special_bytes.values()}
        ids = request["ids"]
        needed = firsts if self.vocabulary.special_bytes.keys() & set(ids) else ()
        tokenizer = self.tokenizer(frozenset(needed))
        if isinstance(tokenizer, Unsupported):
            return tokenizer
        found = self.engine.decode(tokenizer, ids, skip=False)
        if isinstance(found, Unsupported):
            return found
        if isinstance(found, bytes):
            if "errors" not in request:
                return Ok({"bytes": found.hex()})
            try:
                found = found.decode("utf-8", request["errors"])
            except UnicodeDecodeError as error:
                return Refused("INVALID_UTF8", str(error))
        elif request.get("errors") != "replace":
            if found is None and "errors" in request:
                return Refused("INVALID_UTF8", "decode returned None")
            if found is None or _REPLACEMENT in found:
                return Unsupported("only decodes with replacement")
            if "errors" not in request:
                return Ok({"bytes": found.encode().hex()})
        return Ok({"text": found})

    def tokenizer(self, allowed: frozenset[str]) -> Any:
        """Return the engine's tokenizer with these special tokens, built once."""
        if allowed not in self._built:
            self._built[allowed] = self._build(allowed)
        return self._built[allowed]

    def specials(
        self, allowed: frozenset[str], ordinary: Container[str]
    ) -> dict[str, int] | Unsupported:
        """Return the ids of these special tokens, if a file can have them beside the others."""
        specials = {content: self.vocabulary.special_tokens[content] for content in sorted(allowed)}
        if len(set(specials.values())) < len(specials):
            return Unsupported("cannot give two special tokens the same id")
        for name in specials:
            if name in ordinary or (not name.isascii() and set(name) <= BYTE_OF_LETTER.keys()):
                return Unsupported(f"cannot distinguish {name!r} from an ordinary token")
        return specials

    def _build(self, allowed: frozenset[str]) -> Any:
        try:
            content = self.vocabulary.remember(_content)
        except BpeError as error:
            return Unsupported(str(error))
        vocab = content["model"]["vocab"]
        specials = self.specials(allowed, vocab)
        if isinstance(specials, Unsupported):
            return specials
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        added = [
            {"id": token, "content": name, **flags, "special": True}
            for name, token in sorted(specials.items(), key=lambda item: item[1])
        ]
        model = content["model"] | {"vocab": vocab | specials}
        file = msgspec.json.encode(content | {"added_tokens": added, "model": model})
        if self.engine.ends_lines and self.vocabulary.text.pattern in _PUBLISHED:
            file = file.replace(b"+$|", rb"+\\z|")
        return self.engine.opened(file)


@dataclass(frozen=True, eq=False)
class FileSession:
    """An engine with a tokenizer.json loaded."""

    engine: JsonEngine
    content: bytes

    @cached_property
    def tokenizer(self) -> Any:
        """The engine's tokenizer, or `Unsupported`."""
        return self.engine.opened(self.content)

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in {"tokenize", "detokenize"}:
            return Unsupported("only streams in its own way")
        if isinstance(self.tokenizer, Unsupported):
            return self.tokenizer
        try:
            if op == "tokenize":
                text, added = request["text"], request["add_special_tokens"]
                if "pair" in request:
                    pair = request["pair"]
                    ids = self.engine.encode_pair(self.tokenizer, text, pair, added=added)
                else:
                    ids = self.engine.encode(self.tokenizer, text, added=added)
                return ids if isinstance(ids, Unsupported) else Ok({"ids": ids})
            skip = request["skip_special_tokens"]
            found = self.engine.text(self.tokenizer, request["ids"], skip=skip)
        except Exception as error:  # noqa: BLE001 - each engine has exceptions of its own
            return self.engine.refused(error)
        if found is None:
            return Unsupported("returned no text")
        if isinstance(found, bytes):
            found = found.decode("utf-8", "replace")
        return found if isinstance(found, Unsupported) else Ok({"text": found})
