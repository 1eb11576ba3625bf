"""mistral.rs's sampler as an engine: https://github.com/EricLBuehler/mistral.rs.

The file `sampler.rs` of the last version that PyPI has as source is compiled with stand-ins for
what it needs of other crates (`mistral_rs_build.rs`), and with the crate rand (`rust_draws`). The
stand-ins divide by the temperature and calculate the softmax, in 32 bits.

What it answers
    The profile "mistral.rs", as far as this older version has its steps: the DRY, frequency and
    presence penalties, top-k, top-p, and what the whole sampler keeps and draws with a given number
    of 23 bits. By its rule, `dry_nearby`.
What is unsupported
    The repetition penalty and biases, which this version lacks. Greedy, which is the stand-ins'
    part. Minimum p without top-p, which it ignores, and top-p behind top-k, for which it does not
    scale the sum. A penalty of which part of the history is the prompt: it counts both.
"""

import re
import tarfile
from collections.abc import Mapping
from functools import cache
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.chosen_words import in_bits
from tokenref.engines.from_wheels import wheels_folder
from tokenref.engines.own_rules import NotExpressibleError, OwnRule, SamplerSession, row_in_32_bits
from tokenref.engines.rust_draws import asked, compiled
from tokenref.floats import to_digits, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD

NAME: Final = "mistral.rs"
VERSION: Final = "0.3.1"
_FILE: Final = f"mistralrs-{VERSION}/mistralrs-core/src/sampler.rs"
_BITS: Final = 23
RULE: Final = OwnRule(
    STANDARD,
    {
        "multiplier": "dry_multiplier",
        "base": "dry_base",
        "allowed_length": "dry_allowed_length",
        "breakers": "dry_sequence_breakers",
    },
)
_DEFAULTS: Final = {
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_sequence_breakers": (),
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "temperature": 1.0,
    "top_k": -1,
    "top_p": 1.0,
    "min_p": 0.0,
}
_COLDEST: Final = 1e-7
_FILTERS: Final = frozenset({"top_k", "top_p"})


def source() -> Path:
    """Return the path of the engine's source. Raises `FileNotFoundError` if it is missing."""
    path = wheels_folder() / f"mistralrs-{VERSION}.tar.gz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; see docs/your-engine.md")
    return path


class MistralRsSession(SamplerSession):
    """The sampler with a selected profile."""

    profiles: ClassVar = frozenset({NAME, STANDARD})

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        steps = {*_FILTERS, "penalties", "chain", "sample"} if self.profile == NAME else set()
        if op not in {*steps, "dry_nearby"} or "logits" not in request:
            return Unsupported(f"has no {op} of logits by this rule or profile")
        row = row_in_32_bits(request, exact=op in {*_FILTERS, "chain", "sample"})
        if not all(logit < inf for logit in row) or max(row, default=-inf) == -inf:
            raise NotExpressibleError("does not check its row")
        given, history = self._given(op, request), list(request.get("history", ()))
        penalises = any(given[name] for name in _PENALTIES)
        if penalises and (not history or not all(0 <= token < len(row) for token in history)):
            raise NotExpressibleError("has a history, and ignores unknown tokens")
        history = history if penalises else [0]  # it is never empty, and not looked at
        if op in {"penalties", "dry_nearby"}:
            (digits,) = _asked("penalties", row, given, history, 0)
            return Ok({"logits": {"f32": digits}})
        word, off = _word(request) if op == "sample" else 0, {"top_k": -1, "top_p": 1.0}
        kept = sorted(map(int, _asked("sample", row, {**given, **off}, history, word)[1:]))
        if kept != [token for token, logit in enumerate(row) if logit > -inf]:
            raise NotExpressibleError("rounds the probability of a possible token to 0")
        token, *kept = map(int, _asked("sample", row, given, history, word))
        return Ok({"token": token} if op == "sample" else {"keep": sorted(kept)})

    def _given(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        params = unpack_parameters(request["params"])
        if self.profile != NAME:
            params = RULE.parameters(op, self.profile, params, request)
        if params.keys() - _DEFAULTS:
            raise NotExpressibleError("has no repetition penalty and no biases")
        given = {**_DEFAULTS, **params}
        numbers = [given[name] for name in _PENALTIES] + [given["dry_base"]]
        if not all(map(isfinite, numbers)) or given["dry_base"] <= 0 or given["dry_multiplier"] < 0:
            raise NotExpressibleError("does not check its parameters")
        if given["dry_allowed_length"] < 0 or type(given["dry_allowed_length"]) is not int:
            raise NotExpressibleError("does not check its parameters")
        if given["temperature"] is None or given["temperature"] < _COLDEST:
            raise NotExpressibleError("takes the best token at such a temperature")
        has_top_p = 0 < given["top_p"] < 1
        if given["min_p"] if not has_top_p else given["top_k"] > 0:
            raise NotExpressibleError("has min_p after top_p only, and top_p of the whole row only")
        counts = given["frequency_penalty"] or given["presence_penalty"]
        if counts and request.get("prompt_length", 0):
            raise NotExpressibleError("counts the tokens of the prompt, too")
        return given


_PENALTIES: Final = ("dry_multiplier", "frequency_penalty", "presence_penalty")


def _word(request: Mapping[str, Any]) -> int:
    """Return the word from which the engine makes a given random number."""
    numbers = in_bits(unpack(request["uniforms"]), _BITS)
    if numbers is None or len(numbers) != 1:
        raise NotExpressibleError(f"takes one random number below 1, of {_BITS} bits")
    return numbers[0] << (32 - _BITS)


def _asked(
    what: str, row: list[float], given: Mapping[str, Any], history: list[int], word: int
) -> list[str]:
    """Ask the program, and return the words of its answer."""
    question: list[object] = [
        what,
        given["frequency_penalty"] or "-",
        given["presence_penalty"] or "-",
        given["dry_multiplier"] or "-",
        given["dry_base"],
        given["dry_allowed_length"],
        ",".join(map(str, given["dry_sequence_breakers"] or ())) or "-",
        ",".join(map(str, history)),
        f"{word:08x}",
        to_digits(row, "f32"),
        *(given[name] for name in ("temperature", "top_k", "top_p", "min_p")),
    ]
    return asked(_program(), " ".join(map(str, question)))


@cache
def _program() -> Path:
    """Compile the engine's file with the program, and return its path."""
    folder = Path(_FOLDER.name)
    with tarfile.open(source()) as archive:
        found = archive.extractfile(_FILE)
        text = found.read().decode() if found else ""
    text = text.partition("\nmod tests {")[0].removeprefix("#![").partition("]\n")[2]
    text = text.replace("use serde::{Deserialize, Serialize};", "")
    engine, program = folder / "sampler.rs", folder / "mistral_rs.rs"
    engine.write_text(re.sub(r", Serialize, Deserialize\b", "", text), encoding="utf-8")
    own = Path(__file__).with_name("mistral_rs_build.rs").read_text(encoding="utf-8")
    program.write_text(own.replace("@SOURCE@", engine.as_posix()), encoding="utf-8")
    return compiled(program)


_FOLDER: Final = TemporaryDirectory()
