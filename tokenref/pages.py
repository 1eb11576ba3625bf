"""The pages of the documentation, which wheels contain: whole, or one section."""

import difflib
import re
from pathlib import Path
from posixpath import normpath

from tokenref.errors import InputError


def docs_folder() -> Path:
    """Return the folder of the pages: in the installed package, or else in the checkout.

    >>> (docs_folder() / "book" / "merging.md").is_file()
    True
    """
    here = Path(__file__).parent
    return here / "docs" if (here / "docs").is_dir() else here.parent / "docs"


def page_addresses() -> dict[str, Path]:
    """Return the files of all pages by their addresses, such as `docs/bpe.md`."""
    folder = docs_folder()
    return {f"docs/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*.md")}


def page_text(address: str) -> str:
    r"""Return a page of the documentation, or the section that the part after # names.

    Pages are where the fixtures are: in the checkout, or in the installed package.

    >>> page_text("docs/bpe.md#counting").partition("\n")[0]
    '## Counting'
    """
    name, _, anchor = address.partition("#")
    pages = page_addresses()
    if name == "fixtures/README.md":
        from tokenref.packaged import fixtures_folder

        text = (fixtures_folder() / "README.md").read_text(encoding="utf-8")
    elif name in pages:
        text = pages[name].read_text(encoding="utf-8")
    else:
        near = difflib.get_close_matches(name, pages, 1)
        raise InputError(
            f"there is no page {name!r:.200}{f'; did you mean {near[0]}?' * len(near)}"
        )
    part = section(text, anchor) if anchor else text
    if not part:
        raise InputError(f"{name} has no section #{anchor:.200}")
    return part


def meanings(word: str) -> list[str]:
    """Return what the glossary of the book says about a word, or about all: "glossary".

    Capitals do not matter, nor whether the parts of a word are joined by spaces, hyphens or `_`.

    >>> meanings("top_k")
    ['top-k: keeps the k most probable tokens: see chapter 6 (docs/book/filters.md#top-k)']
    """

    def named(link: re.Match[str]) -> str:
        return f"{link[1]} ({normpath(f'docs/book/{link[2]}')})"

    def joined(words: str) -> str:
        return re.sub("[ -]", "_", words.lower())

    page = page_text("docs/book/glossary.md").replace("*", "")
    text = re.sub(r"\[([^][]+)\]\((.+?)\)", named, page)
    _, _, *rows = re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE)
    return [
        f"{words}: {meaning}"
        for words, meaning in rows
        if word == "glossary" or joined(word) in joined(words).split(",_")
    ]


def section(text: str, anchor: str) -> str:
    """Return a section of a page in Markdown with its heading; empty if there is none."""
    level, is_code, found = 0, False, list[str]()
    for line in text.splitlines(keepends=True):
        is_code ^= line.startswith("```")
        heading = None if is_code else re.match("(#+) (.*)", line)
        if not level and heading is not None:
            title = re.sub(r"[^\w -]", "", heading[2].lower()).replace(" ", "-")
            level = len(heading[1]) if title == anchor else 0
        elif level and heading is not None:
            if found and len(heading[1]) <= level:
                break
            level = level if found else len(heading[1])
        if re.match('<a id="[^"]*"></a>', line):
            level = level or 7 * (f'"{anchor}"' in line)  # what follows, which may be a heading
        elif level and (found or line.strip()):
            found.append(line)
    return "".join(found).strip()
