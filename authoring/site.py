"""The documentation as a site, and the slides of the lectures, made from the same pages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from warnings import catch_warnings, simplefilter
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tokenref.commands.paths import write
from tokenref.errors import InputError

INDEXES: Final = ("docs/README", "docs/book/README")
"""The pages that list all others; their links are the navigation of the site."""

LECTURES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "tokens": ("Tokens", ("merging", "encoders", "vocabularies", "texts")),
    "sampling": ("Sampling", ("logits", "filters", "draws", "loops")),
    "oracles": ("Oracles", ("oracles",)),
}
"""The lectures: the name of the file, the title, and the chapters."""

STYLE: Final = "pre { white-space: pre-wrap; }\n"
"""What the site adds to its theme: long lines of code are wrapped instead of cut off."""

INDEX: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>tokenref</title>'
    '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">tokenref</a>'
    "</html>\n"
)
"""The page that a server shows for the folder; it leads to the first page."""

LINES: Final = 19
"""The number of lines of text that fit on a slide."""

_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")


def build_site(root: Path, folder: Path) -> None:
    """Write the site of the project in `root` to a folder. Raises `InputError` for a warning."""
    from sphinx.application import Sphinx

    settings = {
        "project": "tokenref",
        "extensions": ["myst_parser"],
        "html_theme": "furo",
        "html_title": "tokenref",
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "include_patterns": ["*.md", "docs/**", "fixtures/README.md", "benchmarks/README.md"],
        "root_doc": "README",
        "myst_heading_anchors": 4,
        # The last three concern a process that builds two sites.
        "suppress_warnings": [
            *("toc.not_included", "app.add_node", "app.add_directive", "app.add_role")
        ],
    }
    said = StringIO()
    with TemporaryDirectory() as cache, catch_warnings():
        simplefilter("ignore")  # what MyST will have to change for a later Sphinx
        static = Path(cache) / "static"
        static.mkdir()
        write(STYLE.encode(), static / "site.css")
        settings |= {"html_static_path": [str(static)], "html_css_files": ["site.css"]}
        made = Sphinx(root, None, folder, cache, "html", settings, status=None, warning=said)
        made.connect("source-read", _prepare)
        made.build()
    warnings = re.sub(r"\x1b\[[\d;]*m", "", said.getvalue()).replace(f"{root}/", "").strip()
    if warnings:
        raise InputError(f"the pages must have no warnings, got {warnings}")
    write(INDEX.encode(), folder / "index.html")
    (folder / "slides").mkdir(exist_ok=True)
    for name, (title, chapters) in LECTURES.items():
        pages = [root / "docs" / "book" / f"{chapter}.md" for chapter in chapters]
        write(lecture(title, pages).encode(), folder / "slides" / f"{name}.html")


PYODIDE: Final = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json"),
    "python_stdlib.zip",
)
"""The files of the npm package pyodide that a browser needs."""

PACKAGES: Final = ("bpe_ref", "sampling_ref", "tokenref", "click", "rich", "markdown_it", "mdurl")
"""The Python packages that the page needs. All are pure Python."""


def build_playground(pyodide: Path, folder: Path) -> None:
    """Write the page of `tokenref play` as files, for a server that cannot run Python.

    `pyodide` is the folder of the npm package: Python for browsers. Raises `InputError` if it
    lacks a file.
    """
    missing = [name for name in PYODIDE if not (pyodide / name).is_file()]
    if missing:
        raise InputError(
            f"{pyodide} must have the files of the npm package, but lacks {missing[0]}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        write((pyodide / name).read_bytes(), folder / name)
    commands = files("tokenref.commands")
    for name in ("play.js", "pictures.css"):
        write(commands.joinpath(name).read_bytes(), folder / name)
    page = commands.joinpath("play.html").read_text(encoding="utf-8")
    script = '<script src="play.js" defer></script>'
    both = f'<script src="playground.js"></script>\n{script}'
    write(page.replace(script, both).encode(), folder / "index.html")
    write(Path(__file__).with_name("playground.js").read_bytes(), folder / "playground.js")
    write(_packages(), folder / "packages.zip")


def _packages() -> bytes:
    """Return an archive of the packages, without tests, engines and compiled files."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            root = Path(str(files(package)))
            for path in sorted(root.rglob("*")):
                name = path.relative_to(root.parent)
                if path.is_file() and path.suffix in {".py", ".json", ".txt", ".tiktoken", ".css"}:
                    archive.writestr(ZipInfo(str(name)), path.read_bytes())
    return content.getvalue()


def _prepare(app: object, name: str, content: list[str]) -> None:
    """Add what the site shows at the side, and write anchors as this kind of Markdown does."""
    content[0] = re.sub(r'<a id="([^"]+)"></a>', r"(\1)=", content[0])
    if name == "README":
        content[0] += navigation([f"{index}.md" for index in INDEXES])
    elif name in INDEXES:
        linked = re.findall(r"^[*|] \[[^\]]*\]\(([^)#]*\.md)\)", content[0], re.MULTILINE)
        content[0] += navigation([page for page in linked if page != "book/README.md"])
        slides = ", ".join(
            f'<a href="../../slides/{name}.html">{title}</a>'
            for name, (title, _) in LECTURES.items()
        )
        content[0] = content[0].replace("`site/slides/`", slides)


def navigation(pages: Sequence[str]) -> str:
    r"""Return a hidden table of contents.

    >>> navigation(["a.md", "b.md", "a.md", "../fixtures/README.md"])
    '\n\n```{toctree}\n:hidden:\n\na.md\nb.md\n../fixtures/README.md\n```\n'
    """
    lines = "\n".join(dict.fromkeys(pages))
    return f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


# ---- slides


def lecture(title: str, pages: Sequence[Path]) -> str:
    """Return the slides of a lecture as one HTML file that needs nothing else."""
    style = files("tokenref.commands").joinpath("pictures.css").read_text(encoding="utf-8")
    own = Path(__file__).with_name("slides.css").read_text(encoding="utf-8")
    script = Path(__file__).with_name("slides.js").read_text(encoding="utf-8")
    slides = [f"<section><h1>{escape(title)}</h1><p>tokenref: the book</p></section>"]
    for page in pages:
        slides += slides_of(page.read_text(encoding="utf-8"), page.parent)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}{own}</style></head><body>"
        f"{''.join(slides)}<script>{script}</script></body></html>\n"
    )


def slides_of(page: str, folder: Path) -> Iterator[str]:
    r"""Yield the slides of a page: a title, and one for each section before the solutions.

    A slide shows the first sentence of its section and of each paragraph that begins with
    emphasis, then pictures, then all else, as far as there is room. The rest is the note.

    >>> page = "# A\n\nAll. Of it.\n\nMore.\n\n## B\n\n*Two.* So.\n\n## Solutions\n"
    >>> for slide in slides_of(page, Path()):
    ...     print(slide.replace("\n", ""))
    <section><h1>A</h1><p>All.</p><aside><p>All. Of it.</p><p>More.</p></aside></section>
    <section><h2>B</h2><p><em>Two.</em> So.</p><aside><p><em>Two.</em> So.</p></aside></section>
    """
    for blocks in _sections(_MARKDOWN.parse(page)):
        heading = _MARKDOWN.renderer.render(blocks[0], _MARKDOWN.options, {})
        if "Solutions" in heading:
            return
        whole = [_rendered(block, folder) for block in blocks[1:]]
        short, sizes = list(whole), [_lines(html) for html in whole]
        order = [2] * len(whole)
        for place, block in enumerate(blocks[1:]):
            content = block[1].content if block[0].type == "paragraph_open" else ""
            if "<svg" in whole[place]:
                order[place], sizes[place] = 1, 12
            elif content.startswith(("Next: ", "Back to ")):
                order[place], whole[place] = 3, ""
            elif content and place and not re.match(r"\*(?!Figure)", content):
                order[place] = 3
            elif content:
                order[place], sizes[place] = 0, 2
                short[place] = f"<p>{_inline(beginning(content))}</p>"
        shown, room = set[int](), LINES
        for place in sorted(range(len(whole)), key=order.__getitem__):
            if order[place] < 3 and sizes[place] <= room:
                shown.add(place)
                room -= sizes[place]
        notes = [html for at, html in enumerate(whole) if at not in shown or short[at] != html]
        slide = "".join(short[place] for place in sorted(shown))
        yield f"<section>{heading}{slide}<aside>{''.join(notes)}</aside></section>"


def _lines(html: str) -> int:
    """Return about how many lines of text a table, a list or code takes on a slide."""
    return 3 * (html.count("<tr") or html.count("\n") + 1) // 4 + 1


def beginning(paragraph: str) -> str:
    """Return the statement at the beginning of a paragraph, or its first sentence.

    >>> beginning("**All is well.** Proof: see below."), beginning("*Why.* One. Two.")
    ('**All is well.**', '*Why.* One.')
    >>> beginning("See [a](b.md): it ends. And more."), beginning("A *b. c* (d. e) is. No.")
    ('See [a](b.md): it ends.', 'A *b. c* (d. e) is.')
    """
    text = " ".join(paragraph.split())
    statement = re.match(r"\*\*.+? .+?\*\*", text)
    if statement:
        return statement[0]
    title = re.match(r"\*+[^*]+\*+ ", text)  # its point does not end the sentence
    least = title.end() if title else 0
    for end in re.finditer(r"[.?!](?= |$)", text):
        sentence = text[: end.end()]
        is_open = any(sentence.count(sign) % 2 for sign in "*`")
        is_open |= sentence.count("(") > sentence.count(")")
        if len(sentence) > least and not is_open:
            return sentence
    return text


def _sections(tokens: Sequence[Token]) -> Iterator[list[list[Token]]]:
    """Yield the sections of a page, each a list of blocks that begins with the heading."""
    section: list[list[Token]] = []
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level or token.nesting == 1:
            continue
        if block[0].type == "heading_open" and block[0].tag in {"h1", "h2"} and section:
            yield section
            section = []
        section.append(block)
        block = []
    yield section


def _rendered(block: list[Token], folder: Path) -> str:
    """Return a block as HTML. Figures are drawn instead of linked."""
    html = _without_links(_MARKDOWN.renderer.render(block, _MARKDOWN.options, {}))

    def drawn(found: re.Match[str]) -> str:
        return (folder / found[1]).read_text(encoding="utf-8")

    html = html.replace("\n\n</code>", "\n</code>")
    return re.sub(r'<img src="([^"]*\.svg)"[^>]*>', drawn, html)


def _inline(text: str) -> str:
    return _without_links(str(_MARKDOWN.renderInline(text)))


def _without_links(html: str) -> str:
    """Return HTML without links to other pages.

    >>> _without_links('<a href="a.md">b</a> <a href="https://c">d</a>')
    'b <a href="https://c">d</a>'
    """
    return re.sub(r'<a href="(?!https:)[^"]*">(.*?)</a>', r"\1", html)
