"""Settings that hold for every test."""

import os
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings

from tests.children import Children

# Deadlines measure the machine and not the code; how fast things are is for benchmarks. The same
# examples are drawn in every run, so that a test fails for what was changed; a campaign
# (TOKENREF_CAMPAIGN=40, see tests/texts.py) draws others.
settings.register_profile(
    "tokenref", deadline=None, derandomize=os.environ.get("TOKENREF_CAMPAIGN", "1") == "1"
)
settings.load_profile("tokenref")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse a test that is called otherwise in each process: pytest-xdist could not share it."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"the id of a test must not show an address: {unstable[0]}")


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Run commands in processes of their own."""
    found = Children(tmp_path_factory.mktemp("printed"))
    yield found
    found.close()
