"""Rules: the choices of a step at each point that its definition leaves open, as a profile's name.

"standard" is the first choice at every point. Any other choice is named, as `boundary.exceed`, and
several are joined: `boundary.exceed+ties.highest-id`. So the name says which rule is meant, and
`docs/sampling.md` explains it. The points are those of `sampling_ref.STEPS`, and of the table below
for operations other than steps.

Some points are only open after another choice: a race has noise but no boundary. A name contains
only open points. Random words and the numbers made from them have no rules. Their profiles are
names of generators and of conversions.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final, TypeAlias

from sampling_ref.draws.reported import PLACED, RANKS, TIES
from sampling_ref.steps.table import STEPS
from tokenref.generators import CONVERSIONS, GENERATORS

Choices: TypeAlias = Mapping[str, Any]
"""The choice at each point, in the form of the reference's functions."""

STANDARD: Final = "standard"

NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "random_words": tuple(GENERATORS),
    "uniforms": tuple(CONVERSIONS),
}
"""The operations whose profiles are names of their own; `choices_of` returns them as `name`."""

RACES: Final = ("gumbel max", "exponential race")
"""The drawing methods with noise for each token."""

_REPORTED: Final = {"placed": PLACED, "rank": RANKS, "ties": TIES}

OTHER_POINTS: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "softmax": {},
    "steps": {},
    "draw": {
        "method": ("inverse cdf", *RACES, "torch race", "torch walk"),
        "boundary": ("exceed", "reach"),
        "zero_weight": ("never", "as walked"),
        "noise": ("-log u", "-log(1-u)"),
    },
    "speculative": {
        "method": ("chain", "block", "tree", "target only", "matching", "typical"),
        "equality": ("reject", "accept"),
        "undrafted": ("by ratio", "reject", "accept"),
        "if_equal": ("error", "target"),
    },
    "speculative_steps": {"method": ("chain", "matching")},
    "residual": {"if_equal": ("error", "target")},
    "top_logprobs": {"of": ("raw", "processed"), **_REPORTED},
    "prompt_logprobs": _REPORTED,
    "mirostat_1": {
        "whole": ("floor", "nearest and one"),
        "flat": ("limit", "one"),
        "whose": ("whole", "kept"),
    },
    "mirostat_2": {"whose": ("whole", "kept")},
    "adaptive_p": {"boundary": ("exceed", "reach")},
    "stat": {},
    "stat_speculative": {"method": ("chain", "block", "matching")},
    "stat_batch": {},
    "seeds": {},
}
"""The points of operations other than steps, with the standard choice first."""

OPEN_AFTER: Final[Mapping[tuple[str, str], tuple[str, tuple[str, ...]]]] = {
    ("draw", "boundary"): ("method", ("inverse cdf",)),
    ("draw", "zero_weight"): ("boundary", ("reach",)),
    ("draw", "noise"): ("method", RACES),
    ("speculative", "equality"): ("method", ("chain", "block", "tree")),
    ("speculative", "undrafted"): ("method", ("chain",)),
    ("speculative", "if_equal"): ("method", ("chain",)),
}
"""Points that are only open after one of these choices at an earlier point."""


DECIDES: Final[Mapping[str, str]] = {
    "above_one": "a parameter above 1",
    "additive_scope": "which tokens the frequency and the presence penalty see",
    "arithmetic": "how it is calculated; only the rounding differs",
    "base": "of which tokens the sum p is a share",
    "beyond": "a k larger than the row",
    "boundary": "where the running sum meets the number that it is compared with",
    "coin": "a random number equal to the probability",
    "counting": "a token that occurred several times",
    "cut": "how many tokens belong to a place on the curve",
    "deviation": "the divisor of the standard deviation",
    "entropy": "the probabilities whose entropy is limited",
    "equality": "a token exactly at the threshold",
    "fading": "what fades, the penalties or their result",
    "flat": "equal probabilities, for which the estimate has no value",
    "if_equal": "target and draft that are equal",
    "last": "with `decay=0`, whether the oldest token in sight counts",
    "line": "where the straight line begins",
    "method": "which of several published methods it is",
    "noise": "how a uniform number becomes an exponential one",
    "of": "the row before or after the steps",
    "order": "which of the penalties is first",
    "placed": "where the drawn token is in the list",
    "rank": "the rank of equal tokens",
    "scope": "the prompt, the output, or both",
    "ties": "which of equal tokens is taken",
    "undrafted": "a draft to which its own row gives no weight",
    "variant": "which of the published versions it is",
    "when_none": "a row in which each allowed token was already impossible",
    "whole": "how a number of tokens becomes a whole number",
    "whose": "the row whose probability gives the surprise",
    "zero": "a parameter of 0",
    "zero_weight": "whether a token without weight can be drawn",
}
"""What each point decides, in a few words; the definition of the operation has more."""


def points(op: str) -> Mapping[str, tuple[Any, ...]]:
    """Return the open points of an operation with their choices, the standard one first.

    >>> points("top_k")["ties"]
    ('lowest id', 'highest id', 'all')
    """
    if op in OTHER_POINTS:
        return OTHER_POINTS[op]
    return STEPS[op].choices if op in STEPS else {}


def is_open(op: str, point: str, choices: Choices) -> bool:
    """Return whether a point is open after the choices at earlier points.

    >>> is_open("draw", "noise", {}), is_open("draw", "noise", {"method": "gumbel max"})
    (False, True)
    """
    if (op, point) not in OPEN_AFTER:
        return True
    earlier, needed = OPEN_AFTER[op, point]
    chosen = choices.get(earlier, points(op)[earlier][0])
    return chosen in needed and is_open(op, earlier, choices)


def slug(choice: object) -> str:
    """Return a choice in the form used in names.

    >>> slug("lowest id"), slug("-log(1-u)")
    ('lowest-id', 'log-1-u')
    """
    letters = (letter if letter.isalnum() else " " for letter in str(choice))
    return "-".join("".join(letters).split())


def rule_name(op: str, **choices: Any) -> str:
    """Return the name of the rule with these choices, and the standard ones elsewhere.

    Raises `ValueError` for an unknown choice, or a choice at a point that is not open.

    >>> rule_name("top_p"), rule_name("top_p", ties="highest id", boundary="exceed")
    ('standard', 'boundary.exceed+ties.highest-id')
    """
    known = points(op)
    for point, choice in choices.items():
        if point not in known:
            raise ValueError(f"a point of {op} must be one of {', '.join(known)}, got {point!r}")
        if choice not in known[point]:
            raise ValueError(f"{point} must be one of {known[point]}, got {choice!r}")
        if choice != known[point][0] and not is_open(op, point, choices):
            earlier, needed = OPEN_AFTER[op, point]
            raise ValueError(f"{point} needs {earlier} {' or '.join(needed)}")
    parts = [
        f"{point.replace('_', '-')}.{slug(choices[point])}"
        for point, allowed in known.items()
        if point in choices and choices[point] != allowed[0]
    ]
    return "+".join(parts) or STANDARD


def rule_of(op: str, profile: str = STANDARD) -> str:
    """Return in a few words what a profile does in an operation, and where it is defined.

    >>> rule_of("top_k")
    'keeps the k most probable tokens (sampling_ref, step top_k)'
    >>> rule_of("top_k", "ties.all"), rule_of("top_k", "vllm")  # doctest: +NORMALIZE_WHITESPACE
    ('keeps the k most probable tokens; but ties: all, not lowest id (sampling_ref, step top_k)',
     'keeps the k most probable tokens; with the choices of vllm (sampling_ref, step top_k)')
    """
    if op not in STEPS:
        return "see the page"
    why = STEPS[op].why.replace("{", "").replace("}", "")
    chosen = choices_of(op, profile)
    if chosen is None:
        why += f"; with the choices of {profile}"
    for point, choice in (chosen or {}).items():
        why += f"; but {point.replace('_', ' ')}: {choice}, not {points(op)[point][0]}"
    return f"{why} (sampling_ref, step {op})"


def choices_of(op: str, name: str) -> Choices | None:
    """Return the non-standard choices of a rule, or None if the name is not a rule.

    >>> choices_of("top_p", "boundary.exceed"), choices_of("top_p", "llama.cpp")
    ({'boundary': 'exceed'}, None)
    >>> choices_of("random_words", "mt19937"), choices_of("draw", "noise.log-1-u")
    ({'name': 'mt19937'}, None)
    """
    if op in NAMED:
        return {"name": name} if name in NAMED[op] else None
    if name == STANDARD:
        return {}
    by_slug = {
        f"{point.replace('_', '-')}.{slug(choice)}": (point, choice)
        for point, allowed in points(op).items()
        for choice in allowed[1:]
    }
    chosen = dict(by_slug[part] for part in name.split("+") if part in by_slug)
    if not all(is_open(op, point, chosen) for point in chosen):
        return None
    return chosen if rule_name(op, **chosen) == name else None


def all_choices(op: str, choices: Choices) -> dict[str, Any]:
    """Return the choice at every point of an operation.

    >>> all_choices("residual", {})
    {'if_equal': 'error'}
    """
    return {**{point: allowed[0] for point, allowed in points(op).items()}, **choices}


def rule_names(op: str) -> list[str]:
    """Return the names of all rules of an operation.

    >>> rule_names("top_n_sigma")
    ['standard', 'zero.off', 'deviation.sample', 'deviation.sample+zero.off']
    >>> rule_names("draw")[:5]  # doctest: +NORMALIZE_WHITESPACE
    ['standard', 'boundary.reach', 'boundary.reach+zero-weight.as-walked',
     'method.gumbel-max', 'method.gumbel-max+noise.log-1-u']
    """
    if op in NAMED:
        return list(NAMED[op])
    known = points(op)
    every = (dict(zip(known, chosen, strict=True)) for chosen in product(*known.values()))
    return [
        rule_name(op, **choices)
        for choices in every
        if all(
            choice == known[point][0] or is_open(op, point, choices)
            for point, choice in choices.items()
        )
    ]


def other_rules(op: str, choices: Choices) -> Iterator[tuple[str, Any, str]]:
    """Yield each rule with one other choice: the point, the choice there, and the rule's name.

    >>> list(other_rules("residual", {}))
    [('if_equal', 'target', 'if-equal.target')]
    """
    for point, allowed in points(op).items():
        for choice in allowed:
            changed = {**choices, point: choice}
            if choice != choices.get(point, allowed[0]) and is_open(op, point, changed):
                yield (
                    point,
                    choice,
                    rule_name(op, **{p: c for p, c in changed.items() if is_open(op, p, changed)}),
                )


RACE_PROFILES: Final = tuple(
    name
    for name in rule_names("draw")
    if (choices_of("draw", name) or {}).get("method") in {*RACES, "torch race", "torch walk"}
)
"""The rules of draws by noise and of torch's draws."""
