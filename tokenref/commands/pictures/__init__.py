"""Pictures of merges, of samplers' chains and of drafts: HTML for pages that need nothing else.

Every function returns HTML, in which all text is escaped. Drawings are SVG with a title and a
description. Colours are never alone: removed tokens are outlined, new ones underlined. Here is what
all of them have: the page, tokens as boxes, and sections of the book.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from tokenref.pages import docs_folder, page_text


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


Named: TypeAlias = Callable[[int], str]
"""What a token is called."""


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
    return re.sub(r'<a href="(?!https?:)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)
