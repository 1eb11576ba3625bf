"""Mutants that read a mask of allowed tokens wrongly, or apply it to another row."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import inf
from typing import Any, TypeAlias

from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    other_answer,
    other_parameters,
    other_question,
    other_row,
    row_request,
)
from tokenref.answers import Answer, Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters

Params: TypeAlias = dict[str, Any]

_FORTY = [float(token) for token in range(40)]


def _asked(**params: Any) -> dict[str, Any]:
    """Return a question about a row of four."""
    return row_request([0.5, 2.0, -1.0, 1.5], **params)


def _words(given: Params) -> list[int] | None:
    """Return the words of a mask, if it is a list of words."""
    words = given.get("words")
    return words if isinstance(words, list) else None


def mask(witness: Mapping[str, Any]) -> Callable[[Callable[[Params], Mapping[str, Any]]], Mutant]:
    """Return a decorator: the function changes the parameters of a mask, row by row in a batch.

    A row that is refused is still refused, and one that becomes invalid stays as it was.
    """

    def decorate(change: Callable[[Params], Mapping[str, Any]]) -> Mutant:
        one = other_parameters(change)

        @wraps(change)
        def row(session: SamplerSession, op: str, request: Request) -> Answer:
            changed = one(session, op, request)
            return changed if isinstance(changed, Ok) else session.answer(op, request)

        return answering(("token_mask", "batch"), witness)(_each_row(row))

    return decorate


def _each_row(row: SamplerHandler) -> SamplerHandler:
    """Return the handler that answers each row of a batch of masks by another handler."""

    @wraps(row)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        if op == "token_mask":
            return row(session, op, request)
        right = session.answer(op, request)
        if op != "batch" or request["op"] != "token_mask" or not isinstance(right, Ok):
            return right
        answers = [row(session, "token_mask", each) for each in request["rows"]]
        return Ok({"rows": [dict(each.out) for each in answers if isinstance(each, Ok)]})

    return handle


# ---- which bit is whose


@mask(_asked(words=[0x80000002]))
def mask_bits_in_the_other_order(given: Params) -> Mapping[str, Any]:
    """The lowest bit is taken for the highest, and the highest for the lowest."""
    return {"bits": "low first" if given.get("bits") == "high first" else "high first"}


def _allowed(given: Params) -> set[int]:
    """Return the tokens that a mask allows, also those of bits beyond the vocabulary."""
    if "tokens" in given:
        return {*given["tokens"]}
    form = given["words"] if "words" in given else given["booleans"]
    placed = form if isinstance(form, Mapping) else dict(enumerate(form))
    if "booleans" in given:
        return {token for token, allowed in placed.items() if allowed}
    flip = 31 if given.get("bits") == "high first" else 0
    ones = ((place, bit) for place, word in placed.items() for bit in range(32) if word >> bit & 1)
    return {place * 32 + (bit ^ flip) for place, bit in ones}


def _masks(
    request: Request,
    change: Callable[[int, set[int] | None], set[int] | None],
    vocab_size: int | None = None,
) -> dict[str, Any]:
    """Return what differs in a question if its masks, in whatever form, allow other tokens.

    `change` gets the size of the vocabulary and the tokens that a mask allows, or None if a row
    has no mask. It returns the tokens that are allowed, or None if nothing changes.
    """
    if "rows" in request:
        if request["op"] not in {"token_mask", "steps"}:
            return {}
        size = request.get("vocab_size")
        return {"rows": [{**row, **_masks(row, change, size)} for row in request["rows"]]}
    length = vocab_size or len(unpack(request["logits"]))

    def changed(params: dict[str, Any]) -> dict[str, Any]:
        given = unpack_parameters(params)
        has_mask = {"words", "booleans", "tokens"} & given.keys()
        size = given.get("vocab_size") or length
        tokens = change(size, _allowed(given) if has_mask else None)
        if tokens is None:
            return params
        own = {"vocab_size": size} if vocab_size is None else {}
        return pack_parameters({"tokens": sorted(tokens & {*range(size)}), **own})

    if "params" in request:
        return {"params": changed(request["params"])}
    steps = [
        {**step, "params": changed(step["params"])} if step["step"] == "token_mask" else step
        for step in request["steps"]
    ]
    return {"steps": steps}


def every_mask(change: Callable[[int, set[int]], set[int]]) -> Mutant:
    """Return the mutant whose masks allow other tokens, in whatever form they are given."""

    @wraps(change)
    def other(request: dict[str, Any]) -> Mapping[str, Any]:
        return _masks(request, lambda size, mask: None if mask is None else change(size, mask))

    witness = _asked(booleans=[False, True, True, False])
    return answering(("token_mask", "steps", "batch"), witness)(other_question(other))


def _garbage(size: int) -> set[int]:
    """Return the tokens allowed by words of 0x5a5a5a5a, as the skeleton for kernels has them."""
    return {token for token in range(size) if 0x5A5A5A5A >> token % 32 & 1}


@answering(("token_mask", "steps", "batch"), _asked())
@other_question
def mask_is_read_where_there_is_none(request: dict[str, Any]) -> Mapping[str, Any]:
    """A row without a mask is masked by what is in its buffer, in the skeleton 0x5a5a5a5a."""
    return _masks(request, lambda size, mask: _garbage(size) if mask is None else None)


@answering("batch", {"op": "token_mask", "rows": [_asked(tokens=[0]), _asked(tokens=[1])]})
@other_question
def mask_of_the_first_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """All masks of a batch are read from the buffer of the first row."""
    if request["op"] != "token_mask":
        return {}
    first = unpack_parameters(request["rows"][0]["params"])
    has_mask = {"words", "booleans", "tokens"} & first.keys()
    return _masks(
        request,
        lambda size, mask: (
            None if mask is None else _allowed(first) if has_mask else _garbage(size)
        ),
    )


@every_mask
def masks_are_packed_in_the_other_order(_size: int, allowed: set[int]) -> set[int]:
    """Every mask becomes words with the first token lowest; the kernel expects it highest."""
    return {token ^ 31 for token in allowed}


@every_mask
def masks_are_inverted(size: int, allowed: set[int]) -> set[int]:
    """All masks are turned into one form, whose ones say that a token is forbidden."""
    return {*range(size)} - allowed


@mask(row_request(_FORTY, words=[1, 0]))
def mask_words_in_the_other_order(given: Params) -> Mapping[str, Any]:
    """The last word has the first tokens, as in a large number that is printed."""
    words = _words(given)
    return {} if words is None else {"words": words[::-1]}


@mask(row_request(_FORTY, words=[1, 0]))
def mask_bytes_in_the_other_order(given: Params) -> Mapping[str, Any]:
    """Words are read in the other byte order."""
    words = _words(given)
    if words is None:
        return {}
    return {"words": [int.from_bytes(word.to_bytes(4, "big"), "little") for word in words]}


@mask(_asked(words=[0b1000]))
def mask_bit_is_not_cut_out(given: Params) -> Mapping[str, Any]:
    """The word is shifted and compared with 0, so higher bits allow lower tokens."""
    words = _words(given)
    if words is None or given.get("bits") == "high first":
        return {}
    return {"words": [(1 << word.bit_length()) - 1 for word in words]}


@mask(_asked(words=[0b0110]))
def mask_one_means_forbidden(given: Params) -> Mapping[str, Any]:
    """A bit of 1 forbids its token."""
    words = _words(given)
    return {} if words is None else {"words": [word ^ 0xFFFFFFFF for word in words]}


@mask(_asked(booleans=[False, True, True, False]))
def mask_true_means_masked(given: Params) -> Mapping[str, Any]:
    """A boolean says that its token is masked out, as in torch's `masked_fill`."""
    booleans = given.get("booleans")
    return {"booleans": [not value for value in booleans]} if isinstance(booleans, list) else {}


@mask(row_request(_FORTY, words=[1, 1]))
def mask_drops_the_last_partial_word(given: Params) -> Mapping[str, Any]:
    """Tokens are counted in whole words, so those of the last one are never allowed."""
    words = _words(given)
    return {} if words is None or len(words) < 2 else {"words": [*words[:-1], 0]}


@mask(row_request(_FORTY, words=[1, 2]))
def mask_of_one_word(given: Params) -> Mapping[str, Any]:
    """Only the first word is read, and used for all tokens."""
    words = _words(given)
    return {} if words is None else {"words": [words[0]] * len(words)}


@mask(row_request(_FORTY, words=[0x80000000, 1]))
def mask_loses_the_sign_bit(given: Params) -> Mapping[str, Any]:
    """The highest bit of a word is taken for its sign."""
    words = _words(given)
    return {} if words is None else {"words": [word & 0x7FFFFFFF for word in words]}


@mask(_asked(words=[0b1000]))
def mask_counts_from_one(given: Params) -> Mapping[str, Any]:
    """A mask made for ids from 1 is used for ids from 0."""
    words = _words(given)
    return {} if words is None else {"words": [word >> 1 for word in words]}


@mask(_asked(tokens=[1, 3]))
def mask_of_the_first_id(given: Params) -> Mapping[str, Any]:
    """Only the first id of a list is allowed."""
    tokens = given.get("tokens")
    return {"tokens": tokens[:1]} if isinstance(tokens, list) else {}


@mask(_asked(tokens=[3, 1]))
def mask_needs_sorted_ids(given: Params) -> Mapping[str, Any]:
    """A list of ids is walked beside the row, so an id that is smaller than the last is lost."""
    tokens = given.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        return {}
    return {"tokens": [t for place, t in enumerate(tokens) if t >= max(tokens[: place + 1])]}


# ---- padding


def _kept_tail(before: Sequence[float], after: Sequence[float], size: int) -> list[float]:
    return [*after[:size], *before[size:]]


@answering("token_mask", _asked(vocab_size=2))
@other_row
def mask_keeps_the_padding(
    before: list[float], after: list[float], request: Request
) -> Sequence[float]:
    """A mask as long as the vocabulary leaves the logits beyond it as they are."""
    return _kept_tail(before, after, request["params"].get("vocab_size", len(before)))


@mask(_asked(words=[0b1111], vocab_size=2))
def mask_bits_allow_padding(given: Params) -> Mapping[str, Any]:
    """All bits of the last word count, also those of the padding."""
    words = _words(given)
    if words is None or "vocab_size" not in given:
        return {}
    return {"vocab_size": len(words) * 32} if len(words) > 1 else {"vocab_size": None}


@mask(_asked(vocab_size=2))
def mask_padding_only_with_a_mask(given: Params) -> Mapping[str, Any]:
    """The padding of a row without a mask stays possible."""
    return {} if {"words", "booleans", "tokens"} & given.keys() else {"vocab_size": None}


@mask(_asked(vocab_size=2))
def mask_vocabulary_one_too_long(given: Params) -> Mapping[str, Any]:
    """The comparison with the size of the vocabulary lets one token more pass."""
    size = given.get("vocab_size")
    return {} if size is None else {"vocab_size": size + 1}


# ---- the numbers of a row


@answering("token_mask", _asked(words=[0b0011]))
@other_row
def mask_is_finite(_before: list[float], after: list[float], _: Request) -> Sequence[float]:
    """Masked tokens get a very small logit instead of minus infinity; mistral.rs, exllamav2."""
    return [-65504.0 if number == -inf else number for number in after]


@answering("token_mask", row_request([-inf, 2.0], words=[0b11]))
@other_row
def mask_revives_impossible_tokens(
    before: list[float], after: list[float], request: Request
) -> Sequence[float]:
    """An allowed token that was impossible gets the logit 0."""
    given = unpack_parameters(request["params"])
    words, tokens = _words(given), given.get("tokens")
    if given.get("bits") == "high first" or words is None:
        allowed = set(tokens) if isinstance(tokens, list) else set()
    else:
        allowed = {t for t in range(len(words) * 32) if words[t // 32] >> t % 32 & 1}
    return [0.0 if t in allowed and number == -inf else number for t, number in enumerate(after)]


@answering("token_mask", row_request([-0.0, 2.0], words=[0b01]))
@other_row
def mask_is_added(_before: list[float], after: list[float], _: Request) -> Sequence[float]:
    """The mask is a row of 0 and minus infinity that is added, which changes minus zero."""
    return [number + 0.0 for number in after]


# ---- nothing left


def _if_nothing_is_left(row: Callable[[list[float]], list[float]]) -> SamplerHandler:
    """Return the handler that answers a refused row by a function of it."""

    @wraps(row)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Refused) or right.code != "INVALID_ROW":
            return right
        given, dtype = unpack(request["logits"]), type_of(request["logits"])
        return Ok({"logits": pack(row(given), dtype)})

    return handle


@answering("token_mask", _asked(words=[0]))
@_if_nothing_is_left
def mask_of_nothing_gives_token_0(row: list[float]) -> list[float]:
    """If nothing is left, token 0 is, as an argmax over equal entries says."""
    return [row[0], *[-inf] * (len(row) - 1)]


@answering("token_mask", _asked(words=[0]))
@_if_nothing_is_left
def mask_of_nothing_is_no_mask(row: list[float]) -> list[float]:
    """A mask that leaves nothing is ignored."""
    return row


@answering("token_mask", _asked(words=[0]))
@_if_nothing_is_left
def mask_of_nothing_gives_no_error(row: list[float]) -> list[float]:
    """A row of nothing but minus infinities is returned."""
    return [-inf] * len(row)


@answering("token_mask", _asked(tokens=[]))
def mask_of_no_ids_is_no_mask(session: SamplerSession, op: str, request: Request) -> Answer:
    """An empty list is taken for a missing one."""
    given = dict(request["params"])
    if given.get("tokens") == []:
        del given["tokens"]
    return session.answer(op, {**request, "params": given})


@answering("token_mask", row_request(_FORTY, words=[1]))
def mask_too_short_is_filled(session: SamplerSession, op: str, request: Request) -> Answer:
    """Words that are missing are read from behind the mask, and happen to be ones."""
    given, size = unpack_parameters(request["params"]), len(unpack(request["logits"]))
    words = _words(given)
    if words is None or not all(isinstance(word, int) for word in words):
        return session.answer(op, request)
    filled = [*words, *[0xFFFFFFFF] * (-(-size // 32) - len(words))]
    return session.answer(op, {**request, "params": pack_parameters({**given, "words": filled})})


# ---- batches


_MASK = ("words", "booleans", "tokens", "bits")
_TWO = {"op": "token_mask", "rows": [_asked(words=[0b0011]), _asked()]}


def _other_masks(change: Callable[[list[Params]], Sequence[Params]]) -> SamplerHandler:
    """Return the handler that gives the rows of a batch the masks that a function returns."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if op != "batch" or request["op"] != "token_mask" or not isinstance(right, Ok):
            return right
        given = [unpack_parameters(row["params"]) for row in request["rows"]]
        masks = change([{n: v for n, v in one.items() if n in _MASK} for one in given])
        answers = []
        for row, one, mask, out in zip(
            request["rows"], given, masks, right.out["rows"][: len(given)], strict=True
        ):
            others = {name: value for name, value in one.items() if name not in _MASK}
            asked = {**row, "params": pack_parameters({**others, **mask})}
            changed = session.answer("token_mask", asked)
            answers.append(dict(changed.out) if isinstance(changed, Ok) else out)
        return Ok({"rows": answers * request.get("calls", 1)})

    return handle


@answering("batch", _TWO)
@_other_masks
def mask_of_the_row_before_is_stale(masks: list[Params]) -> Sequence[Params]:
    """A row without a mask gets what the row before left in the buffer."""
    found: list[Params] = []
    for one in masks:
        found.append(one or (found[-1] if found else {}))
    return found


@answering("batch", {**_TWO, "rows": _TWO["rows"][::-1]})
@_other_masks
def masks_are_not_spread(masks: list[Params]) -> Sequence[Params]:
    """The masks are packed without gaps, and read as if every row had one."""
    packed = [one for one in masks if one]
    return [*packed, *[{}] * (len(masks) - len(packed))]


@answering("batch", _TWO)
@_other_masks
def mask_of_the_first_row_for_all(masks: list[Params]) -> Sequence[Params]:
    """All rows get the mask of the first."""
    return [masks[0]] * len(masks)


@answering("batch", {"op": "token_mask", "rows": [_asked(words=[n]) for n in (1, 2, 4)]})
@_other_masks
def mask_of_the_next_row(masks: list[Params]) -> Sequence[Params]:
    """Rows and masks are off by one."""
    return [*masks[1:], masks[0]]


@answering(
    "batch", {"op": "token_mask", "rows": [row_request(_FORTY, words=[n, 1 << n]) for n in (1, 2)]}
)
@_other_masks
def masks_of_one_word_each(masks: list[Params]) -> Sequence[Params]:
    """The mask of a row begins one word after that of the row before, however long masks are."""
    every = [word for one in masks for word in _words(one) or []]
    found = []
    for number, one in enumerate(masks):
        words = _words(one)
        found.append({**one, "words": every[number:][: len(words)]} if words else one)
    return found


# ---- before and after filters


_ORDERED: dict[str, Any] = {
    "logits": pack([3.0, 2.0, 1.0]),
    "history": [],
    "prompt_length": 0,
    "steps": [
        {"step": "top_k", "params": {"k": 2}},
        {"step": "token_mask", "params": {"tokens": [1, 2]}},
    ],
}


def _sorted_steps(*, mask_first: bool) -> SamplerHandler:
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if op != "steps" or not isinstance(right, Ok):
            return right
        steps = sorted(
            request["steps"], key=lambda each: (each["step"] == "token_mask") != mask_first
        )
        changed = session.answer(op, {**request, "steps": steps})
        return Ok({"keep": changed.out["keep"]}) if isinstance(changed, Ok) else right

    return handle


@answering("steps", _ORDERED)
def mask_is_always_first(session: SamplerSession, op: str, request: Request) -> Answer:
    """The mask is applied before all filters, whatever the order is."""
    return _sorted_steps(mask_first=True)(session, op, request)


@answering("steps", {**_ORDERED, "steps": _ORDERED["steps"][::-1]})
def mask_is_always_last(session: SamplerSession, op: str, request: Request) -> Answer:
    """The mask is applied to what the filters left, whatever the order is."""
    return _sorted_steps(mask_first=False)(session, op, request)


@answering("steps", _ORDERED)
@other_answer
def mask_is_forgotten_in_a_chain(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The chain leaves masks out."""
    steps = [each for each in request["steps"] if each["step"] != "token_mask"]
    if not steps or len(steps) == len(request["steps"]):
        return out
    answer = SamplerSession("standard").answer("steps", {**request, "steps": steps})
    return {"keep": answer.out["keep"]} if isinstance(answer, Ok) else out


# ---- long rows


def _far(**params: Any) -> dict[str, Any]:
    """Return a question about a row of more than 2**16 tokens."""
    row = pack([0.0] * 65_600)
    step = {"step": "token_mask", "params": pack_parameters(params)}
    return {"logits": row, "history": [], "prompt_length": 0, "steps": [step]}


def _each_mask(change: Callable[[Params], Mapping[str, Any]]) -> SamplerHandler:
    """Return the handler that changes the parameters of the masks among steps."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        steps = []
        for each in request["steps"]:
            given = unpack_parameters(each["params"])
            more = change(given) if each["step"] == "token_mask" else {}
            steps.append({**each, "params": pack_parameters({**given, **more})})
        changed = session.answer(op, {**request, "steps": steps})
        return changed if isinstance(changed, Ok) else right

    return handle


def _placed(given: Params) -> dict[int, int]:
    """Return the words of a mask by their places."""
    words = given.get("words")
    return dict(enumerate(words)) if isinstance(words, list) else dict(words or {})


@answering("steps", _far(tokens=[3, 65_540]))
@_each_mask
def mask_ids_in_16_bits(given: Params) -> Mapping[str, Any]:
    """Allowed ids are kept in 16 bits."""
    tokens = given.get("tokens")
    return {"tokens": sorted({t & 0xFFFF for t in tokens})} if isinstance(tokens, list) else {}


@answering("steps", _far(words={0: 1, 2049: 1}))
@_each_mask
def mask_of_the_first_65536(given: Params) -> Mapping[str, Any]:
    """The place of a bit is a number of 16 bits, so later words fall on the first ones."""
    found: dict[int, int] = {}
    for place, word in _placed(given).items():
        found[place & 0x7FF] = found.get(place & 0x7FF, 0) | word
    return {"words": found} if "words" in given else {}


@answering("steps", _far(words={0: 1, 40: 1, 1000: 1}))
@_each_mask
def mask_of_one_block(given: Params) -> Mapping[str, Any]:
    """A block of 1,024 threads reads its own word of the first 32 only."""
    if "words" not in given or "vocab_size" in given:
        return {}
    return {"words": {place: word for place, word in _placed(given).items() if place < 32}}


@answering("steps", _far(words={0: 1, 2049: 1}))
@_each_mask
def mask_loses_its_last_word(given: Params) -> Mapping[str, Any]:
    """The number of words is rounded down."""
    placed = _placed(given)
    if "words" not in given or "vocab_size" in given or len(placed) < 2:
        return {}
    return {"words": {place: word for place, word in placed.items() if place < max(placed)}}
