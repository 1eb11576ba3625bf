"""An engine that tokenref can judge. Put your own code where it says YOUR CODE.

tokenref writes one JSON message per line to standard input; each is answered by
one line on standard output. Whatever is printed otherwise goes to standard error.
"""

import json
import struct
import sys
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

PROFILES = {"encode": ["definition", "tiktoken"], "top_k": ["standard"]}
LONGEST = 2000  # bytes of the longest text: the example takes quadratic time


class RefusedError(Exception):
    """The question has no answer: a code from fixtures/README.md, and a message."""


class SkippedError(Exception):
    """What this engine cannot be asked; the reason."""


# ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ----


def encode(vocabulary: dict[str, Any], text: bytes) -> list[int]:
    """Return the tokens of a text: of all neighbours the lowest rank is merged first."""
    ids, ranks = vocabulary["ids"], vocabulary["ranks"]
    if vocabulary["whole_piece"] and text in ids:
        return [ids[text]]
    parts = [text[at : at + 1] for at in range(len(text))]
    for part in parts:
        if part not in ids:
            raise RefusedError("MISSING_BYTE", f"no token is the byte {part.hex()}")
    while pairs := [
        (ranks[left + right], at)
        for at, (left, right) in enumerate(pairwise(parts))
        if left + right in ranks
    ]:
        at = min(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ids[part] for part in parts]


def top_k(row: list[float], impossible: float, k: int) -> list[int]:
    """Return the k tokens of the largest number; of equals, those of the lowest ids."""
    ids = [token for token, number in enumerate(row) if number > impossible]
    ids.sort(key=lambda token: -row[token])  # a stable sort leaves equals as they are
    return sorted(ids[:k])


# ---- What follows is the protocol. It rarely needs a change. ----


def read_vocabulary(message: dict[str, Any]) -> dict[str, Any]:
    """Read the vocabulary file that a message names, or say why this engine has none such."""
    if "vocab" not in message:
        raise SkippedError("has no whole tokenizers")
    plain = json.loads(Path(message["path"]).read_text(encoding="ascii"))
    for name, only in {"rule": "concatenation", "pattern": None, "normalization": None}.items():
        if plain.get(name) != only:
            raise SkippedError(f"has no {name} {plain.get(name)!r}")
    return {
        "ids": {bytes.fromhex(spelled): token for spelled, token, _ in plain["tokens"]},
        "ranks": {bytes.fromhex(spelled): rank for spelled, _, rank in plain["tokens"]},
        "whole_piece": plain["whole_piece"],
    }


def read_text(question: dict[str, Any]) -> bytes:
    """Return the bytes of a text, which is given in one of three ways."""
    if "text" in question:
        text: bytes = question["text"].encode()
    elif "bytes" in question:
        text = bytes.fromhex(question["bytes"])
    else:
        recipe = question["recipe"]
        before, unit, after = (bytes.fromhex(recipe[key]) for key in ("before", "unit", "after"))
        if len(unit) * recipe["times"] > LONGEST:
            raise SkippedError(f"takes no text of more than {LONGEST} bytes")
        text = before + unit * recipe["times"] + after
    if len(text) > LONGEST:
        raise SkippedError(f"takes no text of more than {LONGEST} bytes")
    return text


def read_floats(floats: dict[str, Any]) -> list[float]:
    """Return the numbers of a row: big-endian hexadecimal digits, or a recipe for them."""
    if "gen" in floats:
        row, state, mask = [], int(floats["seed"], 16), 2**64 - 1
        step = {"f64": 2**-20, "f32": 2**-20, "f16": 2**-7, "bf16": 2**-4}[floats["dtype"]]
        for _ in range(floats["n"]):
            state = state + 0x9E3779B97F4A7C15 & mask  # SplitMix64
            word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
            word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
            row.append((word ^ word >> 31) % floats["span"] * step)
        for place, digits in floats.get("put", []):
            (row[place],) = read_floats({floats["dtype"]: digits})
        return row
    ((dtype, digits),) = floats.items()
    if dtype == "bf16":  # the upper half of an f32
        digits = "".join(digits[at : at + 4] + "0000" for at in range(0, len(digits), 4))
    letter, size = {"f64": ("d", 8), "f16": ("e", 2)}.get(dtype, ("f", 4))
    return list(struct.unpack(f">{len(digits) // 2 // size}{letter}", bytes.fromhex(digits)))


def answer(op: str, question: dict[str, Any], vocabulary: dict[str, Any] | None) -> Any:
    """Return the answer of one case."""
    if op == "encode":
        if vocabulary is None:
            raise SkippedError("no vocabulary is loaded")
        return {"ids": encode(vocabulary, read_text(question))}
    if op == "top_k":
        row = read_floats(question.get("probs") or question["logits"])
        lowest = 0.0 if "probs" in question else -inf
        if not all(lowest <= number < inf for number in row) or max(row, default=lowest) == lowest:
            raise RefusedError("INVALID_ROW", "no token is possible, or a number is not allowed")
        counts = question["params"]["k"], question["params"].get("least", 1)
        if any(type(count) is not int or count < 1 for count in counts):
            raise RefusedError(
                "INVALID_PARAMETER", f"k must be a whole number from 1, got {counts}"
            )
        return {"keep": top_k(row, lowest, max(counts))}
    raise SkippedError(f"has no operation {op}")


def guarded(call: Any, *arguments: Any) -> dict[str, Any]:
    """Return what became of a call: exactly one of ok, err, skip, crash."""
    try:
        return {"ok": call(*arguments)}
    except RefusedError as refusal:
        return {"err": {"code": refusal.args[0], "msg": refusal.args[1]}}
    except SkippedError as reason:
        return {"skip": {"reason": str(reason)}}
    except Exception as error:
        return {"crash": {"msg": f"{type(error).__name__}: {error}"}}


def main() -> None:
    """Answer line by line, until `bye` or the end of the input."""
    output, sys.stdout = sys.stdout, sys.stderr  # so that a stray print does no harm
    vocabularies: dict[str, Any] = {}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["cmd"] == "bye":
            return
        if message["cmd"] == "hello":
            impl = {"name": "my-engine", "version": "0.1", "language": "python"}
            ops = {op: {"profiles": profiles} for op, profiles in PROFILES.items()}
            reply: dict[str, Any] = {"proto": 1, "impl": impl, "ops": ops}
        elif message["cmd"] == "load":
            outcome = guarded(read_vocabulary, message)
            vocabularies = {
                message.get("vocab", ""): outcome.get("ok")
            }  # only the last one is kept
            reply = {"id": message["id"], **outcome, **({"ok": {}} if "ok" in outcome else {})}
        else:
            vocabulary = vocabularies.get(message.get("vocab", ""))
            results = [
                {"k": case["k"], **guarded(answer, message["op"], case["in"], vocabulary)}
                for case in message["cases"]
            ]
            reply = {"id": message["id"], "results": results}
        output.write(json.dumps(reply) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
