"""The pytest plugin: options that narrow what `tokenref.pytest.cases` gives, and a fixture.

pytest loads this at every start where tokenref is installed, so it imports
nothing heavy before something is asked for.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenref.pytest import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tokenref", "golden records for tokenizers and samplers")
    group.addoption(
        "--tokenref-flags", default="", help="only golden records with one of these flags: a,b,c"
    )
    group.addoption(
        "--tokenref-shard", default="1/1", help="only part i of n of the golden records: i/n"
    )
    group.addoption(
        "--tokenref-cmd", default="", help="the program that the fixture tokenref_engine drives"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options. Bad ones end pytest with one sentence."""
    given = str(config.getoption("--tokenref-flags"))
    flags = tuple(flag for flag in given.split(",") if flag)
    shard = str(config.getoption("--tokenref-shard"))
    index, _, count = shard.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise pytest.UsageError(f"--tokenref-shard must be i/n with 1 <= i <= n, got {shard!r}")
    if flags or shard != "1/1":
        from tokenref.pytest.golden import SELECTED

        SELECTED.flags, SELECTED.shard = flags, (int(index) - 1, int(count))


@pytest.fixture(scope="session")
def tokenref_engine(pytestconfig: pytest.Config) -> "Iterator[Callable[[Golden], None]]":
    """Return what asks the program of `--tokenref-cmd` a golden record, and judges its answer.

    An answer that is wrong fails the test with one sentence; an operation or profile that
    the program does not have skips it.
    """
    from tokenref.pytest.golden import driven

    command = str(pytestconfig.getoption("--tokenref-cmd"))
    if not command:
        raise pytest.UsageError("--tokenref-cmd must name the program that is to be tested")
    with driven(command) as ask:
        yield ask
