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
    "bpe_ref.data": 0,
    "bpe_ref.errors": 0,
    "bpe_ref.formats": 0,
    "bpe_ref.vocabulary.merges": 0,
    "bpe_ref.oniguruma": 0,
    "bpe_ref.cutting": 0,
    "bpe_ref.incremental": 0,
    "bpe_ref.aligned_text": 0,
    "bpe_ref.hugging_face": 0,
    "bpe_ref.patterns": 0,
    "bpe_ref.sentencepiece": 0,
    "bpe_ref.profile": 0,
    "bpe_ref.vocabulary.byte_alphabet": 0,
    # things: a vocabulary, a set of code points
    "bpe_ref.models.piece_cache": 1,
    "bpe_ref.added_tokens.special_tokens": 1,
    "bpe_ref.cutting.whole": 1,
    "bpe_ref.incremental.checks": 1,
    "bpe_ref.incremental.seams": 2,
    "bpe_ref.unicode_tables": 1,
    "bpe_ref.vocabulary": 1,
    "bpe_ref.components": 1,
    "bpe_ref.normalizers.removing": 1,
    "bpe_ref.normalizers.rewriting": 1,
    "bpe_ref.normalizers.charsmap": 1,
    "bpe_ref.encoding": 1,
    "bpe_ref.models.merging": 1,
    "bpe_ref.models.borders": 1,
    "bpe_ref.added_tokens.longest_matches": 1,
    "bpe_ref.given_text": 1,
    "bpe_ref.models.character_borders": 1.5,
    "bpe_ref.models.merge_tables": 1.5,
    "bpe_ref.models.spelling": 1.5,
    "bpe_ref.models.partwise": 1.6,
    "bpe_ref.hugging_face.piece_offsets": 2,
    "bpe_ref.models.bpe": 2,
    "bpe_ref.added_tokens": 2,
    "bpe_ref.like_tokenizers.decode_stream": 1,
    "bpe_ref.parameters": 1,
    "bpe_ref.post_processors.templates": 1,
    "bpe_ref.post_processors.truncation": 2,
    "bpe_ref.post_processors.padding": 3,
    "bpe_ref.post_processors.framing": 2,
    "bpe_ref.post_processors.trimming": 2,
    "bpe_ref.decoders.byte_decoders": 3,
    "bpe_ref.post_processors": 3,
    "bpe_ref.decoders": 5,
    "bpe_ref.pre_tokenizers.splitting": 1,
    "bpe_ref.pre_tokenizers.unicode_scripts": 1,
    # the definition, and what needs no more than it
    "bpe_ref.decoders.to_bytes": 2,
    "bpe_ref.normalizers.normalizer_tables": 2,
    "bpe_ref.normalizers.byte_level": 2,
    "bpe_ref.normalizers.nmt": 2,
    "bpe_ref.normalizers.sequence": 2,
    "bpe_ref.pre_tokenizers.character_classes": 3,
    "bpe_ref.pre_tokenizers.fixed_length": 2,
    "bpe_ref.encoders.heap": 2,
    "bpe_ref.encoders.naive": 2,
    "bpe_ref.cutting.counting": 2,
    "bpe_ref.cutting.kinds": 2,
    "bpe_ref.cutting.surrogates": 2,
    "bpe_ref.encoders.scan": 2,
    "bpe_ref.normalizers.nfc": 2,
    "bpe_ref.pattern_syntax": 2,
    "bpe_ref.patterns_for_oniguruma": 2,
    "bpe_ref.stand_ins": 2,
    # Oniguruma's expressions: from reading them to the patterns that components hold
    "bpe_ref.oniguruma.cursor": 2,
    "bpe_ref.oniguruma.nodes": 2,
    "bpe_ref.oniguruma.properties": 2,
    "bpe_ref.oniguruma.escapes": 2.1,
    "bpe_ref.oniguruma.folding": 2.1,
    "bpe_ref.oniguruma.costs": 2.1,
    "bpe_ref.oniguruma.program": 2.1,
    "bpe_ref.oniguruma.machine": 2.2,
    "bpe_ref.oniguruma.quantifiers": 2.1,
    "bpe_ref.oniguruma.references": 2.1,
    "bpe_ref.oniguruma.restrictions": 2.1,
    "bpe_ref.oniguruma.translation": 2.1,
    "bpe_ref.oniguruma.brackets": 2.2,
    "bpe_ref.oniguruma.reading": 2.3,
    "bpe_ref.oniguruma.matching": 2.4,
    "bpe_ref.patterns.matches": 2.5,
    "bpe_ref.normalizers.replacement_limit": 2.6,
    "bpe_ref.tracing": 2,
    "bpe_ref.tries": 2,
    # what is known about tokens side by side, and what looks them up
    "bpe_ref.compatibility": 3,
    "bpe_ref.normalizers.grapheme_clusters": 3,
    "bpe_ref.normalizers.normalization_forms": 3,
    "bpe_ref.normalizers.lowercase": 3,
    "bpe_ref.normalizers.stripping": 3,
    "bpe_ref.encoders.greedy": 3,
    "bpe_ref.encoders.minimal": 3,
    "bpe_ref.decoders.offsets": 3,
    "bpe_ref.decoders.utf8_stream": 3,
    "bpe_ref.incremental.delay": 5,
    "bpe_ref.incremental.eager": 5,
    "bpe_ref.pair_report": 3,
    "bpe_ref.dropout": 3,
    "bpe_ref.pretokenization": 3,
    "bpe_ref.pre_tokenizers.char_delimiter_split": 4,
    "bpe_ref.pre_tokenizers.digits": 4,
    "bpe_ref.pre_tokenizers.metaspace": 4,
    "bpe_ref.pre_tokenizers.punctuation": 4,
    "bpe_ref.pre_tokenizers.whitespace": 4,
    "bpe_ref.sentencepiece.model": 3,
    # what that knowledge is used for
    "bpe_ref.models.sentencepiece": 4,
    "bpe_ref.normalizers.sentencepiece": 4,
    "bpe_ref.decoders.sentencepiece": 5,
    "bpe_ref.auditing": 4,
    "bpe_ref.normalizers.forms": 4,
    "bpe_ref.normalizers.precompiled": 4,
    "bpe_ref.encoders.backtracking": 4,
    "bpe_ref.pre_tokenizers.bert": 5,
    "bpe_ref.pre_tokenizers.byte_level": 4,
    "bpe_ref.pre_tokenizers.sequence": 5,
    "bpe_ref.encoders.prefix_table": 4,
    "bpe_ref.automata": 4,
    "bpe_ref.streaming": 4,
    "bpe_ref.witnesses": 4,
    # all of it, put together
    "bpe_ref.encoders.table": 5,
    "bpe_ref.normalizers.bert": 5,
    "bpe_ref.normalizers.replacing": 5,
    "bpe_ref.normalizers": 6,
    "bpe_ref.tokenizer": 5,
    "bpe_ref.incremental.appending": 5,
    "bpe_ref.incremental.limits": 5,
    "bpe_ref.incremental.prepending": 5,
    "bpe_ref.incremental.intervals": 6,
    "bpe_ref.pre_tokenizers.split_by_pattern": 6,
    "bpe_ref.pre_tokenizers": 7,
    "bpe_ref.sentencepiece.tokenizer": 6,
    "bpe_ref.hugging_face.quick_ids": 5.5,
    "bpe_ref.hugging_face.text_to_tokens": 5.5,
    "bpe_ref.hugging_face.token_strings": 5.5,
    "bpe_ref.hugging_face.pipeline": 6,
    # where vocabularies come from
    "bpe_ref.formats.plain_json": 6,
    "bpe_ref.formats.files": 1,
    "bpe_ref.formats.json_nodes": 1,
    "bpe_ref.formats.hugging_face_components": 8,
    "bpe_ref.formats.hugging_face": 8.5,
    "bpe_ref.formats.hugging_face_writing": 8.6,
    "bpe_ref.formats.protobuf": 1,
    "bpe_ref.formats.sentencepiece": 6,
    "bpe_ref.formats.byte_level": 4,
    "bpe_ref.formats.merges_text": 6,
    "bpe_ref.formats.gpt2": 7,
    "bpe_ref.formats.minbpe": 7,
    "bpe_ref.formats.byte_level_json": 7,
    "bpe_ref.formats.tekken": 6,
    "bpe_ref.formats.generation": 6,
    "bpe_ref.formats.recognizing": 6,
    "bpe_ref.formats.tiktoken": 6,
    "bpe_ref.learning": 1,
    "bpe_ref.models": 1,
    "bpe_ref.learning_incrementally": 2,
    "bpe_ref.registry": 6,
    "bpe_ref.training": 6,
    "bpe_ref.tiny": 7,
    "bpe_ref.cutting.borders": 7,
    "bpe_ref.cutting.growing": 8,
    "bpe_ref.cutting.long_pieces": 8,
    "bpe_ref.cutting.letter_borders": 8,
    "bpe_ref.cutting.file_patterns": 8,
    "bpe_ref.cutting.by_letters": 9,
    "bpe_ref.cutting.by_pieces": 9,
    "bpe_ref.cutting.longest": 9,
    "bpe_ref.cutting.reference": 10,
    "bpe_ref.cutting.added_text": 8,
    "bpe_ref.cutting.pieces_of_files": 10,
    "bpe_ref.cutting.letters_of_files": 10,
    "bpe_ref.cutting.pipelines": 11,
    "bpe_ref.cutting.splitting": 9,
    "bpe_ref.completions": 7,
    "bpe_ref.like_tiktoken": 13,
    "bpe_ref.like_tiktoken.core": 10,
    "bpe_ref.like_tiktoken.load": 7,
    "bpe_ref.like_tiktoken.model": 12,
    "bpe_ref.like_tiktoken.registry": 11,
    "bpe_ref.unstable": 6,
    "bpe_ref.canonical": 6,
    "bpe_ref.decoders.growing_steps": 6,
    "bpe_ref.decoders.string_steps": 6,
    "bpe_ref.decoders.chain_stream": 7,
    "bpe_ref.hugging_face.pipeline_stream": 8,
    "bpe_ref.hugging_face.as_vocabulary": 8,
    "bpe_ref.finding": 8,
    "bpe_ref.loading": 9,
    "bpe_ref.like_tokenizers.encodings": 9,
    "bpe_ref.like_tokenizers.tokens": 9,
    "bpe_ref.like_tokenizers.inputs": 9,
    "bpe_ref.like_tokenizers.patterns": 9,
    "bpe_ref.like_tokenizers.models": 10,
    "bpe_ref.like_tokenizers.normalizers": 10,
    "bpe_ref.like_tokenizers.pre_tokenizers": 10,
    "bpe_ref.like_tokenizers.processors": 10,
    "bpe_ref.like_tokenizers.decoders": 10,
    "bpe_ref.like_tokenizers.tokenizer": 10,
    "bpe_ref.like_tokenizers": 11,
    # the public names
    "bpe_ref": 99,
}
"""Imports go strictly downward: from a module to modules with a lower number only."""

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

NEED_REGEX = {"bpe_ref.oniguruma.matching", "bpe_ref.pretokenization"}

PUBLIC_SUBMODULES = {
    "bpe_ref.hugging_face.pipeline_stream",
    "bpe_ref.aligned_text",
    "bpe_ref.formats.hugging_face",
    "bpe_ref.added_tokens",
    "bpe_ref.like_tokenizers.decode_stream",
    "bpe_ref.decoders",
    "bpe_ref.encoding",
    "bpe_ref.models.merging",
    "bpe_ref.models.bpe",
    "bpe_ref.normalizers",
    "bpe_ref.post_processors.padding",
    "bpe_ref.patterns.matches",
    "bpe_ref.hugging_face.pipeline",
    "bpe_ref.post_processors",
    "bpe_ref.pre_tokenizers",
    "bpe_ref.pre_tokenizers.splitting",
    "bpe_ref.profile",
    "bpe_ref.components",
    "bpe_ref.decoders.chain_stream",
    "bpe_ref.post_processors.truncation",
    "bpe_ref.decoders.utf8_stream",
    "bpe_ref.pair_report",
    "bpe_ref.dropout",
    "bpe_ref.completions",
    "bpe_ref.canonical",
    "bpe_ref.incremental.delay",
    "bpe_ref.incremental.eager",
    "bpe_ref.decoders.offsets",
    "bpe_ref.streaming",
    "bpe_ref.decoders.to_bytes",
    "bpe_ref.finding",
    "bpe_ref.formats.files",
    "bpe_ref.vocabulary.byte_alphabet",
    "bpe_ref.patterns_for_oniguruma",
    "bpe_ref.compatibility",
    "bpe_ref.errors",
    "bpe_ref.formats.plain_json",
    "bpe_ref.formats.tiktoken",
    "bpe_ref.vocabulary.merges",
    "bpe_ref.normalizers.charsmap",
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
