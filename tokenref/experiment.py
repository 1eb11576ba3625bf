"""The experiment with penalties: which keeps a model from looping, and at what price.

The experiment of Ginart et al., "LZ Penalty", 2025, section 4.1
(https://arxiv.org/abs/2504.20131), on a language model that needs no GPU: an n-gram model of
order 4, trained on the text that the embedded vocabulary was trained on. Its most probable
continuation soon repeats itself.

Each penalty continues the same prompts at each temperature, followed by top-k 40 and top-p
0.95 as in the paper, with the same random numbers. For each text we keep whether it is
degenerate, and the cross-entropy: how many bits per token the model itself would need for it.
Forcing a model to say what it finds improbable raises this number.

Twenty-six million tokens must be chosen, so this module computes with plain floats, and only
with the 64 tokens that the model finds most probable. `changed` of every penalty is compared
with the reference step in the tests.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random
from statistics import fmean
from time import process_time
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from bpe_ref import TokenId
from sampling_ref.generation.repetition import is_degenerate
from sampling_ref.lz.changes import Change
from sampling_ref.lz.variants import VARIANTS, lz_changes
from sampling_ref.steps.dry import log_limit
from tokenref.errors import InputError
from tokenref.small_model import ORDER, model, training_text

CANDIDATES: Final = 64
PROMPT: Final = 16
"""The length of a prompt in tokens. Prompts are taken from the training text, equally spaced."""

TOP_K: Final = 40
TOP_P: Final = 0.95
STRENGTH: Final = 0.15
WINDOW: Final = 512
BUFFER: Final = 32
TEMPERATURES: Final = (0.0, 0.5, 1.0)
BLOCK: Final = 20
"""The number of prompts that are computed, and written to the file, at once."""

Tokens: TypeAlias = Sequence[TokenId]
Logits: TypeAlias = Sequence[float]


class Penalty(Protocol):
    """What changes the logits of a text. It is made with the prompt."""

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the new logits of these tokens."""

    def accept(self, token: TokenId) -> None:
        """Remember the token that was chosen."""


class NoPenalty:
    """No penalty."""

    def __init__(self, prompt: Tokens) -> None:
        pass

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the logits."""
        return logits

    def accept(self, token: TokenId) -> None:
        """Remember nothing."""


class Repetition:
    """The repetition penalty of transformers: prompt and output, each token once."""

    def __init__(self, prompt: Tokens, penalty: float) -> None:
        self.penalty = penalty
        self.seen = set(prompt)
        self.accept = self.seen.add

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the logits, those of seen tokens divided or, below 0, multiplied."""
        seen, penalty = self.seen, self.penalty
        return [
            (logit * penalty if logit < 0 else logit / penalty) if token in seen else logit
            for token, logit in zip(tokens, logits, strict=True)
        ]


class Frequency:
    """The frequency penalty of OpenAI and vLLM: the output only, once for each occurrence."""

    def __init__(self, prompt: Tokens, penalty: float) -> None:
        self.penalty = penalty
        self.counts: Counter[TokenId] = Counter()

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the logits less the penalty for each occurrence."""
        counts, penalty = self.counts, self.penalty
        pairs = zip(tokens, logits, strict=True)
        return [logit - penalty * counts.get(token, 0) for token, logit in pairs]

    def accept(self, token: TokenId) -> None:
        """Count a token."""
        self.counts[token] += 1


class Dry:
    """DRY as in llama.cpp, with its base and allowed length, over prompt and output."""

    def __init__(
        self, prompt: Tokens, multiplier: float = 0.8, base: float = 1.75, allowed: int = 2
    ) -> None:
        self.multiplier, self.base, self.allowed = multiplier, base, allowed
        self.longest = allowed + (log_limit(base) or 0)
        self.text: list[TokenId] = []
        self.places: dict[TokenId, list[int]] = defaultdict(list)
        for token in prompt:
            self.accept(token)

    def accept(self, token: TokenId) -> None:
        """Remember a token and its place."""
        self.places[token].append(len(self.text))
        self.text.append(token)

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the logits less the penalty of tokens that continue a repetition."""
        text, last = self.text, len(self.text) - 1
        matches: dict[TokenId, int] = {}
        for place in self.places[text[last]][:-1]:  # the earlier places of the last token
            length = 1
            while (
                length <= place
                and length < self.longest
                and text[place - length] == text[last - length]
            ):
                length += 1
            following = text[place + 1]
            if length >= self.allowed and length > matches.get(following, 0):
                matches[following] = length
        return [
            logit - self.multiplier * self.base ** (matches[token] - self.allowed)
            if token in matches
            else logit
            for token, logit in zip(tokens, logits, strict=True)
        ]


class Lz:
    """The LZ penalty. The forks see the output only, the other variants the prompt too."""

    def __init__(self, prompt: Tokens, variant: str, size: int, buffer: int = BUFFER) -> None:
        self.variant, self.size, self.buffer = variant, size, buffer
        self.text = list(prompt)
        self.prompt_length = len(prompt)
        self.accept = self.text.append

    def changed(self, tokens: Tokens, logits: Logits) -> Logits:
        """Return the logits plus the strength times the bits that each token would add."""
        changes = lz_changes(
            self.text,
            self.size,
            window=WINDOW,
            buffer=self.buffer,
            variant=self.variant,  # type: ignore[arg-type] # one of VARIANTS
            prompt_length=self.prompt_length,
        )
        of, otherwise = changes.by_token.get, STRENGTH * bits_of(changes.otherwise)
        return [
            logit + (otherwise if (change := of(token)) is None else STRENGTH * bits_of(change))
            for token, logit in zip(tokens, logits, strict=True)
        ]


@cache
def bits_of(change: Change) -> float:
    """Return a change as a float; the same few thousand come up at every step."""
    return float(change)


def penalties(size: int) -> Mapping[str, Callable[[Tokens], Penalty]]:
    """Return the penalties that are compared, by name, for a vocabulary of this size.

    >>> len(penalties(2000)), list(penalties(2000))[:3]
    (22, ['none', 'repetition 1.1', 'repetition 1.2'])
    """
    repetition = {
        f"repetition {each}": partial(Repetition, penalty=each) for each in (1.1, 1.2, 1.3, 1.5)
    }
    frequency = {
        f"frequency {each / 10}": partial(Frequency, penalty=each / 10) for each in range(1, 11)
    }
    lz = {f"LZ {each}": partial(Lz, variant=each, size=size) for each in VARIANTS}
    return {"none": NoPenalty, **repetition, **frequency, "DRY": Dry, **lz}


def prompt(number: int, of: int) -> tuple[TokenId, ...]:
    """Return one of equally spaced prompts from the training text.

    >>> from tokenref.small_model import tokenizer
    >>> tokenizer().decode(prompt(0, of=2))
    'A token is a piece of text that a model reads at once.'
    """
    _, text = training_text()
    start = number * (len(text) - PROMPT) // of
    return text[start : start + PROMPT]


def drawn(logits: Logits, temperature: float, uniform: float) -> int:
    """Return the place of the chosen logit: temperature, top-k, top-p, inverse CDF.

    >>> drawn([1.0, 3.0, 2.0], 0, 0.9), drawn([1.0, 3.0, 2.0], 1, 0.9), drawn([1.0, 3.0], 0.1, 0.9)
    (1, 2, 1)
    """
    if temperature == 0:
        return max(range(len(logits)), key=logits.__getitem__)
    order = sorted(range(len(logits)), key=logits.__getitem__, reverse=True)[:TOP_K]
    largest = logits[order[0]]
    sums = list(accumulate(exp((logits[place] - largest) / temperature) for place in order))
    enough = TOP_P * sums[-1]
    kept = next(count for count, total in enumerate(sums) if total >= enough)
    wanted = uniform * sums[kept]
    return next(place for place, total in zip(order, sums, strict=True) if total > wanted)


def continued(
    start: Tokens, penalty: Penalty, temperature: float, seed: int, length: int
) -> tuple[list[TokenId], float]:
    """Return the tokens that the model continues a prompt with, and the seconds of the penalty."""
    random = Random(seed)
    text = list(start)
    seconds = 0.0
    for _ in range(length):
        tokens, logits = model().likeliest(text[1 - ORDER :], CANDIDATES)
        before = process_time()
        changed = penalty.changed(tokens, logits)
        seconds += process_time() - before
        token = tokens[drawn(changed, temperature, random.random())]
        penalty.accept(token)
        text.append(token)
    return text[len(start) :], seconds


class Part(NamedTuple):
    """What one process computes at once: up to `BLOCK` prompts of one cell of the table."""

    penalty: str
    temperature: float
    block: int


class Outcome(msgspec.Struct, frozen=True):
    """A line of the results file: which prompts became degenerate, and the bits of each text."""

    penalty: str
    temperature: float
    block: int
    degenerate: list[int]
    bits: list[float]
    microseconds: float
    """Processor time of the penalty for a token, the one figure that differs between runs."""

    @property
    def part(self) -> Part:
        """Return what was computed."""
        return Part(self.penalty, self.temperature, self.block)


@dataclass(frozen=True)
class Plan:
    """How much is computed: the number of prompts, and of tokens that continue each."""

    prompts: int = 200
    tokens: int = 2000

    def parts(self) -> list[Part]:
        """Return all parts, in the order of the table.

        >>> len(Plan().parts()), Plan(prompts=21).parts()[1]
        (660, Part(penalty='none', temperature=0.0, block=1))
        """
        return [
            Part(penalty, temperature, block)
            for penalty in penalties(1)
            for temperature in TEMPERATURES
            for block in range(-(-self.prompts // BLOCK))
        ]

    def outcome(self, part: Part) -> Outcome:
        """Compute a part."""
        size, _ = training_text()
        make = penalties(size)[part.penalty]
        numbers = range(part.block * BLOCK, min(self.prompts, (part.block + 1) * BLOCK))
        degenerate, bits = [], []
        total = 0.0
        for number in numbers:
            start = prompt(number, self.prompts)
            text, seconds = continued(start, make(start), part.temperature, number, self.tokens)
            total += seconds
            if is_degenerate(text):
                degenerate.append(number)
            bits.append(round(model().bits(start, text), 3))
        microseconds = round(total / len(numbers) / self.tokens * 1e6, 1)
        return Outcome(*part, degenerate, bits, microseconds)


class _Head(msgspec.Struct, frozen=True):
    experiment: str
    prompts: int
    tokens: int


def results_text(plan: Plan, outcomes: Iterable[Outcome]) -> bytes:
    """Return the content of a results file: a line about the plan, and one for each part."""
    order = {part: number for number, part in enumerate(plan.parts())}
    lines = sorted(outcomes, key=lambda outcome: order[outcome.part])
    head = _Head("lz", **asdict(plan))
    return b"".join(msgspec.json.encode(each) + b"\n" for each in (head, *lines))


def read_results(path: Path, plan: Plan) -> dict[Part, Outcome]:
    """Return what a results file has. Raises `InputError` if it belongs to another plan."""
    first, *lines = path.read_bytes().splitlines() or [b""]
    wanted = _Head("lz", **asdict(plan))
    try:
        head = msgspec.json.decode(first, type=_Head)
        outcomes = [msgspec.json.decode(line, type=Outcome) for line in lines]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a results file of this experiment: {error}") from None
    if head != wanted:
        raise InputError(
            f"{path} has {head.prompts:,} prompts of {head.tokens:,} tokens, "
            f"not {plan.prompts:,} of {plan.tokens:,}; name another file"
        )
    parts = set(plan.parts())
    unknown = [outcome.part for outcome in outcomes if outcome.part not in parts]
    if unknown:
        raise InputError(f"{path} has a line that is not in the plan: {unknown[0]}")
    return {outcome.part: outcome for outcome in outcomes}


class Cell(NamedTuple):
    """The results of one penalty at one temperature."""

    degenerate: float
    """The share of texts that are degenerate."""

    bits: float
    microseconds: float


def cells(outcomes: Iterable[Outcome]) -> dict[tuple[str, float], Cell]:
    """Return the table: for each penalty and temperature the means over all prompts.

    >>> one = Outcome("none", 0.0, 0, [1], [2.0, 4.0], 50.0)
    >>> cells([one])
    {('none', 0.0): Cell(degenerate=0.5, bits=3.0, microseconds=50.0)}
    """
    grouped: dict[tuple[str, float], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        grouped[outcome.penalty, outcome.temperature].append(outcome)
    found = {}
    for key, each in grouped.items():
        bits = [number for outcome in each for number in outcome.bits]
        degenerate = sum(len(outcome.degenerate) for outcome in each)
        time = fmean(outcome.microseconds for outcome in each)
        found[key] = Cell(degenerate / len(bits), fmean(bits), time)
    return found
