"""What a command ends with when something is wrong: an exit code for each kind of error.

The kinds are known by name. Importing them would load at every start all that may
ever go wrong, and what was not loaded cannot have been raised.
"""

from typing import Final

BAD_INPUT: Final = frozenset(
    {
        "bpe_ref.errors.BpeError",
        "sampling_ref.errors.SamplingError",
        "tokenref.commands.paths.InputError",
        "tokenref.corpus_files.CorpusError",
        "tokenref.engines.table.EngineError",
        "tokenref.fuzzing.errors.CampaignError",
        "tokenref.protocol.process.StartError",
    }
)
INVALID_RUN: Final = frozenset(
    {
        "tokenref.catalogue.SelectionError",
        "tokenref.protocol.asked.ExchangeError",
        "tokenref.protocol.opening.GreetingError",
        "tokenref.record.RecordError",
        "tokenref.reports.reading.ResultsError",
    }
)


def exit_code(error: BaseException) -> int | None:
    """Return 3 for a run that proves nothing, 2 for bad input, None for what is neither.

    >>> from tokenref.record import RecordError
    >>> exit_code(RecordError("no record")), exit_code(ValueError("a bug"))
    (3, None)
    """
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    if names & INVALID_RUN:
        return 3
    return 2 if names & BAD_INPUT else None
