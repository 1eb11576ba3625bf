"""The figures of the pages: SVG files that the project's own code draws."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from tokenref.commands.pictures import stage_picture
from tokenref.commands.sampling import Compared, compared_engines

FOLDER: Final = Path("docs/figures")

_SVG: Final = re.compile(
    r'<svg role="img" viewBox="0 0 (\d+) (\d+)" width="\d+">(.*)</svg>', re.DOTALL
)
_HEAD, _GAP = 26, 20


def figures() -> Mapping[str, str]:
    """Return every figure by the name of its file.

    >>> sorted(figures())
    ['top_k.svg']
    """
    settings = ["top_k=2", "temperature=1"]
    engines = compared_engines(["vllm", "llama.cpp"], "1,2,2,3", "", settings, (), 0, "exact")
    title = "top_k=2 of the logits 1, 2, 2, 3"
    return {"top_k.svg": side_by_side(title, [_stage(engine, "top_k") for engine in engines])}


def _stage(engine: Compared, step: str) -> tuple[str, str]:
    """Return what one stage of an engine keeps, in words, and its drawing."""
    made, run, _ = engine
    for applied, stage in zip(run.applied, run.stages, strict=True):
        if applied.step == step:
            noun = "token" if len(applied.kept) == 1 else "tokens"
            heading = f"{made.profile.title} keeps {len(applied.kept)} {noun}"
            return heading, stage_picture(engine, applied, stage)
    raise ValueError(f"{made.profile.name} does not apply {step}")


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
        f"</style>\n{''.join(parts)}\n</svg>\n"
    )
