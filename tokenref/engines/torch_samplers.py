"""PyTorch's own functions as an engine, on any device: https://pytorch.org.

What it answers
    By the standard rule: `torch.softmax`, `torch.log_softmax` and `torch.argmax` in the row's own
    type, and many draws with `torch.multinomial`, for one row at a time or a batch of rows with one
    generator. On the CPU also draws with given random numbers, by races and walks, and by the rules
    of a race, or of a walk in 64 bits, where these agree with torch's; the words of its generator
    for a seed; and the uniform numbers that it makes from words.
What is unsupported
    Seeds of single rows, because a call has one generator. Speculative decoding.
What it refuses
    A row that `torch.multinomial` rejects according to its documentation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.own_rules import NotExpressibleError, SamplerSession, rows_of
from tokenref.engines.torch_draws import (
    MOST,
    RACES,
    batched,
    counted,
    device_name,
    drawn,
    generator_of,
    laid_out,
    places_of,
    refused,
    to_floats,
    to_tensor,
    walked,
)
from tokenref.floats import Type, pack, type_of, unpack
from tokenref.rules import STANDARD, rule_name

RACE: Final = rule_name("draw", method="torch race")
WALK: Final = rule_name("draw", method="torch walk")
REACH: Final = rule_name("draw", boundary="reach")
GENERATOR: Final = "mt19937"
SEED: Final = 0
_MOST_RANDOM_NUMBERS: Final = 1 << 32
_OF_LOGITS: Final = frozenset({"softmax", "logprobs", "greedy"})


_UNIFORMS: Final[Mapping[str, tuple[str, int]]] = {
    "torch-cpu-double": ("f64", 2),
    "torch-cpu-float": ("f32", 1),
}
"""The type of the numbers of each conversion, and the number of words for each."""


class TorchSession(SamplerSession):
    """A selected rule."""

    profiles: ClassVar = frozenset({STANDARD, RACE, *RACES, WALK, REACH, GENERATOR, *_UNIFORMS})

    def _refused(self, error: Exception) -> Answer | None:
        return refused(error)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if self.profile == STANDARD and op == "batch":
            return _batch(request)
        if self.profile == STANDARD and op in _OF_LOGITS:
            logits = request["logits"]
            return Ok(_of_logits(op, to_tensor([logits]), type_of(logits), [0])[0])
        if self.profile == STANDARD and op in {"stat", "stat_batch"}:
            return _stat(op, request)
        if op == "draw":
            return _draw(self.profile, request)
        on_processor = device_name() == "cpu"
        if self.profile == GENERATOR and op == "random_words" and on_processor:
            return _words(request)
        if self.profile in _UNIFORMS and op == "uniforms" and on_processor:
            return _uniforms(self.profile, request["words"])
        return Unsupported(f"has no {op} by the rule {self.profile}")


def _of_logits(op: str, rows: Any, dtype: Type, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the answers about rows of logits, which are at these places of a tensor."""
    if op == "greedy":
        tokens = rows.argmax(dim=-1).tolist()
        return [{"token": tokens[place]} for place in places]
    out = rows.softmax(dim=-1) if op == "softmax" else rows.log_softmax(dim=-1)
    name = "probs" if op == "softmax" else op
    return [{name: to_floats(out[place], dtype)} for place in places]


def _batch(request: Mapping[str, Any]) -> Answer:
    """Answer the rows of a batch with one call, laid out in memory as the question says."""
    op, rows = request["op"], rows_of(request)
    if op == "draw":
        return Ok({"rows": [_walked(row) for row in rows * request.get("calls", 1)]})
    if op not in _OF_LOGITS or any("logits" not in row for row in rows):
        return Unsupported(f"cannot process batches of {op}, or of probabilities")
    given = [row["logits"] for row in rows]
    dtype = type_of(given[0])
    if any(len(row.get(dtype, "")) != len(given[0][dtype]) for row in given):
        return Unsupported("needs one type and one length for all rows of a batch")
    layout = request.get("layout")
    tensor, places = laid_out(to_tensor(given), layout), places_of(len(given), layout)
    calls = range(request.get("calls", 1))
    return Ok({"rows": [each for _ in calls for each in _of_logits(op, tensor, dtype, places)]})


def _stat(op: str, request: Mapping[str, Any]) -> Answer:
    if request["params"]:
        return Unsupported("only draws from an unchanged row")
    is_law = "probs" in request
    row = to_tensor([request["probs" if is_law else "logits"]])[0]
    shares = row if is_law else row.softmax(-1)
    if len(shares) * request["draws"] > _MOST_RANDOM_NUMBERS:
        return Unsupported("takes minutes, because each draw needs a random number for every token")
    if op == "stat_batch":
        return Ok({"tokens": batched(shares, request["rows"], request["draws"], SEED)})
    return Ok({"counts": counted(shares, request["draws"], SEED)})


def _draw(profile: str, request: Mapping[str, Any]) -> Answer:
    if profile in {STANDARD, REACH}:
        return Ok(_walked(request, reaches=profile == REACH))
    if "probs" not in request:
        return Unsupported("only draws from probabilities, not from logits")
    row, uniforms = to_tensor([request["probs"]])[0], unpack(request["uniforms"])
    if profile in RACES and all(0 <= number < 1 for number in uniforms):
        uniforms = [*map(RACES[profile], uniforms)]
    if "order" in request or len(uniforms) != (
        request.get("count", 1) if profile == WALK else len(row)
    ):
        return Unsupported("cannot take an order, and needs one number per token or per draw")
    tokens = drawn(row, uniforms, request.get("count", 1), walk=profile == WALK)
    return Ok({"tokens": tokens} if "count" in request else {"token": tokens[0]})


def _walked(request: Mapping[str, Any], *, reaches: bool = False) -> dict[str, Any]:
    """Return the token that torch draws from a row with replacement, in 64 bits."""
    is_law, numbers = "probs" in request, unpack(request["uniforms"])
    if not {"order", "count"}.isdisjoint(request) or len(numbers) != 1:
        raise NotExpressibleError("cannot take an order, and takes one number for one token")
    if reaches and not is_law:
        raise NotExpressibleError("may round the sums of softmax")
    row = to_tensor([request["probs" if is_law else "logits"]], "f64")[0]
    shares = row if is_law else row.softmax(-1)
    token = walked(shares, numbers[0], reaches=reaches)
    if reaches and not shares[token] > 0:
        raise NotExpressibleError("may draw a token of no weight")
    return {"token": token}


def _words(request: Mapping[str, Any]) -> Answer:
    """Return the generator's words: a 64-bit number consists of two, high word first."""
    import torch

    by_seed = {"seed", "key", "counter"} & request.keys() == {"seed"}
    if not by_seed or int(request["seed"], 16) >> 32:
        return Unsupported("only takes 32-bit seeds")
    wanted = request["taken"] + request["count"]
    generator = torch.Generator().manual_seed(int(request["seed"], 16))
    pairs = torch.empty((wanted + 1) // 2, dtype=torch.int64)
    pairs.random_(-(1 << 63), None, generator=generator)
    numbers = [number % (1 << 64) for number in pairs.tolist()]
    words = [half for number in numbers for half in divmod(number, 1 << 32)]
    return Ok({"words": [f"{word:08x}" for word in words[request["taken"] : wanted]]})


def _uniforms(profile: str, given: Sequence[str]) -> Answer:
    import torch

    dtype, width = _UNIFORMS[profile]
    words = [int(word, 16) for word in given]
    if any(len(word) != 8 for word in given) or len(words) % width or len(words) > 2 * MOST:
        return Unsupported("takes a fixed number of 32-bit words per number")
    kind = torch.float64 if dtype == "f64" else torch.float32
    # One at a time: many at once are made in another order.
    numbers = [
        torch.rand(1, dtype=kind, generator=generator_of(words[at : at + width])).item()
        for at in range(0, len(words), width)
    ]
    return Ok({"uniforms": pack(numbers, "f64" if dtype == "f64" else "f32")})
