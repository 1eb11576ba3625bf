"""DRY for the longest repetition only, times the number of its occurrences.

exllamav2, commit da07facd, `exllamav2/generator/sampler.py`, function `apply_dry`
(https://github.com/turboderp-org/exllamav2). The rule:

    Find the longest run of last tokens, m of them, that occurs earlier in the history. Each
    token that followed it there is lowered by
    multiplier * base ** (m - allowed_length) for each time that it did.

Where occurrences lie
    In the history without its last token, the token that followed included.
Longest
    At most `most` tokens. Such a run of exactly `most` tokens is found and then ends the
    search, but what follows it is not known to the engine: nothing is penalised. So the
    engine lets go of a repetition once it is `most` tokens long.
Nothing follows
    The same if the longest run lies at the very end of what is searched, or only breakers
    follow it: shorter runs are not tried.
Shortest
    `allowed_length` tokens, at least 1.
Breakers
    Single tokens. A run has none, and as next tokens they are never penalised.
Window
    None here; the engine's `dry_range` forgets runs that began longer ago.
"""

from collections import Counter

from sampling_ref.parameters import read_number, read_token_set, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, change_logits
from sampling_ref.steps.step import row_rule


@row_rule(
    "continuing the longest repetition costs {multiplier} * {base}**(excess)",
    numbers=("multiplier", "base"),
)
def dry_longest(
    logits: ReadRow,
    history: list[TokenId],
    multiplier: Number,
    base: Number = 1.75,
    allowed_length: int = 2,
    *,
    breakers: Tokens = (),
    most: int = 20,
) -> list[Number]:
    """Return the row with those tokens lowered that would continue the longest repetition.

    >>> dry_longest([4.0, 4.0, 4.0], [0, 1, 0, 1, 2, 0], 1.0, base=2.0, allowed_length=1)
    [4.0, 2.0, 4.0]
    """
    multiplier = read_number("multiplier", multiplier, "[0, inf)")
    base = read_number("base", base, "(0, inf)")
    read_whole("allowed_length", allowed_length, least=1)
    read_whole("most", most, least=1)
    never = read_token_set(breakers, len(logits), "breakers")

    followers: Counter[TokenId] = Counter()
    length = 0
    for length in range(min(most, len(history)), allowed_length - 1, -1):
        ends = run_ends(history, length, never)
        if ends:
            if length < most:
                nexts = [history[end] for end in ends if end < len(history) - 1]
                followers = Counter(token for token in nexts if token not in never)
            break

    def penalised(token: TokenId, logit: Number) -> Number:
        return logit - multiplier * base ** (length - allowed_length) * followers[token]

    return change_logits("DRY", logits, followers, penalised)


def run_ends(tokens: list[TokenId], length: int, breakers: frozenset[TokenId]) -> list[int]:
    """Return where occurrences of the last `length` tokens end, the last token left out.

    >>> run_ends([0, 1, 0, 1, 2, 0], 1, breakers=())
    [1, 3]
    """
    run = tokens[len(tokens) - length :]
    if not set(run).isdisjoint(breakers):
        return []
    ends = range(length, len(tokens))
    return [end for end in ends if tokens[end - length : end] == run]
