"""A regression file as a catalogue: its records, what lies beside it, and the canaries.

Records may be about the fixtures' own vocabularies, about those in `vocab` and
`tokenizer` beside the file (as `promoting` puts them there), and about samplers.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from bpe_ref import BpeError
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.catalogue import Catalogue, check_together, open_catalogue
from tokenref.manifest import FileEntry, Manifest, VocabularyEntry
from tokenref.record import RecordError
from tokenref.record_files import parse_records, read_file
from tokenref.subjects import Subject, TokenizerFile


def open_regressions(path: Path) -> Catalogue:
    """Return the records of a regression file, ready to be run.

    Raises `RecordError` for a file that holds no records, and for a vocabulary
    beside it that is none or that a record needs and nobody has.
    """
    data = read_file(path)
    cases = parse_records(data, str(path))
    package = open_catalogue()
    found = dict(_beside(path))
    known = {entry.digest for entry in package.manifest.subjects}
    own = {
        digest: VocabularyEntry(
            name=f"{path.name}:{digest[7:15]}", digest=digest, path=None, licence="its owner's"
        )
        for digest in found
        if digest not in known
    }
    whole = {digest for digest, subject in found.items() if isinstance(subject, TokenizerFile)}
    manifest = Manifest(
        format=1,
        cases=len(cases),
        flags=package.manifest.flags,
        files=[
            FileEntry(
                path=str(path), sha256=sha256(data).hexdigest(), bytes=len(data), cases=len(cases)
            )
        ],
        vocabularies=[
            *package.manifest.vocabularies,
            *(entry for digest, entry in own.items() if digest not in whole),
        ],
        tokenizers=[
            *package.manifest.tokenizers,
            *(entry for digest, entry in own.items() if digest in whole),
        ],
        retired=[],
    )
    check_together(cases, manifest)
    loaded: dict[str, Subject | str] = {digest: found[digest] for digest in own}
    return Catalogue(package.folder, manifest, cases, package.canaries, loaded)


def _beside(path: Path) -> Iterator[tuple[str, Subject]]:
    """Yield what lies beside a regression file, by its digest."""
    for file in sorted((path.parent / "vocab").glob("*.json")):
        try:
            vocabulary = parse_plain_json(read_file(file), str(file)).vocabulary
        except BpeError as error:
            raise RecordError(f"{file}: not a vocabulary: {error}") from None
        yield vocabulary.digest(), vocabulary
    for file in sorted((path.parent / "tokenizer").glob("*.json")):
        tokenizer = TokenizerFile(file.stem, read_file(file))
        try:
            yield tokenizer.digest(), tokenizer
        except ValueError as error:
            raise RecordError(f"{file}: not a tokenizer.json: {error}") from None
