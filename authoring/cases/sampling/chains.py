"""Chains of engines: their defaults, each step alone, draws and the order of the steps.

Draws
    The numbers are multiples of 2**-20 from SplitMix64. A question whose token depends on rounding
    is skipped, by the proof that every case must have (`chain_draft.decided`).

Orders
    What each engine answers where another order of the steps would differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives
from authoring.cases.sampling.rows_of_engines import (
    FILTERS,
    HEAD,
    ROWS,
    Shown,
    parameters_of,
    shown_in,
)
from authoring.cases.splitmix import SplitMix64
from authoring.reordered import with_step_at
from sampling_ref import PROFILES, Profile
from sampling_ref.engines.profile import Stage, holds
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.floats import Type
from tokenref.judge import judge
from tokenref.record import Case, op_of
from tokenref.rounding.verdicts import prove_decided
from tokenref.subjects import SAMPLERS


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _alone_cases()
    yield from _draws_cases()
    yield from _orders_cases()


# ---- defaults, and each step alone

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


def _alone_cases() -> Iterator[SamplerDraft]:
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
        if not holds(stage.off_if, {**profile.defaults(), **alone(profile.name, **both)}):
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


# ---- draws

RACES: Final = frozenset({"transformers", "vllm", "sglang", "tensorrt-llm", "exllamav3"})
"""Engines whose draw takes one random number for each token of the row."""

BITS: Final = 20
ROW: Final = [0.5, 2.0, -1.0, 1.5, -inf, 0.0, -2.5, 1.0]
WANTED: Final = 3

QUESTIONS: Final = (
    ("all", "with every step off"),
    ("defaults", "with its defaults, after a history"),
)


def numbers_for(name: str, random: SplitMix64, size: int) -> list[float]:
    """Return as many random numbers as an engine's draw takes, none of them 0."""
    count = size if name in RACES else 1
    return [(random.below(2**BITS - 1) + 1) / 2**BITS for _ in range(count)]


def _draws_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for number, name in enumerate(PROFILES):
        topic = ChainTopic(
            f"engine_{name.replace('.', '_').replace('-', '_')}",
            ("DrawGivenNumber", "EngineProfile"),
            "docs/engines.md#the-order-of-the-steps",
        )
        for slug, says in QUESTIONS:
            params = on(name, alone(name) if slug == "all" else {})
            history = [] if slug == "all" else [1, 1, 3, 0]
            random, found = SplitMix64(1000 + number), 0
            for _ in range(40):
                request = chain_request(
                    ROW, params, history, uniforms=numbers_for(name, random, len(ROW)),
                    prompt_length=1 if history else 0,
                )  # fmt: skip
                if not _is_decided(name, request):
                    continue
                found += 1
                yield topic.case(
                    "sample",
                    f"drawn.{slug}-{found}",
                    name,
                    request,
                    f"{PROFILES[name].title} {says}: draw {found} with random numbers from outside.",
                )
                if found == WANTED:
                    break
            yield topic.case(
                "distribution",
                f"law.{slug}",
                name,
                chain_request(ROW, params, history, prompt_length=1 if history else 0),
                f"{PROFILES[name].title} {says}: the law that it draws from.",
                flags=("MinusInfinity",),
            )
    yield from _ranks()


def on(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters under which an engine that is greedy by default draws."""
    switches: dict[str, dict[str, Any]] = {
        "candle": {"temperature": 1.0},
        "mlx-lm": {"temp": 1.0},
        "tensorrt-llm": {"temperature": 0.75},
    }
    return {**switches.get(name, {}), **params}


def _is_decided(name: str, request: dict[str, Any]) -> bool:
    try:
        prove_decided(name, request)
    except PurposeError:
        return False
    return True


def _ranks() -> Iterator[SamplerDraft]:
    """Yield draws that show whom a random number belongs to: the token, not its rank."""
    topic = ChainTopic("draws", ("NoiseByRank",), "docs/engines.md#the-order-of-the-steps")
    rows: Sequence[tuple[str, list[float], list[float], dict[str, Any], int, str]] = (
        ("vllm", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {}, 0, "the first token has the luckiest number"),
        ("vllm", [0.0, 1.0, 2.0], [0.125, 0.90625, 0.1875], {}, 1, "the second token has the luckiest number"),
        ("vllm", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {"top_k": 2}, 2, "the luckiest number belongs to a token that top-k removed"),
        ("sglang", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {}, 0, "noise belongs to the token in the plain path"),
        ("exllamav3", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {"top_k": 3}, 0, "noise belongs to the token, though the row was sorted"),
    )  # fmt: skip
    for number, (name, row, uniforms, params, token, says) in enumerate(rows):
        yield topic.case(
            "sample",
            f"rank-{number}.{name}",
            name,
            chain_request(row, params, uniforms=uniforms),
            f"A race in {name}: {says}.",
            gives(token=token),
        )


# ---- orders

TOPIC: Final = ChainTopic("orders", ("ChainOrder",), "docs/engines.md#the-order-of-the-steps")


@dataclass(frozen=True)
class _Order:
    """A question in which it matters that one step stands before another."""

    profile: str
    first: str
    then: str
    params: dict[str, Any]
    row: tuple[float, ...]
    history: tuple[int, ...]
    says: str


_ORDERS: Final = (
    _Order(
        "llama.cpp",
        "penalties",
        "top_k",
        {"repeat_penalty": 4.0, "repeat_last_n": 8, "top_k": 1, "top_p": 1.0, "min_p": 0.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that penalties push down is the one best before: cut first, it would stay",
    ),
    _Order(
        "transformers",
        "repetition_penalty",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that the penalty pushes down is the one best before: cut first, it would stay",
    ),
    _Order(
        "vllm",
        "repetition_penalty",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1, "temperature": 1.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that the penalty pushes down is the one best before: cut first, it would stay",
    ),
    _Order(
        "mistral.rs",
        "penalties",
        "top_k",
        {"repetition_penalty": 4.0, "top_k": 1, "temperature": 1.0},
        (3.0, 2.0, 1.0, -1.0),
        (0, 0),
        "The token that penalties push down is the one best before: cut first, it would stay",
    ),
)


def _orders_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _ORDERS:
        yield SamplerDraft(
            op="chain",
            topic=TOPIC.name,
            slug=f"{each.first}-then-{each.then}.{each.profile}",
            profile=each.profile,
            request=chain_request(each.row, each.params, each.history),
            why=f"{each.says} ({each.profile}).",
            flags=TOPIC.flags,
            spec=TOPIC.spec,
            purposes=(_needs_its_order(each),),
        )


def _needs_its_order(each: _Order) -> SamplerPurpose:
    """Return the purpose "with the first step moved behind the other the answer is another"."""
    moved = with_step_at(PROFILES[each.profile], each.first, -1)
    tools = SamplerTools(profiles=MappingProxyType(dict(PROFILES) | {each.profile: moved}))

    def check(case: Case) -> None:
        request = msgspec.to_builtins(case.input)
        answer = SamplerSession(each.profile, tools).answer(op_of(case), request)
        if judge(case, answer, SAMPLERS).status == "pass":
            raise PurposeError(f"{case.id}: must tell apart where {each.first} stands")

    return check
