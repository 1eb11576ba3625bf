"""Special tokens around a text, as BERT has them.

Source: processors/{bert,roberta}.rs of Hugging Face tokenizers 0.23.3.

What the source does unexpectedly: what is framed loses the marks of special tokens and of padding
that it had, and so do its overflowing parts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary.merges import TokenId

NamedId: TypeAlias = tuple[str, TokenId]
"""A token's string and its id."""


def check_named_id(name: str, value: object) -> None:
    """Raise `ParameterError` for what is not a token's string and its id.

    >>> check_named_id("sep", ("[SEP]", 102))
    """
    match value:
        case (str(), int(number)) if not isinstance(number, bool) and number >= 0:
            return
    raise ParameterError(name, value, "must be a token's string and its id")


def special_encoding(tokens: Sequence[NamedId], type_id: int) -> Encoding:
    """Return an encoding of special tokens.

    >>> special_encoding([("[SEP]", 102)], 1).special_tokens_mask
    (1,)
    """
    plain = Encoding.of([(number, name, (0, 0), None) for name, number in tokens], type_id)
    return replace(plain, special_tokens_mask=(1,) * len(tokens))


def frame(
    encoding: Encoding,
    before: Sequence[NamedId],
    after: NamedId,
    sequence: int,
    sep_type: int | None = None,
) -> Encoding:
    """Return a text, and its parts, between special tokens; the text alone is in the range.

    The type id is 0 for the tokens before, and the text's number for the one after, if there is no
    other for it.

    >>> frame(Encoding.of([(7, "a", (0, 1), 0)]), [("[C]", 1)], ("[S]", 2), 0).ids
    (1, 7, 2)
    """
    start, stop = len(before), len(before) + len(encoding)
    plain = replace(
        encoding,
        overflowing=(),
        sequence_ranges=(),
        special_tokens_mask=(0,) * len(encoding),
        attention_mask=(1,) * len(encoding),
    )
    framed = merge(
        [
            special_encoding(before, 0),
            plain,
            special_encoding([after], sequence if sep_type is None else sep_type),
        ]
    )
    parts = tuple(
        frame(replace(part, overflowing=()), before, after, sequence, sep_type)
        for part in encoding.overflowing
    )
    return replace(framed, overflowing=parts, sequence_ranges=((sequence, start, stop),))
