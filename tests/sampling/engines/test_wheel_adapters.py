"""Adapters of engines that run out of wheels, and of Rust's crates: what they answer, by hand."""

from typing import Any

import pytest

pytest.importorskip("torch", reason="the engines need PyTorch")

from tests.sampling.engines.asking_adapters import logits, out, question, taken_up
from tokenref.answers import Refused, Unsupported
from tokenref.engines.table import Unavailable, engine
from tokenref.floats import TYPES, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import rule_name

INF = float("inf")
SHARES = pack([0.5, 0.25, 0.125, 0.125], "f32")


def adapter(name: str, profile: str) -> Any:
    found = engine(name)
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    return taken_up(name, profile)


def of_shares(**params: Any) -> dict[str, Any]:
    return {"probs": SHARES, "params": pack_parameters(params)}


def test_aphrodites_operations_keep_what_their_rules_keep() -> None:
    for op, params, keep in (
        ("top_a", {"a": 1.0}, [0, 1]),  # a quarter
        ("epsilon", {"cutoff": 0.2}, [0, 1]),
        ("tail_free", {"z": 0.5}, [0, 1]),
    ):
        assert out(adapter("aphrodite-engine", "standard").answer(op, of_shares(**params))) == {
            "keep": keep
        }
    xtc = of_shares(threshold=0.2, probability=0.5)
    for number, keep in ((0.25, [1, 2, 3]), (0.75, [0, 1, 2, 3])):
        asked = {**xtc, "uniforms": pack([number], "f32")}
        assert out(adapter("aphrodite-engine", "standard").answer("xtc", asked)) == {"keep": keep}
    # The entropy is 1.21 and the surprises are 0.69, 1.39, 2.08 and 2.08: 1, 0, 2 and 3 in turn.
    short = adapter("aphrodite-engine", rule_name("typical", boundary="short", ties="lowest id"))
    for mass, kept in ((0.2, [1]), (0.75, [1]), (0.8, [0, 1]), (0.9, [0, 1, 2])):
        assert out(short.answer("typical", of_shares(mass=mass))) == {"keep": kept}


def test_aphrodites_mirostat_learns_from_the_whole_row() -> None:
    session = adapter("aphrodite-engine", "standard")
    asked = {**question([0.0] * 4, tau=1.0, eta=0.5), "uniforms": pack([0.875], "f32")}
    # Each token has 2 bits of surprise; mu falls by 0.5 * (2 - 1).
    for mu, token, after in ((2.0, 3, 1.5), (1.5, 0, 1.0)):
        state = {"mu": pack([mu], "f32")}
        wanted = {"token": token, "state": {"mu": pack([after], "f32")}}
        assert out(session.answer("mirostat_2", {**asked, "state": state})) == wanted
    at_start = {"token": 3, "state": {"mu": pack([1.5], "f32")}}  # twice tau is 2
    assert out(session.answer("mirostat_2", asked)) == at_start
    for wrong in (
        {"uniforms": pack([1.0], "f32")},
        {"logits": pack([INF, 0.0], "f32")},
        {"logits": pack([-INF], "f32")},
        {"params": pack_parameters({"tau": INF, "eta": 0.5})},
        {"params": pack_parameters({"eta": 0.5})},
    ):
        assert isinstance(session.answer("mirostat_2", {**asked, **wrong}), Unsupported)


def test_what_aphrodite_does_not_check_is_not_put_to_it() -> None:
    session = adapter("aphrodite-engine", "standard")
    assert isinstance(session.answer("top_a", of_shares(a=-1.0)), Unsupported)
    assert isinstance(session.answer("top_a", question([INF, 0.0], a=0.5)), Unsupported)
    # a number that is exactly the probability decides, and at most is not below
    coin = {**of_shares(threshold=0.2, probability=0.5), "uniforms": pack([0.5], "f32")}
    assert isinstance(session.answer("xtc", coin), Unsupported)
    # all but the last token, which has an equal: it is the one with the higher id
    assert out(session.answer("tail_free", of_shares(z=1.0))) == {"keep": [0, 1, 2]}
    highest = adapter("aphrodite-engine", rule_name("tail_free", ties="highest id"))
    assert isinstance(highest.answer("tail_free", of_shares(z=1.0)), Unsupported)


def test_exllamav3_drops_the_token_across() -> None:
    within = adapter("exllamav3", rule_name("top_p", boundary="within", zero="best"))
    for p, keep in ((0.75, [0, 1]), (0.7, [0]), (0.0, [0])):
        assert out(within.answer("top_p", of_shares(p=p))) == {"keep": keep}
    assert isinstance(within.answer("top_p", of_shares(p=0.9)), Unsupported)  # one of two equals
    assert isinstance(within.answer("top_p", of_shares(p=1.5)), Refused)


def test_exllamav3_answers_its_chain_and_draws_if_no_row_is_sorted() -> None:
    session = adapter("exllamav3", "exllamav3")
    row = question([3.0, 2.0, 1.0, 0.0], top_k=2, temperature=2.0)
    assert out(session.answer("chain", row))["keep"] == [0, 1]
    law = unpack(out(session.answer("distribution", row))["probs"])
    assert law[2:] == [0.0, 0.0]
    assert law[0] == pytest.approx(0.6225, abs=1e-4)  # 1 / (1 + exp(-1/2))
    assert isinstance(session.answer("sample", row), Unsupported)
    assert out(session.answer("sample", question([1.0, 3.0], top_k=1))) == {"token": 1}
    penalized = question([1.0, 3.0], [1], rep_p=2.0)
    assert logits(session.answer("decaying_penalties", penalized)) == [1.0, 1.5]
    assert unpack(out(session.answer("distribution", penalized))["probs"])[0] == pytest.approx(
        0.3775,
        abs=1e-4,  # 1 / (1 + exp(1/2))
    )
    for numbers, token in (([0.5, 0.5], 1), ([0.75, 0.0625], 0)):  # noise 1.25 and -1.02
        drawn = {**question([1.0, 1.5]), "uniforms": pack(numbers, "f32")}
        assert out(session.answer("sample", drawn)) == {"token": token}
    assert logits(session.answer("logit_bias", question([1.0, 3.0], logit_bias={0: 4.0}))) == [5, 3]


def test_sglangs_kernel_accepts_below_the_ratio_and_draws_from_the_rest() -> None:
    session = adapter("sglang-kernels", "standard")
    rows = {"draft": [SHARES], "target": [pack([0.25, 0.5, 0.25, 0.0], "f32"), SHARES]}
    for number, answer in (
        (0.25, {"accepted": 1, "tokens": [0, 2]}),
        (0.5, {"accepted": 0, "tokens": [2]}),  # of 2/3 for 1, and 1/3 for 2
    ):
        numbers = pack([number, 0.75], "f32")
        asked = {**rows, "tokens": [0], "uniforms": numbers, "params": {}}
        assert out(session.answer("speculative", asked)) == answer
        block = adapter("sglang-kernels", rule_name("speculative", method="block"))
        assert out(block.answer("speculative", asked)) == answer
    assert isinstance(session.answer("speculative", {**asked, "tokens": [4]}), Unsupported)


def test_sglangs_kernel_for_trees_adds_up_the_guesses_for_one_place() -> None:
    session = adapter("sglang-kernels", rule_name("speculative", method="target only"))
    tree = {"draft": [], "target": [SHARES] * 3, "tokens": [1, 2], "params": {"parents": [0, 0]}}
    for number, accepted, tokens in ((0.1875, 1, [1, 0]), (0.3125, 1, [2, 0]), (0.4375, 0, [0])):
        asked = {**tree, "uniforms": pack([number, 0.0, 0.0, 0.25], "f32")}
        assert out(session.answer("speculative", asked)) == {"accepted": accepted, "tokens": tokens}
    short = {**tree, "uniforms": pack([0.25, 0.0, 0.25], "f32")}
    assert isinstance(session.answer("speculative", short), Unsupported)


def test_vllms_kernels_draw_hash_and_make_numbers() -> None:
    row = {"logits": pack([0.0, 0.0], "f32"), "uniforms": pack([0.25, 0.75], "f64")}
    race = adapter("vllm-kernels", rule_name("draw", method="gumbel max"))
    assert out(race.answer("draw", row)) == {"token": 1}  # the larger number has more noise
    other = rule_name("draw", method="gumbel max", noise="-log(1-u)")
    assert out(adapter("vllm-kernels", other).answer("draw", row)) == {"token": 0}
    assert isinstance(race.answer("draw", {**row, "uniforms": pack([0.5], "f64")}), Unsupported)
    numbers = adapter("vllm-kernels", "vllm-double").answer(
        "uniforms", {"words": ["00000000", "80000000"]}
    )
    assert unpack(out(numbers)["uniforms"]) == [0.5]


def test_vllms_kernel_accepts_drafts_if_one_token_can_follow() -> None:
    rule = rule_name("speculative", undrafted="reject", equality="accept")
    sure, last = pack([0.25, 0.75, 0.0, 0.0], "f32"), pack([0.0, 0.0, 0.0, 1.0], "f32")
    drafts = {"draft": [SHARES], "target": [sure, last], "tokens": [0], "params": {}}
    for number, answer in (
        (0.5, {"accepted": 1, "tokens": [0, 3]}),  # the ratio itself
        (0.75, {"accepted": 0, "tokens": [1]}),
    ):
        asked = {**drafts, "uniforms": pack([number, 0.25], "f32")}
        assert out(adapter("vllm-kernels", rule).answer("speculative", asked)) == answer
        several = {**asked, "target": [pack([0.25, 0.5, 0.25, 0.0], "f32"), SHARES]}
        assert isinstance(adapter("vllm-kernels", rule).answer("speculative", several), Unsupported)
    assert isinstance(adapter("vllm-kernels", rule).answer("stat", of_shares()), Unsupported)


def test_flashinfers_kernels_keep_all_equals_and_draw_with_one_number() -> None:
    session = adapter("flashinfer", "flashinfer")
    row = {"logits": pack([2.0, 1.0, 1.0, -1.0], "f32")}
    for params, keep in (
        ({"top_k": 2}, [0, 1, 2]),
        ({"top_p": 0.5}, [0]),
        ({"min_p": 0.3}, [0, 1, 2]),
        ({"top_k": 1, "top_p": 0.9, "filter_apply_order": "joint"}, [0]),
    ):
        asked = {**row, "params": pack_parameters(params)}
        assert out(session.answer("chain", asked)) == {"keep": keep}
    assert isinstance(session.answer("chain", {**row, "params": {"top_k": 0}}), Unsupported)
    drawn = {**of_shares(), "uniforms": pack([0.5], "f32")}
    assert out(adapter("flashinfer", "standard").answer("draw", drawn)) == {"token": 1}


def test_vllm_applies_masks_of_words_by_xgrammar() -> None:
    pytest.importorskip("xgrammar")
    session = adapter("vllm", "standard")
    assert logits(session.answer("token_mask", question([1.0, 2.0, 3.0], words=[5]))) == [
        *(1.0, -INF, 3.0)
    ]
    assert logits(session.answer("token_mask", question([1.0] * 33, words={1: 1})))[31:] == [
        *(-INF, 1.0)
    ]
    assert isinstance(session.answer("token_mask", question([1.0] * 33, words=[1])), Unsupported)


def test_vllm_follows_the_documentation_of_openais_interface() -> None:
    session = adapter("vllm", "openai")
    penalised = question([2.0, 1.0, 0.0], [0, 1, 1], 1, frequency_penalty=0.5)
    assert logits(session.answer("frequency_penalty", penalised)) == [2.0, 0.0, 0.0]
    row = question([3.0, 2.0, 0.0], temperature=0.5, top_p=0.9)  # 0.88 and 0.12
    assert out(session.answer("chain", row)) == {"keep": [0, 1]}
    greedy = {**question([1.0, 3.0], temperature=0.0), "uniforms": pack([0.5], "f64")}
    assert out(session.answer("sample", greedy)) == {"token": 1}
    assert isinstance(session.answer("chain", question([1.0, 0.0], temperature=2.5)), Refused)
    equal = question([0.0] * 4, top_p=0.6)  # three of four equals, by no published rule
    assert isinstance(session.answer("chain", equal), Unsupported)
    drawn = {**question([0.0, 1.0]), "uniforms": pack([0.5], "f64")}
    assert isinstance(session.answer("sample", drawn), Unsupported)  # it needs one for each token


def test_vllm_draws_the_same_tokens_for_a_seed_in_any_batch() -> None:
    asked = {"probs": pack([1 / 64] * 64, "f32"), "params": {}, "tokens": 8}
    batches = [[5], [None, 5], [5, 5, 6]]
    found = out(adapter("vllm", "standard").answer("seeds", {**asked, "batches": batches}))
    (alone,), (_, second), (first, same, other) = found["batches"]
    assert alone == second == first == same
    assert len(alone) == 8
    assert alone != other


def test_vllms_functions_work_on_a_row_in_its_own_type() -> None:
    session = adapter("vllm", "standard")
    for dtype in TYPES:
        asked = question([2.0, 1.0], [0, 0], dtype=dtype, penalty=0.5)
        answer = out(session.answer("frequency_penalty", asked))
        assert answer == {"logits": pack([1.0, 1.0], dtype)}
    together = rule_name("penalties", additive_scope="output")
    asked = question([4.0, 4.0], [0, 1], 1, repetition=2.0, frequency=0.5, presence=0.25)
    assert logits(adapter("vllm", together).answer("penalties", asked)) == [2.0, 1.25]
    long = question([4.0], [0] * 65, penalty=1.0, presence=1.0)
    assert isinstance(adapter("vllm", together).answer("penalties", long), Unsupported)


def test_an_engine_is_given_the_tokens_that_a_penalty_counts() -> None:
    row = question([4.0, 4.0, 4.0], [0, 1, 2], 2, penalty=2.0)
    prompt = {name: rule_name(name, scope="prompt") for name in _PENALTIES}
    assert logits(adapter("vllm", prompt[_REPETITION]).answer(_REPETITION, row)) == [2.0, 2.0, 4.0]
    for name in _PENALTIES[1:]:
        assert logits(adapter("vllm", prompt[name]).answer(name, row)) == [2.0, 2.0, 4.0]
    everything = adapter("vllm", rule_name("presence_penalty", scope="all"))
    skipping = question([4.0, 4.0, 4.0], [0, 1, 2], 2, penalty=2.0, skipped=1)
    assert logits(everything.answer("presence_penalty", skipping)) == [4.0, 2.0, 2.0]
    subtracting = rule_name(_REPETITION, method="subtract", scope="prompt")
    assert logits(adapter("chatstream", subtracting).answer(_REPETITION, row)) == [2.0, 2.0, 4.0]


_REPETITION = "repetition_penalty"
_PENALTIES = (_REPETITION, "frequency_penalty", "presence_penalty")


def test_rows_of_a_batch_have_their_own_parameters_wherever_they_are_in_memory() -> None:
    rows = [
        {"logits": pack(row, "f32"), "params": pack_parameters({"k": k})}
        for row, k in (([3.0, 2.0, 1.0, 9.0], 1), ([1.0, 2.0, 3.0, 9.0], 2))
    ]
    asked = {"op": "top_k", "rows": rows, "vocab_size": 3, "layout": {"order": [1, 0], "stride": 5}}
    for name, profile in (("vllm", rule_name("top_k", ties="all")), ("sglang", "standard")):
        found = out(adapter(name, profile).answer("batch", asked))
        assert found == {"rows": [{"keep": [0]}, {"keep": [1, 2]}]}


def test_rust_makes_its_published_words_and_its_numbers() -> None:
    words = {"seed": "2a", "taken": 0, "count": 1}
    found = adapter("rust-rand", "xoshiro256plusplus.by-seed").answer("random_words", words)
    assert out(found) == {"words": ["d0764d4f4476689f"]}
    high = adapter("rust-rand", "xoshiro256plusplus.by-seed+high-halves")
    assert out(high.answer("random_words", words)) == {"words": ["d0764d4f"]}
    zeros = {"key": ["0" * 16] * 4, "taken": 0, "count": 1}
    state = adapter("rust-rand", "xoshiro256plusplus").answer("random_words", zeros)
    assert isinstance(state, Unsupported)
    number = adapter("rust-rand", "rust-float").answer("uniforms", {"words": ["80000000"]})
    assert unpack(out(number)["uniforms"]) == [0.5]
    short = adapter("rust-rand", "rust-double").answer("uniforms", {"words": ["80000000"]})
    assert isinstance(short, Unsupported)


def test_mistral_rs_penalises_repetitions_and_counts() -> None:
    session = adapter("mistral.rs", "mistral.rs")
    # The last two tokens occurred before; what followed costs 1 * 2 ** (2 - 1).
    dry: dict[str, Any] = {"dry_multiplier": 1.0, "dry_base": 2.0, "dry_allowed_length": 1}
    repeats = [0, 1, 2, 0, 1]
    row = [8.0] * 3
    asked = question(row, repeats, **dry)
    assert logits(session.answer("dry_nearby", asked)) == [8.0, 8.0, 6.0]
    broken = question(row, repeats, **dry, dry_sequence_breakers=[0])
    assert logits(session.answer("dry_nearby", broken)) == [8.0, 8.0, 7.0]
    by_rule = question(row, repeats, multiplier=1.0, base=2.0, allowed_length=1)
    found = adapter("mistral.rs", "standard").answer("dry_nearby", by_rule)
    assert logits(found) == [8.0, 8.0, 6.0]
    counted = question([2.0, 2.0], [0, 0], frequency_penalty=0.5, presence_penalty=0.25)
    assert logits(session.answer("penalties", counted)) == [0.75, 2.0]


def test_mistral_rs_keeps_and_draws() -> None:
    session = adapter("mistral.rs", "mistral.rs")
    row = [1.0, 3.0, -INF, 2.0]
    assert out(session.answer("top_k", question(row, top_k=2))) == {"keep": [1, 3]}
    for p, keep in ((0.5, [1]), (0.75, [1, 3]), (0.99, [0, 1, 3])):
        assert out(session.answer("top_p", question(row, top_p=p))) == {"keep": keep}
    both = question(row, [1, 1], frequency_penalty=1.5, min_p=0.5, top_p=0.9)
    assert out(session.answer("chain", both)) == {"keep": [3]}
    for number, token in ((0.25, 0), (0.5, 1), (0.75, 1)):
        asked = {**question([0.0, 0.0]), "uniforms": pack([number], "f64")}
        assert out(session.answer("sample", asked)) == {"token": token}


def test_what_mistral_rs_lacks_or_does_not_check_is_not_put_to_it() -> None:
    session = adapter("mistral.rs", "mistral.rs")
    fine = {"uniforms": pack([2.0**-24], "f64")}  # a bit too many
    for op, asked in (
        ("top_k", of_shares(top_k=1)),
        ("top_k", question([INF, 0.0], top_k=1)),
        ("min_p", question([1.0, 0.0], min_p=0.5)),
        ("chain", question([1.0, 0.0], min_p=0.5)),
        ("chain", question([1.0, 0.0], top_k=1, top_p=0.5)),
        ("chain", question([1.0, 0.0], repetition_penalty=2.0)),
        ("chain", question([1.0, 0.0], temperature=None)),
        ("chain", question([200.0, 0.0])),  # a probability below the smallest number
        ("sample", {**question([1.0, 0.0]), **fine}),
        ("penalties", question([1.0, 0.0], [0], 1, presence_penalty=1.0)),
        ("penalties", question([1.0, 0.0], [2], presence_penalty=1.0)),
        ("penalties", question([1.0, 0.0], presence_penalty=1.0)),
        ("dry_nearby", question([1.0, 0.0], [0], dry_multiplier=-1.0)),
        ("dry_nearby", question([1.0, 0.0], [0], dry_multiplier=1.0, dry_allowed_length=-1)),
    ):
        assert isinstance(session.answer(op, asked), Unsupported), (op, asked)


def test_libstdcxx_takes_the_low_word_first() -> None:
    for profile, words in (
        ("libstdcxx-double", ["00000000", "80000000"]),
        ("libstdcxx-float", ["80000000"]),
    ):
        found = adapter("libstdc++", profile).answer("uniforms", {"words": words})
        assert unpack(out(found)["uniforms"]) == [0.5]


def test_mmh3_hashes_words_that_were_published() -> None:
    asked = {"key": ["74736574"], "seed": "0", "taken": 0, "count": 1}  # the bytes of "test"
    session = adapter("mmh3", "murmur3-32")
    assert out(session.answer("random_words", asked)) == {"words": ["ba6bd213"]}
    assert isinstance(session.answer("random_words", {**asked, "taken": 1}), Unsupported)


def test_chatstreams_steps_and_its_whole_sampler() -> None:
    session = adapter("chatstream", "chatstream")
    penalised = question([2.0, -2.0, 1.0], [0, 1, 0], repetition_penalty=2.0)
    assert logits(session.answer("repetition_penalty", penalised)) == [1.0, -1.0, 1.0]
    row = question([3.0, 2.0, 1.0], [0], repetition_penalty=3.0, top_k=2, temperature=2.0)
    assert out(session.answer("chain", row)) == {"keep": [0, 1, 2]}  # 1 occurs twice
    law = unpack(out(session.answer("distribution", question([0.0, 0.0, -INF])))["probs"])
    assert law == [0.5, 0.5, 0.0]
    for number, token in ((0.25, 0), (0.75, 1)):
        drawn = {**question([0.0, 0.0]), "uniforms": pack([number], "f64")}
        assert out(session.answer("sample", drawn)) == {"token": token}
    subtracting = adapter("chatstream", rule_name("repetition_penalty", method="subtract"))
    less = question([2.0, -2.0, 1.0], [0, 1, 0], penalty=0.5)
    assert logits(subtracting.answer("repetition_penalty", less)) == [1.5, -2.5, 1.0]
    within = adapter("chatstream", rule_name("top_p", boundary="within"))
    for p, keep in ((0.75, [0, 1]), (0.8, [0, 1]), (0.9, [0, 1, 2]), (0.4, [])):
        assert out(within.answer("top_p", of_shares(p=p))) == {"keep": keep}


def test_what_chatstream_lacks_or_does_not_check_is_not_put_to_it() -> None:
    session = adapter("chatstream", "chatstream")
    for op, asked in (
        ("top_k", of_shares(top_k=1)),
        ("top_k", question([INF, 0.0], top_k=1)),
        ("temperature", question([1.0, 0.0], temperature=0.00001)),
        ("sample", {**question([1.0, 0.0], temperature=0.00001), "uniforms": pack([0.5], "f64")}),
        ("sample", {**question([0.0, 0.0]), "uniforms": pack([0.5], "f64")}),  # at a running sum
        ("sample", {**question([0.0, 0.0]), "uniforms": pack([1.0], "f64")}),
        ("chain", question([1.0, 0.0], frequency_penalty=1.0)),
        ("repetition_penalty", question([1.0, 0.0], [2], repetition_penalty=2.0)),
        ("repetition_penalty", question([1.0, 0.0], [0], repetition_penalty=0.0)),
        ("min_p", question([1.0, 0.0], min_p=0.5)),
    ):
        assert isinstance(session.answer(op, asked), Unsupported), (op, asked)
    dividing = adapter("chatstream", rule_name("repetition_penalty", method="divide"))
    assert isinstance(dividing.answer("top_k", question([1.0], k=1)), Unsupported)
