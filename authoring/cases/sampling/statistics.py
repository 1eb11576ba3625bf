"""Many draws with an engine's own random numbers, for engines that take none.

Rows of several shapes; the law is exact for rows of probabilities, and rounded once to 32 bits
for logits, which is a thousand times less than 100,000 draws can see.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, Final, NamedTuple

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.sentences import asked_as
from authoring.cases.sampling.statistics_bins import judged
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import STANDARD

DRAWS: Final = 100_000
SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class _Row(NamedTuple):
    slug: str
    profile: str
    row: Sequence[float]
    params: Mapping[str, Any]
    why: str


def _tail() -> list[float]:
    """Return 1,000 tokens: a few heavy ones in the middle, then less and less; sum exactly 1."""
    units = [2**20 // (4 * (rank + 2) ** 2) + 16 for rank in range(1000)]
    units[0] += 2**20 - sum(units)
    ranks = [(token * 379 + 500) % 1000 for token in range(1000)]  # each rank once, in no order
    return [units[rank] / 2**20 for rank in ranks]


_FLAT: Final = [2.0**-8] * 256
_FALLING: Final = [*(2.0**-place for place in range(1, 11)), 2.0**-10]
_LOGITS: Final = (3.0, 1.0, 2.0, 0.0, -1.0, 2.5, -4.0, 1.5)

_ROWS: Final = (
    _Row("eight-equals", STANDARD, [0.125] * 8, {},
         "Eight equal tokens: a first or last one that is drawn less shows at once."),
    _Row("many-equals", STANDARD, _FLAT, {},
         "256 equal tokens, about 390 draws each: a gap or a repeated block of ids shows."),
    _Row("falling", STANDARD, _FALLING, {},
         "Each token half as likely as the one before: an index that is off by one is off by two in share."),
    _Row("rising", STANDARD, _FALLING[::-1], {},
         "The most probable token is the last: a walk that ends early loses it."),
    _Row("peaked", STANDARD, [2.0**-6 / 4, 1 - 2.0**-6, *[2.0**-6 / 4] * 3], {},
         "One token of 98 % in front of three rare ones: rare ones must not be lost."),
    _Row("rare", STANDARD, [1 - 2.0**-10, 2.0**-10], {},
         "Two tokens, one of them about once in a thousand draws."),
    _Row("even-coin", STANDARD, [0.5, 0.5], {}, "A coin: the smallest bias that draws can show."),
    _Row("hole", STANDARD, [0.25, 0.25, 0.0, 0.25, 0.25], {},
         "An impossible token in the middle: a single draw of it is a failure."),
    _Row("holes-at-both-ends", STANDARD, [0.0, 0.5, 0.375, 0.125, 0.0], {},
         "Impossible tokens at both ends: where the smallest and the largest number go wrong."),
    _Row("long-tail", STANDARD, _tail(), {},
         "1,000 tokens in no order, a heavy head and a long tail: a tail that is cut off shows."),
    _Row("plain", "transformers", _LOGITS, {"top_k": 0},
         "Eight logits and no filter: the softmax, drawn as generate() draws."),
    _Row("cold-and-filtered", "transformers", _LOGITS, {"top_k": 4, "temperature": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
    _Row("masked", "transformers", [*_LOGITS, -inf, -inf], {"top_k": 0, "temperature": 2.0},
         "Twice the temperature and impossible tokens at the end: impossible at any temperature."),
    _Row("plain", "llama.cpp", _LOGITS,
         {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0},
         "Eight logits and no filter: the softmax, drawn with the engine's own stream."),
    _Row("cold-and-filtered", "llama.cpp", _LOGITS,
         {"top_k": 4, "top_p": 1.0, "min_p": 0.0, "temp": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
    _Row("defaults", "llama.cpp", _LOGITS, {},
         "What the program does by default: its filters, and a temperature of 0.8."),
    _Row("plain", "vllm", _LOGITS, {}, "Eight logits and no filter: the softmax."),
    _Row("cold-and-filtered", "vllm", _LOGITS, {"top_k": 4, "temperature": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _ROWS:
        kind = "probs" if each.profile == STANDARD else "logits"
        request = {
            kind: pack(each.row),
            "params": pack_parameters(each.params),
            "draws": DRAWS,
        }
        yield SamplerDraft(
            op="stat",
            topic="laws" if kind == "probs" else "engines",
            slug=each.slug if kind == "probs" else f"{each.profile}-{each.slug}",
            profile=each.profile,
            request=request,
            why=asked_as(each.why, each.profile),
            flags=["LawOfDraws", *(["ZeroWeightDrawn"] if 0.0 in law_of(each) else [])],
            verdict=judged(law_of(each), DRAWS, len(_ROWS)),
            spec=SPEC,
        )


def law_of(each: _Row) -> list[Fraction]:
    """Return the share of each token."""
    if each.profile == STANDARD:
        return [Fraction(share) for share in each.row]
    request = {
        "logits": pack(each.row),
        "history": [],
        "prompt_length": 0,
        "params": pack_parameters(each.params),
    }
    answer = SamplerSession(each.profile).answer("distribution", request)
    if not isinstance(answer, Ok):
        raise PurposeError(f"the law of {each.profile}-{each.slug} must be known: {answer}")
    shares = [Fraction(share) for share in unpack(answer.out["probs"])]
    return [share / sum(shares) for share in shares]  # rounded shares sum to nearly 1
