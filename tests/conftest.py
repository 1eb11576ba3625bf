"""Settings that hold for every test."""

import gc
import os
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.browser import CHROMIUM, DRIVER, Browser, open_browser
from tests.children import Children
from tokenref.diagnosis import RAISES

# Deadlines measure the machine and not the code; how fast things are is for benchmarks. The same
# examples are drawn in every run, so that a test fails for what was changed; a campaign
# (TOKENREF_CAMPAIGN=40, see tests/texts.py) draws others.
IS_CAMPAIGN = os.environ.get("TOKENREF_CAMPAIGN", "1") != "1"
settings.register_profile("tokenref", deadline=None, derandomize=not IS_CAMPAIGN)
settings.load_profile("tokenref")
# Tests leave few cycles, and looking for them as often as usual takes a tenth of the time.
gc.set_threshold(100_000, 20, 20)
if not IS_CAMPAIGN:
    # Hypothesis also draws constants of the modules that happen to be imported. So the examples of
    # a test would depend on which other tests run with it.
    providers._get_local_constants = Constants

# The workers of pytest-xdist have a width for their own messages; users with a pipe have none.
os.environ.pop("COLUMNS", None)
os.environ[RAISES] = "1"  # a hint that raises costs users a hint; tests must see why


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a browser, which takes more than a second; each test opens a window of its own."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromedriver are not installed")
    with open_browser() as opened:
        yield opened


@pytest.fixture
def window(browser: Browser) -> Iterator[Browser]:
    """Open a window of the browser, in whose console nothing may be written."""
    with browser.window():
        yield browser
        assert [entry for entry in browser.log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module", autouse=True)
def _left_by_others() -> None:
    """Spare each collection of garbage looking through what earlier modules keep in caches."""
    gc.collect()
    gc.freeze()
