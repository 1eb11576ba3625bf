"""The site and the slides, in a browser."""

import os
import re
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from doctest import DocTestParser
from fractions import Fraction
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zlib import decompress

import pytest
from click.testing import CliRunner

from authoring.__main__ import main
from authoring.figures import FILTERS
from authoring.site import LECTURES, build_playground, build_site, lecture, slide
from tests.browser import Browser
from tokenref.errors import InputError
from tokenref.experiment import Plan, cells, read_results

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "docs" / "book" / "README.md"
CHAPTERS = re.findall(r"^\| \[\d\. .*?\]\((\w+)\.md\)", BOOK.read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "play").mkdir()
    (folder / "play" / "index.html").write_text("the playground")
    build_site(ROOT, folder)
    return folder


def test_every_page_is_on_the_site_and_the_chapters_are_at_its_side_in_order(site: Path) -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "fixtures" / "README.md"]
    for page in pages:
        assert (site / page.relative_to(ROOT).with_suffix(".html")).is_file(), page
    side = (site / "docs" / "book" / "merging.html").read_text("utf-8")
    assert len(CHAPTERS) == 9
    places = [side.index(f'href="{chapter}.html"') for chapter in CHAPTERS if chapter != "merging"]
    assert places == sorted(places)


def test_the_folder_has_an_index_and_the_book_is_once_at_the_side_with_its_slides(
    site: Path,
) -> None:
    assert "url=README.html" in (site / "index.html").read_text("utf-8")
    page = (site / "docs" / "book" / "README.html").read_text("utf-8")
    side = page[page.index("sidebar-tree") : page.index('id="the-book"')]
    assert side.count(">The book</a>") == 1
    for name in LECTURES:
        assert f'href="../../slides/{name}.html"' in page
        assert (site / "slides" / f"{name}.html").is_file()
    style = (site / "_static" / "site.css").read_text("utf-8")
    assert "pre-wrap" in style
    assert "_static/site.css" in page


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    ids, links = dict[Path, set[str]](), list[tuple[Path, str]]()
    for page in site.rglob("*.html"):
        text = re.sub("<script.*?</script>", "", page.read_text("utf-8"), flags=re.DOTALL)
        ids[page] = set(re.findall(r'\bid="([^"]+)"', text))
        links += ((page, unescape(link)) for link in re.findall(r'\b(?:href|src)="([^"]+)"', text))
    assert len(links) > 5000
    for page, link in links:
        path, _, anchor = unquote(link).partition("#")
        if re.match("[a-z]+:", link) or (page.parent.name == "slides" and not path):
            continue
        target = (page.parent / path.partition("?")[0]).resolve() if path else page
        assert target.is_file(), (page, link)
        if anchor and "=" not in anchor:  # which are states of a page
            assert anchor in ids[target], (page, link)


def test_a_case_on_the_page_about_all_engines_leads_to_pages_of_the_site(
    site: Path, window: Browser
) -> None:
    window.post("url", {"url": (site / "docs" / "report.html").as_uri()})
    window.until("return document.querySelector('.case') !== null")
    window.click(".case")
    own = "[...document.querySelectorAll('.open dd a')].map((e) => e.href)"
    found = [link for link in window.run(f"return {own}") if link.startswith("file:")]
    assert len(found) == 2
    for link in found:
        path, _, anchor = link.removeprefix("file://").partition("#")
        assert f'id="{anchor}"' in Path(path).read_text("utf-8")


def test_pages_lead_to_the_playground_if_it_is_on_the_site(site: Path) -> None:
    for name in ("README.html", "docs/README.html", "docs/play.html", "docs/book/README.html"):
        page = site / name
        [link] = re.findall(r'href="([^"]*play/index\.html)"', page.read_text("utf-8"))
        assert (page.parent / link).is_file()
    slides = (site / "slides" / "tokens.html").read_text("utf-8")
    assert slides.count('<a target="play" href="../play/index.html#view=tokens&amp;') == 3


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_figures_can_be_read_on_a_phone(site: Path, window: Browser, chapter: str) -> None:
    window.size(390, 800, phone=True)
    window.post("url", {"url": (site / "docs" / "book" / f"{chapter}.html").as_uri()})
    scale = "Math.min(...[...document.images].map((each) => each.width / each.naturalWidth))"
    window.until(f"return {scale} > 0")  # all are loaded
    assert window.run(f"return {scale}") * 13 > 9, "letters have 13 pixels"
    assert window.run("return document.documentElement.scrollWidth") == 390
    window.size(1280, 800)
    lines = (
        "const style = getComputedStyle(e); return (e.clientHeight - parseFloat(style.paddingTop)"
    )
    lines += " - parseFloat(style.paddingBottom)) / parseFloat(style.lineHeight)"
    more = f"(e) => {{ {lines} - e.textContent.trimEnd().split('\\n').length; }}"
    code = "[...document.querySelectorAll('.highlight-python pre')]"
    code += ".filter((e) => !e.textContent.includes('Traceback'))"
    assert window.run(f"return {code}.map({more}).filter((each) => each > 0.5)") == [], (
        "no line of code is wrapped on a desk, and no block ends with an empty line"
    )


def test_figures_follow_the_theme_and_their_parts_are_side_by_side_if_there_is_room(
    site: Path, window: Browser
) -> None:
    picture = "document.querySelector('img[src*=min_p_steep]')"
    gap = f"const box = {picture}.getBoundingClientRect(); const other = {picture}"
    gap += ".previousElementSibling.getBoundingClientRect(); return box.top - other.top"
    for width, is_above in ((1280, False), (390, True)):
        window.size(width, 800, phone=is_above)
        window.post("url", {"url": (site / "docs" / "book" / "filters.html").as_uri()})
        assert (window.run(gap) > 100) is is_above
    window.size(1280, 800)
    for halves in (("tail_free", "eta"), ("order_transformers", "order_llama_cpp")):
        scale = "(name) => { const e = document.querySelector(`img[src*='/${name}.svg']`);"
        scale += " e.loading = 'eager'; return e.width / e.naturalWidth; }"
        window.until(f"return arguments[0].map({scale}).every((each) => each > 0)", halves)
        one, other = window.run(f"return arguments[0].map({scale})", halves)
        assert one == pytest.approx(other, rel=0.01), "both halves have one scale"
    window.size(390, 800, phone=True)
    for theme in ("light", "dark"):
        window.run("document.body.dataset.theme = arguments[0]", theme)
        assert window.run(f"return getComputedStyle({picture}).colorScheme") == theme


def test_commands_can_be_copied_without_prompts_and_output(site: Path, window: Browser) -> None:
    window.post("url", {"url": (site / "docs" / "book" / "loops.html").as_uri()})
    window.run("document.execCommand = () => { window.copied = document.activeElement.value; }")
    for block, copied in (
        (".highlight-console", "tokenref experiment lz --out docs/book/loops.jsonl"),
        (".highlight-python", "from sampling_ref.steps.dry import dry\nfor history in ("),
    ):
        window.until(f"return document.querySelector('{block} .copybtn')")
        window.run(f"document.querySelector('{block} .copybtn').click()")
        window.until("return 'copied' in window")
        assert window.run("return copied").startswith(copied)
        assert "-1.4" not in window.run("return copied")
        window.run("delete window.copied")


def test_a_copied_chapter_runs_in_a_session_of_python(site: Path, window: Browser) -> None:
    """Each button is copied and pasted in turn, also where a block of code has no empty line."""
    window.size(390, 800, phone=True)
    window.post("url", {"url": (site / "docs" / "book" / "encoders.html").as_uri()})
    window.run("window.copied = []")
    window.run("document.execCommand = () => { copied.push(document.activeElement.value); }")
    window.until("return document.querySelector('.copybtn')")
    button = "getComputedStyle(document.querySelector('.copybtn'))"
    assert float(window.run(f"return {button}.opacity")) > 0.5, "a phone has no pointer to show it"
    window.run("document.querySelectorAll('.highlight-python .copybtn').forEach((e) => e.click())")
    page = (ROOT / "docs" / "book" / "encoders.md").read_text("utf-8")
    window.until(f"return copied.length === {page.count('```python')}")
    ran = subprocess.run(
        [sys.executable, "-i", "-q"],
        input="\n\n".join(window.run("return copied")) + "\n\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    examples = DocTestParser().get_examples(page.replace("```\n", "\n"))
    assert ran.stdout == "".join(each.want for each in examples)
    assert "Error" not in ran.stderr


@pytest.mark.parametrize("page", ["docs/book/loops.html", "slides/tokens.html"])
def test_a_space_at_the_beginning_of_code_is_seen(site: Path, window: Browser, page: str) -> None:
    window.post("url", {"url": (site / page).as_uri()})
    wider = """
        document.querySelectorAll("aside").forEach((each) => { each.style.display = "block"; });
        document.querySelectorAll("section").forEach((each) => { each.style.display = "block"; });
        const all = [...document.querySelectorAll(":is(p, li) > code")];
        const code = all.find((each) => /^ [a-zA-Z]/.test(each.textContent));
        const width = code.getBoundingClientRect().width;
        code.textContent = code.textContent.trim();
        return width - code.getBoundingClientRect().width;
    """
    assert window.run(wider) > 4


def test_a_dark_page_has_the_colour_of_its_figures_and_no_line_ends_inside_of_top_p(
    site: Path, window: Browser
) -> None:
    window.post("url", {"url": (site / "docs" / "book" / "filters.html").as_uri()})
    style = files("tokenref.commands").joinpath("pictures.css").read_text("utf-8")
    _, paper = re.findall("--paper: (#[0-9a-f]+);", style)
    color = f"rgb({', '.join(map(str, bytes.fromhex(paper[1:])))})"
    dark = "document.body.dataset.theme = 'dark'; return getComputedStyle(document.body)"
    window.until(f"{dark}.backgroundColor === '{color}'")  # a script of the page sets it, too
    names = (
        "[...document.querySelectorAll('h3 .whole')].map((each) => each.getClientRects().length)"
    )
    for width in range(320, 800, 20):
        window.size(width, 800, phone=True)
        assert set(window.run(f"return {names}")) == {1}


def test_solutions_are_folded(site: Path) -> None:
    for chapter in (ROOT / "docs" / "book").glob("*.md"):
        page = chapter.with_suffix(".html").name
        text = (site / "docs" / "book" / page).read_text("utf-8")
        solutions = chapter.read_text("utf-8").partition("## Solutions")[2]
        count = len(re.findall(r"^\d\. ", solutions, re.MULTILINE))
        assert text.count("<summary>Solution ") == count
        assert text.count("</details>") == count + chapter.read_text("utf-8").count("</details>")
        assert count >= 2 or chapter.name in {"README.md", "glossary.md"}


def test_slides_are_few_and_each_has_its_section_of_the_book_as_its_note(site: Path) -> None:
    for name in LECTURES:
        page = (site / "slides" / f"{name}.html").read_text("utf-8")
        slides = re.split(r"<section\b[^>]*>", page)[2:]
        assert len(slides) < 30
        sections: list[str] = []
        for each in slides:
            shown, _, note = each.partition("<aside>")
            own, _, section = note.partition("<details>")
            if section:
                assert len(section) > 200, shown
                assert section not in sections, "each section is there once"
                sections.append(section)
            else:
                [first] = re.findall(r'<details data-slide="(\d+)"></details>', own)
                assert "<details>" in slides[int(first) - 2], shown
            assert "<em>Ask" in note or "<em>Answer" in note or "<em>Draw" in note, shown
            assert re.search("<svg|<table|<pre|<li", shown)
            assert "<img" not in each


@pytest.mark.parametrize("name", LECTURES)
def test_a_lecture_takes_45_minutes_without_its_optional_slides(site: Path, name: str) -> None:
    page = (site / "slides" / f"{name}.html").read_text("utf-8")
    opened = re.findall(r'<section data-minutes="(\d+)"( class="optional")?>', page)
    assert len(opened) == page.count("<section") - 1, "each but the outline"
    ends = [*accumulate(int(minutes) for minutes, is_optional in opened if not is_optional)]
    assert ends[-1] == 45
    rows = re.findall(r"^\| (?:\d+ to (\d+)|optional) \|", BOOK.read_text("utf-8"), re.MULTILINE)
    assert {int(end) for end in rows if end} <= {*ends}, "the table in the book has the same steps"
    assert rows[-1] == "", "and a line about what is left out"
    for number, (minutes, is_optional) in enumerate(opened, 2):
        line = rf'<li{is_optional}><a href="#{number}">[^<]+</a> <small>{minutes} min</small></li>'
        assert re.search(line, page), "the outline has each slide"


def test_optional_slides_and_the_plan_are_seen_and_the_outline_leads_to_each_slide(
    site: Path, window: Browser
) -> None:
    window.size(1280, 720, phone=False)
    window.post("url", {"url": (site / "slides" / "sampling.html").as_uri()})
    window.click(".outline .optional a")
    assert window.run(_PLACE) == "5 / 27"
    mark = f"getComputedStyle({_NOW}.querySelector('h2'), '::after')"
    assert window.run(f"return {mark}.content") == '"optional"'
    window.press("n")
    assert "(planned: 2 min, to 12)" in window.run("return notes.document.body.innerText")
    window.press("\ue014")
    assert window.run(f"return {mark}.content") == "none"
    assert "(planned: 3 min, to 13)" in window.run("return notes.document.body.innerText")


def test_words_without_a_picture_grow_until_the_slide_is_full_or_a_line_of_code_is(
    site: Path, window: Browser
) -> None:
    window.size(1280, 720, phone=False)
    window.post("url", {"url": (site / "slides" / "oracles.html").as_uri() + "#9"})
    size = f"return parseFloat(getComputedStyle({_NOW}.querySelector('li, pre')).fontSize)"
    grown = window.run(size)
    assert grown > 32
    window.size(1920, 1080, phone=False)
    window.until(f"{size} > {grown * 1.4}")
    for number in (3, 7):
        window.run(f"location.hash = '{number}'")
        window.until(f"{_PLACE}.startsWith('{number} /')")
        lines = f"{_NOW}.querySelector('pre > code')"
        places = f"new Set([...{lines}.getClientRects()].map((each) => each.top)).size"
        assert window.run(f"return {places}") == window.run(
            f"return {lines}.textContent.trimEnd().split('\\n').length"
        )


def test_a_slide_of_a_section_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n## B c\n\nText.\n")
    assert "<aside><hr><p>Text.</p>" in slide("[B](a.md#b-c) 2 min\n\n* C\n", tmp_path)
    with pytest.raises(InputError, match=r"a\.md must have a section #d$"):
        slide("[B](a.md#d) 2 min\n\n* C\n", tmp_path)
    for heading in ("B", "[B](a.md#b-c)", "[B](a.md#b-c) 2 min, needed"):
        says = f"a slide must be a link to its notes and minutes, got {heading!r}"
        with pytest.raises(InputError, match=re.escape(says)):
            slide(f"{heading}\n\n* C\n", tmp_path)


def test_numbers_on_a_slide_are_those_of_its_picture() -> None:
    slides = (ROOT / "authoring" / "lectures" / "sampling.md").read_text("utf-8").split("\n## ")
    numbers = []
    for each in slides:
        names = [name for name in re.findall(r"figures/(\w+)\.svg", each) if name in FILTERS]
        values = [value.partition("=")[2] for name in names for value in FILTERS[name].settings]
        values += [f"{float(1 - Fraction(value)):g}" for value in values if float(value) < 1]
        found = re.findall(r"\b\d\.\d+\b", each.partition("\n---\n")[0]) if names else []
        assert set(found) <= set(values), each
        numbers += found
    assert numbers == ["0.9", "0.2", "0.8"], "of the slides about min-p and the order"
    assert "min-p 0.2 asks for a fifth" in "".join(slides)


def test_the_table_of_the_experiment_on_a_slide_is_that_of_the_file() -> None:
    slides = (ROOT / "authoring" / "lectures" / "sampling.md").read_text("utf-8")
    results = cells(read_results(ROOT / "docs" / "book" / "loops.jsonl", Plan()).values())
    table = slides.partition("| penalty | loops at 0")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]
    assert len(rows) == 8
    for name, *numbers in rows:
        found = [results[name, temperature] for temperature in (0.0, 0.5, 1.0)]
        shares = [f"{100 * each.degenerate:.1f}" for each in found]
        assert numbers == [*shares, *(f"{each.bits:.2f}" for each in found)]
    names = {name for name, _ in results}
    all_three = (0.0, 0.5, 1.0)
    never = {name for name in names if not any(results[name, t].degenerate for t in all_three)}
    assert never == {"DRY", *(f"frequency {tenth / 10}" for tenth in range(3, 11))}
    assert all(results["DRY", t].bits < results["frequency 0.3", t].bits for t in all_three), (
        "DRY costs less"
    )


def test_a_deck_is_made_of_slides_of_others_with_its_own_minutes(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# B\n\n## C\n\nText.\n")
    (tmp_path / "a.md").write_text("# A\n\n## [One](b.md#c) 2 min, optional\n\n* Shown\n")
    deck = tmp_path / "deck.md"
    deck.write_text("# Deck\n\n## [One](a.md) 7 min\n")
    page = lecture(deck)
    assert '<section data-minutes="7"><h2>One</h2>' in page
    assert "<li>Shown</li>" in page
    deck.write_text("# Deck\n\n## [Two](a.md) 7 min\n")
    with pytest.raises(InputError, match=r"a\.md must have one slide 'Two'$"):
        lecture(deck)


@pytest.mark.parametrize(("name", "number"), [("tokens", 15), ("sampling", 26)])
def test_each_slide_is_printed_on_its_own_page(
    site: Path, window: Browser, name: str, number: int
) -> None:
    """Page sizes are in the file as they are; what is drawn on a page is compressed."""
    address = (site / "slides" / f"{name}.html").as_uri()
    window.post("url", {"url": address})
    count = window.run("return slides.length")
    sheets = printed(window)
    assert len(re.findall(rb"/Type /Page\b", sheets)) == count
    assert set(re.findall(rb"/MediaBox \[(.*?)\]", sheets)) == {b"0 0 960 540"}, "16 to 9"
    parts = window.run(
        f"return slides[{number - 1}].querySelectorAll('svg :is(rect, path)').length"
    )
    shapes = [shapes_of(printed(window, pageRanges=f"{page}")) for page in (1, number)]
    assert shapes[0] < parts / 2 < shapes[1], "the picture is on the page of its slide"
    window.tools("Emulation.setEmulatedMedia", media="print")
    numbers = "return slides.map((each) => getComputedStyle(each, '::after').content)"
    assert window.run(numbers) == [f'"{page} / {count}"' for page in range(1, count + 1)]
    window.tools("Emulation.setEmulatedMedia", media="")
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": f"{address}?short"})
    short = window.run("return slides.filter((each) => !is_left_out(each)).length")
    assert len(re.findall(rb"/Type /Page\b", printed(window))) == short < count
    window.tools("Emulation.setEmulatedMedia", media="print")
    left = [each for each in window.run(numbers) if each.endswith(f' / {short}"')]
    assert left[-1] == f'"{short} / {short}"'
    window.tools("Emulation.setEmulatedMedia", media="")


def printed(window: Browser, **pages: str) -> bytes:
    """Return the PDF that the browser prints."""
    made = window.tools("Page.printToPDF", preferCSSPageSize=True, printBackground=True, **pages)
    return b64decode(made["data"])


def shapes_of(sheet: bytes) -> int:
    """Return how many rectangles and paths the streams of a PDF draw."""
    streams = re.findall(rb"/FlateDecode\n/Length \d+>> stream\n(.*?)\nendstream", sheet, re.DOTALL)
    return sum(len(re.findall(rb" (?:re|h|l)\n", decompress(each))) for each in streams)


@pytest.mark.parametrize("name", LECTURES)
def test_tables_of_slides_are_as_wide_as_a_phone_and_no_line_of_code_is_broken(
    site: Path, window: Browser, name: str
) -> None:
    window.size(390, 800, phone=True)
    window.post("url", {"url": (site / "slides" / f"{name}.html").as_uri()})
    wider = "[...slides[place].querySelectorAll(':scope > :is(table, pre)')]"
    wider += ".filter((each) => each.scrollWidth > each.clientWidth)"
    found = window.run(
        "return slides.flatMap((_, number) => { go(number); "
        f"return {wider}.map((each) => [each.rows?.[0].cells.length, "
        "getComputedStyle(each).backgroundAttachment]) })"
    )
    shadow = "local, scroll"  # it says that there is more
    assert [each for each in found if each[0]] == [[8, shadow]] * (name == "oracles")
    codes = [each for each in found if not each[0]]
    assert all(each[1].startswith(shadow) for each in codes)
    assert len(codes) >= 4
    assert window.run("return document.documentElement.scrollWidth") == 390
    lines = window.run(
        "return slides.flatMap((slide, number) => { go(number); "
        "return [...slide.querySelectorAll(':scope > pre > code')].map((code) => "
        "[[...code.getClientRects()].filter((each) => each.width).length, "
        "code.textContent.split('\\n').filter(Boolean).length]) })"
    )
    assert lines
    assert all(drawn == written for drawn, written in lines)


def test_pictures_on_one_slide_have_one_scale(site: Path, window: Browser) -> None:
    window.size(1280, 720, phone=False)
    window.post("url", {"url": (site / "slides" / "tokens.html").as_uri() + "#3"})
    scale = "document.querySelectorAll('section.now svg')[arguments[0]].getScreenCTM().d"
    one, other = (window.run(f"return {scale}", place) for place in (0, 1))
    assert one == pytest.approx(other, rel=0.01)


def test_a_picture_is_below_the_words_on_a_phone(site: Path, window: Browser) -> None:
    window.size(390, 800, phone=True)
    window.post("url", {"url": (site / "slides" / "sampling.html").as_uri() + "#26"})
    edges = "document.querySelector('section.now > arguments').getBoundingClientRect()"
    words, picture = (edges.replace("arguments", each) for each in ("ul", "p > svg"))
    assert window.run(f"return {words}.bottom <= {picture}.top")


_PLACE = "return document.body.dataset.place"
_NOW = "document.querySelector('section.now')"


_SEEN = """
    const slide = document.querySelector("section.now"), page = document.documentElement;
    const right = innerWidth - parseFloat(getComputedStyle(slide).paddingRight) + 1;
    const size = (text) => text.getScreenCTM().d * parseFloat(getComputedStyle(text).fontSize);
    const share = (bars) => bars.getBoundingClientRect().height / innerHeight;
    return {
        place: document.body.dataset.place,
        length: slide.innerText.length,
        fits: page.scrollWidth <= innerWidth && page.scrollHeight <= innerHeight
            && [...slide.children].every((each) => each.getBoundingClientRect().right <= right)
            && [...slide.querySelectorAll(".beside > svg")].every((svg) =>
                [...slide.querySelectorAll(":scope > :not(.beside)")].every((each) =>
                    each.getBoundingClientRect().right <= svg.getBoundingClientRect().left)),
        letters: [...slide.querySelectorAll(":scope > :not(aside) svg text")].map(size),
        bars: [...slide.querySelectorAll("svg:has(.grid) g")].map(share),
    };
"""
"""What is seen of a slide: whether it fits, without a picture on its words; letters; heights."""


@pytest.mark.parametrize("name", LECTURES)
def test_no_slide_is_larger_than_the_screen_and_pictures_are_large(
    site: Path, window: Browser, name: str
) -> None:
    for width, height in ((1280, 720), (1280, 800), (1024, 768)):
        window.size(width, height, phone=False)
        window.post("url", {"url": "about:blank"})
        window.post("url", {"url": (site / "slides" / f"{name}.html").as_uri()})
        window.until("return document.readyState === 'complete'")
        count = window.run("return document.querySelectorAll('body > section').length")
        for number in range(1, count + 1):
            where = f"slide {number} at {width} x {height}"
            seen: dict[str, Any] = window.run(_SEEN)
            assert seen["place"] == f"{number} / {count}"
            assert seen["length"] > 5
            assert seen["fits"], where
            # The smallest letters of a picture: as large as words that a full room can read.
            least = min(seen["letters"], default=inf)
            assert least >= (21 if width > 1.7 * height else 16), where
            # Bars use the height of the slide.
            share = min(seen["bars"], default=1)
            assert share > (0.45 if width > 1.7 * height else 0.35), where
            window.press("\ue014")


def test_slides_turn_by_keys_and_clicks_but_not_where_code_is(site: Path, window: Browser) -> None:
    window.size(1280, 800, phone=False)
    window.post("url", {"url": (site / "slides" / "oracles.html").as_uri()})
    window.until("return document.readyState === 'complete'")
    window.press(*["\ue014"] * 3, "\ue012")  # three times right, once left
    assert window.run("return location.hash") == "#3"
    assert window.run(_PLACE) == "3 / 10"
    window.press("\ue010")  # End
    assert window.run(_PLACE) == "10 / 10"
    window.press("\ue011")  # Home
    assert window.run(_PLACE) == "1 / 10"
    window.press(*["\ue014"] * 2)
    window.click("section.now pre")
    assert window.run(_PLACE) == "3 / 10"
    window.click("section.now h2")
    assert window.run(_PLACE) == "4 / 10"
    window.run(f"getSelection().selectAllChildren({_NOW})")
    window.run("document.body.click()")
    assert window.run(_PLACE) == "4 / 10"


def test_a_key_leaves_out_the_optional_slides_and_the_address_remembers_it(
    site: Path, window: Browser
) -> None:
    address = (site / "slides" / "sampling.html").as_uri()
    window.post("url", {"url": address})
    every = 27
    assert window.run(_PLACE) == f"1 / {every}"
    window.press("o")
    assert window.run("return location.search") == "?short"
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": f"{address}?short#1"})
    titles = "return [...document.querySelectorAll('.outline a')].filter((e) => e.offsetHeight)"
    needed = window.run(f"{titles}.length") + 1
    optional = f"return {_NOW}.classList.contains('optional')"
    minutes, seen = 0, []
    for _ in range(every):
        assert window.run(optional) is False
        seen.append(window.run(_PLACE))
        minutes += int(window.run(f"return {_NOW}.dataset.minutes ?? 0"))
        window.press("\ue014")
        if window.run(_PLACE) == seen[-1]:
            break
    assert minutes == 45
    assert seen == [f"{number} / {needed}, short" for number in range(1, needed + 1)]
    window.press("\ue011", "\ue010")  # Home, End
    assert window.run(_PLACE) == seen[-1]
    window.press("\ue012")
    assert window.run(_PLACE) == seen[-2]
    window.press("o")
    assert window.run("return location.search") == ""
    window.press("\ue010")
    assert window.run(_PLACE) == f"{every} / {every}"


def test_notes_are_in_a_second_window_which_turns_the_slides_too(
    site: Path, window: Browser
) -> None:
    window.post("url", {"url": (site / "slides" / "sampling.html").as_uri()})
    window.press("\ue014", "n")
    said = "return notes.document.body.innerText"
    assert "explain most of what follows" not in window.run(said), "the book is folded"
    window.run("notes.document.querySelector('summary').click()")
    assert "explain most of what follows" in window.run(said)
    assert "Next: Temperature" in window.run(said)
    assert window.run(f"return getComputedStyle({_NOW}.querySelector('aside')).display") == "none"
    window.run("notes.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")
    assert window.run(_PLACE).startswith("3 /")
    assert "Many engines treat T = 0 as greedy" in window.run(said), "it stays unfolded"
    window.run("notes.document.querySelector('summary').click()")
    window.run("notes.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")
    assert window.run("return notes.document.querySelector('details').open") is False
    window.run("Date.now = () => performance.timeOrigin + 600000")
    window.press("\ue014")
    assert re.search(r", (9|10) min", window.run(said))
    window.press("c")
    assert ", 0 min" in window.run(said)
    window.go("8")
    section = "return notes.document.querySelector('details').textContent"
    assert "Top-p limits the sum" in window.run(section), "it is in the notes of slide 7, too"
    window.go("10")
    demonstration = f"{site.as_uri()}/play/index.html#view=sampling&engine=transformers"
    link = "return [...notes.document.querySelectorAll('a')].map((each) => each.href)"
    assert window.run(link)[0].startswith(demonstration)


def test_a_key_switches_between_light_and_dark(site: Path, window: Browser) -> None:
    window.dark(dark=False)
    window.post("url", {"url": (site / "slides" / "tokens.html").as_uri()})
    paper = f"return getComputedStyle({_NOW}).backgroundColor"
    light = window.run(paper)
    window.press("t")
    dark = window.run(paper)
    assert light != dark
    window.press("t")
    assert window.run(paper) == light
    window.dark(dark=True)
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": (site / "slides" / "tokens.html").as_uri()})
    assert window.run(paper) == dark
    window.press("t")
    assert window.run(paper) == light


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[str]:
    """Serve the static playground as any web server does, and return its address."""
    modules = os.environ.get("TOKENREF_NODE_MODULES")
    if modules is None or not (Path(modules) / "pyodide").is_dir():
        pytest.skip("the npm package pyodide is not in TOKENREF_NODE_MODULES")
    build_playground(Path(modules) / "pyodide", tmp_path)

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=tmp_path)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def test_the_playground_runs_in_a_browser_alone(playground: str, window: Browser) -> None:
    window.post("url", {"url": f"{playground}#text=unbelievable&piece=unbelievable&encoder=heap"})
    window.until("return document.querySelectorAll('#steps tr').length > 5")
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    window.click("#show-penalties")
    window.until("return document.querySelectorAll('.token.buffer').length > 0")
    window.click("#show-speculative")
    window.until("return document.querySelectorAll('.drafts .stage').length === 4")
    window.click("#show-penalties")
    window.until("return document.querySelectorAll('.token.buffer').length > 0")
    window.run("document.getElementById('past').value = 'a'.repeat(20001)")
    window.run(
        "document.getElementById('past').dispatchEvent(new Event('input', { bubbles: true }))"
    )
    window.until("return !document.getElementById('wrong').hidden")
    assert "at most 20,000" in window.run("return document.getElementById('wrong').textContent")
    addresses = [address for address in window.requests() if address.startswith("http")]
    assert {address.split("/")[2] for address in addresses} == {playground.split("/")[2]}


@pytest.mark.parametrize("module", ["sphinx.application", "sphinx_copybutton"])
def test_a_site_without_sphinx_and_its_extensions_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = CliRunner().invoke(main, ["site", "--folder", str(tmp_path / "site")])
    assert ran.exit_code == 2
    assert ran.stderr == f"tokenref: the site needs {module}: pip install -e '.[docs]'\n"


def test_a_folder_without_pyodide_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lacks pyodide\.mjs"):
        build_playground(tmp_path, tmp_path / "play")
    assert not (tmp_path / "play").exists()


def test_a_link_that_leads_nowhere_is_one_sentence(tmp_path: Path) -> None:
    for name in ("README.md", "docs/README.md", "docs/book/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# Title\n\nText.\n")
    (tmp_path / "docs" / "README.md").write_text("# Title\n\nSee [a page](there.md).\n")
    with pytest.raises(InputError, match=r"the pages must have no warnings, got .*there\.md"):
        build_site(tmp_path, tmp_path / "site")
