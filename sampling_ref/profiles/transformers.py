"""Hugging Face transformers: `generate()` with `do_sample=True`."""

from sampling_ref.profiles.domains import (
    Flag,
    Interval,
    OrNone,
    Whole,
)
from sampling_ref.profiles.model import Condition, Draw, Greedy, Parameter, Profile, Stage

PROCESSORS = "src/transformers/generation/logits_process.py"
UTILS = "src/transformers/generation/utils.py"

POSITIVE = Interval(0, low_open=True)
SHARE = Interval(0, 1)
INNER = Interval(0, 1, low_open=True, high_open=True)


def _off(parameter: str, relation: str = "is None", value: object = None) -> tuple[Condition, ...]:
    return (Condition(parameter, relation, value),)  # type: ignore[arg-type]


TRANSFORMERS = Profile(
    name="transformers",
    title="Hugging Face transformers",
    repository="https://github.com/huggingface/transformers",
    version="5.23.0",
    parameters=(
        Parameter("do_sample", default=True, domain=Flag()),
        Parameter("temperature", 1.0, POSITIVE, "f64"),
        Parameter("top_k", 50, OrNone(Whole(0)), aliases=("k",)),
        Parameter("top_p", 1.0, OrNone(SHARE), "f64", aliases=("p",)),
        Parameter("min_p", None, OrNone(SHARE), "f64"),
        Parameter("typical_p", 1.0, OrNone(Interval(0, 1, low_open=True)), "f64"),
    ),
    stages=(
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(_off("temperature", "==", 1.0),),
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all"},
            off_if=(_off("top_k"), _off("top_k", "==", 0)),
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {"ties": "highest id", "zero": "best"},
            off_if=(_off("top_p"), _off("top_p", ">=", 1.0)),
        ),
    ),
    draw=Draw("exponential race", own_stream="torch mt19937"),
    greedy=Greedy(if_any=(_off("do_sample", "==", value=False),)),
)
