"""The archives of the fixtures: the same bytes each time, and npm and Cargo can use them."""

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from authoring.__main__ import main
from authoring.release import SUMS, broken_promises, release
from tests.small_fixtures import checkout_fixtures, small_fixtures, vouch
from tokenref.record import Case, meaning_digest
from tokenref.record_files import dump_records, parse_manifest, read_records

VERSION = parse_manifest(checkout_fixtures()).version
LIMIT = "bpe/limit/cutting.jsonl"


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """Return small fixtures with a page about the format."""
    folder = small_fixtures(tmp_path / "fixtures")
    shutil.copy(checkout_fixtures() / "README.md", folder)
    return folder


def written(fixtures: Path, folder: Path) -> Path:
    folder.mkdir()
    for name, data in release(fixtures, b"MIT").items():
        (folder / name).write_bytes(data)
    return folder


def command(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(*arguments: str | Path, cwd: Path) -> str:
    if shutil.which(str(arguments[0])) is None:
        pytest.skip(f"{arguments[0]} is not installed")
    done = subprocess.run(
        list(map(str, arguments)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_archives_are_the_same_wherever_and_whenever_they_are_made(
    fixtures: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "another name"
    shutil.copytree(fixtures, copy, copy_function=shutil.copyfile)
    (copy / "README.md").chmod(0o600)
    assert release(fixtures, b"MIT") == release(copy, b"MIT")


def test_the_checksums_are_those_of_the_archives(fixtures: Path, tmp_path: Path) -> None:
    folder = written(fixtures, tmp_path / "dist")
    lines = (folder / SUMS).read_text().splitlines()
    assert {line.split()[1] for line in lines} == {p.name for p in folder.iterdir()} - {SUMS}
    for line in lines:
        digest, name = line.split()
        assert sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_archive_has_exactly_the_fixtures_and_the_licence(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = written(fixtures, tmp_path / "dist")
    root = f"tokenref-fixtures-{VERSION}"
    with tarfile.open(folder / f"{root}.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    unpacked = tmp_path / "unpacked" / root
    assert (unpacked / "LICENSE").read_bytes() == b"MIT"
    (unpacked / "LICENSE").unlink()
    found = {p.relative_to(unpacked): p.read_bytes() for p in unpacked.rglob("*") if p.is_file()}
    assert found == {
        p.relative_to(fixtures): p.read_bytes() for p in fixtures.rglob("*") if p.is_file()
    }


def test_fixtures_that_are_not_whole_are_not_released(fixtures: Path, tmp_path: Path) -> None:
    (fixtures / LIMIT).write_bytes(b"")
    folder = tmp_path / "dist"
    result = command("release", "--fixtures", fixtures, "--folder", folder)
    assert result.exit_code == 3
    assert "the sha256 must be" in result.output
    assert not folder.exists()


def test_npm_installs_its_package_and_node_reads_every_record(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = written(fixtures, tmp_path / "dist")
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    package = folder / f"tokenref-fixtures-{VERSION}.tgz"
    run("npm", "install", "--offline", "--no-audit", "--no-fund", package, cwd=project)
    script = (
        "const { manifest, lines } = require('tokenref-fixtures');"
        "const files = manifest.files.filter(file => file.cases !== null);"
        "for (const file of files) if (lines(file.path).length !== file.cases) throw file.path;"
        f"console.log(manifest.version, JSON.parse(lines('{LIMIT}')[0]).id)"
    )
    first = read_records(fixtures / LIMIT)[0].id
    assert run("node", "-e", script, cwd=project) == f"{VERSION} {first}\n"


def test_cargo_accepts_its_package_and_a_test_reads_the_records(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = written(fixtures, tmp_path / "dist")
    root = f"tokenref-fixtures-{VERSION}"
    with tarfile.open(folder / f"{root}.crate") as archive:
        archive.extractall(tmp_path, filter="data")
    listed = run("cargo", "package", "--list", "--allow-dirty", "--offline", cwd=tmp_path / root)
    assert {"LICENSE", "src/lib.rs", f"fixtures/{LIMIT}"} <= set(listed.split())
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "Cargo.toml").write_text(
        '[package]\nname = "project"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dev-dependencies]\ntokenref-fixtures = {{ path = "../{root}" }}\n'
    )
    count = len(read_records(fixtures / LIMIT))
    (project / "src" / "lib.rs").write_text(
        "#[test]\nfn records() {\n"
        f'    assert_eq!(tokenref_fixtures::VERSION, "{VERSION}");\n'
        f'    let records = tokenref_fixtures::lines("{LIMIT}").unwrap();\n'
        f"    assert_eq!(records.len(), {count});\n"
        '    assert!(records.iter().all(|record| record.starts_with(r#"{"flags":["#)));\n'
        "}\n"
    )
    assert "1 passed" in run("cargo", "test", "--offline", "--quiet", cwd=project)


# ---- what a new version may change


def changed(folder: Path, edit: Callable[[list[Case]], list[Case]], version: str = VERSION) -> None:
    """Change the records of a file, and the version."""
    cases = edit(read_records(folder / LIMIT))
    (folder / LIMIT).write_bytes(dump_records(LIMIT, cases))

    def of_manifest(content: dict[str, Any]) -> None:
        content["version"] = version
        for entry in content["files"]:
            if entry["path"] == LIMIT:
                content["cases"] += len(cases) - entry["cases"]
                entry["cases"] = len(cases)

    vouch(folder, of_manifest)


def another(cases: list[Case]) -> list[Case]:
    """Return the records, the first one with another meaning."""
    other = msgspec.structs.replace(cases[0], input=cases[1].input)
    return [msgspec.structs.replace(other, sum=meaning_digest(other)), *cases[1:]]


def renamed(cases: list[Case]) -> list[Case]:
    return [msgspec.structs.replace(cases[0], id="bpe/limit/cutting/new"), *cases[1:]]


def explained(cases: list[Case]) -> list[Case]:
    return [
        msgspec.structs.replace(cases[0], why="Another reason, which means the same."),
        *cases[1:],
    ]


def test_versions_promise_what_the_page_about_the_format_says(
    fixtures: Path, tmp_path: Path
) -> None:
    old = written(fixtures, tmp_path / "dist") / f"tokenref-fixtures-{VERSION}.tar.gz"
    first = read_records(fixtures / LIMIT)[0].id
    original = tmp_path / "original"
    fixtures.rename(original)
    patch, minor = "1.0.1", "1.1.0"
    gone = f"{first} is gone and not listed under retired"
    unexplained = f"{first} has another meaning, which the changelog does not explain"
    third = f"the third number of the version must rise: it was {VERSION}"
    second = f"the second number of the version must rise: it was {VERSION}"
    for edit, version, changelog, sentences in (
        (list, VERSION, "", []),
        (explained, VERSION, "", [third]),
        (explained, patch, "", []),
        (another, VERSION, "", [unexplained, third]),
        (another, patch, "", [unexplained]),
        (another, patch, f"- {first} was wrong.", []),
        (renamed, patch, "", [gone, second]),
        (renamed, minor, "", [gone]),
    ):
        shutil.rmtree(fixtures, ignore_errors=True)
        shutil.copytree(original, fixtures)
        if edit is not list:
            changed(fixtures, edit, version)
        assert list(broken_promises(old, fixtures, changelog)) == sentences


def test_a_release_that_breaks_a_promise_is_not_written(fixtures: Path, tmp_path: Path) -> None:
    old = written(fixtures, tmp_path / "dist") / f"tokenref-fixtures-{VERSION}.tar.gz"
    changed(fixtures, renamed)
    options = ("--fixtures", fixtures, "--folder", tmp_path / "new", "--previous")
    refused = command("release", *options, old)
    assert refused.exit_code == 1
    assert "is gone and not listed under retired" in refused.output
    for wrong in (fixtures / LIMIT, tmp_path / "nothing.tar.gz"):
        refused = command("release", *options, wrong)
        assert refused.exit_code == 2, refused.output
    assert not (tmp_path / "new").exists()
