"""llama.cpp's samplers as an engine under test: https://github.com/ggml-org/llama.cpp.

The C functions of the installed llama-cpp-python, without a model, in a process of their own
(`llama_cpp_child`): an assertion in the engine ends only that process, which is a crash of the
question, and the next question starts another one.

What it answers
    The profile "llama.cpp", and rules that its steps follow: single steps, the chain that the
    programs build, its distribution, and many draws with its own generator. Rows in 32 bits;
    16-bit rows too, where the answer is tokens.
What it cannot be asked
    To draw with random numbers from outside: each sampler has a generator of its own. So XTC is
    asked only where its coin decides nothing, and a state must be that of the beginning.
    Rows that 32 bits do not hold. Probabilities: it takes logits.
What it refuses
    Nothing: the library checks no parameter. A parameter that its C type does not hold is
    refused here, as a compiler would.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from bpe_ref import Vocabulary
from tokenref.answers import Answer, Crashed, Ok, Refused, Unsupported
from tokenref.engines.llama_cpp_chain import (
    InvalidParameterError,
    chain_of,
    is_off,
    read,
    step_of,
)
from tokenref.engines.llama_cpp_process import Child, EndedError
from tokenref.floats import FloatsError, from_digits, to_digits, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, NotExpressibleError, OwnRule, rule_name

NAME: Final = "llama.cpp"
SEED: Final = 7
"""The engine's own draws begin here, so that a run can be repeated."""

FILTERS: Final = frozenset({"top_k", "top_p", "min_p", "typical", "top_n_sigma", "xtc"})
ROWS: Final[Mapping[str, str]] = {
    "logit_bias": "logit_bias",
    "penalties": "penalties",
    "dry": "dry",
    "temperature": "temperature",
    "dynamic_temperature": "dynamic_temperature",
    "repetition_penalty": "penalties",
    "frequency_penalty": "penalties",
    "presence_penalty": "penalties",
}
"""Operations on rows, and the step of the engine that does it."""


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
}
"""The rules that the engine's steps follow. Its sorts leave equals in no order that has a name."""

_WINDOWS: Final = frozenset({"penalties", "dry"})
"""Steps that look back so far, and of which a rule may ask to look at everything."""


@dataclass(frozen=True)
class LlamaCppEngine:
    """llama.cpp, as far as it samples.

    >>> LlamaCppEngine("0.3.36").load_profile("vllm")
    Unsupported(reason='does what the profile llama.cpp says, not vllm')
    """

    version: str
    name: str = NAME

    def load(self, vocabulary: Vocabulary, name: str) -> Unsupported:
        """Say that its tokenizer is not driven here."""
        return Unsupported("samples, has no tokenizer")

    def load_profile(self, profile: str) -> "LlamaCppSession | Unsupported":
        """Take up the engine's own profile, or a rule that one of its steps follows."""
        if profile != NAME and all(profile != own.rule for own in RULES.values()):
            return Unsupported(f"does what the profile {NAME} says, not {profile}")
        return LlamaCppSession(profile)


@dataclass
class LlamaCppSession:
    """The samplers, ready for questions."""

    profile: str
    _child: Child = field(default_factory=Child)

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer a request."""
        if "probs" in request:
            return Unsupported("takes logits, not probabilities")
        try:
            _no_longer_prompt(request)
            if op in FILTERS or op in ROWS:
                return Ok(self._one_step(op, request))
            if op in {"chain", "distribution", "stat"} and self.profile == NAME:
                return Ok(self._whole(op, request))
        except NotExpressibleError as error:
            return Unsupported(str(error))
        except InvalidParameterError as error:
            return Refused("INVALID_PARAMETER", str(error))
        except EndedError as error:
            message, log = error.args
            return Crashed(message, log)
        if op in {"sample", "sequence"}:
            return Unsupported("draws with its own generator, which takes nothing from outside")
        return Unsupported(f"has no operation {op}")

    def _one_step(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        row = _row(request["logits"], exact=op in FILTERS)
        given = unpack_parameters(request["params"])
        if self.profile != NAME:
            if op not in RULES:
                raise NotExpressibleError(f"its {op} follows no rule that has a name")
            if given.get("window", 0 if op == "penalties" else None) is None and op in _WINDOWS:
                given["window"] = max(1, len(request["history"]))  # all of it
            given = RULES[op].parameters(op, self.profile, given)
        chain = chain_of(read(given), len(row), SEED)
        chosen = [one for one in chain if step_of(one) == ROWS.get(op, op)]
        _no_coin(chosen)
        if not chosen or is_off(chosen[0]):
            left = row
        else:
            left = _left(self._child.ask(_question(chosen, row, request)), len(row))
        if op in FILTERS:
            return {"keep": [token for token, logit in enumerate(left) if logit != -inf]}
        return {"logits": {"f32": to_digits(left, "f32")}}

    def _whole(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        row = _row(request["logits"], exact=op != "distribution")
        values = read(unpack_parameters(request["params"]))
        chain = chain_of(values, len(row), SEED)
        _first_state(values, request.get("state", {}))
        question = _question(chain, row, request)
        if op == "stat":
            if chain[-1][0] != "dist":
                raise NotExpressibleError(f"{chain[-1][0]} learns from what it draws")
            return self._child.ask({**question, "draws": request["draws"]})
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


def _row(logits: Mapping[str, Any], *, exact: bool) -> list[float]:
    """Return a row as 32 bits hold it; `exact` says that the answer has no numbers in it."""
    row = unpack(logits)
    if not exact and type_of(logits) != "f32":
        raise NotExpressibleError(f"has rows of 32 bits, not {type_of(logits)}")
    try:
        to_digits(row, "f32")
    except FloatsError:
        raise NotExpressibleError("has rows of 32 bits, which do not hold this one") from None
    return row


def _question(
    chain: Sequence[Sequence[Any]], row: Sequence[float], request: Mapping[str, Any]
) -> dict[str, Any]:
    accept = list(request.get("history", ()))
    return {"samplers": chain, "accept": accept, "row": to_digits(row, "f32")}


def _left(found: Mapping[str, Any], size: int) -> list[float]:
    """Return the candidates that are left, as a row."""
    row = [-inf] * size
    for token, logit in zip(found["tokens"], from_digits(found["logits"], "f32"), strict=True):
        row[token] = logit
    return row


def _no_longer_prompt(request: Mapping[str, Any]) -> None:
    """Refuse to answer where the prompt is longer than the history: there is no way to say so."""
    if request.get("prompt_length", 0) > len(request.get("history", ())):
        raise NotExpressibleError("is given tokens, and not told which are the prompt")


def _no_coin(chain: Sequence[Sequence[Any]]) -> None:
    """Refuse to answer where the engine would toss a coin of its own."""
    for sampler in chain:
        if sampler[0] == "xtc" and not is_off(sampler) and sampler[1] < 1:
            raise NotExpressibleError("XTC tosses a coin of its own")


def _first_state(values: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuse to answer for a state that the engine cannot be brought into."""
    if "past" in state:
        raise NotExpressibleError("begins with a state of its own")
    doubled = array("f", [2 * array("f", [values["mirostat_tau"]])[0]])[0]
    if "mu" in state and unpack(state["mu"]) != [doubled]:
        raise NotExpressibleError("begins with a state of its own")
