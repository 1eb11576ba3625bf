"""Put the fixtures into the wheel as one compressed archive, and the pages of `docs`."""

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FixturesArchive(BuildHookInterface):  # type: ignore[type-arg]
    """The build hook; `pyproject.toml` names this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the archive and add the pages. An editable install reads the folders itself."""
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
        for path in (*docs.rglob("*.md"), *docs.glob("figures/*.svg")):
            name = path.relative_to(self.root).as_posix()
            build_data["force_include"][str(path)] = f"tokenref/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the archive: it is in the wheel now."""
        (Path(self.directory) / "fixtures.zip").unlink(missing_ok=True)
