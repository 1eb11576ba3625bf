"""Kernels of torch, asked and judged by files: the way that leads to a GPU, walked here."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from authoring.attestation.pages import numbers_of
from tests.sampling.engines.asking_adapters import taken_up
from tokenref.answers import Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.table import Unavailable, engine
from tokenref.floats import pack
from tokenref.known import read_known
from tokenref.protocol.requests import answer_requests, export, judge_responses, read_requests
from tokenref.record import op_of
from tokenref.record_files import manifest_digest
from tokenref.runner import with_known_results

pytest.importorskip("torch", reason="these tests run torch: pip install '.[sampling-engines]'")

OPS: Final = {"softmax", "logprobs", "greedy", "stat"}


@pytest.mark.parametrize("device", ["no-device", "cuda:99"])
@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_device_that_is_not_there_is_said_before_any_question(
    name: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name, reason="pip install '.[sampling-engines]'")
    monkeypatch.setenv("TOKENREF_TORCH_DEVICE", device)
    found = engine(name)
    assert isinstance(found, Unavailable)
    assert found.reason.startswith(f"TOKENREF_TORCH_DEVICE is {device!r}, which torch cannot use")
    assert "\n" not in found.reason


@pytest.mark.parametrize(
    "question",
    [
        ("repetition_penalty", {"history": [2], "params": {"penalty": 2}}),
        ("logit_bias", {"params": {"biases": {"map": [[-1, 1]]}}}),
        ("min_new_tokens", {"params": {"count": 3, "ends": 2}}),
        ("bad_words", {"params": {"words": [[0, 1], [2]]}}),
        ("steps", {"steps": [{"step": "suppress", "params": {"tokens": [0, 2]}}]}),
    ],
)
def test_a_device_is_not_asked_about_tokens_outside_the_row(
    question: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it would be an assertion in a kernel, and all later questions would fail."""
    monkeypatch.setenv("TOKENREF_TORCH_DEVICE", "cpu:0")  # another name of the CPU
    session = taken_up("vllm", "vllm")
    asked = {"logits": pack([0.0, 1.0], "f32"), **question[1]}
    reason = "is not asked about tokens outside the row, on a device"
    assert session.answer(question[0], asked) == Unsupported(reason)
    rows = {"op": question[0], "rows": [{"logits": pack([0.0] * 3, "f32")}, asked]}
    assert session.answer("batch", rows) == Unsupported(reason)


SLOW = "takes minutes, because each draw needs a random number for every token"


@pytest.mark.parametrize(("dtype", "least"), [("f32", 40), ("f64", 3), ("f16", 8), ("bf16", 6)])
def test_torch_is_right_by_files_in_every_type(dtype: str, least: int, tmp_path: Path) -> None:
    catalogue = open_catalogue()
    catalogue.cases = [
        case for case in catalogue.cases if op_of(case) in OPS and numbers_of(case) == dtype
    ]
    catalogue.canaries = [case for case in catalogue.canaries if op_of(case) in OPS]
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    digest = manifest_digest(catalogue.manifest)
    lines = export(catalogue.cases, catalogue, digest, lambda loading: loading.name)
    requests.write_bytes(b"".join(lines))
    torch = engine("torch")
    assert not isinstance(torch, Unavailable)
    responses.write_bytes(b"".join(answer_requests(torch, requests)))
    verdicts = judge_responses(responses, read_requests(requests, catalogue), catalogue)
    assert (verdicts.trouble, verdicts.canaries) == ([], [])
    results = with_known_results(verdicts.results, "torch", read_known())
    ended = Counter(result.judgement.status for result in results)
    assert ended["pass"] >= least
    assert set(ended) <= {"pass", "xfail", "unsupported", "skip"}
    skipped = {
        (each.case.id, each.judgement.detail) for each in results if each.judgement.status == "skip"
    }
    few = {
        ("sampling/stat/laws/filtered", "only draws from an unchanged row"),
        ("sampling/stat/laws/far-128256", SLOW),
    }
    assert skipped == (few if dtype == "f32" else set())
