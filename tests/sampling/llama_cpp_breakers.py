"""DRY breakers that are strings, turned into the sequences of tokens that can spell them.

Definition (`llama_sampler_init_dry` and `get_overlapping_token_sequences` in
src/llama-sampler.cpp, after KoboldCpp): for each string (cut to 40 bytes), each token whose text

    contains the string               is a breaker by itself;
    ends with a beginning of it       begins a breaker: the rest of the string, tokenised (at
                                      most 20 tokens), is what has to follow. A text can end so
                                      in several ways, and each is a breaker.

What the rule misses
    The rest is tokenised on its own, in one way. Text in which the end of the string is
    spelled by other tokens does not count as a breaker.
"""

from collections.abc import Callable, Iterable, Sequence

from sampling_ref.row import TokenId

_MOST_BYTES = 40
_MOST_TOKENS = 20


def breakers_of_strings(
    strings: Iterable[bytes],
    pieces: Sequence[bytes],
    tokenize: Callable[[bytes], Sequence[TokenId]],
) -> list[tuple[TokenId, ...]]:
    """Return the breakers, as sequences of tokens, that some strings stand for.

    `pieces` is the text of each token, `tokenize` the engine's tokenizer without special tokens.

    >>> breakers_of_strings([b"ab"], [b"a", b"b", b"cab", b"ca"], lambda text: [1])
    [(2,), (0, 1), (3, 1)]
    """
    breakers: dict[tuple[TokenId, ...], None] = {}
    for string in strings:
        text = string[:_MOST_BYTES]
        if text:
            breakers |= dict.fromkeys(
                (token,) for token, piece in enumerate(pieces) if text in piece
            )
            for token, piece in enumerate(pieces):
                if text not in piece:
                    for length in _ends_that_begin(piece, text):
                        rest = tokenize(text[length:])[:_MOST_TOKENS]
                        breakers[token, *rest] = None
    return list(breakers)


def _ends_that_begin(piece: bytes, text: bytes) -> list[int]:
    """Return the lengths of all ends of a piece that are beginnings of a text."""
    most = min(len(piece), len(text) - 1)
    return [length for length in range(most, 0, -1) if piece.endswith(text[:length])]
