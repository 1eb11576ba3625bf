"""The import graph of `sampling_ref` is part of its design, so it is tested like the rest."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sampling_ref
from sampling_ref import public

ROOT = Path(__file__).parent.parent.parent

LAYERS = (
    {"errors", "row", "parameters"},
    {"numbers"},
    {"random", "lz", "generation"},
    {"steps", "draws", "speculative"},
    {"engines", "tracing"},
    {"evaluation", "sampler", "causes", "comparing", "public"},
)
"""A part imports parts of earlier layers, or of its own, and never in circles."""

SIDE_BY_SIDE = {
    "steps": {"step", "table", "mirostat"},
    "draws": {"noise", "inverse_cdf"},
    "engines": {"profile", "draws", "llama_cpp_order"},
}
"""Packages whose files do not import each other, and the files in them that all may import."""

TOUCH_THE_WORLD = {
    "sampling_ref.generation.loop": {"time"},
    "sampling_ref.generation.events": {"sys"},
}
"""The only modules that may use a clock or a stream, and which."""

THE_WORLD = {
    *("argparse", "http", "io", "json", "os", "pathlib", "random", "secrets", "shutil"),
    *("socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "pickle"),
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted((ROOT / "sampling_ref").rglob("*.py"))}
MODULES = [name for name in SOURCES if name != "sampling_ref"]


def imported(module: str) -> set[str]:
    """Return the modules that a module imports, wherever in the file the import is."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: line {node.lineno} imports relative to the file"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (full & SOURCES.keys()) or {node.module or ""}
    return found


def part_of(module: str) -> str:
    return module.split(".")[1]


def layer_of(part: str) -> int:
    return next(place for place, parts in enumerate(LAYERS) if part in parts)


GRAPH = {module: imported(module) & set(MODULES) for module in MODULES}
PARTS = {
    part: {part_of(name) for module in MODULES if part_of(module) == part for name in GRAPH[module]}
    for part in map(part_of, MODULES)
}


def test_imports_go_down_the_layers() -> None:
    assert PARTS.keys() == set().union(*LAYERS)
    for part, used in PARTS.items():
        assert {name for name in used if layer_of(name) > layer_of(part)} == set(), part


def test_nothing_is_imported_in_circles() -> None:
    TopologicalSorter(GRAPH).prepare()
    TopologicalSorter({part: used - {part} for part, used in PARTS.items()}).prepare()


@pytest.mark.parametrize("package", SIDE_BY_SIDE)
def test_files_that_stand_side_by_side_do_not_import_each_other(package: str) -> None:
    shared = {f"sampling_ref.{package}.{name}" for name in SIDE_BY_SIDE[package]}
    files = {name for name in MODULES if part_of(name) == package and name.count(".") > 1}
    for module in files - shared:
        assert GRAPH[module] & (files - shared) == set(), module


@pytest.mark.parametrize("module", MODULES)
def test_algorithms_need_the_standard_library_only_and_touch_nothing_outside(module: str) -> None:
    packages = {name.split(".")[0] for name in imported(module)} - {"sampling_ref"}
    assert packages <= set(sys.stdlib_module_names)
    assert packages & THE_WORLD <= TOUCH_THE_WORLD.get(module, set())


@pytest.mark.parametrize("name", [name for name in vars(public) if not name.startswith("_")])
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(sampling_ref, name) is getattr(public, name)


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'top_q'"):
        _ = sampling_ref.top_q  # type: ignore[attr-defined]
