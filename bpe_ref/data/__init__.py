"""Data files, and the loader of those that hold tables of characters.

| file | what it holds |
| --- | --- |
| `unicode.json` | general categories and further classes; what NFC needs beyond Unicode 14.0 |
| `normalizers.json` | the characters that the normalizers of `tokenizers` treat specially |
| `scripts.json` | the scripts of `UnicodeScripts` |
| `oniguruma_properties.json` | Oniguruma's character properties |
| `oniguruma_foldings.json` | which characters are equal under Oniguruma's `(?i)` |
| `llama_cpp.json` | the pre-tokenizers that GGUF files name; tokens of another kind than they say |
| `models.json` | the vocabulary that each model uses |
| `other_files.json` | how files begin that are no tokenizers |
| `transformers.json` | what the tokenizer classes of transformers have built in |
| `tiny.tiktoken`, `tiny_corpus.txt` | the vocabulary `tiny` and the text it was trained on |

Nothing is copied from the Unicode character database. The scripts in `authoring/tables` ask the
engines about every code point and write their answers. Each table names its origin.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(name: str) -> dict[str, str]:
    """Return the entries of a table; the words of each are separated by single spaces.

    >>> table("unicode")["WHITE_SPACE"][:16]
    '9-D 20 85 A0 168'
    """
    return {key: " ".join(lines) for key, lines in document(name)["entries"].items()}


@cache
def document(name: str) -> dict[str, Any]:
    """Return the content of a JSON file.

    >>> sorted(document("llama_cpp"))
    ['kinds', 'names', 'origin', 'patterns']
    """
    content = (Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(content)
    return found
