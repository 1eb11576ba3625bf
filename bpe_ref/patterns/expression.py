r"""Find the matches of a pattern, once it is read: of tiktoken's dialect or of Oniguruma's.

Definition
    The `find_iter` of the `onig` crate: search from the end of the last match on; an empty match
    right there does not count, and the search goes on one character later. `spans_by_definition`
    is this with the machine.

The fast way
    Where the pattern has an exact translation, `re` or `regex` searches, over stand-ins (see
    `patterns/stand_ins.py`). Their own iteration is the same as long as no match is empty; where
    one may be, each search is a call of its own.

Limits
    Translations of more than 50,000 characters are left to the machine.
    `re` has no time limit, so it gets only patterns whose attempts are cheap, and texts without
    long runs (`translation.cost`). Patterns of tiktoken's dialect get texts with runs, too: the
    published ones match as much of a run as they gave back, and so take linear time. `regex` gets
    SECONDS and SECONDS_PER_CHARACTER, the machine STEPS and STEPS_PER_CHARACTER. What takes longer
    is a `PatternError`.
    Where the engine differs: it gives up after ten million retries at one place, by a panic; and
    where a letter that every match needs is missing, it sees so at once, and we may not.

Source: https://github.com/rust-onig/rust-onig, onig/src/find.rs, and tokenizers 0.23.3.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bpe_ref.errors import PatternError
from bpe_ref.patterns.cursor import MOST_REPEATS
from bpe_ref.patterns.machine import Machine, OutOfStepsError
from bpe_ref.patterns.nodes import Node, Repeat, children, sets_in, width, with_sets
from bpe_ref.patterns.stand_ins import (
    Alphabet,
    BasicAlphabet,
    alphabet_of,
    basic_alphabet_of,
    compile_with_re,
    set_source,
)
from bpe_ref.patterns.translation import Cost, cost, translate
from bpe_ref.patterns.unicode_tables import CodePoints

if TYPE_CHECKING:  # loaded when it is needed: `re` is enough for most patterns
    import regex

SECONDS = 2.0
SECONDS_PER_CHARACTER = 1e-5
STEPS = 2_000_000
STEPS_PER_CHARACTER = 40
_SHORT_TEXT = 2_000
_SHORT_RUN = 256
_LONGEST_SOURCE = 50_000
_ASCII = (1 << 128) - 1
_MOST_BASIC_SETS = 100


@dataclass(frozen=True)
class Expression:
    r"""A pattern that was read, ready to search.

    >>> from bpe_ref.patterns.nodes import One
    >>> Expression("a+", Repeat(One(1 << 0x61), 1, None), words=0).spans("aab a")
    [(0, 2), (4, 5)]
    """

    source: str
    node: Node = field(repr=False, compare=False)
    words: CodePoints = field(repr=False, compare=False)
    r"""The set between which and other characters `\b` is."""

    runs_matter: bool = field(default=True, repr=False, compare=False)
    """Whether `re` gets only texts without long runs."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of each match, in characters.

        Raises `PatternError` if that takes too long.
        """
        if self._translation is None:
            return self.spans_by_definition(text)
        standing = self._alphabet.standing(text)
        if self._fast is not None and not self._has_long_run(standing):
            if self._finds_no_empty:
                return [match.span() for match in self._fast.finditer(standing)]
            return _one_by_one(self._fast, standing)
        if not self._finds_no_empty:
            return self.spans_by_definition(text)
        seconds = SECONDS + len(text) * SECONDS_PER_CHARACTER
        try:
            return [m.span() for m in self._limited.finditer(standing, timeout=seconds)]
        except TimeoutError:
            raise self._too_long(len(text)) from None

    def texts(self, text: str, *, between: bool) -> list[str] | None:
        """Return the texts of the matches, with `between` also what is between, but nothing empty.

        None if only `spans` can find them.

        >>> from bpe_ref.patterns.nodes import One
        >>> expression = Expression("b+", Repeat(One(1 << 0x62), 1, None), words=0)
        >>> expression.texts("abbc", between=True)
        ['a', 'bb', 'c']
        """
        if self._fast is None or not self._finds_no_empty:
            return None
        standing = self._alphabet.standing(text)
        if self.runs_matter and self._has_long_run(standing):
            return None
        if between:
            pieces = [piece for piece in self._splitting.split(standing) if piece]
        else:
            pieces = self._fast.findall(standing)
        return pieces if standing is text else self._alphabet.restored(pieces, text)

    def spans_by_definition(self, text: str) -> list[tuple[int, int]]:
        """Return what `spans` returns, by the machine, about a hundred times slower."""
        allowed = STEPS + STEPS_PER_CHARACTER * len(text)
        standing = self._alphabet.standing(text)
        machine = Machine(self._narrow, self._narrow_words, standing, text, allowed)
        spans: list[tuple[int, int]] = []
        at = 0
        try:
            while at <= len(text) and (found := machine.search(at)) is not None:
                at = _after(spans, found, at)
        except OutOfStepsError:
            raise self._too_long(len(text)) from None
        return spans

    def _has_long_run(self, standing: str) -> bool:
        """Return whether `re` may take long, because a repetition may take many characters."""
        if not self.runs_matter or len(standing) <= _SHORT_TEXT:
            return False
        # A run of 2 n characters holds every n-th place twice: look there first.
        sampled = standing[::_SHORT_RUN]
        for pair, run in self._runs:
            for match in pair.finditer(sampled):
                start = match.start() * _SHORT_RUN
                if run.fullmatch(standing, start, start + _SHORT_RUN):
                    return True
        return False

    def _too_long(self, length: int) -> PatternError:
        shown = self.source if len(self.source) <= 200 else self.source[:200] + "..."
        return PatternError(
            f"pattern {shown!r} must find its matches in time, "
            f"but took too many steps on a text of {length} characters"
        )

    @cached_property
    def _finds_no_empty(self) -> bool:
        return width(self.node)[0] > 0

    @cached_property
    def _alphabet(self) -> Alphabet | BasicAlphabet:
        every = [*sets_in(self.node), self.words]
        distinct = {*{id(members): members for members in every}.values()}
        # `re` takes some milliseconds to compile a set of characters far apart.
        many = sum(members > _ASCII for members in every) > _MOST_BASIC_SETS
        return (None if many else basic_alphabet_of(distinct)) or alphabet_of(distinct)

    @cached_property
    def _narrow(self) -> Node:
        """The pattern over stand-ins."""
        sets = {id(members): members for members in sets_in(self.node)}
        narrowed = {key: self._alphabet.narrowed(members) for key, members in sets.items()}
        return with_sets(self.node, lambda members: narrowed[id(members)])

    @cached_property
    def _narrow_words(self) -> CodePoints:
        return self._alphabet.narrowed(self.words)

    @cached_property
    def _translation(self) -> str | None:
        if _copies(self.node) > MOST_REPEATS:  # engines would write every copy down
            return None
        source = translate(self._narrow, self._narrow_words)
        return None if source is not None and len(source) > _LONGEST_SOURCE else source

    @cached_property
    def _cost(self) -> Cost:
        return cost(self._narrow)

    @cached_property
    def _fast(self) -> re.Pattern[str] | None:
        """The pattern for `re`; None if `re` cannot match it, or may take long for one attempt."""
        is_cheap = self._translation is not None and self._cost.is_cheap()
        return compile_with_re(self._translation or "") if is_cheap else None

    @cached_property
    def _splitting(self) -> re.Pattern[str]:
        """The same as a group, so that splitting returns the matches too."""
        return re.compile(f"({self._translation})")

    @cached_property
    def _limited(self) -> "regex.Pattern[str]":
        import regex

        return regex.compile(self._translation or "")

    @cached_property
    def _runs(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        return [
            (re.compile(f"{source}(?={source})"), re.compile(f"(?:{source})*+"))
            for source in map(set_source, self._cost.sets)
        ]


def _one_by_one(pattern: re.Pattern[str], standing: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = 0
    while at <= len(standing) and (match := pattern.search(standing, at)) is not None:
        at = _after(spans, match.span(), at)
    return spans


def _after(spans: list[tuple[int, int]], found: tuple[int, int], at: int) -> int:
    """Add what was found from `at` on, if it counts; return where to search next."""
    start, end = found
    if start == end and spans and spans[-1][1] == end:
        return at + 1
    spans.append(found)
    return end


def _copies(node: Node) -> int:
    """Return of how many nodes the pattern is made if every copy of a repetition is written."""
    inner = sum(map(_copies, children(node))) or 1
    return inner * max(1, node.least, node.most or 0) if isinstance(node, Repeat) else inner
