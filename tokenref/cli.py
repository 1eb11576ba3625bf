"""The `tokenref` command.

Exit codes: 0 all is well; 1 an engine fails, fixtures differ, a mutant
survives; 2 the command or its input is wrong; 3 the run is invalid: nothing
was proven; 4 a bug in tokenref itself; 130 interrupted.
"""

import sys
import traceback
from io import TextIOWrapper
from typing import Any, Final

import click

from bpe_ref import BpeError
from sampling_ref.errors import SamplingError
from tokenref.attestation import AttestationError
from tokenref.catalogue import SelectionError
from tokenref.commands.answering import answer
from tokenref.commands.check import check
from tokenref.commands.exchange import export, judge
from tokenref.commands.fill import fill
from tokenref.commands.first_steps import doctor, init
from tokenref.commands.fuzz import fuzz, merge, promote
from tokenref.commands.gates import attest, mutants
from tokenref.commands.look import engines, show, trace_command
from tokenref.commands.paths import InputError
from tokenref.commands.report import report
from tokenref.commands.rules import rules
from tokenref.commands.sampling import profiles, sample
from tokenref.commands.text import chunks, count, decode, encode
from tokenref.commands.vocabulary import audit_command, train_command, vocabulary
from tokenref.corpus import CorpusError
from tokenref.engines.table import EngineError
from tokenref.fuzzing.errors import CampaignError
from tokenref.protocol.offline import ExchangeError
from tokenref.protocol.opening import GreetingError
from tokenref.protocol.process import StartError
from tokenref.record import RecordError
from tokenref.reports.reading import ResultsError

BAD_INPUT: Final = (
    *(AttestationError, BpeError, CorpusError, EngineError, InputError),
    *(SamplingError, StartError, CampaignError),
)
INVALID_RUN: Final = (ExchangeError, GreetingError, RecordError, ResultsError, SelectionError)


class _OneSentence(click.Group):
    """A command group that ends with one sentence where the input is at fault.

    Whatever else goes wrong is a bug here. It must not end with 1, which means
    that an engine fails.
    """

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        """Run the command; turn our own errors, and the system's, into a sentence."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a terminal that knows ASCII only
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, SystemExit):
            raise
        except KeyboardInterrupt:
            code, sentence = 130, "interrupted"  # click would end with 1
        except INVALID_RUN as error:
            code, sentence = 3, str(error)
        except BAD_INPUT as error:
            code, sentence = 2, str(error)
        except OSError as error:
            code = 2
            sentence = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            traceback.print_exc()
            code, sentence = 4, f"internal error: {type(error).__name__}: {error}"
        click.echo(f"tokenref: {sentence}", err=True)
        return ctx.exit(code)


@click.group(cls=_OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokenref")
def main() -> None:
    """Judge tokenizers against golden records; show how engines sample."""


for _command in (
    *(check, report, fill, show, engines, trace_command),
    *(doctor, init, export, answer, judge),
    *(encode, decode, count, chunks),
    *(vocabulary, audit_command, train_command, mutants, attest),
    *(fuzz, merge, promote, profiles, sample, rules),
):
    main.add_command(_command)
