"""llama.cpp's samplers as an engine: https://github.com/ggml-org/llama.cpp.

The C functions of the installed llama-cpp-python run without a model in a separate process
(`llama_cpp_process`). A failed assertion ends only that process. It is a crash of the question,
and the next question starts a new process.

What it answers
    The profile "llama.cpp", and the rules that its steps follow: single steps, the chain that the
    programs build, its distribution, and many draws with its own generator. Rows have 32 bits;
    16-bit rows are possible if the answer is tokens.
What is unsupported
    Draws with given random numbers, because each sampler has its own generator. So XTC is only run
    where its random number decides nothing, and only with the initial state. Rows that 32 bits
    cannot represent. Probabilities, because it needs logits.
What it refuses
    Nothing: the library checks no parameter. A parameter that does not fit its C type is refused
    here, as a compiler would.
"""

import sys
from array import array
from collections.abc import Mapping, Sequence
from ctypes import c_float
from itertools import accumulate
from math import inf, isfinite
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Crashed, Ok, Unsupported
from tokenref.engines.child import Child, ProcessEndedError
from tokenref.engines.chosen_words import in_bits
from tokenref.engines.llama_cpp_chain import chain_of, is_off, read, step_of
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_in_order,
    is_clear,
    logarithms,
    profiles_of,
    row_in_32_bits,
)
from tokenref.floats import from_digits, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

NAME: Final = "llama.cpp"
SEED: Final = 7
"""The seed of the engine's own draws, so that runs are repeatable."""

FILTERS: Final = frozenset({"top_k", "top_p", "min_p", "typical", "top_n_sigma", "xtc"})
ROWS: Final[Mapping[str, str]] = {
    **{op: op for op in ("logit_bias", "dry", "temperature", "dynamic_temperature")},
    **dict.fromkeys(
        ("penalties", "repetition_penalty", "frequency_penalty", "presence_penalty"), "penalties"
    ),
}
"""Operations on rows, and the engine's step for each."""


_TIES: Final = frozenset({"ties"})
RULES: Final[Mapping[str, OwnRule]] = {
    "min_p": OwnRule(rule_name("min_p", above_one="best"), {"m": "min_p", "least": "min_keep"}),
    "top_n_sigma": OwnRule(rule_name("top_n_sigma", zero="off"), {"n": "top_n_sigma"}),
    "logit_bias": OwnRule(STANDARD, {"biases": "logit_bias"}),
    "penalties": OwnRule(
        STANDARD,
        {
            "window": "repeat_last_n",
            "repetition": "repeat_penalty",
            "frequency": "frequency_penalty",
            "presence": "presence_penalty",
        },
    ),
    "dry": OwnRule(
        STANDARD,
        {
            "multiplier": "dry_multiplier",
            "base": "dry_base",
            "allowed_length": "dry_allowed_length",
            "window": "dry_penalty_last_n",
            "breakers": "dry_sequence_breakers",
        },
    ),
    "temperature": OwnRule(rule_name("temperature", zero="first largest"), {"temperature": "temp"}),
    "repetition_penalty": OwnRule(
        STANDARD, {"penalty": "repeat_penalty", "window": "repeat_last_n"}
    ),
    "frequency_penalty": OwnRule(
        rule_name("frequency_penalty", scope="all"),
        {"penalty": "frequency_penalty", "window": "repeat_last_n"},
    ),
    "presence_penalty": OwnRule(
        rule_name("presence_penalty", scope="all"),
        {"penalty": "presence_penalty", "window": "repeat_last_n"},
    ),
    "top_k": OwnRule(STANDARD, {"k": "top_k"}, {"k": (0,)}, _TIES),
    "top_p": OwnRule(
        rule_name("top_p", zero="best"), {"p": "top_p", "least": "min_keep"}, undefined=_TIES
    ),
    "typical": OwnRule(
        rule_name("typical", boundary="exceed"),
        {"mass": "typical_p", "least": "min_keep"},
        undefined=_TIES,
    ),
    "xtc": OwnRule(
        STANDARD,
        {"probability": "xtc_probability", "threshold": "xtc_threshold", "least": "min_keep"},
        undefined=_TIES,
    ),
    "dynamic_temperature": OwnRule(
        STANDARD,
        {"temperature": "temp", "spread": "dynatemp_range", "exponent": "dynatemp_exponent"},
        {"spread": (0,)},
    ),
    "mirostat_1": OwnRule(
        rule_name("mirostat_1", flat="one", whose="kept"),
        {"tau": "mirostat_tau", "eta": "mirostat_eta"},
    ),
    "mirostat_2": OwnRule(
        rule_name("mirostat_2", whose="kept"), {"tau": "mirostat_tau", "eta": "mirostat_eta"}
    ),
    "adaptive_p": OwnRule(
        rule_name("adaptive_p", boundary="reach"),
        {"target": "adaptive_target", "decay": "adaptive_decay"},
    ),
}
"""The rules of the engine's steps. Its sorts leave ties in an order without a name."""

WALK: Final = rule_name("draw", boundary="reach", zero_weight="as walked")
_WALKS: Final = frozenset({WALK, rule_name("draw", boundary="reach")})
"""The rules that its draw follows."""

_LARGEST_DECAY: Final = 0.99
_NEAR: Final = 1e-6
"""How near to a running sum of probabilities rounding could decide."""

_WINDOWS: Final = frozenset(
    {"penalties", "dry", "repetition_penalty", "frequency_penalty", "presence_penalty"}
)
"""Steps with a window, which a rule may set to the whole history."""


class LlamaCppSession(SamplerSession):
    """The samplers with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | _WALKS | {NAME}

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        module, variables = "tokenref.engines.llama_cpp_process", {"GGML_NO_BACKTRACE": "1"}
        self._child = Child(sys.executable, "-P", "-m", module, variables=variables)

    def _refused(self, error: Exception) -> Answer | None:
        if isinstance(error, ProcessEndedError):
            message, log = error.args
            return Crashed(message, log)
        return super()._refused(error)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        is_rule = op in RULES if self.profile not in _WALKS else op in {"draw", "adaptive_p"}
        if "probs" in request and is_rule and self.profile != NAME:
            clear = False
            if op != "draw":
                self._own(op, request)
                clear = is_clear(op, unpack_parameters(request["params"]), request)
            others = {name: value for name, value in request.items() if name != "probs"}
            request = {**others, "logits": self._logits(request["probs"], clear=clear)}
        if "probs" in request:
            return Unsupported("accepts logits, not probabilities")
        _no_longer_prompt(request)
        if self.profile != NAME and op in {"draw", "mirostat_1", "mirostat_2", "adaptive_p"}:
            functions = {"draw": self._drawn, "adaptive_p": self._adapted}
            answer = functions.get(op, lambda about: self._mirostat(op, about))
            return Ok(answer(request))
        if op in FILTERS or op in ROWS:
            return Ok(self._one_step(op, request))
        if op in {"sample", "sequence"} and self.profile == NAME:
            return Ok(self._token(request)) if op == "sample" else self._sequence(request)
        if op in {"chain", "distribution", "stat"} and self.profile == NAME:
            return Ok(self._whole(op, request))
        return Unsupported(f"has no operation {op}")

    def _one_step(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        row = row_in_32_bits(request, exact=op in FILTERS)
        given = self._own(op, request)
        chain = chain_of(read(given), len(row), SEED)
        chosen = [one for one in chain if step_of(one) == ROWS.get(op, op)]
        if not chosen or is_off(chosen[0]):
            left = row
        else:
            question = _question(chosen, row, request)
            if op == "xtc" and "uniforms" in request:
                question = {**question, **_words(0, request, bits=32)}
            else:
                _no_coin(chosen)
            left = _left(self._child.ask(question), len(row))
        if op in FILTERS:
            return {"keep": [token for token, logit in enumerate(left) if logit != -inf]}
        return {"logits": {"f32": to_digits(left, "f32")}}

    def _own(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        given = unpack_parameters(request["params"])
        if self.profile == NAME:
            return given
        if op not in RULES:
            raise NotExpressibleError(f"its {op} follows no named rule")
        if given.get("window", 0 if op == "penalties" else None) is None and op in _WINDOWS:
            given["window"] = max(1, len(request["history"]))  # all of it
        if not -(1 << 31) <= given.get("k", 0) < 1 << 31:
            raise NotExpressibleError("only takes 32-bit integers")
        if op == "dynamic_temperature" and -inf in unpack(request["logits"]):
            raise NotExpressibleError("counts impossible tokens for its largest entropy")
        return RULES[op].parameters(op, self.profile, given, request)

    def _logits(self, probabilities: Mapping[str, Any], *, clear: bool) -> dict[str, str]:
        """Return logits of which the engine's own softmax makes these probabilities."""

        def softmax(row: Sequence[float]) -> list[float]:
            asked = {"samplers": [["dist", SEED]], "accept": [], "row": to_digits(row, "f32")}
            found = self._child.ask(asked)
            shares = from_digits(found["probs"], "f32")
            by_token = dict(zip(found["tokens"], shares, strict=True))
            return [by_token[token] for token in range(len(row))]

        def rounded(number: float) -> float:
            return c_float(number).value

        return pack(logarithms(probabilities, softmax, rounded, clear=clear), "f32")

    def _drawn(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the token that the sampler `dist` draws with a given number."""
        row = row_in_32_bits(request, exact=True)
        if self.profile not in _WALKS or not {"order", "count"}.isdisjoint(request):
            raise NotExpressibleError("only draws one token by reaching a number")
        if not row or not all(logit < inf for logit in row) or max(row) == -inf:
            raise NotExpressibleError("does not check its row")
        if self.profile != WALK and -inf in row[:1]:
            raise NotExpressibleError("may draw a token of no weight")
        question = {**_question([["dist", SEED]], row, request), **_words(0, request, bits=64)}
        return _chosen(self._child.ask(question))

    def _mirostat(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the token, and the next state."""
        given = read({**self._own(op, request), "temp": 1.0, "mirostat": int(op[-1])})
        row = row_in_32_bits(request, exact=False)
        mu = unpack(request["state"]["mu"])[0] if "mu" in request.get("state", {}) else None
        if not row or not all(map(isfinite, [*row, mu or 0.0, given["mirostat_tau"]])):
            raise NotExpressibleError("checks neither its row nor its parameters")
        if len(set(row)) < len(row):
            raise NotExpressibleError("sorts equal tokens into an order without a name")
        sampler = chain_of(given, len(row), SEED)[-1]
        words = _words(0, request, bits=64)
        question = {**_question([sampler], row, request), **words}
        question["state"] = [2 * given["mirostat_tau"] if mu is None else mu]
        return _chosen(self._child.ask(question), "mu")

    def _adapted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the token that adaptive-p draws, and its next state."""
        given = read(self._own("adaptive_p", request))
        row, past = row_in_32_bits(request, exact=False), request.get("state", {}).get("past")
        if past is None or len(unpack(past)) != 2 or type_of(past) != "f32":
            raise NotExpressibleError("remembers two numbers, of 32 bits")
        target, decay = given["adaptive_target"], given["adaptive_decay"]
        numbers = (*row, *unpack(past))
        if not all(number < inf for number in numbers) or max(row, default=-inf) == -inf:
            raise NotExpressibleError("checks neither its row nor its state")
        if not 0 <= target <= 1 or not 0 <= decay <= _LARGEST_DECAY:
            raise NotExpressibleError("moves its parameters into their intervals")
        question = _question([["adaptive_p", target, decay, SEED]], row, request)
        words = _words(0, request, bits=64)
        found = self._child.ask({**question, **words, "state": unpack(past)})
        (number,) = unpack(request["uniforms"])
        sums = accumulate(from_digits(found["probs"], "f32"))
        if self.profile not in _WALKS and any(abs(one - number) < _NEAR for one in sums):
            raise NotExpressibleError(
                "draws by reaching a number, and this one is at a running sum"
            )
        return _chosen(found, "past")

    def _token(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the token that the whole chain draws with a given number."""
        values = read(unpack_parameters(request["params"]))
        row = row_in_32_bits(request, exact=True)
        _first_state(values, request.get("state", {}))
        chain = chain_of(values, len(row), SEED)
        _no_coin(chain)
        question = {**_question(chain, row, request), **_words(len(chain) - 1, request, bits=64)}
        return _chosen(self._child.ask(question))

    def _sequence(self, request: Mapping[str, Any]) -> Answer:
        """Answer calls in order.

        Each time a new chain accepts all tokens, unless it adapts to what it draws.
        """
        values = read(unpack_parameters(request["params"]))
        if values["mirostat"] or values["adaptive_target"] >= 0:
            return Ok(self._steered(request, values))

        def sample(each: Mapping[str, Any]) -> Answer:
            if "state" in request or not all(0 <= one < 1 << 31 for one in each["history"]):
                raise NotExpressibleError("cannot be given a state, or such tokens")
            return Ok(self._token(each))

        return answer_in_order(request, sample)

    def _steered(self, request: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Answer calls in order, all with one chain."""
        rows = [row_in_32_bits(call["sample"]) for call in request["calls"] if "sample" in call]
        tokens = [call["accept"] for call in request["calls"] if "accept" in call]
        if len({*map(len, rows)}) != 1 or not all(0 <= token < 1 << 31 for token in tokens):
            raise NotExpressibleError("has rows of one length, and no such tokens")
        if request["prompt"] or "state" in request or any(map(_truncates, request["calls"])):
            raise NotExpressibleError("starts with nothing, and forgets everything")
        chain = chain_of(values, len(rows[0]), SEED)
        _no_coin(chain)
        calls = list[Mapping[str, Any]]()
        for call in request["calls"]:
            if "sample" in call:
                (words,) = _words(0, call["sample"], bits=64)["words"].values()
                calls.append({"row": to_digits(rows.pop(0), "f32"), "words": words})
            else:
                calls.append({"accept": call["accept"]} if "accept" in call else {})
        question = {"samplers": chain, "accept": [], "seed": SEED, "calls": calls}
        drawn = iter(self._child.ask(question)["drawn"])
        return {"answers": [next(drawn) if "row" in call else None for call in calls]}

    def _whole(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        row = row_in_32_bits(request, exact=op != "distribution")
        values = read(unpack_parameters(request["params"]))
        chain = chain_of(values, len(row), SEED)
        _first_state(values, request.get("state", {}))
        question = _question(chain, row, request)
        if op == "stat":
            if chain[-1][0] != "dist":
                raise NotExpressibleError(f"{chain[-1][0]} adapts to what it draws")
            found = self._child.ask({**question, "draws": request["draws"]})
            return {"counts": found["counts"]}
        coins = [at for at, sampler in enumerate(chain) if _has_coin(sampler)]
        if coins and request.get("uniforms"):
            question = {**question, **_words(coins[0], request, bits=32)}
        else:
            _no_coin(chain)
        found = self._child.ask(question)
        if op == "distribution":
            shares = [0.0] * len(row)
            probs = from_digits(found["probs"], "f32")
            for token, share in zip(found["tokens"], probs, strict=True):
                shares[token] = share
            return {"probs": {"f32": to_digits(shares, "f32")}}
        stages = [
            {"step": step_of(sampler), "keep": sorted(kept)}
            for sampler, kept in zip(chain, found["kept"], strict=True)
            if step_of(sampler) is not None and not is_off(sampler)
        ]
        return {"keep": sorted(found["kept"][-1]), "stages": stages}


def _truncates(call: Mapping[str, Any]) -> bool:
    return bool(call.get("truncate"))


def _words(place: int, request: Mapping[str, Any], *, bits: int) -> dict[str, Any]:
    """Return the words of a generator from which C++ makes a given uniform number."""
    numbers = in_bits(unpack(request["uniforms"]), bits)
    if numbers is None or len(numbers) != 1:
        raise NotExpressibleError(f"takes one random number below 1, of {bits} bits")
    high, low = divmod(numbers[0], 1 << 32)
    return {"seed": SEED, "words": {place: [low, high] if bits == 64 else [low]}}


def _question(
    chain: Sequence[Sequence[Any]], row: Sequence[float], request: Mapping[str, Any]
) -> dict[str, Any]:
    accept = list(request.get("history", ()))
    return {"samplers": chain, "accept": accept, "row": to_digits(row, "f32")}


def _chosen(found: Mapping[str, Any], remembered: str = "") -> dict[str, Any]:
    """Return the token that was drawn, and the next state of a sampler that remembers one."""
    token = {"token": found["tokens"][found["selected"]]}
    return {**token, "state": {remembered: pack(found["state"], "f32")}} if remembered else token


def _left(found: Mapping[str, Any], size: int) -> list[float]:
    """Return the remaining candidates as a row."""
    row = [-inf] * size
    for token, logit in zip(found["tokens"], from_digits(found["logits"], "f32"), strict=True):
        row[token] = logit
    return row


def _no_longer_prompt(request: Mapping[str, Any]) -> None:
    """Raise `NotExpressibleError` if the prompt is longer than the history."""
    if request.get("prompt_length", 0) > len(request.get("history", ())):
        raise NotExpressibleError("is given tokens, but not which of them are the prompt")


def _no_coin(chain: Sequence[Sequence[Any]]) -> None:
    """Raise `NotExpressibleError` if the engine would draw its own random number."""
    if any(map(_has_coin, chain)):
        raise NotExpressibleError("XTC draws its own random number")


def _has_coin(sampler: Sequence[Any]) -> bool:
    return sampler[0] == "xtc" and not is_off(sampler) and bool(sampler[1] < 1)


def _first_state(values: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise `NotExpressibleError` for a state that the engine cannot be given."""
    if "past" in state:
        raise NotExpressibleError("cannot be given a state")
    doubled = array("f", [2 * array("f", [values["mirostat_tau"]])[0]])[0]
    if "mu" in state and unpack(state["mu"]) != [doubled]:
        raise NotExpressibleError("cannot be given a state")
