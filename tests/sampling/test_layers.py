"""The import graph of `sampling_ref` is part of its design, so it is tested like the rest."""

import ast
import sys
from pathlib import Path

import pytest

import sampling_ref

ROOT = Path(__file__).parent.parent.parent

LAYERS = (
    ("errors",),
    ("row",),
    ("parameters", "candidates"),
    ("history",),
    ("numbers",),
    ("temperature", "greedy"),
    ("mirostat", "dynamic_temperature"),
    ("lz", "filters", "adaptive", "random"),
    ("chatstream",),
    ("situation", "draws", "speculative", "llama_cpp", "antigravity"),
    ("steps",),
    ("tracing", "candidate_orders", "engines"),
    ("twins",),
    ("evaluation",),
    ("sampler",),
    ("generation",),
)
"""Imports go strictly downward: a part imports parts of earlier lines, and inside of itself."""

APART = ("filters", "adaptive")
"""Folders whose modules stand side by side: none imports another."""

TOUCH_THE_WORLD = {
    "sampling_ref.generation.loop": {"time"},
    "sampling_ref.generation.showing": {"sys"},
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


def imported(module: str) -> set[str]:
    """Return the modules that a module imports, wherever in the file the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: line {node.lineno} imports relative to the file"
            source = node.module or ""
            for alias in node.names:
                full = f"{source}.{alias.name}"
                found.add(full if full in SOURCES else source)
    return found


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def layer_of(module: str) -> int:
    part = part_of(module)
    return next((place for place, parts in enumerate(LAYERS) if part in parts), -1)


def ours(module: str) -> set[str]:
    return {name for name in imported(module) if name.split(".")[0] == "sampling_ref"}


MODULES = [name for name in SOURCES if name != "sampling_ref"]


def test_every_part_has_a_layer_and_every_layer_a_part() -> None:
    parts = {part_of(module) for module in MODULES}
    assert parts == {part for layer in LAYERS for part in layer}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_strictly_downward(module: str) -> None:
    others = {name for name in ours(module) if part_of(name) != part_of(module)}
    not_below = {name for name in others if layer_of(name) >= layer_of(module)}
    assert not_below == set(), f"{module} is in layer {layer_of(module)}"


@pytest.mark.parametrize("module", MODULES)
def test_the_package_needs_the_standard_library_only(module: str) -> None:
    packages = {name.split(".")[0] for name in imported(module)}
    assert packages - {"sampling_ref"} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("module", MODULES)
def test_algorithms_read_no_file_no_variable_and_no_clock(module: str) -> None:
    packages = {name.split(".")[0] for name in imported(module)}
    assert packages & THE_WORLD <= TOUCH_THE_WORLD.get(module, set())


@pytest.mark.parametrize(
    "module", [name for name in MODULES if part_of(name) in APART and name.count(".") > 1]
)
def test_modules_of_one_folder_stand_side_by_side(module: str) -> None:
    siblings = {name for name in ours(module) if part_of(name) == part_of(module)}
    assert siblings == set()


def imports_of_part(module: str) -> set[str]:
    return {name for name in ours(module) if part_of(name) == part_of(module)}


@pytest.mark.parametrize("part", sorted({part_of(module) for module in MODULES}))
def test_no_part_imports_in_circles(part: str) -> None:
    waiting = {name: imports_of_part(name) - {name} for name in MODULES if part_of(name) == part}
    while waiting:
        done = {name for name, needs in waiting.items() if not needs & waiting.keys()}
        assert done, f"in circles: {sorted(waiting)}"
        waiting = {name: needs for name, needs in waiting.items() if name not in done}


@pytest.mark.parametrize("name", sampling_ref.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(sampling_ref, name) is not None


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'top_q'"):
        _ = sampling_ref.top_q
