"""Each engine's steps that change a row, one by one, under the engine's own parameters.

They are shown by small questions in the step's own words (`chains` uses them as well). The rows
are multiples of powers of two, and what is compared or cut lies far from where rounding decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Topic, row_request
from sampling_ref import PROFILES, Profile
from sampling_ref.engines.profile import Stage, holds
from tokenref.answers import Refused
from tokenref.engines.reference_samplers import SamplerSession


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _of_engines_cases()


# ---- the questions, in the words of the steps


class Shown(NamedTuple):
    """A step's parameters, and a row and a history on which it does something."""

    slug: str
    values: Mapping[str, Any]
    logits: Sequence[float]
    history: Sequence[int]
    prompt: int
    says: str


FOUR: Final = [3.0, 2.0, 1.0, 0.0]
SIGNED: Final = [4.0, -4.0, 2.0, 0.0, -inf, 1.0]
PAST: Final = [0, 1, 1, 3, 0, 4]

ROWS: Final[Mapping[str, tuple[Shown, ...]]] = MappingProxyType({
    "repetition_penalty": (
        Shown("signs", {"penalty": 2.0}, SIGNED, PAST, 0, "positive logits are divided, negative ones multiplied"),
        Shown("scope", {"penalty": 2.0}, [8.0, 8.0, 8.0], [0, 0, 1], 2, "whether the prompt is seen, and each occurrence counts"),
        Shown("rounded", {"penalty": 1.1}, [5.5, -3.25, 0.375, 2.0], [0, 1, 2], 0, "a usual penalty, which needs rounding"),
        Shown("far-back", {"penalty": 2.0}, [8.0, 8.0, 8.0], [0] + [1] * 64, 0, "whether the sixty-fifth token back is seen"),
    ),
    "frequency_penalty": (
        Shown("counted", {"penalty": 0.5}, SIGNED, PAST, 0, "each occurrence costs once"),
        Shown("scope", {"penalty": 0.5}, [8.0, 8.0, 8.0], [0, 0, 1], 2, "whether occurrences in the prompt count"),
        Shown("rounded", {"penalty": 0.3}, [5.5, -3.25, 0.375, 2.0], [0, 0, 0, 1, 2], 0, "a usual penalty three times, which needs rounding"),
        Shown("reward", {"penalty": 0.25}, [1.0, 1.0], [0] * 24, 0, ("twenty-four occurrences, more than fit "
                                                                    "into a window of twenty")),
    ),
    "presence_penalty": (
        Shown("once", {"penalty": 0.5}, SIGNED, PAST, 0, "however often a token occurred, it costs once"),
        Shown("scope", {"penalty": 0.5}, [8.0, 8.0, 8.0], [0, 0, 1], 2, "whether presence in the prompt counts"),
        Shown("far-back", {"penalty": 0.5}, [8.0, 8.0], [0] + [1] * 20, 0, "whether the twenty-first token back is seen"),
    ),
    "penalties": (
        Shown("repetition", {"repetition": 2.0}, SIGNED, PAST, 0, "positive logits are divided, negative ones multiplied"),
        Shown("frequency", {"frequency": 0.5}, SIGNED, PAST, 2, "each occurrence costs once, those of the prompt perhaps"),
        Shown("presence", {"presence": 0.5}, SIGNED, PAST, 2, "presence costs once, in the prompt perhaps"),
        Shown("together", {"repetition": 2.0, "frequency": 1.0, "presence": 0.5}, [2.0, -2.0, 5.0], [0, 0, 1], 0, "all three in the engine's order"),
        Shown("sign-turns", {"repetition": 2.0, "frequency": 2.0}, [1.0, 0.0], [0], 0, "a subtraction before the division turns the sign"),
        Shown("far-back", {"repetition": 2.0}, [8.0, 8.0], [0] + [1] * 64, 0, "whether the sixty-fifth token back is seen"),
    ),
    "decaying_penalties": (
        Shown("repetition", {"repetition": 2.0}, SIGNED, PAST, 0, "positive logits are divided, negative ones multiplied"),
        Shown("frequency", {"frequency": 0.5}, SIGNED, PAST, 2, "each occurrence costs once"),
        Shown("presence", {"presence": 0.5}, SIGNED, PAST, 2, "presence costs once"),
        Shown("range", {"repetition": 2.0, "sustain": 2}, [8.0, 8.0, 8.0], [0, 1, 2], 0, "how many tokens a range of two covers"),
        Shown("decay", {"presence": 1.0, "sustain": 4, "decay": 4}, [2.0] * 10, list(range(10)), 0, "four tokens at full strength, then a decay over four"),
        Shown("together", {"repetition": 2.0, "frequency": 1.0, "presence": 0.5}, [2.0, -2.0, 5.0], [0, 0, 1], 0, "all three in the engine's order"),
    ),
    "encoder_repetition": (
        Shown("reward", {"penalty": 2.0, "encoder_input": [0, 1]}, [1.0, -1.0, 1.0], [2], 1, "tokens of the encoder's input become likelier"),
    ),
    "no_repeat_ngram": (
        Shown("two", {"ngram_size": 2}, FOUR, [0, 1, 0], 1, "what followed the last token before may not follow it again"),
        Shown("three", {"ngram_size": 3}, FOUR, [0, 1, 2, 0, 1], 1, "what followed the last two tokens before is banned"),
        Shown("short", {"ngram_size": 4}, FOUR, [0, 1], 1, "a history shorter than the n-gram bans nothing"),
    ),
    "encoder_no_repeat_ngram": (
        Shown("two", {"ngram_size": 2, "encoder_input": [0, 1, 2]}, FOUR, [3, 0], 1, "a pair of the encoder's input may not be repeated"),
    ),
    "dry": (
        Shown("two", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "two tokens repeat and one is allowed"),
        Shown("overlap", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [8.0] * 4, [0, 0, 0, 0], 0, "a match that overlaps with the end"),
        Shown("breaker", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "breakers": [[0]]}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "a breaker within the match"),
        Shown("breaker-at-the-end", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "breakers": [[1]]}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "the last token is a breaker"),
        Shown("window", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "window": 4}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "a window that contains half of the match"),
        Shown("overflow", {"multiplier": 1.0, "base": 2.0, "allowed_length": 0, "window": 200}, [8.0, 1.0], [0] * 140, 0, "an exponent beyond 32 bits"),
    ),
    "dry_nearby": (
        Shown("two", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "two tokens repeat and one is allowed"),
        Shown("breaker", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "breakers": [0]}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "a breaker within the match"),
        Shown("breaker-at-the-end", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "breakers": [1]}, [8.0] * 4, [1, 2, 0, 1], 0, "the last token is a breaker"),
        Shown("fifty", {"multiplier": 1.0, "base": 2.0, "allowed_length": 49}, [8.0, 1.0], [0] * 60, 0, "a match longer than fifty tokens"),
    ),
    "dry_longest": (
        Shown("two", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "two tokens repeat and one is allowed"),
        Shown("twice", {"multiplier": 1.0, "base": 2.0, "allowed_length": 2}, [8.0] * 4, [0, 1, 2, 3, 0, 1, 2, 2, 0, 1], 0, "the longest run occurred twice before"),
        Shown("breaker", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1, "breakers": [0]}, [8.0] * 4, [0, 1, 2, 0, 1], 0, "a breaker within the run"),
        Shown("default-base", {"multiplier": 1.0}, [8.0] * 4, [0, 1, 2, 3, 0, 1, 2], 0, "the default base and the default allowed length"),
    ),
    "logit_bias": (
        Shown("added", {"biases": {1: 0.5, 3: -2.0}}, [1.0, -1.0, 0.5, 1.0], [], 0, "biases are added, negative ones too"),
        Shown("hundred", {"biases": {0: -100.0, 3: 100.0}}, FOUR, [], 0, "100 and -100 are numbers and no bans"),
        Shown("impossible", {"biases": {0: 100.0}}, [-inf, 0.0], [], 0, "a bias brings no impossible token back"),
        Shown("banned", {"biases": {0: -inf}}, FOUR, [], 0, "minus infinity bans"),
    ),
    "sequence_bias": (
        Shown("single", {"biases": {(1,): 0.5}}, FOUR, [2], 1, "a single token always gets its bias"),
        Shown("completes", {"biases": {(0, 1, 2): 2.0, (1, 2): 0.5}}, FOUR, [3, 0, 1], 1, "two sequences are about to be completed by one token"),
        Shown("short", {"biases": {(0, 1, 2): 2.0}}, FOUR, [1], 1, "a sequence longer than the history"),
    ),
    "bad_words": (
        Shown("single", {"words": [[1]]}, FOUR, [2], 1, "a bad word of one token"),
        Shown("completes", {"words": [[0, 1, 2]]}, FOUR, [3, 0, 1], 1, "the start of a bad word was generated"),
        Shown("across", {"words": [[0, 1, 2]]}, FOUR, [0, 1], 1, ("the start of a bad word crosses the end "
                                                                 "of the prompt")),
        Shown("late", {"words": [[0, 1, 2]]}, FOUR, [3, 0, 1, 3], 1, "the newest token leaves the bad word"),
    ),
    "min_length": (
        Shown("below", {"length": 3, "ends": 0}, FOUR, [1, 1], 1, "the sequence is too short to end"),
        Shown("reached", {"length": 3, "ends": 0}, FOUR, [1, 1, 1], 1, "the least length is reached"),
    ),
    "min_new_tokens": (
        Shown("below", {"count": 2, "ends": 0}, FOUR, [1, 1], 1, "one token follows the prompt and two are the least"),
        Shown("reached", {"count": 2, "ends": 0}, FOUR, [1, 1, 1], 1, "two tokens follow the prompt and two are the least"),
        Shown("ends", {"count": 2, "ends": [0, 2]}, FOUR, [1], 1, "several tokens end a text"),
    ),
    "prefix_allowed_tokens": (
        Shown("by-history", {"allowed_after": {(0, 1): [3, 1]}}, FOUR, [0, 1], 1, "what may follow this history"),
    ),
    "forced_bos": (
        Shown("first", {"token": 1}, FOUR, [2], 1, "the first token is forced"),
        Shown("later", {"token": 1}, FOUR, [2, 2], 1, "the forced place has passed"),
    ),
    "forced_eos": (
        Shown("last", {"max_length": 3, "ends": 0, "new_tokens": 2}, FOUR, [1, 1], 1, "one token is left"),
        Shown("before", {"max_length": 4, "ends": 0, "new_tokens": 3}, FOUR, [1, 1], 1, "two tokens are left"),
    ),
    "remove_invalid_values": (
        Shown("impossible", {}, [-inf, 0.0, 5.0], [0], 1, "impossible tokens become finite"),
    ),
    "exponential_decay_length": (
        Shown("grows", {"start": 2, "growth": 2.0, "ends": 0}, [4.0, 1.0, 1.0], [1, 1, 1, 1, 1], 1, "two tokens beyond the start"),
        Shown("negative", {"start": 2, "growth": 2.0, "ends": 0}, [-4.0, 1.0, 1.0], [1, 1, 1, 1], 1, "a negative end grows, too"),
        Shown("at-the-start", {"start": 2, "growth": 2.0, "ends": 0}, [4.0, 1.0, 1.0], [1, 1, 1], 1, ("at exactly the start, nothing happens "
                                                                                                     "yet")),
    ),
    "suppress": (
        Shown("some", {"tokens": [0, 2]}, FOUR, [1], 1, "suppressed tokens are impossible"),
    ),
    "begin_suppress": (
        Shown("beginning", {"tokens": [0]}, FOUR, [1, 1], 2, "right after the prompt"),
        Shown("later", {"tokens": [0]}, FOUR, [1, 1, 1], 2, "one token later"),
    ),
    "allowed_tokens": (
        Shown("some", {"tokens": [1, 3]}, FOUR, [], 0, "only what is listed is allowed"),
    ),
    "temperature": (
        Shown("two", {"temperature": 2.0}, [4.0, -2.0, 0.0, -0.0, -inf, 1.0], [], 0, "divided once by two"),
        Shown("half", {"temperature": 0.5}, [4.0, -2.0, 0.0, -inf, 1.0], [], 0, "divided by a half"),
        Shown("usual", {"temperature": 0.7}, [1.3, -7.25, 19.5, 0.0], [], 0, "a usual temperature, which needs rounding"),
        Shown("small", {"temperature": 2.0**-5}, [1.0, -1.0, 0.5], [], 0, "a small temperature makes logits large"),
    ),
    "dynamic_temperature": (
        Shown("between", {"temperature": 1.0, "spread": 0.5, "exponent": 1.0}, [2.0, 1.0, 0.0, -1.0], [], 0, "between 0.5 and 1.5, by the entropy"),
        Shown("exponent", {"temperature": 1.0, "spread": 0.5, "exponent": 2.0}, [2.0, 1.0, 0.0, -1.0], [], 0, "with an exponent of two"),
        Shown("even", {"temperature": 1.0, "spread": 0.5, "exponent": 1.0}, [1.5] * 4, [], 0, "an even row has the highest temperature"),
    ),
    "smoothing": (
        Shown("quadratic", {"smoothing_factor": 0.5}, [4.0, 2.0, 0.0], [], 0, "logits fall with the square of their distance"),
    ),
})  # fmt: skip
"""Per step that changes a row. Values that an engine cannot set are left out there."""

HEAD: Final = [4.0, 3.0, 1.5, 0.5, -1.0, -2.5]
"""A heavy head: shares 0.655, 0.241, 0.054, 0.020, 0.004, 0.001."""

FILTERS: Final[Mapping[str, tuple[Shown, ...]]] = MappingProxyType({
    "top_k": (
        Shown("two", {"k": 2}, [1.5, 4.0, 0.5, 3.0, -1.0, -2.5], [], 0, "the two largest"),
        Shown("more-than-there-are", {"k": 40}, HEAD, [], 0, "more than the row has"),
    ),
    "top_p": (
        Shown("crossing", {"p": 0.75}, [1.5, 4.0, 0.5, 3.0, -1.0, -2.5], [], 0, "the second token crosses three quarters"),
        Shown("best-alone", {"p": 0.5}, HEAD, [], 0, "the best token alone has more than a half"),
        Shown("long", {"p": 0.9375}, HEAD, [], 0, "the third token crosses fifteen sixteenths"),
    ),
    "min_p": (
        Shown("tenth", {"m": 0.125}, [1.5, 4.0, 0.5, 3.0, -1.0, -2.5], [], 0, "an eighth of the largest is the least"),
        Shown("half", {"m": 0.5}, HEAD, [], 0, "no other token has half of the largest"),
    ),
    "typical": (
        Shown("half", {"mass": 0.5}, HEAD, [], 0, "the most typical token first"),
        Shown("most", {"mass": 0.75}, HEAD, [], 0, "until three quarters are reached"),
    ),
    "epsilon": (Shown("cutoff", {"cutoff": 0.03125}, HEAD, [], 0, "what is below a thirty-second goes"),),
    "eta": (Shown("cutoff", {"cutoff": 0.0625}, HEAD, [], 0, "what is below the entropy's cutoff goes"),),
    "top_n_sigma": (
        Shown("one", {"n": 1.0}, HEAD, [], 0, "what is one deviation below the best goes"),
        Shown("impossible", {"n": 1.0}, [4.0, 3.0, -inf, 0.0, -inf], [], 0, "impossible tokens do not count for the deviation"),
    ),
    "top_a": (Shown("half", {"a": 0.5}, HEAD, [], 0, "what is below half the square of the best goes"),),
    "tail_free": (Shown("half", {"z": 0.5}, HEAD, [], 0, "the tail goes where the curve is flat"),),
    "top_h": (Shown("half", {"alpha": 0.5}, HEAD, [], 0, "half of the entropy is kept"),),
    "xtc": (
        Shown("two-above", {"probability": 1.0, "threshold": 0.125}, HEAD, [], 0, "two tokens are above the threshold, and the better one goes"),
        Shown("coin-says-no", {"probability": 0.25, "threshold": 0.125}, HEAD, [], 0, "the coin decides against it"),
    ),
})  # fmt: skip
"""Per filter, for chains. XTC's coin is 1/2."""


# ---- the questions under the names of each engine

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
            if params is None or holds(stage.off_if, {**profile.defaults(), **params}):
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
        if known.issuperset(both) and not holds(stage.off_if, {**profile.defaults(), **both}):
            return both
    return None


def _of_engines_cases() -> Iterator[SamplerDraft]:
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
