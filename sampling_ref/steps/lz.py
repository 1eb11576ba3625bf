"""The LZ penalty: tokens that a compressor would find cheap become less likely.

Ginart et al., "LZ Penalty: An information-theoretic repetition penalty for autoregressive
language models", 2025, section 3, equation 3 (https://arxiv.org/abs/2504.20131). The rule:

    Take the end of the history as the buffer of a Lempel-Ziv compressor, and what came
    before it as its window. Let D(a) be by how many bits the code grows if `a` comes next.

        new logit(a) = logit(a) + strength * D(a)

The paper used a strength of 0.15, a window of 512 tokens, a buffer of 32 and binary
logarithms; these are the defaults.

Variants
    The formula that the paper prints for D is wrong, and the programs that were published
    compute other things. Each has a name:

    corrected   the paper with its algebra done right (the default)
    paper       equation 14 as printed
    codelength  the compressor itself, asked for every token
    script      the published script, which subtracts where the paper adds
    fork_march  the published fork of SGLang in March 2025, and
    fork_july   in July 2025: one window, which includes the buffer, over the output only

    What each leaves open and decides is said in its module in `variants`.
Prompt
    The paper's history is the whole context. The fork sees the output only, so its two
    variants skip the first `prompt_length` tokens; the others do not look at it.
Strength
    Any finite number of at least 0. A strength of 0 returns the row unchanged, also where D
    is minus infinity. (The fork allows 0 to 2, and does nothing unless it is told to.)
Sizes
    `window` is at least 0, where every token gets the same D and nothing changes in
    effect; for the fork it is the whole look-back. `buffer` is at least 1: definition 8
    speaks of the first token of the buffer. (The script takes 0 for "all".)
Rounding
    Every new logit is the float nearest to the real number. A row of `Fraction` is taken
    as exact and gives floats too: logarithms are hardly ever rational. The programs that
    were published compute in 32-bit floats.
Time
    It grows with window and buffer, and with the row. Of the history only its end is read.
"""

from collections.abc import Sequence
from math import inf

from sampling_ref.lz.changes import add_to_all, amount_of
from sampling_ref.lz.variants import Variant, lz_changes
from sampling_ref.parameters import read_number
from sampling_ref.row import Number, Row, TokenId, read_logits
from sampling_ref.steps.step import row_rule


@row_rule(
    "adds {strength} times the bits that each token adds to the LZ code", name="lz", reads=False
)
def lz_penalty(
    logits: Row,
    history: Sequence[TokenId],
    *,
    strength: Number = 0.15,
    window: int = 512,
    buffer: int = 32,
    variant: Variant = "corrected",
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with strength * D(a) added to the logit of every token `a`.

    The history 1 2 3 4 1 2 3 makes 4 the token to expect: D(4) = -1.58. Tokens that
    are new get 3 bits, those of the window the logarithm of their distance.

    >>> history = [1, 2, 3, 4, 1, 2, 3]
    >>> lz_penalty([0.0] * 6, history, strength=1.0, window=4, buffer=3)
    [2.584962500721156, 2.0, 1.584962500721156, 1.0, -1.584962500721156, 2.584962500721156]
    """
    row = read_logits(logits)
    strength = read_number("strength", strength, "[0, inf)")
    changes = lz_changes(
        history,
        len(row),
        window=window,
        buffer=buffer,
        variant=variant,
        prompt_length=prompt_length,
    )
    if strength == 0:
        return row
    changed: list[Number] = list(add_to_all(row, amount_of(changes.otherwise, strength)))
    for token, change in changes.by_token.items():
        changed[token] = -inf
        if change.power:
            [changed[token]] = add_to_all([row[token]], amount_of(change, strength), [token])
    return changed
