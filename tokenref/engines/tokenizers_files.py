"""Hugging Face tokenizers with a tokenizer.json, which is its own file format."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenref.answers import Answer, Ok, Refused, Unsupported

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def load_file(content: bytes, profile: str) -> "FileSession | Unsupported":
    """Load a tokenizer.json.

    >>> load_file(b"{}", "strict")
    Unsupported(reason='reads a tokenizer.json in its own way only')
    """
    if profile != "hugging-face":
        return Unsupported("reads a tokenizer.json in its own way only")
    from tokenizers import Tokenizer

    return FileSession(Tokenizer.from_buffer(content))


@dataclass(frozen=True, eq=False)
class FileSession:
    """Hugging Face tokenizers with a tokenizer.json loaded."""

    tokenizer: "Tokenizer"

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        match op:
            case "tokenize":
                return self._tokenize(request)
            case "detokenize":
                skipped = request["skip_special_tokens"]
                return Ok({"text": self.tokenizer.decode(request["ids"], skipped)})
        if request["mode"] != "engine":
            return Unsupported("streams in its own way only")
        return self._stream(request)

    def _tokenize(self, request: Mapping[str, Any]) -> Ok:
        encoding = self.tokenizer.encode(
            request["text"],
            request.get("pair"),
            add_special_tokens=request["add_special_tokens"],
        )
        return Ok({**_part(encoding), "overflowing": list(map(_part, encoding.overflowing))})

    def _stream(self, request: Mapping[str, Any]) -> Answer:
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=request["skip_special_tokens"])
        parts: list[str | None] = []
        for token in request["ids"]:
            try:
                parts.append(stream.step(self.tokenizer, token))
            except Exception as error:
                if "prefix" in str(error).lower():
                    return Refused("INVALID_PREFIX", str(error))
                raise
        return Ok({"parts": parts, "tail": ""})


def _part(encoding: "Encoding") -> dict[str, Any]:
    """Return an encoding as a record has it, without what is overflowing."""
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [list(span) for span in encoding.offsets],
        "type_ids": encoding.type_ids,
        "words": encoding.word_ids,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
    }
