"""llama.cpp's samplers with the names, arguments and defaults of its C functions, in 32 bits.

Each is the rule of `sampling_ref.steps` with llama.cpp's arithmetic, order and choices, or does
nothing where the engine switches the sampler off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from sampling_ref import PROFILES, STEPS
from sampling_ref.engines.draws import draw
from sampling_ref.engines.llama_cpp import DISCRETE
from sampling_ref.engines.llama_cpp_order import LLAMA_32
from sampling_ref.errors import RandomNumberError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.llama32 import Llama32Row
from sampling_ref.numbers.orders import first_largest
from sampling_ref.numbers.protocol import Width
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float
from sampling_ref.row import Candidates, Number, TokenId, read_possible_logits
from sampling_ref.steps import adaptive_p as of_adaptive_p
from sampling_ref.steps.adaptive_p import PastProbabilities
from sampling_ref.steps.step import Situation

PROFILE = PROFILES["llama.cpp"]
CHOICES = {stage.step: stage.choices for stage in PROFILE.stages}


class Words:
    """A source of random numbers that is a stream of words."""

    def __init__(self, words: Iterator[int]) -> None:
        self._words = words

    def uniform(self, stage: str, width: Width) -> Number:
        try:
            if width == "f32":
                return libstdcxx_float(next(self._words))
            return libstdcxx_double(next(self._words), next(self._words))
        except StopIteration:
            raise RandomNumberError("another random word is needed, and none is left") from None

    def many(self, stage: str, count: int) -> list[Number]:
        raise NotImplementedError

    def taken(self) -> int:
        raise NotImplementedError


def situation(
    candidates: Candidates,
    history: Sequence[TokenId] = (),
    words: Iterator[int] = iter(()),  # noqa: B008 - empty, and stays so
    state: dict[str, Any] | None = None,
    size: int | None = None,
) -> Situation:
    tokens = [*candidates.tokens, *history]
    least = max(tokens, default=-1) + 1
    return Situation(
        least if size is None else size, history, 0, Words(words), state or {}, LLAMA_32
    )


def apply(name: str, candidates: Candidates, about: Situation, **values: Any) -> Candidates:
    return STEPS[name].apply(candidates, about, {**CHOICES[name], **values})


def read_logits_in_32_bits(candidates: Candidates) -> list[float]:
    return Llama32Row(candidates).values


def softmax(candidates: Candidates) -> list[float]:
    return LLAMA_32.of(candidates).probabilities()


def sorted_fully(candidates: Candidates) -> Candidates:
    return LLAMA_32.of(candidates).ordered().candidates


def greedy(candidates: Candidates) -> TokenId:
    logits = read_logits_in_32_bits(candidates)
    return candidates.tokens[first_largest(read_possible_logits(logits, "candidates"))]


def logit_bias(candidates: Candidates, biases: Sequence[tuple[TokenId, Number]]) -> Candidates:
    """Add the biases; of a token listed twice only the first, where the candidate has moved."""
    read_logits_in_32_bits(candidates)
    changed = candidates
    seen: set[TokenId] = set()
    size = len(candidates.tokens)
    for token, bias in biases:
        stays = 0 <= token < size and candidates.tokens[token] == token
        if token in candidates.tokens and (stays or token not in seen):
            about = situation(changed)
            changed = apply("logit_bias", changed, about, biases={token: to_binary32(bias)})
        seen.add(token)
    return replace(changed, is_sorted=candidates.is_sorted)


def penalties(
    candidates: Candidates,
    history: Sequence[TokenId],
    penalty_last_n: int = 64,
    penalty_repeat: Number = 1.0,
    penalty_freq: Number = 0.0,
    penalty_present: Number = 0.0,
) -> Candidates:
    read_logits_in_32_bits(candidates)
    repetition, frequency, presence = map(
        to_binary32, (penalty_repeat, penalty_freq, penalty_present)
    )
    if penalty_last_n <= 0 or (repetition, frequency, presence) == (1, 0, 0):
        return candidates
    return apply(
        "penalties",
        candidates,
        situation(candidates, history),
        window=penalty_last_n,
        repetition=repetition,
        frequency=frequency,
        presence=presence,
    )


def dry(
    candidates: Candidates,
    history: Sequence[TokenId],
    dry_multiplier: Number = 0.0,
    dry_base: Number = 1.75,
    dry_allowed_length: int = 2,
    dry_penalty_last_n: int = 64,
    breakers: Sequence[Sequence[TokenId]] = (),
) -> Candidates:
    """Apply DRY; the flag `sorted` goes only where the engine has searched for repetitions."""
    read_logits_in_32_bits(candidates)
    multiplier, base = to_binary32(dry_multiplier), to_binary32(dry_base)
    seen = list(history)[-dry_penalty_last_n:] if dry_penalty_last_n > 0 else []
    sequences = [tuple(breaker) for breaker in breakers if breaker]
    since = len(seen)
    for begin in reversed(range(len(seen))):
        ends = [len(one) for one in sequences if tuple(seen[begin : begin + len(one)]) == one]
        if ends:
            since = len(seen) - begin - max(ends)
            break
    named = [token for one in sequences for token in one]
    is_off = multiplier == 0 or base < 1 or len(seen) <= dry_allowed_length
    if is_off or since < dry_allowed_length:
        return candidates
    return apply(
        "dry",
        candidates,
        situation(candidates, history, size=1 + max(*candidates.tokens, *history, *named, 0)),
        multiplier=multiplier,
        base=base,
        allowed_length=dry_allowed_length,
        window=dry_penalty_last_n,
        breakers=sequences,
    )


def top_n_sigma(candidates: Candidates, n: Number) -> Candidates:
    width = to_binary32(n)
    logits = read_logits_in_32_bits(candidates)
    if width <= 0 or len(logits) <= 1 or max(logits) == -inf:
        return candidates
    return apply("top_n_sigma", candidates, situation(candidates), n=width)


def top_k(candidates: Candidates, k: int = 40) -> Candidates:
    read_logits_in_32_bits(candidates)
    return candidates if k <= 0 else apply("top_k", candidates, situation(candidates), k=k)


def typical(candidates: Candidates, p: Number = 1.0, min_keep: int = 0) -> Candidates:
    share = to_binary32(p)
    read_logits_in_32_bits(candidates)
    if share >= 1:
        return candidates
    about = situation(candidates)
    return apply("typical", candidates, about, mass=max(share, 0.0), least=min_keep)


def top_p(candidates: Candidates, p: Number = 0.95, min_keep: int = 0) -> Candidates:
    share = to_binary32(p)
    read_logits_in_32_bits(candidates)
    if share >= 1:
        return candidates
    return apply("top_p", candidates, situation(candidates), p=max(share, 0.0), least=min_keep)


def min_p(candidates: Candidates, p: Number = 0.05, min_keep: int = 0) -> Candidates:
    share = to_binary32(p)
    read_possible_logits(read_logits_in_32_bits(candidates), "candidates")
    if share <= 0:
        return candidates
    return apply("min_p", candidates, situation(candidates), m=share, least=min_keep)


def xtc(
    candidates: Candidates,
    words: Iterator[int],
    probability: Number = 0.0,
    threshold: Number = 0.1,
    min_keep: int = 0,
) -> Candidates:
    chance, share = to_binary32(probability), to_binary32(threshold)
    read_logits_in_32_bits(candidates)
    if chance <= 0 or share > 0.5:
        return candidates
    return apply(
        "xtc",
        candidates,
        situation(candidates, words=words),
        probability=chance,
        threshold=max(share, 0.0),
        least=min_keep,
    )


def temp(candidates: Candidates, temp: Number = 0.8) -> Candidates:
    read_logits_in_32_bits(candidates)
    divisor = max(to_binary32(temp), 0.0)
    return apply("temperature", candidates, situation(candidates), temperature=divisor)


def temp_ext(
    candidates: Candidates, temp: Number = 0.8, delta: Number = 0.0, exponent: Number = 1.0
) -> Candidates:
    spread = to_binary32(delta)
    if spread <= 0:
        return globals()["temp"](candidates, temp)  # type: ignore[no-any-return]
    return apply(
        "dynamic_temperature",
        candidates,
        situation(candidates),
        temperature=to_binary32(temp),
        spread=spread,
        exponent=to_binary32(exponent),
    )


def dist(candidates: Candidates, words: Iterator[int]) -> TokenId:
    return draw(candidates, PROFILE.draw, situation(candidates, words=words))


def dist_probabilities(candidates: Candidates) -> list[float]:
    return LLAMA_32.law(candidates)


def discrete(candidates: Candidates, words: Iterator[int]) -> TokenId:
    return draw(candidates, DISCRETE, situation(candidates, words=words))


def mirostat_kept(candidates: Candidates, mu: Number, *, n_vocab: int, m: int = 100) -> Candidates:
    read_possible_logits(read_logits_in_32_bits(candidates), "candidates")
    about = situation(candidates, state={"mu": mu}, size=n_vocab)
    return apply("mirostat_1", candidates, about, tau=5.0, ranks=m)


def mirostat_v2_kept(candidates: Candidates, mu: Number) -> Candidates:
    read_possible_logits(read_logits_in_32_bits(candidates), "candidates")
    return apply("mirostat_2", candidates, situation(candidates, state={"mu": mu}), tau=5.0)


def _steered(
    name: str, before: Candidates, after: Candidates, words: Iterator[int], **values: Any
) -> tuple[TokenId, float]:
    token = discrete(after, words)
    remember = STEPS[name].remember
    assert remember is not None
    about = situation(before, state={"mu": values.pop("mu")})
    given = {**CHOICES[name], **{key: to_binary32(value) for key, value in values.items()}}
    return token, float(remember(before, after, about, given, token)["mu"])


def mirostat(
    candidates: Candidates,
    words: Iterator[int],
    mu: Number,
    *,
    n_vocab: int,
    tau: Number = 5.0,
    eta: Number = 0.1,
    m: int = 100,
) -> tuple[TokenId, float]:
    kept = mirostat_kept(candidates, mu, n_vocab=n_vocab, m=m)
    return _steered("mirostat_1", candidates, kept, words, mu=mu, tau=tau, eta=eta)


def mirostat_v2(
    candidates: Candidates,
    words: Iterator[int],
    mu: Number,
    *,
    tau: Number = 5.0,
    eta: Number = 0.1,
) -> tuple[TokenId, float]:
    kept = mirostat_v2_kept(candidates, mu)
    return _steered("mirostat_2", candidates, kept, words, mu=mu, tau=tau, eta=eta)


@dataclass(frozen=True)
class AdaptiveState:
    """The sums of weighted probabilities and of weights, and the drawn token, not yet accepted."""

    weighted_sum: float
    total_weight: float
    pending: tuple[TokenId, float] | None = None


def _decay(decay: Number) -> float:
    return max(0.0, min(to_binary32(0.99), to_binary32(decay)))


def adaptive_p_start(target: Number, decay: Number = 0.9) -> AdaptiveState:
    weight = of_adaptive_p.adaptive_p_start(0.0, _decay(decay), numbers=LLAMA_32).total_weight
    rest = 1 - LLAMA_32.scalar(_decay(decay))
    return AdaptiveState(float(LLAMA_32.scalar(target) / rest), float(weight))


def adaptive_p_transformed(
    candidates: Candidates, state: AdaptiveState, target: Number
) -> Candidates:
    about = situation(candidates, state={"past": (state.weighted_sum, state.total_weight)})
    aim = min(to_binary32(target), 1.0)
    return apply("adaptive_p", candidates, about, target=aim, decay=0.0)


def adaptive_p(
    candidates: Candidates, words: Iterator[int], state: AdaptiveState, target: Number
) -> tuple[TokenId, AdaptiveState]:
    read_possible_logits(read_logits_in_32_bits(candidates), "candidates")
    if to_binary32(target) < 0:
        return discrete(candidates, words), state
    token = discrete(adaptive_p_transformed(candidates, state, target), words)
    share = softmax(candidates)[list(candidates.tokens).index(token)]
    return token, replace(state, pending=(token, share))


def adaptive_p_accept(state: AdaptiveState, token: TokenId, decay: Number = 0.9) -> AdaptiveState:
    if state.pending is None or state.pending[0] != token:
        return replace(state, pending=None)
    past = PastProbabilities(
        LLAMA_32.scalar(state.weighted_sum), LLAMA_32.scalar(state.total_weight)
    )
    share, kept = LLAMA_32.scalar(state.pending[1]), LLAMA_32.scalar(_decay(decay))
    after = of_adaptive_p.adaptive_p_next(past, share, kept)
    return AdaptiveState(float(after.weighted_sum), float(after.total_weight))
