"""Mutants of samplers that are right about small inputs: longer ones are cut, or wrap round."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

from authoring.mutants.mutant import Mutant, mutant, named
from authoring.mutants.samplers import (
    Request,
    SamplersWithHandler,
    answering,
    other_answer,
    other_parameters,
    other_question,
    question,
    row_request,
)
from authoring.mutants.sampling_filters import Kept, Right, Row, Values, filtering
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters

PENALTIES: Final = (
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "penalties",
    "decaying_penalties",
)
COUNTED: Final = ("frequency_penalty", "penalties")
DRIES: Final = ("dry", "dry_longest", "dry_nearby")

_ONE: Final = 2.0**-10


# ---- filters


def _kept_of(row: Row, tokens: Sequence[int], right: Right, values: Values) -> Kept:
    """Return what the filter keeps if only some tokens are possible."""
    is_shares = min(row) >= 0 and abs(sum(row) - 1) < _ONE
    seen, lowest = set(tokens), 0.0 if is_shares else -inf
    left = [x if at in seen else lowest for at, x in enumerate(row)]
    if max(left) <= lowest:
        return frozenset(seen)  # nothing is possible
    total = sum(left) if is_shares else 1.0
    return right([x / total for x in left] if is_shares else left, **values)


@filtering("top_k", [1 / 512] * 512, k=300)
def top_k_is_at_most_256(right: Right, row: Row, values: Values) -> Kept:
    """A heap of the best tokens has 256 places."""
    return right(row, **{**values, "k": min(values["k"], 256)})


@filtering("top_k", [1 / 4096] * 4096, k=2050)
def top_k_is_at_most_2048(right: Right, row: Row, values: Values) -> Kept:
    """A block of threads sorts 2,048 tokens."""
    return right(row, **{**values, "k": min(values["k"], 2048)})


@filtering("top_p", [1 / 128] * 128, p=0.75)
def top_p_looks_at_64(right: Right, row: Row, values: Values) -> Kept:
    """Only the 64 best tokens are summed, as a partial sort leaves them."""
    order = sorted(right(row, **values), key=lambda token: -row[token])
    return frozenset(order[:64])


@filtering("top_p", [1 / 2048] * 2048, p=0.75)
def top_p_looks_at_1000(right: Right, row: Row, values: Values) -> Kept:
    """Only the 1,000 best tokens are summed, as some servers do to save time."""
    order = sorted(right(row, **values), key=lambda token: -row[token])
    return frozenset(order[:1000])


@filtering("min_p", [1 / 256] * 256, m=0.5)
def min_p_keeps_100(right: Right, row: Row, values: Values) -> Kept:
    """A list of what stays has 100 places."""
    return frozenset(sorted(right(row, **values))[:100])


@filtering("min_p", [*[1 / 128] * 64, 0.5], m=0.5)
def min_p_in_whole_blocks(right: Right, row: Row, values: Values) -> Kept:
    """The largest probability is searched in whole blocks of 64 tokens."""
    whole = len(row) // 64 * 64
    if whole == len(row) or not whole:
        return right(row, **values)
    kept = _kept_of(row, range(whole), right, values)
    lowest = min(row[token] for token in kept)
    return kept | {token for token in range(whole, len(row)) if row[token] >= lowest}


@filtering("top_k", [*[0.0] * 4096, 1.0], k=1)
def top_k_in_the_first_4096(right: Right, row: Row, values: Values) -> Kept:
    """A kernel reads the first 4,096 tokens of the row."""
    return _kept_or_right(row, 4096, right, values)


@filtering("epsilon", [0.5, *[2.0**-9] * 256], cutoff=0.0625)
def epsilon_without_the_odd_block(right: Right, row: Row, values: Values) -> Kept:
    """What is behind the last whole block of 256 tokens is never removed."""
    whole = len(row) // 256 * 256
    rest = range(whole, len(row)) if whole else ()
    return right(row, **values) | frozenset(token for token in rest if row[token] > 0)


@filtering("typical", [*[0.0] * 256, 0.5, 0.5], mass=0.25)
def typical_in_the_first_256(right: Right, row: Row, values: Values) -> Kept:
    """Only the first 256 tokens of a row are looked at."""
    return _kept_or_right(row, 256, right, values)


@filtering("top_n_sigma", [*[0.0] * 1024, 9.0], kind="logits", n=1.0)
def top_n_sigma_in_the_first_1024(right: Right, row: Row, values: Values) -> Kept:
    """Only the first 1,024 tokens of a row are looked at."""
    return _kept_or_right(row, 1024, right, values)


@filtering("top_a", [*[0.0] * 32_768, 1.0], a=0.5)
def top_a_in_15_bits(right: Right, row: Row, values: Values) -> Kept:
    """Ids are numbers of 16 bits with a sign, so that half of a long row is not seen."""
    return _kept_or_right(row, 1 << 15, right, values)


@filtering("eta", [*[0.0] * 65_536, 1.0], cutoff=0.125)
def eta_in_16_bits(right: Right, row: Row, values: Values) -> Kept:
    """Ids are numbers of 16 bits, and tokens beyond them are not seen."""
    return _kept_or_right(row, 1 << 16, right, values)


def _kept_or_right(row: Row, length: int, right: Right, values: Values) -> Kept:
    """Return what the filter keeps of the beginning of a row."""
    if len(row) <= length:
        return right(row, **values)
    return _kept_of(row, range(length), right, values)


# ---- histories


def _history(change: Callable[[list[int]], list[int]]) -> Callable[..., Mapping[str, Any]]:
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        after = change(list(request["history"]))
        return {"history": after, "prompt_length": min(request["prompt_length"], len(after))}

    return changed


def _row_with(history: Sequence[int], **params: Any) -> dict[str, Any]:
    return row_request([2.0, 2.0, 2.0], history, **params)


@answering(PENALTIES, _row_with([0, *[1] * 64], penalty=2.0))
@other_question
def penalties_see_64(request: dict[str, Any]) -> Mapping[str, Any]:
    """The history is a ring of the last 64 tokens, whatever was asked for."""
    return _history(lambda tokens: tokens[-64:])(request)


@answering(PENALTIES, _row_with([*[1] * 1024, 0], penalty=2.0))
@other_question
def penalties_see_the_first_1024(request: dict[str, Any]) -> Mapping[str, Any]:
    """The history is copied into a buffer of 1,024 tokens, and the newest ones are lost."""
    return _history(lambda tokens: tokens[:1024])(request)


@answering(PENALTIES, _row_with([0, *[1] * 4096], penalty=2.0))
@other_question
def penalties_see_4096(request: dict[str, Any]) -> Mapping[str, Any]:
    """The history is a ring of the last 4,096 tokens."""
    return _history(lambda tokens: tokens[-4096:])(request)


@answering(PENALTIES, row_request([2.0] * 258, [257], penalty=2.0))
@other_question
def penalties_ids_in_a_byte(request: dict[str, Any]) -> Mapping[str, Any]:
    """Tokens of the history are kept in a byte each."""
    return {"history": [token & 0xFF for token in request["history"]]}


@answering(COUNTED, row_request([2.0, 2.0], [0] * 256, penalty=_ONE))
@other_question
def counts_in_a_byte(request: dict[str, Any]) -> Mapping[str, Any]:
    """How often a token occurred is kept in a byte; after 256 times it never did."""
    counts: dict[int, int] = {}
    for token in request["history"]:
        counts[token] = counts.get(token, 0) + 1
    if request["prompt_length"] or max(counts.values(), default=0) < 256:
        return {}
    return {"history": [token for token in counts for _ in range(counts[token] & 0xFF)]}


@answering(COUNTED, row_request([2.0, 2.0], [0] * 65_536, penalty=_ONE))
@other_question
def counts_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """How often a token occurred is kept in 16 bits."""
    history = request["history"]
    if len(history) < 65_536 or len(set(history)) > 1:
        return {}
    return {"history": history[: len(history) & 0xFFFF]}


@answering(PENALTIES, _row_with([0, *[1] * 260], penalty=2.0, window=261))
@other_parameters
def window_in_a_byte(given: dict[str, Any]) -> Mapping[str, Any]:
    """The length of the window is kept in a byte."""
    return {"window": given["window"] & 0xFF} if given.get("window") else {}


@answering(PENALTIES, _row_with([0, *[1] * 100], penalty=2.0, window=101))
@other_parameters
def window_of_100_at_most(given: dict[str, Any]) -> Mapping[str, Any]:
    """A window has at most 100 tokens."""
    return {"window": min(given["window"], 100)} if given.get("window") else {}


@answering(
    ("frequency_penalty", "presence_penalty"),
    row_request([2.0, 2.0], [*[0] * 256, 1], 256, penalty=0.5),
)
@other_question
def prompt_length_in_a_byte(request: dict[str, Any]) -> Mapping[str, Any]:
    """The length of the prompt is kept in a byte."""
    return {"prompt_length": request["prompt_length"] & 0xFF}


@answering(
    "decaying_penalties",
    row_request(
        [2.0, 2.0],
        [0, *[1] * 300],
        repetition=2.0,
        sustain=301,
        decay=0,
        presence=0.0,
        frequency=0.0,
    ),
)
@other_parameters
def sustain_in_a_byte(given: dict[str, Any]) -> Mapping[str, Any]:
    """The range of the full penalty is kept in a byte."""
    return {"sustain": given["sustain"] & 0xFF} if given.get("sustain") else {}


# ---- repetitions

_FAR: Final = [6, 7, 1]


def _far(length: int) -> list[int]:
    return [*_FAR, *([3, 4, 4, 3] * length)[: length - 5], 6, 7]


_EIGHT: Final = [1.0] * 8


@answering("no_repeat_ngram", row_request(_EIGHT, _far(300), ngram_size=3))
@other_question
def ngrams_of_the_last_256(request: dict[str, Any]) -> Mapping[str, Any]:
    """n-grams are looked for in the last 256 tokens only."""
    return _history(lambda tokens: tokens[-256:])(request)


@answering(
    "no_repeat_ngram",
    row_request(_EIGHT, [0, *[3, 4, 4] * 23, 1, 2, *[3, 4, 4] * 23], ngram_size=70),
)
@other_parameters
def ngrams_of_64_at_most(given: dict[str, Any]) -> Mapping[str, Any]:
    """An n-gram has at most 64 tokens."""
    name = "ngram_size" if "ngram_size" in given else "no_repeat_ngram_size"
    return {name: min(given[name], 64)} if given.get(name) else {}


@answering(DRIES, row_request(_EIGHT, _far(200), multiplier=1.0, base=2.0, allowed_length=2))
@other_question
def dry_looks_back_128(request: dict[str, Any]) -> Mapping[str, Any]:
    """DRY looks back 128 tokens at most."""
    return _history(lambda tokens: tokens[-128:])(request)


@answering(DRIES, row_request(_EIGHT, _far(1100), multiplier=1.0, base=2.0, allowed_length=2))
@other_question
def dry_looks_back_1024(request: dict[str, Any]) -> Mapping[str, Any]:
    """DRY looks back 1,024 tokens at most."""
    return _history(lambda tokens: tokens[-1024:])(request)


# ---- lists of tokens


def _first_of(size: int, *names: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Return what reads only the first entries of some parameters."""

    def change(given: dict[str, Any]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            entries = given.get(name)
            if isinstance(entries, Mapping):
                found[name] = dict(list(entries.items())[:size])
            elif isinstance(entries, Sequence) and not isinstance(entries, str):
                found[name] = list(entries)[:size]
        return found

    return change


@answering("logit_bias", row_request([0.0] * 310, biases=dict.fromkeys(range(301), 1.0)))
@other_parameters
def biases_at_most_300(given: dict[str, Any]) -> Mapping[str, Any]:
    """The 301st bias is lost; OpenAI's servers refuse more than 300."""
    return _first_of(300, "biases", "logit_bias", "token_bias")(given)


@answering("logit_bias", row_request([0.0] * 110, biases=dict.fromkeys(range(101), 1.0)))
@other_parameters
def biases_at_most_100(given: dict[str, Any]) -> Mapping[str, Any]:
    """A list has room for 100 biases."""
    return _first_of(100, "biases", "logit_bias", "token_bias")(given)


@answering(
    ("logit_bias", "suppress", "allowed_tokens"), row_request([0.0] * 262, biases={260: 1.0})
)
@other_parameters
def listed_ids_in_a_byte(given: dict[str, Any]) -> Mapping[str, Any]:
    """Tokens in a list are kept in a byte each."""
    found: dict[str, Any] = {}
    if isinstance(given.get("biases"), Mapping):
        found["biases"] = {token & 0xFF: bias for token, bias in given["biases"].items()}
    if isinstance(given.get("tokens"), list):
        found["tokens"] = sorted({token & 0xFF for token in given["tokens"]})
    return found


@answering("suppress", row_request([0.0] * 110, tokens=list(range(65))))
@other_parameters
def suppressed_at_most_64(given: dict[str, Any]) -> Mapping[str, Any]:
    """A list has room for 64 tokens that are suppressed."""
    return _first_of(64, "tokens", "suppress_tokens")(given)


@answering("allowed_tokens", row_request([0.0] * 300, tokens=list(range(257))))
@other_parameters
def allowed_at_most_256(given: dict[str, Any]) -> Mapping[str, Any]:
    """A list has room for 256 tokens that are allowed."""
    return _first_of(256, "tokens", "allowed_token_ids")(given)


@answering(
    "bad_words",
    row_request(_EIGHT, [7, 6], words=[*([0, 1, n % 8, n // 8] for n in range(64)), [7, 6, 1]]),
)
@other_parameters
def bad_words_at_most_64(given: dict[str, Any]) -> Mapping[str, Any]:
    """A list has room for 64 forbidden words."""
    return _first_of(64, "words", "bad_words", "bad_words_ids")(given)


@answering(
    ("bad_words", "sequence_bias"),
    row_request(_EIGHT, [*[3, 4, 4] * 34], words=[[*[3, 4, 4] * 34, 1]]),
)
@other_parameters
def sequences_of_100_at_most(given: dict[str, Any]) -> Mapping[str, Any]:
    """A forbidden word or a sequence of more than 100 tokens is left out."""
    found: dict[str, Any] = {}
    if isinstance(given.get("words"), list):
        found["words"] = [word for word in given["words"] if len(word) <= 100]
    if isinstance(given.get("biases"), Mapping):
        found["biases"] = {
            key: bias
            for key, bias in given["biases"].items()
            if not isinstance(key, tuple | list) or len(key) <= 100
        }
    return found


@answering("min_length", row_request([0.0, 1.0], [1] * 20, length=266, ends=0))
@other_parameters
def min_length_in_a_byte(given: dict[str, Any]) -> Mapping[str, Any]:
    """The least length is kept in a byte."""
    name = "length" if "length" in given else "min_length"
    return {name: given[name] & 0xFF} if given.get(name) else {}


# ---- draws


@answering("draw", {"probs": pack([*[0.0] * 1024, 1.0, 1.0]), "uniforms": pack([0.75])})
@other_question
def draw_from_the_first_1024(request: dict[str, Any]) -> Mapping[str, Any]:
    """The walk ends after 1,024 tokens, and draws the last one it saw."""
    if "probs" not in request or len(row := unpack(request["probs"])) <= 1024 or "order" in request:
        return {}
    dtype = type_of(request["probs"])
    return {
        "probs": pack(
            [*row[:1023], sum(row[1023:1024]) or row[-1], *[0.0] * (len(row) - 1024)], dtype
        )
    }


@answering("draw", {"probs": pack([*[0.0] * 65_536, 1.0]), "uniforms": pack([0.75])})
@other_answer
def draw_in_16_bits(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The token that is drawn is a number of 16 bits."""
    del request
    return {**out, "token": out["token"] & 0xFFFF} if "token" in out else out


@answering(
    "draw",
    {"probs": pack([1.0] * 65), "uniforms": pack([0.9990234375]), "order": [*range(64, -1, -1)]},
)
@other_question
def order_of_64(request: dict[str, Any]) -> Mapping[str, Any]:
    """Only the first 64 tokens of the order are walked."""
    return {"order": request["order"][:64]} if "order" in request else {}


@answering("draw", {"probs": pack([1.0] * 110), "uniforms": pack([0.5] * 101), "count": 101})
@other_answer
def several_at_most_100(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """No more than 100 tokens are drawn from a row."""
    del request
    return {"tokens": out["tokens"][:100]} if "tokens" in out else out


@answering(
    "draw",
    {"logits": pack([0.0] * 65), "uniforms": pack([*[0.25] * 64, 0.9375])},
    profile="method.gumbel-max",
)
@other_question
def noise_of_64_tokens_again(request: dict[str, Any]) -> Mapping[str, Any]:
    """The noise of 64 tokens is made once, and used again for the next 64."""
    row = request.get("probs") or request.get("logits")
    if row is None or "uniforms" not in request:
        return {}
    numbers = unpack(request["uniforms"])
    if len(numbers) <= 64 or len(numbers) != len(unpack(row)):
        return {}
    again = [numbers[at % 64] for at in range(len(numbers))]
    return {"uniforms": pack(again, type_of(request["uniforms"]))}


@answering("greedy", {"logits": pack([*[0.0] * 32_768, 1.0])})
@other_question
def greedy_in_15_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """Only the first 32,768 tokens are compared."""
    row = unpack(request["logits"])
    return (
        {"logits": pack(row[: 1 << 15], type_of(request["logits"]))} if len(row) > 1 << 15 else {}
    )


@answering("greedy", {"logits": pack([*[0.0] * 64, 1.0])})
@other_question
def greedy_in_whole_blocks_of_64(request: dict[str, Any]) -> Mapping[str, Any]:
    """What is behind the last whole block of 64 tokens is not compared."""
    row = unpack(request["logits"])
    whole = len(row) // 64 * 64
    if not whole or whole == len(row) or max(row[:whole]) == -inf:
        return {}
    return {"logits": pack(row[:whole], type_of(request["logits"]))}


@answering(("softmax", "logprobs"), {"logits": pack([0.0] * 300)})
@other_answer
def shares_of_256_only(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Only 256 tokens are normalized; the others keep probability 0."""
    del request
    ((name, numbers),) = out.items()
    row = unpack(numbers)
    rest = 0.0 if name == "probs" else -inf
    return {name: pack([x if at < 256 else rest for at, x in enumerate(row)], type_of(numbers))}


# ---- several drafts, rows and calls


@answering(
    "speculative",
    {
        "draft": [pack([0.5, 0.5])] * 65,
        "target": [pack([0.5, 0.5])] * 66,
        "tokens": [0] * 65,
        "uniforms": pack([0.5] * 66),
        "params": {},
    },
)
@other_answer
def drafts_at_most_64(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """No more than 64 drafted tokens are verified."""
    if out.get("accepted", 0) <= 64:
        return out
    return {**out, "accepted": 64, "tokens": request["tokens"][:64]}


@answering(
    "batch",
    {
        "op": "top_k",
        "rows": [
            *[{"logits": pack([1.0, 0.0]), "params": pack_parameters({"k": 1})}] * 100,
            {"logits": pack([0.0, 1.0]), "params": pack_parameters({"k": 1})},
        ],
    },
)
@other_question
def batch_of_100_at_most(request: dict[str, Any]) -> Mapping[str, Any]:
    """Rows beyond the hundredth get the answer of the first ones."""
    rows = request["rows"]
    return {"rows": [rows[place % 100] for place in range(len(rows))]}


@answering(
    "batch",
    {
        "op": "top_k",
        "rows": [
            *[{"logits": pack([1.0, 0.0]), "params": pack_parameters({"k": 1})}] * 256,
            {"logits": pack([0.0, 1.0]), "params": pack_parameters({"k": 1})},
        ],
    },
)
@other_question
def batch_rows_in_a_byte(request: dict[str, Any]) -> Mapping[str, Any]:
    """The number of a row is kept in a byte."""
    rows = request["rows"]
    return {"rows": [rows[place & 0xFF] for place in range(len(rows))]}


def _accepting(count: int, *calls: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "params": pack_parameters({"do_sample": False, "repetition_penalty": 2.0}),
        "prompt": [],
        "calls": [{"accept": 0}, *[{"accept": 1}] * count, *calls],
    }


_ASK: Final = {"sample": {"logits": pack([3.0, 1.0, 2.0]), "uniforms": pack([])}}


@answering("sequence", _accepting(256, _ASK), profile="transformers")
def sampler_remembers_256(session: SamplerSession, op: str, request: Request) -> Answer:
    """A sampler remembers the last 256 tokens, and loses its prompt and what came first."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    answers: list[Any] = []
    memory: list[int] = []
    for call in request["calls"]:
        if "accept" in call:
            memory.append(call["accept"])
        elif "truncate" in call:
            memory = memory[: call["truncate"]]
        elif "reset" in call:
            memory = []
        if "sample" not in call or len(request["prompt"]) + len(memory) <= 256:
            answers.append(right.out["answers"][len(answers)])
            continue
        last = [*request["prompt"], *memory][-256:]
        again = {**request, "prompt": [], "calls": [*({"accept": t} for t in last), call]}
        answer = session.answer(op, again)
        answers.append(answer.out["answers"][-1] if isinstance(answer, Ok) else None)
    return Ok({"answers": answers})


@answering(
    "sequence",
    {
        "params": pack_parameters({"do_sample": False, "repetition_penalty": 2.0}),
        "prompt": [],
        "calls": [*[{"accept": 1}] * 256, *[{"accept": 0}] * 9, {"truncate": 257}, _ASK],
    },
    profile="transformers",
)
@other_question
def sampler_truncates_in_a_byte(request: dict[str, Any]) -> Mapping[str, Any]:
    """How many tokens are kept is a number of a byte."""
    return {
        "calls": [
            {"truncate": call["truncate"] & 0xFF} if "truncate" in call else call
            for call in request["calls"]
        ]
    }


@answering("random_words", {"seed": "2a", "taken": 65_536, "count": 1}, profile="splitmix64")
@other_question
def words_counted_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The number of a word is kept in 16 bits, so that a stream repeats."""
    return {"taken": request["taken"] & 0xFFFF}


@answering("random_words", {"seed": "2a", "taken": 0, "count": 100}, profile="splitmix64")
@other_answer
def words_in_a_buffer_of_64(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """More than 64 words at once are the first ones again."""
    del request
    words = out["words"]
    return {"words": [words[place % 64] for place in range(len(words))]}


# ---- steps that use the row as it was before another step


_FIVE: Final = (3.0, 2.5, 2.0, 1.0, 0.0)

_OFF: Final[Mapping[str, Mapping[str, Any]]] = {
    "transformers": {"top_k": 0},
    "llama.cpp": {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0},
    "mlx-lm": {"temp": 1.0},
    "exllamav2": {"top_k": 0, "top_p": 0.0, "temperature": 1.0, "token_repetition_penalty": 1.0},
}
"""What switches the defaults of engines off."""


def _kept(answer: Answer) -> frozenset[int] | None:
    return (
        frozenset(answer.out["keep"]) if isinstance(answer, Ok) and "keep" in answer.out else None
    )


def _older_row(
    engine: str,
    later: tuple[str, ...],
    earlier: tuple[str, ...],
    *,
    is_filter: bool,
    history: Sequence[int] = (),
    **params: Any,
) -> Mutant:
    """Return a mutant in which a filter of an engine uses the row before an earlier step."""
    off = _OFF.get(engine, {})

    def without(request: Request, names: Sequence[str]) -> dict[str, Any]:
        given = unpack_parameters(request["params"])
        left = {name: value for name, value in given.items() if name not in names}
        left |= {name: off[name] for name in names if name in off}
        return {**request, "params": pack_parameters(left)}

    def wrong(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        given = request["params"]
        if not any(name in given for name in later) or not any(name in given for name in earlier):
            return right
        if given in (without(request, earlier)["params"], without(request, later)["params"]):
            return right  # one of the steps is off
        old = _kept(session.answer(op, without(request, earlier)))
        other = _kept(session.answer(op, without(request, later)))
        if old is None or other is None:
            return right
        kept = sorted(old & other if is_filter else old)
        return Ok({"keep": kept}) if kept else right

    step, before = later[0].replace("_", "-"), earlier[0].replace("_", "-")
    named(
        f"{engine.replace('.', '-')}_{step}_before_{before}".replace("-", "_"),
        f"In {engine}, {later[0]} decides by the row as it was before {earlier[0]}.",
        wrong,
    )
    request = row_request(_FIVE, history, 0, **{**off, **params})
    return mutant(
        question("chain", request, profile=engine),
        lambda label, handle: SamplersWithHandler(label, handle=handle),
        ops=["chain"],
        profiles=[engine],
    )(wrong)


OLDER: Final = (
    _older_row("transformers", ("top_p",), ("top_k",), is_filter=True, top_k=2, top_p=0.5),
    _older_row(
        "transformers", ("typical_p",), ("top_p",), is_filter=True, top_p=0.625, typical_p=0.5
    ),
    _older_row(
        "transformers", ("epsilon_cutoff",), ("top_k",), is_filter=True, top_k=2, epsilon_cutoff=0.3
    ),
    _older_row(
        "transformers",
        ("top_k",),
        ("repetition_penalty",),
        is_filter=False,
        history=[0],
        repetition_penalty=4.0,
        top_k=1,
    ),
    _older_row(
        "transformers",
        ("min_p",),
        ("sequence_bias",),
        is_filter=False,
        sequence_bias={(4,): 4.0},
        min_p=0.5,
    ),
    _older_row("vllm", ("top_p",), ("min_p",), is_filter=True, min_p=0.5, top_p=0.5),
    _older_row(
        "vllm",
        ("min_p",),
        ("frequency_penalty",),
        is_filter=False,
        history=[0, 0],
        frequency_penalty=2.0,
        min_p=0.5,
    ),
    _older_row("vllm", ("top_k",), ("logit_bias",), is_filter=False, logit_bias={4: 10.0}, top_k=1),
    _older_row("llama.cpp", ("typical_p",), ("top_k",), is_filter=True, top_k=3, typical_p=0.5),
    _older_row(
        "llama.cpp", ("top_p",), ("typical_p",), is_filter=True, typical_p=0.75, top_p=0.625
    ),
    _older_row(
        "llama.cpp",
        ("min_p",),
        ("repeat_penalty",),
        is_filter=False,
        history=[0],
        repeat_penalty=4.0,
        min_p=0.5,
    ),
    _older_row(
        "llama.cpp",
        ("top_p",),
        ("dry_multiplier",),
        is_filter=False,
        history=[1, 0, 1],
        dry_multiplier=3.0,
        dry_allowed_length=1,
        dry_base=1.75,
        top_p=0.5,
    ),
    _older_row("sglang", ("top_p",), ("top_k",), is_filter=True, top_k=2, top_p=0.5),
    _older_row(
        "sglang",
        ("min_p",),
        ("presence_penalty",),
        is_filter=False,
        history=[0],
        presence_penalty=2.0,
        min_p=0.5,
    ),
    _older_row(
        "mlx-lm",
        ("top_k",),
        ("repetition_penalty",),
        is_filter=False,
        history=[0],
        repetition_penalty=4.0,
        top_k=1,
    ),
)
