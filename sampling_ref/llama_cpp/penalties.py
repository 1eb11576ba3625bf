"""Repetition, frequency and presence penalty in one step, over a window.

Definition (`llama_sampler_penalties_apply` in src/llama-sampler.cpp): for each candidate that
occurs among the last `penalty_last_n` accepted tokens, count times,

    logit = logit * penalty_repeat if logit <= 0, else logit / penalty_repeat
    logit = logit - (count * penalty_freq + penalty_present)

every operation in binary32. The repetition penalty counts a token once, however often it occurs.

Which tokens count
    Every accepted token; programs accept the prompt too. A window of 0, or a negative one,
    turns the step off, and so do penalties of 1, 0 and 0 together.

Zero penalty_repeat
    turns positive logits into infinities: an error here.

The flag `sorted`
    is taken away whenever the step is on, even if nothing changed.
"""

from collections.abc import Sequence
from dataclasses import replace

from sampling_ref.candidates import Candidates
from sampling_ref.history import counts_of, last_tokens
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real
from sampling_ref.numbers.binary32 import quotient, to_binary32
from sampling_ref.row import Number, TokenId


def penalties(
    candidates: Candidates,
    history: Sequence[TokenId],
    penalty_last_n: int = 64,
    penalty_repeat: Number = 1.0,
    penalty_freq: Number = 0.0,
    penalty_present: Number = 0.0,
) -> Candidates:
    """Penalise the candidates that occur in the window.

    >>> penalties(Candidates([0, 1], [1.0, -1.0]), [0, 1, 1], 64, 2.0, 0.25, 0.5).logits
    [-0.25, -3.0]
    >>> penalties(Candidates([0, 1], [1.0, -1.0]), [0, 1, 1], 1, 2.0).logits
    [1.0, -2.0]
    """
    tokens, logits = read_candidates(candidates)
    window = max(0, read_integer("penalty_last_n", penalty_last_n))
    repeat = read_real("penalty_repeat", penalty_repeat)
    freq = read_real("penalty_freq", penalty_freq)
    present = read_real("penalty_present", penalty_present)
    if window == 0 or (repeat == 1 and freq == 0 and present == 0):
        return candidates
    counts = counts_of(last_tokens(history, window))
    for position, token in enumerate(tokens):
        if token in counts:
            logit = logits[position]
            logit = to_binary32(logit * repeat if logit <= 0 else quotient(logit, repeat))
            subtracted = to_binary32(to_binary32(float(counts[token])) * freq)
            subtracted = to_binary32(subtracted + present)
            logits[position] = to_binary32(logit - subtracted)
    return replace(candidates, tokens=tokens, logits=logits, is_sorted=False)
