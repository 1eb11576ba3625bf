"""Measure everything and print it as a table: `python benchmarks/run.py --help`.

Each measurement is made in a process of its own (`measure.py`, `loading.py`);
this program starts them one after the other and compares what they say with
the targets. README.md tells what is measured, and how.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run by path, a script sees its own folder only

from benchmarks.plot import draw  # noqa: E402 - only now can it be found
from benchmarks.texts import (  # noqa: E402 - as above
    CHARACTERS,
    english_prose,
    fingerprint,
    mixed_scripts,
    python_code,
    random_letters,
)
from bpe_ref import ENCODERS, BpeError  # noqa: E402 - as above
from bpe_ref.finding import find  # noqa: E402 - as above
from bpe_ref.formats.files import read_unpacked  # noqa: E402 - as above
from bpe_ref.patterns.registered import PATTERNS  # noqa: E402 - as above
from bpe_ref.registry import REGISTRY  # noqa: E402 - as above

VOCABULARY: Final = "cl100k_base"
_GROWING: Final = (
    "appending",
    "prepending",
    "interval counting, preparation",
    "counting without a list",
    "appending characters",
    "interval counting, characters",
    "chunks of 50 tokens",
    "chunks of 50 tokens, overlap 5",
)
"""What `measure.GROWING` has; that module needs tiktoken, and so is not imported here."""

TOKENIZERS: Final = ROOT.parent / "shared" / "tokenizers"
"""Where the files of whole tokenizers are looked for."""

_FILES: Final[Mapping[str, tuple[str, float, float, str]]] = MappingProxyType(
    {
        "gpt2": ("gpt2.tokenizer.json.gz", 1.5, 4, ""),
        "Mistral": ("mistral01.tokenizer.json.gz", 1, 8, ""),
        "llama3_1": ("llama3_1.tokenizer.json", 1.2, 3, "mixed scripts"),
        "qwen3": ("qwen3.tokenizer.json", 1.2, 3, "mixed scripts"),
        "deepseek_v3": ("deepseek_v3.tokenizer.json", 1.2, 3, "mixed scripts"),
        "gptoss": ("gptoss.tokenizer.json", 1.2, 3, "mixed scripts"),
        "gemma3": ("gemma3.tokenizer.json", 1.2, 3, "code"),
    }
)
"""The files, the targets of a first and a repeated pass, times the library's throughput, and the
text if only one is measured. All but the first two are those of `tokenref vocabulary fetch`."""

_LOADING: Final = MappingProxyType({"gemma3": 1.5, "gptoss": 1.5})
"""The targets of loading the largest files, times the library's time; of others it is 6."""

_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_WORD: Final = r"[^\r\n\p{L}\p{N}]?"
_ENDING: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_LIKE: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "kimi_k2": (
            163_584,
            "|".join(
                (
                    r"[\p{Han}]+",
                    f"{_WORD}{_UPPER}*{_LOWER}+{_ENDING}",
                    f"{_WORD}{_UPPER}+{_LOWER}*{_ENDING}",
                    r"\p{N}{1,3}",
                    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
                    r"\s*[\r\n]+",
                    r"\s+(?!\S)",
                    r"\s+",
                )
            ),
        ),
        "llama4": (200_000, PATTERNS["o200k"].source),
    }
)
"""The number of tokens of files in tiktoken's format that no package has, and their patterns."""

_PASSES: Final = {"first": "first pass", "repeated": "repeated pass"}
_PART: Final = 8000  # characters, a few pages

PICTURE: Final = ROOT / "benchmarks" / "encoding_time.svg"

Numbers = dict[str, float]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    wall: float | None = None
    """The same by the clock on the wall."""

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return what is measured, the target, the number, that on the wall, and the verdict.

        >>> Row("speed", 0.4, at_least=0.35, wall=0.39).cells()
        ('speed', 'at least 0.35', '0.40', '0.39', 'met')
        >>> Row("import", 0.051, "s").cells()
        ('import', '', '0.051 s', '', '')
        """
        if self.at_least is not None:
            target, met = f"at least {self.at_least:g}", self.measured >= self.at_least
        elif self.at_most is not None:
            target, met = f"at most {self.at_most:g}", self.measured <= self.at_most
        else:
            return self.what, "", self._shown(self.measured), self._shown(self.wall), ""
        target = f"{target} {self.unit}".rstrip()
        verdict = "met" if met else "MISSED"
        return self.what, target, self._shown(self.measured), self._shown(self.wall), verdict

    def _shown(self, number: float | None) -> str:
        if number is None:
            return ""
        digits = {"s": 3, "MB": 0, "MB/s": 1}.get(self.unit, 2)
        return f"{number:.{digits}f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Job:
    """What to measure with."""

    texts: Mapping[str, str]
    """The texts by what the table calls them."""

    rounds: int = 5
    characters: int = CHARACTERS
    picture: Path = PICTURE
    tokenizers: Path = TOKENIZERS


def ask(measurement: str, options: Mapping[str, object]) -> Numbers:
    """Return what a measurement in a fresh process finds."""
    return dict(json.loads(_output("-m", "benchmarks.measure", measurement, given=options)))


def measure_passes(job: Job) -> Iterator[Row]:
    """Encode text through the pattern: with nothing cached, and with all pieces seen."""
    for name, text in job.texts.items():
        options = {"vocabulary": VOCABULARY, "text": text}
        found = _medians([ask("passes", options) for _ in range(job.rounds)])
        for which, target in (("first", 0.35), ("repeated", 0.6)):
            yield Row(
                f"{name}, {which} pass: share of tiktoken's throughput",
                found[which],
                at_least=target,
                wall=found[f"{which}_wall"],
            )


def measure_unsplit(job: Job) -> Iterator[Row]:
    """Encode the same text as one piece."""
    for name, text in job.texts.items():
        found = ask("unsplit", {"vocabulary": VOCABULARY, "text": text, "rounds": job.rounds})
        yield Row(
            f"{name}, one piece, backtracking: share of tiktoken's pre-tokenized throughput",
            found["share"],
            at_least=0.15,
            wall=found["share_wall"],
        )


def measure_like(job: Job) -> Iterator[Row]:
    """Encode mixed scripts with the first tokens of o200k_base and the patterns of other files."""
    for name, (tokens, pattern) in _LIKE.items():
        options = {
            "vocabulary": "o200k_base",
            "text": mixed_scripts(job.characters),
            "length": _PART,
            "like": (tokens, pattern),
        }
        found = _medians([ask("passes", options) for _ in range(job.rounds)])
        for which in ("first", "repeated"):
            yield Row(
                f"like {name}, mixed scripts, {which} pass: share of tiktoken's throughput",
                found[which],
                at_least=0.25 if which == "first" else None,
                wall=found[f"{which}_wall"],
            )


def measure_fastest(job: Job) -> Iterator[Row]:
    """Encode with the packages that are known for their speed."""
    for name, text in {**job.texts, "mixed scripts": mixed_scripts(job.characters)}.items():
        options = {"vocabulary": VOCABULARY, "text": text, "length": _PART, "rounds": job.rounds}
        for who, speed in ask("fastest", options).items():
            yield Row(f"{name}: {who}", speed, "" if "other" in who else "MB/s")


def measure_random(job: Job) -> Iterator[Row]:
    """Encode one piece of random letters."""
    for encoder, growth, rounds in (
        ("backtracking", 12, 3),
        ("prefix_table", 12, 3),
        ("heap", 30, 2),
    ):
        options = {
            "vocabulary": VOCABULARY,
            "encoder": encoder,
            "length": job.characters,
            "rounds": min(rounds, job.rounds),
        }
        found = ask("random_piece", options)
        about = f"{job.characters:,} random letters, {encoder}"
        if encoder == "backtracking":
            yield Row(
                f"{about}: times tiktoken's time",
                found["to_tiktoken"],
                at_most=4,
                wall=found["to_tiktoken_wall"],
            )
        yield Row(
            f"{about}: times the time of a tenth",
            found["growth"],
            at_most=growth,
            wall=found["growth_wall"],
        )
        yield Row(about, found["seconds"], "s")


def measure_loading(job: Job) -> Iterator[Row]:
    """Load, up to the first encoded text, and up to all tables."""
    entry = REGISTRY[VOCABULARY]
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / f"{entry.file}.tiktoken"
        plain.write_bytes(read_unpacked(find(VOCABULARY)))
        folders = {"TOKENREF_VOCABULARIES": folder, "TIKTOKEN_CACHE_DIR": f"{folder}/cache"}

        def moments(who: str) -> list[tuple[float, float]]:
            command = ("-m", "benchmarks.loading", who, str(plain), entry.sha256, entry.pattern)
            return [tuple(moment) for moment in json.loads(_output(*command, extra=folders))]

        moments("tiktoken")  # fills its cache
        found: list[Numbers] = []
        for _ in range(job.rounds):
            theirs, ours = moments("tiktoken"), moments("reference")
            numbers: Numbers = {}
            for clock, ending in enumerate(("", "_wall")):
                start, imported, ready, all_tables = (moment[clock] for moment in ours)
                their_start, their_imported, their_ready = (moment[clock] for moment in theirs)
                numbers |= {
                    f"ours{ending}": ready - imported,
                    f"theirs{ending}": their_ready - their_imported,
                    f"ratio{ending}": (ready - imported) / (their_ready - their_imported),
                    f"with_import{ending}": (ready - start) / (their_ready - their_start),
                    f"tables{ending}": all_tables - imported,
                }
            found.append(numbers)
    numbers = _medians(found)

    def row(what: str, key: str, unit: str = "", at_most: float | None = None) -> Row:
        return Row(what, numbers[key], unit, at_most=at_most, wall=numbers[f"{key}_wall"])

    yield row("loading to the first encoded text: times tiktoken's time", "ratio", "", 3)
    yield row("the same, with the import: times tiktoken's time", "with_import", "", 3)
    yield row("loading to the first encoded text", "ours", "s")
    yield row("tiktoken, loading to the first encoded text", "theirs", "s")
    yield row("loading with all tables of backtracking", "tables", "s", 1.2)


def measure_files(job: Job) -> Iterator[Row]:
    """Load the files of whole tokenizers, and encode text for the first time and again."""
    if find_spec("tokenizers") is None:
        print("tokenizers is not installed, so its files are not measured.")
        return
    texts = dict(job.texts)
    if "prose" in texts:  # not a text of one's own
        texts["mixed scripts"] = mixed_scripts(job.characters)
    for name, (file, first, repeated, only) in _FILES.items():
        path = job.tokenizers / file
        if not path.is_file():
            print(f"There is no {path}, so the {name} file is not measured.")
            continue
        for kind, text in texts.items():
            if only and kind != only and only in texts:
                continue
            for length, how in ((0, "whole"), (_PART, f"in parts of {_PART:,}"))[bool(only) :]:
                options = {"path": str(path), "text": text, "length": length}
                rounds = [_ask_about_file(options) for _ in range(min(job.rounds, 3))]
                found = _medians(rounds)
                if only or (kind == next(iter(texts)) and not length):
                    yield Row(
                        f"{name} file: load, times the library's time",
                        found["load"],
                        at_most=_LOADING.get(name, 6),
                        wall=found["load_wall"],
                    )
                for which, target in (
                    *(("first", first), ("repeated", repeated)),
                    *(("tokenize", 0.3), ("decode", 0.7))[: 2 * bool(length)],
                ):
                    yield Row(
                        f"{name} file, {kind} {how}, {_PASSES.get(which, which)}: "
                        "times the library's throughput",
                        found[which],
                        at_least=target,
                        wall=found[f"{which}_wall"],
                    )


def _ask_about_file(options: Mapping[str, object]) -> Numbers:
    """Return what a fresh process finds, in which the library has one thread."""
    extra = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    output = _output("-m", "benchmarks.tokenizer_files", given=options, extra=extra)
    return dict(json.loads(output))


def measure_memory(job: Job) -> Iterator[Row]:
    """Find the most memory that a process ever used, with the tables of all encoders."""
    text = next(iter(job.texts.values()))
    found = ask("memory", {"vocabulary": VOCABULARY, "text": text})
    yield Row("most memory used, all tables of all encoders", found["megabytes"], "MB", at_most=350)


def measure_import(_job: Job) -> Iterator[Row]:
    """Import `bpe_ref` in fresh processes."""
    bare: list[float] = []
    importing: list[float] = []
    for _ in range(9):
        bare.append(_wall("-c", "pass"))
        importing.append(_wall("-c", "import bpe_ref"))
    seconds = median(importing) - median(bare)
    yield Row("importing bpe_ref, on the wall", seconds, "s", at_most=0.15)
    yield Row("starting Python, on the wall", median(bare), "s")


def measure_check(_job: Job) -> Iterator[Row]:
    """Run `tokenref check reference`, with the fixtures of this checkout."""
    if not any((ROOT / "fixtures").rglob("*.jsonl*")):
        print("There are no fixtures, so `tokenref check reference` is not measured.")
        return
    start = perf_counter()
    command = "from tokenref.cli import main; main(['check', 'reference'])"
    finished = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, check=False
    )
    seconds = perf_counter() - start
    if finished.returncode:
        print(f"`tokenref check reference` ended with exit code {finished.returncode}.")
    yield Row("tokenref check reference, on the wall", seconds, "s", at_most=15)


def draw_curves(job: Job) -> Iterator[Row]:
    """Show encoding time against length, as a table and as a picture."""
    text = "".join(job.texts.values())[: job.characters]
    lengths = [length for length in _half_decades() if length <= job.characters]
    curves: dict[str, dict[int, float]] = {}
    for encoder in (*ENCODERS, *_peers()):
        options = {"vocabulary": VOCABULARY, "encoder": encoder, "text": text, "lengths": lengths}
        found = ask("curve", options)
        curves[encoder] = {int(length): seconds for length, seconds in found.items()}
    _print_curves("Seconds for one piece, by its length in bytes", curves, lengths)
    if find_spec("matplotlib") is None:
        print("\nNo picture: matplotlib is not installed (pip install '.[benchmarks]').")
    else:
        draw(curves, job.picture, f"One piece of prose and code, {VOCABULARY}")
        print(f"\nThe picture is {job.picture.name}.")
    yield from ()


def _peers() -> list[str]:
    """Return the encoders of other projects that are installed; tiktoken is."""
    return [name for name in ("tiktoken", "tokenizers", "bpe_openai") if find_spec(name)]


def measure_incremental(job: Job) -> Iterator[Row]:
    """Count texts that grow, parts of a text, and how the time of each grows with the text."""
    for name, text in job.texts.items():
        options = {"vocabulary": VOCABULARY, "text": text, "rounds": job.rounds}
        found = ask("appending", options)
        yield Row(
            f"{name}, appended byte by byte: times one backtracking pass",
            found["appending"],
            at_most=4,
        )
        yield Row(
            f"{name}, prepended byte by byte: times one backtracking pass", found["prepending"]
        )
    yield Row("building the automaton", found["automaton_seconds"], "s")
    yield Row("building the automaton of reversed tokens", found["reversed_seconds"], "s")
    for name, text in job.texts.items():
        options = {"vocabulary": VOCABULARY, "text": text, "length": 10_000, "times": 1000}
        found = ask("intervals", options | {"rounds": min(job.rounds, 3)})
        about = f"{name}, 1,000 parts of 10,000 bytes"
        yield Row(f"{about}: times faster than encoding each", found["faster"], at_least=50)
        yield Row(f"{about}: the same, with the preparation", found["with_preparing"])
        yield Row(f"{about}: one part, in microseconds", found["microseconds"])
    text = "".join(job.texts.values())
    lengths = [length for length in _decades() if length <= min(len(text), job.characters)]
    for what in _GROWING:
        options = {"vocabulary": VOCABULARY, "what": what, "text": text, "lengths": lengths}
        found = ask("growth", options | {"rounds": min(job.rounds, 3)})
        worst = max(
            (ratio for name, ratio in found.items() if name.startswith("growth")), default=0
        )
        about = f"{what}, 1,000 to {lengths[-1]:,} characters"
        yield Row(f"{about}: most growth per decade", worst, at_most=12)
        yield Row(about, found["seconds"], "s")


def draw_incremental(job: Job) -> Iterator[Row]:
    """Show appending, interval counting and the worst case against length, as pictures."""
    text = "".join(job.texts.values())[: job.characters]
    lengths = [length for length in _half_decades() if length <= job.characters]
    pictures: tuple[tuple[str, str, str, str, Sequence[str]], ...] = (
        (
            "appending_time.svg",
            f"Appending byte by byte, {VOCABULARY}",
            "length of the text in bytes",
            text,
            ("appending", "backtracking"),
        ),
        (
            "counting_time.svg",
            f"Counting one part of a text, {VOCABULARY}",
            "length of the part in bytes",
            text,
            ("intervals", "backtracking"),
        ),
        (
            "worst_case_time.svg",
            f"One word of random letters, {VOCABULARY}",
            "length of the word in bytes",
            random_letters(job.characters),
            ("naive", "scan", "heap", "prefix_table", "backtracking", *_peers()),
        ),
    )
    for file, title, xlabel, content, who in pictures:
        measurement = "counting_curve" if "intervals" in who else "curve"
        longest = len(content.encode()) // 2 if "intervals" in who else job.characters
        curves: dict[str, dict[int, float]] = {}
        for encoder in who:
            options: dict[str, object] = {"vocabulary": VOCABULARY, "encoder": encoder}
            options["text"] = content
            asked = [length for length in lengths if length <= longest]
            if measurement == "curve":
                options |= {"least": True}
            found = ask(measurement, options | {"lengths": asked})
            curves[encoder] = {int(length): seconds for length, seconds in found.items()}
        _print_curves(f"{title}: seconds by bytes", curves, lengths)
        if find_spec("matplotlib") is None:
            print("\nNo picture: matplotlib is not installed (pip install '.[benchmarks]').")
        else:
            draw(curves, job.picture.parent / file, title, xlabel)
            print(f"\nThe picture is {file}.")
    yield from ()


def _print_curves(
    about: str, curves: Mapping[str, Mapping[int, float]], lengths: Sequence[int]
) -> None:
    print(f"\n{about}:\n")
    print(f"{'bytes':>9}" + "".join(f"{name:>14}" for name in curves))
    for length in lengths:
        cells = (points.get(length) for points in curves.values())
        shown = ("" if seconds is None else f"{seconds:.2g}" for seconds in cells)
        print(f"{length:>9}" + "".join(f"{cell:>14}" for cell in shown))


PARTS: Final[Mapping[str, Callable[[Job], Iterator[Row]]]] = MappingProxyType(
    {
        "passes": measure_passes,
        "unsplit": measure_unsplit,
        "like": measure_like,
        "fastest": measure_fastest,
        "random": measure_random,
        "loading": measure_loading,
        "files": measure_files,
        "memory": measure_memory,
        "import": measure_import,
        "check": measure_check,
        "incremental": measure_incremental,
        "plot": draw_curves,
        "plot_incremental": draw_incremental,
    }
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments select; return the exit code, which says nothing of targets."""
    parser = argparse.ArgumentParser(description="Measure everything and print it as a table.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--text", type=Path, help="a file of your own, in UTF-8, to encode")
    parser.add_argument("--rounds", type=int, default=5, help="how often; the median is reported")
    parser.add_argument("--characters", type=int, default=CHARACTERS, help="the longest text")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where the picture goes")
    parser.add_argument(
        "--tokenizers", type=Path, default=TOKENIZERS, help="the folder of tokenizer.json files"
    )
    chosen = parser.parse_args(arguments)
    for name in chosen.parts:
        if name not in PARTS:
            parser.error(f"a part must be one of {', '.join(PARTS)}, got {name!r}")
    for option in ("rounds", "characters"):
        if getattr(chosen, option) < 1:
            parser.error(f"--{option} must be at least 1, got {getattr(chosen, option)}")
    if find_spec("tiktoken") is None:
        parser.error("tiktoken, which everything is compared with, is not installed")
    try:
        find(VOCABULARY)
    except BpeError as error:
        parser.error(str(error))
    texts = _texts(chosen.text, chosen.characters)
    job = Job(texts, chosen.rounds, chosen.characters, chosen.picture, chosen.tokenizers)
    _print_circumstances(texts)
    start = perf_counter()
    rows = [
        row.cells() for name in PARTS if name in (chosen.parts or PARTS) for row in PARTS[name](job)
    ]
    if rows:
        _print_table(rows)
    print(f"\nIn {perf_counter() - start:.0f} s.")
    return 0


def _texts(path: Path | None, characters: int) -> dict[str, str]:
    if path is not None:
        return {path.name: path.read_text(encoding="utf-8")[:characters]}
    return {"prose": english_prose(characters), "code": python_code(characters)}


def _decades() -> list[int]:
    """Return 1,000, and so on up to a million."""
    return [10**power for power in range(3, 7)]


def _half_decades() -> Iterator[int]:
    """Yield 10, 30, 100, and so on up to a million."""
    for power in range(1, 6):
        yield from (10**power, 3 * 10**power)
    yield 10**6


def _output(
    *arguments: str, given: object = None, extra: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return what a fresh Python prints."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **extra},
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout


def _wall(*arguments: str) -> float:
    start = perf_counter()
    _output(*arguments)
    return perf_counter() - start


def _medians(rounds: Sequence[Numbers]) -> Numbers:
    return {name: median(numbers[name] for numbers in rounds) for name in rounds[0]}


def _print_circumstances(texts: Mapping[str, str]) -> None:
    """Print what the numbers depend on."""
    versions = [f"Python {platform.python_version()}", f"tiktoken {_version('tiktoken')}"]
    print(", ".join([*versions, platform.machine(), f"{os.cpu_count()} cores", VOCABULARY]))
    for name, text in texts.items():
        size = len(text.encode())
        print(f"{name}: {len(text):,} characters, {size:,} bytes, {fingerprint(text)}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the rows as Markdown, in columns of even width."""
    heads = ("what", "target", "measured", "on the wall", "verdict")
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    print()
    for cells in (heads, tuple("-" * width for width in widths), *rows):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        print(f"| {' | '.join(padded)} |")


if __name__ == "__main__":
    raise SystemExit(main())
