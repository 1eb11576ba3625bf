"""Penalties that fade with distance, as in exllamav2 and exllamav3, by their rules."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.rows_asking import Topic, row_request
from authoring.cases.sampling.rows_table import Row, tabled
from tokenref.rules import rule_names

TOPIC: Final = Topic("fading", ("PenaltyFading",), "docs/engines.md#decaying_penalties")

FOURS: Final = [4.0, 4.0, 4.0, 4.0]
TWO: Final = {"repetition": 2.0}
PAST: Final = [3, 2, 1, 0]

ROWS: Final = (
    Row("no-decay", TWO, FOURS, PAST, [2, 2, 2, 2],
        "Without ranges the whole history is penalised at full strength."),
    Row("signs", TWO, [4, -4, 0.0, -0.0, -inf], [0, 1, 2, 3, 4], [2, -8, 0.0, -0.0, -inf],
        "A fading penalty divides positive logits and multiplies negative ones, as the plain one does.",
        flags=("PenaltySign",)),
    Row("sustain", {**TWO, "sustain": 2}, FOURS, PAST, [2, 2, 4, 4],
        "Only the newest two tokens are penalised; there is no decay beyond them."),
    Row("sustain-excluded", {**TWO, "sustain": 2}, FOURS, PAST, [2, 4, 4, 4],
        "Where the oldest of the range is excluded, a range of two covers one token.",
        {"last": "excluded"}, rival="standard"),
    Row("sustain-one-excluded", {**TWO, "sustain": 1}, FOURS, PAST, FOURS,
        "If the oldest token of the range is excluded, a range of one covers nothing.",
        {"last": "excluded"}, rival="standard"),
    Row("sustain-none", {**TWO, "sustain": 0}, FOURS, PAST, FOURS,
        "A range of no tokens penalises nothing.", flags=("PenaltyOff",)),
    Row("presence-late", {"presence": 1.0, "sustain": 1, "decay": 2}, [2, 2, 2, 2], PAST, [1, 1, 1.5, 2],
        "The line begins after the first fading token: full, full, half, nothing."),
    Row("presence-early", {"presence": 1.0, "sustain": 1, "decay": 2}, [2, 2, 2, 2], PAST, [1, 1.5, 2, 2],
        "The line begins with the first fading token: full, half, nothing.",
        {"line": "early"}, rival="standard"),
    Row("presence-decay-four", {"presence": 1.0, "sustain": 4, "decay": 4}, [2] * 10, list(range(10)),
        [2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1, 1],
        "Ten tokens, four at full strength and four fading by quarters."),
    Row("presence-decay-four-early", {"presence": 1.0, "sustain": 4, "decay": 4}, [2] * 10, list(range(10)),
        [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1],
        "The same ranges with the early line: one token fewer is penalised.",
        {"line": "early"}, rival="standard"),
    Row("result-fades", {**TWO, "sustain": 1, "decay": 2}, FOURS, PAST, [2, 2, 3, 4],
        "The result fades: halfway between 2 and 4 is 3.",
        {"fading": "result"}, rival="standard"),
    Row("penalty-fades", {"repetition": 3.0, "sustain": 1, "decay": 2}, FOURS, PAST, None,
        "The penalty fades: halfway between 3 and 1 is 2, and 4 divided by that is 2."),
    Row("negative-result-fades", {**TWO, "sustain": 1, "decay": 2}, [-4, -4, -4, -4], PAST, [-8, -8, -6, -4],
        "Halfway between a negative logit and twice that.", {"fading": "result"}, rival=""),
    Row("frequency", {"frequency": 0.5}, [2, 2], [0, 0, 0, 1], [0.5, 1.5],
        "Each occurrence costs its own share, all at full strength here.", flags=("PenaltyCount",)),
    Row("frequency-fades", {"frequency": 1.0, "sustain": 1, "decay": 2}, [4, 4], [0, 0, 0, 0], [1.5, 4],
        "Each of four occurrences costs what is left of the penalty at its distance: 1, 1, a half and nothing.",
        flags=("PenaltyCount",)),
    Row("newest-counts", {**TWO, "sustain": 1, "decay": 2}, [4, 4, 4], [0, 1, 0], None,
        ("The newest occurrence decides the strength: token 0 has full strength although it also "
        "occurred earlier.")),
    Row("presence-newest", {"presence": 1.0, "sustain": 1, "decay": 2}, [4, 4, 4], [0, 1, 2, 0], [3, 3.5, 3],
        "Presence is charged once, at the strength of the newest occurrence.", flags=("PenaltyOnce",)),
    Row("all-three", {"repetition": 2.0, "frequency": 0.5, "presence": 0.25}, [4, -4, 4], [0, 0, 1], [0.75, -8.75, 4],
        "Division first, then presence, then each occurrence.", flags=("PenaltyOrder",)),
    Row("empty-history", {**TWO, "sustain": 2, "decay": 2}, FOURS, [], FOURS,
        "The history is empty, so nothing fades.", flags=("PenaltyOff",)),
    Row("neutral", {"sustain": 2, "decay": 2}, [4, -0.0], [0, 1], [4, -0.0],
        "Neutral penalties change no bit, at any distance.", flags=("PenaltyOff",)),
    Row("longer-than-history", {**TWO, "sustain": 100, "decay": 100}, [4, 4], [0], [2, 4],
        "Both ranges are longer than the history."),
    Row("usual", {"repetition": 1.15, "sustain": 2, "decay": 3}, [9.5, -3.25, 6.0, 4.0, 2.0, 1.0], [5, 4, 3, 2, 1, 0], None,
        "A usual penalty that fades over three tokens, with roundings at every step or once."),
    Row("bf16", {"presence": 0.5}, [2, -2, 1], [0, 1], [1.5, -2.5, 1],
        "A fading penalty on logits of bfloat16.", dtype="bf16", flags=("SixteenBit",)),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from tabled("decaying_penalties", TOPIC, ROWS)
    params = {"repetition": 2.0, "frequency": 0.5, "presence": 0.25, "sustain": 1, "decay": 2}
    for name in rule_names("decaying_penalties"):
        yield TOPIC.case(
            "decaying_penalties",
            f"rule.{name}",
            name,
            row_request([6.0, -6.0, 6.0, 6.0, 6.0], [4, 3, 2, 0, 1, 0], **params),
            f"Repetition, frequency and presence that fade, by the rule {name}.",
        )
    for name in rule_names("decaying_penalties"):
        yield TOPIC.case(
            "decaying_penalties",
            f"rule-without-decay.{name}",
            name,
            row_request([6.0, 6.0, 6.0, 6.0], [3, 2, 1, 0], repetition=2.0, sustain=3),
            f"Whether the third token back is in a range of three without a decay, by the rule {name}.",
        )
