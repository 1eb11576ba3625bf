"""DRY by its definition, and in the two forms that mistral.rs and exllamav2 have."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Row, Topic, tabled

DRY: Final = Topic("dry", ("Dry",), "docs/engines.md#dry")
NEARBY: Final = Topic("dry", ("Dry",), "docs/engines.md#dry_nearby")
LONGEST: Final = Topic("dry", ("Dry",), "docs/engines.md#dry_longest")

EIGHTS: Final = [8.0, 8.0, 8.0, 8.0]
ONE: Final = {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}
AB: Final = [0, 1, 2, 0, 1]
BASE: Final = {"multiplier": 1.0, "base": 2.0}

DRIES: Final = (
    Row("exponent", ONE, EIGHTS, AB, [8, 8, 6, 8],
        "Two tokens repeat and one is allowed: the exponent is 1, the penalty 2; off by one it is 1 or 4.",
        flags=("DryExponent",)),
    Row("exactly-allowed", {**BASE, "allowed_length": 2}, EIGHTS, AB, [8, 8, 7, 8],
        "A repetition exactly as long as allowed costs the multiplier: the power is that of 0.",
        flags=("DryExponent",)),
    Row("shorter-than-allowed", {**BASE, "allowed_length": 3}, EIGHTS, AB, EIGHTS,
        "A repetition shorter than allowed costs nothing.", flags=("DryExponent",)),
    Row("longer", {**BASE, "allowed_length": 2}, EIGHTS, [0, 1, 2, 3, 0, 1, 2], [8, 8, 8, 6],
        "Three tokens repeat and two are allowed.", flags=("DryExponent",)),
    Row("multiplier", {"multiplier": 0.5, "base": 2.0, "allowed_length": 1}, EIGHTS, AB, [8, 8, 7, 8],
        "The multiplier scales the penalty: half of 2."),
    Row("multiplier-zero", {"multiplier": 0.0, "base": 2.0, "allowed_length": 1}, EIGHTS, AB, EIGHTS,
        "A multiplier of 0 switches DRY off.", flags=("PenaltyOff",)),
    Row("base-one", {"multiplier": 1.0, "base": 1.0, "allowed_length": 1}, EIGHTS, [0, 1, 2, 3, 0, 1, 2], [8, 8, 8, 7],
        "A base of 1 costs the same whatever the length.", flags=("DryExponent",)),
    Row("default-base", {"multiplier": 1.0}, EIGHTS, [0, 1, 2, 3, 0, 1, 2], [8, 8, 8, 6.25],
        "The default base is 1.75 and the default allowed length 2; a copy that mixes the two up gets 6.",
        flags=("DryExponent",)),
    Row("overlap", ONE, EIGHTS, [0, 0, 0], [6, 8, 8, 8],
        "a a a matches itself shifted by one, two tokens long."),
    Row("overlap-long", ONE, EIGHTS, [0, 0, 0, 0], [4, 8, 8, 8],
        "a a a a matches itself shifted by one, three tokens long: the match may run into the end."),
    Row("loop-of-two", ONE, EIGHTS, [0, 1, 0, 1, 0, 1], [0, 8, 8, 8],
        "A loop of two tokens: four of them match, and the first one is next."),
    Row("several-continuations", ONE, EIGHTS, [0, 1, 2, 0, 1, 3, 0, 1], [8, 8, 6, 6],
        "The same two tokens were followed by two different ones; both are penalised."),
    Row("longest-of-two-matches", ONE, EIGHTS, [3, 0, 1, 2, 0, 1, 2, 3, 0, 1], [8, 8, 4, 8],
        "A token followed a match of two and one of three; the longest counts, not their sum."),
    Row("short-history", ONE, EIGHTS, [0], EIGHTS,
        "One token cannot repeat itself."),
    Row("empty-history", ONE, EIGHTS, [], EIGHTS,
        "The history is empty, so nothing repeats.", flags=("PenaltyOff",)),
    Row("allowed-zero", {**BASE, "allowed_length": 0}, EIGHTS, [0, 1, 2], [8, 7, 7, 8],
        "With no repetition allowed every token that followed any token is penalised, even after a match of length 0."),
    Row("window-cuts-the-place", {**ONE, "window": 4}, EIGHTS, AB, [8, 8, 7, 8],
        "The window contains four of five tokens, so the match is one token long.",
        flags=("PenaltyWindow",)),
    Row("window-holds-it", {**ONE, "window": 5}, EIGHTS, AB, [8, 8, 6, 8],
        "The window contains all five tokens, and the match is two tokens long.",
        flags=("PenaltyWindow",)),
    Row("window-none", {**ONE, "window": 0}, EIGHTS, AB, EIGHTS,
        "A window of no tokens sees no repetition.", flags=("PenaltyWindow",)),
    Row("breaker-in-the-match", {**ONE, "breakers": [[0]]}, EIGHTS, AB, [8, 8, 7, 8],
        "A match never reaches back over a breaker: only token 1 matches.", flags=("DryBreaker",)),
    Row("breaker-at-the-end", {**ONE, "breakers": [[1]]}, EIGHTS, AB, EIGHTS,
        "The last token is a breaker, so nothing can be repeated.", flags=("DryBreaker",)),
    Row("breaker-is-next", {**ONE, "breakers": [[2]]}, EIGHTS, AB, EIGHTS,
        "The token that would be penalised is a breaker, and those never are.", flags=("DryBreaker",)),
    Row("breaker-before", {**ONE, "breakers": [[3]]}, EIGHTS, [0, 1, 2, 3, 0, 1], [8, 8, 6, 8],
        "The breaker is before the last repetition and does not shorten it.", flags=("DryBreaker",)),
    Row("breaker-of-two", {**ONE, "breakers": [[2, 0]]}, EIGHTS, [0, 1, 2, 0, 1], [8, 8, 7, 8],
        "A breaker of two tokens ends before the last one: one token matches.", flags=("DryBreaker",)),
    Row("breaker-of-two-cut", {**ONE, "breakers": [[1, 3]]}, EIGHTS, AB, [8, 8, 6, 8],
        "Only the start of a breaker is at the end, so it breaks nothing.", flags=("DryBreaker",)),
    Row("breaker-of-two-is-next", {**ONE, "breakers": [[2, 3]]}, EIGHTS, AB, [8, 8, 6, 8],
        "The next token begins a longer breaker, which does not protect it.", flags=("DryBreaker",)),
    Row("several-breakers", {**ONE, "breakers": [[3], [0, 1]]}, EIGHTS, [0, 1, 2, 0, 1], EIGHTS,
        "If several breakers begin at one place, the longest counts.", flags=("DryBreaker",)),
    Row("breaker-not-there", {**ONE, "breakers": [[3]]}, EIGHTS, AB, [8, 8, 6, 8],
        "A breaker that does not occur changes nothing; an inverted test for emptiness would.",
        flags=("DryBreaker",)),
    Row("all-break", {**ONE, "breakers": [[0], [1], [2], [3]]}, EIGHTS, AB, EIGHTS,
        "Every token is a breaker, so nothing repeats.", flags=("DryBreaker",)),
    Row("exponent-cut", {**BASE, "allowed_length": 0}, [8.0, 1.0], [0] * 140, [-inf, 1.0],
        "139 tokens repeat: the exponent is cut at 128, whose power of 2 is beyond 32 bits.",
        flags=("DryExponent",)),
    Row("exponent-just-fits", {**BASE, "allowed_length": 1}, [8.0, 1.0], [0] * 20, [8.0 - 2.0**18, 1.0],
        "Nineteen tokens repeat: two to the eighteenth is subtracted, without rounding.",
        flags=("DryExponent",)),
    Row("usual", {"multiplier": 0.8, "base": 1.75, "allowed_length": 2}, [9.5, 3.25, 7.0, 1.0], [0, 1, 2, 0, 3, 1, 2, 0, 1], None,
        "The parameters that the author recommends, on a history with two matches."),
    Row("negative-logit", ONE, [8, 8, -8, -inf], AB, [8, 8, -10, -inf],
        "DRY subtracts, whatever the sign, and minus infinity stays."),
    Row("impossible", ONE, [8, 8, -inf, 8], AB, [8, 8, -inf, 8],
        "The token that would go on with the repetition is impossible already.",
        flags=("MinusInfinity",)),
    Row("f16", ONE, EIGHTS, AB, [8, 8, 6, 8], "DRY on logits of binary16.", dtype="f16",
        flags=("SixteenBit",)),
)  # fmt: skip

NEARBIES: Final = (
    Row("exponent", ONE, EIGHTS, AB, [8, 8, 6, 8],
        "As plain DRY where no breaker is near: two tokens repeat and one is allowed.",
        flags=("DryExponent",)),
    Row("last-token-breaks", {**ONE, "breakers": [1]}, EIGHTS, [1, 2, 0, 1], [8, 8, 7, 8],
        "This variant does not check whether the last token is a breaker, so it matches.",
        flags=("DryBreaker",)),
    Row("breaker-in-the-match", {**ONE, "breakers": [0]}, EIGHTS, AB, [8, 8, 7, 8],
        "The comparison stops before the breaker.", flags=("DryBreaker",)),
    Row("breaker-is-next", {**ONE, "breakers": [2]}, EIGHTS, AB, EIGHTS,
        "A breaker is never penalised as a next token in this form either.", flags=("DryBreaker",)),
    Row("most", {**ONE, "most": 1}, EIGHTS, AB, [8, 8, 7, 8],
        "The comparison stops after one token, though two match.", flags=("DryExponent",)),
    Row("most-of-fifty", {**BASE, "allowed_length": 49}, [8.0, 1.0], [0] * 60, [6.0, 1.0],
        "Fifty-nine tokens match, and the comparison stops at fifty.", flags=("DryExponent",)),
    Row("whole-history", ONE, EIGHTS, [0, 1, 2, *[3] * 80, 0, 1], [8, 8, 6, 8],
        "The whole history is compared, however far back the match is.", flags=("PenaltyWindow",)),
    Row("allowed-zero", {**BASE, "allowed_length": 0}, EIGHTS, AB, [8, 8, 4, 8],
        "With no repetition allowed only tokens after a match of at least one token are penalised."),
    Row("empty-history", ONE, EIGHTS, [], EIGHTS,
        "With an empty history, nothing repeats in this variant.", flags=("PenaltyOff",)),
    Row("exactly-allowed", {**BASE, "allowed_length": 2}, EIGHTS, AB, [8, 8, 7, 8],
        "A match exactly as long as allowed costs the multiplier in this form, too.",
        flags=("DryExponent",)),
)  # fmt: skip

LONGESTS: Final = (
    Row("exponent", ONE, EIGHTS, [0, 1, 2, 0, 1], [8, 8, 6, 8],
        "The longest run of last tokens is two tokens long; one is allowed.", flags=("DryExponent",)),
    Row("times-occurrences", ONE, EIGHTS, [0, 1, 2, 0, 1, 2, 0, 1], [8, 8, -8, 8],
        "The longest run is five tokens long; shorter ones with other continuations are not looked at.",
        flags=("DryExponent",)),
    Row("twice", {**BASE, "allowed_length": 2}, EIGHTS, [0, 1, 2, 3, 0, 1, 2, 2, 0, 1], [8, 8, 6, 8],
        "The longest run occurred twice before with the same continuation, and costs twice."),
    Row("two-continuations", {**BASE, "allowed_length": 2}, EIGHTS, [0, 1, 2, 3, 0, 1, 3, 3, 0, 1], [8, 8, 8, 6],
        "Only the occurrences with the longest run count, which is three tokens long."),
    Row("shorter-than-allowed", {**BASE, "allowed_length": 3}, EIGHTS, AB, EIGHTS,
        "The longest run is shorter than allowed, so nothing is penalised."),
    Row("breaker", {**ONE, "breakers": [0]}, EIGHTS, AB, [8, 8, 7, 8],
        "A run has no breaker in it: only token 1 is a run.", flags=("DryBreaker",)),
    Row("breaker-is-next", {**ONE, "breakers": [2]}, EIGHTS, AB, EIGHTS,
        "Only a breaker follows the longest run, and shorter runs are not tried.", flags=("DryBreaker",)),
    Row("most", {**ONE, "most": 2}, EIGHTS, AB, EIGHTS,
        ("A run of the maximum length is found, but the token after it is not known, so nothing "
        "is penalised."),
        flags=("DryExponent",)),
    Row("at-the-end", ONE, EIGHTS, [0, 0, 0], None,
        "The run overlaps with the end of the history."),
    Row("empty-history", ONE, EIGHTS, [], EIGHTS,
        "No run in an empty history.", flags=("PenaltyOff",)),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from tabled("dry", DRY, DRIES)
    yield from tabled("dry_nearby", NEARBY, NEARBIES)
    yield from tabled("dry_longest", LONGEST, LONGESTS)
