"""Every engine's chain: its defaults, and each of its steps alone with everything else off."""

from collections.abc import Iterator

from typing import Any, Final

from sampling_ref import PROFILES, Profile
from sampling_ref.profiles.model import Stage
from tokenref.cases.sampling.chains_asking import ChainTopic, alone, chain_request
from tokenref.cases.sampling.draft import SamplerDraft
from tokenref.cases.sampling.rows_demonstrations import FILTERS, Shown
from tokenref.cases.sampling.rows_of_engines import parameters_of, shown_in
from tokenref.engines.answers import Refused
from tokenref.engines.reference_samplers import SamplerSession

FALLING: Final = [4.5, 3.75, 3.5, 2.25, 2.0, 1.25, 0.5, -0.25, -1.5, -3.0, -4.75, -6.0]
SHUFFLED: Final = [0.5, 3.75, -6.0, 2.25, -1.5, 4.5, -3.0, 1.25, 3.5, -0.25, 2.0, -4.75]
HALF: Final = 0.5
"""The random number of XTC's coin."""


def topic_of(name: str) -> ChainTopic:
    """Return the file of an engine's chains."""
    slug = name.replace(".", "_").replace("-", "_")
    return ChainTopic(f"engine_{slug}", ("EngineProfile",), "docs/engines.md#the-order-of-the-steps")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for name, profile in PROFILES.items():
        yield from _defaults(profile)
        yield from _filters_alone(profile)
        yield from _rows_alone(profile)


def _defaults(profile: Profile) -> Iterator[SamplerDraft]:
    topic, name = topic_of(profile.name), profile.name
    for slug, row, history, prompt, says in (
        ("sorted", FALLING, [], 0, "a row that falls, nothing said yet"),
        ("shuffled", SHUFFLED, [], 0, "a row in no order, nothing said yet"),
        ("after-a-history", SHUFFLED, [5, 5, 1, 8, 5, 0], 2, "the best token was said three times"),
    ):
        yield topic.case(
            "chain",
            f"defaults.{slug}",
            name,
            chain_request(row, {}, history, prompt_length=prompt),
            f"{profile.title} with all parameters at their defaults: {says}.",
            flags=("EngineDefault",),
        )


def _filters_alone(profile: Profile) -> Iterator[SamplerDraft]:
    topic, name = topic_of(profile.name), profile.name
    seen: list[Any] = []
    for stage in profile.stages:
        for shown in FILTERS.get(stage.step, ()):
            params = _filter_parameters(profile, stage, shown)
            if params is None or (stage.step, shown.slug, params) in seen:
                continue
            seen.append((stage.step, shown.slug, params))
            number = sum(step == stage.step and slug == shown.slug for step, slug, _ in seen)
            again = "" if number == 1 else f"-{number}"
            uniforms = [HALF] if stage.step == "xtc" else None
            for kind, op, more in (("chain", "chain", ""), ("law", "distribution", " And with which probabilities?")):
                if kind == "law" and shown is not FILTERS[stage.step][0]:
                    continue
                yield topic.case(
                    op,
                    f"{stage.step}.{shown.slug}{again}",
                    name,
                    chain_request(shown.logits, alone(name, **params), uniforms=uniforms),
                    f"{profile.title}, {stage.step} alone{' again' * (number - 1)}: {shown.says}.{more}",
                    spec=f"docs/engines.md#{stage.step}",
                )


def _filter_parameters(profile: Profile, stage: Stage, shown: Shown) -> dict[str, Any] | None:
    params = parameters_of(profile, stage, shown)
    if params is None:
        return None
    for switch in ({}, {"filter_apply_order": "joint"}):
        both = {**params, **switch}
        if set(switch) - {parameter.name for parameter in profile.parameters}:
            continue
        if not stage.is_off({**profile.defaults(), **alone(profile.name, **both)}):
            return both
    return None


def _rows_alone(profile: Profile) -> Iterator[SamplerDraft]:
    """Yield the steps that change rows in a chain of their own: as probabilities.

    What a chain keeps shows nothing of a penalty; its probabilities do.
    """
    topic, name = topic_of(profile.name), profile.name
    counted: dict[tuple[str, str], int] = {}
    for stage, shown, params in shown_in(profile):
        request = chain_request(
            shown.logits, alone(name, **params), shown.history, prompt_length=shown.prompt
        )
        if shown.slug in {"overflow", "impossible", "fifty", "far-back", "small"} or max(shown.logits) > 100:
            continue
        if isinstance(SamplerSession(name).answer("distribution", request), Refused):
            continue
        number = counted[stage.step, shown.slug] = counted.get((stage.step, shown.slug), 0) + 1
        again = "" if number == 1 else f"-{number}"
        bans = stage.step in {"no_repeat_ngram", "bad_words", "suppress", "allowed_tokens", "min_new_tokens", "min_length", "forced_bos", "forced_eos", "begin_suppress", "prefix_allowed_tokens", "encoder_no_repeat_ngram"}
        op = "chain" if bans else "distribution"
        if not bans and number + _place(stage, shown) > 2:
            continue
        yield topic.case(
            op,
            f"{stage.step}.{shown.slug}{again}",
            name,
            request,
            f"{profile.title}, {stage.step} alone in a chain{' again' * (number - 1)}: {shown.says}.",
            spec=f"docs/engines.md#{stage.step}",
        )


def _place(stage: Stage, shown: Shown) -> int:
    from tokenref.cases.sampling.rows_demonstrations import ROWS  # noqa: PLC0415

    return [other.slug for other in ROWS[stage.step]].index(shown.slug)


