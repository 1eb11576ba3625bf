"""The site and the slides, in a browser."""

import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from authoring.site import LECTURES, build_playground, build_site
from tests.browser import CHROMIUM, DRIVER, Browser, open_browser
from tokenref.errors import InputError

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    build_site(ROOT, folder)
    return folder


@pytest.fixture
def window() -> Iterator[Browser]:
    """Open a browser, in whose console nothing may be written."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromedriver are not installed")
    with open_browser() as opened:
        yield opened
        assert [entry for entry in opened.log("browser") if entry["level"] == "SEVERE"] == []


def test_every_page_is_on_the_site_and_the_chapters_are_at_its_side_in_order(site: Path) -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "fixtures" / "README.md"]
    for page in pages:
        assert (site / page.relative_to(ROOT).with_suffix(".html")).is_file(), page
    side = (site / "docs" / "book" / "merging.html").read_text("utf-8")
    chapters = [chapter for _, names in LECTURES.values() for chapter in names]
    places = [side.index(f'href="{chapter}.html"') for chapter in chapters if chapter != "merging"]
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


def test_slides_show_whole_sentences_and_are_few(site: Path) -> None:
    for name in LECTURES:
        slides = (site / "slides" / f"{name}.html").read_text("utf-8").split("<section>")[1:]
        assert len(slides) <= 30, "45 minutes"
        for slide in slides:
            shown = re.sub(r"<(aside|pre|svg|table).*?</\1>", "", slide, flags=re.DOTALL)
            for text in re.findall(r"<p>(.*?)</p>", shown, re.DOTALL):
                assert not text.endswith(":")
                assert "*" not in text


def test_slides_turn_by_keys_and_show_their_notes(site: Path, window: Browser) -> None:
    window.size(1280, 800, phone=False)
    for name, (title, _) in LECTURES.items():
        window.post("url", {"url": (site / "slides" / f"{name}.html").as_uri()})
        assert window.run("return document.querySelector('section.now').innerText").startswith(
            title
        )
        count = window.run("return document.querySelectorAll('body > section').length")
        window.press(*["\ue014"] * 4, "\ue012")  # four times right, once left
        assert window.run("return [location.hash, document.body.dataset.place]") == [
            "#4",
            f"4 / {count}",
        ]
        seen = "return getComputedStyle(document.querySelector('section.now aside')).display"
        assert window.run(seen) == "none"
        window.press("n")
        assert window.run(seen) == "block"
        window.press("n")
        for _ in range(count):
            window.press("\ue014")
            assert window.run("return document.querySelector('section.now').innerText.length") > 5
            page, location = "document.documentElement", window.run("return location.href")
            assert window.run(f"return {page}.scrollWidth <= innerWidth")
            assert window.run(f"return {page}.scrollHeight <= innerHeight"), location
        assert window.run("return location.hash") == f"#{count}"


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
    window.run("document.getElementById('past').value = 'a'.repeat(20001)")
    window.run(
        "document.getElementById('past').dispatchEvent(new Event('input', { bubbles: true }))"
    )
    window.until("return !document.getElementById('wrong').hidden")
    assert "at most 20,000" in window.run("return document.getElementById('wrong').textContent")
    addresses = [address for address in window.requests() if address.startswith("http")]
    assert {address.split("/")[2] for address in addresses} == {playground.split("/")[2]}


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
