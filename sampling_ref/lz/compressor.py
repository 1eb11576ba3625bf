"""The sliding window compressor of the LZ penalty: definition 8, and how long its codes are.

Ginart et al., "LZ Penalty", 2025, section 2.2, definition 8 and propositions 1 and 2
(https://arxiv.org/abs/2504.20131), a form of LZSS: Storer and Szymanski, "Data compression
via textual substitution", Journal of the ACM 29 (4), 1982. The rule:

    Find the longest match of the buffer in the window. If there is none, write the first
    token of the buffer as a literal, otherwise the match as a pair (length, distance).
    Drop what was written from the buffer and go on, with the same window, until the
    buffer is empty.

    A match of length l at distance d costs log l + log d + 1 bits.
    A literal costs log V + 1 bits, V being the number of tokens in the vocabulary.
    The 1 is the flag that says which of the two follows.

Lengths
    are binary logarithms (the paper uses them in its example only) of whole numbers, and such a
    number, the *power*, is what is kept. Lengths add where powers multiply, so every sum and
    every comparison of lengths is exact. They are no whole numbers, and no code has them even on
    the average: the sum of 2^-length over all codes that can come next passes 1 as soon as the
    window holds more than one token, so no decoder could tell them apart (Kraft's inequality).
    They are what the fields would cost if the decoder knew how wide each field is.
Direction
    Newest first, as `matches` says and why.
Parse
    Greedy: always the longest match, never a shorter one that might pay off later.
Shortest match
    A match of one token is a match, also where a literal would be shorter. (LZSS writes a
    literal there. The paper mentions that and then does not do it.)
Moving on
    The paper leaves open how the window slides. `compress` cuts the tokens into buffers
    of equal size; the window of each is what came before it.
Bits
    Those that are written are never fewer than the lengths say. They are a flag (1: pair,
    0: literal), then fields just wide enough: a literal for any token, a distance for the
    window as it is, a length for what is left of the buffer. Distances and lengths are written
    less one.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.lz.matches import Match, longest_match, window_and_buffer
from sampling_ref.parameters import read_history, read_whole
from sampling_ref.row import TokenId

Code: TypeAlias = TokenId | Match
"""One code of the parse: a literal token, or a match."""


def pair_power(length: int, distance: int) -> int:
    """Return 2 to the length in bits of the code of a match: proposition 1.

    >>> pair_power(length=2, distance=4)  # 1 + 2 + 1 = 4 bits
    16
    """
    return 2 * length * distance


def literal_power(size: int) -> int:
    """Return 2 to the length in bits of the code of a literal: proposition 2.

    `size` is the number of tokens in the vocabulary.

    >>> literal_power(size=8)  # 3 + 1 = 4 bits
    16
    """
    return 2 * size


def read_bits(value: Any) -> str:
    """Return the parameter `bits`: a string of the digits 0 and 1.

    >>> read_bits("012")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bits must be a string of the digits 0 and 1, got '012'
    """
    if not isinstance(value, str) or not set(value) <= {"0", "1"}:
        raise ParameterError("bits", value, "must be a string of the digits 0 and 1")
    return value


def parse(buffer: Sequence[TokenId], window: Sequence[TokenId]) -> list[Code]:
    """Return the codes of a buffer given a window, both newest first.

    >>> parse(buffer=[3, 2, 7, 5], window=[5, 4, 3, 2, 1])
    [Match(length=2, distance=3), 7, Match(length=1, distance=1)]
    """
    codes: list[Code] = []
    start = 0
    while start < len(buffer):
        match = longest_match(buffer[start:], window)
        codes.append(match if match.length else buffer[start])
        start += max(match.length, 1)
    return codes


def code_power(buffer: Sequence[TokenId], window: Sequence[TokenId], size: int) -> int:
    """Return 2 to the length |C(b|w)| in bits of a buffer's code, by the propositions.

    `size` is the number of tokens in the vocabulary. Both sequences are newest first.

    >>> code_power(buffer=[3, 2, 7], window=[5, 4, 3, 2, 1], size=8)  # 12 * 16
    192
    """
    power = 1
    for code in parse(buffer, window):
        if isinstance(code, Match):
            power *= pair_power(code.length, code.distance)
        else:
            power *= literal_power(size)
    return power


def width(numbers: int) -> int:
    """Return how many bits tell `numbers` different numbers apart, from 0 on.

    >>> width(1), width(8), width(9)
    (0, 3, 4)
    """
    return (numbers - 1).bit_length()


def field(number: int, numbers: int) -> str:
    """Return a number below `numbers` in just enough binary digits.

    >>> field(3, 8)
    '011'
    """
    return f"{number:0{width(numbers)}b}" if numbers > 1 else ""


def encode_buffer(buffer: Sequence[TokenId], window: Sequence[TokenId], size: int) -> str:
    """Return the bits of a buffer given a window, both newest first.

    >>> encode_buffer(buffer=[3, 2, 7], window=[5, 4, 3, 2, 1], size=8)  # pair, literal
    '1010010111'
    """
    bits = ""
    left = len(buffer)
    for code in parse(buffer, window):
        if isinstance(code, Match):
            bits += "1" + field(code.distance - 1, len(window)) + field(code.length - 1, left)
            left -= code.length
        else:
            bits += "0" + field(code, size)
            left -= 1
    return bits


def decode_buffer(
    bits: str, length: int, window: Sequence[TokenId], size: int
) -> tuple[list[TokenId], str]:
    """Return a buffer of `length` tokens, and the bits that follow its code.

    >>> decode_buffer("1010010111", 3, window=[5, 4, 3, 2, 1], size=8)
    ([3, 2, 7], '')
    """
    place = 0

    def number(numbers: int) -> int:
        nonlocal place
        digits = bits[place : place + width(numbers)]
        place += width(numbers)
        value = int(digits or "0", 2)
        if place > len(bits) or value >= numbers:
            raise ParameterError("bits", bits, "must be what the compressor wrote")
        return value

    buffer: list[TokenId] = []
    while len(buffer) < length:
        if number(2):
            start = number(len(window))
            stop = start + number(length - len(buffer)) + 1
            if stop > len(window):
                raise ParameterError("bits", bits, "must be what the compressor wrote")
            buffer += window[start:stop]
        else:
            buffer.append(number(size))
    return buffer, bits[place:]


def read_sizes(size: int, window: int, buffer: int) -> None:
    """Raise `ParameterError` for sizes with which nothing can be compressed."""
    read_whole("size", size, 1)
    read_whole("window", window)
    read_whole("buffer", buffer, 1)


def compress(tokens: Sequence[TokenId], size: int, *, window: int, buffer: int) -> str:
    """Return the bits of tokens (oldest first) from a vocabulary of `size` tokens.

    >>> len(compress([1, 2, 3, 4] * 8, size=8, window=16, buffer=4))
    62
    >>> len(compress([1, 2, 3, 4, 5, 6, 7, 0] * 4, size=8, window=4, buffer=4))  # no match
    128
    """
    read_sizes(size, window, buffer)
    history = read_history(tokens, size, "tokens")
    bits = ""
    for start in range(0, len(history), buffer):
        stop = min(start + buffer, len(history))
        block = history[start:stop][::-1]
        before, _ = window_and_buffer(history[:stop], window, stop - start)
        bits += encode_buffer(block, before[::-1], size)
    return bits


def decompress(bits: str, length: int, size: int, *, window: int, buffer: int) -> list[TokenId]:
    """Return the `length` tokens (oldest first) whose bits these are: undo `compress`.

    >>> bits = compress([1, 2, 1, 2, 1], size=8, window=4, buffer=2)
    >>> decompress(bits, 5, size=8, window=4, buffer=2)
    [1, 2, 1, 2, 1]
    """
    read_sizes(size, window, buffer)
    read_whole("length", length)
    history: list[TokenId] = []
    left = read_bits(bits)
    while len(history) < length:
        before = history[max(0, len(history) - window) :][::-1]
        block, left = decode_buffer(left, min(buffer, length - len(history)), before, size)
        history += block[::-1]
    if left:
        raise ParameterError("bits", bits, f"must end with the last of {length} tokens")
    return history
