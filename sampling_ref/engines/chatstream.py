"""ChatStream: the published article's three penalties, their worked example, and a profile.

Qualiteg, "Three penalties in LLM sampling" (in Japanese;
https://blog.qualiteg.com/making_penalty_processor). The rule:

    A processor gets logits and named parameters and returns new logits with its name.
    Repetition: every distinct past token; frequency: every token by how often it was
    generated; presence: every token that was generated. Multiplicative: divide by the
    penalty (frequency: by penalty ** count). Subtractive: subtract it (penalty * count).

Negative logits
    The multiplicative penalties divide whatever the sign. A negative logit comes closer to
    zero, so that a repeat becomes likelier: the article's code does this, and so does this.
What the words say
    The article calls the multiplicative penalty one that divides, in its text and in its
    code; only its worked example multiplies by the frequency penalty.
No penalty
    A penalty of None, which is also the default, changes nothing. So does a repetition
    penalty without past tokens. A multiplicative penalty of 1 changes nothing; a subtractive
    one of 1 subtracts 1.
Method
    An unknown method is an error at once. The article's frequency and presence penalties
    notice it only when some token was generated, and its repetition penalty only when
    there is a penalty.
Domain
    Multiplicative penalties are above 0: the article would divide by zero, or turn signs.
    Subtractive ones are any numbers. The article takes True for 1; here it is an error.
Names of parameters
    `penalty`, `penalty_method` and `past_tokens` may be given to all three, so that one
    mapping serves them all; only the repetition penalty looks at `past_tokens`, which it
    needs. Other names are errors, where the article ignores them.
Memory
    The frequency and the presence penalty remember what was generated; the repetition
    penalty is told each time. Nothing is updated by processing.
Arguments stay as they are
    Logits are never changed and never returned themselves, also where nothing is to be done
    (there the article returns the very same object).

The worked example (section "a concrete example of the sampling calculation") has seven tokens;
"Qualiteg" was generated once; repetition 1.2, frequency 0.8, presence 1.5, temperature 0.7,
top-k 50, top-p 0.9. It is offered three times:

As published
    The printed digits come out if every stage is rounded to two decimals, also the weights
    and the shares, if the logit is *multiplied* by the frequency penalty, and if top-k
    leaves five tokens ("50, but only the five best are shown" is where the article leaves
    the other two out of the sum). Kept: until the sum of shares exceeds 0.9.
Exactly
    The same operations without rounding, and with k = 50, which leaves all seven. Their
    weight counts, so that two more are kept.
As coded
    The article's own code divides by the frequency penalty. Without rounding, k = 50.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any, Final, Literal, Protocol, TypedDict

from sampling_ref.engines.profile import Draw, Parameter, Profile, Stage
from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.numbers.exact import WEIGHTS
from sampling_ref.numbers.orders import largest_first
from sampling_ref.parameters import read_choice, read_history, read_number
from sampling_ref.row import Candidates, Number, TokenId, read_logits
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.presence_penalty import presence_penalty
from sampling_ref.steps.repetition_penalty import repetition_penalty
from sampling_ref.steps.top_k import top_k
from sampling_ref.steps.top_p import top_p

KNOWN_PARAMETERS = ("past_tokens", "penalty", "penalty_method")


class Processed(TypedDict):
    """What a processor returns: its name, the word "logits", and the new logits."""

    name: str
    type: Literal["logits"]
    logits: list[Number]


class LogitsProcessor(Protocol):
    """What a processor has to offer; any object with these two methods is one.

    >>> class Halving:
    ...     def process(self, logits, params):
    ...         halves = [logit / 2 for logit in logits]
    ...         return {"name": "Halving", "type": "logits", "logits": halves}
    ...     def get_name(self):
    ...         return "halving"
    >>> process_all([Halving(), Halving()], [4.0, 2.0], {})[-1]["logits"]
    [1.0, 0.5]
    """

    def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
        """Return new logits; change neither the logits given nor the parameters."""
        ...

    def get_name(self) -> str:
        """Return the name under which the parameters are given."""
        ...


def _processed(
    name: str,
    logits: Any,
    params: Any,
    tokens: tuple[str, Any],
    penalize: Callable[..., list[Number]],
) -> Processed:
    """Return what a processor returns; `tokens` are those to lower, behind their name."""
    row: list[Number] = read_logits(logits)
    penalty, method = read_parameters(params)
    what, found = tokens
    read_history(list(found) if isinstance(found, set | Mapping) else found, len(row), what)
    if penalty is not None:
        again = Counter(found).elements() if isinstance(found, Mapping) else found
        row = penalize(row, list(again), penalty, method=method)
    return {"name": name, "type": "logits", "logits": row}


class RepetitionPenaltyProcessor:
    """Lower every distinct one of the past tokens.

    >>> processor = RepetitionPenaltyProcessor()
    >>> processor.process([3.0, -3.0, 3.0], {"past_tokens": [0, 1, 0], "penalty": 1.5})["logits"]
    [2.0, -2.0, 3.0]
    """

    def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
        past = params.get("past_tokens") if isinstance(params, Mapping) else None
        tokens = ("history", [] if past is None else past)
        name = "RepetitionPenaltyProcessor"
        return _processed(name, logits, params, tokens, repetition_penalty)

    def get_name(self) -> str:
        return "rep_penalty"


class FrequencyPenaltyProcessor:
    """Lower every token by how often it was generated; `update_token_counts` tells what was.

    >>> processor = FrequencyPenaltyProcessor()
    >>> processor.update_token_counts([0, 1, 0])
    >>> processor.process([4.0, 4.0, 4.0], {"penalty": 2.0})["logits"]
    [1.0, 2.0, 4.0]
    >>> processor.process([4.0, 4.0], {"penalty": 2.0, "penalty_method": "subtractive"})["logits"]
    [0.0, 2.0]
    """

    def __init__(self) -> None:
        self.token_counts = Counter[TokenId]()

    def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
        tokens = ("token_counts", self.token_counts)
        return _processed("FrequencyPenaltyProcessor", logits, params, tokens, frequency_penalty)

    def update_token_counts(self, token_ids: Any) -> None:
        """Count tokens that were generated."""
        self.token_counts.update(read_history(token_ids, None, "token_ids"))

    def get_name(self) -> str:
        return "freq_penalty"


class PresencePenaltyProcessor:
    """Lower every token that was generated; `update_seen_tokens` tells which were.

    >>> processor = PresencePenaltyProcessor()
    >>> processor.update_seen_tokens([0, 0])
    >>> processor.process([4.0, 4.0], {"penalty": 2.0})["logits"]
    [2.0, 4.0]
    """

    def __init__(self) -> None:
        self.seen_tokens: set[TokenId] = set()

    def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
        tokens = ("seen_tokens", self.seen_tokens)
        return _processed("PresencePenaltyProcessor", logits, params, tokens, presence_penalty)

    def update_seen_tokens(self, token_ids: Any) -> None:
        """Remember tokens that were generated."""
        self.seen_tokens.update(read_history(token_ids, None, "token_ids"))

    def get_name(self) -> str:
        return "presence_penalty"


def process_all(
    processors: Iterable[LogitsProcessor], logits: Any, params: Mapping[str, Mapping[str, Any]]
) -> list[Processed]:
    """Return what each processor made of the logits of the one before, in the order given.

    `params` maps the name of a processor to its parameters.

    >>> presence = PresencePenaltyProcessor()
    >>> presence.update_seen_tokens([0])
    >>> repetition = RepetitionPenaltyProcessor()
    >>> params = {
    ...     "presence_penalty": {"penalty": 1.0, "penalty_method": "subtractive"},
    ...     "rep_penalty": {"penalty": 2.0, "past_tokens": [0]},
    ... }
    >>> [done["logits"] for done in process_all([presence, repetition], [4.0, 4.0], params)]
    [[3.0, 4.0], [1.5, 4.0]]
    """
    steps: Sequence[LogitsProcessor] = list(processors)
    if not isinstance(params, Mapping):
        raise ParameterError("params", params, "must map names of processors to parameters")
    names = [step.get_name() for step in steps]
    for name in params:
        if name not in names:
            raise UnknownNameError("processor", name, names)
    results: list[Processed] = []
    row = read_logits(logits)
    for step, name in zip(steps, names, strict=True):
        results.append(step.process(row, params.get(name, {})))
        row = read_logits(results[-1]["logits"], f"the logits of {name}")
    return results


def read_parameters(params: Any) -> tuple[Number | None, Literal["divide", "subtract"]]:
    """Return the penalty and what to do with it from a mapping of parameters.

    >>> read_parameters({"penalty": 1.2}), read_parameters({})
    ((1.2, 'divide'), (None, 'divide'))
    """
    if not isinstance(params, Mapping):
        raise ParameterError("params", params, "must map names of parameters to values")
    for name in params:
        if name not in KNOWN_PARAMETERS:
            raise UnknownNameError("parameter", name, KNOWN_PARAMETERS)
    given = params.get("penalty_method", "multiplicative")
    divides = (
        read_choice("penalty_method", given, ("multiplicative", "subtractive")) == "multiplicative"
    )
    penalty = params.get("penalty")
    if penalty is not None:
        penalty = read_number("penalty", penalty, "(0, inf)" if divides else "(-inf, inf)")
    return penalty, "divide" if divides else "subtract"


TOKENS: Final = ("Qualiteg", "May", "Change", "the", "World", "with", "ChatStream")
LOGITS: Final = tuple(map(Fraction, ("2", "1.5", "1", "0.5", "0.3", "0.2", "0.1")))
GENERATED: Final = (0,)
REPETITION, FREQUENCY, PRESENCE = Fraction("1.2"), Fraction("0.8"), Fraction("1.5")
TEMPERATURE, TOP_K, TOP_P = Fraction("0.7"), 50, Fraction("0.9")
SHOWN: Final = 5
DECIMALS: Final = 2


@dataclass(frozen=True)
class Stages:
    """What the example shows.

    `penalised` has the logit of "Qualiteg" after repetition, frequency and presence
    penalty, `divided` all logits after the temperature, `kept` the tokens that are left,
    likeliest first.
    """

    penalised: tuple[Number, ...]
    divided: tuple[Number, ...]
    kept: tuple[str, ...]


def as_published() -> Stages:
    """Return the stages with the digits that the article prints.

    >>> published = as_published()
    >>> [float(number) for number in published.penalised]
    [1.67, 1.34, 0.89]
    >>> [float(number) for number in published.divided]
    [1.27, 2.14, 1.43, 0.71, 0.43, 0.29, 0.14]
    >>> published.kept
    ('May', 'Change', 'Qualiteg', 'the')
    """
    row: list[Number] = list(LOGITS)
    seen = []
    for change in (1 / REPETITION, FREQUENCY, 1 / PRESENCE):
        row[0] = round(Fraction(row[0]) * change, DECIMALS)
        seen.append(row[0])
    divided = [round(Fraction(logit) / TEMPERATURE, DECIMALS) for logit in row]
    best = largest_first(divided)[:SHOWN]
    weights = [round(Fraction(exp(divided[token])), DECIMALS) for token in best]
    total = sum(weights)
    shares = [round(weight / total, DECIMALS) for weight in weights]
    row_of_shares = Candidates(range(len(shares)), shares, whole=[Fraction(1)])
    kept = top_p(
        row_of_shares, TOP_P, boundary="exceed", base="the whole row", numbers=WEIGHTS
    ).tokens
    return Stages(tuple(seen), tuple(divided), tuple(TOKENS[best[place]] for place in sorted(kept)))


def exactly(frequency: Literal["multiply", "divide"] = "multiply") -> Stages:
    """Return the stages without rounding; the article's own code divides.

    >>> exactly().penalised
    (Fraction(5, 3), Fraction(4, 3), Fraction(8, 9))
    >>> exactly().kept
    ('May', 'Change', 'Qualiteg', 'the', 'World', 'with')
    >>> exactly("divide").kept
    ('May', 'Qualiteg', 'Change', 'the', 'World')
    """
    past = {"past_tokens": GENERATED, "penalty": REPETITION}
    repeated = RepetitionPenaltyProcessor().process(LOGITS, past)["logits"]
    counting = FrequencyPenaltyProcessor()
    counting.update_token_counts(GENERATED)
    divisor = FREQUENCY if frequency == "divide" else 1 / FREQUENCY
    counted = counting.process(repeated, {"penalty": divisor})["logits"]
    seeing = PresencePenaltyProcessor()
    seeing.update_seen_tokens(GENERATED)
    seen = seeing.process(counted, {"penalty": PRESENCE})["logits"]
    divided = [Fraction(logit) / TEMPERATURE for logit in seen]
    kept = top_p(top_k(divided, TOP_K), TOP_P, boundary="exceed").tokens
    return Stages(
        (repeated[0], counted[0], seen[0]),
        tuple(divided),
        tuple(TOKENS[token] for token in largest_first(divided) if token in kept),
    )


ARTICLE = "Three penalties for LLM sampling (Qualiteg)"
CODE = f"{ARTICLE}, the processors' code"
SCALAR = "Any number; here a divisor must be above 0."
ONCE = {"counting": "distinct", "arithmetic": "division"}


def _penalty(step: str, method: str, unless: str, **more: str) -> Stage:
    return Stage(
        step,
        {"penalty": step},
        {"method": method, "scope": "all", "window": None, "skipped": 0, **more},
        off_if=f"{step} is None or penalty_method == '{unless}'",
        source=CODE,
    )


CHATSTREAM = Profile(
    name="chatstream",
    title="ChatStream",
    repository="the published article",
    version=ARTICLE,
    parameters=(
        Parameter(
            "penalty_method", "multiplicative", "one of multiplicative, subtractive", source=CODE
        ),
        Parameter("repetition_penalty", None, "number or None", "f64", CODE),
        Parameter("frequency_penalty", None, "number or None", "f64", CODE),
        Parameter("presence_penalty", None, "number or None", "f64", CODE),
        Parameter("temperature", 1.0, "(0, inf)", "f64", f"{ARTICLE}, scenario, step 3"),
        Parameter("top_k", None, "whole [1, inf) or None", source=f"{ARTICLE}, scenario, step 4"),
        Parameter("top_p", None, "[0, 1] or None", "f64", f"{ARTICLE}, scenario, step 5"),
    ),
    engine_rules={
        "penalty_method": "Each processor has its own.",
        "repetition_penalty": SCALAR,
        "frequency_penalty": SCALAR,
        "presence_penalty": SCALAR,
    },
    stages=(
        _penalty("repetition_penalty", "divide", "subtractive", **ONCE),
        _penalty("repetition_penalty", "subtract", "multiplicative", **ONCE),
        _penalty("frequency_penalty", "divide", "subtractive", arithmetic="at once"),
        _penalty("frequency_penalty", "subtract", "multiplicative", arithmetic="at once"),
        _penalty("presence_penalty", "divide", "subtractive"),
        _penalty("presence_penalty", "subtract", "multiplicative"),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            source=f"{ARTICLE}, scenario, step 3",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k is None",
            source=f"{ARTICLE}, scenario, step 4",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "exceed",
                "zero": "best",
                "ties": "lowest id",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p is None",
            note="Tokens are chosen until the running sum exceeds p.",
            source=f"{ARTICLE}, scenario, step 5",
        ),
    ),
    draw=Draw("inverse CDF", uniform="not said", source=f"{ARTICLE}, scenario, step 6"),
    notes=(
        (
            "Dividing by a penalty makes a token with a negative logit more likely; the code "
            "divides whatever the sign."
        ),
        (
            "The frequency penalty divides by penalty ** count; the article's example multiplies "
            "instead (`sampling_ref.engines.chatstream` reproduces both)."
        ),
        "The processors can be combined in any order; this is the order of the example.",
    ),
)
