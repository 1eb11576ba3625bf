"""Known differences: cases where an engine differs from the definition, with an explanation.

They are listed in `known.toml`, each with an engine, case ids, the resulting status, a reason and
a link. The list is strict. A listed case that passes is a failure (xpass). In a complete run, so
is a pattern of ids by which no difference was seen. So the list cannot outlive the bugs in it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from tokenref.judge import Judgement
from tokenref.record import RecordError, Why
from tokenref.record_files import read_file


class Known(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known difference."""

    title: Annotated[str, Meta(min_length=3)]
    """The difference in a few words."""

    engine: str
    cases: Annotated[list[str], Meta(min_length=1)]
    """Case ids, with `*` and `?`."""

    status: Literal["fail", "wrong_error", "crash", "timeout"]
    reason: Why
    link: str

    def covers(self, engine: str, case_id: str) -> bool:
        """Return whether this entry applies to an engine and a case.

        >>> entry = Known(title="panics", engine="tiktoken", cases=["bpe/*/missing-*"],
        ...     status="crash", reason="An example for the documentation.", link="")
        >>> entry.covers("tiktoken", "bpe/encode/missing-x")
        True
        """
        return self.engine == engine and any(fnmatchcase(case_id, glob) for glob in self.cases)


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    known: list[Known]


def read_known(path: Path | None = None) -> list[Known]:
    """Read a list of known differences, by default that of the package. Raises `RecordError`."""
    path = path or Path(__file__).parent / "known.toml"
    data = read_file(path)
    try:
        content = tomllib.loads(data.decode("utf-8"))
        return msgspec.convert(content, type=_File).known
    except RecursionError:
        raise RecordError(f"{path}: nested too deeply for a list of known differences") from None
    except (ValueError, msgspec.ValidationError) as error:
        reason = "a number is too long" if "int_max_str_digits" in str(error) else error
        raise RecordError(f"{path}: not a list of known differences: {reason}") from None


def stale_globs(known: Sequence[Known], engine: str, statuses: Mapping[str, str]) -> list[str]:
    """Return one sentence per pattern of this engine by which a complete run saw no difference.

    `statuses` maps case ids to statuses. A pattern is not stale if a vocabulary was missing.

    >>> entry = Known(title="fails", engine="e", cases=["a/*", "b/*"], status="fail",
    ...     reason="a" * 20, link="")
    >>> stale_globs([entry], "e", {"a/1": "xfail", "b/1": "unsupported"})
    ["'b/*' (fails): no case that matches it differs as the entry says"]
    """
    found = []
    for entry in known:
        if entry.engine != engine:
            continue
        for glob in entry.cases:
            seen = {status for case_id, status in statuses.items() if fnmatchcase(case_id, glob)}
            if not seen & {"xfail", "not_run"}:
                found.append(
                    f"{glob!r} ({entry.title}): no case that matches it differs as the entry says"
                )
    return found


def with_known(
    judgement: Judgement, engine: str, case_id: str, known: Sequence[Known]
) -> Judgement:
    """Return the judgement, changed to xfail or xpass if the case is a known difference.

    The detail of a failure becomes the remark of the known difference.

    >>> entry = Known(title="fails", engine="e", cases=["a/b"], status="fail",
    ...     reason="a" * 20, link="")
    >>> with_known(Judgement("fail"), "e", "a/b", [entry]).status
    'xfail'
    >>> with_known(Judgement("pass"), "e", "a/b", [entry]).status
    'xpass'
    """
    entry = next((entry for entry in known if entry.covers(engine, case_id)), None)
    if entry is None:
        return judgement
    if judgement.status == entry.status:
        return Judgement("xfail", f"known: {entry.reason}", judgement.detail, judgement.ulp)
    if judgement.status == "pass":
        return Judgement("xpass", f"is listed as a known difference but passes: {entry.reason}")
    return judgement
