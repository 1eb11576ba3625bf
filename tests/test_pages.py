"""The pages say what the programs do: links lead somewhere, tables are whole, consumers run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, get_args

import click
import pytest
from click.testing import CliRunner

from authoring.figures import FOLDER as FIGURES
from authoring.figures import HEAT, figures
from bpe_ref import Tokenizer, load
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.models.word_level import WordLevel
from bpe_ref.pre_tokenizers.character_classes import Whitespace
from sampling_ref import STEPS
from sampling_ref.steps.step import REQUIRED
from tests.small_fixtures import checkout_fixtures
from tokenref.cli import main
from tokenref.generators import CONVERSIONS, GENERATORS
from tokenref.operations import ABOUT
from tokenref.pages import section
from tokenref.record import OPS, SAMPLER_OPS
from tokenref.rules import points, slug
from tokenref.verdicts import SamplerErrorCode, TokenizerErrorCode

ROOT: Final = Path(__file__).parent.parent
FORMAT_PAGE: Final = ROOT / "fixtures" / "README.md"
RULES_PAGE: Final = ROOT / "docs" / "sampling.md"
PAGES: Final = (
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
    FORMAT_PAGE,
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "book").glob("*.md")),
    *sorted((ROOT / "docs" / "claims").glob("*.md")),
)
GENERATED: Final = {"engines.md", "differences.md", "unconfirmed.md", "mutants.md", "records.md"}
PRESENT: Final = [page for page in PAGES if page.name not in {*GENERATED, "CHANGELOG.md"}]
"""The pages that are written by hand. An old release in CHANGELOG.md had other files."""
PATH: Final = r"`((?:bpe_ref|sampling_ref|tokenref|authoring|benchmarks|tests)/[^`\s]*)`"


def prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def code_of(page: Path, language: str) -> list[str]:
    """Return the pieces of code in a language that a page shows."""
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def rows(page: Path, *titles: str) -> list[list[str]]:
    """Return the rows of the table that has these titles."""
    head = "| " + " | ".join(titles) + " |"
    lines = iter(page.read_text("utf-8").splitlines())
    assert head in lines, f"{page.name} must have a table {head}"
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def names(cell: str) -> list[str]:
    """Return what stands between backquotes in a cell."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path = target.partition("#")[0]
        if path and not target.startswith("https://"):
            assert (page.parent / path).exists(), target


def test_every_figure_is_as_the_code_draws_it_and_is_shown_with_a_text_for_it() -> None:
    drawn = figures()
    assert {path.name for path in (ROOT / FIGURES).iterdir()} == drawn.keys()
    shown = {
        Path(path).name
        for page in PAGES
        for text, path in re.findall(
            r"!\[([^\]]*)\]\(((?:docs/|\.\./)?figures/[^)]*)\)", prose(page)
        )
        if len(text) > 40
    }
    assert shown == drawn.keys()
    after = [
        after
        for page in sorted(PAGES, key=chapter_number)
        if chapter_number(page)
        for after in re.findall(r"^!\[.*\n\n(.*)$", prose(page), re.MULTILINE)
    ]
    assert len(after) > 20
    for number, caption in enumerate(after, 1):
        assert caption.startswith(f"*Figure {number}. ")
    for name, content in drawn.items():
        assert (ROOT / FIGURES / name).read_text("utf-8") == content


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_on_a_heat_map_are_legible(theme: str) -> None:
    """The contrast of text is at least 4.5, as WCAG 2.1 demands, on the strongest cell, too."""
    style = files("tokenref.commands").joinpath("pictures.css").read_text("utf-8")
    colours = style.split("prefers-color-scheme: dark")[theme == "dark"]
    rgb = {
        name: [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        for name, digits in re.findall(r"--(\w+): #(\w{6});", colours.replace("#fff;", "#ffffff;"))
    }
    cell = [
        HEAT * strong + (1 - HEAT) * paper
        for strong, paper in zip(rgb["removed"], rgb["paper"], strict=True)
    ]

    def luminance(colour: Sequence[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(rgb["ink"]), luminance(cell)])
    assert (high + 0.05) / (low + 0.05) >= 4.5


def chapter_number(page: Path) -> int:
    found = re.match(r"# (\d+)\. ", page.read_text("utf-8"))
    return int(found[1]) if found else 0


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_of_the_project_that_a_page_names_is_there(page: Path) -> None:
    for path in re.findall(PATH, prose(page)):
        assert (ROOT / path).exists(), path


def test_every_page_of_the_book_is_in_its_index() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)\)", prose(ROOT / "docs" / "README.md")))
    pages = {page.name for page in (ROOT / "docs").iterdir() if page.suffix in {".md", ".html"}}
    assert pages - {"README.md"} <= linked
    assert {f"claims/{page.name}" for page in (ROOT / "docs" / "claims").glob("*.md")} <= linked
    book = ROOT / "docs" / "book"
    chapters = set(re.findall(r"\]\(([^)#]+)\)", prose(book / "README.md")))
    assert {page.name for page in book.glob("*.md")} - {"README.md"} <= chapters


def test_every_page_that_is_written_by_hand_shows_the_way_back_to_the_index() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name not in {*GENERATED, "README.md"}:
            assert "](README.md)" in prose(page), page.name
    for page in [page for page in PAGES if page.parents[1] == ROOT / "docs"]:
        assert "](../README.md)" in prose(page), page.name
    assert "](docs/README.md)" in prose(ROOT / "README.md")
    assert "](../docs/README.md)" in prose(FORMAT_PAGE)
    assert "](../README.md)" in prose(ROOT / "docs" / "README.md")


def test_the_page_about_samplers_has_every_choice_at_every_point_the_standard_one_first() -> None:
    table = rows(RULES_PAGE, "step", "point", "choices")
    seen = []
    for op in SAMPLER_OPS:
        for point, choices in points(op).items():
            found = [
                row
                for row in table
                if row[1] == point.replace("_", "-") and op in row[0].split(", ")
            ]
            assert len(found) == 1, f"{op}: {point}"
            assert names(found[0][2]) == [slug(choice) for choice in choices], f"{op}: {point}"
            seen += found
    assert [row for row in table if row not in seen] == []


def test_the_page_about_samplers_has_every_parameter_of_every_step() -> None:
    described = {
        step: row[1]
        for row in rows(RULES_PAGE, "step", "parameters", "the rule")
        for step in row[0].split(", ")
    }
    for name, step in STEPS.items():
        if name in {"greedy", "logprobs"}:
            continue
        for parameter, default in step.parameters.items():
            assert re.search(rf"\b{parameter}\b", described[name]), f"{name}: {parameter}"
            if default is not REQUIRED:
                assert re.search(rf"\b{parameter} \(", described[name]), f"{name}: {parameter}"


def test_the_format_page_has_every_operation_and_every_code() -> None:
    text = prose(FORMAT_PAGE)
    stated = {name for line in text.splitlines() if line.startswith("| `") for name in names(line)}
    others = {op for op in SAMPLER_OPS if op in STEPS and op not in stated}
    assert set(OPS) - stated - others == set()
    assert "the steps that change logits" in text
    assert others <= {row for step in described_steps() for row in step}
    assert set(get_args(TokenizerErrorCode) + get_args(SamplerErrorCode)) <= stated


def described_steps() -> Iterator[list[str]]:
    """Yield the steps of each row of the table of parameters."""
    for row in rows(RULES_PAGE, "step", "parameters", "the rule"):
        yield row[0].split(", ")


def test_the_format_page_says_how_every_generator_is_started() -> None:
    found = {
        name: row
        for row in rows(FORMAT_PAGE, "generator", "needs", "may have", "its words", "what they are")
        for name in names(row[0])
    }
    assert found.keys() == GENERATORS.keys()
    for name, generator in GENERATORS.items():
        row = found[name]
        assert (tuple(names(row[1])), tuple(names(row[2]))) == (generator.needs, generator.allows)
        assert row[3] == f"{generator.bits} bits"


def test_the_format_page_says_what_every_conversion_takes() -> None:
    found = {
        name: row[1:3]
        for row in rows(FORMAT_PAGE, "conversion", "words for each number", "type", "the number")
        for name in names(row[0])
    }
    assert found == {
        name: [f"{way.words} of {way.bits} bits", f"`{way.dtype}`"]
        for name, way in CONVERSIONS.items()
    }


@pytest.mark.skipif(
    not (ROOT / "fixtures" / "MANIFEST.json").is_file(), reason="the fixtures are not filled here"
)
def test_the_consumer_of_samplers_on_the_format_page_finds_no_failure() -> None:
    sources = code_of(FORMAT_PAGE, "python")
    assert len(sources) == 2
    assert len(sources[1].strip().splitlines()) <= 60
    done = subprocess.run(
        [sys.executable, "-I", "-c", sources[1]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.fullmatch(r"(\d+) run, 0 failed; (\d+) canaries, 0 passed\n", done.stdout)
    assert found, done.stdout
    assert int(found[1]) > 100
    assert int(found[2]) > 5


SHOWN_TESTS: Final = [
    block
    for page in (ROOT / "docs" / "commands.md", ROOT / "docs" / "pytest.md")
    for block in code_of(page, "python")
    if ">>>" not in block and "__main__" not in block
]


def run_tests(tmp_path: Path, source: str) -> str:
    """Run a file of tests, and return the last line of what pytest printed."""
    (tmp_path / "test_shown.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", ".", "test_shown.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()[-1]


def test_the_tests_that_pages_show_pass(tmp_path: Path) -> None:
    shown = [block for block in SHOWN_TESTS if "import torch" not in block]
    assert len(shown) == 4
    page = (ROOT / "docs" / "pytest.md").read_text("utf-8")
    [typed] = re.findall(r"```sh\n(printf .*?)```", page, re.DOTALL)
    shutil.copy(checkout_fixtures() / "tokenizer/family_llama2.json", tmp_path / "tokenizer.json")
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-ec", typed], cwd=tmp_path, check=True, env=os.environ | path)
    run_tests(tmp_path, "\n\n".join(shown))


OWN_TOKENIZER: Final = """
import { readFileSync } from "node:fs";
const { vocab } = JSON.parse(readFileSync("tokenizer.json", "utf8")).model;
export function tokenize(text) {
  const found = [...text.matchAll(/[\\p{L}\\p{N}_]+|[^\\p{L}\\p{N}_\\s]+/gu)];
  const offsets = found.map((each) => [each.index, each.index + each[0].length]);
  return { ids: found.map((each) => vocab[each[0]] ?? 0), offsets };
}
"""
"""A tokenizer in JavaScript, with offsets in UTF-16."""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_recipe_for_own_records_under_node_works_as_typed(tmp_path: Path) -> None:
    page = ROOT / "docs" / "your-engine.md"
    make, run = (block for block in code_of(page, "sh") if "my.txt" in block or "node" in block)
    (shown,) = code_of(page, "js")
    words = ("[UNK]", "to", "be", ",", "or", "not", "that", "is", "the", "question", "🙂")
    vocab = {word: number for number, word in enumerate(words)}
    model = WordLevel(vocab, unk_token=words[0])
    content = dump_tokenizer_json(Tokenizer(model, pre_tokenizer=Whitespace()))
    (tmp_path / "tokenizer.json").write_bytes(content)
    (tmp_path / "goldens.test.mjs").write_text(shown, "utf-8")
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        how: dict[str, Any] = {"cwd": tmp_path, "env": os.environ | path, "text": True}
        return subprocess.run(["/bin/sh", "-ec", line], check=False, capture_output=True, **how)

    assert typed(make).returncode == 0
    by_bytes = shown.replace("character.length", "Buffer.byteLength(character)")
    in_bytes = OWN_TOKENIZER.replace(
        "[each.index, each.index + each[0].length]",
        "[0, each[0].length].map((size) => Buffer.byteLength(text.slice(0, each.index + size)))",
    )
    for test, tokenizer, failures in (
        (shown, OWN_TOKENIZER, 0),
        (shown, OWN_TOKENIZER.replace("vocab[each[0]] ?? 0", "0"), 2),
        (shown, in_bytes, 1),  # only one text has a character that is not ASCII
        (by_bytes, in_bytes, 0),
    ):
        (tmp_path / "tokenizer.mjs").write_text(tokenizer, "utf-8")
        (tmp_path / "goldens.test.mjs").write_text(test, "utf-8")
        done = typed(run)
        assert (done.returncode, f"fail {failures}\n" in done.stdout) == (int(bool(failures)), True)


def test_the_program_that_a_page_shows_counts_with_a_pool_of_processes(tmp_path: Path) -> None:
    blocks = code_of(ROOT / "docs" / "commands.md", "python")
    (shown,) = [block for block in blocks if "ProcessPoolExecutor" in block]
    (tmp_path / "shown.py").write_text(shown, "utf-8")
    done = subprocess.run(
        [sys.executable, "shown.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    texts = ["To be, or not to be", "that is the question"]
    assert int(done.stdout) == 1000 * sum(map(load("tiny").count, texts))


def test_the_example_for_vllm_and_transformers_passes(tmp_path: Path) -> None:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason="the samplers' engines are an extra")
    (shown,) = [block for block in SHOWN_TESTS if "import torch" in block]
    assert "def test_golden_batches" in shown
    passed = re.search(r"(\d+) passed", run_tests(tmp_path, shown))
    assert passed is not None
    assert int(passed[1]) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists_with_its_options(page: Path) -> None:
    blocks = code_of(page, "sh") + code_of(page, "console") + code_of(page, "text")
    shown = "\n".join(blocks).replace("\\\n", " ")
    starts = r"^(?:\$ |\S+=\S+ |cd \S+ && )?tokenref ([a-z]+)(.*)$"
    for name, rest in re.findall(starts, shown, re.MULTILINE):
        assert name in main.commands, name
        arguments = re.sub(r"'[^']*'|#.*|[|>&].*", "", rest).split()
        path = [name]
        command: click.Command = main.commands[name]
        if isinstance(command, click.Group):
            path.append(arguments[0])
            command = command.commands[arguments[0]]
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {option for parameter in command.params for option in parameter.secondary_opts}
        unknown = {word for word in arguments if word.startswith("--")} - known - {"--help"}
        assert not unknown, f"{' '.join(path)}: {unknown}"


@pytest.mark.parametrize("op", OPS)
def test_the_book_teaches_every_operation_with_an_example(op: str) -> None:
    page, _, anchor = ABOUT[op].lesson.partition("#")
    text = (ROOT / page).read_text("utf-8")
    headings = re.findall(r"^##+ (.*)", text, re.MULTILINE)
    assert [*map(anchor_of, headings)].count(anchor) == 1
    found = section(text, anchor)
    assert "```" in found or "](../figures/" in found


@pytest.mark.parametrize(
    ("chapter", "steps"),
    {
        "logits": ("temperature", "repetition_penalty", "frequency_penalty", "no_repeat_ngram"),
        "filters": (
            *("top_k", "top_p", "min_p", "typical", "epsilon", "eta", "top_n_sigma", "top_a"),
            *("top_h", "tail_free", "xtc", "mirostat_1", "mirostat_2", "adaptive_p"),
        ),
        "loops": ("dry", "lz"),
    }.items(),
)
def test_a_chapter_names_the_source_of_each_step(chapter: str, steps: Sequence[str]) -> None:
    sources = section((ROOT / "docs" / "book" / f"{chapter}.md").read_text("utf-8"), "sources")
    for step in steps:
        text = (ROOT / "sampling_ref" / "steps" / f"{step}.py").read_text("utf-8")
        [address, *_] = re.findall(r"\((https://\S+?)\)", text)
        assert address in sources, step


def test_every_chapter_names_its_sources() -> None:
    for page in (ROOT / "docs" / "book").glob("*.md"):
        is_chapter = "## Exercises" in page.read_text("utf-8")
        assert bool(section(page.read_text("utf-8"), "sources")) == is_chapter, page


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as pages of Markdown have it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", ["README.md", "docs/book/filters.md"])
def test_the_first_page_and_the_book_show_the_first_lines_of_a_comparison(page: str) -> None:
    [(command, shown)] = re.findall(
        r"```console\n\$ tokenref ([^\n]*)\n(.*?)  \.\.\.\n```",
        (ROOT / page).read_text("utf-8"),
        re.DOTALL,
    )
    assert shown.count("\n") == 3
    assert CliRunner().invoke(main, command.split()).stdout.startswith(shown)


VERDICTS: Final = (
    "holds",
    "holds with a condition",
    "does not hold",
    "not reproduced",
    "not measured",
)


CLAIMS: Final = sorted((ROOT / "docs" / "claims").glob("*.md"))


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.name)
def test_every_claim_has_a_verdict_and_a_section(page: Path) -> None:
    anchors = {
        anchor_of(heading) for heading in re.findall(r"^## (.*)$", prose(page), re.MULTILINE)
    }
    shown = set()
    for _claim, verdict, link in rows(page, "claim", "verdict", "shown in"):
        assert verdict in VERDICTS
        found = re.fullmatch(r"\[[^\]]+\]\(#([^)]+)\)", link)
        assert found, link
        shown.add(found[1])
    assert shown == anchors
    for text, path in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", prose(page)):
        assert len(text) >= 60, path
