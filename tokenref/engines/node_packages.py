"""Tokenizers from npm, run by Node over the protocol of `docs/protocol.md`.

The programs are in `tokenref/node_engines`. The packages are searched in the folder named by the
environment variable TOKENREF_NODE_MODULES, else in `node_modules` in the current folder. Nothing
is ever installed.
"""

import atexit
import json
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bpe_ref import Vocabulary
from tokenref.answers import Session, Unsupported
from tokenref.protocol.channel import Patience
from tokenref.protocol.engine import ProtocolEngine
from tokenref.protocol.opening import open_program

NODE_PACKAGES: Final[Mapping[str, str]] = {
    "gpt-tokenizer": "4.0.0",
    "js-tiktoken": "1.0.21",
    "tiktoken-wasm": "1.0.22",
    "tokenizers-js": "0.2.0",
}
"""Each engine, and the version of its package that the known differences refer to."""

_PACKAGES: Final = {"tiktoken-wasm": "tiktoken", "tokenizers-js": "@huggingface/tokenizers"}
"""Packages with another name than the engine, because a package of Python has it."""

FOLDER_VARIABLE: Final = "TOKENREF_NODE_MODULES"

PATIENCE: Final = Patience(per_batch=60.0, to_start=120.0)
"""Long limits, because these programs always answer, but slowly on a busy machine."""


def modules_folder() -> Path:
    """Return the folder that contains the packages."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "node_modules")


def node_command(name: str) -> str:
    """Return the command that runs a package as an engine.

    >>> "js_tiktoken.mjs" in node_command("js-tiktoken")
    True
    """
    program = Path(__file__).parent.parent / "node_engines" / f"{name.replace('-', '_')}.mjs"
    return shlex.join(["node", str(program), str(modules_folder())])


def node_package(name: str) -> "NodePackage | str":
    """Return a package as an engine, or a sentence why it is not available.

    >>> isinstance(node_package("js-tiktoken"), NodePackage | str)
    True
    """
    if shutil.which("node") is None:
        return "node is not installed"
    folder, package = modules_folder(), _PACKAGES.get(name, name)
    try:
        described = json.loads((folder / package / "package.json").read_bytes())
        return NodePackage(name, str(described["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return (
            f"{folder} has no package {package}: npm install {package}@{NODE_PACKAGES[name]}, "
            f"and set {FOLDER_VARIABLE} to the node_modules folder that has it"
        )


class NodePackage:
    """An npm package as an engine. Node is started by the first load and ended at exit.

    Its sessions are those of `ProtocolEngine`.
    """

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self.again: list[str] = []
        """Empty, because its name is enough to run it again."""

        self._program: ProtocolEngine | None = None

    @property
    def incidents(self) -> list[str]:
        return self._program.incidents if self._program else []

    @property
    def restarts(self) -> int:
        return self._program.restarts if self._program else 0

    @property
    def seconds_lost(self) -> float:
        return self._program.seconds_lost if self._program else 0.0

    def forgive(self, restarts: int) -> None:
        self._started().forgive(restarts)

    def close(self) -> None:
        if self._program is not None:
            self._program.close()

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        return self._started().load(vocabulary, name)

    def load_for_profile(
        self, vocabulary: Vocabulary, name: str, profile: str
    ) -> Session | Unsupported:
        return self._started().load_for_profile(vocabulary, name, profile)

    def _started(self) -> ProtocolEngine:
        if self._program is None:
            self._program = open_program(node_command(self.name), PATIENCE)
            atexit.register(self._program.close)
        return self._program
