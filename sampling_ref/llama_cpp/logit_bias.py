"""Logit bias: add a number to the logits of some tokens.

Definition (`llama_sampler_logit_bias_apply` in src/llama-sampler.cpp): logit + bias in
binary32. Minus infinity makes a token impossible. Tokens that are no candidates are ignored.

A token that is listed twice
    Where the candidate stands at the position of its own id, as before any sort, both biases are
    added. Where it has moved, only the first one is.

The flag `sorted`
    stays as it is, though the order may be wrong afterwards.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.errors import ParameterError
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.row import Number, TokenId


def logit_bias(candidates: Candidates, biases: Sequence[tuple[TokenId, Number]]) -> Candidates:
    """Add each bias to the logit of its token.

    >>> logit_bias(Candidates([0, 1], [0.5, 0.5]), [(1, 2.0), (7, 1.0)]).logits
    [0.5, 2.5]
    >>> logit_bias(Candidates([0], [0.5]), [(0, inf)])
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bias must be finite or minus infinity in 32 bits, got inf
    """
    tokens, logits = read_candidates(candidates)
    moved: dict[TokenId, float] = {}
    for token, bias in biases:
        read_integer("token", token)
        amount = _read_bias(bias)
        if 0 <= token < len(tokens) and tokens[token] == token:
            logits[token] = to_binary32(logits[token] + amount)
        else:
            moved.setdefault(token, amount)
    for position, token in enumerate(tokens):
        if token in moved:
            logits[position] = to_binary32(logits[position] + moved[token])
    return replace(candidates, tokens=tokens, logits=logits)


def _read_bias(bias: Number) -> float:
    if isinstance(bias, float) and bias == -inf:
        return bias
    try:
        return read_real("bias", bias)
    except ParameterError:
        rule = "must be finite or minus infinity in 32 bits"
        raise ParameterError("bias", bias, rule) from None
