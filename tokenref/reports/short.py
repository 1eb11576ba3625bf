"""Values in one line that a terminal shows as they are."""

import json


def short_json(value: object, widest: int) -> str:
    r"""Return a value as JSON, what does not print escaped, and cut if it is long.

    >>> short_json({"text": "\u00e9\u2028\n"}, 100), short_json("a" * 20, 8)
    ('{"text": "é\\u2028\\n"}', '"aaaaaaa ... (22 characters)')
    """
    plain = json.dumps(value, ensure_ascii=False, sort_keys=True)
    shown = "".join(map(_show, plain))
    return shown if len(shown) <= widest else f"{shown[:widest]} ... ({len(shown)} characters)"


def _show(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
