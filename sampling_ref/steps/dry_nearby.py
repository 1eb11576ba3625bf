"""DRY by comparing every place, at most 50 tokens back.

mistral.rs, commit 9e922623, `mistralrs-core/src/sampler.rs`, function `apply_dry_penalty`
(https://github.com/EricLBuehler/mistral.rs). The rule:

    As `dry`, but a match is compared token by token from its end, and the comparison stops
    after `most` tokens, at the beginning of the history, and before a breaker.

The last token
    is not tested for being a breaker, so that a match is at least one token long.
Allowed length 0
    is as good as -1 would be: all matches have at least one token.
Breakers
    Single tokens only. As next tokens they are never penalised.
Window
    None: the whole history is compared.
Largest exponent
    `most - allowed_length`; a large base may overflow, which makes the token impossible.
Empty history
    Changes nothing. The engine cannot be given one.
"""

from sampling_ref.parameters import read_number, read_token_set, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, change_logits
from sampling_ref.steps.step import row_rule


@row_rule(
    "continuing a repetition of more than {allowed_length} tokens costs {multiplier} * "
    "{base}**(excess)",
    numbers=("multiplier", "base"),
)
def dry_nearby(
    logits: ReadRow,
    history: list[TokenId],
    multiplier: Number,
    base: Number = 1.75,
    allowed_length: int = 2,
    *,
    breakers: Tokens = (),
    most: int = 50,
) -> list[Number]:
    """Return the row with those tokens lowered that would continue a repetition.

    >>> dry_nearby([4.0, 4.0, 4.0], [0, 1, 2, 0, 1], 1.0, base=2.0, allowed_length=1)
    [4.0, 4.0, 2.0]
    >>> dry_nearby([4.0, 4.0, 4.0], [0, 1, 2, 0, 1], 1.0, 2.0, 1, breakers=[1])
    [4.0, 4.0, 2.0]
    """
    multiplier = read_number("multiplier", multiplier, "[0, inf)")
    base = read_number("base", base, "(0, inf)")
    read_whole("allowed_length", allowed_length)
    read_whole("most", most, least=1)
    never = read_token_set(breakers, len(logits), "breakers")

    longest: dict[TokenId, int] = {}
    for place in range(len(history) - 1):
        following = history[place + 1]
        if history[place] == history[-1] and following not in never:
            length = match_length(history, place, never, most)
            longest[following] = max(length, longest.get(following, 0))
    penalised_tokens = [token for token, length in longest.items() if length >= allowed_length]

    def penalised(token: TokenId, logit: Number) -> Number:
        return logit - multiplier * base ** (longest[token] - allowed_length)

    return change_logits("DRY", logits, penalised_tokens, penalised)


def match_length(tokens: list[TokenId], place: int, breakers: frozenset[TokenId], most: int) -> int:
    """Return how many tokens up to `place`, which has the last token, equal the last ones.

    >>> match_length([5, 0, 1, 2, 0, 1], 2, (), most=50)
    2
    """
    length = 1
    while length < min(most, place + 1):
        token = tokens[-1 - length]
        if tokens[place - length] != token or token in breakers:
            break
        length += 1
    return length
