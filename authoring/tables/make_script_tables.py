"""Ask the `UnicodeScripts` of tokenizers about every code point and write its table.

Run it as `python -m authoring tables script > bpe_ref/hugging_face/pre_tokenizers/script_data.py`
with tokenizers 0.23.3 installed. Nothing is copied: each line of the output is an answer of the
engine, and `tests/test_hugging_face_pre_tokenizers.py` asks for them again.

How the engine is asked
    A text of nothing but characters without a script vanishes, so that a character has no script
    if it vanishes alone. Two characters with one are of the same script if they stay together.
    All that have one, in order, come as pieces that end wherever the script changes: it is enough
    to compare the first character of each piece with one of each script known so far.
"""

import sys
import unicodedata
from itertools import groupby
from textwrap import wrap

from tokenizers import pre_tokenizers

CODE_POINT_COUNT = 0x110000
SURROGATES = range(0xD800, 0xE000)  # not in any text that an engine takes
WIDTH = 80

HEADER = '''"""The scripts of `UnicodeScripts` in tokenizers 0.23.3; see `unicode_scripts.py`.

Written by `make_script_tables.py`; do not edit.
"""

# Each script's code points, after the name of its first character. No other has a script.
SCRIPTS = ('''


def measured() -> list[list[int]]:
    """Return the code points of each script, in the order of their first ones."""
    cut = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    scripted = [
        chr(c) for c in range(CODE_POINT_COUNT) if c not in SURROGATES and cut(chr(c)) != []
    ]
    scripts: list[list[int]] = []
    for run, _ in cut("".join(scripted)):
        members = next((one for one in scripts if len(cut(chr(one[0]) + run)) == 1), None)
        if members is None:
            members = []
            scripts.append(members)
        members += map(ord, run)
    return scripts


def as_ranges(code_points: list[int]) -> str:
    """Return ascending code points as hexadecimal ranges, inclusive: `41-5A 61`."""
    texts = []
    for _, group in groupby(enumerate(code_points), key=lambda item: item[1] - item[0]):
        members = [code_point for _, code_point in group]
        first, last = members[0], members[-1]
        texts.append(f"{first:X}" if first == last else f"{first:X}-{last:X}")
    return " ".join(texts)


def main() -> None:
    """Print the module."""
    lines = [HEADER]
    for code_points in measured():
        body = wrap(as_ranges(code_points), WIDTH, break_on_hyphens=False)
        lines.append(f"    # {unicodedata.name(chr(code_points[0]), 'a control character')}")
        if len(body) == 1:
            lines.append(f'    "{body[0]}",')
        else:
            lines.append("    (")
            lines += [f'        "{line} "' for line in body[:-1]]
            lines += [f'        "{body[-1]}"', "    ),"]
    lines.append(")")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
