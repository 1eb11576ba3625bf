"""The LZ penalty: its window, its buffer, the longest match, and the next token."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from bpe_ref import Tokenizer
from tokenref.commands.pictures import Box, boxes, lesson
from tokenref.operations import ABOUT

if TYPE_CHECKING:
    from sampling_ref.generation.ngrams import NgramModel

NEXT: Final = 12
"""How many probable next tokens are shown, and at most as many others."""


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
    around = [*window, *buffer]
    copies = {*range(end - found.length, end), *range(len(around) - found.length, len(around))}
    drawn = [
        Box(tokenizer.show_token(token), token, look=f"{part}{' match' * (place in copies)}")
        for place, token in enumerate(around)
        for part in ["window" if place < len(window) else "buffer"]
    ]
    earlier = len(tokens) - len(drawn)
    text = f"and {earlier:,} earlier tokens; " * (earlier > 0)
    text += f"{len(window)} in the window, {len(buffer)} in the buffer"
    match = "nothing matches, so no token extends a match"
    if found.length:
        followed = ", ".join(map(tokenizer.show_token, list(found.following)[:3]))
        more = f" and {len(found.following) - 3} more" * (len(found.following) > 3)
        match = f"the longest match has {found.length} tokens; its nearest copy ends at token "
        match += f"{found.distance} from the end of the window (d = {found.distance}); "
        after = f"what followed a copy: {followed}{more}"
        match += after if followed else "nothing followed it, so no token extends the match"

    cases = dict.fromkeys(window, "in the window")
    cases |= dict.fromkeys(found.following, "extends the match")
    repeated = longest_continuations(tokens, len(tokens))

    def matched(token: int) -> str:
        """Return why DRY changes a token, in the last column."""
        length = repeated.get(token, 0)
        return f"<br><small>match of {length}</small>" * (length >= ALLOWED)

    repeating = [token for token, length in repeated.items() if length >= ALLOWED]
    ways = (*model.likeliest(tokens, NEXT)[0], *found.following, *repeating)
    likely = list(dict.fromkeys(ways))[: 2 * NEXT]
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
        f" <small>{cases.get(token, 'new')}</small></th>"
        f"<td>{logits[place]:.2f}</td><td>{bits[place]:+.2f}</td><td>{changed[place]:.2f}</td>"
        + "".join(
            f"<td{' class=best' * (each[place] == max(each))}>{each[place]:.2f}"
            f"{matched(token) * (each is others[-1])}</td>"
            for each in others
        )
        + "</tr>"
        for place, token in enumerate(likely)
    )
    head = "<th scope=col>".join(("", "token", "logit", "D", "LZ", *OTHERS))
    history = ",".join(map(str, tokens))
    taught = "".join(lesson(ABOUT[each].lesson) for each in ("repetition_penalty", "dry", "lz"))
    return (
        f'<section class="stage"><h2>The text</h2><p>{boxes(drawn)}</p>'
        f"<p>{escape(text)}; {escape(match)}.</p>"
        '<p class="where">Grey underline: the window. Green underline: the buffer. Orange frame: '
        "the longest match, which is in both.</p></section>"
        '<section class="stage"><h2>The next token</h2><table class="numbers penalties">'
        "<caption>LZ is the logit plus the strength times D. The framed token is the best after "
        "it, a bold number the best after another penalty. Click a token to append it.</caption>"
        f'<tr>{head}</tr>{rows}</table><button type="button" data-history="{history}">Show '
        f"samplers all {model.size:,} logits of this row</button></section>"
        '<section class="stage"><h2>The penalties</h2><p>The table has the most '
        "probable next tokens of the small model, those that extend the match or continue a "
        "repetition, and their logits after each penalty. D are the bits of chapter 8, which are "
        f"most for a new token. DRY subtracts 0.8 · 1.75<sup>m - {ALLOWED}</sup> from a token that "
        f"would continue a repetition of m tokens, if m is at least {ALLOWED}.</p>{taught}"
        "</section>"
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

    made = (repetition_penalty(row, tokens, 1.2), frequency_penalty(row, tokens, 0.3))
    last = dry(row, tokens, multiplier=0.8, base=1.75, allowed_length=ALLOWED)
    return [[float(logit) for logit in each] for each in (*made, last)]


def _next(tokenizer: Tokenizer, token: int) -> str:
    """Return a button that appends a token, or only the token if it is not text by itself."""
    shown = escape(tokenizer.show_token(token))
    text = tokenizer.decode([token])
    if "\ufffd" in text:
        return shown
    return f'<button type="button" data-next="{escape(text)}">{shown}</button>'
