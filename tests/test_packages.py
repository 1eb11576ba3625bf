"""The packages as a whole: who imports whom, and what is installed."""

import ast
import os
import pydoc
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Container, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import bpe_ref
import sampling_ref
from tests.small_fixtures import small_fixtures
from tokenref import catalogue, packaged
from tokenref.pages import page_text
from tokenref.record import RecordError
from tokenref.subjects import Samplers

ROOT = Path(__file__).parent.parent
INSTALLED = ("bpe_ref", "sampling_ref", "tokenref")
PACKAGES = (*INSTALLED, "authoring")
MAY_IMPORT = {
    "bpe_ref": set[str](),
    "sampling_ref": set[str](),
    "tokenref": {"bpe_ref", "sampling_ref"},
    "authoring": {"bpe_ref", "sampling_ref", "tokenref"},
}
MOST_FILES = 480
MOST_LINES = 65_000


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports() -> Mapping[str, set[str]]:
    """Return the modules of ours that each module imports, wherever the import stands."""
    paths = {name_of(path): path for each in PACKAGES for path in (ROOT / each).rglob("*.py")}
    return {name: set(_imported(path, paths)) & paths.keys() for name, path in paths.items()}


def _imported(path: Path, ours: Container[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} imports relative to the file"
            assert node.module is not None
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in ours else node.module


def package_of(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_those_below_it(package: str) -> None:
    foreign = {
        (module, name)
        for module, names in imports().items()
        for name in names
        if package_of(module) == package and package_of(name) not in {package, *MAY_IMPORT[package]}
    }
    assert foreign == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_needs_itself(package: str) -> None:
    """Importing `a.b` runs `a`, too, but a package need not wait for its own modules."""
    graph = {
        module: {name for name in names if name != package and not module.startswith(f"{name}.")}
        for module, names in imports().items()
        if package_of(module) == package
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" needs ".join(error.args[1]))


def test_what_is_installed_is_small() -> None:
    paths = [path for each in INSTALLED for path in (ROOT / each).rglob("*.py")]
    lines = sum(path.read_bytes().count(b"\n") for path in paths)
    if len(paths) >= MOST_FILES or lines > MOST_LINES:
        pytest.xfail(f"{len(paths)} files and {lines:,} lines are installed")


def test_the_fixtures_are_read_from_an_archive_as_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_fixtures(tmp_path / "fixtures")
    archive = shutil.make_archive(str(tmp_path / "tokenref" / "fixtures"), "zip", folder)
    monkeypatch.setattr(packaged, "__file__", str(Path(archive).parent / "packaged.py"))
    for each in (packaged.fixtures_folder, catalogue.shipped_subjects, catalogue.shipped_subject):
        monkeypatch.setattr(catalogue, each.__name__, cache(each.__wrapped__))
    packed, plain = catalogue.open_catalogue(), catalogue.open_catalogue(folder)
    assert isinstance(packed.folder, zipfile.Path)
    assert packed.manifest == plain.manifest
    assert (packed.cases, packed.canaries) == (plain.cases, plain.canaries)
    for entry in plain.manifest.subjects:
        one, other = packed.subject(entry.digest), plain.subject(entry.digest)
        assert not isinstance(one, str | Samplers)
        assert not isinstance(other, str | Samplers)
        assert one.digest() == other.digest() == catalogue.shipped_subject(entry.name).digest()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what a wheel installs."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    shutil.unpack_archive(wheel, folder / "site", "zip")
    return folder / "site"


def test_a_wheel_has_the_pages_that_the_command_names(site: Path) -> None:
    asked = [sys.executable, "-I", "-c", _SHOW, str(site)]
    for address in ("docs/bpe.md#definition", "fixtures/README.md#verdicts"):
        shown = subprocess.run([*asked, address], capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == page_text(address)


def test_a_type_checker_reads_an_installed_package_and_reports_wrong_names(
    site: Path, tmp_path: Path
) -> None:
    lines = [f"from {package} import nothing" for package in INSTALLED]
    lines += ["from bpe_ref import load, train", "from sampling_ref import PROFILES, Sampler, step"]
    (tmp_path / "used.py").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir=cache", "used.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    reported = [line.partition(": error: ")[2] for line in done.stdout.splitlines()[:-1]]
    assert reported == [
        f'Module "{package}" has no attribute "nothing"  [attr-defined]' for package in INSTALLED
    ], done.stdout + done.stderr
    assert all((site / package / "py.typed").is_file() for package in INSTALLED)


@pytest.mark.parametrize("package", [bpe_ref, sampling_ref])
def test_dir_and_help_have_the_names_that_are_loaded_when_used(package: ModuleType) -> None:
    assert {*package.__all__} <= {*dir(package)}
    shown = pydoc.plain(pydoc.render_doc(package))
    for name in package.__all__:
        assert re.search(rf"^ +(class )?{name}\b", shown, re.MULTILINE), name
    assert package.__version__ == version("tokenref")


_SHOW = """
import sys

sys.path.insert(0, sys.argv[1])
import tokenref.catalogue
from tokenref.cli import main

assert tokenref.catalogue.__file__.startswith(sys.argv[1])
main(["show", sys.argv[2]])
"""


def test_an_archive_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = small_fixtures(tmp_path / "fixtures")
    (folder / "canary.jsonl").write_bytes(b"")
    archive = zipfile.Path(shutil.make_archive(str(tmp_path / "fixtures"), "zip", folder))
    with pytest.raises(RecordError, match=r"fixtures\.zip/canary\.jsonl: the sha256 must be"):
        catalogue.open_catalogue(archive)
    (folder / "canary.jsonl").unlink()
    archive = zipfile.Path(shutil.make_archive(str(tmp_path / "less"), "zip", folder))
    with pytest.raises(RecordError, match=r"less\.zip/canary\.jsonl cannot be read"):
        catalogue.open_catalogue(archive)
