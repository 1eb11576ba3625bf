"""Probabilities as drawings: bars, bars in pairs, and a line from 0 to 1."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tokenref.commands.pictures import Named

if TYPE_CHECKING:
    from sampling_ref.tracing import Share

MOST: Final = 13
"""How many tokens of a row are drawn: two pictures fit beside each other without scrolling."""

Walked: TypeAlias = Literal["downwards", "upwards"]
"""The direction in which a filter adds probabilities: from the most, or the least probable one."""

_TOP, _HIGH, _HIGHER, _LEFT, _STEP, _PHRASE, _ROOM = 22, 140, 155, 36, 42, 210, 5


def bars(
    shares: "Sequence[Share]",
    removed: frozenset[int],
    *,
    threshold: float | None = None,
    about: str,
    before: Mapping[int, float] = MappingProxyType({}),
    walked: Walked | None = None,
    summed: bool = True,
    narrow: bool = False,
    named: Named | None = None,
    surprises: Mapping[int, float] = MappingProxyType({}),
) -> str:
    """Return probabilities as bars, with their running sum as a line above them if `summed`.

    Kept tokens are filled, removed ones outlined. `threshold` is a dashed line at that height.
    `before` has earlier probabilities, drawn as outlines.
    `walked` is the direction in which a filter adds the probabilities: a label says what it does
    on its way. The axis ends at 0.1 instead of 1 if nothing is higher. Of a long row the most
    probable tokens are shown, and those at the border between kept and removed ones. A `narrow`
    picture has large letters where two are side by side on a slide. If tokens are `named`, the
    text of each is below its bar, and so are their `surprises`.

    >>> from sampling_ref.tracing import Share
    >>> drawing = bars([Share(3, 0.75, 0.75), Share(1, 0.25, 1.0)], frozenset({1}), about="a & b")
    >>> drawing.count('class="kept"'), drawing.count('class="removed"'), "a &amp; b" in drawing
    (1, 1, True)
    >>> low = bars([Share(3, 0.02, 0.02)], frozenset(), about="low", summed=False)
    >>> 'x="32" y="96.0" class="axis">0.05</text>' in low
    True
    """
    shown = _near(shares, removed, walked)
    step, high = (30, _HIGHER) if narrow else (_STEP, _HIGH)
    end = _LEFT + step * max(len(shown), 1) + 8
    floor = _TOP + high
    highest = max((each.total if summed else each.share for each in shares), default=0.0)
    is_low = max(highest, threshold or 0, *before.values()) <= 0.1
    top, zoom = (0.1, 10) if is_low else (1, 1)

    def height(share: float) -> float:
        return round(floor - high * zoom * share, 2)

    level, room = "", 0
    if threshold is not None:
        y, number = height(threshold), format(threshold, ".2g" if narrow else ".4g")
        level = f'<line class="threshold" x1="{_LEFT}" x2="{end}" y1="{y}" y2="{y}"/>'
        level += f'<text class="label" x="{end + 4}" y="{y + 4}">{number}</text>'
        room = 8 + 8 * len(number)
    width = max(end + room, 250 if narrow else 170)
    end_of_words = floor + 34 + 14 * ((named is not None) + bool(surprises))
    parts = [
        f'<svg role="img" viewBox="0 0 {width} {end_of_words}" width="{width * 3 // 2}"',
        f' style="min-width: {width * 4 // 5}px">',
        f"<title>{escape(about)}</title><desc>{escape(_described(shown, removed))}</desc>",
        *_axis(end, height, top),
    ]
    if walked and len(shown) > 1:
        does = " and removes" if walked == "upwards" else " and keeps"
        phrase = "adds in this order" + does * (width >= _PHRASE)
        parts.append(f'<text x="8" y="12" class="label share">{phrase}</text>')
    points: list[str] = []
    for place, each in enumerate(shown):
        x = _LEFT + step * place
        if each is None:
            parts.append(f'<text x="{x + step / 2}" y="{floor + 14}">\u2026</text>')
            continue
        y = height(each.share)
        points.append(f"{x},{height(each.total - each.share)}")
        kind = "removed" if each.token in removed else "kept"
        total = f", running sum {each.total!r}" if summed else ""
        parts.append(
            f'<rect class="{kind}" x="{x + 6}" y="{y}" width="{step - 12}" '
            f'height="{round(floor - y, 2)}"><title>token {each.token}: {each.share!r}'
            f"{total}, {kind}</title></rect>"
            f'<text x="{x + step / 2}" y="{floor + 14}">{each.token}</text>'
            f'<text x="{x + step / 2}" y="{floor + 28}" class="share">'
            f"{_short(each.share, narrow=narrow)}</text>"
        )
        texts = []
        if each.token in surprises:
            texts.append(f"{surprises[each.token]:.{1 if narrow else 2}f}")
        texts += [] if named is None else [named(each.token)]
        parts += (
            f'<text x="{x + step / 2}" y="{floor + 42 + 14 * line}" class="share">'
            f"{_cut(text, _ROOM)}<title>{escape(text)}</title></text>"
            for line, text in enumerate(texts)
        )
        if each.token in before:
            y = height(before[each.token])
            parts.append(
                f'<rect class="old" x="{x + 3}" y="{y}" width="{step - 6}" '
                f'height="{round(floor - y, 2)}"><title>token {each.token} before: '
                f"{before[each.token]!r}</title></rect>"
            )
        points.append(f"{x + step},{height(each.total)}")
    if summed:
        parts.append(f'<polyline class="sum" points="{" ".join(dict.fromkeys(points))}"/>')
    parts.append(level)
    more = len(shares) - sum(each is not None for each in shown)
    return "".join(parts) + "</svg>" + (f"<p>and {more} more tokens</p>" if more > 0 else "")


def _axis(end: int, height: Callable[[float], float], top: float) -> Iterator[str]:
    """Yield the lines at 0, half of the largest share and the largest one, with their numbers."""
    right = _LEFT - (6 if top > 0.1 else 4)  # 0.05 needs more room
    for part in (0, top / 2, top):
        y = height(part)
        yield (
            f'<text x="{right}" y="{y + 4}" class="axis">{part:.3g}</text>'
            f'<line x1="{_LEFT}" x2="{end}" y1="{y}" y2="{y}" class="grid"/>'
        )


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


def _short(share: float, *, narrow: bool) -> str:
    """Return a probability in the room that a bar has: five characters, or three in a narrow one.

    >>> _short(0.12345, narrow=False), _short(0.000123, narrow=False), _short(0.12345, narrow=True)
    ('0.123', '1e-04', '.12')
    """
    if narrow:
        return f"{share:.2f}".lstrip("0") if share >= 0.005 else "\N{ALMOST EQUAL TO}0"
    return f"{share:.0e}" if share < 0.001 else f"{round(share, 3):g}"


def _cut(text: str, room: int) -> str:
    return escape(text if len(text) <= room else f"{text[: room - 1]}\N{HORIZONTAL ELLIPSIS}")


def _described(shares: "Sequence[Share | None]", removed: frozenset[int]) -> str:
    return "; ".join(
        f"token {each.token} has {each.share:.3g}, "
        + ("removed" if each.token in removed else "kept")
        for each in shares
        if each is not None
    )


Kinds: TypeAlias = Mapping[str, Fraction]
"""The parts of a bar: the height of each class of the style sheet, from the floor upwards."""


def paired_bars(
    pairs: Mapping[str, tuple[Kinds, Kinds]], about: str, marked: str = "", *, narrow: bool = False
) -> str:
    """Return two bars for each token, p of the target and q of the draft, made of parts.

    A few tokens have the height of each part beside it. The `marked` one is called drafted. A
    `narrow` picture is one of two on a slide.

    >>> half, whole = Fraction(1, 2), Fraction(1)
    >>> drawing = paired_bars({"token 0": ({"kept": half, "merged": half}, {"kept": whole})}, "a")
    >>> drawing.count("<rect"), drawing.count(">1/2</text>")
    (3, 2)
    """
    is_labelled = len(pairs) <= 4
    bar, room = (24, 32) if is_labelled else (17, 2)
    bar, room = (14, 29) if narrow else (bar, room)
    most = max(sum(bar.values()) for pair in pairs.values() for bar in pair)
    top = next(each for each in (0.1, 0.2, 0.5, 1) if each >= most)
    wide = 2 * (bar + room) + (4 if is_labelled else 22)
    end = _LEFT + wide * len(pairs) + 4
    high = _HIGHER if narrow else _HIGH
    floor = _TOP + high

    def height(share: Fraction | float) -> float:
        return round(floor - high * float(share) / top, 2)

    parts = [*_axis(end, height, top)]
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
        parts.append(f'<text x="{middle}" y="{floor + 30}">{_cut(name, wide // 8)}</text>')
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
    parts: Iterable[tuple[str, Fraction]], chosen: int | None, number: float | None, about: str
) -> str:
    """Return a line from 0 to 1 in parts, of which one may be chosen, and a number on it, if any.

    Parts that are too short are not drawn. Names that are too long for their part are left out,
    but that of the chosen one is then beside the number. So are borders too close to others.

    >>> half = Fraction(1, 2)
    >>> line_in_parts([("a", half), ("b", half)], 1, 0.5, "u").count('"merged"')
    1
    """
    length, total, drawn, beside, free = 380, 0.0, [], "", 26.0
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
        elif place == chosen:
            beside = f": {name}"
        half = 4 * len(end := f"{total:.4g}")
        if width > 2 * half and free < left + width - half and left + width + half < length + 6:
            free = left + width + half
            drawn.append(f'<text class="share" x="{left + width:g}" y="70">{end}</text>')
    if number is not None:
        at, words = round(16 + length * number, 2), f"{number:g}{beside}"
        middle = min(at, length + 28 - 4 * len(words))  # the words end where the picture ends
        drawn.append(f'<text x="{middle:g}" y="14">{escape(words)}</text>')
        drawn.append(f'<line class="mark" x1="{at:g}" x2="{at:g}" y1="18" y2="36"/>')
    return (
        f'<svg role="img" viewBox="0 0 {length + 32} 78" width="{length + 32}" '
        f'style="min-width: {length * 3 // 4}px"><title>{escape(about)}</title>'
        f'<rect class="box" x="16" y="30" width="{length}" height="26"/>'
        f'{"".join(drawn)}<text class="share" x="16" y="70">0</text>'
        f'<text class="share" x="{16 + length}" y="70">1</text></svg>'
    )


def in_digits(number: Fraction | int) -> str:
    """Return a number as a short fraction, or with four digits.

    >>> in_digits(Fraction(3, 8)), in_digits(Fraction(0.375001))
    ('3/8', '0.375')
    """
    return text if len(text := str(number)) < 5 else f"{float(number):.4g}"
