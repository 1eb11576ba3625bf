"""@huggingface/tokenizers, of npm, as an engine: https://github.com/huggingface/tokenizers.js.

It reads a tokenizer.json in JavaScript. Transformers.js uses it, so what it answers is what
programs in a browser get. Node runs it, in `tokenref/node_engines/tokenizers_js.mjs`.
"""

import shlex

from tokenref.engines.json_files import JsonEngine


class TokenizersJsEngine(JsonEngine):
    """The package with any vocabulary that it can express; Node has its methods."""

    name = "tokenizers-js"
    ends_lines = True

    def command(self) -> list[str]:
        from tokenref.engines.node_packages import node_command

        return shlex.split(node_command(self.name))
