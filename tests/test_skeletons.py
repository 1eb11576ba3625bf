"""The skeletons of `tokenref init`: built, examined, and run through all their records."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from authoring.grids import grid
from sampling_ref import EXACT, WEIGHTS, top_k
from sampling_ref.errors import ParameterError, RowError
from tests.small_fixtures import checkout_fixtures
from tokenref import skeletons
from tokenref.answers import Answer, Crashed, Ok, Refused, Skipped
from tokenref.catalogue import Catalogue, Selection, open_catalogue
from tokenref.cli import main
from tokenref.doctor.walk import examine
from tokenref.errors import InputError
from tokenref.floats import Type, pack
from tokenref.protocol.channel import Patience, Process
from tokenref.protocol.engine import ProtocolEngine
from tokenref.protocol.opening import open_program
from tokenref.runner import run_engine
from tokenref.skeletons import LANGUAGES, write_skeleton

CALM = Patience(per_batch=60, per_case=0, to_start=60)
"""An answer comes, however busy the machine is."""

PROGRAMS = {
    "rust": "rustc",
    "c": "cc",
    "cpp": "c++",
    "go": "go",
    "python": sys.executable,
    "js": "node",
    "cuda": "c++",
}

# Code that breaks at the text "boom", put into the example that authors replace.
BOOM = {
    "rust": (
        "src/main.rs",
        "-> Result<Vec<i64>, Trouble> {",
        '    assert!(content != b"boom", "boom");',
    ),
    "c": (
        "engine.c",
        "size_t length, int64_t *ids) {",
        '    if (length == 4 && memcmp(text, "boom", 4) == 0) *(volatile int *)0 = 1;',
    ),
    "cpp": (
        "engine.cpp",
        "encode(const Vocabulary &vocabulary, const std::string &text) {",
        '    if (text == "boom") throw 1;',
    ),
    "go": (
        "main.go",
        "text string) ([]json.Number, error) {",
        '\tif text == "boom" {\n\t\tpanic("boom")\n\t}',
    ),
    "python": (
        "engine.py",
        'lowest rank is merged first."""',
        '    print("a stray line")\n    if text == b"boom":\n        1 // 0',
    ),
    "js": (
        "engine.mjs",
        "function encode(vocabulary, text) {",
        '  console.log("a stray line");\n  if (text.toString() === "boom") null.x;',
    ),
}


@cache
def catalogue() -> Catalogue:
    return open_catalogue()


with_encode = pytest.mark.parametrize("engine", sorted(BOOM), indirect=True, scope="module")
"""Runs a test with the engines that have a tokenizer."""


@pytest.fixture(scope="module", params=sorted(LANGUAGES))
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProtocolEngine]:
    """Return an engine of each language, as `init` wrote it but for one text that breaks it."""
    language = request.param
    if shutil.which(PROGRAMS[language]) is None:
        pytest.skip(f"{PROGRAMS[language]} is not installed")
    folder = tmp_path_factory.mktemp(language)
    write_skeleton(language, folder)
    if language in BOOM:
        name, after, code = BOOM[language]
        source = folder / name
        source.write_text(source.read_text().replace(after, f"{after}\n{code}", 1))
    for build in LANGUAGES[language].build:
        subprocess.run(shlex.split(build), cwd=folder, check=True)
    words = shlex.split(LANGUAGES[language].run.replace("python3", sys.executable))
    words = [str(folder / word) if (folder / word).is_file() else word for word in words]
    program = open_program(shlex.join(words), CALM)
    yield program
    program.close()


@with_encode
def test_a_whole_tokenizer_which_exported_questions_contain_is_answered(
    engine: ProtocolEngine,
) -> None:
    load = {"cmd": "load", "id": "l0", "tokenizer": "sha256:0", "path": "tokenizer.json"}
    lines = [{"cmd": "hello", "proto": 1}, load, {"cmd": "bye"}]
    sent = "".join(json.dumps(line) + "\n" for line in lines)
    said = subprocess.run(
        command(engine), input=sent.encode(), capture_output=True, check=True, timeout=30
    )
    reply = json.loads(said.stdout.splitlines()[1])
    assert (reply.pop("id"), len(reply)) == ("l0", 1)


def command(engine: ProtocolEngine) -> list[str]:
    return shlex.split(engine.again[1])


def ask(engine: ProtocolEngine, vocabulary: str, request: Mapping[str, Any]) -> Answer:
    digest = next(e.digest for e in catalogue().manifest.vocabularies if e.name == vocabulary)
    loaded = catalogue().subject(digest)
    return engine.load(loaded, vocabulary).answer("encode", request)  # type: ignore[arg-type]


def test_it_passes_every_record_that_it_does_not_skip(engine: ProtocolEngine) -> None:
    cases = catalogue().select(Selection(ops=tuple(engine.hello.ops)))
    run = run_engine(engine, cases, catalogue(), known=(), complete=False)
    assert run.failures == []
    assert run.is_valid, run.trouble
    assert run.count("pass") > 850
    assert engine.restarts == 0


def test_the_doctor_finds_nothing(engine: ProtocolEngine) -> None:
    found = list(examine(engine.again[1], catalogue(), CALM))
    assert {each.kind for each in found} <= {"ok", "note"}, found
    assert any(each.about == "top_k" and each.kind == "ok" for each in found)


@with_encode
def test_what_breaks_in_ones_own_code_is_a_crash_of_that_case(engine: ProtocolEngine) -> None:
    for _ in range(3):
        assert isinstance(ask(engine, "byte_order", {"text": "boom"}), Crashed)
        assert isinstance(ask(engine, "byte_order", {"text": "bo"}), Ok)
    assert engine.restarts == 0


@with_encode
def test_long_texts_are_skipped_and_not_built(engine: ProtocolEngine) -> None:
    recipe = {"before": "", "unit": "61", "times": 10**9, "after": ""}
    assert isinstance(ask(engine, "byte_order", {"recipe": recipe}), Skipped)
    recipe = {"before": "62", "unit": "61", "times": 1999, "after": ""}
    assert isinstance(ask(engine, "byte_order", {"recipe": recipe}), Ok)
    recipe = {"before": "62", "unit": "61", "times": 1999, "after": "63"}
    assert isinstance(ask(engine, "byte_order", {"recipe": recipe}), Skipped)


@with_encode
def test_json_is_read_however_it_is_spelled(engine: ProtocolEngine) -> None:
    """Escapes, surrogate pairs, spaces, unknown members, and bytes as they are."""
    entry = next(e for e in catalogue().manifest.vocabularies if e.name == "byte_order")
    path = str((checkout_fixtures() / str(entry.path)).resolve())
    text = 'é€😀\x00\x1f\x7f"\\/\b\f\n\r\t\uffff\U0010ffff'
    escaped = json.dumps({"text": text}).replace("/", "\\/").replace("ff", "FF", 1)
    plain = json.dumps({"text": text}, ensure_ascii=False)
    spaced = '\t{ "more" : [ { } , [ ] , -1.5e+3 , true , false , null ] , "text" : ' + (
        json.dumps(text) + " }"
    )
    key = 'k"\\\n\u00e9\U0001f600'
    process = Process(command(engine))
    try:
        load = {"cmd": "load", "id": key, "vocab": entry.digest, "path": path}
        (line,) = process.exchange(json.dumps(load).encode() + b"\n", 1, 60)
        assert json.loads(line) == {"id": key, "ok": {}}
        cases = ",".join(
            f'{{"in":{question},"k":{json.dumps(key + str(place))}}}'
            for place, question in enumerate([escaped, plain, spaced])
        )
        run = (
            f' {{"cmd":"run","profile":"definition","op":"encode","id":"","vocab":"{entry.digest}"'
            f',"cases":[{cases}]}} '
        )
        (line,) = process.exchange(run.encode() + b"\n", 1, 60)
    finally:
        process.end()
    ranks = {spelled: token for spelled, token, _ in json.loads(Path(path).read_text())["tokens"]}
    ids = [ranks[f"{byte:02x}"] for byte in text.encode()]
    assert json.loads(line) == {
        "id": "",
        "results": [{"k": key + str(place), "ok": {"ids": ids}} for place in range(3)],
    }


@pytest.mark.parametrize("wrong", ['"\\ud800"', '"\\udc00"', '"\\ud800\\u0041"', '"\\x"', "[1,]"])
def test_what_is_no_json_is_no_question(engine: ProtocolEngine, wrong: str) -> None:
    """It ends, or says that it broke; it does not go on as if nothing had happened."""
    program = Path(command(engine)[-1])
    takes_half = program.suffix in {".py", ".mjs"} or (program.parent / "main.go").exists()
    half = "\\ud" in wrong and takes_half
    line = f'{{"cmd":"hello","proto":1,"more":{wrong}}}\n{{"cmd":"bye"}}\n'.encode()
    done = subprocess.run(
        command(engine), input=line, capture_output=True, timeout=120, check=False
    )
    assert bool(done.stdout) == half  # these readers take half a pair


def test_deep_nesting_does_not_overflow_the_stack(engine: ProtocolEngine) -> None:
    deep = f'{{"cmd":"hello","proto":1,"more":{"[" * 200_000}}}\n'.encode()
    done = subprocess.run(
        command(engine), input=deep, capture_output=True, timeout=120, check=False
    )
    assert done.stdout == b""
    assert done.returncode != -11
    assert b"overflow" not in done.stderr  # so Rust says it


ROWS = [
    [0.125, 0.5, 0.25, 0.125],
    [0.25, 0.25, 0.25, 0.25],
    [0.0, 0.5, 0.0, 0.5],
    [0.0, 0.0],
    [1.0],
    [],
    [-0.5, 1.0],
    [0.5, nan],
    [0.5, inf],
]


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_top_k_is_the_references(engine: ProtocolEngine, dtype: Type) -> None:
    session = engine.load_profile("standard")
    for row in [*ROWS, [-inf, -1.5, 2.0**-10, -0.0, 0.0, 2.0**-14, -inf]]:
        for k in (1, 2, 3, 9, 0, -1, None, 2**40):
            for name, numbers in (("probs", WEIGHTS), ("logits", EXACT)):
                got = session.answer("top_k", {name: pack(row, dtype), "params": {"k": k}})
                try:
                    expected: Answer = Ok({"keep": sorted(top_k(row, k, numbers=numbers).tokens)})  # type: ignore[arg-type]
                except (RowError, ParameterError) as error:
                    code = "INVALID_ROW" if isinstance(error, RowError) else "INVALID_PARAMETER"
                    assert isinstance(got, Refused), (row, k)
                    both_wrong = {"INVALID_ROW", "INVALID_PARAMETER"}
                    assert got.code == code or got.code in both_wrong
                else:
                    assert got == expected, (name, row, k)


def test_top_k_keeps_a_least_number(engine: ProtocolEngine) -> None:
    session = engine.load_profile("standard")
    for k, least, kept in ((1, 2, [1, 2]), (3, 2, [0, 1, 2]), (1, 0, None), (0, 2, None)):
        row = pack([0.125, 0.5, 0.25, 0.125], "f32")
        got = session.answer("top_k", {"probs": row, "params": {"k": k, "least": least}})
        assert (got.out["keep"] if isinstance(got, Ok) else None) == kept
        assert isinstance(got, Ok | Refused)


def test_the_smallest_numbers_of_each_type_are_told_apart(engine: ProtocolEngine) -> None:
    session = engine.load_profile("standard")
    rows = [("f16", "00010002"), ("f16", "03ff0400"), ("bf16", "00010002"), ("bf16", "007f0080")]
    rows += [("f32", "0000000100000002"), ("f64", "00000000000000010000000000000002")]
    for dtype, digits in rows:
        got = session.answer("top_k", {"probs": {dtype: digits}, "params": {"k": 1}})
        assert got == Ok({"keep": [1]}), dtype


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_rows_by_recipe_are_made(engine: ProtocolEngine, dtype: Type) -> None:
    session = engine.load_profile("standard")
    for seed, put in ((2**64 - 1, {0: 0.5, 2999: 0.25, 7: -inf}), (7, {})):
        row = grid(seed, 3000, span=100, dtype=dtype, put=put)
        plain: dict[str, Any] = {"gen": row.gen, "seed": row.seed, "n": row.n, "span": row.span}
        plain |= {"dtype": row.dtype, "sha256": row.sha256}
        plain |= {"put": row.put} if put else {}
        got = session.answer("top_k", {"logits": plain, "params": {"k": 40}})
        assert got == Ok({"keep": sorted(top_k(row.values(), 40).tokens)})


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_init_writes_the_files_and_says_what_to_do_next(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "inside it"
    result = CliRunner().invoke(main, ["init", "--lang", language, str(folder)])
    assert result.exit_code == 0, result.output
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == set(LANGUAGES[language].sources)
    for line in LANGUAGES[language].build:
        assert f"  {line}\n" in result.output
        assert f"    {line}\n" in (folder / "README.md").read_text()
    assert f"tokenref doctor --cmd {shlex.quote(LANGUAGES[language].run)}" in result.output
    assert LANGUAGES[language].run in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "src/json.rs"])
def test_init_overwrites_nothing_and_then_writes_nothing(name: str, tmp_path: Path) -> None:
    mine = tmp_path / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    result = CliRunner().invoke(main, ["init", "--lang", "rust", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr == f"tokenref: {mine} already exists and is not overwritten\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "mine"


def test_init_does_not_write_through_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="already exists"):
        write_skeleton("c", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_init_writes_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("a file where a folder must be")
    folder = tmp_path / "src" / "engine"
    with pytest.raises(InputError, match="cannot be written"):
        write_skeleton("rust", folder)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "src").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        write_skeleton("rust", tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["src"]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the engine of kernels, compiled as C++ by the command of its page, with warnings."""
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed")
    folder = tmp_path_factory.mktemp("kernels")
    write_skeleton("cuda", folder)
    (build,) = LANGUAGES["cuda"].build
    words = shlex.split(build.replace("-O2", "-O2 -Wall -Wextra -Wconversion -Werror"))
    subprocess.run(words, cwd=folder, check=True)
    return folder / "engine"


def answered(program: Path, op: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a program answers to one question, without its key."""
    run = {"cmd": "run", "id": "b0", "op": op, "profile": "standard"}
    lines = [run | {"cases": [{"k": "0", "in": question}]}, {"cmd": "bye"}]
    sent = "".join(json.dumps(line) + "\n" for line in lines).encode()
    done = subprocess.run([program], input=sent, capture_output=True, check=True, timeout=60)
    (result,) = json.loads(done.stdout)["results"]
    assert result.pop("k") == "0"
    return dict(result)


def test_kernels_check_the_digest_of_a_recipe(kernels: Path) -> None:
    row = grid(7, 3000, span=100)
    plain = {"gen": row.gen, "seed": row.seed, "n": row.n, "span": row.span, "dtype": "f32"}
    assert "ok" in answered(kernels, "greedy", {"logits": plain | {"sha256": row.sha256}})
    wrong = answered(kernels, "greedy", {"logits": plain | {"sha256": "0" * 64}})
    assert wrong == {"crash": {"msg": "a row made from its recipe has the wrong digest"}}


def test_kernels_name_the_row_that_they_refuse(kernels: Path) -> None:
    rows = [{"logits": pack(row, "f32"), "params": {"k": 2}} for row in ([1.0, 2.0], [1.0, nan])]
    refused = answered(kernels, "batch", {"op": "top_k", "rows": rows})
    assert refused["err"]["code"] == "INVALID_ROW"
    assert refused["err"]["msg"].startswith("row 1: ")
    rows[1]["params"] = {"k": 0}
    refused = answered(kernels, "batch", {"op": "top_k", "rows": rows})
    assert refused["err"]["code"] == "INVALID_PARAMETER"
    assert refused["err"]["msg"].startswith("row 1: ")


def test_kernels_name_the_question_of_a_batch_of_drafts_that_they_refuse(kernels: Path) -> None:
    rows = [
        {"target": pack([0.5, 0.5], "f32"), "draft": pack(draft, "f32"), "params": {}}
        for draft in ([0.25, 0.75], [0.5, 0.5])
    ]
    refused = answered(kernels, "batch", {"op": "residual", "rows": rows})
    assert refused["err"]["code"] == "INVALID_ROW"
    assert refused["err"]["msg"].startswith("row 1: ")


def test_kernels_draw_other_tokens_for_each_request_but_not_for_a_seed(kernels: Path) -> None:
    row = {"probs": pack([1.0] * 256, "f32"), "params": {}, "tokens": 8}
    got = answered(kernels, "seeds", row | {"batches": [[7, None], [None, 7]]})
    (seeded, one), (two, again) = got["ok"]["batches"]
    assert seeded == again
    assert len({tuple(seeded), tuple(one), tuple(two)}) == 3


def test_kernels_skip_what_they_do_not_have(kernels: Path) -> None:
    row = {"logits": pack([1.0, 2.0], "f32"), "params": {}}
    assert answered(kernels, "top_a", row) == {"skip": {"reason": "has no operation top_a"}}
    batch = answered(kernels, "batch", {"op": "top_a", "rows": [row]})
    assert batch == {"skip": {"reason": "has no operation top_a"}}
    filtered = {"probs": pack([0.5, 0.5], "f32"), "params": {"k": 1}, "draws": 1}
    assert answered(kernels, "stat", filtered) == {"skip": {"reason": "has filters of logits"}}
    mixed = [row, {"logits": pack([1.0], "f16"), "params": {}}]
    batch = answered(kernels, "batch", {"op": "softmax", "rows": mixed})
    assert batch == {"skip": {"reason": "cannot mix types, or weights and logits, in a batch"}}
    walked = row | {"params": {"p": pack([0.5], "f32"), "walked": "upwards"}}
    assert answered(kernels, "top_p", walked) == {"skip": {"reason": "has no parameter walked"}}


def test_kernels_with_random_numbers_of_32_bits_skip_those_that_need_64(tmp_path: Path) -> None:
    write_skeleton("cuda", tmp_path)
    source = tmp_path / "kernel.cu"
    text = source.read_text()
    assert text.count("DRAWS_IN_32_BITS = false") == 1
    source.write_text(text.replace("DRAWS_IN_32_BITS = false", "DRAWS_IN_32_BITS = true"))
    (build,) = LANGUAGES["cuda"].build
    subprocess.run(shlex.split(build.replace("-O2", "-O0")), cwd=tmp_path, check=True)
    row = {"probs": pack([0.5, 0.5], "f32")}
    for number, result in (
        (1 - 2.0**-24, {"ok": {"token": 1}}),
        (1 - 2.0**-25, {"skip": {"reason": "has random numbers of 32 bits"}}),
    ):
        asked = {**row, "uniforms": pack([number], "f64")}
        assert answered(tmp_path / "engine", "draw", asked) == result
        chain = asked | {"target": [row["probs"]], "draft": [], "tokens": [], "params": {}}
        got = answered(tmp_path / "engine", "speculative", chain)
        assert got == ({"ok": {"accepted": 0, "tokens": [1]}} if "ok" in result else result)


def test_an_exponential_whose_error_grows_is_within_the_limit_of_32_bits(tmp_path: Path) -> None:
    """As docs/gpu.md says of `exp2f(x * 1.4426950f)`."""
    write_skeleton("cuda", tmp_path)
    source = tmp_path / "kernel.cu"
    text = source.read_text()
    exact, distance = "std::exp(number - best)", "static_cast<float>(number - best)"
    assert text.count(exact) == 1
    fast = f"(batch.type == Type::f64 ? {exact} : std::exp2({distance} * 1.4426950f))"
    source.write_text(text.replace(exact, fast))
    (build,) = LANGUAGES["cuda"].build
    subprocess.run(shlex.split(build.replace("-O2", "-O1")), cwd=tmp_path, check=True)
    asked = ["check", "--cmd", str(tmp_path / "engine"), "--op", "softmax", "--op", "logprobs"]
    shown = CliRunner().invoke(main, asked)
    assert shown.exit_code == 0, shown.output
    assert "104 of 104 answered cases passed" in shown.output


def test_what_a_kernel_leaves_out_is_noticed_even_where_it_would_be_right(tmp_path: Path) -> None:
    """Garbage is in the answers before a launch, so that a lost block never looks right."""
    write_skeleton("cuda", tmp_path)
    source = tmp_path / "kernel.cu"
    text = source.read_text()
    assert text.count("r < batch.rows; r++) answer_row(batch, r);") == 1
    lost = "r + 1 < batch.rows; r++) answer_row(batch, r);"
    text = text.replace("r < batch.rows; r++) answer_row(batch, r);", lost)
    assert text.count("{ answer_drafts(drafts); }\n#endif") == 1
    text = text.replace("{ answer_drafts(drafts); }\n#endif", "{ (void)drafts; }\n#endif")
    source.write_text(text)
    (build,) = LANGUAGES["cuda"].build
    subprocess.run(shlex.split(build.replace("-O2", "-O0")), cwd=tmp_path, check=True)
    row = {"probs": pack([0.5, 0.5], "f32"), "params": {"k": 1}}
    batch = answered(tmp_path / "engine", "batch", {"op": "top_k", "rows": [row, row]})
    assert batch == {"crash": {"msg": "row 1: the kernel did not answer"}}
    residual = {"target": row["probs"], "draft": pack([0.25, 0.75], "f32"), "params": {}}
    assert answered(tmp_path / "engine", "residual", residual) == {
        "crash": {"msg": "the kernel did not answer"}
    }


def test_kernels_compile_with_nvcc_without_a_warning(tmp_path: Path) -> None:
    """Without a GPU, the program says so in its answer."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    write_skeleton("cuda", tmp_path)
    (build,) = (line.strip() for line in readme("cuda") if line.startswith("    nvcc "))
    warnings = "-Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror"
    subprocess.run(shlex.split(f"{build} {warnings}"), cwd=tmp_path, check=True)
    row = {"logits": pack([1.0, 2.0], "f32")}
    got = answered(tmp_path / "engine", "greedy", row)
    assert got == {"ok": {"token": 1}} or got["crash"]["msg"].startswith("CUDA: ")


def readme(language: str) -> list[str]:
    """Return the lines of a skeleton's page."""
    folder = Path(skeletons.__file__).parent / LANGUAGES[language].folder
    return (folder / "README.md").read_text("utf-8").splitlines()
