"""Drafts that are judged by rows after penalties, masks and filters: these see the drafts.

Each question is one whose answer differs from that of some program that shows its steps other
tokens. The random numbers are found by trying: they are far from every place where rounding
might decide, and together the questions of a scenario tell every such program that matters there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, gives, refuses
from sampling_ref import SamplingError, Use, chain
from sampling_ref.numbers.softmax import softmax
from sampling_ref.speculative import Verified, verify_by_matching, verify_chain
from tokenref.answers import Ok
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rounding.margins import UndecidedError
from tokenref.rounding.verdicts import prove_steady
from tokenref.rules import STANDARD, rule_name

SPEC: Final = "docs/sampling.md#processors-in-the-loop"
FLAG: Final = "SpeculativeSteps"
MATCHING: Final = rule_name("speculative_steps", method="matching")

Row: TypeAlias = Sequence[float]
Tokens: TypeAlias = Sequence[int]
Seen: TypeAlias = Callable[[Tokens, int], Tokens]

SEEN: Final[Mapping[str, Seen]] = MappingProxyType(
    {
        "no draft": lambda _tokens, _place: (),
        "all drafts at each place": lambda tokens, _place: tokens,
        "each draft one place late": lambda tokens, place: tokens[: max(place - 1, 0)],
        "the last draft alone": lambda tokens, place: tokens[:place][-1:],
        "the last draft twice": lambda tokens, place: [*tokens[:place], *tokens[:place][-1:]],
        "the draft at the place itself, too": lambda tokens, place: tokens[: place + 1],
        "no draft in the bonus row": lambda tokens, place: tokens[: place % len(tokens)],
    }
)
"""Which drafts steps see at a place in programs that are wrong."""


class Scenario(NamedTuple):
    """Drafted tokens, the rows of both models, and the steps of the target."""

    slug: str
    steps: Sequence[tuple[str, Mapping[str, Any]]]
    history: Tokens
    tokens: Tokens
    about: str
    target: Sequence[Row] = ()
    prompt_length: int = 0


FLAT: Final = (0.5, 0.0, 0.25, -0.25)
OTHER: Final = (0.0, 0.75, -0.5, 0.25)
STEEP: Final = (1.0, -0.5, 0.5, 0.0)
DRAFTS: Final = ((0.25, 0.25, 0.25, 0.25), (0.5, 0.25, 0.125, 0.125), (0.25, 0.5, 0.125, 0.125))

NUMBERS: Final = (0.0625, 0.4375, 0.8125)
"""The random numbers that are tried."""

_AFTER: Final = {(2,): [0, 1], (2, 0): [1, 3], (2, 0, 1): [0, 2], (2, 0, 1, 0): [1, 3]}

SCENARIOS: Final = (
    Scenario("frequency", [("frequency_penalty", {"penalty": 1.0})], [2], [0, 0, 1],
             "The frequency penalty counts each draft"),
    Scenario("presence", [("presence_penalty", {"penalty": 1.5})], [3], [0, 1, 2],
             "The presence penalty holds for each draft"),
    Scenario("repetition", [("repetition_penalty", {"penalty": 4.0})], [], [0, 2, 0],
             "The repetition penalty holds for each draft, with an empty history before"),
    Scenario("bigrams", [("no_repeat_ngram", {"ngram_size": 2})], [0, 1, 2, 0], [3, 0, 1],
             "No pair of tokens may come twice, and the drafts make pairs"),
    Scenario("bad-words", [("bad_words", {"words": [[0, 1], [1, 1, 3], [2]]})], [1], [1, 0, 3],
             "Forbidden words that begin in the history and go on in the drafts"),
    Scenario("sequence-bias", [("sequence_bias", {"biases": {(0, 1): 2.0, (3, 0, 2): -3.0}})], [3], [0, 1, 0],
             "Biases of sequences that begin in the history and go on in the drafts"),
    Scenario("grammar", [("prefix_allowed_tokens", {"allowed_after": _AFTER})], [2], [0, 1, 0],
             "A mask depends on all tokens so far, as a grammar's does"),
    Scenario("grammar-rejects", [("prefix_allowed_tokens", {"allowed_after": _AFTER})], [2], [0, 2, 1],
             "The second draft is forbidden after the first one"),
    Scenario("least-length", [("min_length", {"length": 3, "ends": [0]})], [1], [2, 3, 0],
             "The end is forbidden until there are three tokens, and drafts count"),
    Scenario("least-new", [("min_new_tokens", {"count": 2, "ends": [0]})], [0, 3], [2, 1, 0],
             "The end is forbidden until there are two new tokens, and drafts count",
             prompt_length=2),
    Scenario("end-is-forced", [("forced_eos", {"max_length": 4, "ends": 3})], [0, 1], [2, 3],
             "The last token of the longest text is the end, and drafts count"),
    Scenario("window", [("penalties", {"repetition": 1.0, "frequency": 1.0, "presence": 0.5, "window": 2})], [0, 0], [1, 1, 3],
             "Penalties whose window of two tokens moves over the drafts"),
    Scenario("of-the-output", [("frequency_penalty", {"penalty": 1.0})], [1, 1, 0], [1, 0, 1],
             "A penalty that counts only what was generated counts drafts", prompt_length=2),
    Scenario("with-top-k", [("frequency_penalty", {"penalty": 1.0}), ("top_k", {"k": 2})], [2], [0, 0],
             "A filter after a penalty keeps other tokens at each place"),
    Scenario("with-temperature", [("presence_penalty", {"penalty": 1.0}), ("temperature", {"temperature": 0.5}), ("top_p", {"p": 0.75})], [1], [0, 2],
             "Penalty, temperature and filter, at each place"),
)  # fmt: skip

MASKED: Final = (
    Scenario("mask", [("token_mask", {"words": [0b1011]}), ("frequency_penalty", {"penalty": 1.0})], [1], [0, 3, 0], ""),
    Scenario("bias", [("logit_bias", {"biases": {0: 1.0, 2: -1.5}}), ("presence_penalty", {"penalty": 1.5})], [], [2, 0, 1], ""),
    Scenario("mask-and-top-k", [("repetition_penalty", {"penalty": 4.0}), ("token_mask", {"tokens": [0, 2, 3]}), ("top_k", {"k": 2})], [3], [0, 2, 0], ""),
)  # fmt: skip
"""Masks and biases beside penalties, for a batch."""

_OFTEN: Final = {"frequency", "presence", "repetition", "window", "of-the-output", "with-top-k", "with-temperature"}  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for scenario in SCENARIOS:
        yield from _told(scenario, STANDARD)
        yield from _told(scenario, MATCHING)
    yield from _in_order()
    yield from _without_drafts()
    yield from _batches()
    yield from _refused()


def _rows(scenario: Scenario) -> Sequence[Row]:
    return scenario.target or [
        (FLAT, OTHER, STEEP)[place % 3] for place in range(len(scenario.tokens) + 1)
    ]


def asked(scenario: Scenario, profile: str, uniforms: Sequence[float]) -> dict[str, Any]:
    """Return the question about a scenario."""
    count = len(scenario.tokens) if profile == STANDARD else 0
    return {
        "target": [pack(row) for row in _rows(scenario)],
        "draft": [pack(DRAFTS[place % 3]) for place in range(count)],
        "tokens": [*scenario.tokens],
        "history": [*scenario.history],
        "prompt_length": scenario.prompt_length,
        "steps": [
            {"step": step, "params": pack_parameters(params)} for step, params in scenario.steps
        ],
        "uniforms": pack(uniforms),
    }


def _verified(
    scenario: Scenario, profile: str, uniforms: Sequence[float], rows: Sequence[Row]
) -> Verified:
    if profile == MATCHING:
        return verify_by_matching(rows, scenario.tokens, uniforms)
    drafted = [DRAFTS[place % 3] for place in range(len(scenario.tokens))]
    return verify_chain(rows, drafted, scenario.tokens, uniforms)


def _processed(scenario: Scenario, seen: Seen) -> list[list[float]] | None:
    """Return the target's probabilities if its steps see this; None if they refuse it."""
    uses = [Use(step, **params) for step, params in _with_functions(scenario)]
    found: list[list[float]] = []
    for place, row in enumerate(_rows(scenario)):
        tokens = [*scenario.history, *seen(scenario.tokens, place)]
        try:
            after = chain(uses, row, tokens, prompt_length=scenario.prompt_length).row
            found.append(softmax(after))
        except SamplingError:
            if not any(found[each][scenario.tokens[each]] == 0 for each in range(place)):
                return None
            found.append(softmax(row))  # behind a forbidden draft
    return found


def _with_functions(scenario: Scenario) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for step, params in scenario.steps:
        if "allowed_after" in params:
            table = params["allowed_after"]
            yield step, {"allowed_after": lambda past, table=table: table.get(tuple(past), [])}
        else:
            yield step, params


def _steadily(profile: str, question: Mapping[str, Any], answer: Verified) -> bool:
    right = Ok({"accepted": answer.accepted, "tokens": [*answer.tokens]})
    try:
        prove_steady(profile, question, right)
    except UndecidedError:
        return False
    return True


def _told(scenario: Scenario, profile: str) -> Iterator[SamplerDraft]:
    """Yield questions that together tell all wrong programs that a scenario can tell."""
    right = _processed(scenario, lambda tokens, place: tokens[:place])
    assert right is not None  # noqa: S101 - every scenario leaves something
    wrong = {name: _processed(scenario, seen) for name, seen in SEEN.items()}
    plain = [softmax(row) for row in _rows(scenario)]
    wrong["nothing: they are left out"] = plain
    wrong["nothing in the bonus row, which they leave as it is"] = [*right[:-1], plain[-1]]
    differing = {name: rows for name, rows in wrong.items() if rows is not None and rows != right}
    answers: dict[tuple[float, ...], tuple[Verified, list[str]]] = {}
    for uniforms in product(NUMBERS, repeat=len(scenario.tokens) + 1):
        answer = _verified(scenario, profile, uniforms, right)
        others = differing.items()
        told = [
            each for each, rows in others if _verified(scenario, profile, uniforms, rows) != answer
        ]
        answers[uniforms] = answer, told
    left, number = Counter(dict.fromkeys(differing, 2)), 0  # each is told twice if it can be
    while answers:
        uniforms, (answer, told) = max(
            answers.items(), key=lambda item: sum(left[name] > 0 for name in item[1][1])
        )
        if all(left[name] <= 0 for name in told):
            break
        del answers[uniforms]
        if _steadily(profile, asked(scenario, profile, uniforms), answer):
            left.subtract(told)
            number += 1
            yield _case(scenario, profile, number, uniforms, answer, told)
    if number == 0:
        raise PurposeError(f"{scenario.slug}: tells no wrong program")


def _case(
    scenario: Scenario,
    profile: str,
    number: int,
    uniforms: Sequence[float],
    answer: Verified,
    told: Sequence[str],
) -> SamplerDraft:
    method = "chain" if profile == STANDARD else "matching"
    kept = {0: "no draft is", 1: "1 draft is"}.get(answer.accepted, f"{answer.accepted} drafts are")
    return SamplerDraft(
        op="speculative_steps",
        topic=method,
        slug=f"{scenario.slug}-{number}",
        profile=profile,
        request=asked(scenario, profile, uniforms),
        why=f"{scenario.about} ({method}, question {number}): {kept} accepted, then token "
        f"{answer.tokens[-1]}. In programs that differ, steps see: "
        f"{'; '.join(told)}.",
        flags=sorted({FLAG, "SpeculativeMatching" if method == "matching" else "SpeculativeRatio"}),
        spec=SPEC,
        purposes=[gives(accepted=answer.accepted, tokens=[*answer.tokens])],
    )


def _in_order() -> Iterator[SamplerDraft]:
    scenario = Scenario(
        "penalty-then-filter",
        [("frequency_penalty", {"penalty": 1.0}), ("top_k", {"k": 1})],
        [0], [2], "",
    )  # fmt: skip
    yield SamplerDraft(
        op="speculative_steps", topic="matching", slug=scenario.slug, profile=MATCHING,
        request=asked(scenario, MATCHING, [0.4375, 0.4375]),
        why="The filter keeps one token of the row that the penalty left; before the penalty, another "
        "one is the best.",
        flags=sorted({FLAG, "SpeculativeMatching"}), spec=SPEC, purposes=[gives(accepted=1, tokens=[2, 1])],
    )  # fmt: skip


# ---- without drafts, many rows, and what is refused


def _without_drafts() -> Iterator[SamplerDraft]:
    scenario = SCENARIOS[0]._replace(tokens=[], history=[0, 0, 1])
    for profile, method in ((STANDARD, "chain"), (MATCHING, "matching")):
        yield SamplerDraft(
            op="speculative_steps", topic=method, slug="no-drafts", profile=profile,
            request=asked(scenario, profile, [0.5625]),
            why=f"Without drafts a token is drawn after the steps, as in any other loop ({method}).",
            flags=[FLAG], spec=SPEC, purposes=[gives(accepted=0)],
        )  # fmt: skip


def _batches() -> Iterator[SamplerDraft]:
    """Yield batches whose rows have different numbers of drafts."""
    often = [*MASKED, *(scenario for scenario in SCENARIOS if scenario.slug in _OFTEN)]
    for profile, method in ((STANDARD, "chain"), (MATCHING, "matching")):
        rows = _of_lengths(SCENARIOS, profile)
        yield _batch(
            "lengths", method, rows, profile,
            "Rows of a batch have from none to three drafts, and each has its own steps and history.",
        )  # fmt: skip
        yield _batch(
            "lengths-reversed", method, rows[::-1], profile,
            "The same rows the other way round have the same answers.",
        )  # fmt: skip
        yield _batch(
            "penalties-and-masks", method, _of_lengths(often, profile), profile,
            "Rows of a batch have from none to three drafts, with penalties, biases, masks and filters alone.",
        )  # fmt: skip
    pair = [
        Scenario("", [("frequency_penalty", {"penalty": 4.0})], history, [draft], "", [(1.0,) * 4] * 2, length)
        for history, draft, length in (([2, 2], 0, 2), ([1, 1], 2, 0))
    ]  # fmt: skip
    rows = [asked(each, STANDARD, (0.0625, 0.375)) for each in pair]
    outs = [{"accepted": 1, "tokens": [0, 2]}, {"accepted": 1, "tokens": [2, 0]}]
    for row, out in zip(rows, outs, strict=True):
        prove_steady(STANDARD, row, Ok(out))
    yield _batch(
        "two-rows", "chain", rows, STANDARD,
        "Two rows with a frequency penalty alone: each has its own draft, history and prompt.",
    )  # fmt: skip


def _of_lengths(scenarios: Sequence[Scenario], profile: str) -> list[dict[str, Any]]:
    """Return a row for each scenario, with three drafts, none, two and one in turn."""
    rows = []
    for number, scenario in enumerate(scenarios):
        count = (3, 0, 2, 1)[number % 4]
        short = scenario._replace(tokens=scenario.tokens[:count])
        rows.append(asked(short, profile, _first_steady(short, profile)))
    return rows


def _first_steady(scenario: Scenario, profile: str) -> tuple[float, ...]:
    """Return random numbers that accept as many drafts as possible, far from all borders.

    If they can be found, what comes out differs from what comes out without the steps.
    """
    right = _processed(scenario, lambda tokens, place: tokens[:place])
    assert right is not None  # noqa: S101 - every scenario leaves something
    plain = [softmax(row) for row in _rows(scenario)]

    def verified(uniforms: Sequence[float], rows: Sequence[Row]) -> Verified:
        return _verified(scenario, profile, uniforms, rows)

    given = sorted(
        product(NUMBERS, repeat=len(scenario.tokens) + 1),
        key=lambda each: (
            verified(each, right) == verified(each, plain),
            -verified(each, right).accepted,
            each,
        ),
    )
    return next(
        each
        for each in given
        if _steadily(profile, asked(scenario, profile, each), verified(each, right))
    )


def _batch(
    slug: str, method: str, rows: Sequence[Mapping[str, Any]], profile: str, why: str
) -> SamplerDraft:
    return SamplerDraft(
        op="batch",
        topic="speculative_steps",
        slug=f"{method}-{slug}",
        profile=profile,
        request={"op": "speculative_steps", "rows": [*rows]},
        why=f"{why.removesuffix('.')} ({method}).",
        flags=["BatchRow", FLAG],
        spec=SPEC,
    )


def _refused() -> Iterator[SamplerDraft]:
    right = asked(SCENARIOS[0], STANDARD, [0.0625, 0.4375, 0.8125, 0.5])
    for slug, change, code, why in (
        ("row-missing", {"target": right["target"][:-1]}, "INVALID_ROW",
         "A row of the target is missing, that for the bonus."),
        ("draft-missing", {"draft": right["draft"][:-1]}, "INVALID_ROW",
         "A drafted token has no row that it was drawn from."),
        ("token-beyond", {"tokens": [0, 4, 1]}, "INVALID_HISTORY",
         "A drafted token lies beyond the row."),
        ("numbers-missing", {"uniforms": pack(NUMBERS)}, "INVALID_UNIFORM",
         "A random number is missing, that for the token at the end."),
        ("nothing-left", {"steps": [{"step": "bad_words", "params": pack_parameters({"words": [[0, token] for token in range(4)]})}]}, "INVALID_ROW",
         "Behind the first draft no token is allowed: that is an error, never token 0."),
    ):  # fmt: skip
        yield SamplerDraft(
            op="speculative_steps", topic="chain", slug=f"refused-{slug}", profile=STANDARD,
            request={**right, **change}, why=why, flags=[FLAG], spec=SPEC,
            purposes=[refuses(code)],
        )  # fmt: skip
