"""The steps of an encoder as tables: the tokens after each, and what decided."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from typing import Final

from bpe_ref import SymbolError, Tokenizer
from bpe_ref.components import steps_of
from bpe_ref.cutting.long_pieces import has_symbols_for_bytes, merging_of
from bpe_ref.encoder_steps import ENCODER_STEPS, border_steps
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.patterns.registered import PATTERNS, PublishedPattern
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.tokenizer import TracedPiece
from bpe_ref.tracing import MOST_LOST, check_length, show_token, trace
from bpe_ref.vocabulary.merges import ByPair
from tokenref.commands.pictures import Box, boxes, lesson
from tokenref.errors import InputError

CAPTIONS: Final[Mapping[str, str]] = {
    "naive": "Each line is one merge: of all pairs that are in the vocabulary, the one with the "
    "lowest rank, the leftmost of equals.",
    "heap": "Each line is one entry that leaves the heap: the lowest rank, then the leftmost "
    "place, which is the number of its first byte. An entry is stale if its tokens have merged "
    "with others.",
    "prefix_table": "Each line is one prefix of the piece. Of all tokens that end there, only one "
    "fits after the encoding of what is before it: the last one here. The encoder may try them in "
    "any order, and stops at the one that fits; here all are shown, the others by their length.",
    "backtracking": "Each line is one guess, the longest token first. If no token fits, the last "
    "one is taken back.",
}
"""The encoders whose steps can be shown, and what a line of them is."""

CROSSED: Final = " Tokens that do not fit, or are taken back, are crossed out."

LESSONS: Final[Mapping[str, str]] = {
    "naive": "docs/book/merging.md#the-definition",
    "heap": "docs/book/encoders.md#the-heap",
    "prefix_table": "docs/book/encoders.md#the-prefix-table",
    "backtracking": "docs/book/encoders.md#backtracking",
}
"""The sections of the book about them."""


def merges(tokenizer: Tokenizer, text: str, encoder: str = "naive") -> Iterator[str]:
    """Yield the steps of an encoder for each piece of a text, and at last all of its tokens.

    >>> from bpe_ref import load
    >>> sections = list(merges(load("tiny"), "abc def"))
    >>> len(sections), sections[0].count("<tr")
    (4, 3)
    """
    pieces = tokenizer.pieces(text) if isinstance(tokenizer.model, ByteBPE) else [text]
    yield from merges_of_pieces(tokenizer, pieces, encoder)
    yield f"<section>{_all_tokens(tokenizer, text)}</section>"


def merges_of_pieces(
    tokenizer: Tokenizer, pieces: Iterable[str], encoder: str = "naive"
) -> Iterator[str]:
    """Yield the steps of each piece; of a file with components, of the pieces of each text.

    Raises `InputError` for an encoder whose steps are not known, or not for this model.
    """
    if encoder not in CAPTIONS:
        raise InputError(f"the encoder must be one of {', '.join(CAPTIONS)}, got {encoder!r:.40}")
    if encoder != "naive" and not has_symbols_for_bytes(tokenizer.model):
        raise InputError(
            f"the steps of {encoder} are shown for models that merge bytes only, and this one does "
            "not: choose the definition, which is naive"
        )
    for text in pieces:
        traces = [TracedPiece(text, [])]
        if not isinstance(tokenizer.model, ByteBPE):
            traces = tokenizer.trace(text)
        for piece, steps in traces:
            check_length(piece)
            added = tokenizer.added.ids.get(piece)
            if added is not None:
                yield _piece(piece, f"it is the special token {added}, and is not merged", [])
            elif model := _merging(tokenizer, frozenset(piece.encode())):
                yield _of_bytes(model, piece, encoder)
            else:
                tokens = [[Box(tokenizer.show_token(token), token) for token in s] for s in steps]
                yield _piece(piece, "", [(boxes(each), "") for each in tokens])
    yield lesson(LESSONS[encoder])


@lru_cache(maxsize=8)
def _merging(tokenizer: Tokenizer, used: frozenset[int]) -> ByteBPE | None:
    """Return how a model merges some bytes, with the ranks of all merges; None if it does not.

    A `tokenizer.json` may write bytes as letters: its merges are the same.
    """
    model, merging = tokenizer.model, merging_of(tokenizer.model, used)
    if merging is None:
        return None
    vocabulary, whole_piece = merging
    if isinstance(model, BPE) and isinstance(vocabulary.rule, ByPair):
        table = {
            pair: merge._replace(rank=model.ranked.ranks[pair])
            for pair, merge in vocabulary.rule.table.items()
        }
        vocabulary = replace(vocabulary, rule=replace(vocabulary.rule, table=table))
    return ByteBPE(vocabulary, whole_piece)


def neighbours(tokenizer: Tokenizer, left: str, right: str) -> str:
    """Return the fast test of two tokens: which tokens meet at the border as merges are undone.

    Raises `InputError` for a text that is not a token, and for a model without bytes.
    """
    model = _merging(tokenizer, frozenset(f"{left}{right} ".encode()))
    if model is None:
        raise InputError("two neighbours are tested in models that merge bytes only")
    vocabulary, pair = model.vocabulary, []
    for text in (left, right):
        token = vocabulary.ids.get(text.replace(SPACE, " ").encode().decode("latin-1"))
        if token is None:
            raise InputError(f"the two neighbours must be tokens of the vocabulary, got {text!r}")
        pair.append(token)
    lines = [
        (
            boxes(
                Box(tokenizer.show_token(token), token, look="border" * (at == step.new))
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


def _all_tokens(tokenizer: Tokenizer, text: str) -> str:
    ids = tokenizer.encode(text)
    drawn = boxes(Box(tokenizer.show_token(token), token) for token in ids)
    special = ""
    if not tokenizer.added.ids.keys().isdisjoint(tokenizer.pieces(text)):
        special = "<p>Special tokens are recognised here, as by <code>tokenref trace</code> and "
        special += "<code>Tokenizer.encode</code>. For <code>tokenref encode</code> they are text "
        special += "unless it is given <code>--special</code>.</p>"
    return f"<h2>The text has {len(ids)} token{'s' * (len(ids) != 1)}</h2><p>{drawn}</p>{special}"


def tokens_by_piece(tokenizer: Tokenizer, text: str) -> str:
    """Return all tokens of a text, and its pieces as buttons whose merges can be shown.

    A single piece is hidden: its merges are shown in any case. Of a published pattern, the number
    of the alternative that cut a piece is below it.

    >>> from bpe_ref import load
    >>> tokens_by_piece(load("tiny"), "a <b>").count("<button")
    4
    """
    found = tokenizer.pieces(text)
    merged = [piece for piece in found if tokenizer.count(piece) < len(piece.encode())]
    merged = [piece for piece in merged if piece not in tokenizer.added.ids]
    first = max(merged, key=lambda piece: tokenizer.count(piece) > 1, default=None)
    published = _published(tokenizer)
    numbers = alternatives(published, found, tokenizer.added.ids)
    small = ["" if number is None else f"<small>{number}</small>" for number in numbers]
    buttons = "".join(
        f'<button type="button" data-piece="{escape(piece)}"{" data-first" * (piece == first)}>'
        f"{escape(show_token(piece.encode()))}{below}</button>"
        for piece, below in zip(found, small, strict=True)
    )
    how = "Pieces: click one to see its merges, also if it is one token"
    if published is not None:
        used = "<br>".join(
            f"{number} <code>{escape(source.replace(' ', SPACE))}</code> {escape(words)}"
            for number, (source, words) in enumerate(published.alternatives)
            if number in numbers
        )
        how = f"<details><summary>{how}. Numbers: what cut them</summary>{used}</details>"
    pieces = f'<div class="where">{how}</div><p>{buttons}</p>'
    is_one = " hidden" * (len(found) < 2)
    return f"<section>{_all_tokens(tokenizer, text)}<div{is_one}>{pieces}</div></section>"


def _published(tokenizer: Tokenizer) -> PublishedPattern | None:
    """Return the published pattern that cuts text for this tokenizer, if it is one."""
    patterns = [getattr(step, "pattern", None) for step in steps_of(tokenizer.pre_tokenizer)]
    sources = [getattr(pattern, "source", pattern) for pattern in patterns]
    return next((each for each in PATTERNS.values() if each.source in sources), None)


def alternatives(
    published: PublishedPattern | None, pieces: Iterable[str], added: Collection[str] = ()
) -> list[int | None]:
    """Return the number of the alternative that cut each piece, from 0; None if none did.

    The texts between added tokens are cut each by itself.

    >>> alternatives(PATTERNS["gpt2"], ["one", " ", " 2", "<|>", "."], ["<|>"])
    [1, 5, 2, None, 3]
    """
    numbers: list[int | None] = []
    for is_cut, group in groupby(pieces, lambda piece: piece not in added):
        texts = [*group]
        rest = "".join(texts)
        for piece in texts:
            number = _alternative(published, rest[: len(piece) + 2], len(piece))
            numbers.append(number if is_cut else None)
            rest = rest[len(piece) :]
    return numbers


@lru_cache(maxsize=1 << 12)
def _alternative(published: PublishedPattern | None, text: str, length: int) -> int | None:
    """Return which alternative matches the first letters of a text, and no more.

    Two letters behind them are enough: none looks further ahead, or takes back more than one.
    """
    cutters = [] if published is None else _cutters(published)
    spans = (cutter.spans(text)[:1] for cutter in cutters)
    return next((at for at, found in enumerate(spans) if found == [(0, length)]), None)


@cache
def _cutters(published: PublishedPattern) -> list[Pattern]:
    return [Pattern(source) for source, _ in published.alternatives]


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
        drawn = [
            Box(name, token, place == new, "refused" * (place == refused))
            for place, (token, name) in enumerate(zip(tokens, names(tokens), strict=True))
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
    caption += CROSSED * ('class="token refused"' in rows)
    table = f"<table class=steps><caption>{caption}</caption>{rows}</table>" if rows else ""
    return f"<section><h2>{escape(heading)}</h2>{table}</section>"
