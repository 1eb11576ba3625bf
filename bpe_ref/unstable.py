r"""tiktoken's answer to what an unfinished text may become. For the definition see `completions`.

    The stable tokens are those before the last piece; if that piece begins
    with a token of white space only, also without the white tokens before it.
    The rest of the text is joined with the rest of each token that can straddle
    its end, and encoded; of the tokens that come out, those that cover the rest
    are a completion.

Source: openai/tiktoken 0.14.0, `_encode_unstable_native` in src/lib.rs.

What it does besides, each with a comment in the code
    Joined bytes that are not UTF-8 are one piece, without the whole-piece rule.
    Every token that begins with the whole rest is a completion, whether an
    encoding can hold it there or not. A rest that ends in white space is also
    cut before its last character.
    A text that ends in a special token is stable as a whole.
"""

from bisect import bisect_left
from operator import itemgetter

from bpe_ref.added_tokens import Treatment
from bpe_ref.models.byte_bpe import ByteBPE, encode_quickly
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.witnesses import WHITE

Tokens = tuple[TokenId, ...]


def unstable_as_tiktoken(
    tokenizer: Tokenizer, text: str, treatment: Treatment
) -> tuple[list[TokenId], set[Tokens]]:
    r"""Return tiktoken's stable tokens and completions.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> tokenizer = tokenizer_of(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2}))
    >>> unstable_as_tiktoken(tokenizer, "ba", tokenizer.treatment("ordinary"))
    ([], {(1, 0), (1, 2)})
    """
    model = tokenizer.model
    assert isinstance(model, ByteBPE)  # noqa: S101 -- `completions` has checked it
    vocabulary = model.vocabulary
    tokens: list[TokenId] = []
    unstable = 0  # how many tokens the last piece has; 0 after a special token
    for start, stop, special in tokenizer.added.cut(text, normalized=False, treatment=treatment):
        if special is not None:
            tokens.append(special)
            unstable = 0
            continue
        for piece in tokenizer.pieces(text[start:stop], special="ordinary"):
            encoded = model.ids(piece)
            unstable = len(encoded)
            tokens += encoded
    if unstable == 0:
        return tokens, set()
    if _is_blank(vocabulary, tokens[-unstable]):
        while unstable < len(tokens) and _is_blank(vocabulary, tokens[-unstable - 1]):
            unstable += 1
    rest = tokenizer.decode_bytes(tokens[-unstable:])
    return tokens[:-unstable], _completions(tokenizer, vocabulary, rest)


def by_alphabet(vocabulary: Vocabulary) -> list[tuple[bytes, TokenId]]:
    """Return the bytes and id of every token, in the order of the bytes.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> by_alphabet(vocabulary_by_concatenation({b"b": 0, b"a": 1}))
    [(b'a', 1), (b'b', 0)]
    """
    return sorted((content, token) for token, content in vocabulary.tokens.items())


def beginning_with(vocabulary: Vocabulary, start: bytes) -> list[tuple[bytes, TokenId]]:
    """Return the bytes and id of every token that begins with these bytes.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> beginning_with(vocabulary_by_concatenation({b"b": 0, b"a": 1, b"ab": 2}), b"a")
    [(b'a', 1), (b'ab', 2)]
    """
    tokens = vocabulary.remember(by_alphabet)
    first = last = bisect_left(tokens, start, key=itemgetter(0))
    while last < len(tokens) and tokens[last][0].startswith(start):
        last += 1
    return tokens[first:last]


def _completions(tokenizer: Tokenizer, vocabulary: Vocabulary, rest: bytes) -> set[Tokens]:
    # whether it can stand there is not asked
    found: set[Tokens] = {(token,) for _, token in beginning_with(vocabulary, rest)}
    for start in range(1, len(rest)):
        for content, _ in beginning_with(vocabulary, rest[start:]):
            joined = rest[:start] + content
            try:
                encoded = tokenizer.encode(joined.decode("utf-8"), special="ordinary")
            except UnicodeDecodeError:
                encoded = _merged(vocabulary, joined)
            found.add(_covering(vocabulary, encoded, len(rest)))
    # a split may appear before white space: \s+(?!\S) leaves the last space to what follows
    white = next((space for space in WHITE if rest.endswith(space)), b"")
    before = rest[: len(rest) - len(white)]
    if white and before:
        found.add((*_merged(vocabulary, before), *_merged(vocabulary, white)))
    return found


def _merged(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    return encode_quickly(vocabulary, vocabulary.symbols(piece))


def _covering(vocabulary: Vocabulary, tokens: list[TokenId], length: int) -> Tokens:
    """Return the first tokens that together have at least that many bytes, or all of them."""
    covered = 0
    for count, token in enumerate(tokens, 1):
        covered += len(vocabulary.tokens[token])
        if covered >= length:
            return tuple(tokens[:count])
    return tuple(tokens)


def _is_blank(vocabulary: Vocabulary, token: TokenId) -> bool:
    """Return whether a token, no special one, is white space only."""
    return token in vocabulary.tokens and not vocabulary.tokens[token].strip(b" \n\t")
