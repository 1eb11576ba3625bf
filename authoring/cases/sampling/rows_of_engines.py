"""Each engine's steps that change a row, one by one, under the engine's own parameters."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Topic, row_request
from authoring.cases.sampling.rows_demonstrations import ROWS, Shown
from sampling_ref import PROFILES, Profile
from sampling_ref.engines.profile import Stage
from tokenref.answers import Refused
from tokenref.engines.reference_samplers import SamplerSession

FLAGS: Final[Mapping[str, str]] = {
    "repetition_penalty": "PenaltySign",
    "frequency_penalty": "PenaltyCount",
    "presence_penalty": "PenaltyOnce",
    "penalties": "PenaltyOrder",
    "decaying_penalties": "PenaltyFading",
    "encoder_repetition": "PenaltySign",
    "no_repeat_ngram": "NGramBan",
    "encoder_no_repeat_ngram": "NGramBan",
    "dry": "Dry",
    "dry_nearby": "Dry",
    "dry_longest": "Dry",
    "logit_bias": "LogitBias",
    "sequence_bias": "SequenceBias",
    "bad_words": "SequenceBias",
    "min_length": "LeastLength",
    "min_new_tokens": "LeastLength",
    "forced_bos": "ForcedToken",
    "forced_eos": "ForcedToken",
    "exponential_decay_length": "LengthDecay",
    "temperature": "Temperature",
    "dynamic_temperature": "DynamicTemperature",
    "smoothing": "Smoothing",
    "remove_invalid_values": "MinusInfinity",
}
"""The flag of each step; masks have one in common."""


def parameters_of(profile: Profile, stage: Stage, shown: Shown) -> dict[str, Any] | None:
    """Return a demonstration's values under an engine's names, or None if it cannot show it.

    What the engine cannot set is left out; where it fixes what a demonstration is about, the
    demonstration is left out.
    """
    values = {name: value for name, value in shown.values.items() if name in stage.takes}
    params: dict[str, Any] = {}
    for ours, value in values.items():
        theirs, _, place = stage.takes[ours].partition(".")
        if place:
            params.setdefault(theirs, [None, None])[int(place)] = value
        else:
            params[theirs] = value
    for name in params:
        if name not in {parameter.name for parameter in profile.parameters}:
            return None
    return params


def shown_in(profile: Profile) -> Iterator[tuple[Stage, Shown, dict[str, Any]]]:
    """Yield what can be shown of each step of an engine, and its parameters, each once."""
    seen = []
    for stage in profile.stages:
        for shown in ROWS.get(stage.step, ()):
            params = parameters_of(profile, stage, shown)
            if stage.step == "temperature" and not stage.takes:
                continue
            if params is None or stage.is_off({**profile.defaults(), **params}):
                params = switched_on(profile, stage, params)
            if params is not None and (stage.step, shown.slug, params) not in seen:
                seen.append((stage.step, shown.slug, params))
                yield stage, shown, params


def switched_on(
    profile: Profile, stage: Stage, params: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return parameters under which a stage that another parameter switches is on, if any."""
    switches: tuple[dict[str, Any], ...] = (
        {"penalty_method": "subtractive"},
        {"temperature_last": True},
        {"temp_last": True},
        {"remove_invalid_values": True},
        {"max_length": None},
        {"token_repetition_range": 64},
    )
    known = {parameter.name for parameter in profile.parameters}
    for switch in switches:
        both = {**(params or {}), **switch}
        if known.issuperset(both) and not stage.is_off({**profile.defaults(), **both}):
            return both
    return None


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for name, profile in PROFILES.items():
        counted: dict[tuple[str, str], int] = {}
        for stage, shown, params in shown_in(profile):
            request = row_request(shown.logits, shown.history, prompt_length=shown.prompt, **params)
            if isinstance(SamplerSession(name).answer(stage.step, request), Refused):
                continue
            number = counted[stage.step, shown.slug] = counted.get((stage.step, shown.slug), 0) + 1
            again = "" if number == 1 else f"-{number}"
            topic = Topic(
                f"engine_{name.replace('.', '_').replace('-', '_')}",
                (FLAGS.get(stage.step, "TokenMask"), "EngineProfile"),
                f"docs/engines.md#{stage.step}",
            )
            way = "" if number == 1 else f" (the {_ordinal(number)} way)"
            yield topic.case(
                stage.step,
                f"{stage.step}.{shown.slug}{again}",
                name,
                request,
                f"{profile.title}, {stage.step}{way}: {shown.says}.",
            )


def _ordinal(number: int) -> str:
    return ("first", "second", "third", "fourth")[number - 1]
