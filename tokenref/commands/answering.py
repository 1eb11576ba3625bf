"""`tokenref answer`: answer a file of requests with an engine of this program."""

from pathlib import Path

import click
from rich.markup import escape

from tokenref.commands.bars import progress_bar
from tokenref.commands.paths import FILE, InputError
from tokenref.commands.streams import standard_output
from tokenref.engines.answers import Engine
from tokenref.engines.table import Unavailable, engine
from tokenref.protocol.answering import answer_requests
from tokenref.protocol.opening import open_function
from tokenref.reports.short import visible


@click.command()
@click.argument("name", metavar="ENGINE")
@click.argument("requests", type=FILE)
def answer(name: str, requests: Path) -> None:
    """Answer exported questions with an engine of this program.

    REQUESTS is what `tokenref export` made. The responses go to standard output.
    `tokenref judge` judges them, here or on another machine:

    \b
        tokenref export > requests.jsonl
        TOKENREF_TORCH_DEVICE=cuda tokenref answer transformers requests.jsonl > responses.jsonl
        tokenref judge requests.jsonl responses.jsonl
    """  # noqa: D301 - a mark of click
    found, output = _opened(name), standard_output()
    with progress_bar() as progress:
        task = progress.add_task(escape(visible(found.name)), total=None)
        for line in answer_requests(found, requests, lambda done: progress.advance(task, done)):
            output.write(line)
    output.flush()


def _opened(name: str) -> Engine:
    found = open_function(name) if name.startswith("py:") else engine(name)
    if isinstance(found, Unavailable):
        raise InputError(f"{name} is unavailable: {found.reason}")
    return found
