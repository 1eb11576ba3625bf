"""What an engine reports beside a token: its log-probability, its rank, and the n best tokens.

The rule:

    Report the drawn token and the n most probable tokens, each with its log-probability, and
    the rank of the drawn token: the number of tokens that are at least as probable.

Equals
    have the same log-probability. Of equal tokens the one with the lowest id is reported first, and
    the drawn token has the last of their ranks (`rank="at least"`) or the first (`rank="more"`).
The drawn token
    is reported even if it is not among the n best, and only once: in front of the others, or where
    it belongs, and at the end if it is not among them (`placed="if missing"`).
More tokens than there are
    All tokens of the row are reported, also impossible ones, whose log-probability is minus
    infinity.
Prompts
    The row behind a token is about the next one. So the first token of a prompt has no report, and
    the report of token i comes from the row behind token i - 1.
Rounding
    Each log-probability is the nearest float. Tokens are compared by their logits, so rounding
    makes no equals.

Sources: vLLM 0.33.0, `vllm/v1/sample/sampler.py` (`gather_logprobs`) and `vllm/logprobs.py`; the
field `top_logprobs` of OpenAI's interface.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers.softmax import log_softmax
from sampling_ref.parameters import read_choice, read_whole
from sampling_ref.row import Row, TokenId, read_possible_logits

PLACED = ("first", "if missing")
RANKS = ("at least", "more")
TIES = ("lowest id", "highest id")


@dataclass(frozen=True)
class Report:
    """The tokens that are reported, the log-probability of each, and the drawn token's rank."""

    tokens: tuple[TokenId, ...]
    logprobs: tuple[float, ...]
    rank: int


def reported(
    logits: Row,
    token: TokenId,
    n: int,
    *,
    placed: str = "first",
    rank: str = "at least",
    ties: str = "lowest id",
) -> Report:
    """Return what is reported of a row when a token was drawn from it.

    Raises `ParameterError` for a token outside the row, a negative n, and an unknown choice, and
    `RowError` for a row without a possible token.

    >>> reported([0.0, float("-inf"), 0.0], 2, 1)
    Report(tokens=(2, 0), logprobs=(-0.6931471805599453, -0.6931471805599453), rank=2)
    >>> reported([1.0, 3.0, 1.0, 1.0], 2, 1, placed="if missing", rank="more").tokens
    (1, 2)
    """
    read_choice("placed", placed, PLACED)
    read_choice("rank", rank, RANKS)
    read_choice("ties", ties, TIES)
    row = read_possible_logits(logits)
    read_whole("n", n)
    read_whole("token", token, 0, len(row) - 1)
    sign = 1 if ties == "lowest id" else -1
    best = sorted(range(len(row)), key=lambda each: (-row[each], sign * each))[:n]
    others = [each for each in best if each != token]
    tokens = [token, *others] if placed == "first" else best if token in best else [*best, token]
    logs = log_softmax(row)
    better = sum(each > row[token] for each in row)
    equal = sum(each == row[token] for each in row)
    return Report(
        tuple(tokens),
        tuple(logs[each] for each in tokens),
        better + (equal if rank == "at least" else 1),
    )


def reported_of_prompt(
    rows: Sequence[Row], tokens: Sequence[TokenId], n: int, **choices: Any
) -> list[Report | None]:
    """Return what is reported of each token of a prompt; the first one has no report.

    `rows` has the row behind each token. Raises `ParameterError` if they are not as many as the
    tokens, or not all of the same length, and the errors of `reported` with the number of the row.

    >>> [each and each.rank for each in reported_of_prompt([[0.0, 1.0], [2.0, 0.0]], [1, 0], 1)]
    [None, 2]
    """
    if len(rows) != len(tokens) or not tokens:
        requirement = f"must be that of the tokens, {len(tokens)}, and at least 1"
        raise ParameterError("the number of rows", len(rows), requirement)
    for place, row in enumerate(rows):
        try:
            read_possible_logits(row)
        except RowError as error:
            raise RowError(f"rows[{place}]: {error}") from None
        if len(row) != len(rows[0]):
            raise ParameterError(
                f"the length of rows[{place}]", len(row), f"must be {len(rows[0])}"
            )
        read_whole(f"tokens[{place}]", tokens[place], 0, len(row) - 1)
    pairs = zip(rows, tokens[1:], strict=False)
    return [None, *(reported(row, token, n, **choices) for row, token in pairs)]
