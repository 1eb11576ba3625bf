"""Known differences: cases where an engine differs from the definition, with an explanation.

They are listed in `known.toml`, each with an engine, case ids, the resulting status, a reason and
a link. The list is strict. A listed case that passes is a failure (xpass). In a complete run, a
pattern of ids that matches no difference is a failure, too. So the list cannot outlive the bugs
in it.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase, translate
from functools import cached_property
from operator import eq, ge, gt, le, lt
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from tokenref.answers import without_log
from tokenref.floats import Strict
from tokenref.judge import FAILURES
from tokenref.record import RecordError, Why
from tokenref.record_files import GZIP, read_file
from tokenref.verdicts import Judgement

_CONDITION: Final = r"(<=|>=|==|<|>) *\d{1,6}(\.\d{1,6}){0,5}"
_COMPARE: Final = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}
_OTHERS: Final = FAILURES - {"xpass"}
"""The statuses of failures without a list."""


class Known(Strict, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One known difference."""

    title: Annotated[str, Meta(min_length=3)]
    """The difference in a few words."""

    engine: str
    cases: Annotated[list[str], Meta(min_length=1)]
    """Case ids, with `*` and `?`."""

    status: Literal["fail", "wrong_error", "crash", "timeout", "incident"]
    """The status of these cases. The patterns of an `incident` match its sentence instead."""

    reason: Why
    link: str = ""

    versions: Annotated[str, Meta(pattern=f"^({_CONDITION}( *, *{_CONDITION})*)?$")] = ""
    """The versions of the engine that differ, such as `>=0.7, <0.9`; empty if all do."""

    def is_about(self, engine: str, version: str) -> bool:
        """Return whether this entry is about a version of an engine.

        Only the numbers of a version count. One without numbers meets no condition.

        >>> entry = Known(title="panics", engine="tiktoken", cases=["*"], status="crash",
        ...     reason="An example for the documentation.", versions=">=0.7, <0.9")
        >>> [entry.is_about("tiktoken", version) for version in ("0.7.0", "0.8.1rc2", "0.10.0")]
        [True, True, False]
        """
        if self.engine != engine or not self.versions:
            return self.engine == engine
        digits = re.match(r"\d{1,9}(\.\d{1,9})*", version)
        found = None if digits is None else _numbers(digits.group())
        return found is not None and all(
            _COMPARE[condition.group(1)](found, _numbers(condition.group()))
            for condition in re.finditer(_CONDITION, self.versions)
        )

    def covers(self, engine: str, case_id: str) -> bool:
        """Return whether this entry applies to an engine and a case.

        >>> entry = Known(title="panics", engine="tiktoken", cases=["bpe/*/missing-*"],
        ...     status="crash", reason="An example for the documentation.", link="")
        >>> entry.covers("tiktoken", "bpe/encode/missing-x")
        True
        """
        is_about_cases = self.engine == engine and self.status != "incident"
        return is_about_cases and self._pattern.match(case_id) is not None

    def is_of_incident(self, sentence: str) -> bool:
        """Return whether this entry is about a failure of no single case, by its sentence."""
        return self.status == "incident" and self._pattern.match(without_log(sentence)) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(translate, self.cases)))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without zeros at the end: 1.0 is 1."""
    numbers = list(map(int, re.findall(r"\d+", version)))
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def differences_of(known: Sequence[Known], engine: str, version: str) -> list[Known]:
    """Return the entries about a version of an engine.

    >>> entry = Known(title="panics", engine="a", cases=["*"], status="crash", reason="a" * 20)
    >>> differences_of([entry], "a", "1.0") == [entry], differences_of([entry], "b", "1.0")
    (True, [])
    """
    return [entry for entry in known if entry.is_about(engine, version)]


def unlisted(incidents: Iterable[str], known: Sequence[Known]) -> list[str]:
    """Return failures of no single case of an engine that none of its known differences is about.

    >>> entry = Known(title="loses a worker", engine="a", cases=["*SIGABRT in a batch of*"],
    ...     status="incident", reason="a" * 20)
    >>> unlisted(["SIGABRT in a batch of 16", "after bye, SIGABRT"], [entry])
    ['after bye, SIGABRT']
    """
    return [each for each in incidents if not any(e.is_of_incident(each) for e in known)]


def read_known(path: Path | None = None, engines: Sequence[str] = ()) -> list[Known]:
    """Read a list of known differences, by default that of the package.

    Raises `RecordError`, also if all its entries are about others than these `engines`, of which
    one may be misspelt.
    """
    if path is None:
        return _read(Path(__file__).parent / "known.toml")
    known = _read(path)
    listed = list(dict.fromkeys(entry.engine for entry in known))
    if engines and listed and not {*listed} & {*engines}:
        meant = get_close_matches(listed[0], engines, 1)
        hint = f"; did you mean {meant[0]!r:.80}?" if meant else ""
        raise RecordError(
            f"{path}: an entry must be about {', '.join(engines)}, "
            f"but all are about {', '.join(listed[:5])}{', ...' * (len(listed) > 5)}{hint}"
        )
    return known


def _read(path: Path) -> list[Known]:
    """Return the entries of a list."""
    data = read_file(path)
    where = f"{path}: not a list of known differences"
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise RecordError(f"{path}: nested too deeply for a list of known differences") from None
    except UnicodeDecodeError:
        reason = "compressed, not a text" if data.startswith(GZIP) else "not UTF-8"
        raise RecordError(f"{where}: it is {reason}") from None
    except ValueError as error:
        reason = "a number is too long" if "int_max_str_digits" in str(error) else str(error)
        raise RecordError(f"{where}: {reason}") from None
    entries = content.get("known")
    if not isinstance(entries, list) or len(content) > 1:
        raise RecordError(f"{where}: it must contain [[known]] entries only, or known = []")
    return [_entry(entry, f"{path}, entry {place}") for place, entry in enumerate(entries, 1)]


_RULES: Final = {
    "title": "a text of at least 3 characters",
    "engine": "the name of an engine",
    "cases": "a list of one or more ids, which may contain * and ?",
    "status": "fail, wrong_error, crash, timeout or incident",
    "reason": "a text of at least 20 characters",
    "link": "a text",
    "versions": "conditions such as <0.24 or >=0.7, <0.9",
}
"""What each key of an entry must be, for people."""


def _entry(entry: object, place: str) -> Known:
    """Return one entry of the list. Raises `RecordError`, which names the key and its rule."""
    if not isinstance(entry, dict):
        raise RecordError(f"{place}: it must have the keys {', '.join(_RULES)}, got {entry!r:.80}")
    for key in [*entry.keys() - _RULES.keys()][:1]:
        raise RecordError(f"{place}: the keys are {', '.join(_RULES)}, got {key!r:.80}")
    for key, rule in _RULES.items():
        kind = Known.__annotations__[key]
        if key not in entry and key not in {"link", "versions"}:
            raise RecordError(f"{place}: {key} is missing; it must be {rule}")
        try:
            msgspec.convert(entry.get(key, ""), type=kind)
        except msgspec.ValidationError:
            raise RecordError(f"{place}: {key} must be {rule}, got {entry[key]!r:.80}") from None
    return msgspec.convert(entry, type=Known)


def is_own(glob: str) -> bool:
    """Return whether a pattern of ids is about a user's own records.

    >>> is_own("bpe/encode/regress/0a1b*"), is_own("bpe/encode/*")
    (True, False)
    """
    return "/regress/" in glob or "/own/" in glob


def stale_globs(
    known: Sequence[Known],
    engine: str,
    statuses: Mapping[str, str],
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return a sentence for each entry of this engine by which a complete run saw no difference.

    `statuses` maps case ids to statuses, and `reasons` those of unsupported ones to why they are.
    An entry has another sentence for patterns without an answered case or without any record.
    A pattern is not stale if a vocabulary was missing, if a case fails with another status, which
    counts as a failure, or if no case of a user's own records was asked.

    >>> entry = Known(title="fails", engine="e", cases=["a/*", "b/*"], status="fail",
    ...     reason="a" * 20, link="")
    >>> stale_globs([entry], "e", {"a/1": "xfail", "b/1": "pass"})
    ["'b/*' (fails): no case that matches it differs as the entry says"]
    >>> stale_globs([entry], "e", {"a/1": "unsupported"}, {"a/1": "does not declare a"})
    ["'a/*' (fails): not answered any more: does not declare a", "'b/*' (fails): no record matches"]
    """
    found = []
    for entry in known:
        if entry.engine != engine or entry.status == "incident":  # it happens now and then
            continue
        may_differ = {"xfail", "not_run", *(_OTHERS - {entry.status})}
        differ = [name for name, status in statuses.items() if status in may_differ]
        stale: dict[str, list[str]] = {}
        for glob in entry.cases:
            if not any(fnmatchcase(name, glob) for name in differ):
                matched = [name for name in statuses if fnmatchcase(name, glob)]
                if matched or not is_own(glob):
                    stale.setdefault(_why_stale(matched, statuses, reasons), []).append(glob)
        for why, globs in stale.items():
            count, of_all = len(globs) - 1, len(entry.cases)
            more = f" and {count:,} more of its {of_all:,} patterns" * bool(count)
            said = why.replace(" it ", " them ") if count else why
            found.append(f"{globs[0]!r}{more} ({entry.title}): {said}")
    return found


def _why_stale(
    matched: Sequence[str], statuses: Mapping[str, str], reasons: Mapping[str, str]
) -> str:
    """Return why no case that a pattern matches differs."""
    if not matched:
        return "no record matches"
    if all(statuses[name] == "unsupported" for name in matched):
        return f"not answered any more: {reasons.get(matched[0], 'unsupported')}"
    return "no case that matches it differs as the entry says"


def entry_for(engine: str, case_id: str, known: Sequence[Known]) -> Known | None:
    """Return the entry that counts for a case: the first one that matches."""
    return next((entry for entry in known if entry.covers(engine, case_id)), None)


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
    entry = entry_for(engine, case_id, known)
    if entry is None:
        return judgement
    if judgement.status == entry.status:
        return Judgement("xfail", f"known: {entry.reason}", judgement.detail, judgement.ulp)
    if judgement.status == "pass":
        return Judgement("xpass", f"is listed as a known difference but passes: {entry.reason}")
    if judgement.status in _OTHERS:
        said = f"{judgement.detail} (fails with another status than its known difference, "
        return replace(judgement, detail=f"{said}{entry.status})")
    return judgement
