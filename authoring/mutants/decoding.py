"""Mutants that decode wrongly, count wrongly, or take bytes for what they are not."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from authoring.mutants.mutant import (
    Ask,
    Mutant,
    bytewise,
    count,
    decode,
    encode,
    mutant,
)
from bpe_ref import DecodingError, Steps, TokenId, TokenIdError, Vocabulary
from tokenref.answers import Ok, Refused, as_text, request_text
from tokenref.engines.reference import ReferenceSession

DecodeBytes = Callable[[Vocabulary, Iterable[TokenId]], bytes]

_bytes: Final = Steps().decode_bytes
_text: Final = Steps().bytes_to_text

_LOST: Final = "\ufffd"


# ---- from tokens to bytes


def _known(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> Iterator[TokenId]:
    for token in ids:
        try:
            vocabulary.token_bytes(token)
        except TokenIdError:
            continue
        yield token


def _unknown_dropped(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    return _bytes(vocabulary, list(_known(vocabulary, ids)))


def _negative_from_the_end(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    size = max([*vocabulary.tokens, *vocabulary.special_bytes]) + 1
    return _bytes(vocabulary, [token + size if token < 0 else token for token in ids])


def _specials_skipped(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    return _bytes(vocabulary, [token for token in ids if token not in vocabulary.special_bytes])


def _specials_unknown(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    row = list(ids)
    for token in row:
        if token in vocabulary.special_bytes:
            raise TokenIdError(f"token id must be that of an ordinary token, got {token}")
    return _bytes(vocabulary, row)


def _token_by_token(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    contents = (_bytes(vocabulary, [token]) for token in ids)
    return b"".join(content.decode("utf-8", "replace").encode() for content in contents)


def _bytes_spelled(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    contents = (_bytes(vocabulary, [token]) for token in ids)
    return b"".join(
        b"<0x%02X>" % content[0] if len(content) == 1 and content[0] >= 0x80 else content
        for content in contents
    )


def then(change: Callable[[bytes], bytes]) -> Steps:
    """Return the steps that change the bytes after decoding.

    >>> then(bytes.upper).decode_bytes(bytewise(), [97])
    b'A'
    """
    return Steps(decode_bytes=lambda vocabulary, ids: change(_bytes(vocabulary, ids)))


# ---- from bytes to text


def with_errors(handle: Callable[[str], str]) -> Steps:
    r"""Return the steps that handle errors by another name than was given.

    >>> with_errors(lambda errors: "ignore").bytes_to_text(b"a\xff", "strict")
    'a'
    """
    return Steps(bytes_to_text=lambda data, errors: _text(data, handle(errors)))


def replacing(replace: Callable[[bytes], str]) -> Steps:
    r"""Return the steps that replace what is not UTF-8 in another way.

    >>> replacing(lambda data: "?").bytes_to_text(b"a\xff", "replace")
    '?'
    """

    def bytes_to_text(data: bytes, errors: str) -> str:
        try:
            return _text(data, "strict")
        except DecodingError:
            return replace(data) if errors == "replace" else _text(data, errors)

    return Steps(bytes_to_text=bytes_to_text)


def _one_for_each_byte(data: bytes) -> str:
    escaped = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", _LOST, escaped)


def _one_for_each_run(data: bytes) -> str:
    return re.sub("[\udc80-\udcff]+", _LOST, data.decode("utf-8", "surrogateescape"))


def _all_or_nothing(data: bytes) -> str:
    return _LOST * len(data)


def _unfinished_kept_back(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text.removesuffix(_LOST)


def _surrogates_accepted(data: bytes, errors: str) -> str:
    try:
        return _text(data, "strict")
    except DecodingError:
        try:
            # a surrogate cannot be written down; what matters is that nobody complains
            return (
                data.decode("utf-8", "surrogatepass").encode("utf-16", "replace").decode("utf-16")
            )
        except UnicodeDecodeError:
            return _text(data, errors)


def _without_lost(data: bytes, errors: str) -> str:
    return _text(data, errors).replace(_LOST, "")


def _without_mark(data: bytes, errors: str) -> str:
    return _text(data.removeprefix(b"\xef\xbb\xbf"), errors)


def _cleaned_up(content: bytes) -> bytes:
    return re.sub(rb" ([.,!?]|'(?:s|m|ve|re)\b|n't\b)", rb"\1", content)


# ---- bytes that are not UTF-8, and counts


def _not_utf8(request: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of a request that are not UTF-8, if they are not."""
    content = request_text(request)
    return content if isinstance(content, bytes) and as_text(content) is None else None


def taking_bytes(encode_bytes: Callable[[ReferenceSession, bytes], list[TokenId]]) -> Ask:
    """Return what encodes bytes that are not UTF-8 in another way.

    >>> session = bytewise()  # what is done with it is up to the mutant
    >>> callable(taking_bytes(lambda session, data: []))
    True
    """

    def ask(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        data = _not_utf8(request) if op in {"encode", "count"} else None
        if data is None:
            return session.answer(op, request)
        ids = encode_bytes(session, data)
        return Ok({"ids": ids} if op == "encode" else {"count": len(ids)})

    return ask


def _bytes_replaced(session: ReferenceSession, data: bytes) -> list[TokenId]:
    return session.tokenizer.encode_ordinary(data.decode("utf-8", "replace"))


def _bytes_dropped(session: ReferenceSession, data: bytes) -> list[TokenId]:
    return session.tokenizer.encode_ordinary(data.decode("utf-8", "ignore"))


def _bytes_as_latin_1(session: ReferenceSession, data: bytes) -> list[TokenId]:
    return session.tokenizer.encode_ordinary(data.decode("latin-1"))


def _bytes_in_one_piece(session: ReferenceSession, data: bytes) -> list[TokenId]:
    return session.tokenizer.encode_piece(data)


def _bytes_cut_at_the_error(session: ReferenceSession, data: bytes) -> list[TokenId]:
    end = next(i for i in range(len(data), -1, -1) if as_text(data[:i]) is not None)
    text = data[:end].decode()
    return session.tokenizer.encode_ordinary(text) + session.tokenizer.encode_piece(data[end:])


def counting(number: Callable[[ReferenceSession, str, int], int]) -> Ask:
    """Return what counts the tokens of a text in another way, given the right number.

    >>> callable(counting(lambda session, text, right: right + 1))
    True
    """

    def ask(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = session.answer(op, request)
        if op != "count" or isinstance(answer, Refused):
            return answer
        text = as_text(request_text(request))
        return answer if text is None else Ok({"count": number(session, text, answer.out["count"])})

    return ask


_SPECIAL: Final = bytewise(special_tokens={"<x>": 256})

DECODING: Final[tuple[Mutant, ...]] = (
    mutant(
        "unknown-ids-dropped",
        "An id that belongs to no token decodes to nothing, as in Hugging Face's library; tiktoken "
        "raises. cl100k_base has no 100256.",
        decode(bytewise(), 97, 999),
        steps=Steps(decode_bytes=_unknown_dropped),
    ),
    mutant(
        "negative-ids-from-the-end",
        "The id -1 decodes to the last token, as an index into a Python list. Own.",
        decode(bytewise(), -1),
        steps=Steps(decode_bytes=_negative_from_the_end),
    ),
    mutant(
        "special-ids-skipped",
        "Special tokens decode to nothing, which is a choice elsewhere. Own, after Hugging Face's "
        "skip_special_tokens.",
        decode(_SPECIAL, 97, 256),
        steps=Steps(decode_bytes=_specials_skipped),
    ),
    mutant(
        "special-ids-unknown",
        "Only ordinary tokens can be decoded. GitHub's bpe-openai knows no special tokens.",
        decode(_SPECIAL, 256),
        steps=Steps(decode_bytes=_specials_unknown),
    ),
    mutant(
        "token-by-token",
        "Each token is turned into text by itself, which breaks characters that two tokens share. "
        "vllm-project/vllm#8627, and many chat programs.",
        decode(bytewise(), 0xC3, 0xA9, errors="replace"),
        steps=Steps(decode_bytes=_token_by_token),
    ),
    mutant(
        "bytes-spelled-out",
        "A byte that is no character decodes to `<0xEA>`. huggingface/transformers#48041, "
        "cactus-compute/cactus#684, k2-fsa/sherpa-onnx#2524.",
        decode(bytewise(), 0xC3, 0xA9),
        steps=Steps(decode_bytes=_bytes_spelled),
    ),
    mutant(
        "first-space-lost",
        "A space at the start is dropped. huggingface/tokenizers#1141.",
        decode(bytewise(), 32, 97),
        steps=then(lambda content: content.removeprefix(b" ")),
    ),
    mutant(
        "spaces-cleaned-up",
        "Spaces before punctuation are dropped, so `x != y` becomes `x!= y`. "
        "huggingface/transformers#44915, ml-explore/mlx-lm#1347.",
        decode(bytewise(), *b"x != y"),
        steps=then(_cleaned_up),
    ),
    mutant(
        "decoded-line-ends-unified",
        r"`\r\n` becomes `\n`, as when text is written to a file and read again. Own.",
        decode(bytewise(), 13, 10),
        steps=then(lambda content: content.replace(b"\r\n", b"\n")),
    ),
    mutant(
        "strict-is-replace",
        "Bytes that are not UTF-8 are replaced though an error was asked for. Own.",
        decode(bytewise(), 255, errors="strict"),
        steps=with_errors(lambda _: "replace"),
    ),
    mutant(
        "replace-is-strict",
        "Bytes that are not UTF-8 are an error though replacing was asked for. "
        "microsoft/PhiCookBook#14.",
        decode(bytewise(), 255, errors="replace"),
        steps=with_errors(lambda _: "strict"),
    ),
    mutant(
        "replace-is-ignore",
        "Bytes that are not UTF-8 disappear. ollama/ollama#15232.",
        decode(bytewise(), 97, 255, errors="replace"),
        steps=with_errors(lambda errors: "ignore" if errors == "replace" else errors),
    ),
    mutant(
        "one-replacement-for-each-byte",
        "Each byte that is not UTF-8 becomes a U+FFFD of its own, not each maximal part of a "
        "character. Own.",
        decode(bytewise(), 0xE4, 0xBD, errors="replace"),
        steps=replacing(_one_for_each_byte),
    ),
    mutant(
        "one-replacement-for-each-run",
        "A run of bytes that are not UTF-8 becomes a single U+FFFD. Own.",
        decode(bytewise(), 255, 255, errors="replace"),
        steps=replacing(_one_for_each_run),
    ),
    mutant(
        "all-bytes-replaced",
        "One byte that is not UTF-8 spoils all the others: Hugging Face's ByteFallback replaces "
        "a whole run of byte tokens, SentencePiece only what is wrong.",
        decode(bytewise(), 97, 255, errors="replace"),
        steps=replacing(_all_or_nothing),
    ),
    mutant(
        "unfinished-end-lost",
        "A character that is unfinished at the end is held back and never shown. Hugging Face's "
        "DecodeStream.",
        decode(bytewise(), 97, 0xC3, errors="replace"),
        steps=replacing(_unfinished_kept_back),
    ),
    mutant(
        "surrogates-accepted",
        "Surrogates written as three bytes are taken for UTF-8. Own.",
        decode(bytewise(), 0xED, 0xA0, 0x80, errors="strict"),
        steps=Steps(bytes_to_text=_surrogates_accepted),
    ),
    mutant(
        "replacement-characters-deleted",
        "U+FFFD is deleted from the text, and with it the ones that were really there. "
        "replicate/cog-llama-template#75.",
        decode(bytewise(), *"a\ufffd".encode(), errors="strict"),
        steps=Steps(bytes_to_text=_without_lost),
    ),
    mutant(
        "decoded-byte-order-mark-lost",
        "U+FEFF at the start is taken for a mark of the encoding. Own.",
        decode(bytewise(), *"\ufeffa".encode(), errors="strict"),
        steps=Steps(bytes_to_text=_without_mark),
    ),
    mutant(
        "bad-bytes-replaced-first",
        "Bytes that are not UTF-8 become U+FFFD before they are encoded. Own.",
        encode(bytewise(), b"a\xff"),
        ask=taking_bytes(_bytes_replaced),
    ),
    mutant(
        "bad-bytes-dropped-first",
        "Bytes that are not UTF-8 are dropped before the rest is encoded. Own.",
        encode(bytewise(), b"a\xff"),
        ask=taking_bytes(_bytes_dropped),
    ),
    mutant(
        "bad-bytes-as-latin-1",
        "Bytes that are not UTF-8 are read as Latin-1. Own.",
        encode(bytewise(), b"a\xff"),
        ask=taking_bytes(_bytes_as_latin_1),
    ),
    mutant(
        "bad-bytes-in-one-piece",
        "If a byte is not UTF-8, nothing is cut into pieces. Own.",
        encode(bytewise("a+|b+", b"ab"), b"abb\xff"),
        ask=taking_bytes(_bytes_in_one_piece),
    ),
    mutant(
        "bad-bytes-cut-off",
        "What comes before the first byte that is not UTF-8 is encoded by itself; tiktoken takes "
        "its last piece back. Own.",
        encode(bytewise("a+|b+", b"b\xff"), b"ab\xff"),
        ask=taking_bytes(_bytes_cut_at_the_error),
    ),
    mutant(
        "count-is-pieces",
        "The pieces are counted, not the tokens. Seen in teaching code.",
        count(bytewise("a+"), "aa"),
        ask=counting(lambda session, text, _: len(session.tokenizer.pieces(text))),
    ),
    mutant(
        "count-is-a-quarter",
        "The count is guessed as a quarter of the characters. Seen in many programs.",
        count(bytewise(), "aaaaa"),
        ask=counting(lambda _, text, __: (len(text) + 3) // 4),
    ),
    mutant(
        "count-is-one-more",
        "The count includes a token that begins the text, which nobody asked for. Own.",
        count(bytewise(), "a"),
        ask=counting(lambda _, __, right: right + 1),
    ),
)
"""The mutants that decode or count wrongly."""
