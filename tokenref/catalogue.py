"""Find the fixtures, their vocabularies, and selections of their cases in the order to run."""

import difflib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from random import Random
from shlex import quote
from types import MappingProxyType
from typing import Final

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.errors import InputError, InvalidRunError
from tokenref.packaged import fixtures_folder
from tokenref.questions.sampling import BatchInput, BatchStatInput, SeedsInput
from tokenref.record import ROW_OPS, Case, RecordError, op_of
from tokenref.record_files import (
    REGRESS,
    FileEntry,
    FixturePath,
    Manifest,
    VocabularyEntry,
    manifest_digest,
    parse_manifest,
    read_file,
    read_manifest,
    read_records,
)
from tokenref.subjects import (
    SAMPLERS,
    Subject,
    TokenizerFile,
    TokenizerSubject,
    load_bytes,
    together,
)
from tokenref.verdicts import Either, Set

CANARY: Final = "canary/"
"""The beginning of the ids of canaries."""

LARGE: Final = "Large"
"""The flag of cases that take long."""


class BudgetError(RecordError):
    """Too many records of an operation have several right answers."""


class UnknownSubjectError(RecordError):
    """A record about an unknown vocabulary or tokenizer."""


_parse_once: Final = lru_cache(maxsize=1)(parse_manifest)


def package_manifest() -> Manifest:
    """Return the manifest of the package's fixtures, without checking their files.

    >>> package_manifest().format
    1
    """
    return _parse_once(fixtures_folder())


@cache
def shipped_subjects() -> Mapping[str, VocabularyEntry]:
    """Return the vocabularies and tokenizers that are part of the fixtures, by name.

    Those of regression files have no names of their own and are left out.

    >>> shipped_subjects()["tiny"].path
    'vocab/tiny.json'
    """
    subjects = package_manifest().subjects
    return MappingProxyType(
        {
            entry.name: entry
            for entry in subjects
            if entry.path is not None and not entry.name.startswith(f"{REGRESS}-")
        }
    )


@cache
def shipped_subject(name: str) -> TokenizerSubject:
    """Return a vocabulary or tokenizer of the fixtures by its name. Raises `KeyError`.

    >>> shipped_subject("tiny").digest() == load_bytes("tiny").digest()
    True
    """
    return subject_in(fixtures_folder(), shipped_subjects()[name])


def subject_in(folder: FixturePath, entry: VocabularyEntry) -> TokenizerSubject:
    """Return a vocabulary or tokenizer from its file in the fixtures."""
    path = folder / str(entry.path)
    if str(entry.path).startswith("vocab/"):
        return parse_plain_json(read_file(path), str(path)).vocabulary
    return TokenizerFile(entry.name, read_file(path))


@dataclass(frozen=True)
class Selection:
    """Which cases to run. A case must match each part that is not empty.

    >>> Selection(ids=("bpe/encode/*",)).is_everything
    False
    """

    ids: Sequence[str] = ()
    """Case ids, with `*` and `?`."""

    ops: Sequence[str] = ()
    flags: Sequence[str] = ()
    vocabularies: Sequence[str] = ()
    without_flags: Sequence[str] = ()
    """Cases with one of these flags are left out."""

    profiles: Sequence[str] = ()
    large: bool = False
    """Whether cases with the flag `Large` are run too. Without it, only those named in full are."""

    rows_at_most: int | None = None
    """Cases with more rows in one call are left out; None is no limit."""

    def options(self) -> str:
        """Return the selection as options of the command.

        >>> Selection(ops=("encode",), flags=("LongRun",)).options()
        '--op encode --flag LongRun'
        """
        named = self.named().items()
        parts = [f"--{name} {quote(value)}" for name, values in named for value in values]
        return " ".join([*parts, *["--large"] * self.large])

    def named(self) -> dict[str, Sequence[str]]:
        """Return the parts by the names of the command's options."""
        return {
            "id": self.ids,
            "op": self.ops,
            "flag": self.flags,
            "vocabulary": self.vocabularies,
            "without-flag": self.without_flags,
            "profile": self.profiles,
            "rows-at-most": () if self.rows_at_most is None else (str(self.rows_at_most),),
        }

    @property
    def is_everything(self) -> bool:
        """Whether all cases are selected."""
        return not any(self.named().values())


@dataclass
class Catalogue:
    """The fixtures of a folder."""

    folder: FixturePath
    manifest: Manifest
    cases: list[Case]
    canaries: list[Case]
    loaded: dict[str, Subject | str] = field(default_factory=dict)
    """The subjects that were read already, by digest, or why one is not available."""

    own_digest: str = ""
    """`sha256:` and the digest of a user's own file, if these are its records."""

    notes: Sequence[str] = ()
    """What the file of a vocabulary lacks that a user named for own records."""

    replaced: Mapping[str, Vocabulary | None] = field(default_factory=dict)
    """The vocabulary that another replaces, by the digest of the new one; None if unknown."""

    @property
    def records(self) -> dict[str, Case]:
        """The cases and the canaries by id."""
        return {case.id: case for case in (*self.cases, *self.canaries)}

    @property
    def digest(self) -> str:
        """The digest of a user's own file, or of the manifest: it says which records these are."""
        return self.own_digest or manifest_digest(self.manifest)

    def entry(self, digest: str) -> VocabularyEntry:
        """Return the manifest's entry of a vocabulary or a tokenizer."""
        return next(entry for entry in self.manifest.subjects if entry.digest == digest)

    @property
    def names(self) -> dict[str, str]:
        """The names of all vocabularies and tokenizers by their digests."""
        return {entry.digest: entry.name for entry in self.manifest.subjects}

    def name(self, digest: str | None) -> str:
        """Return the name of a vocabulary or tokenizer, or "no vocabulary".

        >>> open_catalogue().name(None)
        'no vocabulary'
        """
        return "no vocabulary" if digest is None else self.entry(digest).name

    def subject(self, digest: str | None) -> Subject | str:
        """Return a vocabulary or tokenizer by its digest, or one sentence why it is not available.

        Vocabularies that are too large to ship are searched as `bpe_ref.load` does, and
        must have the digest.
        """
        if digest is None:
            return SAMPLERS
        if digest not in self.loaded:
            entry = self.entry(digest)
            self.loaded[digest] = self._load(entry)
        return self.loaded[digest]

    def _load(self, entry: VocabularyEntry) -> Subject | str:
        try:
            subject = subject_in(self.folder, entry) if entry.path else load_bytes(entry.name)
        except (BpeError, InputError) as error:
            if entry.path:  # it is part of the fixtures and must not be missing
                raise RecordError(f"the vocabulary {entry.name}: {error}") from None
            return str(error)
        if subject.digest() == entry.digest:
            return subject
        source = self.folder / entry.path if entry.path else entry.name
        wrong = f"{source} does not have the digest {entry.digest}"
        if isinstance(subject, TokenizerFile):
            raise RecordError(wrong)
        return wrong

    def select(self, selection: Selection) -> list[Case]:
        """Return the selected cases, those of one vocabulary together.

        Canaries are selected only by patterns of ids that start with `canary/`. Raises
        `InvalidRunError` if there are no cases, because an empty run proves nothing.
        """
        known = set(self.manifest.flags).issuperset(selection.without_flags)
        globs = [glob for glob in selection.ids if glob.startswith(CANARY)]
        canaries = [each for each in self.canaries if any(fnmatchcase(each.id, g) for g in globs)]
        every = [*self.cases, *canaries] if known else []
        chosen = [case for case in every if self._wanted(case, selection)]
        if not chosen:
            raise InvalidRunError(
                f"the selection matches none of the {len(self.cases):,} cases: "
                f"{selection.options()}{self._hint(selection)}"
            )
        return sorted(chosen, key=together)

    def _hint(self, selection: Selection) -> str:
        """Return which name in the selection is unknown, and the nearest known one."""
        globs = [each for each in selection.ids if set("*?[") & set(each)]
        there = {
            "id": (selection.ids, [*globs, *self.records]),
            "flag": ([*selection.flags, *selection.without_flags], self.manifest.flags),
            "vocabulary": (
                selection.vocabularies,
                [entry.name for entry in self.manifest.subjects],
            ),
            "profile": (selection.profiles, {case.profile for case in self.cases}),
        }
        for kind, (wanted, known) in there.items():
            for name in wanted:
                if name not in known:
                    near = difflib.get_close_matches(name, known, 1)
                    meant = f"; did you mean {near[0]}?" if near else ""
                    return f"; unknown {kind} {name!r}{meant}"
        return ""

    def _wanted(self, case: Case, selection: Selection) -> bool:
        is_named = case.id in selection.ids or LARGE in selection.flags
        return (
            (not selection.ids or any(fnmatchcase(case.id, glob) for glob in selection.ids))
            and (not selection.ops or op_of(case) in selection.ops)
            and (not selection.flags or not set(selection.flags).isdisjoint(case.flags))
            and set(selection.without_flags).isdisjoint(case.flags)
            and (selection.large or not is_large(case) or is_named)
            and (selection.rows_at_most is None or rows_of(case) <= selection.rows_at_most)
            and (not selection.profiles or case.profile in selection.profiles)
            and (not selection.vocabularies or self.name(case.vocab) in selection.vocabularies)
        )


def is_large(case: Case) -> bool:
    """Return whether a case takes long, and so is only run on demand."""
    return LARGE in case.flags


def rows_of(case: Case) -> int:
    """Return how many rows a program has to answer together, in one call.

    >>> rows_of(open_catalogue().records["sampling/batch/long/greedy-512-rows"])
    512
    """
    match case.input:
        case BatchInput(rows=rows):
            return len(rows)
        case BatchStatInput(rows=copies):
            return copies
        case SeedsInput(batches=batches):
            return max(map(len, batches))
    return 1


def open_catalogue(folder: FixturePath | None = None, digest: str | None = None) -> Catalogue:
    """Read and check all fixtures of a folder; by default, and only once, those of the package.

    If there is a `digest`, it must be that of the manifest.

    Raises `RecordError` if a file is missing, changed or invalid, and if two files use the same
    id.
    """
    found = _read(folder) if folder else _read_once(fixtures_folder())
    if digest is not None and digest != found.digest:
        raise RecordError(
            f"the fixtures {found.manifest.version} here have the digest {found.digest}, not "
            f"{digest!r:.90}: install the version of tokenref with the expected ones, or expect "
            "the digest of these"
        )
    return replace(found, loaded={})


def _read(folder: FixturePath) -> Catalogue:
    manifest = read_manifest(folder)
    cases: list[Case] = []
    canaries: list[Case] = []
    for entry in manifest.files:
        if entry.cases is not None:
            (canaries if _has_canaries(entry) else cases).extend(_records(folder, entry))
    if len(cases) != manifest.cases:
        raise RecordError(
            f"{folder}: the manifest announces {manifest.cases} cases, "
            f"but the files have {len(cases)}"
        )
    if not canaries:
        raise RecordError(f"{folder}: there are no canaries, which test the judge")
    check_together([*cases, *canaries], manifest)
    return Catalogue(folder, manifest, cases, canaries)


_read_once: Final = lru_cache(maxsize=1)(_read)


def _records(folder: FixturePath, entry: FileEntry) -> list[Case]:
    """Return the cases of a file of the fixtures, as many as the manifest announces."""
    records = read_records(folder / entry.path, file=entry.path)
    if len(records) != entry.cases:
        raise RecordError(
            f"{folder / entry.path}: the manifest announces {entry.cases} cases, "
            f"but the file has {len(records)}"
        )
    return records


def _has_canaries(entry: FileEntry) -> bool:
    return entry.path.startswith("canary")


def own_catalogue(
    path: Path,
    data: bytes,
    cases: Sequence[Case],
    own: Mapping[str, TokenizerSubject],
    flags: Iterable[str] = (),
) -> Catalogue:
    """Return a user's own records as a catalogue, with the canaries of the package.

    `own` are vocabularies and tokenizers by name, which replace those with the same digest. `flags`
    are allowed besides those of the package. Raises `RecordError` as `check_together` does.
    """
    folder, package = fixtures_folder(), package_manifest()
    canaries = [
        case for entry in package.files if _has_canaries(entry) for case in _records(folder, entry)
    ]
    listed: dict[bool, dict[str, VocabularyEntry]] = {
        True: {entry.digest: entry for entry in package.vocabularies},
        False: {entry.digest: entry for entry in package.tokenizers},
    }
    for name, subject in own.items():
        digest = subject.digest()
        entry = VocabularyEntry(name=name, digest=digest, path=None, licence="its owner's")
        listed[not isinstance(subject, TokenizerFile)][digest] = entry
    digested = sha256(data).hexdigest()
    manifest = msgspec.structs.replace(
        package,
        cases=len(cases),
        flags=sorted({*package.flags, *flags}),
        files=[FileEntry(path=str(path), sha256=digested, bytes=len(data), cases=len(cases))],
        vocabularies=[*listed[True].values()],
        tokenizers=[*listed[False].values()],
        retired=[],
    )
    check_together(cases, manifest)
    loaded = {subject.digest(): subject for subject in own.values()}
    digest = f"sha256:{digested}"
    return Catalogue(folder, manifest, [*cases], canaries, {**loaded}, digest)


def check_together(cases: Iterable[Case], manifest: Manifest) -> None:
    """Raise `RecordError` for an id used twice, an unknown flag, or an unknown vocabulary."""
    seen: set[str] = set()
    known = {entry.digest for entry in manifest.subjects}
    for case in cases:
        if case.id in seen:
            raise RecordError(f"the id {case.id!r} is used by two record files")
        seen.add(case.id)
        if case.vocab is not None and case.vocab not in known:
            raise UnknownSubjectError(f"{case.id}: the manifest has no vocabulary {case.vocab}")
        for flag in case.flags:
            if flag not in manifest.flags:
                raise RecordError(f"{case.id}: the glossary has no flag {flag!r}")


ONE_IN: Final = 20
"""At most one in this many records of an operation may have several right answers."""

CALCULATE: Final = frozenset(
    {*ROW_OPS, "softmax", "logprobs", "top_logprobs", "prompt_logprobs", "distribution", "residual"}
)
"""Operations that return calculated numbers and decide nothing."""


def check_budget(cases: Iterable[Case]) -> None:
    """Raise `BudgetError` if more than one in twenty records that decide are not exact.

    >>> check_budget([])
    """
    every: dict[str, int] = {}
    several: dict[str, int] = {}
    for case in cases:
        op = op_of(case)
        if op not in CALCULATE:
            every[op] = every.get(op, 0) + 1
            several[op] = several.get(op, 0) + isinstance(case.verdict, Either | Set)
    for op, count in several.items():
        if count * ONE_IN > every[op]:
            raise BudgetError(
                f"{op}: at most one in {ONE_IN} records may have several right answers, "
                f"got {count} of {every[op]}"
            )


LARGEST_BATCH: Final = 64
"""Maximum number of questions that are asked at once."""


def batches(
    cases: Sequence[Case], seed: int, most: int = LARGEST_BATCH, last: Container[str] = ()
) -> Iterator[list[int]]:
    """Yield the indices of cases that are run together: of one operation, profile and vocabulary.

    Cases of one vocabulary are adjacent, and among them cases of one profile, so that each is
    loaded once. Otherwise the order is random, given by `seed`. Cases whose id is in `last` are
    run after all others, each by itself.
    """
    random = Random(seed)
    groups: dict[tuple[bool, str, str], dict[str, list[int]]] = {}
    for number, case in enumerate(cases):
        group = groups.setdefault((case.id in last, case.vocab or "", case.profile), {})
        group.setdefault(op_of(case), []).append(number)
    for key in sorted(groups):
        together: list[list[int]] = []
        at_once = 1 if key[0] else most
        for _, numbers in sorted(groups[key].items()):
            random.shuffle(numbers)
            together += (numbers[at : at + at_once] for at in range(0, len(numbers), at_once))
        random.shuffle(together)
        yield from together
