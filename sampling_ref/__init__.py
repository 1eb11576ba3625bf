"""Sampling in readable Python: from a row of logits to a token.

row, history, candidates     what samplers work on
numbers/     exact decisions about real numbers; 32-bit floats where engines round; orders
lz/     the compressor behind the LZ penalty
temperature, dynamic_temperature, smoothing, greedy     the shape of the distribution
filters/, adaptive/     which tokens are kept
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
    from sampling_ref.filters.epsilon import epsilon, epsilon_logits
    from sampling_ref.filters.eta import eta, eta_logits
    from sampling_ref.filters.min_p import min_p, min_p_logits
    from sampling_ref.filters.tail_free import tail_free, tail_free_logits
    from sampling_ref.filters.top_a import top_a, top_a_logits
    from sampling_ref.filters.top_h import top_h, top_h_logits
    from sampling_ref.filters.top_k import top_k, top_k_logits
    from sampling_ref.filters.top_n_sigma import top_n_sigma_logits
    from sampling_ref.filters.top_p import top_p, top_p_logits
    from sampling_ref.filters.typical import typical, typical_logits
    from sampling_ref.filters.xtc import xtc, xtc_logits
    from sampling_ref.generation import generate
    from sampling_ref.row import Number, Row, TokenId, mask
    from sampling_ref.sampler import Sampler
    from sampling_ref.steps.lz import lz_penalty
    from sampling_ref.steps.step import Step, Use
    from sampling_ref.steps.table import STEPS
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
    "chain": "sampling_ref.evaluation",
    "distribution": "sampling_ref.evaluation",
    "epsilon": "sampling_ref.filters.epsilon",
    "epsilon_logits": "sampling_ref.filters.epsilon",
    "eta": "sampling_ref.filters.eta",
    "eta_logits": "sampling_ref.filters.eta",
    "explain": "sampling_ref.evaluation",
    "generate": "sampling_ref.generation",
    "logprobs": "sampling_ref.evaluation",
    "lz_penalty": "sampling_ref.steps.lz",
    "mask": "sampling_ref.row",
    "min_p": "sampling_ref.filters.min_p",
    "min_p_logits": "sampling_ref.filters.min_p",
    "sample": "sampling_ref.evaluation",
    "step": "sampling_ref.evaluation",
    "tail_free": "sampling_ref.filters.tail_free",
    "tail_free_logits": "sampling_ref.filters.tail_free",
    "top_a": "sampling_ref.filters.top_a",
    "top_a_logits": "sampling_ref.filters.top_a",
    "top_h": "sampling_ref.filters.top_h",
    "top_h_logits": "sampling_ref.filters.top_h",
    "top_k": "sampling_ref.filters.top_k",
    "top_k_logits": "sampling_ref.filters.top_k",
    "top_n_sigma_logits": "sampling_ref.filters.top_n_sigma",
    "top_p": "sampling_ref.filters.top_p",
    "top_p_logits": "sampling_ref.filters.top_p",
    "typical": "sampling_ref.filters.typical",
    "typical_logits": "sampling_ref.filters.typical",
    "xtc": "sampling_ref.filters.xtc",
    "xtc_logits": "sampling_ref.filters.xtc",
}
"""Where each public name comes from; it is imported when it is first asked for."""

__all__ = [
    "PROFILES",
    "STEPS",
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
    "epsilon_logits",
    "eta",
    "eta_logits",
    "explain",
    "generate",
    "logprobs",
    "lz_penalty",
    "mask",
    "min_p",
    "min_p_logits",
    "sample",
    "step",
    "tail_free",
    "tail_free_logits",
    "top_a",
    "top_a_logits",
    "top_h",
    "top_h_logits",
    "top_k",
    "top_k_logits",
    "top_n_sigma_logits",
    "top_p",
    "top_p_logits",
    "typical",
    "typical_logits",
    "xtc",
    "xtc_logits",
]


def __getattr__(name: str) -> object:
    """Return one of the public names."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_WHERE[name]), name)
    return found
