"""Penalties that fade: full strength for the newest tokens, weaker the older they are.

The program exllamav2 has them, commit da07facd, `exllamav2_ext/cpp/sampling.cpp`, function
`apply_rep_penalty_cpu`, and exllamav3, commit 4f8ad012,
`exllamav3_ext/generator/rep_pen.cu` (https://github.com/turboderp-org). The rule:

    A token that occurred d tokens back (the newest: d = 1) is penalised in full while d is
    at most `sustain`; over the next `decay` tokens the penalty falls in a straight line;
    older tokens are out of sight.

Blended or scaled
    exllamav2 (`fading="penalty"`) fades the penalties: the divisor moves towards 1, the
    subtracted amounts move to 0. exllamav3 (`fading="result"`) fades the results: it mixes
    the logit before and after the repetition penalty.
Which occurrence
    The newest one decides repetition and presence; the frequency penalty is the sum over
    all occurrences in sight. exllamav2 goes back from the newest token and subtracts one
    after another, so that the repetition penalty always divides the untouched logit.
Where the line begins
    In exllamav2 the token `sustain + 1` back still has full strength and the last one in
    sight has 1/decay (`line="late"`). In exllamav3 they have 1 - 1/decay and nothing
    (`line="early"`).
No decay
    With `decay=0` exllamav3 loses the oldest token: a range of n sees n - 1 tokens, and a
    range of 1 sees nothing (`last="excluded"`). With a decay that token has nothing anyway.
Rewards
    Negative amounts reward, here as in exllamav2. In exllamav3 a negative presence penalty
    does nothing: its largest-of-all is taken over a table that starts at zero.
All of it
    `sustain=None` sees the whole history at full strength (-1 in exllamav2).
Negative logits, zero
    Positive logits are divided, others multiplied; see `repetition_penalty`.
"""

from typing import Literal

from sampling_ref.parameters import read_number, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule(
    "tokens seen before, less for older ones: repetition {repetition}, frequency {frequency}, "
    "presence {presence}",
    numbers=("repetition", "frequency", "presence"),
)
def decaying_penalties(
    logits: ReadRow,
    history: list[TokenId],
    repetition: Number = 1,
    frequency: Number = 0,
    presence: Number = 0,
    *,
    sustain: int | None = None,
    decay: int = 0,
    fading: Literal["penalty", "result"] = "penalty",
    line: Literal["late", "early"] = "late",
    last: Literal["included", "excluded"] = "included",
) -> list[Number]:
    """Return the row with the tokens of the history made less likely, old ones less so.

    >>> decaying_penalties([4.0, 4.0, 4.0], [2, 1, 0], repetition=2.0, sustain=1, decay=2)
    [2.0, 2.0, 2.6666666666666665]
    >>> decaying_penalties([4.0, 4.0], [1, 0], presence=1.0, sustain=1, decay=2, line="early")
    [3.0, 3.5]
    >>> decaying_penalties([4.0, 4.0], [1, 0], repetition=2.0, sustain=2, last="excluded")
    [2.0, 4.0]
    """
    repetition = read_number("repetition", repetition, "(0, inf)")
    frequency = read_number("frequency", frequency)
    presence = read_number("presence", presence)
    full = len(history) if sustain is None else read_whole("sustain", sustain)
    read_whole("decay", decay)
    reach = full + decay
    if last == "excluded" and decay == 0 and sustain is not None:
        reach -= 1

    # How many steps down the line each occurrence in sight is, newest occurrence first.
    level = full + 1 if line == "late" else full
    steps: dict[TokenId, list[int]] = {}
    for distance, token in enumerate(history[::-1], start=1):
        if distance > reach:
            break
        steps.setdefault(token, []).append(max(0, distance - level))

    def faded(strong: Number, neutral: Number, step: int) -> Number:
        if step == 0:
            return strong
        return strong + (neutral - strong) * step / decay

    def penalised(token: TokenId, logit: Number) -> Number:
        newest = steps[token][0]
        divisor = faded(repetition, 1, newest) if fading == "penalty" else repetition
        changed = logit / divisor if logit > 0 else logit * divisor
        if fading == "result":
            changed = faded(changed, logit, newest)
        changed = changed - faded(presence, 0, newest)
        for step in steps[token]:
            changed = changed - faded(frequency, 0, step)
        return changed

    return change_logits("the decaying penalty", logits, steps, penalised)
