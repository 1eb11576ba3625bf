"""Cut an encoding, or a pair of them, to a greatest length, and keep what is cut off in parts.

Definition
    Windows of `max_length` tokens are laid over the tokens, from the chosen direction's far end:
    from the first token on for "Right", from the last one back for "Left". Each begins
    `max_length - stride` tokens after the one before it, so that neighbours share `stride`
    tokens. They stop with the first window that reaches the other end. The first window is what
    is left; the others are its `overflowing` parts, in order.

    For a pair of n1 <= n2 tokens, "LongestFirst" keeps n1 and max_length - n1; if that is fewer
    than n1 too, it keeps half of max_length of each, with the odd token from the longer one (from
    the second, if they are equally long).
    "OnlyFirst" and "OnlySecond" take everything from one of them.

Source: `truncate` in tokenizer/encoding.rs, `truncate_encodings` in utils/truncation.rs and
`post_process` in tokenizer/mod.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open, and what it does unexpectedly
    - Length 0 keeps nothing, with the whole encoding as the only overflowing part.
    - Other than that, parts that overflowed before are lost where something is cut, and so are
      the sequence ranges.
    - "OnlyFirst" and "OnlySecond" refuse to leave nothing of the text that they cut.
    - `max_length` is meant to include the tokens that the template adds. Where it is less than
      their number, the library's subtraction wraps around, and nothing is cut at all
      (`Quirks.short_max_length_ignored`); else that is an error.
    - The stride must be less than the length that is left for one text. The library panics,
      but only once a text is long enough to be cut.
    - The sources after 0.23.2 stop tokenizing a text once it has `max_length` tokens, so that
      less overflows. The released 0.23.3 does not.
"""

from dataclasses import dataclass

from bpe_ref.encoding import Encoding
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_choice, check_count
from bpe_ref.quirks import HUGGING_FACE, Quirks

DIRECTIONS = ("Right", "Left")
"""The sides of a text that can be cut off, or padded."""

STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")
"""Which text of a pair is cut."""


def truncate(
    encoding: Encoding, max_length: int, stride: int = 0, direction: str = "Right"
) -> Encoding:
    """Return at most `max_length` tokens, and the rest as overflowing parts.

    Raises `ParameterError` if the stride is not less than a `max_length` that cuts.

    >>> abc = Encoding.of([(n, "abc"[n], (n, n + 1), n) for n in range(3)])
    >>> cut = truncate(abc, 2, stride=1)
    >>> cut.tokens, [part.tokens for part in cut.overflowing]
    (('a', 'b'), [('b', 'c')])
    """
    check_count("max_length", max_length)
    check_count("stride", stride)
    check_choice("direction", direction, DIRECTIONS)
    size = len(encoding)
    if max_length >= size:
        return encoding
    if max_length == 0:
        return Encoding(overflowing=(encoding,))
    if stride >= max_length:
        rule = f"must be less than the max_length left for the text, {max_length}"
        raise ParameterError("stride", stride, rule)
    first, *others = (
        encoding.slice(start, stop) for start, stop in _windows(size, max_length, stride, direction)
    )
    return Encoding(
        **{name: getattr(first, name) for name in Encoding.__slots__ if name != "overflowing"},
        overflowing=tuple(others),
    )


def _windows(size: int, max_length: int, stride: int, direction: str) -> list[tuple[int, int]]:
    """Return start and stop of each window; `size` is greater than `max_length`."""
    step = max_length - stride
    last = -(-(size - max_length) // step)  # the number of the first window to reach the end
    starts = [number * step for number in range(last + 1)]
    if direction == "Right":
        return [(start, min(start + max_length, size)) for start in starts]
    return [(max(size - start - max_length, 0), size - start) for start in starts]


@dataclass(frozen=True)
class Truncation:
    """How a file, or a caller, wants encodings to be cut.

    Attributes:
        max_length: the most tokens of an encoding, with those that the template adds.
        stride: the number of tokens that neighbouring parts share.
        strategy: one of `STRATEGIES`.
        direction: one of `DIRECTIONS`.

    >>> a, b = (Encoding.of([(0, "a", (0, 1), 0)] * n) for n in (1, 5))
    >>> [len(cut) for cut in Truncation(4).truncate(a, b)]
    [1, 3]

    """

    max_length: int = 512
    stride: int = 0
    strategy: str = "LongestFirst"
    direction: str = "Right"
    quirks: Quirks = HUGGING_FACE

    def __post_init__(self) -> None:
        """Check the choices."""
        check_count("max_length", self.max_length)
        check_count("stride", self.stride)
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("direction", self.direction, DIRECTIONS)

    def truncate(
        self, encoding: Encoding, pair: Encoding | None = None, added_tokens: int = 0
    ) -> tuple[Encoding, Encoding | None]:
        """Return the encodings, cut so that `max_length` holds once `added_tokens` are added.

        Raises `ParameterError` where the strategy cannot do that.
        """
        most = self.max_length - added_tokens
        if most < 0 and self.quirks.short_max_length_ignored:
            return encoding, pair
        if most < 0:
            rule = f"must be at least the number of tokens that the template adds, {added_tokens}"
            raise ParameterError("max_length", self.max_length, rule)
        total = len(encoding) + (0 if pair is None else len(pair))
        if total <= most:
            return encoding, pair
        first, second = self._lengths(encoding, pair, most)
        return (
            truncate(encoding, first, self.stride, self.direction),
            None if pair is None else truncate(pair, second, self.stride, self.direction),
        )

    def _lengths(self, encoding: Encoding, pair: Encoding | None, most: int) -> tuple[int, int]:
        """Return how many tokens to keep of each; together they have more than `most`."""
        first, second = len(encoding), 0 if pair is None else len(pair)
        if most == 0:
            return 0, 0
        if self.strategy == "LongestFirst":
            if pair is None:
                return most, 0
            shorter = min(first, second)
            longer = most - shorter
            if longer < shorter:
                shorter = most // 2
                longer = most - shorter
            return (longer, shorter) if first > second else (shorter, longer)
        if self.strategy == "OnlySecond" and pair is None:
            raise ParameterError("pair", None, 'must be given for the strategy "OnlySecond"')
        cut = first if self.strategy == "OnlyFirst" else second
        kept = cut - (first + second - most)
        if kept <= 0:
            rule = f"must be longer for the strategy {self.strategy!r} and a max_length of {most}"
            raise ParameterError("the text to cut", f"{cut} tokens", rule)
        return (kept, second) if self.strategy == "OnlyFirst" else (first, kept)
