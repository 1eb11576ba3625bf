"""Accept or reject one drafted token.

Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding",
ICML 2023, section 2.3 and algorithm 1 (https://arxiv.org/abs/2211.17192); Chen et al.,
"Accelerating Large Language Model Decoding with Speculative Sampling", 2023, algorithm 2
(https://arxiv.org/abs/2302.01318). The rule:

    A token x was drawn from the draft row q. With a random number u, keep it with
    probability p(x) / q(x), or always if the target row p gives it more than q does.

The draft row must be the law that the token was really drawn from, after every filter,
temperature and rounding of the drafter. With any other row the output follows some other
law than the target, and nothing here can notice.

The two papers and the engines differ in what follows.

Equality
    With u exactly p(x) / q(x) Leviathan accepts and Chen rejects. Here u is in [0, 1), so that
    rejecting gives exactly the probability p(x) / q(x). Accepting would let u = 0 accept a
    token that the target makes impossible. So equality rejects by default.

A token that the draft row makes impossible
    It cannot have been drawn, yet rounding and padding bring it about. "by ratio" takes
    p / 0 for plus infinity: accept if the target has the token. "reject" and "accept" do
    so whatever the target says.

Rounding
    There is none: u q(x) is compared with p(x) in exact rationals. An engine that divides
    in floats can differ where the two agree to its last digits.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from sampling_ref.parameters import read_choice, read_history
from sampling_ref.row import TokenId
from sampling_ref.speculative.shares import read_exactly, read_two_shares

Equality: TypeAlias = Literal["reject", "accept"]
"""What happens where the random number is exactly the ratio."""

Undrafted: TypeAlias = Literal["by ratio", "reject", "accept"]
"""What happens to a token that the draft row gives no weight."""


class AcceptanceRule(TypedDict):
    """The two open points, as keyword arguments."""

    equality: Equality
    undrafted: Undrafted


ACCEPTANCE_RULES: Mapping[str, AcceptanceRule] = MappingProxyType(
    {
        "leviathan": AcceptanceRule(equality="accept", undrafted="by ratio"),
        "chen": AcceptanceRule(equality="reject", undrafted="by ratio"),
        # transformers 5.23.0, generation/utils.py:4470
        "transformers": AcceptanceRule(equality="accept", undrafted="by ratio"),
        # llama.cpp, examples/speculative/speculative.cpp; its server matches instead
        "llama.cpp example": AcceptanceRule(equality="accept", undrafted="by ratio"),
        # vLLM 0.33.0, v1/sample/rejection_sampler.py:951
        "vllm": AcceptanceRule(equality="accept", undrafted="reject"),
        # vLLM 0.33.0, v1/worker/gpu/spec_decode/rejection_sampler_utils.py, in logarithms
        "vllm model runner 2": AcceptanceRule(equality="reject", undrafted="by ratio"),
        # SGLang 0.5.23, kernels/ops/speculative/reject_sampling.py:149
        "sglang": AcceptanceRule(equality="reject", undrafted="reject"),
        # FlashInfer fb28d724, include/flashinfer/sampling.cuh:1897
        "flashinfer": AcceptanceRule(equality="reject", undrafted="by ratio"),
        # mistral.rs 9e922623, mistralrs-core/src/speculative/verifier.rs:376, 521
        "mistral.rs": AcceptanceRule(equality="reject", undrafted="by ratio"),
        # TensorRT-LLM 053c42c9, _torch/pyexecutor/sampling_utils.py: 0/0 is NaN, and no
        # random number is above NaN, which is how a draft is rejected there
        "tensorrt-llm": AcceptanceRule(equality="accept", undrafted="accept"),
    }
)
"""What the papers and the engines choose: `accept(..., **ACCEPTANCE_RULES["vllm"])`."""


def accepts(
    p: Fraction, q: Fraction, u: Fraction, equality: Equality, undrafted: Undrafted
) -> bool:
    """Decide for one token with target share `p` and draft share `q`; nothing is checked.

    >>> accepts(Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), "accept", "by ratio")
    True
    """
    if q == 0 and undrafted != "by ratio":
        return undrafted == "accept"
    if q == 0:
        return p > 0
    return u * q < p or (u * q == p and equality == "accept")


def accept(
    target: Any,
    draft: Any,
    token: TokenId,
    u: Any,
    *,
    equality: Equality = "reject",
    undrafted: Undrafted = "by ratio",
) -> bool:
    """Return whether the target accepts a token that was drawn from the draft.

    `target` and `draft` are rows of weights, one for each token, each in any scale; `u`
    is a random number in [0, 1).

    >>> accept([0.25, 0.75], [0.5, 0.5], 0, 0.25), accept([0.25, 0.75], [0.5, 0.5], 0, 0.75)
    (True, False)

    The two rules differ at equality, above all where the target has no such token:

    >>> accept([0.0, 1.0], [0.5, 0.5], 0, 0.0)
    False
    >>> accept([0.0, 1.0], [0.5, 0.5], 0, 0.0, equality="accept")
    True
    """
    read_choice("equality", equality, get_args(Equality))
    read_choice("undrafted", undrafted, get_args(Undrafted))
    p, q = read_two_shares(target, draft)
    [token] = read_history([token], len(p), "token")
    [u] = read_exactly([u], 1)
    return accepts(p[token], q[token], u, equality, undrafted)


def acceptance_rate(target: Any, draft: Any) -> Fraction:
    """Return the probability that a token drawn from the draft is accepted.

    It is the sum over all tokens of the smaller share, that is, one minus the total
    variation distance of the two rows (Leviathan, theorem 3.5).

    >>> acceptance_rate([0.25, 0.75], [0.5, 0.5])
    Fraction(3, 4)
    """
    p, q = read_two_shares(target, draft)
    return sum(map(min, p, q), start=Fraction(0))
