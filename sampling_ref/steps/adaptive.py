"""The steps that remember: mirostat 1 and 2, and adaptive-p.

What they remember is in the state: `mu` for mirostat, `past` for adaptive-p. Without it
they begin as a fresh sampler does.
"""

from collections.abc import Mapping
from typing import Any

from sampling_ref.adaptive.adaptive_p import (
    PastProbabilities,
    adaptive_p_logits,
    adaptive_p_next,
    adaptive_p_start,
)
from sampling_ref.adaptive.mirostat_1 import mirostat_1_kept
from sampling_ref.adaptive.mirostat_2 import mirostat_2_kept
from sampling_ref.candidates import Candidates
from sampling_ref.mirostat import next_mu
from sampling_ref.numbers.softmax import softmax
from sampling_ref.row import Number, ReadRow, TokenId
from sampling_ref.situation import Situation
from sampling_ref.steps.step import REQUIRED, Step, Values, with_places


def _mu(situation: Situation, values: Values) -> Number:
    mu: Number = situation.state.get("mu", 2 * values["tau"])
    return mu


def _mirostat_1(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    kept = mirostat_1_kept(
        candidates.logits,
        _mu(situation, values),
        ranks=values["ranks"],
        vocabulary=situation.size,
        flat=values["flat"],
        largest_k=values["largest_k"],
        factor=candidates.factor,
    )
    return with_places(candidates, sorted(kept))


def _mirostat_2(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    kept = mirostat_2_kept(candidates.logits, _mu(situation, values), factor=candidates.factor)
    return with_places(candidates, sorted(kept))


def _remember_mu(
    before: Candidates, after: Candidates, situation: Situation, values: Values, token: TokenId
) -> Mapping[str, Any]:
    """Return the new mu: the surprise of the drawn token counts among the kept."""
    place = list(before.tokens).index(token)
    places = {token: place for place, token in enumerate(before.tokens)}
    mu = next_mu(
        before.logits,
        frozenset(places[token] for token in after.tokens),
        place,
        _mu(situation, values),
        tau=values["tau"],
        eta=values["eta"],
        whose=values["whose"],
        factor=before.factor,
    )
    return {"mu": mu}


def _past(situation: Situation, values: Values) -> PastProbabilities:
    past = situation.state.get("past")
    if past is None:
        return adaptive_p_start(values["target"], values["decay"])
    return PastProbabilities(*past)


def _adaptive_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    past = _past(situation, values)
    logits = adaptive_p_logits(candidates.logits, past, values["target"], factor=candidates.factor)
    return Candidates(candidates.tokens, ReadRow(logits))


def _remember_past(
    before: Candidates,
    after: Candidates,
    situation: Situation,
    values: Values,
    token: TokenId,
) -> Mapping[str, Any]:
    """Return the past with the probability that the token had before the step."""
    shares = softmax(before.logits, factor=before.factor)
    share = shares[list(before.tokens).index(token)]
    return {"past": adaptive_p_next(_past(situation, values), share, values["decay"])}


ADAPTIVE_STEPS = (
    Step(
        "mirostat_1",
        _mirostat_1,
        {"tau": REQUIRED, "eta": REQUIRED, "ranks": 100, "largest_k": None},
        {"flat": ("limit", "one"), "whose": ("whole", "kept")},
        "as many are kept as hold the surprise near {tau} bits",
        remember=_remember_mu,
    ),
    Step(
        "mirostat_2",
        _mirostat_2,
        {"tau": REQUIRED, "eta": REQUIRED},
        {"whose": ("whole", "kept")},
        "what surprises by more bits than allowed is removed, to hold the surprise near {tau}",
        remember=_remember_mu,
    ),
    Step(
        "adaptive_p",
        _adaptive_p,
        {"target": REQUIRED, "decay": REQUIRED},
        why="tokens whose share is near a target are preferred ({target})",
        remember=_remember_past,
        remembers_at="accept",
    ),
)
