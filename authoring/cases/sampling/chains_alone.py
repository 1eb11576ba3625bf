"""Every engine's chain: its defaults, and each of its steps alone with everything else off."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from typing import Any, Final

from authoring.cases.sampling.chains_asking import ChainTopic, alone, chain_request
from authoring.cases.sampling.chains_draws import RACES
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.rows_demonstrations import FILTERS, HEAD, ROWS, Shown
from authoring.cases.sampling.rows_of_engines import parameters_of, shown_in
from sampling_ref import PROFILES, Profile
from sampling_ref.engines.profile import Stage
from tokenref.floats import Type

FALLING: Final = [4.5, 3.75, 3.5, 2.25, 2.0, 1.25, 0.5, -0.25, -1.5, -3.0, -4.75, -6.0]
SHUFFLED: Final = [0.5, 3.75, -6.0, 2.25, -1.5, 4.5, -3.0, 1.25, 3.5, -0.25, 2.0, -4.75]
BANS: Final = frozenset(
    {
        *("no_repeat_ngram", "encoder_no_repeat_ngram", "bad_words", "suppress", "allowed_tokens"),
        *("min_new_tokens", "min_length", "forced_bos", "forced_eos", "begin_suppress"),
        "prefix_allowed_tokens",
    }
)
"""Steps that only make tokens impossible: what a chain keeps shows them."""

ADAPTIVE: Final[tuple[tuple[str, str, dict[str, Any], str], ...]] = (
    ("llama.cpp", "mirostat_2", {"mirostat": 2, "mirostat_tau": 1.0}, "tokens of a surprise above 2 bits go"),
    ("llama.cpp", "mirostat_2.wide", {"mirostat": 2, "mirostat_tau": 3.0}, "tokens of a surprise above 6 bits go"),
    ("llama.cpp", "mirostat_1", {"mirostat": 1, "mirostat_tau": 1.5}, ("as many tokens as Zipf's law gives for a "
                                                                      "surprise of 3 bits")),
    ("llama.cpp", "adaptive_p", {"adaptive_target": 0.25}, ("nothing is removed, and the most "
                                                           "probable token may change")),
    ("exllamav2", "mirostat_2", {"mirostat": True, "mirostat_tau": 1.0}, "tokens of a surprise above 2 bits go"),
    ("exllamav3", "adaptive_p", {"adaptive_target": 0.25}, ("nothing is removed, and the most "
                                                           "probable token may change")),
    ("transformers", "logprobs", {"renormalize_logits": True}, "logits become log-probabilities, and none goes"),
)  # fmt: skip
"""Steps that remember something, at their beginning, and one that only renormalises."""

SIXTEEN: Final[tuple[Type, Type]] = ("f16", "bf16")

HALF: Final = 0.5
"""The random number of XTC's coin."""


def topic_of(name: str) -> ChainTopic:
    """Return the file of an engine's chains."""
    slug = name.replace(".", "_").replace("-", "_")
    return ChainTopic(
        f"engine_{slug}", ("EngineProfile",), "docs/engines.md#the-order-of-the-steps"
    )


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for profile in PROFILES.values():
        yield from _defaults(profile)
        yield from _filters_alone(profile)
        yield from _rows_alone(profile)
    for name, slug, params, says in ADAPTIVE:
        yield topic_of(name).case(
            "chain",
            f"alone.{slug}",
            name,
            chain_request(
                HEAD,
                alone(name, **params),
                uniforms=None if slug == "logprobs" else [HALF] * (6 if name in RACES else 1),
            ),
            f"{PROFILES[name].title}, {slug.partition('.')[0]} alone with {params}: {says}.",
        )


def _defaults(profile: Profile) -> Iterator[SamplerDraft]:
    topic, name = topic_of(profile.name), profile.name
    for slug, row, history, prompt, says in (
        ("sorted", FALLING, [], 0, "a falling row, empty history"),
        ("shuffled", SHUFFLED, [], 0, "an unsorted row, empty history"),
        ("after-a-history", SHUFFLED, [5, 5, 1, 8, 5, 0], 2, "the best token occurred three times"),
    ):
        yield topic.case(
            "chain",
            f"defaults.{slug}",
            name,
            chain_request(row, {}, history, prompt_length=prompt),
            f"{profile.title} with all parameters at their defaults: {says}.",
            flags=("EngineDefault",),
        )
    dtype = SIXTEEN[list(PROFILES).index(name) % 2]
    yield topic.case(
        "chain",
        f"defaults.{dtype}",
        name,
        chain_request(SHUFFLED, {}, [5, 1], dtype=dtype),
        f"{profile.title} with all parameters at their defaults: logits of {dtype}.",
        flags=("EngineDefault", "SixteenBit"),
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
            yield topic.case(
                "chain",
                f"{stage.step}.{shown.slug}{again}",
                name,
                chain_request(shown.logits, alone(name, **params), uniforms=uniforms),
                f"{profile.title}, {stage.step} alone{' again' * (number - 1)}: {shown.says}.",
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
    """Yield each step that changes rows in a chain of its own.

    What a chain keeps shows nothing of a penalty; its probabilities do.
    """
    topic, name = topic_of(profile.name), profile.name
    counted: dict[str, int] = {}
    for stage, shown, params in shown_in(profile):
        if shown is not ROWS[stage.step][0]:
            continue
        request = chain_request(
            shown.logits, alone(name, **params), shown.history, prompt_length=shown.prompt
        )
        number = counted[stage.step] = counted.get(stage.step, 0) + 1
        again = "" if number == 1 else f"-{number}"
        yield topic.case(
            "chain" if stage.step in BANS else "distribution",
            f"{stage.step}.{shown.slug}{again}",
            name,
            request,
            f"{profile.title}, {stage.step} alone in a chain{' again' * (number - 1)}: {shown.says}.",
            spec=f"docs/engines.md#{stage.step}",
        )
