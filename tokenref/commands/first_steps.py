"""`tokenref doctor` and `tokenref init`: start writing your own engine."""

from pathlib import Path
from shlex import quote

import click

from tokenref.catalogue import open_catalogue
from tokenref.commands.options import PROGRAM_HELP, patience_options
from tokenref.commands.paths import FOLDER, said_if_slow
from tokenref.doctor.conversation import Finding
from tokenref.doctor.walk import examine
from tokenref.protocol.channel import Patience
from tokenref.skeletons import LANGUAGES, write_skeleton
from tokenref.visible import visible

_MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@click.command()
@click.option("--cmd", "command", required=True, metavar="'PROGRAM ARGS'", help=PROGRAM_HELP)
@patience_options
@click.pass_context
def doctor(ctx: click.Context, command: str, patience: Patience) -> None:
    """Test your program step by step and explain each mistake."""
    problems = 0
    findings = examine(command, open_catalogue(), patience)
    while True:
        with said_if_slow(patience.waiting(command)):
            finding = next(findings, None)
        if finding is None:
            break
        click.echo(as_text(finding))
        problems += finding.kind == "problem"
    quoted = f"--cmd {quote(command)}"
    if problems:
        many = "one problem" if problems == 1 else f"{problems} problems"
        click.echo(f"\n{many}. Fix the first one, then run this again:\n  tokenref doctor {quoted}")
        ctx.exit(1)
    click.echo(f"\nIt speaks the protocol. Next, run all records:\n  tokenref check {quoted}")


@click.command()
@click.option(
    "--lang", type=click.Choice(list(LANGUAGES)), required=True, help="Programming language."
)
@click.argument("folder", type=FOLDER, metavar="DIR")
def init(lang: str, folder: Path) -> None:
    """Write a small engine to DIR, to add your code to.

    It is complete, runs as it is, and speaks the protocol.
    """
    skeleton = LANGUAGES[lang]
    for path in write_skeleton(lang, folder):
        click.echo(f"wrote {visible(str(path))}")
    click.echo("\nNext:")
    for line in (
        f"cd {quote(str(folder))}",
        *skeleton.build,
        f"tokenref doctor --cmd {quote(skeleton.run)}",
        f"tokenref check --cmd {quote(skeleton.run)}",
    ):
        click.echo(f"  {line}")


def as_text(finding: Finding) -> str:
    r"""Return a finding as lines of a terminal.

    >>> print(as_text(Finding("problem", "hello", "it is not JSON", "hi", '{"proto":1}', "say so")))
    PROBLEM hello: it is not JSON
              it wrote  hi
              expected  {"proto":1}
              hint      say so
    """
    lines = [f"{_MARKS[finding.kind]} {visible(finding.about)}: {visible(finding.text)}"]
    for label, text in (
        ("question", finding.asked),
        ("it wrote", finding.wrote),
        ("expected", finding.right),
        ("hint", finding.hint),
    ):
        if text:
            lines.append(f"          {label:<9} {visible(text)}")
    return "\n".join(lines)
