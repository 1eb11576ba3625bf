"""The import graph is part of the design, so it is tested like the rest."""

import ast
import sys
from pathlib import Path

import pytest

import bpe_ref

ROOT = Path(__file__).parent.parent

LAYERS = {
    # words: what everything else is made of
    "bpe_ref.encoders": 0,
    "bpe_ref.errors": 0,
    "bpe_ref.formats": 0,
    "bpe_ref.merges": 0,
    "bpe_ref.unicode_data": 0,
    "bpe_ref.aligned_text": 0,
    "bpe_ref.hugging_face": 0,
    "bpe_ref.hugging_face.profile": 0,
    # things: a vocabulary, a set of code points
    "bpe_ref.piece_cache": 1,
    "bpe_ref.special_tokens": 1,
    "bpe_ref.unicode_tables": 1,
    "bpe_ref.vocabulary": 1,
    "bpe_ref.hugging_face.shapes": 1,
    "bpe_ref.hugging_face.encoding": 1,
    # the definition, and what needs no more than it
    "bpe_ref.decoding": 2,
    "bpe_ref.encoders.heap": 2,
    "bpe_ref.encoders.naive": 2,
    "bpe_ref.encoders.scan": 2,
    "bpe_ref.normalization": 2,
    "bpe_ref.pattern_syntax": 2,
    "bpe_ref.tracing": 2,
    "bpe_ref.tries": 2,
    # what is known about tokens side by side, and what looks them up
    "bpe_ref.compatibility": 3,
    "bpe_ref.encoders.greedy": 3,
    "bpe_ref.encoders.minimal": 3,
    "bpe_ref.pretokenization": 3,
    # what that knowledge is used for
    "bpe_ref.auditing": 4,
    "bpe_ref.encoders.backtracking": 4,
    "bpe_ref.encoders.prefix_table": 4,
    # all of it, put together
    "bpe_ref.encoders.table": 5,
    "bpe_ref.tokenizer": 5,
    # where vocabularies come from
    "bpe_ref.formats.plain_json": 6,
    "bpe_ref.formats.files": 1,
    "bpe_ref.formats.tiktoken": 6,
    "bpe_ref.learning": 1,
    "bpe_ref.models": 1,
    "bpe_ref.learning_incrementally": 2,
    "bpe_ref.registry": 6,
    "bpe_ref.training": 6,
    "bpe_ref.tiny": 7,
    "bpe_ref.finding": 8,
    "bpe_ref.loading": 9,
    # the public names
    "bpe_ref": 10,
}
"""Imports go strictly downward: from a module to modules with a lower number only."""

TOUCH_THE_WORLD = {
    "bpe_ref.finding",
    "bpe_ref.formats.files",
    "bpe_ref.formats.plain_json",
    "bpe_ref.formats.tiktoken",
    "bpe_ref.loading",
    "bpe_ref.tiny",
}
"""The only modules that may read files, variables and clocks."""

THE_WORLD = {
    *("argparse", "http", "io", "json", "os", "pathlib", "random", "secrets", "shutil"),
    *("socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib"),
}

NEED_REGEX = {"bpe_ref.pretokenization"}

PUBLIC_SUBMODULES = {
    "bpe_ref.decoding",
    "bpe_ref.finding",
    "bpe_ref.formats.files",
    "bpe_ref.compatibility",
    "bpe_ref.errors",
    "bpe_ref.formats.plain_json",
    "bpe_ref.formats.tiktoken",
    "bpe_ref.merges",
    "bpe_ref.registry",
    "bpe_ref.tiny",
    "bpe_ref.training",
    "bpe_ref.unicode_tables",
    "bpe_ref.vocabulary",
}
"""Whose names without an underscore are documented for use from outside."""


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(package: str) -> dict[str, Path]:
    return {module_name(path): path for path in sorted((ROOT / package).rglob("*.py"))}


REFERENCE = sources("bpe_ref")
ORACLE = sources("tokenref")


def imported(path: Path) -> set[tuple[str, str]]:
    """Return every import in a file, wherever it stands, as module and name.

    `import a.b` is (a.b, ""); `from a import b` is (a.b, "") too if that is a
    module of ours, else (a, b). Imports relative to the file are refused.
    """
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} imports relative to the file"
            module = node.module or ""
            for alias in node.names:
                full = f"{module}.{alias.name}"
                is_module = full in REFERENCE or full in ORACLE
                found.add((full, "") if is_module else (module, alias.name))
    return found


def imported_modules(path: Path) -> set[str]:
    return {module for module, _ in imported(path)}


def package_of(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_has_a_layer() -> None:
    assert sorted(REFERENCE.keys() - LAYERS.keys()) == []


def test_every_layer_is_that_of_a_module() -> None:
    assert sorted(LAYERS.keys() - REFERENCE.keys()) == []
    assert sorted((TOUCH_THE_WORLD | NEED_REGEX | PUBLIC_SUBMODULES) - REFERENCE.keys()) == []


@pytest.mark.parametrize("module", REFERENCE)
def test_imports_go_strictly_downward(module: str) -> None:
    ours = {name for name in imported_modules(REFERENCE[module]) if package_of(name) == "bpe_ref"}
    not_below = {name for name in ours if LAYERS[name] >= LAYERS[module]}
    assert not_below == set(), f"{module} is in layer {LAYERS[module]}"


@pytest.mark.parametrize("module", REFERENCE)
def test_the_reference_needs_the_standard_library_and_regex_only(module: str) -> None:
    packages = {package_of(name) for name in imported_modules(REFERENCE[module])}
    foreign = packages - {"bpe_ref"} - sys.stdlib_module_names
    assert foreign == ({"regex"} if module in NEED_REGEX else set())


@pytest.mark.parametrize("module", sorted(REFERENCE.keys() - TOUCH_THE_WORLD))
def test_algorithms_read_no_file_no_variable_and_no_clock(module: str) -> None:
    packages = {package_of(name) for name in imported_modules(REFERENCE[module])}
    assert packages & THE_WORLD == set()


@pytest.mark.parametrize("module", [name for name in REFERENCE if "bpe_ref.encoders." in name])
def test_encoders_do_not_import_each_other(module: str) -> None:
    others = {
        name for name in imported_modules(REFERENCE[module]) if name.startswith("bpe_ref.encoders.")
    }
    assert module == "bpe_ref.encoders.table" or others == set()


@pytest.mark.parametrize("module", ORACLE)
def test_the_oracle_uses_public_names_of_the_reference_only(module: str) -> None:
    private = set()
    for name, part in imported(ORACLE[module]):
        if package_of(name) != "bpe_ref":
            continue
        if name == "bpe_ref":
            is_public = not part or part in bpe_ref.__all__
        else:
            is_public = name in PUBLIC_SUBMODULES and not part.startswith("_")
        if not is_public:
            private.add((name, part))
    assert private == set()


@pytest.mark.parametrize("module", ORACLE)
def test_the_oracle_does_not_need_the_tests(module: str) -> None:
    assert "tests" not in {package_of(name) for name in imported_modules(ORACLE[module])}


def test_every_public_name_is_there() -> None:
    assert sorted(set(bpe_ref.__all__)) == sorted(bpe_ref.__all__)
    assert [name for name in bpe_ref.__all__ if not hasattr(bpe_ref, name)] == []
