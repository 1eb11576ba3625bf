"""Speculative decoding: which drafted tokens are accepted, what replaces them, and why."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import nlargest
from html import escape
from typing import Final, TypeAlias

from tokenref.commands.pictures import Box, Named, boxes, lesson
from tokenref.commands.pictures.bars import in_digits, line_in_parts, paired_bars

RowAfter: TypeAlias = Callable[[Sequence[int]], Sequence[float]]
"""The weights of a model after some drafted tokens."""

PAIRS: Final = 10
"""How many tokens are drawn beside the others, which have bars together."""


def drafts_pictures(
    target: RowAfter,
    draft: RowAfter,
    uniforms: Sequence[float],
    more: Sequence[tuple[float, float]] = (),
    named: Named = str,
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
    target: Sequence[float], draft: Sequence[float], uniforms: Sequence[float], named: Named
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
    columns, together = _two_ways(p, q, left)
    rejected = together[-1]
    sums = _few(columns, together, {token, replaced}, named)

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
    named: Named,
) -> Iterator[str]:
    """Yield how several tokens are drafted in a row, which are accepted, and what follows them.

    `numbers` are those of each draft and of its acceptance.
    """
    from sampling_ref.speculative import chain, shares

    count = len(numbers)
    firsts = shares.read_exactly([first for first, _ in numbers], count)
    *coins, end = shares.read_exactly([*(coin for _, coin in numbers), last], count + 1)
    shares.read_two_shares(target([]), draft([]))  # are they rows of one vocabulary?
    tokens: list[int] = []
    drafts = []
    for first in firsts:
        drafts.append(draft(tokens))
        tokens.append(shares.token_at(shares.read_shares(drafts[-1], "draft"), first))
    targets = [target(tokens[:place]) for place in range(count + 1)]
    verified = chain.verify_chain(targets, drafts, tokens, [*coins, end])
    ps, qs, _ = shares.read_drafted(targets, drafts, tokens)
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


def _called(token: int, named: Named) -> str:
    return f"token {token}" + (f" ({name})" if (name := named(token)) != str(token) else "")


def _drafting(title: str, text: str, *drawings: str, more: str = "") -> str:
    """Return one stage of speculative decoding."""
    figures = "".join(f"<figure>{each}</figure>" for each in drawings)
    heading = f'<section class="stage"><h3>{title}</h3><p>{escape(text)}</p>'
    return f"{heading}{figures}{more}</section>"


def _two_ways(
    p: Sequence[Fraction], q: Sequence[Fraction], residual: Sequence[Fraction]
) -> tuple[list[Sequence[Fraction]], list[Fraction]]:
    """Return p, q, what is accepted of each token and what the residual gives, and their sums."""
    kept = [min(both) for both in zip(p, q, strict=True)]
    rejected = 1 - sum(kept, Fraction(0))
    given = [rejected * share for share in residual]
    return [p, q, kept, given], [Fraction(1), Fraction(1), 1 - rejected, rejected]


def _few(
    columns: Sequence[Sequence[Fraction]],
    together: Sequence[Fraction],
    needed: Collection[int],
    named: Named,
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
    row: Sequence[Fraction], chosen: int, number: Fraction, about: str, named: Named
) -> str:
    parts = ((named(each), share) for each, share in enumerate(row))
    return line_in_parts(parts, chosen, float(number), f"{about} as a line, and the random number")


def _judged(
    p: Sequence[Fraction], q: Sequence[Fraction], token: int, coin: Fraction, named: Named
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
    p: list[Fraction], q: list[Fraction], pair: tuple[int, int], number: Fraction, named: Named
) -> tuple[str, str, str]:
    """Return how the residual gives one token instead of another: words, bars and a line."""
    from sampling_ref.speculative.residual import subtract

    left = subtract(p, q, "error")
    columns, together = _two_ways(p, q, left)
    words = _residual_in_words(together[-1], number, pair[1], named)
    words += " In the bars it is light: what p has more than q."
    drawn = _halved_bars(_few(columns, together, {*pair}, named))
    return words, drawn, _row_line(left, pair[1], number, "The residual", named)


def _residual_in_words(rejected: Fraction, number: Fraction, token: int, named: Named) -> str:
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
