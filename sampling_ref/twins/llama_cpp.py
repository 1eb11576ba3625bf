"""llama.cpp's samplers in 32 bits, as links of a chain: proven against the engine, bit for bit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sampling_ref.candidates import Candidates
from sampling_ref.engines.profile import Draw
from sampling_ref.llama_cpp.adaptive_p import (
    AdaptiveState,
    adaptive_p_accept,
    adaptive_p_start,
    adaptive_p_transformed,
)
from sampling_ref.llama_cpp.dist import dist, dist_probabilities
from sampling_ref.llama_cpp.dry import dry
from sampling_ref.llama_cpp.dynamic_temperature import temp_ext
from sampling_ref.llama_cpp.libstdcxx_random import discrete_index
from sampling_ref.llama_cpp.logit_bias import logit_bias
from sampling_ref.llama_cpp.min_p import min_p
from sampling_ref.llama_cpp.mirostat import mirostat_kept, next_mu
from sampling_ref.llama_cpp.mirostat_v2 import mirostat_v2_kept
from sampling_ref.llama_cpp.penalties import penalties
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.llama_cpp.temperature import temp
from sampling_ref.llama_cpp.top_k import top_k
from sampling_ref.llama_cpp.top_n_sigma import top_n_sigma
from sampling_ref.llama_cpp.top_p import top_p
from sampling_ref.llama_cpp.typical import typical
from sampling_ref.llama_cpp.xtc import xtc
from sampling_ref.row import Number, TokenId
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Apply, Remember, Values
from sampling_ref.steps.table import steps_applying
from sampling_ref.twins.llama_cpp_exact import EXACT
from sampling_ref.twins.twin import Twin


def _given(function: Callable[..., Candidates], **names: str) -> Apply:
    """Return what a sampler does, given the step's values under the sampler's names."""

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        return function(candidates, **{theirs: values[ours] for theirs, ours in names.items()})

    return apply


def _penalties(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return penalties(
        candidates,
        situation.history,
        penalty_last_n=values["window"],
        penalty_repeat=values["repetition"],
        penalty_freq=values["frequency"],
        penalty_present=values["presence"],
    )


def _dry(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return dry(
        candidates,
        situation.history,
        dry_multiplier=values["multiplier"],
        dry_base=values["base"],
        dry_allowed_length=values["allowed_length"],
        dry_penalty_last_n=values["window"],
        breakers=values["breakers"],
    )


def _logit_bias(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return logit_bias(candidates, list(values["biases"].items()))


def _temperature(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return temp(candidates, values["temperature"])


def _xtc(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    words = situation.randomness.words("xtc", "f32")
    return xtc(candidates, words, values["probability"], values["threshold"], values["least"])


def _mu(situation: Situation, values: Values) -> Number:
    mu: Number = situation.state.get("mu", 2 * values["tau"])
    return mu


def _mirostat_1(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    mu, ranks = _mu(situation, values), values["ranks"]
    return mirostat_kept(candidates, mu, n_vocab=situation.size, m=ranks)


def _mirostat_2(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return mirostat_v2_kept(candidates, _mu(situation, values))


def _remember_mu(
    before: Candidates,
    after: Candidates,
    situation: Situation,
    values: Values,
    token: TokenId,
) -> Mapping[str, Any]:
    share = softmax(after)[list(after.tokens).index(token)]
    return {"mu": next_mu(_mu(situation, values), share, values["tau"], values["eta"])}


def _past(situation: Situation, values: Values) -> AdaptiveState:
    past = situation.state.get("past")
    if past is None:
        return adaptive_p_start(values["target"], values["decay"])
    return AdaptiveState(*past)


def _adaptive_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return adaptive_p_transformed(candidates, _past(situation, values), values["target"])


def _remember_past(
    before: Candidates,
    after: Candidates,
    situation: Situation,
    values: Values,
    token: TokenId,
) -> Mapping[str, Any]:
    past = _past(situation, values)
    share = softmax(before)[list(before.tokens).index(token)]
    pending = AdaptiveState(past.weighted_sum, past.total_weight, (token, share))
    accepted = adaptive_p_accept(pending, token, values["decay"])
    return {"past": (accepted.weighted_sum, accepted.total_weight)}


def _draw(candidates: Candidates, situation: Situation, draw: Draw) -> TokenId:
    words = situation.randomness.words("draw", "f64")
    if draw.method == "discrete distribution":
        return candidates.tokens[discrete_index(softmax(candidates), words)]
    return dist(candidates, words)


_STEPS = steps_applying(
    {
        "logit_bias": _logit_bias,
        "penalties": _penalties,
        "dry": _dry,
        "top_n_sigma": _given(top_n_sigma, n="n"),
        "top_k": _given(top_k, k="k"),
        "typical": _given(typical, p="mass", min_keep="least"),
        "top_p": _given(top_p, p="p", min_keep="least"),
        "min_p": _given(min_p, p="m", min_keep="least"),
        "xtc": _xtc,
        "temperature": _temperature,
        "dynamic_temperature": _given(
            temp_ext, temp="temperature", delta="spread", exponent="exponent"
        ),
        "mirostat_1": _mirostat_1,
        "mirostat_2": _mirostat_2,
        "adaptive_p": _adaptive_p,
    }
)

_REMEMBER: Mapping[str, Remember] = MappingProxyType(
    {"mirostat_1": _remember_mu, "mirostat_2": _remember_mu, "adaptive_p": _remember_past}
)

LLAMA_CPP = Twin(
    MappingProxyType(
        {
            name: replace(step, remember=_REMEMBER.get(name, step.remember))
            for name, step in _STEPS.items()
        }
    ),
    dist_probabilities,
    _draw,
    sorts_itself=True,
    exact=EXACT,
)
"""Every sampler of llama.cpp."""
