"""@huggingface/tokenizers, of npm, as an engine: https://github.com/huggingface/tokenizers.js.

It reads a tokenizer.json in JavaScript. Transformers.js uses it, so what it answers is what
programs in a browser get. Node runs it, in `tokenref/node_engines/tokenizers_js.mjs`.
"""

import json
import shutil
import subprocess
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from tokenref.engines.json_files import CrashError, Found, JsonEngine


class JavaScriptError(Exception):
    """An error that the package throws."""


class TokenizersJsEngine(JsonEngine):
    """The package with any vocabulary that it can express.

    >>> TokenizersJsEngine("0.2.0").load_tokenizer(b"{}", "empty", "strict")
    Unsupported(reason='only reads a tokenizer.json in its own way')
    """

    name = "tokenizers-js"
    ends_lines = True

    def __init__(self, version: str) -> None:
        super().__init__(version)
        self._keys = count()

    def open(self, content: bytes) -> int:
        """Return the key of a tokenizer in the process."""
        key = next(self._keys)
        self._call(key, "open", content=content.decode())
        return key

    def encode(self, tokenizer: int, text: str, *, added: bool) -> Found:
        return self._call(tokenizer, "encode", text, None, added)

    def encode_pair(self, tokenizer: int, text: str, pair: str, *, added: bool) -> Found:
        return self._call(tokenizer, "encode", text, pair, added)

    def decode(self, tokenizer: int, ids: list[int], *, skip: bool) -> Found:
        return self._call(tokenizer, "decode", ids, skip)

    def _call(self, key: int, method: str, *given: Any, content: str | None = None) -> Any:
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None  # noqa: S101 - both are pipes
        assert answers is not None  # noqa: S101
        calls.write(json.dumps([content, key, method, given]) + "\n")
        calls.flush()
        line = answers.readline()
        if not line:
            raise CrashError("Node ended")
        answer = json.loads(line)
        if "error" in answer:
            raise JavaScriptError(answer["error"])
        return answer["ok"]

    @cached_property
    def _process(self) -> "subprocess.Popen[str]":
        from tokenref.engines.node_packages import modules_folder

        program = Path(__file__).parent.parent / "node_engines" / "tokenizers_js.mjs"
        return subprocess.Popen(
            [shutil.which("node") or "node", str(program), str(modules_folder())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
