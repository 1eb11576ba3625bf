r"""Ask Oniguruma about its properties and case foldings.

Run it as `python -m authoring tables oniguruma` with tokenizers 0.23.3 installed. It writes
`oniguruma_properties.json` and `oniguruma_foldings.json` in `bpe_ref/data`. Properties can be
asked for only by name. The names come from the existing table.

How an engine is asked for foldings
    Whatever folds is, by Unicode's definitions, changed by case mapping or folding. These few
    thousand are asked one by one. Foldings into several characters are looked for where
    Python knows one.
"""

from collections.abc import Iterable

from tokenizers import Regex, pre_tokenizers

from authoring.tables import CODE_POINT_COUNT, SURROGATES, write_table, written_table
from bpe_ref.data import table

FIRST_HIGH = 0x20000
LOW = "".join(chr(c) for c in range(FIRST_HIGH) if c not in SURROGATES)
HIGH = "".join(map(chr, range(FIRST_HIGH, CODE_POINT_COUNT)))
SAMPLED = "".join(c for c in HIGH if ord(c) % 32 in {0, 1, 30, 31})
SCRIPT = "make_oniguruma_tables.py"


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return the places of the matches that are not empty."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return [place for _, place in split.pre_tokenize_str(text)]


def members(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return the ranges of the code points of `text`, which ascend, that the pattern matches."""
    ranges: list[tuple[int, int]] = []
    for start, end in matches(f"(?:{pattern})+", text):
        first, last = ord(text[start]), ord(text[end - 1])
        if first < SURROGATES.start and last >= SURROGATES.stop:
            ranges.append((first, SURROGATES.start - 1))
            first = SURROGATES.stop
        ranges.append((first, last))
    return ranges


def in_steps(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges as steps: how many code points are left out, how many are in, and so on."""
    words, at = [], 0
    for first, last in ranges:
        words += [f"{first - at:x}", f"{last + 1 - first:x}"]
        at = last + 1
    return " ".join(words) or "0"


def known_names() -> list[str]:
    """Return the names to ask for."""
    return sorted({name for names in table("oniguruma_properties") for name in names.split()})


def pattern_of(name: str) -> str:
    """Return the class: `punct` is Unicode's category P, `[:punct:]` has the symbols too."""
    return f"[:{name[1:]}:]" if name[0] == ":" else rf"\p{{{name}}}"


def properties() -> dict[str, str]:
    """Return the steps of each set by its names.

    Most sets have nothing beyond U+20000. These are asked for all at once there.
    """
    sets: dict[str, list[tuple[int, int]]] = {}
    nothing_high = []
    for name in known_names():
        # Not in brackets, where `\p{word}` is another set.
        pattern = union([name]) if name[0] == ":" else pattern_of(name)
        try:
            sets[name] = members(pattern, LOW)
        except Exception as error:
            if "invalid character property name" not in str(error):
                raise
            continue
        if matches(pattern, SAMPLED):
            sets[name] = joined(sets[name], members(pattern, HIGH))
        else:
            nothing_high.append(name)
    for name in found_in(nothing_high, HIGH):
        sets[name] = joined(sets[name], members(union([name]), HIGH))
    names: dict[str, list[str]] = {}
    for name, ranges in sets.items():
        names.setdefault(in_steps(ranges), []).append(name)
    return dict(sorted((" ".join(sorted(group)), steps) for steps, group in names.items()))


def found_in(names: list[str], text: str) -> list[str]:
    """Return the names of the sets that have something in the text."""
    if not names or not matches(union(names), text):
        return []
    half = len(names) // 2
    return [*found_in(names[:half], text), *found_in(names[half:], text)] if half else names


def union(names: Iterable[str]) -> str:
    """Return the class of everything in one of the sets."""
    return "[" + "".join(map(pattern_of, names)) + "]"


def joined(low: list[tuple[int, int]], high: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of both, which may touch."""
    if low and high and low[-1][1] + 1 == high[0][0]:
        return [*low[:-1], (low[-1][0], high[0][1]), *high[1:]]
    return low + high


def folding_candidates() -> list[str]:
    """Return every character that may fold like another one."""
    ranges = members(r"[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]", LOW)
    return [chr(c) for first, last in ranges for c in range(first, last + 1)]


def foldings() -> tuple[list[str], list[str]]:
    """Return the groups that fold alike, and the characters that fold like a longer string."""
    candidates = folding_candidates()
    text = "\n".join(candidates)
    groups = set()
    known: set[str] = set()
    for c in candidates:
        if c in known:
            continue
        same = {
            text[start]
            for start, end in matches(rf"(?i)\x{{{ord(c):x}}}", text)
            if end == start + 1
        }
        known |= same
        if same:
            groups.add("".join(sorted(same | {c})))
    long: dict[str, list[str]] = {}
    for c in LOW:
        folded = c.casefold()
        if len(folded) > 1 and matches(rf"(?i)\x{{{ord(c):x}}}", folded) == [(0, len(folded))]:
            long.setdefault(folded, []).append(c)
    return sorted(groups), [f"{key}={''.join(chars)}" for key, chars in sorted(long.items())]


def main() -> None:
    """Write both tables."""
    origin = "What Oniguruma answered, as it is built into tokenizers 0.23.3. "
    explained = "Hexadecimal: how many code points are not in the set, how many are, and so on."
    sets = {name: ("", steps) for name, steps in properties().items()}
    write_table("oniguruma_properties", written_table(SCRIPT, origin + explained, sets))
    groups, long = foldings()
    entries = {
        "FOLD_ALIKE": ("Groups of characters that fold alike.", " ".join(groups)),
        "FOLD_LONG": ("Strings, and the characters that fold like each.", " ".join(long)),
    }
    write_table("oniguruma_foldings", written_table(SCRIPT, origin.strip(), entries))


if __name__ == "__main__":
    main()
