"""The import graph is part of the design, so it is tested like the rest."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import bpe_ref

ROOT = Path(__file__).parent.parent

TOUCH_THE_WORLD = {
    "bpe_ref.formats.hugging_face",
    "bpe_ref.formats.hugging_face_writing",
    "bpe_ref.formats.json_nodes",
    "bpe_ref.like_tokenizers.tokenizer",
    "bpe_ref.formats.byte_level_json",
    "bpe_ref.formats.generation",
    "bpe_ref.formats.gpt2",
    "bpe_ref.formats.merges_text",
    "bpe_ref.formats.minbpe",
    "bpe_ref.formats.tekken",
    "bpe_ref.finding",
    "bpe_ref.formats.files",
    "bpe_ref.formats.plain_json",
    "bpe_ref.formats.sentencepiece",
    "bpe_ref.formats.tiktoken",
    "bpe_ref.like_tiktoken.load",
    "bpe_ref.loading",
    "bpe_ref.data",
    "bpe_ref.tiny",
}
"""The only modules that may read files, variables and clocks."""

THE_WORLD = {
    *("argparse", "http", "io", "json", "os", "pathlib", "random", "secrets", "shutil"),
    *("socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib"),
}

NEED_REGEX = {"bpe_ref.patterns.expression"}

LAYERS = (
    {"aligned_text", "data", "errors", "quirks"},
    {"given_text", "parameters", "patterns", "vocabulary"},
    {"components", "encoders", "encoding", "registry", "tracing"},
    {
        "added_tokens",
        "auditing",
        "encoder_steps",
        "growing",
        "normalizers",
        "post_processors",
        "pre_tokenizers",
    },
    {"models", "pieces"},
    {"decoders", "quick_ids"},
    {"cutting"},
    {"tokenizer"},
    {"canonical", "formats", "learning"},
    {"completions", "finding", "grammar", "like_tokenizers", "tiny"},
    {"like_tiktoken", "loading"},
)
"""The packages and modules of the reference, the lowest layer first. Imports go downwards."""


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


def test_every_module_listed_here_exists() -> None:
    assert sorted((TOUCH_THE_WORLD | NEED_REGEX) - REFERENCE.keys()) == []


def unit_of(module: str) -> str:
    """Return the package or module of the reference that a module belongs to."""
    return module.split(".")[1] if "." in module else "."


def test_every_package_of_the_reference_has_one_layer() -> None:
    listed = sorted(unit for layer in LAYERS for unit in layer)
    assert listed == sorted({unit_of(module) for module in REFERENCE} - {"."})


@pytest.mark.parametrize("module", [name for name in REFERENCE if name != "bpe_ref"])
def test_imports_go_from_a_layer_to_lower_ones(module: str) -> None:
    layers = {unit: number for number, layer in enumerate(LAYERS) for unit in layer}
    ours = {name for name in imported_modules(REFERENCE[module]) if package_of(name) == "bpe_ref"}
    units = {unit_of(name) for name in ours} - {unit_of(module)}
    assert {unit for unit in units if layers[unit] >= layers[unit_of(module)]} == set()


def test_no_import_cycles() -> None:
    graph = {
        module: {name for name in imported_modules(path) if package_of(name) == "bpe_ref"}
        for module, path in REFERENCE.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_import_cycles_in_the_command_between_modules_and_between_folders() -> None:
    modules: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    for module, path in ORACLE.items():
        modules[module] = {name for name in imported_modules(path) if name in ORACLE} - {module}
        folder = _folder(module)
        others = {_folder(name) for name in modules[module]}
        folders.setdefault(folder, set()).update(others - {folder, "tokenref"})
    TopologicalSorter(modules).prepare()  # raises CycleError
    TopologicalSorter(folders).prepare()


def _folder(module: str) -> str:
    """Return the folder of a module; one directly in the package stands alone."""
    return ".".join(module.split(".")[:2])


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
    assert others == set()


@pytest.mark.parametrize("module", ORACLE)
def test_the_oracle_uses_public_names_of_the_reference_only(module: str) -> None:
    private = set()
    for name, part in imported(ORACLE[module]):
        if package_of(name) != "bpe_ref":
            continue
        if name == "bpe_ref":
            is_public = not part or part in bpe_ref.__all__
        else:
            is_public = not part.startswith("_")
        if not is_public:
            private.add((name, part))
    assert private == set()


@pytest.mark.parametrize("module", ORACLE)
def test_the_oracle_does_not_need_the_tests(module: str) -> None:
    assert "tests" not in {package_of(name) for name in imported_modules(ORACLE[module])}


def test_every_public_name_is_there() -> None:
    assert sorted(set(bpe_ref.__all__)) == sorted(bpe_ref.__all__)
    assert [name for name in bpe_ref.__all__ if not hasattr(bpe_ref, name)] == []
