"""The engines that confirm records, and what they answered to each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tokenref.answers import Engine
from tokenref.engines.table import Unavailable, engine
from tokenref.errors import InputError
from tokenref.reports.html.page import DIFFERENCES
from tokenref.runner import Run

TOKENIZERS: Final = (
    *("tiktoken", "tokenizers", "bpe-openai", "rs-bpe", "wordchipper", "kitoken", "tokie"),
    *("splintr-rs", "fastokens", "gigatoken", "iree-tokenizer", "mistral-common", "sentencepiece"),
    "onnxruntime-extensions",
    *("gpt-tokenizer", "js-tiktoken", "tiktoken-wasm", "tokenizers-js"),
    *("llguidance", "xgrammar", "outlines-core"),
)
SAMPLERS: Final = (
    *("transformers", "llama.cpp", "torch", "numpy", "mlx-lm"),
    *("randomgen", "mmh3", "pandas", "vllm", "sglang", "exllamav2"),
    *("sglang-kernels", "vllm-kernels", "exllamav3", "aphrodite-engine", "flashinfer"),
    *("chatstream", "mistral.rs", "rust-rand", "libstdc++", "python"),
)
REAL_ENGINES: Final = (*TOKENIZERS, *SAMPLERS)
"""Every engine that is shipped, in the order of the pages."""


class AttestationError(InputError):
    """The attestation cannot be made here."""


@dataclass(frozen=True)
class Said:
    """What one engine said of one record."""

    engine: str
    status: str
    reason: str
    """Why it was not asked, without what differs from one record to the next."""


def opened(names: Sequence[str]) -> list[Engine]:
    """Return engines. Raises `AttestationError` with all that are missing, if any is.

    >>> [engine.name for engine in opened(["naive"])]
    ['naive']
    """
    entries = [engine(name) for name in names]
    missing = [
        f"{entry.name} ({entry.reason})" for entry in entries if isinstance(entry, Unavailable)
    ]
    if missing:
        raise AttestationError(
            "every engine that is shipped must be here to say what they all say: "
            f"missing {'; '.join(missing)}"
        )
    return [entry for entry in entries if not isinstance(entry, Unavailable)]


def published(run: Run) -> Run:
    """Return a run whose version is the one that was published: torch's builds have labels.

    >>> published(Run("torch", "2.13.0+cpu", 0)).version
    '2.13.0'
    """
    return replace(run, version=run.version.partition("+")[0])


def said_of(runs: Sequence[Run]) -> dict[str, list[Said]]:
    """Return, for each record, what each engine said of it."""
    said: dict[str, list[Said]] = {}
    for run in runs:
        for result in run.results:
            entry = Said(run.engine, result.judgement.status, reason(result.judgement.detail))
            said.setdefault(result.case.id, []).append(entry)
    return said


def reason(detail: str) -> str:
    """Return why a question was not put, as all engines would say it.

    >>> reason("does not declare the operation limit")
    'has no such operation'
    >>> reason("has only cl100k_base, o200k_base")
    'has only vocabularies of its own'
    """
    if detail.startswith(("does not declare the operation", "has no operation")):
        return "has no such operation"
    if detail.startswith("has only cl100k_base"):
        return "has only vocabularies of its own"
    return detail.split("\n", 1)[0] or "no reason given"


def is_confirmed(said: Sequence[Said]) -> bool:
    """Return whether some engine gives the record's answer."""
    return any(one.status == "pass" for one in said)


def is_contradicted(said: Sequence[Said]) -> bool:
    """Return whether engines answer, and none as the record says."""
    return not is_confirmed(said) and any(one.status in DIFFERENCES for one in said)
