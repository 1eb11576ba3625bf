r"""Case that does not count: `(?i)`.

Definition
    Characters that fold alike are one group, such as k, K and U+212A. Text is read from the left;
    if the next three characters, else the next two, are what one character folds into, then any
    of these characters, and any of the spellings of the string, may stand there; else the next
    character may be any of its group, or the string it folds into. So `(?i)ss` matches U+00DF,
    and `(?i)\x{df}` matches sS. A class in brackets also holds what folds like its members; and if
    it is not negated, the strings they fold into may stand instead, tried after the class.

Where Oniguruma differs from others
    The steps are greedy: in `(?i)fss` and `(?i)ssi` alike ss is one step, whatever follows. In
    look-behind only single characters are folded. A negated class leaves out whole groups.
    `\p{Lu}` and `\w` outside of brackets are not folded.

Source: https://github.com/kkos/oniguruma, src/unicode.c `get_case_fold_codes_by_str`, and
tokenizers 0.23.3 as measured by `authoring/tables/make_oniguruma_tables.py`.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache

from bpe_ref.data import table
from bpe_ref.patterns.cursor import MOST_SETS
from bpe_ref.patterns.nodes import (
    Atomic,
    Capture,
    Choice,
    Look,
    Node,
    One,
    Repeat,
    Scope,
    Sequence,
    Text,
)
from bpe_ref.patterns.unicode_tables import CODE_POINT_COUNT, EVERY_CODE_POINT, CodePoints


@dataclass(frozen=True)
class _Folds:
    """The tables.

    `group` gives the characters that fold like this one, the first of them represents the group.
    `long` gives the characters that fold into a string, by the representatives of its characters;
    `strings` is the other way round.
    """

    group: dict[str, str]
    long: dict[str, str]
    strings: dict[str, str]

    def representatives(self, text: str) -> str:
        return "".join(self.group.get(c, c)[0] for c in text)


@cache
def _folds() -> _Folds:
    foldings = table("oniguruma_foldings")
    group = {c: alike for alike in foldings["FOLD_ALIKE"].split() for c in alike}
    long: dict[str, str] = {}
    strings: dict[str, str] = {}
    for word in foldings["FOLD_LONG"].split():
        string, _, characters = word.partition("=")
        long["".join(group.get(c, c)[0] for c in string)] = characters
        strings |= dict.fromkeys(characters, string)
    return _Folds(group, long, strings)


def set_of(characters: str) -> CodePoints:
    r"""Return the set of these characters.

    >>> bin(set_of("\x00\x02"))
    '0b101'
    """
    bits = bytearray((max(map(ord, characters), default=0) >> 3) + 1)
    for code_point in map(ord, characters):
        bits[code_point >> 3] |= 1 << (code_point & 7)
    return int.from_bytes(bits, "little")


@lru_cache(maxsize=MOST_SETS)
def fold_bracket(members: CodePoints, *, negated: bool) -> One:
    r"""Return what a class in brackets matches where case does not count.

    >>> one = fold_bracket(set_of("k"), negated=False)
    >>> one.members == set_of("kK\u212a"), one.also
    (True, ())
    """
    folds = _folds()
    bits = members.to_bytes(CODE_POINT_COUNT // 8, "little")

    def held(character: str) -> int:
        return bits[ord(character) >> 3] >> (ord(character) & 7) & 1

    added = {c for line in set(folds.group.values()) if any(map(held, line)) for c in line}
    also = []
    for key in sorted(folds.long, key=len):
        if any(map(held, folds.long[key])):
            added |= set(folds.long[key])
            also.append(tuple(set_of(folds.group.get(c, c)) for c in key))
    members |= set_of("".join(added))
    if negated:
        return One(EVERY_CODE_POINT ^ members)
    return One(members, tuple(also))


def fold(node: Node, *, behind: bool = False) -> Node:
    """Return the node without `Text` and `Scope`: the sets that its text stands for.

    >>> fold(Text("ab", folded=False)) == Sequence((One(1 << 0x61), One(1 << 0x62)))
    True
    """
    match node:
        case Text(text, folded):
            return _fold_text(text, behind=behind) if folded else _exactly(text)
        case Sequence(items):
            return Sequence(tuple(fold(item, behind=behind) for item in _joined(items)))
        case Choice(branches):
            return Choice(tuple(fold(branch, behind=behind) for branch in branches))
        case Scope(body):
            return fold(body, behind=behind)
        case Repeat(body) | Atomic(body) | Capture(_, body):
            return replace(node, body=fold(body, behind=behind))
        case Look(body, is_behind):
            return replace(node, body=fold(body, behind=is_behind or behind))
    return node


def _joined(items: tuple[Node, ...]) -> list[Node]:
    """Join texts that stand side by side, if they agree about case."""
    result: list[Node] = []
    for item in items:
        last = result[-1] if result else None
        if isinstance(item, Text) and isinstance(last, Text) and item.folded == last.folded:
            result[-1] = Text(last.text + item.text, item.folded)
        else:
            result.append(item)
    return result


def _exactly(text: str) -> Node:
    return Sequence(tuple(One(1 << ord(c)) for c in text))


def _fold_text(text: str, *, behind: bool) -> Node:
    """Return what text matches where case does not count."""
    folds = _folds()
    items: list[Node] = []
    at = 0
    while at < len(text):
        length, one = 1, text[at]
        for longer in (3, 2):
            key = folds.representatives(text[at : at + longer])
            if not behind and len(key) == longer and key in folds.long:
                items.append(_step(folds.long[key], key))
                length = longer
                break
        else:
            string = folds.strings.get(one)
            if string is None:
                items.append(One(set_of(folds.group.get(one, one))))
            else:
                key = folds.representatives(string)
                items.append(_step(folds.long[key], "" if behind else key))
        at += length
    return Sequence(tuple(items))


def _step(characters: str, string: str) -> Node:
    """Return one of the characters, or the string in any spelling."""
    group = _folds().group
    also = (tuple(set_of(group.get(c, c)) for c in string),) if string else ()
    return One(set_of(characters), also)
