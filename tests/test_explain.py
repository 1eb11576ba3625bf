"""`tokenref explain` writes files with pictures that show what the other commands print."""

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate
from math import log
from pathlib import Path

import click
import pytest
import regex
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpe_ref import load
from bpe_ref.encoder_steps import ENCODER_STEPS
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.tiny import TINY_TEXT_RULES, tiny_vocabulary
from tests.browser import Browser
from tokenref import pages
from tokenref.cli import main
from tokenref.commands.look import explain
from tokenref.commands.pictures import lesson
from tokenref.commands.pictures.bars import MOST
from tokenref.commands.pictures.merges import CAPTIONS, LESSONS, alternatives, merges
from tokenref.operations import ABOUT


class Page(HTMLParser):
    """The elements of a page, which must be nested; elements by class, and all text."""

    def __init__(self, content: str) -> None:
        """Read a page."""
        super().__init__()
        self.open: list[str] = []
        self.classes = Counter[str]()
        self.tags = Counter[str]()
        self.text = ""
        self.feed(content)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.tags[tag] += 1
        self.classes.update((dict(attrs).get("class") or "").split())
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element without content."""
        self.tags[tag] += 1
        self.classes.update((dict(attrs).get("class") or "").split())

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text += data


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


def explained(tmp_path: Path, *arguments: str) -> Page:
    path = tmp_path / "page.html"
    result = run(*arguments, "--html", str(path))
    assert (result.exit_code, result.output) == (0, f"wrote {path}\n")
    content = path.read_text(encoding="utf-8")
    assert "<script" not in content
    assert "http" not in re.sub(r"https?://[^ <]*", "", content)  # nothing is loaded
    return Page(content)


def test_each_merge_is_a_line_with_the_new_token_marked_and_the_pairs_that_lost(
    tmp_path: Path,
) -> None:
    page = explained(tmp_path, "bpe", "unbelievable")
    assert page.tags["tr"] == 7, "the symbols and six merges"
    assert page.classes["new"] == 6
    assert page.classes["token"] == sum(range(6, 13)) + 6
    assert "l + e has rank 278; lost: e + l of rank 313, a + b of rank 379" in page.text
    assert "The text has 6 tokens" in page.text


@pytest.mark.parametrize(
    ("encoder", "lines", "says"),
    [
        ("heap", 10, "l + i of rank 1063 at 4 is stale: that place was merged"),
        ("prefix_table", 13, "is the whole prefix"),
        ("backtracking", 11, "li does not fit after be: together they become b + el + i"),
    ],
)
def test_the_steps_of_the_quick_encoders_are_shown(
    tmp_path: Path, encoder: str, lines: int, says: str
) -> None:
    page = explained(tmp_path, "bpe", "unbelievable", "--encoder", encoder)
    assert page.tags["tr"] == lines
    assert says in page.text
    assert "The text has 6 tokens" in page.text
    model = load("tiny").model
    assert isinstance(model, ByteBPE)
    steps = ENCODER_STEPS[encoder](model.vocabulary, model.symbols(b"unbelievable"))
    assert page.classes["refused"] == sum(len(step.refused) for step in steps)
    assert page.text.count("unbelievable") == 1 + (encoder != "heap"), "which begins with bytes"


@pytest.fixture(scope="module")
def tiny_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write tiny as a `tokenizer.json`, whose tokens are written in letters of bytes."""
    path = tmp_path_factory.mktemp("written") / "tokenizer.json"
    rules = replace(TINY_TEXT_RULES, tables="unicode-16.0-oniguruma")
    write_tokenizer_json(replace(tiny_vocabulary(), text=rules), path)
    return path


@pytest.mark.parametrize("encoder", CAPTIONS)
@settings(max_examples=30)
@given(st.lists(st.sampled_from(["un", "believable", " ", "th", "e", "\u00e9", "\n", "1"])))
@example(["<|endoftext|>", " unbelievable"])
def test_a_tokenizer_json_has_the_steps_of_the_vocabulary_that_it_was_written_from(
    tiny_json: Path, encoder: str, parts: list[str]
) -> None:
    """Its list has no pairs that never merge, so that fewer are stale, or lose."""
    new = r"<td>((?:(?!</td>).)*token new.*?)</td>"
    written, own = (
        re.findall(new, "".join(merges(load(name), "".join(parts), encoder)))
        for name in (tiny_json, "tiny")
    )
    assert written == own


@given(
    st.lists(
        st.sampled_from([*"aB1\u00e9\u0301\u0939\u093f\u5b57. \n\r/'", "'s", "'LL", "  ", "!?"])
    )
)
def test_the_first_alternative_that_matches_in_the_whole_text_cut_a_piece(parts: list[str]) -> None:
    text = "".join(parts)
    for pattern in PATTERNS.values():
        pieces = Pattern(pattern.source).cut_text(text)
        starts = accumulate(map(len, pieces), initial=0)
        assert alternatives(pattern, pieces) == [
            next(
                number
                for number, (source, _) in enumerate(pattern.alternatives)
                if regex.compile(source).match(text, start)
            )
            for start, _ in zip(starts, pieces, strict=False)
        ]


def test_ranks_are_places_in_the_list_of_all_merges(tiny_json: Path, tmp_path: Path) -> None:
    asked = ("unbelievable", "--vocabulary", str(tiny_json))
    page = explained(tmp_path, "bpe", *asked).text.partition("The book:")[0]
    shown = re.findall(r" has rank (\d+)", page)
    printed = CliRunner().invoke(main, ["trace", *asked]).output
    assert shown == re.findall(r"^ *merged .*\(rank (\d+), place", printed, re.MULTILINE)
    assert len(shown) == 6


def test_the_sections_of_the_book_are_on_the_page_with_figures_and_without_links(
    tmp_path: Path,
) -> None:
    for op, about in ABOUT.items():
        assert lesson(about.lesson).startswith('<details class="lesson"><summary>The book: '), op
        assert re.search(r"!\[|<a ", lesson(about.lesson)) is None, op
    page = explained(tmp_path, "sample", "llama.cpp", "3,2,1", "--set", "top_k=2")
    assert "The book: Top-kKeep the k most probable tokens." in page.text
    assert "The book: Inverse CDF" in page.text
    page = explained(tmp_path, "bpe", "unbelievable", "--encoder", "heap")
    assert "The book: The heap" in page.text
    assert page.tags["img"] == 3, "two trees, and the steps"


def test_an_installed_package_has_the_book_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    (docs / "book").mkdir(parents=True)
    (docs / "figures").mkdir()
    (docs / "figures" / "b.svg").write_bytes(b"<svg/>")
    text = "# A\n\n## B c\n\n![d](../figures/b.svg)\n"
    (docs / "book" / "a.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(pages, "__file__", str(tmp_path / "pages.py"))
    shown = lesson("docs/book/a.md#b-c")
    assert "<summary>The book: B c</summary>" in shown
    assert f'src="data:image/svg+xml;base64,{b64encode(b"<svg/>").decode()}" alt="d"' in shown


def test_every_encoder_with_steps_can_be_chosen() -> None:
    [option] = [each for each in explain.commands["bpe"].params if each.name == "encoder"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(CAPTIONS) == ["naive", *ENCODER_STEPS]


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_models_without_bytes_are_shown_too(tmp_path: Path, model: str) -> None:
    letters = {"b": 0, "d": 1, "bd": 2}
    body = (
        {"type": "BPE", "vocab": letters, "merges": ["b d"]}
        if model == "bpe"
        else {"type": "Unigram", "unk_id": 0, "vocab": [["b", -1.0], ["d", -1.5], ["bd", -1.0]]}
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": body}), encoding="utf-8")
    page = explained(tmp_path, "bpe", "bdb", "--vocabulary", str(path))
    assert load(path).encode("bdb") == [2, 0]
    assert "The text has 2 tokens" in page.text


def test_tokens_are_called_by_their_bytes_and_added_tokens_by_their_names(tmp_path: Path) -> None:
    page = explained(tmp_path, "bpe", " a\u00e9")
    assert "\u0120" not in page.text
    assert "\u2423a" in page.text
    assert "<|endoftext|>" in load("tiny").show_token(
        load("tiny").token_to_id("<|endoftext|>") or 0
    )


def test_text_is_never_markup(tmp_path: Path) -> None:
    page = explained(tmp_path, "bpe", "<img src=x onerror=alert(1)>&amp;<b>")
    assert "b" not in page.tags
    images = re.findall(r"<img[^>]*>", (tmp_path / "page.html").read_text("utf-8"))
    assert len(images) == page.tags["img"] == lesson(LESSONS["naive"]).count("<img") == 2
    assert all('src="data:image/svg+xml;base64,' in image for image in images)
    assert "Piece <img" in page.text


def test_a_filter_shows_which_tokens_it_keeps_and_where_its_threshold_is(tmp_path: Path) -> None:
    row = ("3,2,1,0.5", "--set", "top_p=0.9", "--set", "temperature=1", "--set", "top_k=0")
    page = explained(tmp_path, "sample", "vllm", *row, *["--uniform", "0.25"] * 4)
    assert page.classes["stage"] == 2  # temperature and top_p
    assert page.classes["removed"] == 1
    assert page.classes["threshold"] == 1
    assert "token 3 has 0.0518, removed" in page.text
    assert "kept up to the token at which the running sum reaches the threshold" in page.text


@pytest.mark.parametrize(
    ("engine", "settings", "number"),
    [
        ("transformers", "typical_p=0.3 top_k=0", 0.3),
        ("transformers", "eta_cutoff=0.2 top_k=0", 0.1734),  # sqrt(0.2) * e^-H
        ("exllamav2", "top_a=0.5 temperature=1 top_k=0 top_p=0", 0.2073),  # half of 0.6439^2
        ("llama.cpp", "xtc_threshold=0.2 xtc_probability=1 top_p=1 min_p=0", 0.2),
        ("llama.cpp", "top_n_sigma=0.5 top_p=1 min_p=0", 0.3682),  # 0.6439 * e^(-0.5 * 1.118)
        ("llama.cpp", "mirostat=2 mirostat_tau=0.5 temp=1", 0.5),
    ],
)
def test_the_number_at_which_a_filter_cuts_is_a_dashed_line(
    tmp_path: Path, engine: str, settings: str, number: float
) -> None:
    given = [part for each in settings.split() for part in ("--set", each)]
    path = tmp_path / "page.html"
    uniforms = ["--uniform", "0.1"] * (engine != "transformers") * 4
    result = run("sample", engine, "3,2,1,0", *given, *uniforms, "--html", str(path))
    assert result.exit_code == 0, result.output
    lines = re.findall(r'class="threshold".*?<text[^>]*>([^<]*)', path.read_text("utf-8"))
    assert f"{number:.4g}" in lines


@pytest.mark.parametrize(
    ("engine", "settings", "says", "number"),
    [
        ("transformers", "typical_p=0.3", "surprises in nats; entropy: 0.9475", "0.44"),
        ("llama.cpp", "mirostat=2 mirostat_tau=0.5 temp=1", "surprises in bits; mu: 1", "0.64"),
    ],
)
def test_surprises_are_below_the_bars_with_what_they_are_compared_with(
    tmp_path: Path, engine: str, settings: str, says: str, number: str
) -> None:
    given = [part for each in settings.split() for part in ("--set", each)]
    uniform = ["--uniform", "0.1"] * (engine == "llama.cpp")
    page = explained(tmp_path, "sample", engine, "3,2,1,0", *given, *uniform)
    assert says in page.text
    assert f"0.644{number}{number}" in page.text, "the probability, the surprise and its title"
    learned = "so mu becomes 1 - 0.1 * (0 - 0.5) = 1.05." in page.text
    assert learned == (engine == "llama.cpp")


def test_a_step_that_changes_the_row_shows_what_was_before_it(tmp_path: Path) -> None:
    penalised = ("2,1,0", "--history", "0", "--set", "repeat_penalty=2", "--set", "temp=1")
    page = explained(tmp_path, "sample", "llama.cpp", *penalised)
    assert page.classes["old"] == 3
    assert "The rule: tokenref rules penalties" in page.text


def test_each_column_is_in_the_order_of_its_engine(tmp_path: Path) -> None:
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8")
    page = explained(tmp_path, "compare", "transformers", "llama.cpp", *row)
    places = re.findall(r"(transformers|llama\.cpp), stage (\d) of", page.text)
    for engine in ("transformers", "llama.cpp"):
        own = [place for name, place in places if name == engine]
        assert own == sorted(own)
    assert "llama.cpp applies temperature at stage 4" in page.text
    assert page.text.count("running sum; the dashed line is at 0.8.") == 2
    assert page.text.count("most probable first, though the engine begins at the other end") == 2
    assert (
        page.text.count("at most 1 - 0.8; of equal tokens: highest id; the picture begins at") == 1
    )
    assert "adds in this order" not in page.text


def test_the_random_number_is_shown_on_the_running_sum(tmp_path: Path) -> None:
    page = explained(tmp_path, "sample", "llama.cpp", "1,2,3,2.5", "--uniform", "0.4")
    assert page.classes["mark"] == 1
    assert re.search(r"Token \d is drawn", page.text)
    without = explained(tmp_path, "sample", "llama.cpp", "1,2,3,2.5")
    assert without.classes["mark"] == 0
    assert not re.search(r"Token \d is drawn", without.text)
    usual = explained(tmp_path, "sample", "llama.cpp", "3,2.5,2,1,0.5,0,-1", "--uniform", "0.4")
    borders = usual.text.partition("Token 0 is drawn.")[2]
    assert "0.7882" in borders
    assert "0.9353" not in borders, "it would touch the 1"


def test_engines_are_side_by_side_and_the_first_difference_is_marked(tmp_path: Path) -> None:
    row = ("3,2,2,1,0.5", "--set", "top_k=2", "--set", "temperature=1")
    page = explained(tmp_path, "compare", "vllm", "llama.cpp", *row)
    assert page.classes["first"] == 2
    assert "they differ at top_k" in page.text
    assert "vllm keeps the tokens 0 1 2llama.cpp keeps the tokens 0 1of equal" in page.text
    assert "of equal tokens: all in vllm, the first after its sort (libstdc++" in page.text
    assert "vllm, stage 2 of 2: the first difference, removes 2 tokens" in page.text
    assert re.search(
        r"llama\.cpp, stage \d of \d: the first difference, removes 3 tokens", page.text
    )
    assert "top_p is off in vllm, because top_p == 1.0" in page.text
    alike = explained(tmp_path, "compare", "vllm", "vllm", *row)
    assert alike.classes["first"] == 0


def test_the_bars_of_top_p_are_in_the_order_in_which_each_engine_walks(tmp_path: Path) -> None:
    row = ("1,1,1,1", "--set", "top_p=0.5", "--set", "temperature=1")
    page = explained(tmp_path, "compare", "llama.cpp", "transformers", *row)
    walks = [re.findall(r"token (\d) has 0.25, (kept|removed)", each) for each in _drawings(page)]
    assert walks == [
        [("1", "kept"), ("3", "kept"), ("0", "removed"), ("2", "removed")],
        [("0", "removed"), ("1", "removed"), ("2", "kept"), ("3", "kept")],
    ]
    labels = re.findall(r"adds in this order and (keeps|removes)", page.text)
    assert labels == ["keeps", "removes"]
    assert "Probabilities before top_p, least probable first, and their running sum" in page.text
    assert "top_p(p=0.5)" in page.text
    page = explained(
        tmp_path,
        "compare",
        "llama.cpp",
        "transformers",
        *(each.replace("0.5", "0.75") for each in row),
    )
    walks = [re.findall(r"token (\d) has 0.25, kept", each) for each in _drawings(page)]
    assert walks == [["1", "3", "0"], ["1", "2", "3"]], "as its sort orders equal tokens"


def _drawings(page: Page) -> list[str]:
    """Return what a page says about each drawing of top-p."""
    return [part.partition("running sum")[2] for part in page.text.split("before top_p,")[1::2]]


@pytest.mark.parametrize("shares", [[1, 2, 4, 8], [8, 4, 2, 1], [1, 1, 4, 1], [1] * 60])
@pytest.mark.parametrize("p", [0.2, 0.5, 0.75, 0.9])
def test_the_running_sum_of_an_engine_that_walks_upwards_says_what_it_removes(
    tmp_path: Path, shares: list[int], p: float
) -> None:
    path = tmp_path / "page.html"
    row = ",".join(str(log(share)) for share in shares)
    result = run(
        "sample",
        "transformers",
        row,
        "--set",
        "top_k=0",
        "--set",
        f"top_p={p}",
        "--html",
        str(path),
    )
    assert result.exit_code == 0, result.output
    drawing = path.read_text("utf-8").partition("<h3>top_p")[2].partition("</svg>")[0]
    bars = re.findall(r"token \d+: [\d.e-]+, running sum ([\d.e-]+), (kept|removed)", drawing)
    if len(shares) > MOST:
        assert {fate for _, fate in bars} == {"kept", "removed"}, "the border is seen"
    assert len(bars) == min(len(shares), MOST)
    assert float(bars[-1][0]) == pytest.approx(1)
    for total, fate in bars:
        if abs(float(total) - (1 - p)) > 1e-9:
            assert (fate == "removed") == (float(total) <= 1 - p)
    before = float(bars[0][0]) - shares[0] / sum(shares) if len(shares) > MOST else 0
    [start] = re.findall(r'points="36,([0-9.]+)', drawing)
    assert float(start) == pytest.approx(162 - 140 * before, abs=0.01)


@pytest.mark.parametrize(
    ("engine", "settings", "step", "sums"),
    [
        ("transformers", "top_p=0.7", "top_p", True),
        ("transformers", "typical_p=0.5", "typical", True),
        ("transformers", "min_p=0.5", "min_p", False),
        ("transformers", "eta_cutoff=0.2", "eta", False),
        ("transformers", "top_k=2", "top_k", False),
        ("transformers", "temperature=2", "temperature", False),
        ("llama.cpp", "top_n_sigma=0.5", "top_n_sigma", False),
        ("exllamav2", "top_a=0.2", "top_a", False),
        ("exllamav2", "tfs=0.9", "tail_free", False),
        ("exllamav2", "top_p=0.7", "top_p", False),  # a heap
    ],
)
def test_a_running_sum_is_drawn_only_where_the_rule_has_one(
    tmp_path: Path, engine: str, settings: str, step: str, sums: bool
) -> None:
    path = tmp_path / "page.html"
    result = run("sample", engine, "3,2,1,0", "--set", settings, "--html", str(path))
    assert result.exit_code == 0, result.output
    section = path.read_text("utf-8").partition(f"<h3>{step}(")[2].partition("</figure>")[0]
    assert "<svg" in section
    for part in ('class="sum"', "running sum", "adds in this order"):
        assert (part in section) == sums


def test_the_cause_of_a_difference_is_alone_and_what_has_no_effect_is_folded(
    tmp_path: Path,
) -> None:
    path = tmp_path / "page.html"
    row = ("3,2,1,0", "--set", "temperature=2", "--set", "top_p=0.8")
    assert run("compare", "transformers", "llama.cpp", *row, "--html", str(path)).exit_code == 0
    content = path.read_text(encoding="utf-8")
    cause, _, folded = content.partition('class="answer"')[2].partition("<details>")
    assert "they differ" in cause
    assert "transformers keeps the tokens 0 1 2</li><li>llama.cpp keeps the tokens 0 1<" in cause
    assert "top_p of transformers is after temperature, and gets the flatter row" in cause
    assert content.count('class="stage earlier"') == 1
    assert "source" not in cause
    assert "other differences" not in cause
    assert "source" in folded.partition("</details>")[0]


def test_a_race_leads_to_its_own_section_of_the_book(tmp_path: Path) -> None:
    assert "The book: Races" in explained(tmp_path, "sample", "vllm", "1,2").text
    assert "The book: Inverse CDF" in explained(tmp_path, "sample", "llama.cpp", "1,2").text


def test_a_draft_is_explained_by_lines_with_the_random_numbers_and_the_sum(tmp_path: Path) -> None:
    rows = ("speculative", ".5,.375,.125", ".125,.125,.75")
    page = explained(tmp_path, *rows)
    assert page.classes["stage"] == 4
    assert page.classes["mark"] == 3
    assert page.classes["kept"] == 6, "the smaller of p and q is in both bars"
    assert "token 2 has p = 1/8 and q = 3/4. It is accepted with probability" in page.text
    assert "The random number 0.4 is not below that: rejected." in page.text
    assert "The book: Speculative decoding" in page.text
    accepted = explained(tmp_path, *rows, "--uniforms", ".9", ".125", "0")
    assert "The random number 0.125 is below that" in accepted.text


def test_a_chain_of_drafts_is_explained_and_rows_may_be_those_of_the_small_model(
    tmp_path: Path,
) -> None:
    numbers = ("--uniforms", ".41", ".3", ".3", "--further", ".427", ".2", "--further")
    page = explained(tmp_path, "speculative", "model", "model", *numbers, ".146", ".7")
    assert page.classes["stage"] == 6
    assert "Speculative decoding of 3 tokens" in page.text
    assert "Draft 3: token 46 (.)" in page.text
    assert "the residual replaces the rejected draft" in page.text
    page = explained(tmp_path, "speculative", "model", "model", *numbers, ".078", ".7")
    assert "all are accepted, and a bonus token follows" in page.text
    one = explained(tmp_path, "speculative", "model", "model", "--before", "Every sampler, the")
    assert "Speculative decoding of one token" in one.text
    assert "min(1, p / q)" in one.text
    assert one.text != explained(tmp_path, "speculative", "model", "model").text


def test_special_tokens_are_pieces_of_their_own(tmp_path: Path) -> None:
    page = explained(tmp_path, "bpe", "a <|endoftext|> b")
    assert "Piece <|endoftext|>: it is the special token 2000" in page.text
    assert "The text has 4 tokens" in page.text
    assert "unless it is given --special" in page.text
    printed = CliRunner().invoke(main, ["trace", "a <|endoftext|> b"])
    assert "piece '<|endoftext|>' is the special token 2000\n" in printed.output


def test_rows_with_nothing_left_and_long_rows_are_shown(tmp_path: Path) -> None:
    page = explained(tmp_path, "sample", "llama.cpp", ",".join(["-inf"] * 3 + ["1"]))
    assert page.classes["draw"] == 1
    row = [float(token % 97) / 8 for token in range(30_000)]
    (tmp_path / "row.json").write_text(json.dumps(row), encoding="utf-8")
    changed = ("--history", "1,2", "--set", "frequency_penalty=1", "--set", "top_p=0.9")
    long = explained(tmp_path, "sample", "openai", str(tmp_path / "row.json"), *changed)
    assert long.text.count("more tokens") == 2
    assert long.classes["part"] == 0, "no part of the line of the draw has room for its name"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sample", "nobody", "1,2"], "nobody"),
        (["sample", "vllm", "1,x"], "LOGITS must be numbers separated by commas"),
        (["sample", "vllm", "1,2", "--set", "top_p=nan"], "top_p must"),
        (["compare", "vllm", "openai", "1,nan"], "nan"),
        (["bpe", "a", "--vocabulary", "nowhere"], "nowhere"),
        (["bpe", "a" * 5000], "pieces of at most 1000 characters"),
        (["speculative", "1,2", "1,x"], "DRAFT must be numbers separated by commas"),
        (["speculative", "1,2", "1"], "target and draft must have the same length, got 2 and 1"),
        (["speculative", "1", "1", "--uniforms", "0", "1", "0"], "uniforms[1] must be in [0, 1)"),
        (["speculative", "1", "1", "--further", "0", "1"], "uniforms[1] must be in [0, 1)"),
        (["speculative", "1,2", "model"], "target and draft must have the same length, got 2 and"),
    ],
)
def test_wrong_input_is_one_sentence_and_leaves_the_file_as_it_was(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text("as it was", encoding="utf-8")
    result = run(*arguments, "--html", str(path))
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output
    assert path.read_text(encoding="utf-8") == "as it was"


def test_the_file_must_be_named_and_writable(tmp_path: Path) -> None:
    for arguments, text in ((["bpe", "a"], "trace"), (["sample", "vllm", "1,2"], "sample")):
        said = f"add --html page.html; tokenref {text} prints the same as text"
        assert said in " ".join(run(*arguments).output.split())
    assert run("speculative", "1,1", "1,1").output.endswith("add --html page.html\n")
    result = run("bpe", "a", "--html", str(tmp_path / "no" / "page.html"))
    assert result.exit_code == 2
    assert "cannot be written" in result.output


@pytest.mark.parametrize("width", [390, 1200])
def test_a_page_fits_a_phone_and_a_desk(tmp_path: Path, window: Browser, width: int) -> None:
    path = tmp_path / "page.html"
    row = ("3,2,2,1,0.5", "--set", "top_k=2", "--set", "temperature=1")
    assert run("compare", "vllm", "llama.cpp", *row, "--html", str(path)).exit_code == 0
    window.size(width, 900, phone=width < 500)
    window.post("url", {"url": path.as_uri()})
    assert window.run("return document.documentElement.scrollWidth") <= width
    assert window.run("return document.querySelectorAll('svg').length") >= 6
    sides = window.run(
        "return [...document.querySelectorAll('.first')].map(e => e.getBoundingClientRect().x)"
    )
    assert (sides[0] < sides[1]) == (width == 1200), "side by side where there is room"


def test_what_was_set_for_one_engine_only_is_said_as_in_the_terminal(tmp_path: Path) -> None:
    asked = ("compare", "vllm", "llama.cpp", "3,2,1,0", "--set", "temp=2")
    [said, *_] = CliRunner().invoke(main, asked).output.splitlines()
    assert said == "temp was set for llama.cpp only; vllm calls it temperature"
    assert f"{said}." in explained(tmp_path, *asked).text
    assert "was set for" not in explained(tmp_path, *asked[:-1], "vllm:temperature=2").text
