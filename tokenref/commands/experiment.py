"""`tokenref experiment`: which penalty keeps a model from looping, and what it costs."""

import signal
from collections.abc import Iterable
from multiprocessing import Pool
from os import cpu_count
from pathlib import Path
from time import monotonic
from typing import Final

import click

from tokenref.commands.paths import FILE, must_be_writable, progress_bar, write
from tokenref.experiment import TEMPERATURES, Outcome, Plan, cells, read_results, results_text
from tokenref.visible import visible

_WIDTH: Final = 7
_PAUSE: Final = 60.0  # seconds between two lines about the progress, where no bar can be shown


@click.command()
@click.argument("name", type=click.Choice(["lz"]))
@click.option(
    "--out",
    type=FILE,
    default=Path("lz.jsonl"),
    show_default=True,
    help="The results. What this file already has is not computed again.",
)
@click.option(
    "--prompts", type=click.IntRange(1, 1000), default=200, show_default=True, help="Their number."
)
@click.option(
    "--tokens",
    type=click.IntRange(1, 10_000),
    default=2000,
    show_default=True,
    help="How many continue each prompt.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    default=cpu_count() or 1,
    show_default="one per processor",
    help="How many run at once.",
)
def experiment(name: str, out: Path, prompts: int, tokens: int, processes: int) -> None:
    """Let a small model write with 22 penalties, and count loops.

    Takes an hour on two processors. After Ctrl-C, the same command continues. In a checkout,
    "--out docs/book/loops.jsonl" prints the table at once: this file has all results.
    """
    plan = Plan(prompts, tokens)
    must_be_writable(out)
    done = read_results(out, plan) if out.exists() else {}
    parts = plan.parts()
    missing = [part for part in parts if part not in done]
    if missing:
        computed = len(parts) - len(missing)
        duration = "; all take an hour on two processors" if plan == Plan() else ""
        click.echo(
            f"{visible(str(out))}: {computed:,} of {len(parts):,} parts are done{duration} (a"
            " checkout has all results of the full run: --out docs/book/loops.jsonl)",
            err=True,
        )
        said = monotonic()
        with progress_bar() as bar, Pool(processes, initializer=_leave_interrupts) as pool:
            task = bar.add_task("parts", total=len(parts), completed=computed)
            for outcome in pool.imap_unordered(plan.outcome, missing):
                done[outcome.part] = outcome
                write(results_text(plan, done.values()), out)
                bar.advance(task)
                if monotonic() - said >= _PAUSE and not bar.console.is_terminal:
                    said = monotonic()
                    bar.console.print(f"{len(done):,} of {len(parts):,} parts are done")
    for line in table(done.values()):
        click.echo(line)


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one, which ends all of them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def table(outcomes: Iterable[Outcome]) -> list[str]:
    r"""Return the lines of the table.

    >>> one = [Outcome("none", each, 0, [1], [2.0, 4.0], 5.0) for each in TEMPERATURES]
    >>> print(*table(one), sep="\n")
                       degenerate texts, %    cross-entropy, bits    microseconds per token
    temperature          0    0.5      1      0    0.5      1      0    0.5      1
    none              50.0   50.0   50.0   3.00   3.00   3.00    5.0    5.0    5.0
    """
    found = cells(outcomes)
    heading = f"{'':19}{'degenerate texts, %':23}{'cross-entropy, bits':23}microseconds per token"
    temperatures = "".join(f"{each:{_WIDTH}g}" for each in TEMPERATURES)
    lines = [heading, f"{'temperature':15}{temperatures * 3}"]
    for penalty in dict.fromkeys(penalty for penalty, _ in found):
        row = [found[penalty, temperature] for temperature in TEMPERATURES]
        columns = (
            *(f"{100 * cell.degenerate:{_WIDTH}.1f}" for cell in row),
            *(f"{cell.bits:{_WIDTH}.2f}" for cell in row),
            *(f"{cell.microseconds:{_WIDTH}.1f}" for cell in row),
        )
        lines.append(f"{penalty:15}{''.join(columns)}")
    return lines
