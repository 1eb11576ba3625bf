"""Engines that are absent are reported as skipped tests; where all must be there, that fails."""

import os

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a test was skipped although `TOKENREF_ALL_ENGINES` says that none may be."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("TOKENREF_ALL_ENGINES") and reporter and reporter.stats.get("skipped"):
        reporter.write_line("an engine is absent, and TOKENREF_ALL_ENGINES is set", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
