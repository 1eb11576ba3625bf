"""The HTML report in a real browser: it works, fits a phone, asks for nothing, runs nothing."""

from pathlib import Path
from typing import Any, Final, get_args

import pytest

from tests.browser import Browser
from tests.results_files import catalogue, line, record, whole, write
from tokenref.questions.text import TextInput
from tokenref.reports.changes import changes
from tokenref.reports.html.page import html_report
from tokenref.reports.results import EngineEntry, KnownEntry, read_results
from tokenref.verdicts import Status

RECORDS: Final = [
    record("count", "alpha", ["Count"]),
    record("count", "beta", ["Count", "LongRun"]),
    record("encode", "gamma", ["LongRun"], profile="tiktoken"),
    *(record("decode", f"many-{at}") for at in range(120)),
]
ENGINES: Final = [
    EngineEntry(name="good", version="1"),
    EngineEntry(name="bad", version="2", again=["--cmd", "./bad --fast"]),
]
STATUSES: Final = get_args(Status)
KNOWN: Final = KnownEntry(
    engine="bad", title="breaks", reason="It always did so.", link="https://example.com/1"
)
RESULTS: Final = [
    *(line("good", each.id, "pass") for each in RECORDS),
    line("bad", RECORDS[0].id, "pass", remark="f32.scan"),
    line(
        "bad",
        RECORDS[1].id,
        "fail",
        detail="stage merges, entry 0: expected [0, 1], got [0, 2]",
        stage="merges",
        got='{"count":2}',
        log="Segmentation fault",
    ),
    line("bad", RECORDS[2].id, "xfail", detail="boom", known="breaks"),
    *(line("bad", each.id, "unsupported", detail="cannot") for each in RECORDS[3:]),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    lines = whole(RESULTS, ENGINES, differences=[KNOWN], selection={"known": ["my known"]})
    results = read_results(write(folder / "results.jsonl", lines))
    html = folder / "report.html"
    html.write_bytes(html_report([results], catalogue(RECORDS), pages="https://example.com/x"))
    return html.as_uri()


@pytest.fixture
def opened(browser: Browser, page: str) -> Browser:
    browser.size(1280, 900)
    browser.open(page)
    return browser


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll(arguments[0])].map(node => node.innerText)", selector
    )
    return found


def cases(browser: Browser) -> list[str]:
    """Return what the list shows: status, engine and the end of the id."""
    return [
        f"{status.split()[-1]} {engine} {case.rpartition('/')[2]}"
        for status, engine, case in zip(
            texts(browser, ".case > :first-child"),
            texts(browser, ".case > :nth-child(2)"),
            texts(browser, ".case > .id"),
            strict=True,
        )
    ]


def details(browser: Browser) -> dict[str, str]:
    """Return what the opened case says."""
    return dict(zip(texts(browser, ".open dt"), texts(browser, ".open dd"), strict=True))


def test_the_page_asks_for_nothing_and_has_no_error(browser: Browser, page: str) -> None:
    browser.size(1280, 900)
    browser.post("url", {"url": "about:blank"})
    browser.requests()
    browser.log("browser")
    browser.show(page)
    assert [each for each in browser.requests() if not each.startswith("data:")] == [page]
    assert browser.log("browser") == []


def test_it_starts_with_what_fails(opened: Browser) -> None:
    assert texts(opened, "h1") == ["2 engines on 123 golden records"]
    assert texts(opened, ".card p:first-of-type b") == ["✓ all cases pass", "✗ 1 failure"]
    assert texts(opened, ".where a > span") == ["count ✗ 1", "encode ≠ 1"]
    assert cases(opened) == ["fail bad 2 beta"]
    assert texts(opened, "#found") == ["1 results"]


def test_the_tables_have_the_right_numbers(opened: Browser) -> None:
    cells = [" ".join(text.split()) for text in texts(opened, "#by-op td span")]
    assert cells == ["✓ 1", "≠ 1 of 1", "✓ 2", "✗ 1 of 2", "✓ 120", "·"]
    cells = [" ".join(text.split()) for text in texts(opened, "#by-flag td a > span")]
    assert cells == ["✓ 2", "✗ 1 of 2", "✓ 2", "✗ 1 ≠ 1 of 2"]
    assert texts(opened, "#by-op tbody th") == ["encode", "count", "decode"]


def test_a_cell_is_a_link_that_says_what_it_counts(opened: Browser) -> None:
    links = opened.run(
        "return [...document.querySelectorAll('#by-op td a')].map(link => [link.getAttribute("
        "'href'), link.querySelector('.said').textContent, link.parentNode.title])"
    )
    said = "bad 2, encode: 1 differ as known"
    assert links[1] == ["#engine=bad+2&op=encode&status=differences", said, said]
    assert [each[1] for each in links[2:4]] == [
        "good 1, count: 2 pass",
        "bad 2, count: 1 pass, 1 fail",
    ]
    assert links[3][0] == "#engine=bad+2&op=count&status=failures"
    assert links[2][0] == "#engine=good+1&op=count"
    assert len(links) == 5
    assert texts(opened, "#by-op td.none .said") == ["120 unsupported"]


def test_every_text_of_a_record_reaches_the_script(browser: Browser, tmp_path: Path) -> None:
    whys = [
        "-1",
        "0",
        "So. So. (so): so,  so",
        "So. So.",
        "So.",
        " ",
        "So. ",
        " So.",
        "So. 0 -1 []",
    ]
    whys = [*whys * 2, "-7", "3"]
    records = [record("count", f"r{at}", ["So.", "(0)"], why=why) for at, why in enumerate(whys)]
    cases_of = [line("one", each.id, "pass") for each in records]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases_of)))
    html = tmp_path / "report.html"
    html.write_bytes(html_report([results], catalogue(records)))
    browser.open(html.as_uri())
    assert browser.run("return report.cases.map(each => each.why)") == whys
    flags = browser.run("return report.cases.map(each => each.flags)")
    assert flags == [["So.", "(0)"]] * len(records)
    assert browser.run("return report.engines[0].statuses") == "p" * len(records)


def test_a_cell_filters_the_list(opened: Browser) -> None:
    opened.click("#by-op tbody tr:nth-child(1) td:nth-child(3) a")
    assert cases(opened) == ["known bad 2 gamma"]
    opened.click("#by-op tbody tr:nth-child(2) td:nth-child(2) a")
    assert cases(opened) == ["pass good 1 alpha", "pass good 1 beta"]
    opened.click("#by-flag tbody tr:nth-child(2) th a")
    assert len(cases(opened)) == 4
    assert "here" in opened.run("return document.querySelector('#by-flag th.here').className")


def test_a_case_opens_with_all_that_helps(opened: Browser) -> None:
    opened.click(".case")
    assert details(opened) == {
        "why": "The reason why beta is asked.",
        "rule": "docs/bpe.md#definition",
        "in the book": "docs/book/texts.md#counting-and-cutting",
        "of": "letters, by the rules of definition",
        "question": '{"text": "beta"}',
        "stage": "merges",
        "first differs": "stage merges, entry 0",
        "expected": "[0, 1]",
        "got": "[0, 2]",
        "right answer": '{"count": 1}',
        "whole answer": '{"count": 2}',
        "log": "Segmentation fault",
        "hunts": "Count, LongRun",
        "others": "✓ pass good 1",
        "again": (
            "tokenref check --cmd './bad --fast' --id bpe/count/topic/beta --known 'my known'"
        ),
    }
    links = opened.run("return [...document.querySelectorAll('.open a')].map(link => link.href)")
    assert [link.removeprefix("https://example.com/x/docs/") for link in links] == [
        "bpe.md#definition",
        "book/texts.md#counting-and-cutting",
    ]
    opened.click(".case")
    assert texts(opened, ".open") == []


def test_a_known_difference_and_a_pass_explain_themselves(opened: Browser) -> None:
    opened.click("#by-op tbody tr:nth-child(1) td:nth-child(3) a")
    opened.click(".case")
    found = details(opened)
    assert found["known as"] == "breaks"
    assert found["because"] == "It always did so. https://example.com/1"
    assert found["got"] == "boom"
    opened.go("engine=bad+2&status=p")
    opened.click(".case")
    assert details(opened)["matched"] == "f32.scan"


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ("search=BETA", 2),
        ("search=reason+segmentation", 1),
        ("search=cannot", 120),
        ("search=nowhere", 0),
        ("status=p", 124),
        ("status=failures", 1),
        ("status=differences", 2),
        ("status=answered", 126),
        ("engine=good+1", 123),
        ("op=count", 4),
        ("flag=LongRun", 4),
        ("flag=LongRun&engine=bad+2&status=x", 1),
        ("profile=tiktoken", 2),
        ("op=nonsense", 246),
        ("nonsense=1", 246),
    ],
)
def test_search_and_filters_combine(opened: Browser, filters: str, count: int) -> None:
    opened.go(filters)
    (found,) = texts(opened, "#found")
    assert found == (f"{count} results" if count else "Nothing matches these filters.")
    assert len(cases(opened)) == min(count, 50)


def test_every_status_has_its_word_sign_and_choice(browser: Browser, tmp_path: Path) -> None:
    cases_of = [line("one", f"bpe/count/topic/{status}", status) for status in STATUSES]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases_of)))
    html = tmp_path / "report.html"
    html.write_bytes(html_report([results], catalogue([])))
    browser.size(1280, 900)
    browser.open(html.as_uri() + "#search=")
    words = {
        "pass": "✓ pass",
        "fail": "✗ fail",
        "wrong_error": "✗ wrong error",
        "crash": "✗ crash",
        "timeout": "✗ timeout",
        "unsupported": "· unsupported",
        "skip": "· skipped",
        "not_run": "· not run",
        "xfail": "≠ known",
        "xpass": "✗ unexpected pass",
    }
    shown = [each.rpartition("/")[2] for each in texts(browser, ".case > .id")]
    assert dict(zip(shown, texts(browser, ".status"), strict=True)) == words
    browser.click(".case")
    assert list(details(browser)) == ["again"]  # its record is not here
    choices = texts(browser, "[name=status] option")
    assert choices[:4] == ["any", "failures (5)", "failures, known (6)", "answered (7)"]
    assert sorted(choices[4:]) == sorted(f"{word[2:]} (1)" for word in words.values())


def test_without_the_pages_a_case_names_the_command_that_prints_the_rule(
    browser: Browser, tmp_path: Path
) -> None:
    results = read_results(write(tmp_path / "results.jsonl", whole(RESULTS, ENGINES)))
    html = tmp_path / "report.html"
    html.write_bytes(html_report([results], catalogue(RECORDS)))
    browser.open(html.as_uri())
    browser.click(".case")
    assert details(browser)["rule"] == "tokenref show docs/bpe.md#definition"


def test_the_page_begins_with_what_it_shows(opened: Browser) -> None:
    (intro,) = texts(opened, ".intro")
    assert "A failure is a wrong answer" in intro
    assert "A known difference is one that is on the list of known differences" in intro
    links = opened.run("return [...document.querySelectorAll('.intro a')].map(link => link.href)")
    assert links == ["https://example.com/x/docs/differences.md"]


def test_a_search_says_how_many_hits_the_other_filters_hide_and_shows_them(opened: Browser) -> None:
    opened.go("search=beta&status=failures")
    assert texts(opened, "#found") == ["1 results"]
    (hidden,) = texts(opened, "#hidden-hits")
    assert hidden.startswith("The other filters hide 1 more result of this search.")
    opened.click("#hidden-hits button")
    assert texts(opened, "#found") == ["2 results"]
    is_hidden = "return document.querySelector('#hidden-hits').hidden"
    assert opened.run(is_hidden)
    opened.go("status=failures")
    assert opened.run(is_hidden)


def test_nothing_scrolls_down_inside_the_page_and_long_tables_are_folded(
    browser: Browser, tmp_path: Path
) -> None:
    cases_of = [line("one", f"bpe/op{at}/topic/x", "fail") for at in range(40)]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases_of)))
    html = tmp_path / "report.html"
    html.write_bytes(html_report([results], catalogue([])))
    browser.size(1280, 900)
    browser.open(html.as_uri())
    top = "return document.querySelector('.case').getBoundingClientRect().top"
    assert browser.run(top) < 1000
    browser.click("#by-op summary")
    inner = browser.run(
        "return [...document.querySelectorAll('main *')]"
        ".filter(node => node.scrollHeight > node.clientHeight + 1 && node.clientHeight"
        " && ['auto', 'scroll'].includes(getComputedStyle(node).overflowY)).length"
    )
    assert inner == 0


def test_typing_searches_and_the_address_remembers(opened: Browser) -> None:
    opened.run("document.querySelector('[name=status]').value = ''")
    opened.run("document.querySelector('[name=search]').focus()")
    opened.press(*"gamma")
    opened.until("return location.hash === '#search=gamma'")  # once nobody types
    opened.settle()
    assert cases(opened) == ["pass good 1 gamma", "known bad 2 gamma"]


def test_a_long_list_has_pages(opened: Browser) -> None:
    opened.go("op=decode&engine=good+1")
    assert texts(opened, "#where") == ["1 to 50 of 120"]
    for _ in range(2):
        opened.click("#pager [name=next]")
    assert texts(opened, "#where") == ["101 to 120 of 120"]
    assert len(cases(opened)) == 20
    assert opened.run("return document.querySelector('#pager [name=next]').disabled")
    opened.click("#pager [name=back]")
    assert texts(opened, "#where") == ["51 to 100 of 120"]


def test_rows_without_differences_can_be_hidden(opened: Browser) -> None:
    opened.click("#by-op .only input")
    heights = opened.run(
        "return [...document.querySelectorAll('#by-op tbody tr')].map(row => row.offsetHeight > 0)"
    )
    assert heights == [True, True, False]


def test_the_keyboard_reaches_a_cell_and_opens_a_case(opened: Browser) -> None:
    tab, enter = "\ue004", "\ue007"
    opened.run("document.querySelector('#by-op .scroll').focus()")
    opened.press(tab, tab, tab, enter)  # the first row's name, its two cells
    assert cases(opened) == ["known bad 2 gamma"]
    opened.run("document.querySelector('#filters button').focus()")
    opened.press(tab, enter)
    assert details(opened)["got"] == "boom"
    assert opened.run("return document.activeElement.getAttribute('aria-expanded')") == "true"


def test_nothing_sticks_out_on_a_phone(browser: Browser, page: str, tmp_path: Path) -> None:
    names = [f"an-engine-{at}" for at in range(9)]
    cases = [
        line(name, f"bpe/{status}/topic/{'long' * 30}", status)
        for name in names
        for status in STATUSES
    ]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases)))
    html = tmp_path / "report.html"
    html.write_bytes(html_report([results], catalogue([])))
    browser.size(360, 740, phone=True)
    for address in (page, html.as_uri()):
        browser.open(address)
        browser.click(".case")
        assert browser.run("return document.documentElement.scrollWidth") == 360
    assert browser.run(
        "const box = document.querySelector('#by-op .scroll').getBoundingClientRect();"
        "return box.left >= 0 && box.right <= 360"
    )
    smallest = browser.run(
        "return Math.min(...[...document.querySelectorAll('main *')]"
        ".filter(node => node.innerText).map(node => parseFloat(getComputedStyle(node).fontSize)))"
    )
    assert smallest >= 11


def test_text_can_be_told_from_its_ground_in_light_and_dark(browser: Browser, page: str) -> None:
    browser.size(1280, 900)
    for dark in (False, True):
        browser.dark(dark=dark)
        browser.open(page)
        browser.click(".case")
        contrasts: dict[str, float] = browser.run(CONTRASTS)
        assert len(contrasts) > 10
        assert not {text: ratio for text, ratio in contrasts.items() if ratio < 4.5}
    browser.dark(dark=False)


CONTRASTS: Final = """
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [r, g, b] = channels(colour).map(value => value / 255)
    .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if ((channels(colour)[3] ?? 1) > 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const found = {};
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
  if (!own || !node.innerText || node.closest(".said, select, noscript, script, style")) continue;
  const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
  found[node.innerText] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
return found;
"""


# ---- text that would like to be more

PAYLOADS: Final = (
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=1</script>",
    '"><svg onload=window.hit=1>',
    "<!--<script>",
    "{{data}}",
    "\u2028window.hit=1//",
    "javascript:window.hit=1",
)


@pytest.fixture(scope="module", params=PAYLOADS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a page with one such text in every field, and the text as it should be seen."""
    text = str(request.param)
    folder = tmp_path_factory.mktemp("hostile")
    cases = [
        record(
            "count",
            "x",
            [text],
            id=f"bpe/{text}/topic/{text}",
            profile=text,
            why=f"Why, in full: {text}",
            spec=text,
            input=TextInput(text=text),
        )
    ]
    of = {"engine": text, "id": cases[0].id, "op": text}
    said = {"detail": text, "stage": text, "got": text, "log": text, "remark": text}
    lines = whole(
        [line(text, of["id"], "xfail", op=text, known=text, **said)],
        [EngineEntry(name=text, version=text, again=[text])],
        {text: {"stale": [text], "incidents": [text], "trouble": [text], "exit": 3}},
        differences=[KnownEntry(engine=text, title=text, reason=text, link=text)],
        tokenref=text,
        fixtures=text,
        unavailable={text: text},
        selection={"known": [text]},
    )
    results = read_results(write(folder / "results.jsonl", lines))
    lost = whole([line(text, "bpe/a/topic/gone", "pass")], [EngineEntry(name=text, version="0")])
    old = read_results(write(folder / "old.jsonl", lost))
    html = folder / "report.html"
    html.write_bytes(
        html_report(
            [results],
            catalogue(cases, name=text),
            notes=[text],
            changes=list(changes(old, [results])),
        )
    )
    return html, text.replace("\u2028", "\\u2028")


def test_text_from_outside_is_shown_as_it_is_and_runs_nothing(
    browser: Browser, hostile: tuple[Path, str]
) -> None:
    html, text = hostile
    browser.size(1280, 900)
    browser.post("url", {"url": "about:blank"})
    browser.requests()
    browser.log("browser")
    browser.show(html.as_uri())
    browser.go("status=")
    browser.click("#cases li:last-child .case")
    browser.click("#cases li:first-child .case")
    found = dict(
        browser.run(
            "return [...document.querySelectorAll('.open:not(li:last-child .open) dt')]"
            ".map(node => [node.innerText, node.nextSibling.textContent])"
        )
    ) or details(browser)
    for term in ("why", "rule", "of", "question", "got", "known as", "because", "log", "hunts"):
        assert text.replace('"', '\\"' if term == "question" else '"') in found[term], term
    assert texts(browser, "h3")[0] == f"{text} {text}"
    assert text in texts(browser, ".note")[0]
    assert texts(browser, ".card p.bad") == [
        text,
        text,
        f"a known difference did not occur: {text}",
    ]
    assert text in texts(browser, "#by-op tbody th")[0]
    assert browser.run("return window.hit") is None
    assert (
        browser.run("return document.querySelectorAll('img, main script, svg[onload]').length") == 0
    )
    assert browser.run("return document.scripts.length") == 2
    assert browser.run("return document.querySelectorAll('a[href^=javascript]').length") == 0
    asked = [each for each in browser.requests() if not each.startswith("data:")]
    assert asked == [html.as_uri()]
    assert browser.log("browser") == []


def test_what_changed_stands_at_the_top_of_the_list(browser: Browser, tmp_path: Path) -> None:
    old = read_results(write(tmp_path / "old.jsonl", whole([
        line("bad", RECORDS[0].id, "fail"),
        line("bad", RECORDS[1].id, "pass"),
        line("bad", "bpe/count/topic/gone", "pass"),
        line("bad", RECORDS[3].id, "wrong_error"),
        *(line("bad", each.id, "unsupported") for each in RECORDS[4:]),
    ])))  # fmt: skip
    new = read_results(write(tmp_path / "new.jsonl", whole(RESULTS, ENGINES)))
    html = tmp_path / "report.html"
    changed = [each for each in changes(old, [new]) if each.engine == "bad"]
    html.write_bytes(html_report([new], catalogue(RECORDS), changes=changed))
    browser.size(1280, 900)
    browser.open(html.as_uri())
    assert [each.split()[-1] for each in cases(browser)] == [
        "alpha",
        "beta",
        "gamma",
        "many-0",
        "gone",
    ]
    assert texts(browser, ".case > :first-child") == [
        "✗ fail → ✓ pass",
        "✓ pass → ✗ fail",
        "· not there → ≠ known",
        "✗ wrong error → · unsupported",
        "✓ pass → · not there",
    ]
    browser.go("change=new+failure")
    assert cases(browser) == ["fail bad 2 beta"]
    browser.go("change=lost+answer")
    assert cases(browser) == ["unsupported bad 2 many-0"]
