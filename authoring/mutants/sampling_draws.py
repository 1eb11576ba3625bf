"""Mutants of draws, random words, random numbers, speculative decoding and adaptive samplers."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import log
from typing import Any, Final

from authoring.mutants.mutant import Mutant
from authoring.mutants.sampling_rows import (
    Request,
    asking,
    other_parameters,
    other_question,
    other_rule,
)
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters

# ---- draws


def _of_token(change: Callable[[int, list[float], Request], int]) -> Any:
    """Return what changes the token that is drawn, knowing the row."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or "token" not in right.out:
            return right
        row = unpack(request["probs" if "probs" in request else "logits"])
        return Ok({**right.out, "token": change(right.out["token"], row, request)})

    return ask


def _other_uniforms(change: Callable[[list[float]], Sequence[float]]) -> Any:
    """Return what draws with other random numbers."""

    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        numbers = request["uniforms"]
        dtype = type_of(numbers)
        made = [min(max(nearest(u, dtype), 0.0), 1 - 2.0**-24) for u in change(unpack(numbers))]
        return {"uniforms": pack(made, dtype)}

    return other_question(changed)


def _sorted_walk(token: int, row: list[float], request: Request) -> int:
    """Walk from the heaviest token on, where the walk goes by id."""
    if len(unpack(request["uniforms"])) != 1 or "probs" not in request or "order" in request:
        return token
    (u,) = unpack(request["uniforms"])
    order = sorted((t for t, w in enumerate(row) if w > 0), key=lambda t: (-row[t], t))
    sums = accumulate(Fraction(row[t]) for t in order)
    share = Fraction(u) * sum(map(Fraction, row))
    return next((t for t, total in zip(order, sums, strict=True) if total > share), order[-1])


def _rounded_sums(token: int, row: list[float], request: Request) -> int:
    """Walk with running sums in bf16."""
    if len(unpack(request["uniforms"])) != 1 or "probs" not in request or "order" in request:
        return token
    (u,) = unpack(request["uniforms"])
    total, sums = 0.0, []
    for weight in row:
        total = nearest(Fraction(total) + Fraction(nearest(weight, "bf16")), "bf16")
        sums.append(total)
    past = [place for place, reached in enumerate(sums) if reached > u]
    return past[0] if past else len(row) - 1


def _several(change: Callable[[list[int], list[float]], list[int]]) -> Any:
    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or "tokens" not in right.out or "probs" not in request:
            return right
        return Ok({"tokens": change(list(right.out["tokens"]), unpack(request["probs"]))})

    return ask


def _one(probs: Sequence[float], u: float, **more: Any) -> dict[str, Any]:
    return {"probs": pack(probs), "uniforms": pack([u]), **more}


def _race(probs: Sequence[float], *uniforms: float) -> dict[str, Any]:
    return {"probs": pack(probs), "uniforms": pack(uniforms)}


_HALVES: Final = (0.5, 0.25, 0.25)
_RACE: Final = "method.exponential-race"
_GUMBEL: Final = "method.gumbel-max"


def _noise(change: Callable[[list[float]], Sequence[float]]) -> Any:
    """Return what races with other noise; draws by one number are as they were."""
    asked = _other_uniforms(change)

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        is_race = "race" in session.profile or "gumbel" in session.profile
        answer: Answer = (asked if is_race else SamplerSession.answer)(session, op, request)
        return answer

    return ask


def _keyed_by_rank(session: SamplerSession, op: str, request: Request) -> Answer:
    """Give noise to places of the sorted row, and not to tokens; sglang#35697."""
    right = session.answer(op, request)
    name = "probs" if "probs" in request else "logits"
    row, numbers = unpack(request[name]), unpack(request["uniforms"])
    if not isinstance(right, Ok) or len(numbers) != len(row) or len(row) == 1:
        return right
    order = sorted(range(len(row)), key=lambda token: (-row[token], token))
    own = [0.0] * len(row)
    for place, token in enumerate(order):
        own[token] = numbers[place]
    given = {**request, "uniforms": pack(own, type_of(request["uniforms"]))}
    return session.answer(op, given)


DRAW_MUTANTS: Final = (
    asking(
        "draw-stops-at-equality",
        "A sum of exactly u is enough, so that u = 0 draws the first token, even one without "
        "weight; llama.cpp (S11), and the other way round.",
        {"draw"},
        other_rule("boundary", {"exceed": "reach", "reach": "exceed"}),
        _one(_HALVES, 0.5),
    ),
    asking(
        "draw-walks-by-weight",
        "The walk goes from the heaviest token on, and not by id. Own.",
        {"draw"},
        _of_token(_sorted_walk),
        _one((0.25, 0.5, 0.25), 0.125),
    ),
    asking(
        "draw-is-off-by-one",
        "The token after the right one; found by fixtures.md's nine bugs.",
        {"draw"},
        _of_token(lambda token, row, _: min(token + 1, len(row) - 1)),
        _one(_HALVES, 0.25),
    ),
    asking(
        "draw-never-takes-the-last-token",
        "The largest u falls to the last token but one: an index is clamped too early. Own.",
        {"draw"},
        _of_token(lambda token, row, _: token - 1 if token == len(row) - 1 and token else token),
        _one(_HALVES, 0.875),
    ),
    asking(
        "draw-runs-over-the-end",
        "Where u is close to 1 the search ends behind the row; TensorRT-LLM#19485.",
        {"draw"},
        _of_token(
            lambda token, row, request: (
                len(row) if max(unpack(request["uniforms"])) > 1 - 2.0**-20 else token
            )
        ),
        _one(_HALVES, 1 - 2.0**-24),
    ),
    asking(
        "draw-takes-tokens-without-weight",
        "A token of probability 0 before the drawn one is taken; litgpt#2323, pytorch#48841.",
        {"draw"},
        _of_token(
            lambda token, row, request: (
                token - 1 if token and row[token - 1] == 0 and "probs" in request else token
            )
        ),
        _one((0.5, 0.0, 0.5), 0.75),
    ),
    asking(
        "draw-turns-u-round",
        "1 - u is used for u. Own.",
        {"draw"},
        _other_uniforms(lambda numbers: [1 - u for u in numbers]),
        _one(_HALVES, 0.125),
    ),
    asking(
        "draw-has-16-bits-of-u",
        "The random number is cut to 16 bits, so that unlikely tokens are never drawn. Own.",
        {"draw"},
        _other_uniforms(lambda numbers: [int(u * 2**16) / 2**16 for u in numbers]),
        _one((0.5, 2.0**-20, 0.5 - 2.0**-20), 0.5 + 2.0**-20),
    ),
    asking(
        "draw-sums-in-bf16",
        "Running sums in bf16 stop growing; tt-metal#41635.",
        {"draw"},
        _of_token(_rounded_sums),
        _one([1 / 512] * 512, 0.75),
    ),
    asking(
        "race-is-lost-by-the-best",
        "The token that arrives last is taken. Own.",
        {"draw"},
        _noise(lambda numbers: [1 - u for u in numbers]),
        _race((0.25, 0.5, 0.25), 0.75, 0.5, 0.25),
        profile=_RACE,
    ),
    asking(
        "race-takes-the-other-logarithm",
        "-log(1-u) is used for -log u: the same law, another token. Own.",
        {"draw"},
        other_rule("noise", {"-log u": "-log(1-u)", "-log(1-u)": "-log u"}),
        _race(_HALVES, 0.25, 0.5, 0.75),
        profile=_RACE,
    ),
    asking(
        "race-has-one-noise-for-all",
        "All tokens get the same random number, so that the heaviest always wins; as "
        "private-mind#255, which seeded by the clock.",
        {"draw"},
        _noise(lambda numbers: [numbers[0]] * len(numbers)),
        _race(_HALVES, 0.25, 0.75, 0.5),
        profile=_RACE,
    ),
    asking(
        "race-noise-is-keyed-by-rank",
        "Noise belongs to places of the sorted row: another row changes the token; sglang#35697.",
        {"draw"},
        _keyed_by_rank,
        _race((0.25, 0.5, 0.25), 0.75, 0.25, 0.5),
        profile=_RACE,
    ),
    asking(
        "race-noise-is-bounded",
        "u is kept in [1e-7, 0.999], so that unlikely tokens are never drawn; candle (S7).",
        {"draw"},
        _noise(lambda numbers: [min(max(u, 1e-7), 0.999) for u in numbers]),
        _race(_HALVES, 2.0**-30, 2.0**-13, 2.0**-14),
        profile=_RACE,
    ),
    asking(
        "race-noise-has-a-floor",
        "The exponential noise is never below 2^-24, so that the tail comes wrongly; vllm#43150.",
        {"draw"},
        _noise(lambda numbers: [min(u, 1 - 2.0**-10) for u in numbers]),
        _race((1 - 2.0**-12, 2.0**-12), 0.5, 1 - 2.0**-20),
        profile=_RACE,
    ),
    asking(
        "tokens-are-drawn-twice",
        "Drawing several tokens puts each one back. Own.",
        {"draw"},
        _several(lambda tokens, _: [tokens[0]] * len(tokens)),
        {**_one(_HALVES, 0.25), "uniforms": pack([0.25, 0.25]), "count": 2},
    ),
    asking(
        "several-tokens-are-sorted",
        "Several drawn tokens come by id, and not in the order drawn. Own.",
        {"draw"},
        _several(lambda tokens, _: sorted(tokens)),
        {**_one(_HALVES, 0.75), "uniforms": pack([0.75, 0.0]), "count": 2},
    ),
)


# ---- random words and numbers


def _words(change: Callable[[list[str], Request], Sequence[str]]) -> Any:
    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        return Ok({"words": list(change(list(right.out["words"]), request))})

    return ask


def _seed_in_32_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    return {"seed": f"{int(request['seed'], 16) & 0xFFFFFFFF:x}"} if "seed" in request else {}


def _no_carry(session: SamplerSession, op: str, request: Request) -> Answer:
    """Start again at counter 0 where a word of the counter is full."""
    right = session.answer(op, request)
    counter = request.get("counter")
    if not isinstance(right, Ok) or not counter:
        return right
    full = "f" * len(counter[0])
    if counter[0] != full:
        return right
    again = session.answer(op, {**request, "counter": ["0" * len(full), *counter[1:]], "taken": 0})
    if not isinstance(again, Ok):
        return right
    words, later = right.out["words"], again.out["words"]
    return Ok({"words": [*words[:4], *later[: max(len(words) - 4, 0)]]})


def _swapped(words: list[str], _: Request) -> list[str]:
    pairs = zip(words[::2], words[1::2], strict=False)
    made = [word for first, second in pairs for word in (second, first)]
    return made + words[len(made) :]


def _uniform_numbers(
    change: Callable[[list[float], list[int], int], Sequence[float]],
) -> Any:
    """Return what changes numbers, knowing the words and their number of bits."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        words = [int(word, 16) for word in request["words"]]
        bits = 4 * len(request["words"][0])
        dtype = type_of(right.out["uniforms"])
        numbers = change(unpack(right.out["uniforms"]), words, bits)
        return Ok({"uniforms": pack([nearest(number, dtype) for number in numbers], dtype)})

    return ask


def _by_division(numbers: list[float], words: list[int], bits: int) -> list[float]:
    """Divide the word by the largest one, so that 1 comes out as well."""
    if len(numbers) != len(words):
        return numbers
    return [word / (2**bits - 1) for word in words]


RANDOM: Final = (
    asking(
        "generator-skips-one-word",
        "The stream starts one word late. Own.",
        {"random_words"},
        other_question(lambda request: {"taken": request["taken"] + 1}),
        {"seed": "1", "taken": 0, "count": 2},
        profile="mt19937",
    ),
    asking(
        "generator-stands-still",
        "The first word comes again and again: the state is not advanced; aiter#2035.",
        {"random_words"},
        _words(lambda words, _: words[:1] * len(words)),
        {"seed": "1", "taken": 0, "count": 2},
        profile="mt19937",
    ),
    asking(
        "generator-swaps-the-words-of-a-pair",
        "Of two words the second comes first. Own.",
        {"random_words"},
        _words(_swapped),
        {"seed": "1", "taken": 0, "count": 2},
        profile="mt19937",
    ),
    asking(
        "generator-repeats-its-block",
        "After four words the same four come again: a counter is not advanced. Own.",
        {"random_words"},
        _words(lambda words, _: [words[place % 4] for place in range(len(words))]),
        {"seed": "1", "taken": 0, "count": 5},
        profile="mt19937",
    ),
    asking(
        "generator-cuts-its-seed-to-32-bits",
        "The upper half of a 64-bit seed is lost. Own.",
        {"random_words"},
        other_question(_seed_in_32_bits),
        {"seed": "100000001", "taken": 0, "count": 2},
        profile="chacha12.by-seed",
    ),
    asking(
        "counter-does-not-carry",
        "A full word of the counter starts at 0 without a carry. Own.",
        {"random_words"},
        _no_carry,
        {
            "key": ["00000000", "00000000"],
            "counter": ["ffffffff", "00000000", "00000000", "00000000"],
            "taken": 0,
            "count": 5,
        },
        profile="philox4x32-10",
    ),
    asking(
        "uniform-reaches-1",
        "The word is divided by the largest one, and 1 comes out. Own.",
        {"uniforms"},
        _uniform_numbers(_by_division),
        {"words": ["ffffffff"]},
        profile="mlx-float",
    ),
    asking(
        "uniform-has-too-few-bits",
        "Two bits of the word are lost. Own.",
        {"uniforms"},
        _uniform_numbers(
            lambda numbers, words, bits: [int(u * 2**22) / 2**22 for u in numbers]  # noqa: ARG005 - one shape
        ),
        {"words": ["ffffffff"]},
        profile="rust-float",
    ),
    asking(
        "uniform-turns-the-open-end-round",
        "Numbers in [0, 1) become numbers in (0, 1], or the other way. Own.",
        {"uniforms"},
        _uniform_numbers(
            lambda numbers, words, bits: [1 - u for u in numbers]  # noqa: ARG005 - one shape
        ),
        {"words": ["00000000"]},
        profile="rust-float",
    ),
)


# ---- speculative decoding


def _shared_number(numbers: list[float]) -> list[float]:
    return [numbers[0]] * len(numbers)


def _accepted_one_less(session: SamplerSession, op: str, request: Request) -> Answer:
    right = session.answer(op, request)
    if not isinstance(right, Ok) or not right.out["accepted"]:
        return right
    return Ok({**right.out, "accepted": right.out["accepted"] - 1})


def _target_instead_of_residual(session: SamplerSession, op: str, request: Request) -> Answer:
    """Draw from the target's own row after a rejection, and not from what is left of it."""
    right = session.answer(op, request)
    if not isinstance(right, Ok) or not request["tokens"]:
        return right
    accepted, tokens = right.out["accepted"], list(right.out["tokens"])
    if session.profile != "standard" or accepted == len(request["tokens"]):
        return right
    row, u = unpack(request["target"][accepted]), unpack(request["uniforms"])[-1]
    share = Fraction(u) * sum(map(Fraction, row))
    sums = accumulate(map(Fraction, row))
    tokens[-1] = next((t for t, total in enumerate(sums) if total > share), len(row) - 1)
    return Ok({**right.out, "tokens": tokens})


def _ratio_turned_round(request: dict[str, Any]) -> Mapping[str, Any]:
    """Accept with probability q / p."""
    length = len(request["draft"])
    return {
        "target": [*request["draft"], *request["target"][length:]],
        "draft": request["target"][:length],
    }


def _row_late(request: dict[str, Any]) -> Mapping[str, Any]:
    """Judge each drafted token by the row after its own; vllm#33433."""
    rows = request["target"]
    return {"target": [*rows[1:], rows[-1]]} if len(rows) > 1 else {}


def _no_bonus(session: SamplerSession, op: str, request: Request) -> Answer:
    right = session.answer(op, request)
    if not isinstance(right, Ok) or right.out["accepted"] != len(request["tokens"]):
        return right
    return Ok({**right.out, "tokens": list(right.out["tokens"])[: right.out["accepted"]]})


def _unclipped(session: SamplerSession, op: str, request: Request) -> Answer:
    """Take the size of each difference, and not only what is left of the target."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    pairs = zip(unpack(request["target"]), unpack(request["draft"]), strict=True)
    sizes = [abs(mine - offered) for mine, offered in pairs]
    dtype = type_of(right.out["probs"])
    if not sum(sizes):
        return right
    return Ok({"probs": pack([nearest(size / sum(sizes), dtype) for size in sizes], dtype)})


def _speculation(
    draft: Sequence[Sequence[float]],
    target: Sequence[Sequence[float]],
    tokens: Sequence[int],
    uniforms: Sequence[float],
    **params: Any,
) -> dict[str, Any]:
    return {
        "draft": [pack(row) for row in draft],
        "target": [pack(row) for row in target],
        "tokens": list(tokens),
        "uniforms": pack(uniforms),
        "params": pack_parameters(params),
    }


_TWO: Final = _speculation(
    [(0.75, 0.25), (0.5, 0.5)], [(0.25, 0.75), (0.75, 0.25), (0.5, 0.5)], [0, 0], [0.25, 0.5, 0.5]
)
_KEPT: Final = _speculation([(0.5, 0.5)], [(0.5, 0.5), (0.25, 0.75)], [0], [0.25, 0.5])

SPECULATIVE: Final = (
    asking(
        "speculation-accepts-at-the-ratio",
        "A random number of exactly p / q accepts, and u = 0 a token without weight; sglang#35771, "
        "transformers (S21).",
        {"speculative"},
        other_rule("equality", {"reject": "accept", "accept": "reject"}),
        _speculation([(0.5, 0.5)], [(0.25, 0.75), (0.5, 0.5)], [0], [0.5, 0.25]),
    ),
    asking(
        "speculation-turns-the-ratio-round",
        "Tokens are accepted with q / p; vllm#13196 capped it wrongly.",
        {"speculative"},
        other_question(_ratio_turned_round),
        _speculation([(0.25, 0.75)], [(0.75, 0.25), (0.5, 0.5)], [0], [0.5, 0.25]),
    ),
    asking(
        "speculation-forgets-the-residual",
        "The residual is forgotten, and drafted tokens come too often; openvino.genai#4190.",
        {"speculative"},
        _target_instead_of_residual,
        _speculation([(0.75, 0.25)], [(0.25, 0.75), (0.5, 0.5)], [0], [0.5, 0.125]),
    ),
    asking(
        "speculation-shares-its-random-number",
        "One random number serves for all tests, which biases the output; vllm#47386.",
        {"speculative"},
        _other_uniforms(_shared_number),
        _TWO,
    ),
    asking(
        "speculation-judges-by-the-next-row",
        "Committed and drafted positions are off by one; vllm#33433.",
        {"speculative"},
        other_question(_row_late),
        _speculation(
            [(0.75, 0.25), (0.5, 0.5)],
            [(0.25, 0.75), (0.75, 0.25), (0.5, 0.5)],
            [0, 0],
            [0.5, 0.5, 0.5],
        ),
    ),
    asking(
        "speculation-counts-one-less",
        "The number of accepted tokens is one too small. Own.",
        {"speculative"},
        _accepted_one_less,
        _KEPT,
    ),
    asking(
        "speculation-has-no-bonus-token",
        "Where all drafts are accepted the further token is forgotten. Own.",
        {"speculative"},
        _no_bonus,
        _KEPT,
    ),
    asking(
        "residual-is-not-cut-at-zero",
        "The size of p - q is taken, and not only what is positive. Own.",
        {"residual"},
        _unclipped,
        {"target": pack([0.25, 0.75]), "draft": pack([0.75, 0.25]), "params": {}},
    ),
)


# ---- adaptive samplers


def _state(name: str, change: Callable[[float, Request], float]) -> Any:
    """Return what changes a number that is remembered."""

    def ask(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or name not in right.out.get("state", {}):
            return right
        dtype = type_of(right.out["state"][name])
        numbers = [change(number, request) for number in unpack(right.out["state"][name])]
        try:
            state = pack([nearest(number, dtype) for number in numbers], dtype)
        except FloatsError:
            return right
        return Ok({**right.out, "state": {**right.out["state"], name: state}})

    return ask


def _kept_mu(session: SamplerSession, op: str, request: Request) -> Answer:
    right = session.answer(op, request)
    if not isinstance(right, Ok) or "mu" not in request["state"]:
        return right
    return Ok({**right.out, "state": request["state"]})


_MIROSTAT: Final = {
    "logits": pack([2.0, 1.0, 0.0]),
    "params": pack_parameters({"tau": 3.0, "eta": 0.5}),
    "state": {"mu": pack([6.0], "f64")},
    "uniforms": pack([0.25]),
}

ADAPTIVE: Final = (
    asking(
        "mirostat-mixes-bits-and-nats",
        "The surprise is in nats and tau in bits; aprender#2142.",
        ("mirostat_1", "mirostat_2"),
        other_parameters(lambda given: {"tau": given["tau"] / log(2)}),
        _MIROSTAT,
        op="mirostat_2",
    ),
    asking(
        "mirostat-forgets-mu",
        "What is remembered is what was there before; llama-cpp-python#914, LLamaSharp#71.",
        ("mirostat_1", "mirostat_2"),
        _kept_mu,
        _MIROSTAT,
        op="mirostat_2",
    ),
    asking(
        "mirostat-learns-the-wrong-way",
        "The error is added to mu, and not subtracted. Own.",
        ("mirostat_1", "mirostat_2"),
        _state("mu", lambda mu, request: 2 * unpack(request["state"]["mu"])[0] - mu),
        _MIROSTAT,
        op="mirostat_2",
    ),
    asking(
        "mirostat-takes-the-other-surprise",
        "The surprise of a token among those kept, or among all. Own.",
        ("mirostat_1", "mirostat_2"),
        other_rule("whose", {"whole": "kept", "kept": "whole"}),
        {**_MIROSTAT, "state": {"mu": pack([1.0], "f64")}},
        op="mirostat_2",
    ),
    asking(
        "adaptive-p-does-not-fade",
        "What is remembered of former tokens is not multiplied by the decay. Own.",
        {"adaptive_p"},
        other_parameters(lambda _: {"decay": 0.0}),
        {
            "logits": pack([2.0, 1.0, 0.0]),
            "params": pack_parameters({"target": 0.5, "decay": 0.5}),
            "state": {"past": pack([1.0, 2.0], "f64")},
            "uniforms": pack([0.25]),
        },
    ),
)

DRAWS: Final[tuple[Mutant, ...]] = (*DRAW_MUTANTS, *RANDOM, *SPECULATIVE, *ADAPTIVE)
"""All mutants of draws and what they draw with."""
