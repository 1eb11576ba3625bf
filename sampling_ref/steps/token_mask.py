"""Token mask: only the tokens that a mask allows stay possible.

As grammars, tool calls and structured answers use it: xgrammar 0.2.8,
`apply_token_bitmask_inplace` (https://github.com/mlc-ai/xgrammar); llguidance 1.9.1,
`apply_token_bitmask_inplace` (https://github.com/guidance-ai/llguidance). The rule:

    A token stays possible if the mask allows it. All others are impossible. The logits of
    the tokens that stay do not change.

A mask is given in one of three forms:

words
    Words of 32 bits. Token t has a bit of word t // 32. With `bits="low first"` it is the
    bit of value 2**(t % 32), as in xgrammar, llguidance and vLLM; with `bits="high first"`
    the bit of value 2**(31 - t % 32). A bit that is 1 allows its token.
booleans
    True or false for each token.
tokens
    The ids of the allowed tokens, in any order.

Without any of these, the row has no mask: in a batch, not every row needs one.

Long masks
    `words` and `booleans` may map places to values: places that are not in the map have 0 or
    false, and the mask has the right length.
Padding
    A row may be longer than the vocabulary. With `vocab_size`, no token from there on stays
    possible, mask or no mask. Bits and booleans beyond the vocabulary are ignored, also those
    in its last word. An id beyond it is an error.
Length
    A mask that ends before the vocabulary is an error, and so is one that is longer than the
    row needs.
Impossible tokens
    An allowed token that was impossible stays so.
Nothing left
    If no token is left, that is an error, with or without a mask. A sampler that draws from
    such a row often draws token 0.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.parameters import is_whole, read_choice, read_token_set, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, mask
from sampling_ref.steps.step import row_rule

WORD = 32
"""Number of bits in a word."""

BITS = ("low first", "high first")
"""The orders of the bits in a word."""


@row_rule("only tokens that a mask allows")
def token_mask(
    logits: ReadRow,
    history: list[TokenId],
    words: Sequence[int] | Mapping[int, int] | None = None,
    booleans: Sequence[bool] | Mapping[int, bool] | None = None,
    tokens: Collection[TokenId] | None = None,
    bits: str = "low first",
    vocab_size: int | None = None,
) -> list[Number]:
    """Return the row with only the tokens left that the mask allows.

    >>> token_mask([1.0, 2.0, 3.0], [], words=[0b101])
    [1.0, -inf, 3.0]
    >>> token_mask([1.0, 2.0, 3.0], [], words=[1 << 31], bits="high first")
    [1.0, -inf, -inf]
    >>> token_mask([1.0, 2.0, 3.0], [], booleans=[True, True, True], vocab_size=2)
    [1.0, 2.0, -inf]
    >>> token_mask([1.0, 2.0, 3.0], [], words=[0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: the mask leaves no token of the row possible
    """
    length = len(logits)
    size = length if vocab_size is None else read_whole("vocab_size", vocab_size, 1, length)
    read_choice("bits", bits, BITS)
    forms = {"words": words, "booleans": booleans, "tokens": tokens}
    given = [name for name, form in forms.items() if form is not None]
    if len(given) > 1:
        raise ParameterError(given[1], forms[given[1]], f"must not be given beside {given[0]}")
    kept: Collection[TokenId] = range(size)
    if words is not None:
        kept = _of_words(words, size, length, high_first=bits == BITS[1])
    elif booleans is not None:
        kept = _of_booleans(booleans, size, length)
    elif tokens is not None:
        kept = read_token_set(tokens, size, "tokens")
    masked = mask(logits, kept)
    if max(masked) == -inf:
        raise RowError("the mask leaves no token of the row possible")
    return masked


def _of_words(words: Any, size: int, length: int, *, high_first: bool) -> list[TokenId]:
    """Return the tokens below `size` whose bits are 1."""
    needed, most = -(-size // WORD), -(-length // WORD)
    placed = _placed("words", words, needed, most, lambda word: is_whole(word, 0, 2**WORD - 1))
    kept = []
    for place, word in placed.items():
        bits = (WORD - 1 - bit if high_first else bit for bit in range(WORD))
        kept += [place * WORD + token for token, bit in enumerate(bits) if word >> bit & 1]
    return [token for token in kept if token < size]


def _of_booleans(booleans: Any, size: int, length: int) -> list[TokenId]:
    placed = _placed("booleans", booleans, size, length, lambda value: isinstance(value, bool))
    return [token for token, allowed in placed.items() if allowed and token < size]


def _placed(
    name: str, given: Any, needed: int, most: int, is_right: Callable[[Any], bool]
) -> dict[int, Any]:
    """Return the values of a mask by their places. It must have from `needed` to `most`."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, Mapping):
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            raise ParameterError(name, given, "must be a list, or a map from places to values")
        if not needed <= len(given) <= most:
            count = f"{needed}" if needed == most else f"from {needed} to {most}"
            rule = f"must be {count} for this row"
            raise ParameterError(f"len({name})", len(given), rule)
        given = dict(enumerate(given))
    kind = "true or false" if name == "booleans" else "a word of 32 bits"
    for place, value in given.items():
        if not is_whole(place, 0, most - 1):
            raise ParameterError(f"a place in {name}", place, f"must be from 0 to {most - 1}")
        if not is_right(value):
            raise ParameterError(f"{name}[{place}]", value, f"must be {kind}")
    return dict(given)
