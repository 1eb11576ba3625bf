"""Sequence bias: add a number to the last token of a sequence that is about to be completed.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`SequenceBiasLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    If the history ends with all but the last token of a sequence, add the bias of the
    sequence to the logit of its last token. A single token always gets its bias.

Several
    Biases of one token are added to each other first: the single token's, then those of
    longer sequences by length in order of first mention.
Short history
    A sequence longer than the history plus one cannot be completed yet and does nothing.
Twice
    A sequence that is given twice counts with its last bias.
Minus infinity
    Makes the token impossible. Plus infinity is an error.
"""

from collections.abc import Iterable
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_bias, read_sequences
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("adds numbers to the tokens that would complete sequences", numbers=("biases",))
def sequence_bias(logits: ReadRow, history: list[TokenId], biases: Any) -> list[Number]:
    """Return the row with the biases of the sequences that the next token could complete.

    `biases` are pairs of a sequence and its bias, or a mapping from tuples to biases.

    >>> sequence_bias([0.0, 0.0, 0.0], [2, 0], [([0], 1.0), ([0, 1], 2.0), ([1, 2], 4.0)])
    [1.0, 2.0, 0.0]
    """
    sums: dict[TokenId, Number] = {}
    for sequence, bias in shortest_first(read_biases(biases, len(logits))):
        prefix, last = sequence[:-1], sequence[-1]
        if tuple(history[max(0, len(history) - len(prefix)) :]) == prefix:
            sums[last] = sums[last] + bias if last in sums else bias

    return change_logits(
        "the sequence bias", logits, sums, lambda token, logit: logit + sums[token]
    )


def read_biases(biases: Any, size: int) -> dict[tuple[TokenId, ...], Number]:
    """Return sequences and biases for a row of `size` numbers.

    >>> read_biases([([0, 1], 0.5), (1, 2.0)], 2)
    {(0, 1): 0.5, (1,): 2.0}
    """
    if hasattr(biases, "items"):
        biases = list(biases.items())
    if isinstance(biases, str | bytes) or not isinstance(biases, Iterable):
        raise ParameterError("biases", biases, "must be pairs of a token sequence and a number")
    found = {}
    for place, pair in enumerate(biases):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ParameterError(f"biases[{place}]", pair, "must be a sequence and a number")
        sequence = read_sequences([pair[0]], size, f"biases[{place}]")[0]
        found[sequence] = read_bias(f"biases[{place}]", pair[1])
    return found


def shortest_first(
    biases: dict[tuple[TokenId, ...], Number],
) -> list[tuple[tuple[TokenId, ...], Number]]:
    """Return single tokens first, then longer sequences, lengths in order of first mention.

    >>> shortest_first({(1, 2, 3): 1.0, (1, 2): 2.0, (4,): 3.0, (5, 6, 7): 4.0})
    [((4,), 3.0), ((1, 2, 3), 1.0), ((5, 6, 7), 4.0), ((1, 2), 2.0)]
    """
    lengths = [1, *dict.fromkeys(len(sequence) for sequence in biases if len(sequence) > 1)]
    return [pair for length in lengths for pair in biases.items() if len(pair[0]) == length]
