"""What all adapters of engines that sample have in common; torch and numpy; a run by files."""

import platform
import sys
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")
pytest.importorskip("transformers", reason="and transformers")
pytest.importorskip("llama_cpp", reason="and about llama.cpp")

from bpe_ref import vocabulary_by_pair
from sampling_ref import PROFILES, STEPS, WEIGHTS
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.draws.torch_cpu import multinomial_torch_cpu
from sampling_ref.random.mt19937 import mt19937, mt19937_by_array, mt19937_by_seed_sequence
from sampling_ref.random.pcg64 import pcg64_by_seed_sequence
from sampling_ref.random.philox import philox4x64_by_seed_sequence, philox4x64_words
from sampling_ref.random.uniforms import (
    mt19937_double,
    numpy_double,
    numpy_float,
    torch_cpu_double,
    torch_cpu_float,
)
from tests.sampling.engines.asking_adapters import out, question, taken_up
from tests.sampling.engines.llama_cpp_chains import random_of
from tests.texts import CAMPAIGN, drawn
from tokenref.answers import Answer, LoadsProfiles, Ok, Refused, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.exllamav2_samplers import RULES as EXLLAMA_RULES
from tokenref.engines.exllamav3_samplers import RULES as EXLLAMA_3_RULES
from tokenref.engines.llama_cpp_samplers import RULES as LLAMA_RULES
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.engines.sglang_samplers import RULES as SGLANG_RULES
from tokenref.engines.table import Unavailable, engine
from tokenref.engines.torch_draws import to_floats, to_tensor
from tokenref.engines.transformers_steps import RULES as TRANSFORMERS_RULES
from tokenref.engines.vllm_samplers import RULES as VLLM_RULES
from tokenref.floats import TYPES, Type, nearest, pack, unpack
from tokenref.protocol.requests import answer_requests, export, judge_responses, read_requests
from tokenref.questions.sampling import pack_parameters
from tokenref.record import OPERATIONS, Case, answer_type, make_case
from tokenref.rules import all_choices, choices_of, rule_name
from tokenref.verdicts import Close, Exact, MustRefuse, Verdict

HERE = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where the numbers of llama.cpp are those of the reference: glibc's."""


def test_a_rule_is_answered_where_a_step_follows_it() -> None:
    given: dict[str, Any] = {"logits": pack([1.0, 2.0, 2.0])}
    for name, op, rule, params, keep in (
        ("transformers", "top_k", rule_name("top_k", ties="all"), {"k": 1}, [1, 2]),
        ("transformers", "min_p", "standard", {"m": 0.5, "least": 3}, [0, 1, 2]),
        ("llama.cpp", "top_n_sigma", "zero.off", {"n": 0.25}, [1, 2]),
        ("llama.cpp", "min_p", rule_name("min_p", above_one="best"), {"m": 0.5}, [1, 2]),
    ):
        session = taken_up(name, rule)
        asked = {**given, "params": pack_parameters(params)}
        assert out(session.answer(op, asked)) == {"keep": keep}
        other = {**asked, "params": pack_parameters({**params, "unknown": 1})}
        assert isinstance(session.answer(op, other), Unsupported)
        assert isinstance(session.answer("chain", asked), Unsupported)
    assert isinstance(taken_up("llama.cpp", "standard").answer("top_k", asked), Unsupported)
    standards = {name: taken_up(name, "standard") for name in ("transformers", "llama.cpp")}
    row: dict[str, Any] = {"logits": pack([4.0, 4.0]), "history": [0, 1, 1]}
    for op, window, after in (
        *(("penalties", 1, [4.0, 2.0]), ("penalties", None, [2.0, 2.0])),
        *(("encoder_repetition", 0, [8.0, 4.0]), ("repetition_penalty", 0, [2.0, 2.0])),
    ):
        name = "llama.cpp" if op == "penalties" else "transformers"
        own: dict[str, Any] = {"penalty": 2.0}
        if op == "penalties":
            own = {"repetition": 2.0, "window": window}
        asked = {**row, "prompt_length": 1, "params": pack_parameters(own)}
        answer = standards[name].answer(op, asked)
        assert unpack(out(answer)["logits"]) == after, op
    by_one = {**given, "params": {"k": 1}}  # of which the engine follows another rule
    assert isinstance(standards["transformers"].answer("top_k", by_one), Unsupported)


TABLES = {
    "transformers": TRANSFORMERS_RULES,
    "llama.cpp": LLAMA_RULES,
    "vllm": VLLM_RULES,
    "sglang": SGLANG_RULES,
    "exllamav2": EXLLAMA_RULES,
    "exllamav3": EXLLAMA_3_RULES,
}
OF_THE_LIBRARY = {
    *("softmax", "greedy", "logprobs", "token_mask", "exponential_decay_length"),
    *(("llama.cpp", op) for op in ("repetition_penalty", "frequency_penalty", "presence_penalty")),
    ("vllm", "penalties"),
}
"""Rules of functions that are no stages of the profile."""


@pytest.mark.parametrize("name", TABLES)
def test_own_rules_are_those_of_the_profiles(name: str) -> None:
    for op, own in TABLES[name].items():
        if not {op, (name, op)}.isdisjoint(OF_THE_LIBRARY):
            continue
        stage = PROFILES[name].stages_of(op)[-1]
        off = {"zero": "off"} if op == "top_n_sigma" else {}  # its stage is left out then
        if op == "top_p" and name in {"vllm", "sglang"}:  # they refuse 0
            off = {"zero": "error"}
        if op == "adaptive_p" and stage.draw is not None:
            off = {"boundary": stage.draw.boundary}
        points = {key: stage.choices[key] for key in STEPS[op].choices if key in stage.choices}
        for point in own.undefined:
            points.pop(point, None)
        ours = choices_of(op, own.rule) or {}
        assert {**all_choices(op, {}), **points, **off} == {**all_choices(op, {}), **ours}
        assert dict(stage.takes).items() <= own.names.items()


@pytest.mark.parametrize(
    "name", ["transformers", "torch", "numpy", "mlx-lm", "vllm", "sglang", "exllamav2"]
)
def test_an_engine_that_only_samples_has_no_tokenizer(name: str) -> None:
    found = engine(name)
    assert not isinstance(found, Unavailable)
    assert found.load(vocabulary_by_pair({b"a": 0}, []), "a") == Unsupported(
        "has no tokenizer, only samplers"
    )


@pytest.mark.parametrize(
    "name", ["transformers", "llama.cpp", "torch", "numpy", "mlx-lm", "vllm", "sglang", "exllamav2"]
)
def test_an_engine_that_samples_has_not_every_profile(name: str) -> None:
    found = engine(name)
    assert isinstance(found, LoadsProfiles)
    assert isinstance(found.load_profile("exllamav3"), Unsupported)


def test_torch_and_numpy_draw_with_the_numbers_that_are_handed_over() -> None:
    race = rule_name("draw", method="torch race")
    torchs, numpys, random = taken_up("torch", race), taken_up("numpy", "standard"), random_of(2)
    for _ in range(100 * CAMPAIGN):
        shares = [random.choice([0, 1, 2, 3, 5]) for _ in range(random.randint(1, 9))]
        total = sum(shares) or 1
        dtype: Type = random.choice(["f64", "f32"])
        probs = [share / total for share in shares]
        probs = [nearest(share, dtype) for share in probs]
        numbers = [random.random() for _ in probs]
        asked = {"probs": pack(probs, dtype), "uniforms": pack(numbers, "f64")}
        words = iter([half for one in numbers for half in divmod(int(one * 2**53), 2**32)])
        if not sum(shares):
            assert torchs.answer("draw", asked) == Refused(
                "INVALID_ROW", "invalid multinomial distribution (sum of probabilities <= 0)"
            )
            assert numpys.answer("draw", asked).code == "INVALID_ROW"
            continue
        token = multinomial_torch_cpu(probs, words, bits=64 if dtype == "f64" else 32)
        assert out(torchs.answer("draw", asked)) == {"token": token}
        walked = numpys.answer("draw", {**asked, "uniforms": pack(numbers[:1], "f64")})
        if dtype == "f32" and isinstance(walked, Unsupported):  # the shares no longer sum to 1
            continue
        assert out(walked) == {"token": inverse_cdf(probs, numbers[0], numbers=WEIGHTS)}


def test_torch_and_numpy_tell_their_words_and_numbers() -> None:
    words = [f"{word:08x}" for word in islice(mt19937(7), 3, 13)]
    asked = {"seed": "7", "taken": 3, "count": 10}
    for name in ("torch", "numpy"):
        assert out(taken_up(name, "mt19937").answer("random_words", asked)) == {"words": words}
    numbers = [int(word, 16) for word in words]
    pairs = list(zip(numbers[0::2], numbers[1::2], strict=True))
    wide: Type = "f64"
    narrow: Type = "f32"
    for name, profile, wanted, dtype in (
        ("torch", "torch-cpu-double", [torch_cpu_double(*pair) for pair in pairs], wide),
        ("torch", "torch-cpu-float", [torch_cpu_float(word) for word in numbers], narrow),
        ("numpy", "mt19937-double", [mt19937_double(*pair) for pair in pairs], wide),
        ("numpy", "numpy-float", [numpy_float(word) for word in numbers], narrow),
    ):
        answer = taken_up(name, profile).answer("uniforms", {"words": words})
        assert out(answer) == {"uniforms": pack(wanted, dtype)}, profile
    long = [one + other for one, other in zip(words[0::2], words[1::2], strict=True)]
    wanted = [numpy_double(int(word, 16)) for word in long]
    answer = taken_up("numpy", "numpy-double").answer("uniforms", {"words": long})
    assert out(answer) == {"uniforms": pack(wanted, "f64")}
    key = {"key": [f"{word:016x}" for word in (5, 7)]}
    starts: dict[str, tuple[dict[str, Any], Any, int]] = {
        "mt19937.seed-sequence": ({"seed": "9"}, mt19937_by_seed_sequence(9), 8),
        "mt19937.by-array": ({"key": ["00000009"]}, mt19937_by_array([9]), 8),
        "pcg64.seed-sequence": ({"seed": "9"}, pcg64_by_seed_sequence(9), 16),
        "philox4x64-10.seed-sequence": ({"seed": "9"}, philox4x64_by_seed_sequence(9), 16),
        "philox4x64-10.numpy": (key, philox4x64_words([5, 7]), 16),
    }
    for name, (start, stream, digits) in starts.items():
        told = [f"{word:0{digits}x}" for word in islice(stream, 2, 6)]
        session = taken_up("numpy", name)
        found = session.answer("random_words", {**start, "taken": 2, "count": 4})
        assert out(found) == {"words": told}, name
        both = {"seed": "1", **key, "taken": 2, "count": 4}
        assert isinstance(session.answer("random_words", both), Unsupported), name
    halves = list(islice(mt19937_by_seed_sequence(9), 4))
    low_first = [
        f"{high:08x}{low:08x}" for low, high in zip(halves[::2], halves[1::2], strict=True)
    ]
    session = taken_up("numpy", "mt19937.seed-sequence+pairs-low-first")
    found = session.answer("random_words", {"seed": "9", "taken": 1, "count": 1})
    assert out(found) == {"words": low_first[1:]}


def test_torch_walks_where_tokens_may_come_again() -> None:
    session = taken_up("torch", rule_name("draw", method="torch walk"))
    asked = {"probs": pack([0.5, 0.25, 0.25]), "uniforms": pack([0.5, 0.75, 0.8125], "f64")}
    assert out(session.answer("draw", {**asked, "count": 3})) == {"tokens": [0, 1, 2]}
    race = taken_up("torch", rule_name("draw", method="torch race"))
    assert out(race.answer("draw", {**asked, "count": 2})) == {"tokens": [0, 1]}
    assert race.answer("draw", {**asked, "count": 4}).code == "INVALID_ROW"
    # Waits of 0.69, 0.29 and 0.21 for a unit of weight, or of 0.69, 1.39 and 1.67 otherwise.
    for noise, tokens in (("-log u", [2, 1, 0]), ("-log(1-u)", [0, 1, 2])):
        rule = rule_name("draw", method="exponential race", noise=noise)
        assert (
            out(taken_up("torch", rule).answer("draw", {**asked, "count": 3}))["tokens"] == tokens
        )


def test_torch_itself_answers_rows_and_many_draws() -> None:
    session = taken_up("torch", "standard")
    asked = {"logits": pack([0.0, 1.0, 1.0])}
    assert out(session.answer("greedy", asked)) == {"token": 1}
    shares = unpack(out(session.answer("softmax", asked))["probs"])
    assert shares == pytest.approx([0.155362, 0.422319, 0.422319], rel=1e-5)
    logs = unpack(out(session.answer("logprobs", asked))["logprobs"])
    assert logs == pytest.approx([-1.861995, -0.861995, -0.861995], rel=1e-5)
    many = {"probs": pack([0.5, 0.0, 0.5]), "params": {}, "draws": 10_000}
    counts = dict(out(session.answer("stat", many))["counts"])
    assert sum(counts.values()) == 10_000
    assert abs(counts[0] - 5000) < 250
    assert 1 not in counts


@pytest.mark.parametrize("dtype", TYPES)
@given(st.data())
@drawn(20)
def test_rows_go_to_torch_and_back_bit_for_bit(dtype: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.floats(width=16) | st.sampled_from([-0.0, inf, -inf])))
    packed = pack([nearest(value, dtype) for value in values], dtype)
    assert to_floats(to_tensor([packed])[0], dtype) == packed


def test_many_draws_of_each_engine_follow_the_law() -> None:
    llama, hugging = taken_up("llama.cpp", "llama.cpp"), taken_up("transformers", "transformers")
    row, draws = [2.0, 1.0, 0.0, -1.0, -inf, 0.5], 20_000 * CAMPAIGN
    asked_of: list[tuple[Any, dict[str, Any]]] = [
        *((llama, {"top_k": 0, "min_p": 0.0, "top_p": 1.0, "temp": 1.0}), (llama, {"top_k": 3})),
        *((hugging, {}), (hugging, {"temperature": 0.5, "top_p": 0.9})),
    ]
    for session, params in asked_of:
        asked = question(row, **params)
        law = unpack(out(session.answer("distribution", asked))["probs"])
        counts = dict(out(session.answer("stat", {**asked, "draws": draws}))["counts"])
        assert sum(counts.values()) == draws
        for token, share in enumerate(law):
            spread = (draws * share * (1 - share)) ** 0.5
            assert abs(counts.get(token, 0) - draws * share) <= 5 * spread, (params, token)


def recorded(dtype: Type) -> list[Case]:
    """Return records of the profile "transformers" with rows of a type, and one wrong answer."""
    row = [nearest(logit, dtype) for logit in (1.5, 4.0, -2.0, 0.25, 4.0, -inf)]
    made: list[Case] = []
    for op, params in (
        *(("top_k", {"top_k": 1}), ("top_k", {"top_k": 3}), ("top_p", {"top_p": 0.75})),
        *(("min_p", {"min_p": 0.5}), ("typical", {"typical_p": 0.5}), ("eta", {"eta_cutoff": 0.1})),
        *(("chain", {"top_k": 4, "temperature": 0.5}), ("temperature", {"temperature": 0.5})),
        *(("softmax", {}), ("temperature", {"temperature": 3.0}), ("chain", {"top_k": -1})),
    ):
        asked = question(row, dtype=dtype, **params)
        profile = "standard" if op == "softmax" else "transformers"
        given = {
            name: asked[name] for name in OPERATIONS[op].question.__struct_fields__ if name in asked
        }
        expected = SamplerSession(profile).answer(op, given)
        answered = None
        if isinstance(expected, Ok):
            answered = msgspec.convert(expected.out, answer_type(op))
        made.append(
            make_case(
                op,
                id=f"sampling/{op}/{dtype}/n{len(made)}",
                profile=profile,
                why="An example for the tests of the adapters.",
                flags=[],
                spec="docs/sampling.md",
                verdict=verdict_of(op, expected),
                input=msgspec.convert(given, OPERATIONS[op].question),
                out=answered,
            )
        )
    return made


def verdict_of(op: str, expected: Answer) -> Verdict:
    if isinstance(expected, Refused):
        return MustRefuse(codes=[expected.code])
    return Close(ulp=4) if op in {"softmax", "temperature"} else Exact()


@pytest.mark.parametrize("name", ["transformers", "llama.cpp", "torch"])
def test_what_is_answered_somewhere_else_is_judged_as_here(name: str, tmp_path: Path) -> None:
    catalogue = open_catalogue()
    cases = [case for dtype in TYPES for case in recorded(dtype)]
    wrong = msgspec.structs.replace(
        cases[0], id="canary/top_k/wrong", out=msgspec.convert({"keep": [0]}, answer_type("top_k"))
    )
    catalogue.cases, catalogue.canaries = cases, [wrong]
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    requests.write_bytes(b"".join(export(cases, catalogue, "sha256:" + "0" * 64, str)))
    found = engine(name)
    assert not isinstance(found, Unavailable)
    responses.write_bytes(b"".join(answer_requests(found, requests)))
    verdicts = judge_responses(responses, read_requests(requests, catalogue), catalogue)
    assert not verdicts.trouble
    assert not verdicts.canaries
    assert (verdicts.hello.impl.name, verdicts.hello.impl.version) == (name, found.version)
    statuses = {result.case.id: result.judgement.status for result in verdicts.results}
    assert len(statuses) == len(cases)
    own = {"transformers": ("transformers", "standard"), "torch": ("standard",)}.get(name, ())
    for case in cases:
        assert statuses[case.id] == ("pass" if case.profile in own else "unsupported"), case.id


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_torch_refuses_the_largest_of_nothing(name: str) -> None:
    answer = taken_up(name, "standard").answer("greedy", {"logits": {"f32": ""}})
    assert isinstance(answer, Refused)
    assert answer.code == "INVALID_ROW"
    assert "non-zero size" in answer.message or "numel() == 0" in answer.message


@pytest.mark.parametrize(
    ("name", "op", "params", "reason"),
    [
        ("transformers", "no_repeat_ngram", {"ngram_size": 0}, "0 disables its no_repeat_ngram"),
        (
            "transformers",
            "repetition_penalty",
            {"penalty": 2.0, "skipped": -1},
            "ignores only padding",
        ),
    ],
)
def test_a_parameter_that_means_something_else_to_an_engine_is_not_put_to_it(
    name: str, op: str, params: dict[str, Any], reason: str
) -> None:
    answer = taken_up(name, "standard").answer(op, question([1.0, 2.0], [0, 1], 1, **params))
    assert isinstance(answer, Unsupported)
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("name", "op", "params"),
    [("transformers", "temperature", {"temperature": 2.0}), ("llama.cpp", "penalties", {})],
)
def test_no_engine_is_told_of_a_prompt_that_is_longer_than_the_history(
    name: str, op: str, params: dict[str, Any]
) -> None:
    session = taken_up(name, "standard")
    assert isinstance(session.answer(op, question([1.0, 2.0], [0], 1, **params)), Ok)
    answer = session.answer(op, question([1.0, 2.0], [0], 2, **params))
    assert isinstance(answer, Unsupported)
    assert "prompt" in answer.reason
