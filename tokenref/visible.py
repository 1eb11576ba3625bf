"""How values are shown in one line of a terminal or a page."""

import json
from unicodedata import category


def short_json(value: object, widest: int) -> str:
    r"""Return a value as JSON, as `unmistakable` shows it, truncated if it is long.

    >>> short_json({"text": "\u00e9\u2028\n"}, 100), short_json("a" * 20, 8)
    ('{"text": "é\\u2028\\n"}', '"aaaaaaa ... (22 characters)')
    """
    shown = unmistakable(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return shown if len(shown) <= widest else f"{shown[:widest]} ... ({len(shown)} characters)"


def visible(text: str) -> str:
    r"""Return a text with unprintable characters escaped.

    So a text cannot change the direction of what follows, or break out of its line.

    >>> visible("a\x1b[0m\u202e\ud800 é")
    'a\\x1b[0m\\u202e\\ud800 é'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def unmistakable(text: str) -> str:
    r"""Return a text with unprintable characters and combining marks escaped.

    A mark joins the character before it, and then looks like another one, or is not seen at all.

    >>> unmistakable("é e\u0301 \u2764\ufe0f")
    'é e\\u0301 ❤\\ufe0f'
    """
    shown = visible(text)
    return "".join(_escaped(each) if category(each).startswith("M") else each for each in shown)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
