"""A build backend that builds nothing: pip asks it for the metadata of a package of sources.

pip downloads such a package only if it gets its metadata. maturin would need Rust's registry.
"""

from email.parser import Parser
from pathlib import Path


def prepare_metadata_for_build_wheel(folder: str, settings: object = None) -> str:
    """Write the metadata that is in the package, and return the name of its folder."""
    text = Path("PKG-INFO").read_text("utf-8")
    about = Parser().parsestr(text)
    found = Path(folder) / f"{about['Name'].replace('-', '_')}-{about['Version']}.dist-info"
    found.mkdir()
    (found / "METADATA").write_text(text, "utf-8")
    return found.name
