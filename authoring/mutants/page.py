"""The page about mutants: each seeded bug, and the flags of the records that kill it."""

from collections.abc import Iterable

from authoring.data import tables
from authoring.mutants.gate import GateReport, Trial, rare_kills
from tokenref.subjects import Samplers, TokenizerFile

_PARTS = (
    ("Vocabularies", "a vocabulary"),
    ("Whole tokenizers", "a tokenizer.json"),
    ("Samplers", "samplers"),
)


def mutants_page(report: GateReport) -> str:
    """Return the page as Markdown, the same for the same fixtures.

    >>> mutants_page(GateReport([], asked=0, flags=[])).splitlines()[0]
    '# Seeded bugs'
    """
    killed, crude, survived = (
        f"{len(report.with_fate(fate)):,}" for fate in ("killed", "too crude", "survived")
    )
    lines = [
        "# Seeded bugs",
        "",
        "This page lists the bugs that the golden records detect. A mutant is the reference with",
        "one mistake. For each mutant, at least one record judges its answer wrong, so a real",
        "engine with the same mistake fails too. Written by `python -m authoring mutants`.",
        "",
        f"{len(report.trials):,} mutants: {killed} killed, {survived} survive, and {crude} are too",
        "crude to count: more than a quarter of the records of the same kind (on vocabularies, on",
        "tokenizers, or on samplers) detect them.",
        "",
        "A mistake names the projects where it was seen; without a name it is invented.",
        "The last column shows how many of the records that kill the mutant have each flag.",
        "`fixtures/glossary.json` explains the flags. Long texts and rows are only tried where",
        "fewer than three shorter ones kill a mutant.",
        "",
    ]
    for title, about in _PARTS:
        of_part = [trial for trial in report.trials if _part(trial) == title]
        lines += [f"## {title}", "", f"{len(of_part):,} mutants are tested on {about}.", ""]
        lines += [
            "| mutant | mistake | killed by | flags of the killers |",
            "| --- | --- | ---: | --- |",
        ]
        lines += [_row(trial) for trial in of_part]
        lines.append("")
    lines += [
        "## Bugs that few records find",
        "",
        "Fewer than three records kill these mutants. The gate compares them with this list.",
        "",
        "| mutant | records | why no others |",
        "| --- | --- | --- |",
        *(
            f"| `{name}` | {', '.join(f'`{each}`' for each in kill.records)} | {kill.why} |"
            for name, kill in rare_kills().items()
        ),
        "",
        "## What one call cannot show",
        "",
        "A record is one question, with everything that the answer depends on. These bugs of",
        "samplers show only in a sequence of calls, in a batch, in many draws, or not at all.",
        "",
        "| bug | seen in | why | caught by |",
        "| --- | --- | --- | --- |",
        *(f"| {' | '.join(row)} |" for row in tables("beyond")["bugs"]),
        "",
        "## Flags",
        "",
        "Flags whose records kill no mutant: " + (", ".join(report.idle_flags) or "none") + ".",
    ]
    return "\n".join(lines) + "\n"


def _part(trial: Trial) -> str:
    """Return the heading under which a mutant stands."""
    match trial.mutant.witness.vocabulary:
        case Samplers():
            return "Samplers"
        case TokenizerFile():
            return "Whole tokenizers"
        case _:
            return "Vocabularies"


def _row(trial: Trial) -> str:
    fate = "" if trial.fate == "killed" else f" ({trial.fate})"
    flags = ", ".join(f"{flag} {count}" for flag, count in sorted(trial.flags.items()))
    cells = (
        f"`{trial.mutant.name}`{fate}",
        trial.mutant.description,
        f"{len(trial.killers):,}",
        flags,
    )
    return f"| {' | '.join(_escaped(cells))} |"


def _escaped(cells: Iterable[str]) -> list[str]:
    r"""Return cells without what ends one, or begins an element.

    >>> _escaped(["a|b", "<s>"])
    ['a\\|b', '&lt;s>']
    """
    return [cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells]
