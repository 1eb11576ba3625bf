"""Mutants of draws, random words, random numbers, speculative decoding and adaptive samplers."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from itertools import accumulate
from math import exp, log
from typing import Any, Final

from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    other_answer,
    other_parameters,
    other_question,
    other_rule,
)
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters

# ---- draws


def _of_token(change: Callable[[int, list[float], Request], int]) -> SamplerHandler:
    """Change the token that is drawn, knowing the row."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        if "token" not in out:
            return out
        row = unpack(request["probs" if "probs" in request else "logits"])
        return {**out, "token": change(out["token"], row, request)}

    return other_answer(changed)


def _other_uniforms(change: Callable[[list[float]], Sequence[float]]) -> SamplerHandler:
    """Draw with other random numbers."""

    @wraps(change)
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        numbers = request["uniforms"]
        dtype = type_of(numbers)
        made = [min(max(nearest(u, dtype), 0.0), 1 - 2.0**-24) for u in change(unpack(numbers))]
        return {"uniforms": pack(made, dtype)}

    return other_question(changed)


def _several(change: Callable[[list[int]], list[int]]) -> SamplerHandler:
    """Change several tokens that are drawn from a row of probabilities."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        is_changed = "tokens" in out and "probs" in request
        return {"tokens": change(list(out["tokens"]))} if is_changed else out

    return other_answer(changed)


def _one(probs: Sequence[float], u: float, **more: Any) -> dict[str, Any]:
    return {"probs": pack(probs), "uniforms": pack([u]), **more}


def _race(probs: Sequence[float], *uniforms: float) -> dict[str, Any]:
    return {"probs": pack(probs), "uniforms": pack(uniforms)}


_HALVES: Final = (0.5, 0.25, 0.25)
_RACE: Final = "method.exponential-race"


def _noise(change: Callable[[list[float]], Sequence[float]]) -> SamplerHandler:
    """Race with other noise; draws by one number are as they were."""
    asked = _other_uniforms(change)

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        is_race = "race" in session.profile or "gumbel" in session.profile
        return (asked if is_race else SamplerSession.answer)(session, op, request)

    return handle


@answering("draw", _one(_HALVES, 0.5))
def draw_stops_at_equality(session: SamplerSession, op: str, request: Request) -> Answer:
    """A sum of exactly u is enough, so u = 0 draws the first token even if it has no weight;
    llama.cpp (S11). Or the reverse.
    """
    return other_rule(session, op, request, "boundary", {"exceed": "reach", "reach": "exceed"})


@answering("draw", _one((0.25, 0.5, 0.25), 0.125))
@_of_token
def draw_walks_by_weight(token: int, row: list[float], request: Request) -> int:
    """The walk starts at the heaviest token instead of going by id."""
    if len(unpack(request["uniforms"])) != 1 or "probs" not in request or "order" in request:
        return token
    (u,) = unpack(request["uniforms"])
    order = sorted((t for t, w in enumerate(row) if w > 0), key=lambda t: (-row[t], t))
    sums = accumulate(Fraction(row[t]) for t in order)
    share = Fraction(u) * sum(map(Fraction, row))
    return next((t for t, total in zip(order, sums, strict=True) if total > share), order[-1])


@answering("draw", _one(_HALVES, 0.25))
@_of_token
def draw_is_off_by_one(token: int, row: list[float], _: Request) -> int:
    """The token after the right one is drawn; one of the nine bugs in fixtures.md."""
    return min(token + 1, len(row) - 1)


@answering("draw", _one(_HALVES, 0.875))
@_of_token
def draw_never_takes_the_last_token(token: int, row: list[float], _: Request) -> int:
    """The largest u draws the last token but one because an index is clamped too early."""
    return token - 1 if token == len(row) - 1 and token else token


@answering("draw", _one(_HALVES, 1 - 2.0**-24))
@_of_token
def draw_runs_over_the_end(token: int, row: list[float], request: Request) -> int:
    """If u is close to 1, the search ends after the row; TensorRT-LLM#19485."""
    return len(row) if max(unpack(request["uniforms"])) > 1 - 2.0**-20 else token


@answering("draw", _one((0.5, 0.0, 0.5), 0.75))
@_of_token
def draw_takes_tokens_without_weight(token: int, row: list[float], request: Request) -> int:
    """A token of probability 0 before the right one is drawn; litgpt#2323, pytorch#48841."""
    return token - 1 if token and row[token - 1] == 0 and "probs" in request else token


@answering("draw", _one(_HALVES, 0.125))
@_other_uniforms
def draw_turns_u_round(numbers: list[float]) -> Sequence[float]:
    """1 - u is used instead of u."""
    return [1 - u for u in numbers]


@answering("draw", _one((0.5, 2.0**-20, 0.5 - 2.0**-20), 0.5 + 2.0**-20))
@_other_uniforms
def draw_has_16_bits_of_u(numbers: list[float]) -> Sequence[float]:
    """The random number is cut to 16 bits, so unlikely tokens are never drawn."""
    return [int(u * 2**16) / 2**16 for u in numbers]


@answering("draw", _one([1 / 512] * 512, 0.75))
@_of_token
def draw_sums_in_bf16(token: int, row: list[float], request: Request) -> int:
    """Running sums in bf16 stop growing; tt-metal#41635."""
    if len(unpack(request["uniforms"])) != 1 or "probs" not in request or "order" in request:
        return token
    (u,) = unpack(request["uniforms"])
    total, sums = 0.0, []
    for weight in row:
        total = nearest(total + nearest(weight, "bf16"), "bf16")
        sums.append(total)
    past = [place for place, reached in enumerate(sums) if reached > u]
    return past[0] if past else len(row) - 1


@answering("draw", _race((0.25, 0.5, 0.25), 0.75, 0.5, 0.25), profile=_RACE)
@_noise
def race_is_lost_by_the_best(numbers: list[float]) -> Sequence[float]:
    """The token that arrives last is drawn."""
    return [1 - u for u in numbers]


@answering("draw", _race(_HALVES, 0.25, 0.5, 0.75), profile=_RACE)
def race_takes_the_other_logarithm(session: SamplerSession, op: str, request: Request) -> Answer:
    """-log(1-u) is used instead of -log u: the same distribution, another token."""
    return other_rule(session, op, request, "noise", {"-log u": "-log(1-u)", "-log(1-u)": "-log u"})


@answering("draw", _race(_HALVES, 0.25, 0.75, 0.5), profile=_RACE)
@_noise
def race_has_one_noise_for_all(numbers: list[float]) -> Sequence[float]:
    """All tokens get the same random number, so the heaviest always wins; as in private-mind#255,
    which seeded by the clock.
    """
    return [numbers[0]] * len(numbers)


@answering("draw", _race((0.25, 0.5, 0.25), 0.75, 0.25, 0.5), profile=_RACE)
def race_noise_is_keyed_by_rank(session: SamplerSession, op: str, request: Request) -> Answer:
    """Noise belongs to places in the sorted row, so another row changes the token; sglang#35697."""
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


@answering("draw", _race(_HALVES, 2.0**-30, 2.0**-13, 2.0**-14), profile=_RACE)
@_noise
def race_noise_is_bounded(numbers: list[float]) -> Sequence[float]:
    """u is kept in [1e-7, 0.999], so unlikely tokens are never drawn; candle (S7)."""
    return [min(max(u, 1e-7), 0.999) for u in numbers]


@answering("draw", _race((1 - 2.0**-12, 2.0**-12), 0.5, 1 - 2.0**-20), profile=_RACE)
@_noise
def race_noise_has_a_floor(numbers: list[float]) -> Sequence[float]:
    """The exponential noise is never below 2^-24, so the tail is drawn wrongly; vllm#43150."""
    return [min(u, 1 - 2.0**-10) for u in numbers]


@answering("draw", {**_one(_HALVES, 0.25), "uniforms": pack([0.25, 0.25]), "count": 2})
@_several
def tokens_are_drawn_twice(tokens: list[int]) -> list[int]:
    """Drawing several tokens puts each one back."""
    return [tokens[0]] * len(tokens)


@answering("draw", {**_one(_HALVES, 0.75), "uniforms": pack([0.75, 0.0]), "count": 2})
@_several
def several_tokens_are_sorted(tokens: list[int]) -> list[int]:
    """Several drawn tokens are returned by id instead of in the order drawn."""
    return sorted(tokens)


# ---- random words and numbers


def _words(change: Callable[[list[str]], Sequence[str]]) -> SamplerHandler:
    """Change the words of a generator."""

    @wraps(change)
    def changed(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
        return {"words": list(change(list(out["words"])))}

    return other_answer(changed)


def _uniform_numbers(change: Callable[[list[float], list[str]], Sequence[float]]) -> SamplerHandler:
    """Change random numbers, knowing the words that they are made from."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        dtype = type_of(out["uniforms"])
        numbers = change(unpack(out["uniforms"]), request["words"])
        return {"uniforms": pack([nearest(number, dtype) for number in numbers], dtype)}

    return other_answer(changed)


@answering("random_words", {"seed": "1", "taken": 0, "count": 2}, profile="mt19937")
@other_question
def generator_skips_one_word(request: dict[str, Any]) -> Mapping[str, Any]:
    """The stream starts one word late."""
    return {"taken": request["taken"] + 1}


@answering("random_words", {"seed": "1", "taken": 0, "count": 2}, profile="mt19937")
@_words
def generator_stands_still(words: list[str]) -> Sequence[str]:
    """The first word is repeated because the state is not advanced; aiter#2035."""
    return words[:1] * len(words)


@answering("random_words", {"seed": "1", "taken": 0, "count": 2}, profile="mt19937")
@_words
def generator_swaps_the_words_of_a_pair(words: list[str]) -> list[str]:
    """The two words of a pair are swapped."""
    pairs = zip(words[::2], words[1::2], strict=False)
    made = [word for first, second in pairs for word in (second, first)]
    return made + words[len(made) :]


@answering("random_words", {"seed": "1", "taken": 0, "count": 5}, profile="mt19937")
@_words
def generator_repeats_its_block(words: list[str]) -> Sequence[str]:
    """After four words the same four are repeated because a counter is not advanced."""
    return [words[place % 4] for place in range(len(words))]


@answering(
    "random_words", {"seed": "100000001", "taken": 0, "count": 2}, profile="chacha12.by-seed"
)
@other_question
def generator_cuts_its_seed_to_32_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The upper half of a 64-bit seed is lost."""
    return {"seed": f"{int(request['seed'], 16) & 0xFFFFFFFF:x}"} if "seed" in request else {}


@answering(
    "random_words",
    {
        "key": ["00000000", "00000000"],
        "counter": ["ffffffff", "00000000", "00000000", "00000000"],
        "taken": 0,
        "count": 5,
    },
    profile="philox4x32-10",
)
def counter_does_not_carry(session: SamplerSession, op: str, request: Request) -> Answer:
    """A full word of the counter wraps to 0 without a carry."""
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


@answering("uniforms", {"words": ["ffffffff"]}, profile="mlx-float")
@_uniform_numbers
def uniform_reaches_1(numbers: list[float], words: list[str]) -> list[float]:
    """The word is divided by the largest one, and 1 comes out."""
    if len(numbers) != len(words):
        return numbers
    return [int(word, 16) / (16 ** len(word) - 1) for word in words]


@answering("uniforms", {"words": ["ffffffff"]}, profile="rust-float")
@_uniform_numbers
def uniform_has_too_few_bits(numbers: list[float], words: list[str]) -> Sequence[float]:
    """Two bits of the word are lost."""
    return [int(u * 2**22) / 2**22 for u in numbers]


@answering("uniforms", {"words": ["00000000"]}, profile="rust-float")
@_uniform_numbers
def uniform_turns_the_open_end_round(numbers: list[float], words: list[str]) -> Sequence[float]:
    """Numbers in [0, 1) become numbers in (0, 1], or the reverse."""
    return [1 - u for u in numbers]


def _each_draw(change: Callable[[int, Request], int]) -> SamplerHandler:
    """Change the token that one number draws, in batches of draws, too."""

    def of_row(out: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        is_plain = len(unpack(request["uniforms"])) == 1 and "order" not in request
        return {"token": change(out["token"], request)} if is_plain and "token" in out else out

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        if "rows" not in request:
            return of_row(out, request)
        if request["op"] != "draw" or "vocab_size" in request:
            return out
        calls = [*request["rows"]] * request.get("calls", 1)
        return {"rows": [of_row(*pair) for pair in zip(out["rows"], calls, strict=True)]}

    handle = other_answer(changed)

    @wraps(change)
    def standard(session: SamplerSession, op: str, request: Request) -> Answer:
        is_standard = session.profile == "standard"
        return handle(session, op, request) if is_standard else session.answer(op, request)

    return standard


def _weights(request: Request) -> list[float]:
    if "probs" in request:
        return unpack(request["probs"])
    row = unpack(request["logits"])
    return [exp(logit - max(row)) for logit in row]


def _first_above(share: float, sums: Sequence[float], other: int) -> int:
    return next((token for token, total in enumerate(sums) if total > share), other)


@answering(("draw", "batch"), {"probs": pack([1.0, 1.0]), "uniforms": pack([0.75])})
@_each_draw
def draw_does_not_normalise(_: int, request: Request) -> int:
    """The random number is compared with running sums of weights that do not add up to 1."""
    row, (u,) = _weights(request), unpack(request["uniforms"])
    last = max(token for token, weight in enumerate(row) if weight > 0)
    return _first_above(u, [*accumulate(row)], last)


@answering(("draw", "batch"), {"probs": pack([1 / 4096] * 4096), "uniforms": pack([0.75])})
@_each_draw
def draw_sums_in_f16(token: int, request: Request) -> int:
    """Running sums of probabilities in binary16 stop growing."""
    row, (u,) = _weights(request), unpack(request["uniforms"])
    whole = sum(row)
    total, sums = 0.0, list[float]()
    for weight in row:
        total = nearest(total + nearest(weight / whole, "f16"), "f16")
        sums.append(total)
    return _first_above(u * total, sums, token)


# ---- speculative decoding


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


@answering("speculative", _speculation([(0.5, 0.5)], [(0.25, 0.75), (0.5, 0.5)], [0], [0.5, 0.25]))
def speculation_accepts_at_the_ratio(session: SamplerSession, op: str, request: Request) -> Answer:
    """A random number of exactly p / q accepts, and u = 0 accepts a token without weight;
    sglang#35771, transformers (S21).
    """
    return other_rule(session, op, request, "equality", {"reject": "accept", "accept": "reject"})


@answering(
    "speculative", _speculation([(0.25, 0.75)], [(0.75, 0.25), (0.5, 0.5)], [0], [0.5, 0.25])
)
@other_question
def speculation_turns_the_ratio_round(request: dict[str, Any]) -> Mapping[str, Any]:
    """Tokens are accepted with q / p; vllm#13196 capped it wrongly."""
    length = len(request["draft"])
    return {
        "target": [*request["draft"], *request["target"][length:]],
        "draft": request["target"][:length],
    }


@answering(
    "speculative", _speculation([(0.75, 0.25)], [(0.25, 0.75), (0.5, 0.5)], [0], [0.5, 0.125])
)
def speculation_forgets_the_residual(session: SamplerSession, op: str, request: Request) -> Answer:
    """The residual is not used, so drafted tokens appear too often; openvino.genai#4190."""
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


@answering("speculative", _TWO)
@_other_uniforms
def speculation_shares_its_random_number(numbers: list[float]) -> list[float]:
    """One random number is used for all tests, which biases the output; vllm#47386."""
    return numbers[:1] * len(numbers)


@answering(
    "speculative",
    _speculation(
        [(0.75, 0.25), (0.5, 0.5)],
        [(0.25, 0.75), (0.75, 0.25), (0.5, 0.5)],
        [0, 0],
        [0.5, 0.5, 0.5],
    ),
)
@other_question
def speculation_judges_by_the_next_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """Committed and drafted positions are off by one; vllm#33433."""
    rows = request["target"]
    return {"target": [*rows[1:], rows[-1]]} if len(rows) > 1 else {}


@answering("speculative", _KEPT)
@other_answer
def speculation_counts_one_less(out: dict[str, Any], _: Request) -> Mapping[str, Any]:
    """The number of accepted tokens is one too small."""
    return {**out, "accepted": max(out["accepted"] - 1, 0)}


@answering("speculative", _KEPT)
@other_answer
def speculation_has_no_bonus_token(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """If all drafts are accepted, the bonus token is missing."""
    drafts = len(request["tokens"])
    return {**out, "tokens": list(out["tokens"])[:drafts]} if out["accepted"] == drafts else out


@answering("residual", {"target": pack([0.25, 0.75]), "draft": pack([0.75, 0.25]), "params": {}})
@other_answer
def residual_is_not_cut_at_zero(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The absolute value of p - q is used instead of its positive part."""
    pairs = zip(unpack(request["target"]), unpack(request["draft"]), strict=True)
    sizes = [abs(mine - offered) for mine, offered in pairs]
    dtype = type_of(out["probs"])
    if not sum(sizes):
        return out
    return {"probs": pack([nearest(size / sum(sizes), dtype) for size in sizes], dtype)}


@answering("residual", {"target": pack([0.25, 0.75]), "draft": pack([0.75, 0.25]), "params": {}})
@other_answer
def residual_is_not_rescaled(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The positive part of p - q is returned as it is, though it adds up to less than 1."""
    pairs = zip(unpack(request["target"]), unpack(request["draft"]), strict=True)
    left = [max(mine - offered, 0.0) for mine, offered in pairs]
    dtype = type_of(out["probs"])
    return {"probs": pack([nearest(each, dtype) for each in left], dtype)} if any(left) else out


def _last_token(change: Callable[[int, int, Request], int]) -> SamplerHandler:
    """Change the last token, given it and how many drafts were accepted, by the standard rule."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or session.profile != "standard" or not request["tokens"]:
            return right
        *kept, last = right.out["tokens"]
        return Ok({**right.out, "tokens": [*kept, change(last, right.out["accepted"], request)]})

    return handle


def _drawn_from(row: Sequence[float], u: float, other: int, whole: float | None = None) -> int:
    """Return the token that a number draws from weights, which add up to `whole`."""
    return _first_above(u * (sum(row) if whole is None else whole), [*accumulate(row)], other)


def _left(accepted: int, request: Request, *, is_absolute: bool = False) -> list[float]:
    rows = unpack(request["target"][accepted]), unpack(request["draft"][accepted])
    apart = [mine - offered for mine, offered in zip(*rows, strict=True)]
    return [abs(each) if is_absolute else max(each, 0.0) for each in apart]


_REJECTED: Final = _speculation(
    [(0.75, 0.125, 0.125)], [(0.25, 0.375, 0.375), (0.5, 0.25, 0.25)], [0], [0.9375, 0.25]
)


@answering("speculative", {**_REJECTED, "uniforms": pack([0.375, 0.75])})
@_last_token
def speculation_reuses_its_coin(last: int, accepted: int, request: Request) -> int:
    """The number that rejected a draft also draws the token that replaces it."""
    if accepted == len(request["tokens"]):
        return last
    return _drawn_from(_left(accepted, request), unpack(request["uniforms"])[accepted], last)


@answering("speculative", _REJECTED)
@_last_token
def speculation_draws_by_the_distance(last: int, accepted: int, request: Request) -> int:
    """A rejected draft is replaced from the absolute value of p - q, not its positive part."""
    if accepted == len(request["tokens"]):
        return last
    left = _left(accepted, request, is_absolute=True)
    return _drawn_from(left, unpack(request["uniforms"])[-1], last)


@answering("speculative", _REJECTED)
@_last_token
def speculation_does_not_rescale(last: int, accepted: int, request: Request) -> int:
    """A rejected draft is replaced by the positive part of p - q as if it added up to 1."""
    if accepted == len(request["tokens"]):
        return last
    left = _left(accepted, request)
    end = max((token for token, weight in enumerate(left) if weight > 0), default=last)
    return _drawn_from(left, unpack(request["uniforms"])[-1], end, 1.0)


@answering("speculative", _speculation([(0.5, 0.5)], [(1.0, 0.0), (0.0, 1.0)], [0], [0.25, 0.5]))
@_last_token
def bonus_token_of_the_row_before(last: int, accepted: int, request: Request) -> int:
    """The bonus token is drawn from the row by which the last draft was judged."""
    if accepted < len(request["tokens"]):
        return last
    return _drawn_from(unpack(request["target"][-2]), unpack(request["uniforms"])[-1], last)


def _judged(change: Callable[[Request], Mapping[str, Any]]) -> SamplerHandler:
    """Judge drafts by other rows; what replaces a rejected one is drawn from the right ones."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or session.profile != "standard" or not request["tokens"]:
            return right
        judged = session.answer(op, {**request, **change(request)})
        if not isinstance(judged, Ok) or judged.out["accepted"] == len(request["tokens"]):
            return judged
        *kept, other = judged.out["tokens"]
        left = _left(judged.out["accepted"], request)
        last = _drawn_from(left, unpack(request["uniforms"])[-1], other)
        return Ok({**judged.out, "tokens": [*kept, last]})

    return handle


_OWN_ROWS: Final = _speculation(
    [(0.75, 0.25), (0.5, 0.5)], [(0.25, 0.75), (0.5, 0.5), (0.5, 0.5)], [1, 0], [0.5, 0.875, 0.5]
)


@answering("speculative", _OWN_ROWS)
@_judged
def speculation_judges_by_the_first_target(request: Request) -> Mapping[str, Any]:
    """Every draft is judged by the target's row of the first; the bonus row is right."""
    first, *rest = request["target"]
    return {"target": [first] * len(rest) + rest[-1:]} if rest else {}


@answering("speculative", _OWN_ROWS)
@_judged
def speculation_judges_by_the_first_draft(request: Request) -> Mapping[str, Any]:
    """Every draft is judged by the draft model's row of the first."""
    return {"draft": request["draft"][:1] * len(request["draft"])}


@answering(
    "speculative",
    _speculation(
        [(0.75, 0.25), (0.25, 0.75), (0.75, 0.25)],
        [(0.75, 0.25), (0.25, 0.75), (0.75, 0.25), (0.5, 0.5)],
        [0, 1, 1],
        [0.75, 0.75, 0.75, 0.5],
    ),
)
@_judged
def speculation_judges_by_the_draft_before(request: Request) -> Mapping[str, Any]:
    """Every draft is judged by the draft model's row of the draft before it."""
    return {"draft": [*request["draft"][:1], *request["draft"][:-1]]}


# ---- adaptive samplers


_MIROSTAT: Final = {
    "logits": pack([2.0, 1.0, 0.0]),
    "params": pack_parameters({"tau": 3.0, "eta": 0.5}),
    "state": {"mu": pack([6.0], "f64")},
    "uniforms": pack([0.25]),
}


@answering(("mirostat_1", "mirostat_2"), _MIROSTAT, op="mirostat_2")
@other_parameters
def mirostat_mixes_bits_and_nats(given: dict[str, Any]) -> Mapping[str, Any]:
    """The surprise is in nats and tau in bits; aprender#2142."""
    return {"tau": given["tau"] / log(2)}


@answering(("mirostat_1", "mirostat_2"), _MIROSTAT, op="mirostat_2")
@other_answer
def mirostat_forgets_mu(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The old state is returned; llama-cpp-python#914, LLamaSharp#71."""
    return {**out, "state": request["state"]} if "mu" in request["state"] else out


@answering(("mirostat_1", "mirostat_2"), _MIROSTAT, op="mirostat_2")
@other_answer
def mirostat_learns_the_wrong_way(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The error is added to mu instead of subtracted."""
    if "mu" not in out.get("state", {}):
        return out
    start = 2 * unpack_parameters(request["params"])["tau"]
    before = unpack(request["state"]["mu"])[0] if "mu" in request["state"] else start
    (after,) = unpack(out["state"]["mu"])
    dtype = type_of(out["state"]["mu"])
    try:
        mu = pack([nearest(2 * before - after, dtype)], dtype)
    except FloatsError:
        return out
    return {**out, "state": {**out["state"], "mu": mu}}


@answering(
    ("mirostat_1", "mirostat_2"),
    {**_MIROSTAT, "state": {"mu": pack([1.0], "f64")}},
    op="mirostat_2",
)
def mirostat_takes_the_other_surprise(session: SamplerSession, op: str, request: Request) -> Answer:
    """The surprise is computed among the kept tokens instead of all, or the reverse."""
    return other_rule(session, op, request, "whose", {"whole": "kept", "kept": "whole"})


@answering(
    "adaptive_p",
    {
        "logits": pack([2.0, 1.0, 0.0]),
        "params": pack_parameters({"target": 0.5, "decay": 0.5}),
        "state": {"past": pack([1.0, 2.0], "f64")},
        "uniforms": pack([0.25]),
    },
)
@other_parameters
def adaptive_p_does_not_fade(_: dict[str, Any]) -> Mapping[str, Any]:
    """The remembered weight of earlier tokens is not multiplied by the decay."""
    return {"decay": 0.0}
