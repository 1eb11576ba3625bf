"""A program under test, asked golden records one by one from tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tokenref.protocol.channel import StartError
from tokenref.protocol.opening import GreetingError, open_program
from tokenref.pytest.golden import Golden, catalogue
from tokenref.runner import Sessions


@contextmanager
def driven(command: str) -> Iterator[Callable[[Golden], None]]:
    """Start a program, and yield what asks it a record; it is ended afterwards.

    What does not start, or does not answer hello, ends pytest with one sentence.
    """
    try:
        engine = open_program(command)
    except (StartError, GreetingError) as error:
        raise pytest.UsageError(str(error)) from None
    sessions = Sessions(engine, catalogue())

    def ask(case: Golden) -> None:
        judgement = sessions.judge(case.record)
        if judgement.status in {"unsupported", "skip", "not_run"}:
            pytest.skip(judgement.detail)
        if judgement.status != "pass":
            pytest.fail(
                f"{case.id}: {judgement.status}: {judgement.detail}. Why it is asked: {case.why}",
                pytrace=False,
            )

    try:
        yield ask
    finally:
        engine.close()
