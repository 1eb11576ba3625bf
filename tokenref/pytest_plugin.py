"""The pytest plugin: options that restrict what `tokenref.pytest.cases` returns, and a fixture.

pytest loads this module at every start if tokenref is installed, so it imports nothing heavy until
it is needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenref.pytest import Golden


LIMITS: Final = ("timeout", "timeout-per-case", "timeout-to-start", "restarts")
"""The options of `tokenref check` about the program of `--tokenref-cmd`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tokenref", "golden records for tokenizers and samplers")
    group.addoption(
        "--tokenref-flags", default="", help="only golden records with one of these flags: a,b,c"
    )
    group.addoption(
        "--tokenref-shard", default="1/1", help="only shard i of n of the golden records: i/n"
    )
    group.addoption(
        "--tokenref-cmd", default="", help="the program for the fixture tokenref_engine"
    )
    group.addoption("--tokenref-known", type=Path, help="the list of its known differences")
    for limit in LIMITS:
        group.addoption(f"--tokenref-{limit}", help=f"as --{limit} of `tokenref check`")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options. Invalid options end pytest with one sentence."""
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
    """Return a function that runs a golden record with the program of `--tokenref-cmd`.

    A wrong answer fails the test with one sentence, unless `--tokenref-known` lists it. An
    operation or profile that the program lacks skips the test.
    """
    from click import UsageError

    from tokenref.commands.options import read_limits
    from tokenref.pytest.golden import driven

    command = str(pytestconfig.getoption("--tokenref-cmd"))
    if not command:
        raise pytest.UsageError("--tokenref-cmd must name the program to test")
    given = {name: pytestconfig.getoption(f"--tokenref-{name}") for name in LIMITS}
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    try:
        patience = read_limits.main(options, standalone_mode=False)
    except UsageError as error:
        raise pytest.UsageError(error.format_message().replace("'--", "'--tokenref-")) from None
    with driven(command, patience, pytestconfig.getoption("--tokenref-known")) as ask:
        yield ask
