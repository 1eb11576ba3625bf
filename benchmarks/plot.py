"""The pictures: time against length, one line for each encoder, both axes logarithmic."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

Curves = Mapping[str, Mapping[int, float]]
"""For each encoder: from bytes to seconds."""

# Okabe and Ito's colours, which colour-blind readers can tell apart, and a dash each:
# dashed is what is not byte-pair encoding, or not ours.
_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "naive": ("#D55E00", "-"),
    "scan": ("#E69F00", "-"),
    "heap": ("#CC79A7", "-"),
    "prefix_table": ("#0072B2", "-"),
    "backtracking": ("#009E73", "-"),
    "minimal": ("#56B4E9", "--"),
    "greedy": ("#7F7F7F", "--"),
    "tiktoken": ("#000000", ":"),
    "tokenizers": ("#000000", "--"),
    "bpe_openai": ("#000000", "-."),
    "appending": ("#D55E00", "-"),
    "intervals": ("#D55E00", "-"),
}

_LABEL_HEIGHT: Final = 1.75
"""The least quotient of the places of two labels, one above the other."""


def draw(
    curves: Curves, path: Path, title: str, xlabel: str = "length of the piece in bytes"
) -> None:
    """Write the picture, in the format that the path's extension says. Needs matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    # Text stays text, and the same points make the same file.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tokenref", "font.size": 12})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 7.5), layout="constrained")
    longest = max(length for points in curves.values() for length in points)
    at_the_edge: dict[str, float] = {}
    for name, points in curves.items():
        color, dashes = _STYLES[name]
        lengths, seconds = list(points), list(points.values())
        axes.plot(lengths, seconds, dashes, color=color, linewidth=2, marker="o", markersize=4)
        if lengths[-1] == longest:
            at_the_edge[name] = seconds[-1]
        else:  # it was stopped: its label stands where its line ends
            axes.annotate(
                name,
                (lengths[-1], seconds[-1]),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                color=color,
            )
    for name, height in spread(at_the_edge).items():
        axes.annotate(
            name,
            (longest, height),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=_STYLES[name][0],
            annotation_clip=False,
        )
    axes.set(xscale="log", yscale="log", title=title)
    axes.set(xlabel=xlabel, ylabel="seconds")
    axes.grid(visible=True, color="#DDDDDD", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def spread(heights: Mapping[str, float]) -> dict[str, float]:
    """Return heights for labels, from below, moved up where they would overlap.

    >>> spread({"a": 4.0, "b": 1.0, "c": 1.0})
    {'b': 1.0, 'c': 1.75, 'a': 4.0}
    """
    names = sorted(heights, key=heights.__getitem__)
    placed = {name: heights[name] for name in names}
    for below, above in pairwise(names):
        placed[above] = max(placed[above], placed[below] * _LABEL_HEIGHT)
    return placed
