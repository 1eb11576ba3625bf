"""The documentation as a site, and the slides of the lectures, made from the same pages."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.resources import files
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from warnings import catch_warnings, simplefilter
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from authoring.figures import figures
from bpe_ref.formats.files import no_collection
from tokenref.commands.paths import write
from tokenref.commands.pictures import rendered
from tokenref.errors import InputError
from tokenref.pages import section

INDEXES: Final = ("docs/README", "docs/book/README")
"""The pages that list all others; their links are the navigation of the site."""

LECTURES: Final = ("tokens", "sampling", "oracles", "overview")
"""The lectures of the book, each a file of slides; other files in the folder are built, too."""

_REPORT: Final = Path("docs/report.html")
"""The page about all engines."""

_LECTURES: Final = Path("authoring/lectures")

_PLAY: Final = "http://127.0.0.1:8321/"  # where `tokenref play` is, to which notes have links

STYLE: Final = """
pre { white-space: pre-wrap; }
body[data-theme="light"] img { color-scheme: light; }
body[data-theme="dark"] img { color-scheme: dark; }
p > img { vertical-align: top; }
blockquote:has(img) { background: none; }
code.literal { white-space: break-spaces; }
.whole, td.text-right { white-space: nowrap; }
body .highlight .nn { color: inherit !important; text-decoration: none !important; }
.highlight button.copybtn { opacity: 1; color: var(--color-foreground-secondary); }
@media (max-width: 45rem) { .highlight-console pre, .highlight .go { white-space: pre; } }
@media (min-width: 75em) {
  .sidebar-drawer { width: 15em; }
  .content { width: min(60em, 100vw - 22.5em); }
}
@media (min-width: 82em) { .content { width: min(60em, 100vw - 37.5em); } }
article :is(p, ul, ol):not(:has(img)) { max-width: 46em; }
@media (min-width: 45rem) {
  p:has(> img + img) > img { max-width: calc(50% - .3rem); }
  p:has(> img:first-child + img:last-child) { display: flex; align-items: flex-start; gap: .6rem; }
  p:has(> img:first-child + img:last-child) > img { max-width: none; min-width: 0; height: auto; }
}
"""
"""What the site adds to its theme.

Code may be wider than words, so that few of its lines are wrapped, and none is cut off. What a
program prints is not wrapped on a phone. Figures follow the switch between light and dark, and
formulas have the colour of the page behind them. The two parts of a figure are side by side and of
one scale, on a phone one below the other. A space at the beginning of code is seen. The buttons
that copy code are always seen, because a phone has no pointer.
"""

_DARK: Final = {"color-background-primary": "#0d1117", "color-background-secondary": "#161b22"}
"""The colours of a dark page: those of the figures, which are `--paper` and `--box` there."""

INDEX: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>tokenref</title>'
    '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">tokenref</a>'
    "</html>\n"
)
"""The page that a server shows for the folder; it leads to the first page."""


def build_site(root: Path, folder: Path) -> None:
    """Write the site of the project in `root` to a folder. Raises `InputError` for a warning."""
    try:
        from sphinx.application import Sphinx

        extensions = ["myst_parser", "sphinx_copybutton"]
        for name in ("furo", *extensions):
            import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(f"the site needs {error.name}: pip install -e '.[docs]'") from None

    settings = {
        "project": "tokenref",
        "extensions": extensions,
        "copybutton_prompt_text": r">>> |\.\.\. ?|\$ ",  # only such lines are copied, without it
        "copybutton_prompt_is_regexp": True,
        "copybutton_line_continuation_character": "\\",
        "html_theme": "furo",
        "html_title": "tokenref",
        "html_theme_options": {"dark_css_variables": _DARK},
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
        is_playable = (folder / "play" / "index.html").is_file()
        made.connect("source-read", partial(_prepare, is_playable=is_playable))
        made.connect("html-page-context", _finish)
        with no_collection():  # which takes nearly half of the time, and finds hardly any
            made.build()
    warnings = re.sub(r"\x1b\[[\d;]*m", "", said.getvalue()).replace(f"{root}/", "").strip()
    if warnings:
        raise InputError(f"the pages must have no warnings, got {warnings}")
    write(INDEX.encode(), folder / "index.html")
    write(_report_of_site((root / _REPORT).read_text(encoding="utf-8")).encode(), folder / _REPORT)
    (folder / "slides").mkdir(exist_ok=True)
    for path in (root / _LECTURES).glob("*.md"):
        page = lecture(path)
        if is_playable:
            page = page.replace(f'href="{_PLAY}', 'href="../play/index.html')
        write(page.encode(), folder / "slides" / f"{path.stem}.html")


def _report_of_site(page: str) -> str:
    """Return the page about all engines with links to pages of the site.

    The page allows only the script with one hash.
    """

    def digest(script: str) -> str:
        return b64encode(sha256(script.encode()).digest()).decode()

    [script] = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    changed = script.replace("report.pages + page", 'report.pages + page.replace(".md", ".html")')
    page = page.replace(script, changed).replace(digest(script), digest(changed))
    return page.replace("docs/differences.md", "docs/differences.html")


PYODIDE: Final = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json"),
    "python_stdlib.zip",
)
"""The files of the npm package pyodide that a browser needs."""

DOCS: Final = Path("docs")

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
        for path in (*sorted(DOCS.glob("book/*.md")), *sorted(DOCS.glob("figures/*.svg"))):
            name = Path("tokenref/docs") / path.relative_to(DOCS)
            archive.writestr(ZipInfo(str(name)), path.read_bytes())
    return content.getvalue()


def _prepare(app: object, name: str, content: list[str], *, is_playable: bool) -> None:
    """Add what only the site shows, and write anchors as this kind of Markdown does."""
    content[0] = folded(content[0]).replace("\n\n```\n", "\n```\n")
    # As in a session of Python, which needs this line where code is pasted.
    content[0] = re.sub(r"^(\.\.\. {2,}.*\n)(?=>>> )", r"\1...\n", content[0], flags=re.MULTILINE)
    if is_playable and name in {"README", "docs/play", *INDEXES}:
        address = "../" * name.count("/") + "play/index.html"
        link = f'<a href="{address}">Play with merges and samplers in this browser</a>'
        content[0] = content[0].replace("\n", f"\n\n{link}\n", 1)
    content[0] = re.sub(
        r"\[([^\]]+)\]\(((?:docs/)?report\.html)\)", r'<a href="\2">\1</a>', content[0]
    )
    content[0] = re.sub(r'<a id="([^"]+)"></a>', r"(\1)=", content[0])
    if name == "README":
        content[0] += navigation([f"{index}.md" for index in INDEXES])
    elif name in INDEXES:
        linked = re.findall(r"^[*|] \[[^\]]*\]\(([^)#]*\.md)\)", content[0], re.MULTILINE)
        content[0] += navigation([page for page in linked if page != "book/README.md"])
        slides = ", ".join(
            f'<a href="../../slides/{name}.html">{name.title()}</a>' for name in LECTURES
        )
        content[0] = content[0].replace("`site/slides/`", slides)


def _finish(app: object, name: str, template: str, context: dict[str, str], *_: object) -> None:
    """Change the HTML of a page, and of its table of contents."""
    context |= {part: unbroken(context[part]) for part in ("body", "toc") if part in context}


def unbroken(html: str) -> str:
    """Return HTML in which no line ends at the hyphen of a name such as top-p.

    >>> unbroken('<h2 id="top-p">Why top-p?</h2>')
    '<h2 id="top-p">Why <span class="whole">top-p</span>?</h2>'
    """

    def marked(text: re.Match[str]) -> str:
        return re.sub(r"\b(?:[Tt]op|[Mm]in)-\w\b", r'<span class="whole">\g<0></span>', text[0])

    return re.sub(">[^<]+<", marked, html)


def folded(page: str) -> str:
    r"""Return a page on which each solution of an exercise is shown by a click.

    >>> print(folded("# A\n\n## Solutions\n\n1. One.\n\n2. Two.\n\nNext: B.\n"))
    # A
    <BLANKLINE>
    ## Solutions
    <BLANKLINE>
    <details><summary>Solution 1</summary>
    <BLANKLINE>
    1. One.
    <BLANKLINE>
    </details>
    <BLANKLINE>
    <details><summary>Solution 2</summary>
    <BLANKLINE>
    2. Two.
    <BLANKLINE>
    </details>
    <BLANKLINE>
    Next: B.
    <BLANKLINE>
    """
    start, title, solutions = page.partition("## Solutions\n\n")
    return (
        start
        + title
        + re.sub(
            r"^(\d)\. .*?(?=^\d\. |^Next: )",
            r"<details><summary>Solution \1</summary>\n\n\g<0></details>\n\n",
            solutions,
            flags=re.MULTILINE | re.DOTALL,
        )
    )


def navigation(pages: Sequence[str]) -> str:
    r"""Return a hidden table of contents.

    >>> navigation(["a.md", "b.md", "a.md", "../fixtures/README.md"])
    '\n\n```{toctree}\n:hidden:\n\na.md\nb.md\n../fixtures/README.md\n```\n'
    """
    lines = "\n".join(dict.fromkeys(pages))
    return f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


# ---- slides


def folded_notes(slides: Sequence[str]) -> list[str]:
    """Return slides whose section of the book is folded, and is in the first of them only.

    The others have an empty fold with the number of that slide, which slides.js fills.

    >>> folded_notes(["<aside>a<hr>text</aside>"])
    ['<aside>a<details><summary>The section of the book</summary>text</details></aside>']
    >>> folded_notes(["<aside>a<hr>text</aside>", "<aside>b<hr>text</aside>"])[1]
    '<aside>b<details data-slide="1"></details></aside>'
    """
    places: dict[str, int] = {}
    folded = []
    for number, each in enumerate(slides, 1):
        own, line, text = each.removesuffix("</aside>").partition("<hr>")
        first = places.setdefault(text, number)
        below = f'<details data-slide="{first}"></details>'
        if first == number:
            below = f"<details><summary>The section of the book</summary>{text}</details>"
        folded.append(f"{own}{below}</aside>" if line else each)
    return folded


def lecture(page: Path) -> str:
    """Return the slides of a lecture as one HTML file that needs nothing else."""
    style = files("tokenref.commands").joinpath("pictures.css").read_text(encoding="utf-8")
    own = Path(__file__).with_name("slides.css").read_text(encoding="utf-8")
    script = Path(__file__).with_name("slides.js").read_text(encoding="utf-8")
    title, *parts = _parts(page)
    title = escape(title.strip())
    keys = "Right and left turn the slides. n: notes in a second window. o: leave out the optional "
    keys += "slides, or show them. c: the clock of the notes begins again. t: light or dark."
    slides = [
        f"<section><h1>{title}</h1>{_outline(map(planned, parts))}<p><small>{keys}</small></p>"
    ]
    slides += (slide(part, page.parent) for part in parts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}{own}</style></head><body>"
        f"{'</section>'.join(folded_notes(slides))}</section><script>{script}</script></body></html>\n"
    )


def _parts(page: Path) -> list[str]:
    """Return the title of a lecture, and its slides. Raises `InputError`.

    A slide without a section, only with another lecture, is the slide of that name there, with the
    minutes that are said here.
    """
    title, *parts = re.split(r"^##? ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    for at, part in enumerate(parts):
        name, path, anchor, *_ = planned(part)
        if not anchor:
            there = [each for each in _parts(page.parent / path)[1:] if planned(each).title == name]
            if len(there) != 1:
                raise InputError(f"{page.parent / path} must have one slide {name!r}")
            time = part.partition("\n")[0].rpartition(")")[2]
            heading, _, content = there[0].partition("\n")
            parts[at] = f"{heading.rpartition(')')[0]}){time}\n{content}"
    return [title, *parts]


class Planned(NamedTuple):
    """The heading of a slide: its title, the section of its notes, and its time in a lecture."""

    title: str
    path: str
    anchor: str
    minutes: int
    is_optional: bool
    """Whether it can be left out: the others take 45 minutes together."""


def planned(part: str) -> Planned:
    """Return what the heading of a slide says. Raises `InputError`.

    >>> planned("[Top-k](filters.md#top-k) 3 min, optional")
    Planned(title='Top-k', path='filters.md', anchor='top-k', minutes=3, is_optional=True)
    """
    heading = part.partition("\n")[0]
    found = re.fullmatch(r"\[(.+)\]\(([^#]+)#?(.*)\) (\d+) min(, optional)?", heading)
    if found is None:
        raise InputError(
            f"the heading of a slide must be a link to its notes and minutes, got {heading!r}"
        )
    return Planned(found[1], found[2], found[3], int(found[4]), found[5] is not None)


def _outline(slides: Iterable[Planned]) -> str:
    """Return the titles of slides as links, with their minutes; optional ones are marked."""
    lines = (
        f'<li{_OPTIONAL * each.is_optional}><a href="#{number}">{escape(each.title)}</a> '
        f"<small>{each.minutes} min</small></li>"
        for number, each in enumerate(slides, 2)
    )
    return f'<ol class="outline" start="2">{"".join(lines)}</ol>'


_OPTIONAL: Final = ' class="optional"'


def slide(part: str, folder: Path) -> str:
    """Return one slide, without its end: a heading that is a link to its notes, and the content.

    Behind the link are the minutes of the slide, and whether it can be left out.

    A paragraph that is a link called "table" is replaced by the table of that section. What is
    below a line of three hyphens is for the speaker only: what to ask, and the answer.

    Raises `InputError` if there is no such section.
    """
    title, path, anchor, minutes, is_optional = planned(part)

    def table(link: re.Match[str]) -> str:
        [rows, *_] = re.findall(r"(?:^\|.*\n)+", _section(folder / link[2], link[3]), re.MULTILINE)
        return str(rows)

    text = _section(folder / path, anchor)
    text = re.sub(r"^(!\[.*\n)+\n\*Figure [^*]*\*\n", "", text, flags=re.MULTILINE)
    content, _, own = part.partition("\n")[2].partition("\n---\n")
    own = rendered(own).replace("<a ", '<a target="play" ')
    content = re.sub(r"^\[(table)\]\((.+)#(.+)\)$", table, content, flags=re.MULTILINE)
    return (
        f'<section data-minutes="{minutes}"{_OPTIONAL * is_optional}>'
        f"{rendered(f'## {title}')}{_with_figures(content)}"
        f"<aside>{own}<hr>{_with_figures(text)}</aside>"
    )


def _section(page: Path, anchor: str) -> str:
    """Return a section of a page without its heading. Raises `InputError` if there is none."""
    if found := section(page.read_text(encoding="utf-8"), anchor):
        return found.partition("\n")[2] + "\n"
    raise InputError(f"{page} must have a section #{anchor}")


def _with_figures(text: str) -> str:
    """Return Markdown as HTML. Figures are drawn instead of linked, all of one scale.

    A figure that is much higher than wide is beside the words, any other below them.
    """

    def drawn(found: re.Match[str]) -> str:
        drawing = figures(on_slide=True)[found[1]]
        wide = re.search(r'width="(\d+)"', drawing)
        return drawing.replace(
            "<svg", f'<svg preserveAspectRatio="xMidYMin" style="flex-grow: {wide and wide[1]}"', 1
        )

    def level(drawings: re.Match[str]) -> str:
        sizes = re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawings[0])
        high = max(int(size[1]) for size in sizes)
        if len(sizes) == 1 and high > 1.1 * int(sizes[0][0]):
            return drawings[0].replace("<p>", '<p class="beside">', 1)
        return re.sub(r'(viewBox="0 0 \d+) \d+"', rf'\1 {high}"', drawings[0])

    html = re.sub(r'<img src="[^"]*?([^"/]*\.svg)"[^>]*>', drawn, rendered(text))
    return re.sub(r"<p>(?:<svg.*?</svg>\s*)+</p>", level, html, flags=re.DOTALL)
