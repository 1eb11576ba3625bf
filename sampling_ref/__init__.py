"""Sampling in readable Python: from a row of logits to a token.

row, history, candidates     what samplers work on
numbers/     exact decisions about real numbers; 32-bit floats where engines round; orders
lz/     the compressor behind the LZ penalty
random/, drawing/     random bits and numbers, and what is drawn with them
speculative/     drafts, and whether they are accepted
steps/, tracing     steps one after the other, and what each of them did
engines/, evaluation, sampler     what real engines do, as data; evaluating them
llama_cpp/, antigravity/, twins/     engines in 32 bits, operation by operation
chatstream/, generation/     three penalties as published; the loop around a model
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sampling_ref.engines import PROFILES
    from sampling_ref.engines.profile import Profile
    from sampling_ref.errors import (
        HistoryError,
        ParameterError,
        RandomNumberError,
        RowError,
        SamplingError,
        UndecidedError,
        UnknownNameError,
    )
    from sampling_ref.evaluation import chain, distribution, explain, logprobs, sample, step
    from sampling_ref.generation import generate
    from sampling_ref.numbers.exact import EXACT, WEIGHTS
    from sampling_ref.row import Number, Row, TokenId, mask
    from sampling_ref.sampler import Sampler
    from sampling_ref.steps.epsilon import epsilon
    from sampling_ref.steps.eta import eta
    from sampling_ref.steps.lz import lz_penalty
    from sampling_ref.steps.min_p import min_p
    from sampling_ref.steps.step import Step, Use
    from sampling_ref.steps.table import STEPS
    from sampling_ref.steps.tail_free import tail_free
    from sampling_ref.steps.top_a import top_a
    from sampling_ref.steps.top_h import top_h
    from sampling_ref.steps.top_k import top_k
    from sampling_ref.steps.top_n_sigma import top_n_sigma
    from sampling_ref.steps.top_p import top_p
    from sampling_ref.steps.typical import typical
    from sampling_ref.steps.xtc import xtc
    from sampling_ref.tracing import Trace

_WHERE: Final = {
    "HistoryError": "sampling_ref.errors",
    "Number": "sampling_ref.row",
    "PROFILES": "sampling_ref.engines",
    "ParameterError": "sampling_ref.errors",
    "Profile": "sampling_ref.engines.profile",
    "RandomNumberError": "sampling_ref.errors",
    "Row": "sampling_ref.row",
    "RowError": "sampling_ref.errors",
    "STEPS": "sampling_ref.steps.table",
    "Sampler": "sampling_ref.sampler",
    "SamplingError": "sampling_ref.errors",
    "Step": "sampling_ref.steps.step",
    "TokenId": "sampling_ref.row",
    "Trace": "sampling_ref.tracing",
    "UndecidedError": "sampling_ref.errors",
    "UnknownNameError": "sampling_ref.errors",
    "Use": "sampling_ref.steps.step",
    "EXACT": "sampling_ref.numbers.exact",
    "WEIGHTS": "sampling_ref.numbers.exact",
    "chain": "sampling_ref.evaluation",
    "distribution": "sampling_ref.evaluation",
    "epsilon": "sampling_ref.steps.epsilon",
    "eta": "sampling_ref.steps.eta",
    "explain": "sampling_ref.evaluation",
    "generate": "sampling_ref.generation",
    "logprobs": "sampling_ref.evaluation",
    "lz_penalty": "sampling_ref.steps.lz",
    "mask": "sampling_ref.row",
    "min_p": "sampling_ref.steps.min_p",
    "sample": "sampling_ref.evaluation",
    "step": "sampling_ref.evaluation",
    "tail_free": "sampling_ref.steps.tail_free",
    "top_a": "sampling_ref.steps.top_a",
    "top_h": "sampling_ref.steps.top_h",
    "top_k": "sampling_ref.steps.top_k",
    "top_n_sigma": "sampling_ref.steps.top_n_sigma",
    "top_p": "sampling_ref.steps.top_p",
    "typical": "sampling_ref.steps.typical",
    "xtc": "sampling_ref.steps.xtc",
}
"""Where each public name comes from; it is imported when it is first asked for."""

__all__ = [
    "EXACT",
    "PROFILES",
    "STEPS",
    "WEIGHTS",
    "HistoryError",
    "Number",
    "ParameterError",
    "Profile",
    "RandomNumberError",
    "Row",
    "RowError",
    "Sampler",
    "SamplingError",
    "Step",
    "TokenId",
    "Trace",
    "UndecidedError",
    "UnknownNameError",
    "Use",
    "chain",
    "distribution",
    "epsilon",
    "eta",
    "explain",
    "generate",
    "logprobs",
    "lz_penalty",
    "mask",
    "min_p",
    "sample",
    "step",
    "tail_free",
    "top_a",
    "top_h",
    "top_k",
    "top_n_sigma",
    "top_p",
    "typical",
    "xtc",
]


def __getattr__(name: str) -> object:
    """Return one of the public names."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_WHERE[name]), name)
    return found
