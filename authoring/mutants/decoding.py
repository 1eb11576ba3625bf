"""Mutants that decode wrongly, count wrongly, or take bytes for what they are not."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final

from authoring.mutants.mutant import (
    RIGHT,
    Handler,
    answering,
    bytewise,
    count,
    decode,
    encode,
    replacing,
)
from bpe_ref import DecodingError, SymbolError, TokenId, TokenIdError, Vocabulary
from tokenref.answers import Ok, Refused, as_text, request_text
from tokenref.engines.reference import ReferenceSession, byte_model

# ---- from tokens to bytes, and from bytes to text

_LOST: Final = "\ufffd"


def _known(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> Iterator[TokenId]:
    for token in ids:
        try:
            vocabulary.token_bytes(token)
        except TokenIdError:
            continue
        yield token


def then(change: Callable[[bytes], bytes]) -> Callable[[Vocabulary, Iterable[TokenId]], bytes]:
    """Change the bytes after decoding.

    >>> then(bytes.upper)(bytewise(), [97])
    b'A'
    """

    @wraps(change)
    def decode_bytes(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
        return change(RIGHT.decode_bytes(vocabulary, ids))

    return decode_bytes


def with_errors(handle: Callable[[str], str]) -> Callable[[bytes, str], str]:
    r"""Handle errors by another name than was given.

    >>> with_errors(lambda errors: "ignore")(b"a\xff", "strict")
    'a'
    """

    @wraps(handle)
    def bytes_to_text(data: bytes, errors: str) -> str:
        return RIGHT.bytes_to_text(data, handle(errors))

    return bytes_to_text


def replacing_errors(replace: Callable[[bytes], str]) -> Callable[[bytes, str], str]:
    r"""Replace what is not UTF-8 in another way.

    >>> replacing_errors(lambda data: "?")(b"a\xff", "replace")
    '?'
    """

    @wraps(replace)
    def bytes_to_text(data: bytes, errors: str) -> str:
        try:
            return RIGHT.bytes_to_text(data, "strict")
        except DecodingError:
            return replace(data) if errors == "replace" else RIGHT.bytes_to_text(data, errors)

    return bytes_to_text


# ---- bytes that are not UTF-8, and counts


def _not_utf8(request: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of a request that are not UTF-8, if they are not."""
    content = request_text(request)
    return content if isinstance(content, bytes) and as_text(content) is None else None


def taking_bytes(encode_bytes: Callable[[ReferenceSession, bytes], list[TokenId]]) -> Handler:
    """Encode bytes that are not UTF-8 in another way."""

    @wraps(encode_bytes)
    def handle(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        data = _not_utf8(request) if op in {"encode", "count"} else None
        if data is None:
            return session.answer(op, request)
        try:
            ids = encode_bytes(session, data)
        except SymbolError as error:
            return Refused("MISSING_BYTE", str(error))
        return Ok({"ids": ids} if op == "encode" else {"count": len(ids)})

    return handle


def counting(number: Callable[[ReferenceSession, str, int], int]) -> Handler:
    """Count the tokens of a text in another way, given the right number."""

    @wraps(number)
    def handle(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = session.answer(op, request)
        if op != "count" or isinstance(answer, Refused):
            return answer
        text = as_text(request_text(request))
        return answer if text is None else Ok({"count": number(session, text, answer.out["count"])})

    return handle


_SPECIAL: Final = bytewise(special_tokens={"<x>": 256})


@replacing("decode_bytes", decode(bytewise(), 97, 999))
def unknown_ids_dropped(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """An id that belongs to no token decodes to nothing, as in Hugging Face's library; tiktoken
    raises. cl100k_base has no 100256.
    """
    return RIGHT.decode_bytes(vocabulary, list(_known(vocabulary, ids)))


@replacing("decode_bytes", decode(bytewise(), -1))
def negative_ids_from_the_end(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """The id -1 decodes to the last token, as an index into a Python list."""
    size = max([*vocabulary.tokens, *vocabulary.special_bytes]) + 1
    return RIGHT.decode_bytes(vocabulary, [token + size if token < 0 else token for token in ids])


@replacing("decode_bytes", decode(_SPECIAL, 97, 256))
def special_ids_skipped(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """Special tokens decode to nothing, which elsewhere is an option. After Hugging Face's
    skip_special_tokens.
    """
    return RIGHT.decode_bytes(
        vocabulary, [token for token in ids if token not in vocabulary.special_bytes]
    )


@replacing("decode_bytes", decode(_SPECIAL, 256))
def special_ids_unknown(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """Only ordinary tokens can be decoded. GitHub's bpe-openai has no special tokens."""
    row = list(ids)
    for token in row:
        if token in vocabulary.special_bytes:
            raise TokenIdError(f"token id must be that of an ordinary token, got {token}")
    return RIGHT.decode_bytes(vocabulary, row)


@replacing("decode_bytes", decode(bytewise(), 0xC3, 0xA9, errors="replace"))
def token_by_token(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """Each token is decoded to text separately, which breaks characters that span two tokens.
    vllm-project/vllm#8627, and many chat programs.
    """
    contents = (RIGHT.decode_bytes(vocabulary, [token]) for token in ids)
    return b"".join(content.decode("utf-8", "replace").encode() for content in contents)


@replacing("decode_bytes", decode(bytewise(), 0xC3, 0xA9))
def bytes_spelled_out(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """A byte that is not a character decodes to `<0xEA>`. huggingface/transformers#48041,
    cactus-compute/cactus#684, k2-fsa/sherpa-onnx#2524.
    """
    contents = (RIGHT.decode_bytes(vocabulary, [token]) for token in ids)
    return b"".join(
        b"<0x%02X>" % content[0] if len(content) == 1 and content[0] >= 0x80 else content
        for content in contents
    )


@replacing("decode_bytes", decode(bytewise(), 32, 97))
@then
def first_space_lost(content: bytes) -> bytes:
    """A space at the start is dropped. huggingface/tokenizers#1141."""
    return content.removeprefix(b" ")


@replacing("decode_bytes", decode(bytewise(), *b"x != y"))
@then
def spaces_cleaned_up(content: bytes) -> bytes:
    """Spaces before punctuation are dropped, so `x != y` becomes `x!= y`.
    huggingface/transformers#44915, ml-explore/mlx-lm#1347.
    """
    return re.sub(rb" ([.,!?]|'(?:s|m|ve|re)\b|n't\b)", rb"\1", content)


@replacing("decode_bytes", decode(bytewise(), 13, 10))
@then
def decoded_line_ends_unified(content: bytes) -> bytes:
    r"""`\r\n` becomes `\n`, as when text is written to a file and read again."""
    return content.replace(b"\r\n", b"\n")


@replacing("bytes_to_text", decode(bytewise(), 255, errors="strict"))
@with_errors
def strict_is_replace(_: str) -> str:
    """Bytes that are not UTF-8 are replaced although an error was requested."""
    return "replace"


@replacing("bytes_to_text", decode(bytewise(), 255, errors="replace"))
@with_errors
def replace_is_strict(_: str) -> str:
    """Bytes that are not UTF-8 are an error although replacement was requested.
    microsoft/PhiCookBook#14.
    """
    return "strict"


@replacing("bytes_to_text", decode(bytewise(), 97, 255, errors="replace"))
@with_errors
def replace_is_ignore(errors: str) -> str:
    """Bytes that are not UTF-8 disappear. ollama/ollama#15232."""
    return "ignore" if errors == "replace" else errors


@replacing("bytes_to_text", decode(bytewise(), 0xE4, 0xBD, errors="replace"))
@replacing_errors
def one_replacement_for_each_byte(data: bytes) -> str:
    """Each byte that is not UTF-8 becomes its own U+FFFD, instead of each maximal part of a
    character.
    """
    escaped = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", _LOST, escaped)


@replacing("bytes_to_text", decode(bytewise(), 255, 255, errors="replace"))
@replacing_errors
def one_replacement_for_each_run(data: bytes) -> str:
    """A run of bytes that are not UTF-8 becomes a single U+FFFD."""
    return re.sub("[\udc80-\udcff]+", _LOST, data.decode("utf-8", "surrogateescape"))


@replacing("bytes_to_text", decode(bytewise(), 97, 255, errors="replace"))
@replacing_errors
def all_bytes_replaced(data: bytes) -> str:
    """One byte that is not UTF-8 spoils the others: Hugging Face's ByteFallback replaces a whole
    run of byte tokens, SentencePiece only the wrong part.
    """
    return _LOST * len(data)


@replacing("bytes_to_text", decode(bytewise(), 97, 0xC3, errors="replace"))
@replacing_errors
def unfinished_end_lost(data: bytes) -> str:
    """An unfinished character at the end is held back and never shown. Hugging Face's
    DecodeStream.
    """
    text = data.decode("utf-8", "replace")
    return text.removesuffix(_LOST)


@replacing("bytes_to_text", decode(bytewise(), 0xED, 0xA0, 0x80, errors="strict"))
def surrogates_accepted(data: bytes, errors: str) -> str:
    """Surrogates written as three bytes are taken for UTF-8."""
    try:
        return RIGHT.bytes_to_text(data, "strict")
    except DecodingError:
        try:
            # a surrogate cannot be written down; what matters is that nobody complains
            return (
                data.decode("utf-8", "surrogatepass").encode("utf-16", "replace").decode("utf-16")
            )
        except UnicodeDecodeError:
            return RIGHT.bytes_to_text(data, errors)


@replacing("bytes_to_text", decode(bytewise(), *"a\ufffd".encode(), errors="strict"))
def replacement_characters_deleted(data: bytes, errors: str) -> str:
    """U+FFFD is deleted from the text, and with it the ones that were really there.
    replicate/cog-llama-template#75.
    """
    return RIGHT.bytes_to_text(data, errors).replace(_LOST, "")


@replacing("bytes_to_text", decode(bytewise(), *"\ufeffa".encode(), errors="strict"))
def decoded_byte_order_mark_lost(data: bytes, errors: str) -> str:
    """U+FEFF at the start is taken for a mark of the encoding."""
    return RIGHT.bytes_to_text(data.removeprefix(b"\xef\xbb\xbf"), errors)


@answering(encode(bytewise(), b"a\xff"))
@taking_bytes
def bad_bytes_replaced_first(session: ReferenceSession, data: bytes) -> list[TokenId]:
    """Bytes that are not UTF-8 become U+FFFD before they are encoded."""
    return session.tokenizer.encode(data.decode("utf-8", "replace"), special="ordinary")


@answering(encode(bytewise(), b"a\xff"))
@taking_bytes
def bad_bytes_dropped_first(session: ReferenceSession, data: bytes) -> list[TokenId]:
    """Bytes that are not UTF-8 are dropped before the rest is encoded."""
    return session.tokenizer.encode(data.decode("utf-8", "ignore"), special="ordinary")


@answering(encode(bytewise(), b"a\xff"))
@taking_bytes
def bad_bytes_as_latin_1(session: ReferenceSession, data: bytes) -> list[TokenId]:
    """Bytes that are not UTF-8 are read as Latin-1."""
    return session.tokenizer.encode(data.decode("latin-1"), special="ordinary")


@answering(encode(bytewise("a+|b+", b"ab"), b"abb\xff"))
@taking_bytes
def bad_bytes_in_one_piece(session: ReferenceSession, data: bytes) -> list[TokenId]:
    """If a byte is not UTF-8, nothing is cut into pieces."""
    return byte_model(session.tokenizer).ids_of_bytes(data)


@answering(encode(bytewise("a+|b+", b"b\xff"), b"ab\xff"))
@taking_bytes
def bad_bytes_cut_off(session: ReferenceSession, data: bytes) -> list[TokenId]:
    """What comes before the first byte that is not UTF-8 is encoded by itself; tiktoken takes its
    last piece back.
    """
    end = next(i for i in range(len(data), -1, -1) if as_text(data[:i]) is not None)
    text = data[:end].decode()
    return session.tokenizer.encode(text, special="ordinary") + byte_model(
        session.tokenizer
    ).ids_of_bytes(data[end:])


@answering(count(bytewise("a+"), "aa"))
@counting
def count_is_pieces(session: ReferenceSession, text: str, _: int) -> int:
    """The pieces are counted, not the tokens. Seen in teaching code."""
    return len(session.tokenizer.pieces(text, special="ordinary"))


@answering(count(bytewise(), "aaaaa"))
@counting
def count_is_a_quarter(_: ReferenceSession, text: str, __: int) -> int:
    """The count is guessed as a quarter of the characters. Seen in many programs."""
    return (len(text) + 3) // 4


@answering(count(bytewise(), "a"))
@counting
def count_is_one_more(_: ReferenceSession, __: str, right: int) -> int:
    """The count includes a token that begins the text, which nobody asked for."""
    return right + 1
