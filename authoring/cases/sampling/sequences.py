"""Calls on one sampler with a memory: what is remembered, from when on, and what is forgotten.

The row is the same in every call, and its best token is the answer. A token that counts as
said loses 1.5, or is halved, and then another one is the best: 0, 1, 2 and 0 again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses, told_apart
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rules import slug

SPEC: Final = "docs/sampling.md#engines"
ROW: Final = (4.0, 3.5, 3.0, 1.0)


class _Engine(NamedTuple):
    """An engine whose best token shows which tokens are penalised."""

    params: Mapping[str, Any]
    counts: Literal["all", "output"]
    """Whether the prompt's tokens count as well."""

    uniforms: Sequence[float] = ()


_PLAIN: Final = {"presence_penalty": 1.5}
_ENGINES: Final[Mapping[str, _Engine]] = {
    "llama.cpp": _Engine(
        {**_PLAIN, "top_k": 1, "top_p": 1.0, "min_p": 0.0, "temp": 1.0}, "all", (0.5,)
    ),
    "transformers": _Engine({"do_sample": False, "repetition_penalty": 2.0}, "all"),
    "vllm": _Engine({"temperature": 0.0, **_PLAIN}, "output"),
    "sglang": _Engine({"temperature": 0.0, **_PLAIN}, "output"),
    "tensorrt-llm": _Engine({"temperature": 0.0, **_PLAIN}, "all"),
    "mlx-lm": _Engine({"temp": 0.0, **_PLAIN}, "all"),
    "mistral.rs": _Engine({"temperature": None, **_PLAIN}, "output"),
    "candle": _Engine({"temperature": None, "repeat_penalty": 2.0}, "all"),
    "exllamav2": _Engine(
        {"temperature": 0.0, "token_repetition_penalty": 1.0, "token_presence_penalty": 1.5}, "all"
    ),
    "exllamav3": _Engine({"temperature": 0.0, "pres_p": 1.5}, "all"),
    "openai": _Engine({"temperature": 0.0, **_PLAIN}, "output"),
    "antigravity": _Engine({"temperature": 0.0, "repetition_penalty": 2.0}, "all"),
}
_MAIN: Final = ("llama.cpp", "transformers", "vllm", "sglang")

Steps = Sequence[str | tuple[str, int]]


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    for name in _ENGINES:
        yield from _penalties(name)
    yield from _windows()
    yield from _patterns()
    yield from _lengths()
    yield from _steering()
    yield from _refused()


def _calls(
    steps: Steps, logits: Sequence[float], uniforms: Sequence[Sequence[float]]
) -> list[dict[str, Any]]:
    """Return calls; every sample takes the next of the numbers, and the last ones again."""
    made: list[dict[str, Any]] = []
    samples = 0
    for each in steps:
        if each == "sample":
            numbers = uniforms[min(samples, len(uniforms) - 1)]
            made.append({"sample": {"logits": pack(logits), "uniforms": pack(numbers)}})
            samples += 1
        elif each == "reset":
            made.append({"reset": True})
        else:
            made.append({each[0]: each[1]})
    return made


def _case(
    topic: str,
    name: str,
    profile: str,
    params: Mapping[str, Any],
    steps: Steps,
    tokens: Sequence[int] | None,
    why: str,
    flag: str,
    *,
    prompt: Sequence[int] = (),
    logits: Sequence[float] = ROW,
    uniforms: Sequence[Sequence[float]] = ((),),
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    known: list[SamplerPurpose] = []
    if tokens is not None:
        answers, left = list[int | None](), list(tokens)
        answers += [left.pop(0) if each == "sample" else None for each in steps]
        known.append(gives(answers=answers))
    return SamplerDraft(
        op="sequence",
        topic=topic,
        slug=f"{slug(profile)}-{name}",
        profile=profile,
        request={
            "params": pack_parameters(params),
            "prompt": list(prompt),
            "calls": _calls(steps, logits, uniforms),
        },
        why=why,
        flags=[flag],
        spec=SPEC,
        purposes=[*known, *purposes],
    )


def _penalties(name: str) -> Iterator[SamplerDraft]:
    engine = _ENGINES[name]

    def case(
        slug: str, steps: Steps, tokens: Sequence[int], why: str, flag: str, *prompt: int
    ) -> SamplerDraft:
        return _case(
            "penalties", slug, name, engine.params, steps, tokens, why, flag, prompt=prompt,
            uniforms=(engine.uniforms,),
        )  # fmt: skip

    say: Steps = [
        "sample",
        ("accept", 0),
        "sample",
        ("accept", 1),
        "sample",
        ("accept", 2),
        "sample",
    ]
    yield case(
        "accept-each", say, (0, 1, 2, 0),
        "Each accepted token counts from the next call on, and no call before.", "MemoryAccepted",
    )  # fmt: skip
    first = 1 if engine.counts == "all" else 0
    yield case(
        "prompt", ["sample"], (first,),
        "A prompt of token 0: it counts for this engine's penalty." if engine.counts == "all"
        else "A prompt of token 0: only tokens of the output count for this engine's penalty.",
        "MemoryPrompt", 0,
    )  # fmt: skip
    yield case(
        "reset", ["sample", ("accept", 0), "sample", "reset", "sample", ("accept", 1), "sample"],
        (0, 1, 0, 0),
        "After a reset the history is empty: the first answer again, and a new text from there.",
        "MemoryReset",
    )  # fmt: skip
    if name not in _MAIN:
        return
    yield case(
        "sample-twice", ["sample", "sample", "sample"], (0, 0, 0),
        ("A token that was drawn but not accepted is not in the history: the same answer three "
        "times."),
        "MemoryAccepted",
    )  # fmt: skip
    yield case(
        "other-token", ["sample", ("accept", 1), "sample", ("accept", 3), "sample"], (0, 0, 0),
        "The program accepts other tokens than were drawn, as a grammar does: what was accepted counts.",
        "MemoryAccepted",
    )  # fmt: skip
    yield case(
        "truncate", [("accept", 0), ("accept", 1), "sample", ("truncate", 1), "sample", ("truncate", 0), "sample"],
        (2, 1, 0),
        "Two tokens are taken back, one by one: their penalties go with them.", "MemoryTruncate",
    )  # fmt: skip
    yield case(
        "truncate-then-go-on",
        [("accept", 0), ("accept", 1), ("accept", 2), ("truncate", 1), ("accept", 2), "sample"],
        (1,),
        "Three tokens, two taken back, one accepted again: the counts are those of tokens 0 and 2.",
        "MemoryTruncate",
    )  # fmt: skip
    yield case(
        "truncate-nothing", [("accept", 0), ("truncate", 1), "sample"], (1,),
        "Truncating at the current length removes nothing.", "MemoryTruncate",
    )  # fmt: skip
    yield case(
        "truncate-keeps-the-prompt", [("accept", 1), ("truncate", 0), "sample"], (first,),
        "All of the output is taken back; the prompt stays, and counts as before.",
        "MemoryTruncate", 0,
    )  # fmt: skip
    yield case(
        "reset-keeps-the-prompt", ["sample", ("accept", 2), "reset", "sample"], (first, first),
        "A reset forgets the output, not the prompt, and not the parameters.", "MemoryReset", 0,
    )  # fmt: skip
    yield case(
        "same-token-again", [("accept", 0), ("accept", 0), ("accept", 0), "sample", ("truncate", 1), "sample"],
        (1, 1),
        "A token that was accepted three times and removed twice is still in the history.", "MemoryTruncate",
    )  # fmt: skip


def _windows() -> Iterator[SamplerDraft]:
    llama = {**_ENGINES["llama.cpp"].params, "repeat_last_n": 2}
    steps: Steps = [("accept", 0), "sample", ("accept", 1), "sample", ("accept", 3), "sample"]
    yield _case(
        "windows", "last-two", "llama.cpp", llama, steps, (1, 2, 0),
        "A window of two: with the third token the first one leaves it, and is the best again.",
        "MemoryAccepted", uniforms=((0.5,),),
    )  # fmt: skip
    yield _case(
        "windows", "last-two-after-truncate", "llama.cpp", llama,
        [("accept", 0), ("accept", 1), ("accept", 3), ("truncate", 2), "sample"], (2,),
        "A token that had left the window is in it again, when the token that pushed it out is taken back.",
        "MemoryTruncate", uniforms=((0.5,),),
    )  # fmt: skip
    mlx = {**_ENGINES["mlx-lm"].params, "presence_context_size": 2}
    yield _case(
        "windows", "last-two", "mlx-lm", mlx, steps, (1, 2, 0),
        "A context of two tokens: with the third one the first is forgotten.", "MemoryAccepted",
    )  # fmt: skip
    for name in ("llama.cpp", "vllm", "sglang", "mlx-lm", "tensorrt-llm"):
        engine = _ENGINES[name]
        rest = {key: value for key, value in engine.params.items() if key != "presence_penalty"}
        yield _case(
            "windows", "frequency", name, {**rest, "frequency_penalty": 0.375},
            [("accept", 0), "sample", ("accept", 0), "sample", ("truncate", 1), "sample"],
            (0, 1, 0),
            ("After one occurrence token 0 is still the best, after two it is not: each "
            "occurrence counts, and can be removed."),
            "MemoryTruncate", uniforms=(engine.uniforms,),
        )  # fmt: skip


def _patterns() -> Iterator[SamplerDraft]:
    llama = {
        "top_k": 1, "top_p": 1.0, "min_p": 0.0, "temp": 1.0,
        "dry_multiplier": 4.0, "dry_base": 2.0, "dry_allowed_length": 2, "dry_penalty_last_n": 64,
    }  # fmt: skip
    yield _case(
        "patterns", "dry", "llama.cpp", llama,
        [("accept", 1), ("accept", 2), ("accept", 0), ("accept", 1), "sample", ("accept", 2), "sample",
         ("truncate", 4), "sample"],
        (0, 1, 0),
        ("Tokens 1 and 2 were repeated, up to the allowed length, and token 0 would make the "
        "repetition longer. With one token less, nothing would."),
        "MemoryAccepted", uniforms=((0.5,),),
    )  # fmt: skip
    yield _case(
        "patterns", "n-gram", "transformers", {"do_sample": False, "no_repeat_ngram_size": 2},
        [("accept", 1), ("accept", 0), "sample", ("accept", 1), "sample",
         ("truncate", 2), "sample"],
        (0, 1, 0),
        ("After 1, 0, 1 the pair 1, 0 would be repeated: token 0 is banned until the last token "
        "is removed."),
        "MemoryAccepted",
    )  # fmt: skip
    yield _case(
        "patterns", "n-gram-over-the-prompt", "transformers",
        {"do_sample": False, "no_repeat_ngram_size": 2},
        ["sample", ("accept", 1), "sample"], (0, 1),
        "The pair began in the prompt: the prompt and the output are one sequence.",
        "MemoryPrompt", prompt=[1, 0],
    )  # fmt: skip


def _lengths() -> Iterator[SamplerDraft]:
    steps: Steps = [
        "sample",
        ("accept", 1),
        "sample",
        ("accept", 1),
        "sample",
        ("truncate", 1),
        "sample",
        "reset",
        "sample",
    ]
    for name, params in (
        ("vllm", {"temperature": 0.0, "min_tokens": 2, "stop_token_ids": (0,)}),
        ("sglang", {"temperature": 0.0, "min_new_tokens": 2, "stop_token_ids": (0,)}),
        ("transformers", {"do_sample": False, "min_new_tokens": 2, "eos_token_id": 0}),
        ("tensorrt-llm", {"temperature": 0.0, "min_tokens": 2, "end_id": 0}),
    ):
        yield _case(
            "lengths", "least", name, params, steps, (1, 1, 0, 1, 1),
            ("The end token is banned until two tokens are accepted, not one later; a prompt of "
            "three is not output."),
            "MemoryAccepted", prompt=[2, 2, 2],
        )  # fmt: skip


def _answers(case: Case, calls: Sequence[Mapping[str, Any]]) -> list[int | None]:
    question = {**msgspec.to_builtins(case.input), "calls": calls}
    answer = SamplerSession(case.profile).answer("sequence", question)
    if not isinstance(answer, Ok):
        raise PurposeError(f"{case.id}: must be answered nearby, too, got {answer}")
    return list(answer.out["answers"])


def carries(case: Case) -> None:
    """Prove that some call would draw another token if it were the first one."""
    calls = msgspec.to_builtins(case.input.calls)
    alone = [_answers(case, [call])[0] if "sample" in call else None for call in calls]
    if alone == case.out.answers:
        raise PurposeError(f"{case.id}: must need its memory, got {alone} without")


def is_steady(case: Case) -> None:
    """Prove that random numbers that are a little off draw the same tokens."""
    for shift in (-(2.0**-10), 2.0**-10):
        calls = msgspec.to_builtins(case.input.calls)
        for call in calls:
            if "sample" in call:
                (u,) = unpack(call["sample"]["uniforms"])
                call["sample"]["uniforms"] = pack([u + shift], "f64")
        found = _answers(case, calls)
        if found != case.out.answers:
            raise PurposeError(f"{case.id}: must be steady, got {found} nearby")


def _steering() -> Iterator[SamplerDraft]:
    row = (2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -2.0, 0.25)
    numbers = [[u] for u in (0.90625, 0.9375, 0.875, 0.9375, 0.90625, 0.8125)]
    for mode in (1, 2):
        params = {"mirostat": mode, "mirostat_tau": 2.0, "mirostat_eta": 0.5, "temp": 1.0}
        both: Steps = ["sample", ("accept", 0)] * 6
        yield _case(
            "steering", f"mirostat-{mode}", "llama.cpp", params, both, None,
            ("Six draws: mu is carried from each to the next. Reset to its initial value, it "
            "keeps other tokens."),
            "AdaptiveState", logits=row, uniforms=numbers, purposes=[carries, is_steady],
        )  # fmt: skip
        yield _case(
            "steering", f"mirostat-{mode}-not-accepted", "llama.cpp", params, ["sample"] * 6, None,
            "mu moves with each draw, whether its token is accepted or not: this engine does so.",
            "AdaptiveState", logits=row, uniforms=numbers, purposes=[carries, is_steady],
        )  # fmt: skip
        again: Steps = ["sample", "sample", "sample", "reset", "sample", "sample", "sample"]
        yield _case(
            "steering", f"mirostat-{mode}-reset", "llama.cpp", params, again, None,
            "A reset sets mu back: the same numbers draw the same three tokens again.",
            "MemoryReset", logits=row, uniforms=[*numbers[:3], *numbers[:3]],
            purposes=[carries, is_steady],
        )  # fmt: skip
    adaptive = {
        "adaptive_target": 0.25, "adaptive_decay": 0.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0,
        "temp": 1.0,
    }  # fmt: skip
    for slug_, steps, flag, why in (
        ("accepted", ["sample", ("accept", 0), "sample", ("accept", 0), "sample"], "AdaptiveState",
         "The best token is drawn and accepted twice: its share weighs in what is aimed at next."),
        ("not-accepted", ["sample", "sample", "sample"], "MemoryAccepted",
         "Tokens that were drawn and not accepted leave no trace: the aim is still the target."),
        ("other-accepted", ["sample", ("accept", 6), "sample", ("accept", 6), "sample"], "MemoryAccepted",
         "Another token is accepted than was drawn: its share was not drawn, and is not remembered."),
    ):  # fmt: skip
        calls: Steps = steps  # type: ignore[assignment]  # a literal's type is narrower
        yield _case(
            "steering", f"adaptive-p-{slug_}", "llama.cpp", adaptive, calls, None, why, flag,
            logits=row, uniforms=[[0.03125], [0.03125], [0.1875]],
            purposes=[is_steady, *([carries] if slug_ == "accepted" else [])],
        )  # fmt: skip


def _refused() -> Iterator[SamplerDraft]:
    for name in ("llama.cpp", "vllm"):
        engine = _ENGINES[name]
        for case, steps, code, why in (
            ("unknown-token", ["sample", ("accept", 99)], "INVALID_HISTORY", ("A token that is not in the vocabulary is "
                                                                             "accepted: this is refused, and nothing "
                                                                             "is written beyond the counts.")),
            ("negative-token", ["sample", ("accept", -1)], "INVALID_HISTORY", "A placeholder of -1 is accepted as a token: refused."),
        ):  # fmt: skip
            calls: Steps = steps  # type: ignore[assignment]  # a literal's type is narrower
            yield _case(
                "refused", case, name, engine.params, calls, None, why, "InvalidHistory",
                uniforms=(engine.uniforms,), purposes=[refuses(code)],
            )  # fmt: skip
    yield _case(
        "refused", "no-number", "llama.cpp", _ENGINES["llama.cpp"].params, ["sample"], None,
        "A draw without a random number: none may be invented.", "InvalidNumber",
        purposes=[refuses("INVALID_UNIFORM")],
    )  # fmt: skip
