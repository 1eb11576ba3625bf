"""The figures of the pages: SVG files that the project's own code draws."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from bpe_ref import vocabulary_by_concatenation
from bpe_ref.tracing import trace
from tokenref.commands.pictures import draw_picture, stage_picture
from tokenref.commands.sampling import Asked, compared_engines
from tokenref.experiment import Plan, cells, read_results

FOLDER: Final = Path("docs/figures")

_SVG: Final = re.compile(
    r'<svg role="img" viewBox="0 0 (\d+) (\d+)" width="\d+">(.*)</svg>', re.DOTALL
)
_HEAD, _GAP = 26, 20


class Filtered(NamedTuple):
    """A drawing of one stage of an engine: a row, parameters, and the step to be drawn."""

    engine: str
    step: str
    row: str
    settings: Sequence[str]
    heading: str = "{step}({values}): {kept}"
    uniforms: Sequence[float] = ()


_ROW: Final = "3,2.5,2,1,0.5,0,-1"
_TWO: Final = "1,2,2,3"
_NOTHING_ELSE: Final = ("temperature=1", "top_k=0", "top_p=0")
_BY_ENGINE: Final = "{engine} keeps {kept}"

FILTERS: Final[Mapping[str, tuple[str, Sequence[Filtered]]]] = {
    "top_k.svg": (
        "top_k=2 of the logits 1, 2, 2, 3",
        [
            Filtered(engine, "top_k", _TWO, ["top_k=2", "temperature=1"], _BY_ENGINE)
            for engine in ("vllm", "llama.cpp")
        ],
    ),
    "temperature.svg": (
        "Two temperatures of the logits 2, 1, 0, -1",
        [
            Filtered("transformers", "temperature", "2,1,0,-1", [f"temperature={each}"], words)
            for each, words in ((0.5, "temperature 0.5"), (2, "temperature 2"))
        ],
    ),
    "top_p_min_p.svg": (
        "Top-p and min-p of one row",
        [
            Filtered("transformers", "top_p", _ROW, ["top_p=0.8"]),
            Filtered("transformers", "min_p", _ROW, ["min_p=0.5"]),
        ],
    ),
    "top_p_ties.svg": (
        "top_p=0.5 of four equal logits",
        [
            Filtered(engine, "top_p", "1,1,1,1", ["top_p=0.5"], _BY_ENGINE)
            for engine in ("llama.cpp", "transformers")
        ],
    ),
    "typical_sigma.svg": (
        "Typical sampling and top-n-sigma",
        [
            Filtered("transformers", "typical", "2.4,1,0.8,0.6,0.4,0.2,0", ["typical_p=0.2"]),
            Filtered("llama.cpp", "top_n_sigma", _ROW, ["top_n_sigma=0.5"]),
        ],
    ),
    "xtc_top_a.svg": (
        "XTC and top-a",
        [
            Filtered(
                "llama.cpp",
                "xtc",
                _ROW,
                ["xtc_threshold=0.1", "xtc_probability=1", "top_p=1", "min_p=0"],
                uniforms=(0.5, 0.5),
            ),
            Filtered("exllamav2", "top_a", _ROW, ["top_a=0.2", *_NOTHING_ELSE]),
        ],
    ),
    "tail_free_eta.svg": (
        "Tail-free sampling and eta sampling",
        [
            Filtered("exllamav2", "tail_free", _ROW, ["tfs=0.9", *_NOTHING_ELSE]),
            Filtered("transformers", "eta", _ROW, ["eta_cutoff=0.05"]),
        ],
    ),
    "top_h_mirostat.svg": (
        "Top-h and mirostat",
        [
            Filtered("transformers", "top_h", _ROW, ["top_h=0.7"]),
            Filtered("llama.cpp", "mirostat_2", _ROW, ["mirostat_tau=1.2", "mirostat=2"]),
        ],
    ),
}
"""The figures of filters: the title of each, and its drawings."""


def figures() -> Mapping[str, str]:
    """Return every figure by the name of its file.

    >>> sorted(figures())[:3]
    ['draw.svg', 'loops.svg', 'merges.svg']
    """
    filters = {
        name: side_by_side(title, [_stage(each) for each in drawings])
        for name, (title, drawings) in FILTERS.items()
    }
    return {"draw.svg": draw(), "loops.svg": loops(), "merges.svg": merges(), **filters}


def draw() -> str:
    """Return the running sum of a row, and a random number on it."""
    settings = ["temperature=1", "top_p=1", "top_k=4"]
    [engine] = compared_engines(
        ["antigravity"], Asked("2,1,0,0", settings=settings, uniforms=(0.7,))
    )
    return side_by_side("A draw", [("the random number 0.7", draw_picture(engine, 0.7))])


def _stage(wanted: Filtered) -> tuple[str, str]:
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
            return heading, stage_picture(engine, applied, stage)
    raise ValueError(f"{wanted.engine} does not apply {wanted.step}")


_NAMES: Final = ("a", "b", "c", "ab", "cb", "ac", "bb", "cbb", "acbb")
_CELL, _LINE = 22, 30


def merges() -> str:
    """Return the merges of two texts, the second of which is longer and has fewer tokens."""
    ranks = {name.encode(): rank for rank, name in enumerate(_NAMES)}
    vocabulary = vocabulary_by_concatenation(ranks)
    drawings = []
    for text in ("abacb", "abacbb"):
        symbols = vocabulary.symbols(text.encode())
        steps = [(tuple(symbols), -1)]
        steps += [(step.tokens, step.position) for step in trace(vocabulary, symbols)]
        count = len(steps[-1][0])
        heading = f"{text}: {count} tokens"
        drawings.append((heading, _rows_of_tokens(f"The merges of {text}", steps)))
    return side_by_side("The merges of abacb and abacbb", drawings)


def _rows_of_tokens(title: str, steps: Sequence[tuple[Sequence[int], int]]) -> str:
    """Return a drawing of tokens, one row for each step; the new token is filled."""
    parts = []
    for number, (tokens, new) in enumerate(steps):
        left, top = 8, _LINE * number + 4
        for place, token in enumerate(tokens):
            width = _CELL * len(_NAMES[token])
            kind = "merged" if place == new else "box"
            parts.append(
                f'<rect class="{kind}" x="{left + 1}" y="{top}" width="{width - 2}" height="22" '
                f'rx="4"/><text x="{left + width / 2}" y="{top + 15}">{_NAMES[token]}</text>'
            )
            left += width
    wide = max(200, 16 + _CELL * sum(len(_NAMES[token]) for token in steps[0][0]))
    return _drawing(title, wide, _LINE * len(steps) + 4, parts)


def _drawing(title: str, wide: int, high: int, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {wide} {high}" width="{wide}"><title>{escape(title)}'
        f"</title>{''.join(parts)}</svg>"
    )


LOOPS: Final = Path("docs/book/loops.jsonl")


def loops() -> str:
    """Return two heat maps: the texts with loops, and the bits that a penalty costs."""
    results = cells(read_results(LOOPS, Plan()).values())
    shares = {
        key: (cell.degenerate, f"{100 * cell.degenerate:.1f}") for key, cell in results.items()
    }
    most = max(cell.bits for cell in results.values())
    bits = {key: (cell.bits / most, f"{cell.bits:.2f}") for key, cell in results.items()}
    maps = (("degenerate texts, %", shares), ("cross-entropy, bits per token", bits))
    return side_by_side(
        "Loops and cross-entropy with 22 penalties at three temperatures",
        [(heading, heat_map(heading, values)) for heading, values in maps],
    )


def heat_map(title: str, values: Mapping[tuple[str, float], tuple[float, str]]) -> str:
    """Return a heat map: rows and columns by name, and the strength and text of each cell.

    >>> heat_map("t", {("a", 0.5): (1.0, "100"), ("b", 0.5): (0.25, "25")}).count("<rect")
    2
    """
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*values, strict=True))
    parts = [
        f'<text x="{130 + 60 * number + 30}" y="14">{column:g}</text>'
        for number, column in enumerate(columns)
    ]
    for number, row in enumerate(rows):
        top = 20 + 20 * number
        parts.append(f'<text class="axis" x="122" y="{top + 14}">{escape(str(row))}</text>')
        for place, column in enumerate(columns):
            strength, text = values[row, column]
            left = 130 + 60 * place
            parts.append(
                f'<rect class="heat" x="{left}" y="{top}" width="59" height="19" '
                f'fill-opacity="{strength:.2f}"/><text x="{left + 30}" y="{top + 14}">{text}</text>'
            )
    return _drawing(title, 130 + 60 * len(columns), 24 + 20 * len(rows), parts)


def side_by_side(title: str, drawings: Sequence[tuple[str, str]]) -> str:
    """Return one SVG file with several drawings, each under its heading.

    >>> one = '<svg role="img" viewBox="0 0 90 80" width="90"><title>t</title></svg>'
    >>> file = side_by_side("a & b", [("c", one), ("d", one)])
    >>> file.count("<svg"), "a &amp; b" in file, 'viewBox="0 0 200 106"' in file
    (1, True, True)
    """
    parts, left, high = [], 0, 0
    for heading, drawing in drawings:
        found = _SVG.search(drawing)
        if found is None:
            raise ValueError(f"there is no drawing under {heading!r}")
        width, height, content = int(found[1]), int(found[2]), found[3]
        parts.append(
            f'<text class="head" x="{left + 8}" y="16">{escape(heading)}</text>'
            f'<g transform="translate({left} {_HEAD})">{content}</g>'
        )
        left, high = left + width + _GAP, max(high, height + _HEAD)
    style = files("tokenref.commands").joinpath("pictures.css").read_text(encoding="utf-8")
    colours = style[: style.index("* {")]
    rules = "\n".join(line for line in style.splitlines() if line.startswith("svg"))
    width = left - _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {high}" '
        f'width="{width}" height="{high}">\n<title>{escape(title)}</title>\n'
        f"<style>\n{colours}{rules}\nsvg .head {{ text-anchor: start; font-weight: bold; }}\n"
        "svg .box { fill: var(--box); stroke: var(--line); }\n"
        "svg .merged { fill: var(--kept); fill-opacity: .35; stroke: var(--kept); }\n"
        "svg .heat { fill: var(--removed); stroke: var(--line); }\n"
        f"</style>\n{''.join(parts)}\n</svg>\n"
    )
