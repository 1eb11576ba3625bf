"""The figures of the pages: SVG files that the project's own code draws."""

import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cache
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple, TypeAlias, cast
from unicodedata import east_asian_width

import regex

from authoring.attestation.engines import opened
from bpe_ref import Vocabulary, load, vocabulary_by_concatenation
from bpe_ref.encoder_steps import ENCODER_STEPS, border_steps
from bpe_ref.learning import BYTES, learn_naive, merge_everywhere
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.tiny import SMALL, small_vocabulary
from bpe_ref.tracing import show_token, trace
from sampling_ref import WEIGHTS, top_k
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.lz.matches import longest_match, window_and_buffer
from sampling_ref.lz.variants import lz_changes
from sampling_ref.speculative.acceptance import acceptance_rate
from sampling_ref.steps.frequency_penalty import frequency_penalty
from tokenref.commands.pictures.bars import line_in_parts, paired_bars
from tokenref.commands.pictures.chains import stage_picture
from tokenref.commands.sampling import Asked, compared_engines
from tokenref.experiment import Plan, cells, read_results
from tokenref.fuzzing.comparing import Comparer, Outcome
from tokenref.fuzzing.plan import Question
from tokenref.fuzzing.shrinking import shrunk
from tokenref.small_model import model

NAMES: Final = SMALL["book"]
FOLDER: Final = Path("docs/figures")

_SVG: Final = re.compile(
    r'<svg role="img" viewBox="0 0 (\d+) (\d+)" width="\d+"[^>]*>(.*)</svg>', re.DOTALL
)
_HEAD: Final = 26


class Filtered(NamedTuple):
    """A drawing of one stage of an engine: a row, parameters, and the step to be drawn."""

    engine: str
    step: str
    row: str
    settings: Sequence[str]
    heading: str = "{step}({values}): {kept}"
    uniforms: Sequence[float] = ()
    downwards: bool = False
    """Whether a running sum begins with the most probable token in any case."""


_ROW: Final = "3,2.5,2,1,0.5,0,-1"
_TWO: Final = "1,2,2,3"
_FOUR: Final = "3,2,1,0"
_ORDER: Final = ("top_p=0.8", "temperature=2")
_STEEP: Final = "8,3,2.9,2.8,2.7,2.6,2.5,2.4"
_FLAT: Final = "3.1,3,2.9,2.8,2.7,2.6,2.5,2.4"
_CERTAIN: Final = "5,4,3,1,0"
_NOTHING_ELSE: Final = ("temperature=1", "top_k=0", "top_p=0")
_BY_ENGINE: Final = "{engine} keeps {kept}"

FILTERS: Final[Mapping[str, Filtered]] = {
    "top_k_vllm": Filtered("vllm", "top_k", _TWO, ["top_k=2", "temperature=1"], _BY_ENGINE),
    "top_k_llama_cpp": Filtered(
        "llama.cpp", "top_k", _TWO, ["top_k=2", "temperature=1"], _BY_ENGINE
    ),
    "temperature_low": Filtered(
        "transformers", "temperature", "2,1,0,-1", ["temperature=0.5"], "temperature 0.5"
    ),
    "temperature_high": Filtered(
        "transformers", "temperature", "2,1,0,-1", ["temperature=2"], "temperature 2"
    ),
    "top_p": Filtered("vllm", "top_p", _ROW, ["top_p=0.8"]),
    "min_p": Filtered("transformers", "min_p", _ROW, ["min_p=0.5"]),
    "top_p_steep": Filtered("vllm", "top_p", _STEEP, ["top_p=0.9", "temperature=2"]),
    "min_p_steep": Filtered("transformers", "min_p", _STEEP, ["min_p=0.2", "temperature=2"]),
    "top_p_flat": Filtered("vllm", "top_p", _FLAT, ["top_p=0.9", "temperature=2"]),
    "min_p_flat": Filtered("transformers", "min_p", _FLAT, ["min_p=0.2", "temperature=2"]),
    "order_transformers": Filtered(
        "transformers",
        "top_p",
        _FOUR,
        _ORDER,
        "{engine}, temperature first: {kept}",
        downwards=True,
    ),
    "order_llama_cpp": Filtered(
        "llama.cpp", "top_p", _FOUR, _ORDER, "{engine}, top-p first: {kept}", downwards=True
    ),
    "top_p_llama_cpp": Filtered("llama.cpp", "top_p", "1,1,1,1", ["top_p=0.75"], _BY_ENGINE),
    "top_p_transformers": Filtered("transformers", "top_p", "1,1,1,1", ["top_p=0.75"], _BY_ENGINE),
    "cosine_right": Filtered(
        "vllm", "top_p", _CERTAIN, ["top_p=0.98"], "right: p = {values}, {kept}"
    ),
    "cosine_wrong": Filtered(
        "vllm", "top_p", _CERTAIN, ["top_p=0.99"], "wrong: p = {values}, {kept}"
    ),
    "typical": Filtered(
        "transformers",
        "typical",
        "2.4,1,0.8,0.6,0.4,0.2,0",
        ["typical_p=0.2"],
        "{step}({values}), most typical first: {kept}",
    ),
    "top_n_sigma": Filtered("llama.cpp", "top_n_sigma", _ROW, ["top_n_sigma=0.5"]),
    "xtc": Filtered(
        "llama.cpp",
        "xtc",
        _ROW,
        ["xtc_threshold=0.1", "xtc_probability=1", "top_p=1", "min_p=0"],
        uniforms=(0.5, 0.5),
    ),
    "top_a": Filtered("exllamav2", "top_a", _ROW, ["top_a=0.2", *_NOTHING_ELSE]),
    "tail_free": Filtered("exllamav2", "tail_free", _ROW, ["tfs=0.9", *_NOTHING_ELSE]),
    "eta": Filtered("transformers", "eta", _ROW, ["eta_cutoff=0.2"]),
    "top_h": Filtered("transformers", "top_h", _ROW, ["top_h=0.7"]),
    "mirostat": Filtered(
        "llama.cpp", "mirostat_2", _ROW, ["mirostat_tau=1.2", "mirostat=2", "temp=1"]
    ),
}
"""The figures of filters."""


@cache
def figures(*, on_slide: bool = False) -> Mapping[str, str]:
    """Return every figure by the name of its file.

    On a slide, letters are larger: bars are narrow, and lines of words short.

    >>> sorted(figures())[:3]
    ['backtracking.svg', 'border.svg', 'border_left.svg']
    """
    drawings = {
        "generation": generation(),
        "merges_abacb": merges("abacb"),
        "merges_abacbb": merges("abacbb"),
        "border": border("acbb", "cbab"),
        "border_left": border("acbb"),
        "border_right": border("cbab"),
        "not_compatible": neighbours("ac", "b"),
        "compatible": neighbours("acbb", "cbb"),
        "borders": borders(),
        **{encoder: steps_of(encoder, on_slide=on_slide) for encoder in ENCODER_STEPS},
        **{f"heap_{name}": heap_tree(*each) for name, each in _TREES.items()},
        "training": training(),
        "pieces": pieces(630 if on_slide else _WIDE),
        "draw": draw(),
        "window": window(on_slide=on_slide),
        **speculative(on_slide=on_slide),
        **loops(15 if on_slide else 18),
        "mutant": mutant(),
        "shrinking": shrinking(),
        **{name: _stage(each, on_slide=on_slide) for name, each in FILTERS.items()},
    }
    files = {f"{name}.svg": _file(*drawing) for name, drawing in drawings.items()}
    return files | {f"formula_{name}.svg": formula(*parts) for name, parts in FORMULAS.items()}


Headed: TypeAlias = tuple[str, str]
"""The heading of a figure, and its drawing as SVG."""


def _stage(wanted: Filtered, *, on_slide: bool) -> Headed:
    """Return what one stage of an engine keeps, in words, and its drawing."""
    settings = wanted.settings
    [engine] = compared_engines(
        [wanted.engine], Asked(wanted.row, settings=settings, uniforms=wanted.uniforms)
    )
    made, run, _ = engine
    for applied, stage in zip(run.applied, run.stages, strict=True):
        if applied.step == wanted.step:
            heading = wanted.heading.format(
                engine=made.profile.title.removeprefix("Hugging Face "),
                step=wanted.step,
                values=settings[0].partition("=")[2],
                kept="1 token" if len(applied.kept) == 1 else f"{len(applied.kept)} tokens",
            )
            drawing = stage_picture(
                engine, applied, stage, downwards=wanted.downwards, narrow=on_slide
            )
            return heading, drawing
    raise ValueError(f"{wanted.engine} does not apply {wanted.step}")


_LETTER, _LINE, _CHARACTER, _GAP = 20, 28, 8, 14
"""The room of a letter in a box, of a line, of a character of the words, and of a gap."""

_WIDE: Final = 440
"""The width of most figures: on a phone, too, their letters can be read."""


class Line(NamedTuple):
    """A line of tokens; the marked ones are filled. Words are at its right.

    `border` is the number of tokens before a border, which is drawn as a dashed line. A `refused`
    last token is crossed out. `rest` is text that has no tokens yet. `below` is a bracket from one
    token to another, and what is written there.
    """

    tokens: Sequence[str]
    marked: Collection[int] = ()
    words: str = ""
    border: int = 0
    refused: bool = False
    rest: str = ""
    below: tuple[int, int, str] = (0, 0, "")


def generation() -> Headed:
    """Return how the small model continues a text by one token."""
    tokenizer, text, u = load("tiny"), "A token is", 0.97
    history = tokenizer.encode(text)
    row = model().row(history)
    kept = top_k(frequency_penalty(row, history, 0.5), 3)
    drawn = inverse_cdf(kept, u)
    names = {each: show_token(tokenizer.decode_bytes([each])) for each in (*history, *kept.tokens)}
    boxes = {
        "tokenizer": f'"{text}" is {", ".join(map(str, history))}',
        "model": f"{len(row):,} logits, one for each token",
        "penalties": f"lower {', '.join(names[each] for each in history)}",
        "filters": f"top-k 3: {', '.join(names[each] for each in kept.tokens)}",
        "draw": f"{u} falls on {names[drawn]}",
        "append": f'{drawn}: "{tokenizer.decode([*history, drawn])}"',
    }
    left, wide, high, pitch = 58, 100, 26, 40
    middles = {name: 4 + high // 2 + pitch * number for number, name in enumerate(boxes)}
    parts = []
    for name, words in boxes.items():
        y = middles[name]
        parts.append(
            f'<rect class="box" x="{left}" y="{y - high // 2}" width="{wide}" height="{high}" '
            f'rx="4"/><text x="{left + wide // 2}" y="{y + 5}">{name}</text>'
            f'<text class="label" x="{left + wide + 14}" y="{y + 5}">{escape(words)}</text>'
        )
    line = 'style="fill: none; stroke: var(--kept); stroke-width: 1.5" d='
    for y in [*middles.values()][:-1]:
        down = f"M{left + wide // 2} {y + high // 2}v{pitch - high - 2}m-4 -5l4 5l4 -5"
        parts.append(f'<path {line}"{down}"/>')
    first, last = middles["model"], middles["append"]
    back = f"M{left} {last}H44V{first}H{left - 2}m-5 -4l5 4l-5 4"
    parts.append(f'<path {line}"{back}"/>')
    asked = {"ask": -6, "again": 10}
    parts += (
        f'<text class="share" x="22" y="{(first + last) // 2 + y}">{each}</text>'
        for each, y in asked.items()
    )
    return "once for each new token", _drawing(_WIDE, last + high // 2 + 4, parts)


def merges(text: str) -> Headed:
    """Return the merges of a text."""
    vocabulary = small_vocabulary("book")
    symbols = vocabulary.symbols(text.encode())
    lines = [Line([NAMES[token] for token in symbols])]
    for step in trace(vocabulary, symbols):
        tokens = [NAMES[token] for token in step.tokens]
        lines.append(Line(tokens, {step.position}, f"rank {step.rank}"))
    return token_lines(f"{text}: {len(lines[-1].tokens)} tokens", lines)


def border(*parts: str) -> Headed:
    """Return the merges of a text; of two parts, those at the left and at the right of both."""
    vocabulary = small_vocabulary("book")
    text = "".join(parts)
    symbols = vocabulary.symbols(text.encode())
    length = len(parts[0]) if len(parts) > 1 else 0
    lines = [Line(text, border=length)]
    for step in trace(vocabulary, symbols):
        tokens = [NAMES[token] for token in step.tokens]
        ends = [*accumulate(map(len, tokens))]
        side = "left" if ends[step.position] <= length else "right"
        words = f"{side}, rank {step.rank}" if length else f"rank {step.rank}"
        at = ends.index(length) + 1 if length else 0
        lines.append(Line(tokens, {step.position}, words, at))
    return token_lines(text, lines)


def neighbours(left: str, right: str) -> Headed:
    """Return the fast test of two neighbours: merges undone, the latest first."""
    *steps, _ = border_steps(small_vocabulary("book"), NAMES.index(left), NAMES.index(right))
    lines = [
        Line([NAMES[token] for token in step.tokens], {step.new - 1, step.new}, step.why, step.new)
        for step in steps
    ]
    return token_lines(f"{left} and {right}", lines)


_STEPS_OF: Final = {"heap": "abacbb", "prefix_table": "abacbb", "backtracking": "abacb"}


def steps_of(encoder: str, *, on_slide: bool) -> Headed:
    """Return what an encoder does with a text, step by step, with the reasons.

    A slide shows how the heap begins as a tree, so that it is not said again, and of the tokens
    that end at a place only the one that fits.
    """
    text = _STEPS_OF[encoder]
    vocabulary = small_vocabulary("book")
    lines = []
    for step in ENCODER_STEPS[encoder](vocabulary, vocabulary.symbols(text.encode())):
        tried = [*step.refused, *([step.tokens] if step.new >= 0 or not step.refused else [])]
        whys = step.why.split("; ") if len(tried) > 1 else [step.why]
        for each, why in list(zip(tried, whys, strict=True))[-1 if on_slide else 0 :]:
            tokens, crossed = [NAMES[token] for token in each], each in step.refused
            marked = set() if crossed else {step.new}
            rest = text[len("".join(tokens)) :]
            lines.append(Line(tokens, marked, why, refused=crossed, rest=rest))
    room = _WIDE
    if on_slide:
        room = 530 if encoder == "heap" else 630
        lines[0] = lines[0]._replace(words="the beginning") if encoder == "heap" else lines[0]
    title = f"{encoder.replace('_', ' ')}: the steps for {text}"
    return token_lines(title, lines, room=room)


def borders() -> Headed:
    """Return the border that backtracking marks in a text, and the borders of its encoding."""
    text, vocabulary = _STEPS_OF["backtracking"], small_vocabulary("book")
    *steps, last = ENCODER_STEPS["backtracking"](vocabulary, vocabulary.symbols(text.encode()))
    [wrong] = [step.refused[0] for step in steps if step.new < 0 and "fit after" in step.why]
    left, right = ([NAMES[token] for token in each] for each in (wrong[:-1], last.tokens))
    begun = "".join(left)
    never = ", ".join("".join(right[:count]) for count in range(1, len(right)))
    lines = [
        Line(left, words=f"after {begun}: marked", border=len(left), rest=text[len(begun) :]),
        Line(right, range(len(right)), f"after {never}: never marked"),
    ]
    return token_lines(f"the borders in {text}", lines)


_TREES: Final = {"beginning": (0, "the beginning"), "stale": (2, "two are stale")}
"""The pictures of the heap as a tree: how many entries have been taken out before, and a title."""


def heap_tree(taken: int, title: str) -> Headed:
    """Return the heap for a text as a tree, in which no entry comes before the one above it."""
    vocabulary = small_vocabulary("book")
    symbols = vocabulary.symbols(_STEPS_OF["heap"].encode())
    step = list(ENCODER_STEPS["heap"](vocabulary, symbols))[taken]
    ends = [0, *accumulate(len(NAMES[token]) for token in step.tokens)]
    there = {(at, *pair) for at, pair in zip(ends, pairwise(step.tokens), strict=False)}
    wide, high, below = 96, 44, 70
    columns = _from_left(len(step.heap))
    middles = [56 + 52 * columns.index(at) for at in range(len(step.heap))]
    tops = [4 + below * ((at + 1).bit_length() - 1) for at in range(len(step.heap))]
    parts = [
        f'<line style="stroke: var(--soft)" x1="{middles[(at - 1) // 2]}" x2="{middles[at]}" '
        f'y1="{tops[at] - below + high}" y2="{tops[at]}"/>'
        for at in range(1, len(step.heap))
    ]
    for x, y, (rank, at, left, right, _) in zip(middles, tops, step.heap, strict=True):
        kind = "box" if (at, left, right) in there else "removed"
        parts.append(
            f'<rect class="{kind}" x="{x - wide // 2}" y="{y}" width="{wide}" height="{high}" '
            f'rx="4"/><text x="{x}" y="{y + 17}">{NAMES[left]} + {NAMES[right]}</text>'
            f'<text class="share" x="{x}" y="{y + 35}">rank {rank}, at {at}</text>'
        )
    tokens = " ".join(NAMES[token] for token in step.tokens)
    return f"{tokens}: {title}", _drawing(max(middles) + 56, max(tops) + high + 8, parts)


def _from_left(size: int, at: int = 0) -> list[int]:
    """Return the indices of a heap in the order in which its tree is drawn from left to right.

    >>> _from_left(4)
    [3, 1, 0, 2]
    """
    if at >= size:
        return []
    return [*_from_left(size, 2 * at + 1), at, *_from_left(size, 2 * at + 2)]


def training() -> Headed:
    """Return what training merges in a text, and how often each pair occurs."""
    text = b"hug pug hugs pugs"
    spellings = [bytes([byte]) for byte in range(BYTES)]
    tokens = list(text)
    lines = [Line([show_token(spellings[token]) for token in tokens])]
    for learned in learn_naive({text: 1}):
        left, right = spellings[learned.left], spellings[learned.right]
        new = len(spellings)
        spellings.append(left + right)
        tokens = merge_everywhere(tokens, (learned.left, learned.right), new)
        marked = {place for place, token in enumerate(tokens) if token == new}
        words = f"{new}: {show_token(left)} + {show_token(right)}"
        words += f" occurs {learned.occurrences} times"
        lines.append(Line([show_token(spellings[token]) for token in tokens], marked, words))
    title = f"Training on {text.decode()}"
    return token_lines(title, lines)


SENTENCE: Final = "I'LL pay $1000, it's  fair...\n\n  fn(OK) \t\n\xc4rger \u4f60\u597d 12 x  "
"""The text of the section about pieces."""


def pieces(room: int) -> Headed:
    """Return a text cut into pieces by cl100k, with the number of the alternative of each."""
    alternatives = PATTERNS["cl100k"].alternatives
    sources = [f"(?P<a{number}>{source})" for number, (source, _) in enumerate(alternatives)]
    found = [
        (match.lastgroup or "", match[0]) for match in regex.finditer("|".join(sources), SENTENCE)
    ]
    parts, left, top, widest = [], 8, 4, 0
    for kind, piece in found:
        shown = piece.translate({ord(" "): "\u2423", ord("\t"): r"\t", ord("\n"): r"\n"})
        columns = sum(1 + (east_asian_width(letter) == "W") for letter in shown)
        width = 9 * columns + 12
        if left + width > room - 8:
            left, top = 8, top + 50
        widest = max(widest, left + width)
        hue = int(kind[1:]) * 137 % 360
        parts.append(
            f'<rect class="box" style="fill: hsl({hue} 60% 50% / .3)" x="{left + 1}" y="{top}" '
            f'width="{width - 2}" height="24" rx="4"/>'
            f'<text x="{left + width / 2}" y="{top + 16}">{escape(shown)}</text>'
            f'<text class="share" x="{left + width / 2}" y="{top + 38}">{kind[1:]}</text>'
        )
        left += width
    return "pieces, and the alternative", _drawing(widest + 8, top + 44, parts)


SHARES: Final = (0.5, 0.25, 0.125, 0.125)
"""The probabilities of the chapter about draws."""


def draw() -> Headed:
    """Return probabilities as parts of a line from 0 to 1, and a random number on it."""
    number = 0.7
    token = inverse_cdf(SHARES, number, numbers=WEIGHTS)
    title = f"Inverse CDF with the random number {number}: token {token}"
    parts = [(str(each), Fraction(share)) for each, share in enumerate(SHARES)]
    return title, line_in_parts(parts, token, number, title)


TARGET: Final = (Fraction(1, 2), Fraction(3, 8), Fraction(1, 8))
DRAFT: Final = (Fraction(1, 8), Fraction(1, 8), Fraction(3, 4))
"""The rows of the section about speculative decoding."""


def speculative(*, on_slide: bool) -> Mapping[str, Headed]:
    """Return the bars of target and draft, whole, and with what they have in common."""
    rows, halves = {}, {}
    for token, (p, q) in enumerate(zip(TARGET, DRAFT, strict=True)):
        both = min(p, q)
        rows[f"token {token}"] = {"merged": p}, {"removed": q}
        halves[f"token {token}"] = (
            {"kept": both, "merged": p - both},
            {"kept": both, "removed": q - both},
        )
    accepted = acceptance_rate(TARGET, DRAFT)
    title = f"accepted {accepted}, rejected {1 - accepted}"
    return {
        "speculative": ("target p, draft q", paired_bars(rows, "", narrow=on_slide)),
        "speculative_sum": (title, paired_bars(halves, title, narrow=on_slide)),
    }


def mutant() -> Headed:
    """Return what top-k and a mutant of it keep of two rows, of which one kills it."""

    def highest_first(row: Sequence[float], k: int) -> Collection[int]:
        return sorted(range(len(row)), key=lambda token: (-row[token], -token))[:k]

    lines = []
    for row in ([3.0, 1.0, 2.0], [3.0, 2.0, 2.0]):
        right, wrong = sorted(top_k(row, 2).tokens), sorted(highest_first(row, 2))
        fate = "survives" if right == wrong else "dies"
        for name, kept, end in (("right", right, ""), ("mutant", wrong, f", {fate}")):
            words = f"{name}: {kept[0]} and {kept[1]}{end}"
            lines.append(Line([f" {logit:g} " for logit in row], kept, words))
    return token_lines("Top-k 2 of three logits, and a mutant", lines)


class _Recording(Comparer):
    """A comparer that remembers the questions that failed."""

    failed: Sequence[Question] = ()

    def compare(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcomes of the questions."""
        found = super().compare(questions)
        self.failed = [*self.failed, *(each.question for each in found if each.fate == "failed")]
        return found


def shrinking() -> Headed:
    """Return a text on which a program fails, and what is left of it step by step."""
    text = "xzzyxyzyyxzxzyyx"
    vocabulary = vocabulary_by_concatenation({b"x": 0, b"y": 1, b"z": 2, b"yzy": 3})
    [greedy] = opened(["greedy"])
    comparer = _Recording(greedy)
    [first] = comparer.compare([Question("encode", "definition", vocabulary, "", {"text": text})])
    shrunk(first, comparer)
    steps = []
    for question in comparer.failed:
        spellings = cast("Vocabulary", question.subject).tokens.values()
        steps.append((question.request["text"], b" ".join(spellings).decode()))
    steps = list(dict.fromkeys(steps))  # the first and the last are asked twice
    lines = []
    for (shown, tokens), (left, _) in zip(steps, [*steps[1:], steps[-1]], strict=True):
        at = shown.find(left)
        kept = range(at, at + len(left)) if at >= 0 else ()
        lines.append(Line(shown, kept, f"tokens {tokens}"))
    return token_lines(f"{len(text)} letters become {steps[-1][0]}", lines)


def window(*, on_slide: bool) -> Headed:
    """Return the window and the buffer of the LZ penalty, their match, and two next tokens.

    A slide has room for the match and one next token.
    """
    history = [1, 2, 3, 4, 5, 1, 2, 3]
    before, buffer = window_and_buffer(history, window=5, buffer=3)
    numbers = "".join(str(number) for number in range(len(before), 0, -1))
    lines = [] if on_slide else [Line([], words="numbers from its end", rest=numbers)]
    for following in ([], [4]) if on_slide else ([], [4], [7]):
        tokens = [*history, *following]
        match = longest_match([*following, *buffer[::-1]], before[::-1])
        end = len(before) - match.distance + 1
        copies = {*range(end - match.length, end)} if match.length else set()
        own = {*range(len(tokens) - match.length, len(tokens))}
        words, below = f"a match: m = {match.length}, d = {match.distance}", (0, 0, "")
        if following:
            change = float(lz_changes(history, 8, window=5, buffer=3).of(following[0]))
            what = f"{match.length} tokens match" if match.length else "nothing matches"
            words = f"next {following[0]}: D = {change:+.2f}, {what}"
        else:
            below = (end - 1, len(before) - 1, f"d = {match.distance}")
        lines.append(Line([*map(str, tokens)], copies | own, words, below=below))
    title = "Window, buffer and a possible next token"
    columns = ["window"] * 5 + ["buffer"] * 3 + ["next"]
    return token_lines(title, lines, columns, 630 if on_slide else _WIDE)


def token_lines(
    title: str, lines: Sequence[Line], columns: Sequence[str] = (), room: int = _WIDE
) -> Headed:
    """Return a drawing of lines of tokens, each with its words at the right.

    `columns` has a heading for each token. Equal ones are written once, and a gap is between those
    that differ. Words that need more `room` than the drawing has are wrapped.

    >>> token_lines("t", [Line("ab"), Line(["ab"], {0}, "a + b")])[1].count("<rect")
    3
    """
    gaps = [0, *accumulate(_GAP * (one != other) for one, other in pairwise(columns))]
    wide = max((8 + _LETTER * len("".join(line.tokens) + line.rest) for line in lines), default=0)
    wide += gaps[-1]
    fitting = max((room - wide - 20) // _CHARACTER, 16)
    parts, top, longest = [], 4, 0
    for name in dict.fromkeys(columns):
        places = [place for place, each in enumerate(columns) if each == name]
        middle = 8 + gaps[places[0]] + _LETTER * (places[0] + places[-1] + 1) / 2
        parts.append(f'<text class="share" x="{middle}" y="{top + 9}">{name}</text>')
    top += 14 * bool(columns)
    for line in lines:
        left, ends = 8, []
        for place, token in enumerate(line.tokens):
            width = _LETTER * len(token)
            left += gaps[place] - gaps[place - 1] if 0 < place < len(gaps) else 0
            kind = "merged" if place in line.marked else "box"
            if line.refused and place == len(line.tokens) - 1:
                kind = "removed"
                parts.append(
                    f'<line style="stroke: var(--removed)" x1="{left + 1}" x2="{left + width - 1}" '
                    f'y1="{top}" y2="{top + 22}"/>'
                )
            parts.append(
                f'<rect class="{kind}" x="{left + 1}" y="{top}" width="{width - 2}" height="22" '
                f'rx="4"/><text x="{left + width / 2}" y="{top + 15}">{escape(token)}</text>'
            )
            left += width
            ends.append(left)
            if place + 1 == line.border:
                parts.append(
                    f'<line class="threshold" x1="{left}" x2="{left}" y1="{top - 4}" '
                    f'y2="{top + 26}"/>'
                )
        for place, letter in enumerate(line.rest):
            middle = left + _LETTER * place + _LETTER // 2
            parts.append(f'<text class="share" x="{middle}" y="{top + 15}">{escape(letter)}</text>')
        words = wrap(line.words, fitting)
        for number, part in enumerate(words):
            longest = max(longest, len(part))
            parts.append(
                f'<text class="label" x="{wide + 12}" y="{top + 16 + 16 * number}">'
                f"{escape(part)}</text>"
            )
        begin, end, below = line.below
        if below:
            left, right = ends[begin] - _LETTER + 2, ends[end] - 2
            parts.append(
                '<path style="fill: none; stroke: var(--ink)" '
                f'd="M{left} {top + 25}v5H{right}v-5"/>'
                f'<text class="share" x="{(left + right) // 2}" y="{top + 43}">{below}</text>'
            )
        top += _LINE + max(16 * (len(words) - 1), 22 * bool(below), 0)
    return title, _drawing(wide + 20 + _CHARACTER * longest, top, parts)


def _drawing(wide: int, high: int, parts: Sequence[str]) -> str:
    return f'<svg role="img" viewBox="0 0 {wide} {high}" width="{wide}">{"".join(parts)}</svg>'


LOOPS: Final = Path("docs/book/loops.jsonl")


def loops(line: int) -> Mapping[str, Headed]:
    """Return two heat maps: the texts with loops, and the bits that a penalty costs.

    The price of texts of which more than a tenth loop is in brackets: a loop has another.
    """
    results = cells(read_results(LOOPS, Plan()).values())
    shares = {
        key: (cell.degenerate, f"{100 * cell.degenerate:.1f}") for key, cell in results.items()
    }
    most = max(cell.bits for cell in results.values())
    bits = {
        key: (0.0, f"({cell.bits:.2f})")
        if cell.degenerate > 0.1
        else (cell.bits / most, f"{cell.bits:.2f}")
        for key, cell in results.items()
    }
    return {
        "loops": ("degenerate texts, %", heat_map(shares, line)),
        "loops_bits": ("cross-entropy, bits per token", heat_map(bits, line)),
    }


HEAT: Final = 0.55
"""The most opaque cell of a heat map: a number on it must be legible, light on dark or reverse."""


def heat_map(values: Mapping[tuple[str, float], tuple[float, str]], line: int = 18) -> str:
    """Return a heat map: rows and columns by name, and the strength and text of each cell.

    A row is a `line` high.

    >>> heat_map({("a", 0.5): (1.0, "100"), ("b", 0.5): (0.25, "25")}).count("<rect")
    2
    """
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*values, strict=True))
    parts = [
        f'<text x="{130 + 60 * number + 30}" y="14">{column:g}</text>'
        for number, column in enumerate(columns)
    ]
    parts.append('<text class="axis" x="122" y="14">temperature</text>')
    for number, row in enumerate(rows):
        top = 20 + line * number
        parts.append(f'<text class="axis" x="122" y="{top + line - 5}">{escape(str(row))}</text>')
        for place, column in enumerate(columns):
            strength, text = values[row, column]
            left = 130 + 60 * place
            parts.append(
                f'<rect class="heat" x="{left}" y="{top}" width="59" height="{line - 1}" '
                f'fill-opacity="{HEAT * strength:.2f}"/>'
                f'<text x="{left + 30}" y="{top + line - 5}">{text}</text>'
            )
    return _drawing(130 + 60 * len(columns), 24 + line * len(rows), parts)


FORMULAS: Final[Mapping[str, Sequence[str | tuple[str, str]]]] = {
    "softmax": ("p(i) = ", ("e^{logit(i)}", "Σ e^{logit(j)}")),
    "share": (
        "share of the k best = ",
        ("1", "1 + R"),
        ",  R = Σ",
        ("1", "Σ e^{(l(i) - l(j)) / T}"),
    ),
    "race": ("∫ p₁ e^{-(p₁ + … + pₙ) t} dt = ", ("p₁", "p₁ + … + pₙ"), " = p₁"),
    "passes": ("1 + a + a² + … + a^{k} = ", ("1 - a^{k + 1}", "1 - a"), " < ", ("1", "1 - a")),
    "lz": ("D = log2 ", ("(m + 1) (d - 1)", "m d"), " - 1"),
    "cosine": ("1 - cosine similarity ≈ ", ("e²", "2 |p|²")),
}
"""Formulas with fractions, as the parts of a line: words, or what is above and below a bar.

What is between the braces behind ^ is raised.
"""

_EM: Final = 17
"""The size of the letters of formulas."""


def formula(*parts: str | tuple[str, str]) -> str:
    """Return an SVG file of a formula. Its letters have given widths, whatever the font is.

    >>> formula("a = ", ("1", "b")).count("<line"), formula("e^{x}").count("<text")
    (1, 2)
    """
    drawn, left = [], 8.0
    for part in parts:
        if isinstance(part, str):
            drawn.append(_words(part, left, 34))
            left += _width(part)
            continue
        wide = max(map(_width, part)) + 8
        for words, y in zip(part, (22, 47), strict=True):
            drawn.append(_words(words, left + (wide - _width(words)) / 2, y))
        bar = f'<line x1="{left + 1:.1f}" x2="{left + wide - 1:.1f}" y1="29" y2="29"/>'
        drawn.append(bar)
        left += wide
    width = round(left + 8)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="formula" role="img" '
        f'viewBox="0 0 {width} 58" width="{width}" height="58">\n<style>\n{_style()[0]}'
        ".formula { background: var(--paper); }\n"
        f".formula text {{ fill: var(--ink); font: {_EM}px serif; text-anchor: start; }}\n"
        f".formula .raised {{ font-size: {0.7 * _EM:.1f}px; }}\n"
        f".formula line {{ stroke: var(--ink); }}\n</style>\n{''.join(drawn)}\n</svg>\n"
    )


def _runs(words: str) -> list[tuple[str, bool]]:
    """Return parts of words, and whether each is raised.

    >>> _runs("1 - a^{k}")
    [('1 - a', False), ('k', True)]
    """
    parts = re.split(r"\^\{(.*?)\}", words)
    return [(part, at % 2 == 1) for at, part in enumerate(parts) if part]


def _width(words: str) -> float:
    """Return the width of words in a formula."""
    size = dict.fromkeys("fijlrt()|,.", 0.35) | dict.fromkeys("BDRT", 0.68)
    size |= dict.fromkeys("mwP∫…=+<≈", 0.75) | {" ": 0.25}
    return sum(
        _EM * (0.7 if raised else 1) * sum(size.get(letter, 0.52) for letter in part)
        for part, raised in _runs(words)
    )


def _words(words: str, left: float, y: int) -> str:
    """Return the words of a formula as SVG."""
    drawn = []
    for part, raised in _runs(words):
        wide = _width(f"^{{{part}}}" if raised else part)
        own, place = (' class="raised"', y - 7) if raised else ("", y)
        drawn.append(
            f'<text{own} x="{left:.1f}" y="{place}" textLength="{wide:.1f}" '
            f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(part)}</text>'
        )
        left += wide
    return "".join(drawn)


def _style() -> tuple[str, str]:
    """Return the colours and the rules of pictures."""
    style = files("tokenref.commands").joinpath("pictures.css").read_text(encoding="utf-8")
    rules = "\n".join(line for line in style.splitlines() if line.startswith("svg"))
    return style[: style.index("* {")], rules


def _file(heading: str, drawing: str) -> str:
    """Return an SVG file: a drawing under its heading.

    >>> file = _file("a & b", '<svg role="img" viewBox="0 0 90 80" width="90">c</svg>')
    >>> file.count("<svg"), "a &amp; b" in file, 'viewBox="0 0 90 106"' in file
    (1, True, True)
    """
    found = _SVG.search(drawing)
    if found is None:
        raise ValueError(f"there is no drawing under {heading!r}")
    width = max(int(found[1]), 16 + _CHARACTER * len(heading))
    height = int(found[2]) + _HEAD
    colours, rules = _style()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n<title>{escape(heading)}</title>\n'
        f"<style>\n{colours}{rules}\nsvg .head {{ text-anchor: start; font-weight: bold; }}\n"
        "svg { background: var(--paper); }\n"  # a page may have another theme than the system
        "svg .heat { fill: var(--removed); stroke: var(--line); }\n"
        f'</style>\n<text class="head" x="8" y="17">{escape(heading)}</text>\n'
        f'<g transform="translate(0 {_HEAD})">{found[3]}</g>\n</svg>\n'
    )
