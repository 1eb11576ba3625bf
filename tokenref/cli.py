"""The `tokenref` command.

Exit codes: 0 success; 1 an engine fails; 2 the command or its input is wrong; 3 the run is
invalid, or no cases were run, for example because no engine is installed; 4 a bug in tokenref;
130 interrupted.
"""

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any, Final

import click

from tokenref.commands.endings import (
    TerminatedError,
    code_without_reader,
    forget_output,
    none_lost,
    reader_is_gone,
    sentence_of,
    take_closed_streams,
    tell_error,
)
from tokenref.commands.table import CommandTable
from tokenref.errors import InputError, exit_code
from tokenref.packaged import fixtures_named
from tokenref.visible import visible


class OneSentence(click.Group):
    """A command group that reports wrong input in one sentence.

    Any other exception is a bug in tokenref. It must not end with exit code 1, which means that
    an engine fails.
    """

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the options of the group itself. --help and --version print, which may fail."""
        take_closed_streams()
        try:
            return super().make_context(*args, **more)
        except click.ClickException as error:
            raise click.exceptions.Exit(_shown(error)) from None
        except (InputError, OSError) as error:
            _say(sentence_of(error) if isinstance(error, OSError) else str(error))
            code = 0 if isinstance(error, BrokenPipeError) else 2
            raise click.exceptions.Exit(code) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises `UsageError` if an option with one value is repeated."""
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None:
            refuse_repeated(found, rest)
        return name, found, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Report our own errors and those of the system in one sentence."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a terminal that knows ASCII only
                stream.reconfigure(errors="replace")
        try:
            with none_lost():
                return _flushed(super().invoke, ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.ClickException as error:
            tell_error(ctx, error.format_message())
            return ctx.exit(_shown(error))
        except TerminatedError:
            code, sentence = 143, "terminated"
        except KeyboardInterrupt:
            code, sentence = 130, "interrupted"  # click would end with 1
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            code, sentence = _ended_by(error, ctx)
        tell_error(ctx, sentence)
        _say(sentence)
        return ctx.exit(code)


def refuse_repeated(command: click.Command, args: Sequence[str]) -> None:
    """Raise `UsageError` if an option that takes one value is given twice: click takes the last."""
    if isinstance(command, click.Group) and args and (found := command.commands.get(args[0])):
        refuse_repeated(found, args[1:])
    given = args[: args.index("--")] if "--" in args else args
    for option in command.params:
        if isinstance(option, click.Option) and not (option.multiple or option.is_flag):
            names = (*option.opts, *(f"{name}=" for name in option.opts))
            times = sum(arg in names or arg.startswith(names[len(option.opts) :]) for arg in given)
            if times > 1:
                rule = f"{option.opts[-1]} takes one value, but was given {times} times"
                raise click.UsageError(rule)


def _flushed(invoke: Callable[[click.Context], Any], ctx: click.Context) -> Any:
    """Run a command and flush its output, so that a write error can be reported."""
    try:
        returned = invoke(ctx)
    except click.exceptions.Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return returned


def _ended_by(error: BaseException, ctx: click.Context) -> tuple[int, str]:
    """Return exit code and message of an error."""
    by_rich = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    if by_rich or (isinstance(error, BrokenPipeError) and reader_is_gone()):
        return code_without_reader(ctx), ""
    code = exit_code(error)
    if code is not None:
        return code, str(error)
    if isinstance(error, OSError):
        return 2, sentence_of(error)
    with suppress(OSError):  # any other is a bug in tokenref
        traceback.print_exc()
    return 4, f"internal error: {type(error).__name__}: {error}"


def _shown(error: click.ClickException) -> int:
    """Show how a command is used, and return the exit code."""
    error.message = brief(error.message)  # type: ignore[misc] # final for subclasses only
    with suppress(OSError):
        error.show()
    forget_output()
    return error.exit_code


LONGEST: Final = 2000
"""The largest number of characters of a message, from which the middle is left out."""


def brief(message: str) -> str:
    """Return a message without its middle if it is longer than a few lines.

    >>> brief("a" * 3000)[1690:1710], len(brief("a" * 10**6))
    ('aaaaa ... aaaaaaaaaa', 2000)
    """
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST - 305]} ... {message[-300:]}"


def _say(sentence: str) -> None:
    """Print why a command ends, if standard error can be written."""
    if sentence:
        with suppress(OSError):
            click.echo(f"tokenref: {visible(brief(sentence))}", err=True)
    forget_output()


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions of the command and of its fixtures, if wanted."""
    if wanted:
        click.echo(f"tokenref, version {version('tokenref')}\n{fixtures_named()}")
        ctx.exit()


@click.group(
    cls=OneSentence,
    commands=CommandTable(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, that of the fixtures, and their digest.",
)
def main() -> None:
    """Test tokenizers and samplers against golden records, and show how they work."""
