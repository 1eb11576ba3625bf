"""Put the book and the fixtures, as one archive `tokenref/fixtures.zip`, into the wheel."""

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FixturesArchive(BuildHookInterface):  # type: ignore[type-arg]
    """The build hook; `pyproject.toml` names this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the archive, except for an editable install, which reads the folder itself."""
        if version == "editable":
            return
        archive = Path(self.directory) / "fixtures.zip"
        archive.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(self.root) / "fixtures"
        with ZipFile(archive, "w") as opened:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    name = path.relative_to(folder).as_posix()
                    # ZipInfo's default date makes the archive the same wherever it is built.
                    opened.writestr(ZipInfo(name), path.read_bytes(), ZIP_DEFLATED, 9)
        build_data["force_include"][str(archive)] = "tokenref/fixtures.zip"
        docs = Path(self.root) / "docs"
        for path in (*docs.glob("book/*.md"), *docs.glob("figures/*.svg")):
            build_data["force_include"][str(path)] = f"tokenref/{path.relative_to(docs).as_posix()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the archive: it is in the wheel now."""
        (Path(self.directory) / "fixtures.zip").unlink(missing_ok=True)
