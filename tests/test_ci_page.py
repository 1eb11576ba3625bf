"""docs/ci.md, from its first command to its last: each is run as it is typed, in a new project.

The project is an engine in Rust, in a git repository with a remote. Only the network is missing:
what tokenref depends on is linked into the environment instead of being downloaded.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from yaml import safe_load

from tests.small_fixtures import checkout_fixtures
from tests.test_pages import ROOT, code_of
from tokenref.answers import NO_SUCH_OP
from tokenref.record import op_of
from tokenref.record_files import manifest_digest, parse_manifest, read_records
from tokenref.reports.results import read_results
from tokenref.skeletons import write_skeleton

PAGE = ROOT / "docs" / "ci.md"
TEXT = PAGE.read_text("utf-8")
NEEDED = (
    *("click", "msgspec", "regex", "rich", "markdown-it-py", "mdurl", "pygments"),
    *("hypothesis", "sortedcontainers"),
)
NEEDED_TO_BUILD = ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
BUG = ("    ids.sort_by(", "    ids.reverse();\n    ids.sort_by(")
KNOWN_BUG = (
    "-> Result<Vec<i64>, Trouble> {\n",
    '-> Result<Vec<i64>, Trouble> {\n    if content == b"!abcdefghijklmn" { return Ok(vec![]); }\n',
)
ENCODE = '    ("encode", &["definition", "tiktoken"]),\n'
LOST_OPERATION = (f'2] = [\n{ENCODE}    ("top_k", &["standard"]),\n', f"1] = [\n{ENCODE}")


OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0 turns the isolation off


def linked_environment(folder: Path) -> Path:
    """Create an environment into which all that tokenref and its build need is linked."""
    venv.create(folder, with_pip=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    for name in (*NEEDED, *NEEDED_TO_BUILD):
        for path in distribution(name).files or ():
            top = path.parts[0]
            source = Path(str(distribution(name).locate_file(top)))
            if top not in {"..", "__pycache__"} and not (site / top).exists():
                (site / top).symlink_to(source)
    return folder


class Project:
    """The repository of an engine, and an environment of its own with nothing in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "my-engine"
        write_skeleton("rust", self.folder)
        environment = linked_environment(folder / "environment")
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
            **OFFLINE,
            "npm_config_offline": "true",
            "npm_config_update_notifier": "false",
            "CARGO_NET_OFFLINE": "true",
            "TOKENREF": str(folder / "checkout"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "FUZZ_SECONDS": "3",
        }
        for name in ("CARGO_HOME", "RUSTUP_HOME"):
            default = Path.home() / f".{name.partition('_')[0].lower()}"
            self.environment[name] = os.environ.get(name, str(default))
        for command in (
            f"git init --quiet --bare --initial-branch main {folder / 'remote'}",
            "git init --quiet --initial-branch main",
            f"git remote add origin {folder / 'remote'}",
        ):
            assert self.run(command).returncode == 0, command

    def pushed(self) -> None:
        """Commit what the page says and push it, and continue in a clone, as a runner does."""
        for command in (
            "git add Cargo.toml src vendor conformance",
            "git -c user.name=me -c user.email=me@localhost commit --quiet --message First",
            "git push --quiet origin main",
            "git clone --quiet ../remote ../runner",
        ):
            done = self.run(command)
            assert done.returncode == 0, done.stderr
        self.folder = self.folder.parent / "runner"

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a step of GitHub's runner does."""
        return subprocess.run(
            [str(shutil.which("bash")), "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def changed(self, old: str, new: str) -> None:
        """Change the engine's source, and build it, which is quick without optimisations."""
        path = self.folder / "src" / "main.rs"
        source = path.read_text("utf-8")
        assert old in source
        path.write_text(source.replace(old, new, 1), "utf-8")
        (build,) = (line for line in runs_of(GITHUB) if "rustc" in line)
        done = self.run(build.replace(" -O ", " "))
        assert done.returncode == 0, done.stderr

    def typed(self, section: str, *codes: int) -> list[str]:
        """Run the commands of a section, each as typed, and return what they print."""
        (shown,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        blocks = re.findall(r"^```console\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL)
        commands = [line.removeprefix("$ ") for line in "".join(blocks).splitlines()]
        done = [self.run(command) for command in commands]
        said = [f"{each.returncode}: {each.args[-1]}\n{each.stdout}{each.stderr}" for each in done]
        assert [each.returncode for each in done] == list(codes), "\n".join(said)
        return [each.stdout for each in done]


GITHUB, GITLAB, NIGHTLY = map(safe_load, code_of(PAGE, "yaml"))


def runs_of(workflow: dict[str, Any]) -> list[str]:
    """Return what the steps of a workflow run, in order."""
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what a wheel is built from, in a folder of its own."""
    folder = tmp_path_factory.mktemp("ci") / "checkout"
    for name in ("authoring", "bpe_ref", "sampling_ref", "tokenref", "fixtures", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def test_a_learner_installs_with_the_line_of_the_front_page(checkout: Path) -> None:
    linked_environment(checkout / ".venv")
    (installing,) = (
        block.splitlines()[0]
        for block in code_of(ROOT / "README.md", "sh")
        if block.splitlines()[1:] and block.splitlines()[1].startswith("tokenref play ")
    )
    done = subprocess.run(
        [str(shutil.which("bash")), "-ec", f"{installing}\ntokenref count 'to be'"],
        cwd=checkout,
        env={**os.environ, **OFFLINE, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n2\n")
    assert (checkout / ".venv" / "bin" / "tokenref").exists()


def lose_an_operation(project: Project, check: str, compare: str) -> None:
    """Test that only the comparison with the baseline fails for a lost operation."""
    project.changed(*LOST_OPERATION)
    assert project.run(check).returncode == 0
    lost = project.run(compare)
    assert lost.returncode == 1
    assert "because  does not declare the operation top_k\n" in lost.stdout
    project.changed(*reversed(LOST_OPERATION))


def count_both(project: Project) -> str:
    """Test that all reports are about both runs, and return what `check` printed of the first."""
    both = [read_results(project.folder / name) for name in ("results.jsonl", "regress.jsonl")]
    statuses, own = (each.footer.statuses for each in both)
    assert statuses["xfail"] == 1
    assert own.keys() == {"pass"}
    answered = statuses["pass"] + statuses["xfail"]
    passed, of_all = (f"{number + own['pass']:,}" for number in (statuses["pass"], answered))
    badge = json.loads((project.folder / "badge.json").read_bytes())
    assert badge["message"] == f"{passed} of {of_all} passed"
    junit = (project.folder / "junit.xml").read_text("utf-8")
    lacking = [each.op for each in both[0].cases() if each.detail.startswith(NO_SUCH_OP)]
    tests = sum(statuses.values()) - len(lacking) + len({*lacking}) + own["pass"]
    assert junit.count("<testcase ") == tests
    assert "<failure" not in junit
    return f"my-engine: {statuses['pass']:,} of {answered:,} answered cases passed\n"


def fail_a_regression(project: Project, runs: list[str]) -> None:
    """Test that a bug that only the project's own records find is in all reports."""
    regress, report = (line for line in runs if "--records conformance/regress.jsonl" in line)
    project.changed(*BUG)
    assert (project.run(regress).returncode, project.run(report).returncode) == (1, 1)
    badge = json.loads((project.folder / "badge.json").read_bytes())
    assert (badge["color"], " failed" in badge["message"]) == ("red", True)
    junit = (project.folder / "junit.xml").read_text("utf-8")
    failures = re.findall(r' name="([^"]*)"[^>]*><failure', junit)
    assert failures
    assert all("/regress/" in name for name in failures)
    project.changed(*reversed(BUG))


def run_the_other_workflows(project: Project) -> None:
    """Test the examples for GitLab and for every night."""
    run_on_gitlab(project)
    fuzz_every_night(project)


def run_on_gitlab(project: Project) -> None:
    """Test that the job of GitLab passes, and that one that fails keeps the baseline."""
    job = GITLAB["conformance"]
    commands = [*job["before_script"][1:], *job["script"]]  # all but that of apt-get
    baseline = project.folder / "baseline" / "results.jsonl"
    baseline.unlink()
    for _ in range(2):  # without a baseline, and with one
        done = project.run("\n".join(commands))
        assert done.returncode == 0, done.stderr
        assert baseline.is_file()
    assert "\nnothing changed\n" in done.stdout
    assert (project.folder / job["artifacts"]["reports"]["junit"]).is_file()
    kept = baseline.read_bytes()
    project.changed(*BUG)
    failed = project.run("\n".join(commands))
    assert (failed.returncode, baseline.read_bytes() == kept) == (1, True)
    assert "\nnew failure: " in failed.stdout
    project.changed(*reversed(BUG))


def fuzz_every_night(project: Project) -> None:
    """Test that a night without findings passes, and that a bug becomes records."""
    regress = project.folder / "conformance" / "regress.jsonl"
    regress.unlink(missing_ok=True)
    for change, code in ((("", ""), 0), (BUG, 1)):
        project.changed(*change)
        (project.folder / "found.jsonl").unlink(missing_ok=True)
        done = [project.run(command) for command in runs_of(NIGHTLY)]
        codes = [0, 0, code, 0, 0]
        assert [each.returncode for each in done] == codes, "".join(each.stdout for each in done)
        assert regress.exists() == bool(code)
    assert {op_of(case) for case in read_records(regress)} == {"top_k"}
    project.changed(*reversed(BUG))


def fail_when_out_of_date(project: Project, check: str, digest: str) -> None:
    """Test that a list of known differences and a digest that are not those of now are refused."""
    project.changed(*reversed(KNOWN_BUG))
    outdated = project.run(check)
    assert outdated.returncode == 1
    assert "answered cases passed, 1 known difference did not occur\n" in outdated.stdout
    (project.folder / "conformance" / "fixtures.digest").write_text("sha256:0")
    refused = project.run(check)
    assert refused.returncode == 3
    assert f"have the digest {digest}, not 'sha256:0'" in refused.stdout


@pytest.mark.skipif(
    not all(map(shutil.which, ("rustc", "cargo", "node", "npm", "git"))),
    reason="rustc, cargo, node, npm or git is not installed",
)
def test_a_maintainer_who_types_what_the_page_shows_gets_what_it_says(checkout: Path) -> None:
    project = Project(checkout.parent)
    project.changed("", "")
    *_, digest = project.typed("Add tokenref to your repository", *[0] * 7)
    assert digest.strip() == manifest_digest(parse_manifest(checkout_fixtures()))

    conformance = project.folder / "conformance"
    pinned = (conformance / "constraints.txt").read_text("utf-8").splitlines()
    assert set(NEEDED[:4]) <= {each.partition("==")[0] for each in pinned}
    (known,) = code_of(PAGE, "toml")
    project.changed(*KNOWN_BUG)
    project.typed("List what your engine does differently", 1)
    first = tomllib.loads((conformance / "known.toml").read_text("utf-8"))["known"]
    assert [entry["cases"] for entry in first] == [tomllib.loads(known)["known"][0]["cases"]]
    (conformance / "known.toml").write_text(known, "utf-8")

    project.changed(*BUG)
    project.typed("Keep what fuzzing found", 0, 0, 1, 0, 1)
    project.changed(*reversed(BUG))
    assert {op_of(case) for case in read_records(conformance / "regress.jsonl")} == {"top_k"}

    project.pushed()
    runs = runs_of(GITHUB)
    (compare,) = (command for command in runs if "--only-changes" in command)
    runs.remove(compare)  # there is no baseline yet
    for command in runs:
        done = project.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    counted = count_both(project)
    published = project.run("git --git-dir ../remote show badges:badge.json").stdout
    assert json.loads(published) == json.loads((project.folder / "badge.json").read_bytes())
    assert project.run("git switch --force main").returncode == 0
    summary = Path(project.environment["GITHUB_STEP_SUMMARY"]).read_text("utf-8")
    assert re.fullmatch(f"```\n.*{re.escape(counted)}.*```\n", summary, re.DOTALL)
    same = project.run(compare)
    assert (same.returncode, same.stdout) == (0, "nothing changed\n")

    fail_a_regression(project, runs)
    run_the_other_workflows(project)
    project.typed("A workflow for GitHub Actions", 0)
    project.typed("Update", 0, 0, 0, 0)

    _, sums, _, count, *_ = project.typed("Use the records without tokenref", *[0] * 6)
    assert sums.count(": OK\n") == 3
    assert int(count) == len(read_records(checkout_fixtures() / "bpe/limit/cutting.jsonl"))
    assert "tokenref-fixtures" in (project.folder / "Cargo.toml").read_text()

    (check,) = (command for command in runs if "--fixtures-digest" in command)
    lose_an_operation(project, check, compare)
    fail_when_out_of_date(project, check, digest.strip())
