"""Pictures of merges, of samplers' chains and of drafts: one HTML file that needs nothing else.

Every function returns HTML, in which all text is escaped. Drawings are SVG with a title and a
description. Colours are never alone: removed tokens are outlined, new ones underlined.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import cache
from heapq import nlargest
from html import escape
from importlib import import_module
from importlib.resources import files
from inspect import cleandoc
from itertools import chain, groupby, takewhile
from math import exp, inf, log
from statistics import pstdev, stdev
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from bpe_ref import SymbolError, TokenIdError, Tokenizer
from bpe_ref.encoder_steps import ENCODER_STEPS, border_steps
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.tracing import MOST_LOST, check_length, show_token, trace
from sampling_ref.comparing import (
    Compared,
    Difference,
    Present,
    Side,
    absence,
    comparison,
    moved_before,
    units_of,
)
from sampling_ref.tracing import RACES, first_looked_at, rules_of
from tokenref.commands.sampling import WORDS, Asked
from tokenref.errors import InputError
from tokenref.operations import ABOUT
from tokenref.pages import docs_folder, page_text
from tokenref.visible import visible

if TYPE_CHECKING:
    from sampling_ref.engines.profile import Stage
    from sampling_ref.evaluation import Run
    from sampling_ref.generation.ngrams import NgramModel
    from sampling_ref.tracing import Applied, Share

MOST: Final = 13
"""How many tokens of a row are drawn: two pictures fit beside each other without scrolling."""

CAPTIONS: Final[Mapping[str, str]] = {
    "naive": "Each line is one merge: of all pairs that are in the vocabulary, the one with the "
    "lowest rank, the leftmost of equals.",
    "heap": "Each line is one entry that leaves the heap: the lowest rank, then the leftmost "
    "place, which is the number of its first byte. An entry is stale if its tokens have merged "
    "with others.",
    "prefix_table": "Each line is one prefix of the piece. Its encoding ends with the only token "
    "that fits after the encoding of what is before it; longer tokens are tried first, and those "
    "that do not fit are crossed out.",
    "backtracking": "Each line is one guess, the longest token first. If no token fits, the last "
    "one is taken back. Tokens that do not fit, or are taken back, are crossed out.",
}
"""The encoders whose steps can be shown, and what a line of them is."""

LESSONS: Final[Mapping[str, str]] = {
    "naive": "docs/book/merging.md#the-definition",
    "heap": "docs/book/encoders.md#the-heap",
    "prefix_table": "docs/book/encoders.md#the-prefix-table",
    "backtracking": "docs/book/encoders.md#backtracking",
}
"""The sections of the book about them."""

Named: TypeAlias = Callable[[int], str]
"""What a token is called."""

Walked: TypeAlias = Literal["downwards", "upwards"]
"""The direction in which a filter adds probabilities: from the most, or the least probable one."""

_TOP, _HIGH, _LEFT, _STEP, _PHRASE, _ROOM = 22, 140, 36, 40, 210, 5


def page(title: str, sections: Iterable[str]) -> bytes:
    """Return a whole file with these sections.

    >>> page("a < b", ["<p>text</p>"]).decode().count("a &lt; b")
    2
    """
    style = files("tokenref.commands").joinpath("pictures.css").read_text(encoding="utf-8")
    heading = escape(title)
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title><style>{style}</style></head>",
        f"<body><h1>{heading}</h1>",
        *sections,
        "</body></html>\n",
    ]
    return "\n".join(lines).encode()


# ---- merges


class Box(NamedTuple):
    """A token to be drawn: its text, its id, and whether it was just merged."""

    text: str
    token: int | None
    """None: text that has no token yet."""
    is_new: bool = False
    look: str = ""
    """Further classes of the style sheet."""


def boxes(tokens: Iterable[Box]) -> str:
    """Return tokens as coloured boxes with their ids; one colour for each id.

    >>> boxes([Box("<b>", 7, is_new=True)])
    '<span class="token new" style="--hue:239">&lt;b&gt;<small>7</small></span>'
    """
    return "".join(
        f'<span class="rest">{escape(each.text)}</span>'
        if each.token is None
        else f'<span class="token{" new" * each.is_new}{" " * bool(each.look)}{each.look}" '
        f'style="--hue:{each.token * 137 % 360}">'
        f"{escape(each.text)}<small>{each.token}</small></span>"
        for each in tokens
    )


def merges(tokenizer: Tokenizer, text: str, encoder: str = "naive") -> Iterator[str]:
    """Yield the steps of an encoder for each piece of a text, and at last all of its tokens.

    >>> from bpe_ref import load
    >>> sections = list(merges(load("tiny"), "abc def"))
    >>> len(sections), sections[0].count("<tr")
    (4, 3)
    """
    is_bytes = isinstance(tokenizer.model, ByteBPE)
    pieces = tokenizer.pieces(text) if is_bytes else [text]
    yield from merges_of_pieces(tokenizer, pieces, encoder)
    yield f"<section>{_all_tokens(tokenizer, text)}</section>"


def merges_of_pieces(
    tokenizer: Tokenizer, pieces: Iterable[str], encoder: str = "naive"
) -> Iterator[str]:
    """Yield the steps of each piece; of models without bytes, of the pieces of each text.

    Raises `InputError` for an encoder whose steps are not known, or not for this model.
    """
    if encoder not in CAPTIONS:
        raise InputError(f"the encoder must be one of {', '.join(CAPTIONS)}, got {encoder!r:.40}")
    is_bytes = isinstance(tokenizer.model, ByteBPE)
    if encoder != "naive" and not is_bytes:
        raise InputError(f"the steps of {encoder} are shown for vocabularies of bytes only")
    for piece in pieces:
        if isinstance(tokenizer.model, ByteBPE):
            check_length(piece)
            added = tokenizer.added.ids.get(piece)
            if added is None:
                yield _of_bytes(tokenizer.model, piece, encoder)
            else:
                yield _piece(piece, f"it is the special token {added}, and is not merged", [])
            continue
        for traced in tokenizer.trace(piece):
            lines = [
                boxes(Box(label(tokenizer, token), token) for token in tokens)
                for tokens in traced.steps
            ]
            yield _piece(traced.piece, "", [(each, "") for each in lines])
    yield lesson(LESSONS[encoder])


def neighbours(tokenizer: Tokenizer, left: str, right: str) -> str:
    """Return the fast test of two tokens: which tokens meet at the border as merges are undone.

    Raises `InputError` for a text that is not a token, and for a model without bytes.
    """
    if not isinstance(tokenizer.model, ByteBPE):
        raise InputError("two neighbours are tested in vocabularies of bytes only")
    vocabulary = tokenizer.model.vocabulary
    pair = []
    for text in (left, right):
        token = vocabulary.ids.get(text.replace(SPACE, " ").encode().decode("latin-1"))
        if token is None:
            raise InputError(f"the two neighbours must be tokens of the vocabulary, got {text!r}")
        pair.append(token)
    lines = [
        (
            boxes(
                Box(label(tokenizer, token), token, look="border" * (at == step.new))
                for at, token in enumerate(step.tokens)
            ),
            step.why,
        )
        for step in border_steps(vocabulary, *pair)
    ]
    table = _table(f"Do {left} and {right} fit?", BORDER, lines)
    return table + lesson("docs/book/encoders.md#the-question-about-two-neighbours")


BORDER: Final = (
    "Each line shows which two tokens meet at the border, the gap. If they "
    "would not have merged in time, the latest merge is undone. The last line is the definition."
)
SPACE: Final = "\u2423"
"""How a space is shown in a token, and may be typed."""


def label(tokenizer: Tokenizer, token: int) -> str:
    """Return what a token is called: its bytes, if the vocabulary is one of bytes."""
    if isinstance(tokenizer.model, ByteBPE):
        try:
            return show_token(tokenizer.model.vocabulary.token_bytes(token))
        except TokenIdError:
            pass  # an added token
    return visible(tokenizer.id_to_token(token))


def _all_tokens(tokenizer: Tokenizer, text: str) -> str:
    ids = tokenizer.encode(text)
    all_tokens = boxes(Box(label(tokenizer, token), token) for token in ids)
    noun = "token" if len(ids) == 1 else "tokens"
    special = ""
    if not tokenizer.added.ids.keys().isdisjoint(tokenizer.pieces(text)):
        special = "<p>Special tokens are recognized here, as by <code>tokenref trace</code> and "
        special += "<code>Tokenizer.encode</code>. For <code>tokenref encode</code> they are text "
        special += "unless it is given <code>--special</code>.</p>"
    return f"<h2>The text has {len(ids)} {noun}</h2><p>{all_tokens}</p>{special}"


def tokens_by_piece(tokenizer: Tokenizer, text: str) -> str:
    """Return all tokens of a text, and its pieces as buttons whose merges can be shown.

    >>> from bpe_ref import load
    >>> tokens_by_piece(load("tiny"), "a <b>").count("<button")
    4
    """
    found = tokenizer.pieces(text)
    merged = [piece for piece in found if tokenizer.count(piece) < len(piece.encode())]
    merged = [piece for piece in merged if piece not in tokenizer.added.ids]
    several = [piece for piece in merged if tokenizer.count(piece) > 1]
    first = next(iter(several + merged), None)
    buttons = "".join(
        f'<button type="button" data-piece="{escape(piece)}"{" data-first" * (piece == first)}>'
        f"{escape(show_token(piece.encode()))}</button>"
        for piece in found
    )
    pieces = f"<h2>Pieces: click one to see its merges</h2><p>{buttons}</p>" if buttons else ""
    if several:
        pieces += '<p class="where">At first the first piece with several tokens is open. Those '
        pieces += "that are one token have merges, too.</p>"
    return f"<section>{_all_tokens(tokenizer, text)}{pieces}</section>"


def _of_bytes(model: ByteBPE, piece: str, encoder: str) -> str:
    vocabulary, whole = model.vocabulary, model.whole_token(piece.encode())
    try:
        symbols = model.symbols(piece.encode())
    except SymbolError as error:
        if whole is None:
            raise
        return _piece(piece, f"it is token {whole}, and cannot be merged: {error}", [])

    def names(tokens: Iterable[int]) -> list[str]:
        return [show_token(vocabulary.token_bytes(token)) for token in tokens]

    def shown(tokens: Sequence[int], new: int = -1, refused: int = -1) -> str:
        """Return tokens; those of the text that are not yet encoded follow as text."""
        places = range(len(tokens))
        drawn = [
            Box(name, token, place == new, "refused" * (place == refused))
            for place, token, name in zip(places, tokens, names(tokens), strict=True)
        ]
        rest = piece.encode()[sum(len(vocabulary.token_bytes(token)) for token in tokens) :]
        return boxes([*drawn, *([Box(show_token(rest), None)] if rest else [])])

    note = "" if whole is None else f"it is token {whole}, which is taken without merging"
    if encoder in ENCODER_STEPS:
        steps = ENCODER_STEPS[encoder](vocabulary, symbols)
        lines = [] if encoder == "heap" else [(shown([]), "the beginning")]
        for each in steps:
            tried = [shown(tokens, refused=len(tokens) - 1) for tokens in each.refused]
            if each.new >= 0 or not tried:
                tried.append(shown(each.tokens, each.new))
            lines.append(("".join(f"<div>{line}</div>" for line in tried), each.why))
        return _piece(piece, note, lines, encoder)
    lines = [(shown(symbols), "the beginning")]
    before = names(symbols)
    for step in trace(vocabulary, symbols):
        lost = ", ".join(
            f"{before[place]} + {before[place + 1]} of rank {rank}"
            for rank, place in step.lost[:MOST_LOST]
        )
        more = len(step.lost) - MOST_LOST
        about = f"{before[step.position]} + {before[step.position + 1]} has rank {step.rank}"
        about += f"; lost: {lost}" if lost else ""
        lines.append((shown(step.tokens, step.position), about + f" and {more} more" * (more > 0)))
        before = names(step.tokens)
    return _piece(piece, note, lines)


def _piece(piece: str, note: str, lines: Sequence[tuple[str, str]], encoder: str = "naive") -> str:
    heading = f"Piece {show_token(piece.encode())}" + (f": {note}" if note else "")
    return _table(heading, CAPTIONS[encoder], lines)


def _table(heading: str, caption: str, lines: Sequence[tuple[str, str]]) -> str:
    """Return a table with a line for each step: tokens in HTML, and a sentence about them."""
    rows = "".join(
        f"<tr><th scope=row>{number}</th><td>{tokens}</td><td>{escape(about)}</td></tr>"
        for number, (tokens, about) in enumerate(lines)
    )
    table = f"<table><caption>{caption}</caption>{rows}</table>" if rows else ""
    return f"<section><h2>{escape(heading)}</h2>{table}</section>"


# ---- chains


def bars(
    shares: "Sequence[Share]",
    removed: frozenset[int],
    *,
    threshold: float | None = None,
    about: str,
    mark: float | None = None,
    before: Mapping[int, float] = MappingProxyType({}),
    walked: Walked | None = None,
    summed: bool = True,
    tall: bool = False,
    named: Named | None = None,
) -> str:
    """Return probabilities as bars, with their running sum as a line above them if `summed`.

    Kept tokens are filled, removed ones outlined. `threshold` is a dashed line at that height,
    `mark` one at a random number. `before` has earlier probabilities, drawn as outlines.
    `walked` is the direction in which a filter adds the probabilities: a label says what it does
    on its way. Of a long row the most probable tokens are shown, and those at the border between
    kept and removed ones. A `tall` picture of many bars fills half of a slide. If tokens are
    `named`, the text of each is below its bar.

    >>> from sampling_ref.tracing import Share
    >>> drawing = bars([Share(3, 0.75, 0.75), Share(1, 0.25, 1.0)], frozenset({1}), about="a & b")
    >>> drawing.count('class="kept"'), drawing.count('class="removed"'), "a &amp; b" in drawing
    (1, 1, True)
    """
    shown = _near(shares, removed, walked)
    end = _LEFT + _STEP * max(len(shown), 1) + 8
    lines = {"threshold": threshold, "mark": mark}
    labels = [f"{at:.4g}" for at in lines.values() if at is not None]
    width = max(end + max((8 + 8 * len(each) for each in labels), default=0), 170)
    high = max(_HIGH, end * 2 // 3) if tall else _HIGH
    floor = _TOP + high

    def height(share: float) -> float:
        return round(floor - high * share, 2)

    end_of_words = floor + (34 if named is None else 48)
    parts = [
        f'<svg role="img" viewBox="0 0 {width} {end_of_words}" width="{width * 3 // 2}"',
        f' style="min-width: {width * 4 // 5}px">',
        f"<title>{escape(about)}</title><desc>{escape(_described(shown, removed))}</desc>",
        *(
            f'<text x="{_LEFT - 6}" y="{height(part) + 4}" class="axis">{part:g}</text>'
            f'<line x1="{_LEFT}" x2="{end}" y1="{height(part)}" y2="{height(part)}" class="grid"/>'
            for part in (0, 0.5, 1)
        ),
    ]
    if walked and len(shown) > 1:
        does = " and removes" if walked == "upwards" else " and keeps"
        phrase = "adds in this order" + does * (width >= _PHRASE)
        parts.append(f'<text x="8" y="12" class="label share">{phrase}</text>')
    points: list[str] = []
    for place, each in enumerate(shown):
        x = _LEFT + _STEP * place
        if each is None:
            parts.append(f'<text x="{x + _STEP / 2}" y="{floor + 14}">\u2026</text>')
            continue
        y = height(each.share)
        points.append(f"{x},{height(each.total - each.share)}")
        kind = "removed" if each.token in removed else "kept"
        total = f", running sum {each.total!r}" if summed else ""
        parts.append(
            f'<rect class="{kind}" x="{x + 6}" y="{y}" width="{_STEP - 12}" '
            f'height="{round(floor - y, 2)}"><title>token {each.token}: {each.share!r}'
            f"{total}, {kind}</title></rect>"
            f'<text x="{x + _STEP / 2}" y="{floor + 14}">{each.token}</text>'
            f'<text x="{x + _STEP / 2}" y="{floor + 28}" class="share">{_short(each.share)}</text>'
        )
        if named is not None:
            text = named(each.token)
            short = text if len(text) <= _ROOM else f"{text[: _ROOM - 1]}\N{HORIZONTAL ELLIPSIS}"
            parts.append(
                f'<text x="{x + _STEP / 2}" y="{floor + 42}" class="share">{escape(short)}'
                f"<title>{escape(text)}</title></text>"
            )
        if each.token in before:
            y = height(before[each.token])
            parts.append(
                f'<rect class="old" x="{x + 3}" y="{y}" width="{_STEP - 6}" '
                f'height="{round(floor - y, 2)}"><title>token {each.token} before: '
                f"{before[each.token]!r}</title></rect>"
            )
        points.append(f"{x + _STEP},{height(each.total)}")
    if summed:
        parts.append(f'<polyline class="sum" points="{" ".join(dict.fromkeys(points))}"/>')
    for kind, at in lines.items():
        if at is not None:
            y = height(at)
            parts.append(
                f'<line class="{kind}" x1="{_LEFT}" x2="{end}" y1="{y}" y2="{y}"/>'
                f'<text class="label" x="{end + 4}" y="{y + 4}">{at:.4g}</text>'
            )
    more = len(shares) - sum(each is not None for each in shown)
    return "".join(parts) + "</svg>" + (f"<p>and {more} more tokens</p>" if more > 0 else "")


def _near(
    shares: "Sequence[Share]", removed: frozenset[int], walked: Walked | None
) -> "list[Share | None]":
    """Return the tokens of a row that are drawn, with None where some are left out.

    >>> from sampling_ref.tracing import Share
    >>> row = [Share(token, 0.01, 0.01) for token in range(100)]
    >>> [each and each.token for each in _near(row, frozenset(range(40, 100)), None)]
    [0, 1, 2, 3, 4, None, 36, 37, 38, 39, 40, 41, 42, 43]
    """
    if walked == "upwards":
        return _near(shares[::-1], removed, None)[::-1]
    gone = [each.token in removed for each in shares]
    border = next((at for at in range(1, len(gone)) if gone[at] != gone[at - 1]), 0)
    if len(shares) <= MOST or border <= MOST - 4:
        return [*shares[:MOST]]
    return [*shares[: MOST - 8], None, *shares[border - 4 : border + 4]]


def _short(share: float) -> str:
    """Return a probability in the room that a bar has, at most five characters.

    >>> _short(0.12345), _short(0.0123), _short(0.0012345), _short(0.000123)
    ('0.123', '0.012', '0.001', '1e-04')
    """
    return f"{share:.0e}" if share < 0.001 else f"{round(share, 3):g}"


def _described(shares: "Sequence[Share | None]", removed: frozenset[int]) -> str:
    return "; ".join(
        f"token {each.token} has {each.share:.3g}, "
        + ("removed" if each.token in removed else "kept")
        for each in shares
        if each is not None
    )


def _threshold(applied: "Applied", shares: "Sequence[Share]") -> float | None:
    """Return the probability, or running sum, at which a filter cuts, if it has such a number."""
    values = applied.values
    most = max(each.share for each in shares)
    found = None
    match applied.step:
        case "top_p" if values["base"] == "what is left" and values["boundary"] != "fitting":
            found = float(1 - values["p"] if values["walked"] == "upwards" else values["p"])
        case "min_p":
            found = float(values["m"]) * most
        case "typical":
            found = float(values["mass"])
        case "epsilon":
            found = float(values["cutoff"])
        case "eta":
            entropy = -sum(each.share * log(each.share) for each in shares if each.share)
            cutoff, scale = float(values["cutoff"]), values["scale"]
            found = min(cutoff, (cutoff**0.5 if scale is None else float(scale)) * exp(-entropy))
        case "xtc":
            found = float(values["threshold"])
        case "top_a":
            found = float(values["a"]) * most**2
        case "top_n_sigma":
            logits = [logit for logit in applied.before.floats() if logit != -inf]
            deviate = pstdev if values["deviation"] == "population" else stdev
            found = most * exp(-float(values["n"]) * deviate(logits)) if len(logits) > 1 else None
        case "mirostat_2":  # without a state: mu is still at its start
            found = 2 ** (-2 * float(values["tau"]))
    return found if found is None or found <= 1 else None


def _walked(applied: "Applied") -> Walked | None:
    """Return in which direction a filter adds probabilities, or None if it adds none."""
    if applied.changed or applied.values.get("boundary") == "fitting":
        return None  # fitting: the smallest of the tokens so far may leave
    if applied.step == "top_p":
        return "upwards" if applied.values["walked"] == "upwards" else "downwards"
    return "downwards" if applied.step == "typical" else None


def stage_picture(
    engine: Compared,
    applied: "Applied",
    stage: "Stage",
    *,
    first: bool = False,
    earlier: bool = False,
    folded: bool = False,
    tall: bool = False,
    named: Named | None = None,
) -> str:
    """Return one stage: what it does, what decides, and the row before or after it.

    `first` says that it is the first that differs from another engine's, and `earlier` that it is
    the cause of this, because the other engine has it later. A stage that is `folded`, or has no
    effect on the row, is one line until it is opened.
    """
    from sampling_ref.tracing import deciding_walk, running_shares, shortly

    made, run, _ = engine
    given = ", ".join(
        f"{name}={shortly(each)}"
        for name, each in applied.parameters.items()
        if name != "least"  # said by the engine's source, and rarely more than 1
    )
    rules = _rules_in_words(rules_of(applied, stage))
    source = f"Source: {escape(stage.source)}. " if stage.source else ""
    rule = cleandoc(import_module(f"sampling_ref.steps.{applied.step}").__doc__ or "")
    source = (
        f"<details><summary>The rule: <code>tokenref rules {applied.step}</code></summary>"
        f"<p>{source}</p><pre>{escape(rule)}</pre></details>{lesson(ABOUT[applied.step].lesson)}"
    )
    # A filter is shown by the row before it, in which it chooses; other steps by what they left.
    row = applied.after if applied.changed else applied.before
    drawing = ""
    if applied.kept:
        law = made.situation.numbers.law(row)
        removed = frozenset(applied.removed)
        by_token = dict(zip(row.tokens, law, strict=True))
        possible = sorted(filter(by_token.get, by_token), key=by_token.__getitem__, reverse=True)
        walk = possible if applied.changed else deciding_walk(applied, law)
        walked = _walked(applied)
        first_ones = "most probable first" if applied.changed else first_looked_at(applied)
        if walked is None and first_ones != "as they stand":
            # Of equal tokens the lowest id is first, so that two engines have them in one order.
            walk = [token for _, equal in groupby(walk, by_token.get) for token in sorted(equal)]
        shares = running_shares(row.tokens, law, walk)
        threshold = None if applied.changed else _threshold(applied, shares)
        when = "after" if applied.changed else "before"
        about = f"Probabilities {when} {applied.step}, {first_ones}"
        about += ", and their running sum" if walked else ""
        line = "" if threshold is None else f"; the dashed line is at {threshold:.4g}"
        old = {}
        if applied.changed:
            old_law = made.situation.numbers.law(applied.before)
            old = dict(zip(applied.before.tokens, old_law, strict=True))
            about += "; the outlines are the probabilities before it"
        drawn = bars(
            shares,
            removed,
            threshold=threshold,
            about=about,
            before=old,
            walked=walked,
            summed=walked is not None,
            tall=tall,
            named=named,
        )
        drawing = f"<figure>{drawn}<figcaption>{escape(about + line)}.</figcaption></figure>"
    title = f"{applied.step}({given})"
    place = next(at for at, each in enumerate(run.applied, 1) if each is applied)
    idle = not applied.removed and not applied.changed
    count = len(applied.removed)
    effect = f"removes {count:,} token{'s' * (count != 1)}" if count else "has no effect here"
    effect = "changes the row" if applied.changed else effect
    where = f"{made.profile.name}, stage {place} of {len(run.applied)}: "
    where += "the first difference, " * first + effect + ", earlier than in the other" * earlier
    opened = " open" * (first or not (idle or folded))
    return (
        f'<section class="stage{" first" * first}{" earlier" * earlier}{" idle" * idle}">'
        f'<details class="fold"{opened}><summary><h3>{escape(title)}</h3> '
        f'<span class="where">{escape(where)}</span></summary>'
        f"<p>{escape(applied.why)}{escape('; ' + '; '.join(rules) if rules else '')}</p>"
        f"{drawing}{source}</details></section>"
    )


def _rules_in_words(rules: Mapping[str, object]) -> list[str]:
    """Return the choices of a filter in words; not the rule for ties where it has no effect.

    >>> _rules_in_words({"equality": "kept", "ties": "lowest id"})
    ['a token exactly at the threshold is kept']
    >>> _rules_in_words({"ties": "lowest id", "boundary": "reach", "walked": "upwards"})
    ['of equal tokens: lowest id']
    """
    decides = "equality" not in rules and rules.get("boundary") != "fitting"
    words = [f"of equal tokens: {rules['ties']}"] if "ties" in rules and decides else []
    names = ["base", *(["boundary"] if rules.get("walked") != "upwards" else []), "equality"]
    chosen = [str(rules[name]) for name in names if name in rules]
    return words + [WORDS[each] for each in chosen if each in WORDS]


@cache
def lesson(address: str) -> str:
    """Return a section of the book with its figures, to be opened by a click.

    >>> lesson("docs/book/filters.md#top-k")[:58]
    '<details class="lesson"><summary>The book: Top-k</summary>'
    """
    heading, _, text = page_text(address).partition("\n")
    folder = docs_folder() / "book"

    def drawn(figure: re.Match[str]) -> str:
        content = b64encode((folder / figure[1]).read_bytes()).decode()
        return f'<img loading="lazy" src="data:image/svg+xml;base64,{content}"'

    html = re.sub(r'<img src="([^"]*)"', drawn, rendered(text))
    summary = f"<summary>The book: {escape(heading.lstrip('# '))}</summary>"
    return f'<details class="lesson">{summary}{html}</details>'


def rendered(text: str) -> str:
    r"""Return Markdown as HTML, without links to other pages.

    >>> rendered("[b\nc](a.md) [d](https://e)")
    '<p>b\nc <a href="https://e">d</a></p>\n'
    """
    from markdown_it import MarkdownIt

    html = MarkdownIt("commonmark").enable("table").render(text)
    html = html.replace("\n\n</code>", "\n</code>")
    return re.sub(r'<a href="(?!https:)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)


def draw_picture(engine: Compared, number: float | None, named: Named | None = None) -> str:
    """Return the draw: the running sum in its order, and the random number on it."""
    from sampling_ref.engines.draws import walk
    from sampling_ref.tracing import running_shares

    made, run, token = engine
    drawn = "" if token is None else f" Token {token} is drawn."
    taught = ABOUT["draw"].lesson
    picture = ""
    if made.is_greedy:
        words = f"greedy, the largest logit; of equals: {made.profile.greedy.ties}"
    elif run.draw.method in RACES:
        taught = f"{taught.partition('#')[0]}#races"
        words = f"{run.draw.method}: each token has a random number of its own, so one number does "
        words += "not decide, and there is no picture"
    else:
        reaches = "exceeds" if run.draw.boundary == "exceed" else "reaches"
        order = (
            "of their ids" if run.draw.order == "vocabulary" else "in which the stages left them"
        )
        words = f"{run.draw.method}: it takes the first token, in the order {order}, at which the "
        words += f"running sum {reaches} the random number"
        law = made.situation.numbers.law(run.candidates)
        tokens = [run.candidates.tokens[place] for place in walk(run.candidates, run.draw.order)]
        shares = running_shares(run.candidates.tokens, law, tokens)
        about = "The running sum in the order of the draw"
        about += "" if number is None else f", and the random number {number:g}"
        picture = f"<figure>{bars(shares, frozenset(), mark=number, about=about, named=named)}"
        picture += f"<figcaption>{escape(about)}.</figcaption></figure>"
    return (
        f'<section class="draw"><h3>draw</h3><p class="where">{escape(made.profile.name)}</p>'
        f"<p>{escape(words)}.{escape(drawn)}</p>{picture}<details><summary>Random numbers"
        f"</summary><p>{escape(run.draw.uniform)}.</p></details>{lesson(taught)}</section>"
    )


LEGEND: Final = (
    "<p>Kept tokens are filled, removed ones are outlined. Where a filter or a draw adds "
    "probabilities, a line is their running sum. A dashed line is the number that is compared with."
    "</p>"
)


def question(asked: Asked) -> str:
    """Return what was asked, and how to read the pictures.

    >>> question(Asked("1,2", "0", settings=["top_k=<1>"]))[:63]
    '<p>Row: <code>1,2</code>. History: <code>0</code>. Parameters: '
    """
    given = ", ".join(asked.settings)
    return (
        f"<p>Row: <code>{escape(visible(asked.logits))}</code>. History: "
        f"<code>{escape(visible(asked.history)) or 'empty'}</code>. Parameters: "
        f"<code>{escape(visible(given)) or 'the defaults'}</code>.</p>{LEGEND}"
    )


def row_pictures(
    engines: Sequence[Compared], uniforms: Sequence[float], named: Named | None = None
) -> Iterator[str]:
    """Yield each stage of an engine's chain, and the draw; or what two engines do."""
    number = uniforms[-1] if uniforms else None
    if len(engines) > 1:
        yield from _side_by_side(engines, number, named)
        return
    [engine] = engines
    for applied, stage in zip(engine[1].applied, engine[1].stages, strict=True):
        yield stage_picture(engine, applied, stage, named=named)
    yield draw_picture(engine, number, named)


def _plainly(line: str) -> str:
    """Return a line about a difference without the names of choices.

    >>> _plainly("choice ties: all in vllm, lowest id in sglang")
    'of equal tokens: all in vllm, lowest id in sglang'
    """
    plain = {
        "choice ties:": "of equal tokens:",
        "choice walked:": "in which direction probabilities are added:",
        "in the order: candidates": "in the order in which the stages left the tokens",
        "in the order: vocabulary": "in the order of the ids",
        "the running sum must reach": "until the running sum reaches the random number",
        "the running sum must exceed": "until the running sum exceeds the random number",
    }
    for name, words in plain.items():
        line = line.replace(name, words)
    return line


def _side_by_side(
    engines: Sequence[Compared], number: float | None, named: Named | None
) -> Iterator[str]:
    """Yield what two engines do, side by side; the first stage that differs is marked.

    Those before it, which do the same in both, are folded, but not if their order is the cause.
    """
    one, other = engines
    compared = comparison(one, other)
    found = next(iter(compared.differences), None)
    heading, *rest = compared.lines()
    aside = ("  other differences", *(["  differences of rounding"] if found else []))
    causes = [
        line
        for line in takewhile(lambda line: " leaves " not in line, rest)
        if not line.startswith(aside)
    ]
    names = [made.profile.name for made, _, _ in engines]
    folded = [line for line in rest if line not in causes]
    items, others = (
        "".join(f"<li>{escape(_plainly(line.strip()))}</li>" for line in lines)
        for lines in ([*_kept(names, found), *causes], folded)
    )
    yield (
        f'<section class="answer"><h2>{escape(heading)}</h2><ul>{items}</ul><details><summary>What '
        f"each engine does, and its source</summary><ul>{others}</ul></details></section>"
    )
    yield '<div class="sides">' + "".join(f"<h2>{escape(name)}</h2>" for name in names)
    first = [applied for side in (found.unit if found else ()) for applied, _ in side]
    moved = [applied for side in moved_before(compared.engines, found) for applied in side]
    before = bool(first)
    for sides in _in_order([one[1], other[1]], found):
        for engine, side in zip(engines, sides, strict=True):
            if side is None:
                why = escape(absence(engine, next(each[0] for each in sides if each)))
                yield f'<section class="none"><p>{why}.</p></section>'
            else:
                marked = any(side[0] is each for each in first)
                before = before and not marked
                earlier = any(side[0] is each for each in moved)
                folds = before and not earlier
                yield stage_picture(
                    engine, *side, first=marked, earlier=earlier, folded=folds, named=named
                )
    for engine in engines:
        yield draw_picture(engine, number, named)
    yield "</div>"


def _kept(names: Sequence[str], found: Difference | None) -> Iterator[str]:
    """Yield which tokens each engine keeps at the first difference, if both have a filter there."""
    from sampling_ref.tracing import shortly

    last = [side[-1][0] for side in (found.unit if found else ()) if side]
    kept = [sorted(applied.kept) for applied in last if not applied.changed]
    if len(kept) == len(names):
        for name, tokens in zip(names, kept, strict=True):
            yield f"{name} keeps the tokens {shortly(tokens)}"


def _in_order(runs: "Sequence[Run]", found: Difference | None) -> Iterator[Sequence[Side]]:
    """Yield the stages of two engines, each in its own order, side by side where that can be.

    The first stages that differ, `found`, are side by side if both engines have them.
    """
    one, other = (list(zip(run.applied, run.stages, strict=True)) for run in runs)
    units = {id(each[0]): at for at, unit in enumerate(units_of(*runs)) for each in chain(*unit)}
    if found is None or not all(found.unit):
        yield from _columns(one, other, units)
        return
    places = [
        next(at for at, each in enumerate(column) if each[0] is side[0][0])
        for column, side in zip((one, other), found.unit, strict=True)
    ]
    yield from _columns(one[: places[0]], other[: places[1]], units)
    yield one[places[0]], other[places[1]]
    yield from _columns(one[places[0] + 1 :], other[places[1] + 1 :], units)


def _columns(
    one: "Sequence[Present]", other: "Sequence[Present]", units: Mapping[int, int]
) -> Iterator[Sequence[Side]]:
    """Yield two columns of stages, those that do the same side by side."""
    steps = [[units[id(applied)] for applied, _ in column] for column in (one, other)]
    begin = other_begin = 0
    for left, right, size in SequenceMatcher(None, steps[0], steps[1], False).get_matching_blocks():
        yield from ((each, None) for each in one[begin:left])
        yield from ((None, each) for each in other[other_begin:right])
        begin, other_begin = left + size, right + size
        yield from zip(one[left:begin], other[right:other_begin], strict=True)


# ---- speculative decoding

Kinds: TypeAlias = Mapping[str, Fraction]
"""The parts of a bar: the height of each class of the style sheet, from the floor upwards."""

RowAfter: TypeAlias = Callable[[Sequence[int]], Sequence[float]]
"""The weights of a model after some drafted tokens."""

PAIRS: Final = 10
"""How many tokens are drawn beside the others, which have bars together."""


def paired_bars(
    pairs: Mapping[str, tuple[Kinds, Kinds]], about: str, marked: str = "", *, tall: bool = False
) -> str:
    """Return two bars for each token, p of the target and q of the draft, made of parts.

    A few tokens have the height of each part beside it. The `marked` one is called drafted. A
    `tall` picture fills half of a slide.

    >>> half, whole = Fraction(1, 2), Fraction(1)
    >>> drawing = paired_bars({"token 0": ({"kept": half, "merged": half}, {"kept": whole})}, "a")
    >>> drawing.count("<rect"), drawing.count(">1/2</text>")
    (3, 2)
    """
    is_labelled = len(pairs) <= 4
    bar, room = (24, 32) if is_labelled else (17, 2)
    most = max(sum(bar.values()) for pair in pairs.values() for bar in pair)
    top = next(each for each in (0.125, 0.25, 0.5, 1) if each >= most)
    wide = 2 * (bar + room) + (4 if is_labelled else 12)
    end = _LEFT + wide * len(pairs) + 4
    high = max(_HIGH, end * 2 // 3) if tall else _HIGH
    floor = _TOP + high

    def height(share: Fraction | float) -> float:
        return round(floor - high * float(share) / top, 2)

    parts = [
        f'<text x="{_LEFT - 6}" y="{height(part) + 4}" class="axis">{part:.3g}</text>'
        f'<line x1="{_LEFT}" x2="{end}" y1="{height(part)}" y2="{height(part)}" class="grid"/>'
        for part in (0, top / 2, top)
    ]
    for place, (name, pair) in enumerate(pairs.items()):
        for second, (row, kinds) in enumerate(zip("pq", pair, strict=True)):
            left, total = _LEFT + wide * place + 8 + second * (bar + room), Fraction(0)
            for kind, share in kinds.items():
                y, part = height(total + share), round(floor - height(share), 2)
                total += share
                if share:
                    parts.append(
                        f'<rect class="{kind}" x="{left}" y="{y:g}" width="{bar}" '
                        f'height="{part:g}"><title>{escape(name)}, {row}: {in_digits(share)}'
                        "</title></rect>"
                    )
                if share and is_labelled:
                    parts.append(
                        f'<text class="label share" x="{left + bar + 3}" y="{y + part / 2 + 4:g}">'
                        f"{in_digits(share)}</text>"
                    )
            parts.append(f'<text x="{left + bar / 2}" y="{floor + 14}" class="share">{row}</text>')
        middle = _LEFT + wide * place + 8 + bar + room / 2
        short = (
            name if len(name) <= wide // 7 else f"{name[: wide // 7 - 1]}\N{HORIZONTAL ELLIPSIS}"
        )
        parts.append(f'<text x="{middle}" y="{floor + 30}">{escape(short)}</text>')
        if name == marked:
            parts.append(f'<text x="{middle}" y="{floor + 44}" class="share">drafted</text>')
    described = "; ".join(
        f"{name}: p {in_digits(sum(p.values()))}, q {in_digits(sum(q.values()))}"
        for name, (p, q) in pairs.items()
    )
    return (
        f'<svg role="img" viewBox="0 0 {end} {floor + 50}" width="{end}" '
        f'style="min-width: {end * 3 // 4}px"><title>{escape(about)}</title>'
        f"<desc>{escape(described)}</desc>{''.join(parts)}</svg>"
    )


def line_in_parts(
    parts: Iterable[tuple[str, Fraction]], chosen: int, number: float, about: str
) -> str:
    """Return a line from 0 to 1 in parts, of which one is chosen, and a number on it.

    Parts that are too short are not drawn, and names that are too long for their part are left
    out.

    >>> half = Fraction(1, 2)
    >>> line_in_parts([("a", half), ("b", half)], 1, 0.5, "u").count('"merged"')
    1
    """
    length, total, drawn = 380, 0.0, []
    for place, (name, share) in enumerate(parts):
        begin, total = total, total + float(share)
        left, width = round(16 + length * begin, 2), round(length * (total - begin), 2)
        if width < 2 and place != chosen:
            continue
        drawn.append(
            f'<rect class="{"merged" if place == chosen else "box"}" x="{left:g}" y="30" '
            f'width="{width:g}" height="26"><title>{escape(name)}: {in_digits(share)}</title>'
            "</rect>"
        )
        if width > 6.7 * len(name):
            drawn.append(
                f'<text class="part" x="{left + width / 2:g}" y="47">{escape(name)}</text>'
            )
        if width > 36:
            drawn.append(f'<text class="share" x="{left + width:g}" y="70">{total:.4g}</text>')
    at = round(16 + length * number, 2)
    return (
        f'<svg role="img" viewBox="0 0 {length + 32} 78" width="{length + 32}" '
        f'style="min-width: {length * 3 // 4}px"><title>{escape(about)}</title>'
        f'<rect class="box" x="16" y="30" width="{length}" height="26"/>'
        f'{"".join(drawn)}<text class="share" x="16" y="70">0</text>'
        f'<text x="{at:g}" y="14">{number:g}</text>'
        f'<line class="mark" x1="{at:g}" x2="{at:g}" y1="18" y2="36"/></svg>'
    )


def in_digits(number: Fraction | int) -> str:
    """Return a number as a short fraction, or with four digits.

    >>> in_digits(Fraction(3, 8)), in_digits(Fraction(0.375001))
    ('3/8', '0.375')
    """
    return text if len(text := str(number)) < 5 else f"{float(number):.4g}"


def drafts_pictures(
    target: RowAfter,
    draft: RowAfter,
    uniforms: Sequence[float],
    more: Sequence[tuple[float, float]] = (),
    named: Callable[[int], str] = str,
) -> Iterator[str]:
    """Yield how tokens are drafted, and accepted or replaced.

    `uniforms` are for the first draft, its acceptance, and the draw at the end; `more` has two
    numbers for each further draft. Raises an error for rows and numbers that are not allowed.
    """
    if more:
        first, coin, last = uniforms
        yield from _chain_pictures(target, draft, [(first, coin), *more], last, named)
    else:
        yield from _draft_pictures(target([]), draft([]), uniforms, named)


def _draft_pictures(
    target: Sequence[float],
    draft: Sequence[float],
    uniforms: Sequence[float],
    named: Callable[[int], str],
) -> Iterator[str]:
    """Yield how one token is drafted, accepted or replaced, and why the target's law is kept."""
    from sampling_ref.speculative.acceptance import accepts
    from sampling_ref.speculative.residual import subtract
    from sampling_ref.speculative.shares import read_exactly, read_two_shares, token_at

    first, coin, last = read_exactly(uniforms, 3)
    p, q = read_two_shares(target, draft)
    token = token_at(q, first)
    is_accepted = accepts(p[token], q[token], coin, "reject", "by ratio")
    left = subtract(p, q, "target")
    replaced = token_at(left, last)
    kept = [min(pair) for pair in zip(p, q, strict=True)]
    rejected = 1 - sum(kept, Fraction(0))
    given = [rejected * share for share in left]
    together = [Fraction(1), Fraction(1), 1 - rejected, rejected]
    sums = _few([p, q, kept, given], together, {token, replaced}, named)

    yield '<div class="drafts">'
    yield _drafting(
        "1. The small model drafts a token",
        f"The probabilities q of the draft are laid on a line. The random number {float(first):g} "
        f"falls on {_called(token, named)}.",
        _whole_bars(sums, named(token)),
        _row_line(q, token, first, "The draft row", named),
    )
    yield _drafting("2. The target accepts or rejects it", *_judged(p, q, token, coin, named))
    title = "3. After a rejection, the residual decides"
    if rejected:
        words = _residual_in_words(rejected, last, replaced, named)
        words += " It is not needed here, because the draft was accepted." * is_accepted
        words += "" if is_accepted else " This is the next token."
        yield _drafting(title, words, _row_line(left, replaced, last, "The residual", named))
    else:
        yield _drafting(title, "p and q are equal: nothing is ever rejected, and nothing is left.")
    yield _drafting(
        "4. Why it is exact: accepted + replaced = target",
        "A token comes out in two ways. It is drafted and accepted, with probability q times "
        "min(1, p / q). This is the smaller of p and q, filled in both bars. Or a draft is "
        f"rejected, with probability {in_digits(rejected)}, and the residual gives the token. "
        "This is what p has more than q, the light part. Together they are p. "
        "The rejected drafts, outlined, are together as large as all light parts, because p and q "
        "both sum to 1.",
        _halved_bars(sums),
        more=_sum_table({**sums, "together": together})
        + lesson("docs/book/draws.md#speculative-decoding"),
    )
    yield "</div>"


def _chain_pictures(
    target: RowAfter,
    draft: RowAfter,
    numbers: Sequence[tuple[float, float]],
    last: float,
    named: Callable[[int], str],
) -> Iterator[str]:
    """Yield how several tokens are drafted in a row, which are accepted, and what follows them.

    `numbers` are those of each draft and of its acceptance.
    """
    from sampling_ref.speculative.chain import verify_chain
    from sampling_ref.speculative.shares import (
        read_drafted,
        read_exactly,
        read_shares,
        read_two_shares,
        token_at,
    )

    count = len(numbers)
    firsts = read_exactly([first for first, _ in numbers], count)
    *coins, end = read_exactly([*(coin for _, coin in numbers), last], count + 1)
    read_two_shares(target([]), draft([]))  # are they rows of one vocabulary?
    tokens: list[int] = []
    drafts = []
    for first in firsts:
        drafts.append(draft(tokens))
        tokens.append(token_at(read_shares(drafts[-1], "draft"), first))
    targets = [target(tokens[:place]) for place in range(count + 1)]
    verified = verify_chain(targets, drafts, tokens, [*coins, end])
    ps, qs, _ = read_drafted(targets, drafts, tokens)
    accepted, result = verified.accepted, verified.tokens[-1]

    yield '<div class="drafts chain">'
    yield _drafting(
        f"1. The small model drafts {count} tokens",
        "One after the other: each row q is that of the small model after the drafts before it, "
        "and each draft has a random number of its own.",
        *(
            _row_line(q, token, first, f"The draft row {place}", named)
            + f"<figcaption>Draft {place}: {escape(_called(token, named))}</figcaption>"
            for place, (q, token, first) in enumerate(zip(qs, tokens, firsts, strict=True), 1)
        ),
    )
    judged = zip(ps, qs, tokens, coins, strict=False)
    for place, (p, q, token, coin) in enumerate(judged):
        if place > accepted:
            break
        bars_of = _few([p, q], [Fraction(1), Fraction(1)], {token}, named)
        words, line = _judged(p, q, token, coin, named)
        yield _drafting(
            f"{place + 2}. Draft {place + 1}: {'accepted' if place < accepted else 'rejected'}",
            words,
            _whole_bars(bars_of, named(token)),
            line,
        )
    if accepted < count:
        title = "the residual replaces the rejected draft"
        pair = tokens[accepted], result
        words, *drawings = _replaced(ps[accepted], qs[accepted], pair, end, named)
    else:
        title = "all are accepted, and a bonus token follows"
        words = "The target has looked at the place after the last draft, too, so one more token "
        words += f"is drawn from its row p there. The random number {float(end):g} falls on "
        words += f"{_called(result, named)}."
        drawings = [_row_line(ps[-1], result, end, "The target row after all drafts", named)]
    place = min(accepted, count - 1) + 3
    yield _drafting(f"{place}. At the end, {title}", words, *drawings)
    kept_boxes = [Box(named(token), token) for token in tokens[:accepted]]
    refused = [Box(named(token), token, look="refused") for token in tokens[accepted:]]
    words = f"Accepted drafts: {accepted} of {count}. With the token at the end, which is framed, "
    words += f"one pass of the target gives {accepted + 1} token{'s' * (accepted > 0)}."
    words += " The rejected draft is crossed out" * (accepted < count)
    words += ", as are those after it, which are not looked at" * (accepted < count - 1)
    words += "." * (accepted < count)
    yield _drafting(
        f"{place + 1}. The result",
        words,
        more=f"<p>Drafts: {boxes([*kept_boxes, *refused])}</p>"
        f"<p>Result: {boxes([*kept_boxes, Box(named(result), result, is_new=True)])}</p>"
        + lesson("docs/book/draws.md#speculative-decoding"),
    )
    yield "</div>"


def _called(token: int, named: Callable[[int], str]) -> str:
    return f"token {token}" + (f" ({name})" if (name := named(token)) != str(token) else "")


def _drafting(title: str, text: str, *drawings: str, more: str = "") -> str:
    """Return one stage of speculative decoding."""
    figures = "".join(f"<figure>{each}</figure>" for each in drawings)
    heading = f'<section class="stage"><h3>{title}</h3><p>{escape(text)}</p>'
    return f"{heading}{figures}{more}</section>"


def _few(
    columns: Sequence[Sequence[Fraction]],
    together: Sequence[Fraction],
    needed: Collection[int],
    named: Callable[[int], str],
) -> dict[str, list[Fraction]]:
    """Return the numbers of a few tokens by name, and of all others, whose sums are `together`.

    The first two columns are p and q. Likely tokens are taken, and the `needed` ones.
    """
    p, q = columns[:2]
    likely = nlargest(PAIRS, range(len(p)), key=lambda each: float(max(p[each], q[each])))
    sums = {
        named(each): [column[each] for column in columns] for each in sorted({*likely, *needed})
    }
    if len(p) > len(sums):
        shown = (sum(row, Fraction(0)) for row in zip(*sums.values(), strict=True))
        sums["+ rest"] = [whole - part for whole, part in zip(together, shown, strict=True)]
    return sums


def _whole_bars(sums: Mapping[str, Sequence[Fraction]], marked: str) -> str:
    rows = {name: ({"merged": each[0]}, {"removed": each[1]}) for name, each in sums.items()}
    return paired_bars(rows, "The target p is light, the draft q is outlined", marked)


def _halved_bars(sums: Mapping[str, Sequence[Fraction]]) -> str:
    """Return the bars of p and q in parts; the numbers are p, q, what is accepted, and the rest."""
    halves = {
        name: ({"kept": both, "merged": more}, {"kept": both, "removed": offered - both})
        for name, (_, offered, both, more) in sums.items()
    }
    return paired_bars(halves, "Filled: accepted. Light: from the residual. Outlined: rejected")


def _row_line(
    row: Sequence[Fraction], chosen: int, number: Fraction, about: str, named: Callable[[int], str]
) -> str:
    parts = ((named(each), share) for each, share in enumerate(row))
    return line_in_parts(parts, chosen, float(number), f"{about} as a line, and the random number")


def _judged(
    p: Sequence[Fraction],
    q: Sequence[Fraction],
    token: int,
    coin: Fraction,
    named: Callable[[int], str],
) -> tuple[str, str]:
    """Return whether a draft is accepted, in words and as a line."""
    from sampling_ref.speculative.acceptance import accepts

    is_accepted = accepts(p[token], q[token], coin, "reject", "by ratio")
    chance = min(Fraction(1), p[token] / q[token])
    decimal = f" = {float(chance):.4g}" * ("/" in in_digits(chance))
    words = f"The drafted {_called(token, named)} has p = {in_digits(p[token])} and q = "
    words += f"{in_digits(q[token])}. It is accepted with probability min(1, p / q) = "
    words += f"{in_digits(chance)}{decimal}. The random number {float(coin):g} is "
    words += "" if is_accepted else "not "
    words += "below that: " + ("the draft is the next token." if is_accepted else "rejected.")
    return words, line_in_parts(
        [("accept", chance), ("reject", 1 - chance)],
        not is_accepted,
        float(coin),
        "The probability of acceptance as a line, and the random number",
    )


def _replaced(
    p: list[Fraction],
    q: list[Fraction],
    pair: tuple[int, int],
    number: Fraction,
    named: Callable[[int], str],
) -> tuple[str, str, str]:
    """Return how the residual gives one token instead of another: words, bars and a line."""
    from sampling_ref.speculative.residual import subtract

    left = subtract(p, q, "error")
    kept = [min(both) for both in zip(p, q, strict=True)]
    rejected = 1 - sum(kept, Fraction(0))
    given = [rejected * share for share in left]
    together = [Fraction(1), Fraction(1), 1 - rejected, rejected]
    words = _residual_in_words(rejected, number, pair[1], named)
    words += " In the bars it is light: what p has more than q."
    drawn = _halved_bars(_few([p, q, kept, given], together, {*pair}, named))
    return words, drawn, _row_line(left, pair[1], number, "The residual", named)


def _residual_in_words(
    rejected: Fraction, number: Fraction, token: int, named: Callable[[int], str]
) -> str:
    words = f"The residual is what p has more than q, divided by its sum, {in_digits(rejected)}. "
    return words + f"The random number {float(number):g} falls on {_called(token, named)}."


def _sum_table(sums: Mapping[str, Sequence[Fraction]]) -> str:
    """Return a table of the two ways in which each token comes out, with their sum.

    The sums are those of p, q, what is accepted, and what the residual gives instead.
    """
    rejected = sums["together"][3]
    lines = []
    for name, (p, q, kept, given) in sums.items():
        cells = "".join(f"<td>{in_digits(each)}</td>" for each in (p, q, kept, given, kept + given))
        lines.append(f"<tr><th scope=row>{escape(name)}</th>{cells}</tr>")
    titles = ("token", "p", "q", "accepted", "replaced", "sum")
    head = "".join(f"<th scope=col>{title}</th>" for title in titles)
    return (
        "<table class=numbers><caption>Accepted: q times min(1, p / q). Replaced: the residual "
        f"times {in_digits(rejected)}, the probability of a rejection. The sum is p, in exact "
        f"fractions.</caption><tr>{head}</tr>{''.join(lines)}</table>"
    )


# ---- the LZ penalty

NEXT: Final = 12
"""How many possible next tokens are shown."""


class LzSizes(NamedTuple):
    """The parameters of the LZ penalty, and its variant."""

    strength: float
    window: int
    buffer: int
    variant: str


def lz_picture(
    tokenizer: Tokenizer, tokens: Sequence[int], model: "NgramModel", sizes: LzSizes
) -> str:
    """Return a text with window, buffer and longest match, and what changes for the next token.

    The model knows the tokens of the tokenizer. Each next token that is text is a button.
    """
    from sampling_ref.lz.matches import look_around, window_and_buffer
    from sampling_ref.lz.variants import lz_changes
    from sampling_ref.steps.dry import longest_continuations

    window, buffer = window_and_buffer(tokens, sizes.window, sizes.buffer)
    found = look_around(buffer[::-1], window[::-1])
    end = len(window) - found.distance + 1
    in_match = set(range(end - found.length, end)) if found.length else set()
    in_match |= set(range(len(window) + len(buffer) - found.length, len(window) + len(buffer)))
    drawn = [
        Box(label(tokenizer, token), token, look=f"{part}{' match' * (place in in_match)}")
        for place, (token, part) in enumerate(
            [*((token, "window") for token in window), *((token, "buffer") for token in buffer)]
        )
    ]
    earlier = len(tokens) - len(drawn)
    text = f"and {earlier:,} earlier tokens; " * (earlier > 0)
    text += f"{len(window)} in the window, {len(buffer)} in the buffer"
    match = f"the longest match has {found.length} tokens" if found.length else "nothing matches"
    if found.length:
        followed = [show_token(tokenizer.decode_bytes([token])) for token in found.following]
        more = f" and {len(followed) - 3} more" if len(followed) > 3 else ""
        match += f"; its nearest copy ends at token {found.distance} from the end of the window; "
        match += f"what followed a copy: {', '.join(followed[:3])}{more}"

    def where(token: int) -> str:
        case = "in the window" if token in window else "new"
        return f" <small>{'extends the match' if token in found.following else case}</small>"

    repeated = longest_continuations(tokens, len(tokens))

    def matched(token: int) -> str:
        """Return why DRY changes a token, in the last column."""
        length = repeated.get(token, 0)
        return f"<br><small>match of {length}</small>" * (length >= ALLOWED)

    likely = list(model.likeliest(tokens, NEXT)[0])
    likely += [token for token in found.following if token not in likely][:NEXT]
    row = model.row(tokens)
    logits = [row[token] for token in likely]
    changes = lz_changes(
        tokens,
        model.size,
        window=sizes.window,
        buffer=sizes.buffer,
        variant=sizes.variant,  # type: ignore[arg-type] # checked there
    )
    bits = [float(changes.of(token)) for token in likely]
    changed = [logit + sizes.strength * each for logit, each in zip(logits, bits, strict=True)]
    best = changed.index(max(changed))
    others = [[changed_row[token] for token in likely] for changed_row in _penalised(row, tokens)]
    rows = "".join(
        f"<tr{' class=now' * (place == best)}><th scope=row>{_next(tokenizer, token)} "
        f"<small>{token}</small>"
        f"{where(token)}</th>"
        f"<td>{logits[place]:.2f}</td><td>{bits[place]:+.2f}</td><td>{changed[place]:.2f}</td>"
        + "".join(
            f"<td{' class=best' * (each[place] == max(each))}>{each[place]:.2f}"
            f"{matched(token) * (each is others[-1])}</td>"
            for each in others
        )
        + "</tr>"
        for place, token in enumerate(likely)
    )
    titles = ("token", "logit", "D", "LZ", *OTHERS)
    head = "".join(f"<th scope=col>{title}</th>" for title in titles)
    history = ",".join(map(str, tokens))
    return (
        f'<section class="stage"><h2>The text</h2><p>{boxes(drawn)}</p>'
        f"<p>{escape(text)}; {escape(match)}.</p>"
        "<p>Grey underline: the window. Green underline: the buffer. Orange frame: the longest "
        "match, which is in both.</p></section>"
        '<section class="stage"><h2>The penalties</h2><p>The table has the most '
        "probable next tokens of the small model, those that extend the match, and their logits "
        "after each penalty. LZ is the logit plus the strength times D, the bits of chapter 8, "
        f"which are most for a new token. DRY subtracts 0.8 · 1.75^(m - {ALLOWED}) from a token "
        f"that would continue a repetition of m tokens, if m is at least {ALLOWED}. The "
        "framed token is best after the LZ penalty, a bold "
        "number the best after another. Click any token to append it.</p></section>"
        '<section class="stage"><h2>The next token</h2><table class="numbers penalties">'
        f'<tr>{head}</tr>{rows}</table><button type="button" data-history="{history}">Show '
        f"samplers all {model.size:,} logits of this row</button></section>"
    )


OTHERS: Final = ("repetition 1.2", "frequency 0.3", "DRY 0.8")
"""The other penalties of the table, with their strengths."""

ALLOWED: Final = 2
"""The longest repetition that DRY allows, less one."""


def _penalised(row: Sequence[float], tokens: Sequence[int]) -> list[list[float]]:
    """Return a row after each of the other penalties."""
    from sampling_ref.steps.dry import dry
    from sampling_ref.steps.frequency_penalty import frequency_penalty
    from sampling_ref.steps.repetition_penalty import repetition_penalty

    made = [
        repetition_penalty(row, tokens, 1.2),
        frequency_penalty(row, tokens, 0.3),
        dry(row, tokens, multiplier=0.8, base=1.75, allowed_length=ALLOWED),
    ]
    return [[float(logit) for logit in each] for each in made]


def _next(tokenizer: Tokenizer, token: int) -> str:
    """Return a button that appends a token, or only the token if it is not text by itself."""
    shown = escape(label(tokenizer, token))
    text = tokenizer.decode([token])
    if "\ufffd" in text:
        return shown
    return f'<button type="button" data-next="{escape(text)}">{shown}</button>'
