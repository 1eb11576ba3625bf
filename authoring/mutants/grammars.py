"""Mutants that allow other tokens than a grammar does, or end a text too early or too late."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from authoring.mutants.mutant import Mutant, Witness, bytewise, replacing_tool, spelled
from bpe_ref import TokenId, Vocabulary, vocabulary_by_concatenation
from bpe_ref.grammar import LAST, Expression, Grammar, GrammarMatcher, parse

Matching: TypeAlias = Callable[[str, Vocabulary], Any]

_LETTERS = spelled("a b c ab cb ac bb")
_BYTES = bytewise()
_NO_LINE_FEED = parse(".")[1][0][1]
_EVERYTHING = ((0, 0xD7FF), (0xE000, LAST))


def asked(pattern: str, *calls: TokenId | str, vocabulary: Vocabulary = _LETTERS) -> Witness:
    """Return the witness "this pattern, after these calls": ids, or `-n` to take n tokens back."""
    made = [
        {"rollback": int(call[1:])} if isinstance(call, str) else {"accept": call} for call in calls
    ]
    return Witness(vocabulary, "grammar_mask", {"pattern": pattern, "calls": made})


def matching(witness: Witness) -> Callable[[Matching], Mutant]:
    """Return a decorator: the function makes the matcher of a pattern."""
    return replacing_tool("matcher", witness)


# ---- which tokens


class _Filtered(GrammarMatcher):
    """A matcher that allows those tokens of which a function says so."""

    def __init__(self, pattern: str, vocabulary: Vocabulary) -> None:
        super().__init__(Grammar(pattern), vocabulary)

    def fits(self, data: bytes) -> bool:
        raise NotImplementedError

    def allowed(self) -> list[TokenId]:
        tokens = self.vocabulary.tokens.items()
        return sorted(token for token, data in tokens if self.fits(data))


@matching(asked("a[ab]"))
def grammar_first_byte_only(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A token is allowed if its first byte is."""

    class Wrong(_Filtered):
        def fits(self, data: bytes) -> bool:
            return bool(self.grammar.after(data[:1], self._past[-1]))

    return Wrong(pattern, vocabulary)


@matching(asked("abc"))
def grammar_only_whole_texts(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A token is allowed only if the text may end after it."""

    class Wrong(_Filtered):
        def fits(self, data: bytes) -> bool:
            return self.grammar.end in self.grammar.after(data, self._past[-1])

    return Wrong(pattern, vocabulary)


@matching(asked("ab"))
def grammar_longest_tokens_only(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A token is not allowed beside a longer one that begins with it."""

    class Wrong(GrammarMatcher):
        def allowed(self) -> list[TokenId]:
            right = super().allowed()
            found = [self.vocabulary.tokens[token] for token in right]
            return [
                token
                for token, data in zip(right, found, strict=True)
                if not any(other != data and other.startswith(data) for other in found)
            ]

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("\u00e9", vocabulary=_BYTES))
def grammar_only_whole_characters(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A token that is not UTF-8 by itself is never allowed."""

    class Wrong(_Filtered):
        def fits(self, data: bytes) -> bool:
            try:
                data.decode()
            except UnicodeDecodeError:
                return False
            return bool(self.grammar.after(data, self._past[-1]))

    return Wrong(pattern, vocabulary)


@matching(asked("cd"))
def grammar_looks_for_tokens_of_the_rest(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A token is only allowed if more tokens can complete the text."""

    class Wrong(_Filtered):
        def fits(self, data: bytes) -> bool:
            states = self.grammar.after(data, self._past[-1])
            seen, waiting = {states}, [states]
            while waiting and states:
                reached = waiting.pop()
                if self.grammar.end in reached:
                    return True
                more = {self.grammar.after(each, reached) for each in vocabulary.tokens.values()}
                waiting += {each for each in more if each} - seen
                seen |= more
            return False

    return Wrong(pattern, vocabulary)


@matching(asked("b", vocabulary=spelled("b a")))
def grammar_ids_are_places(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """Bits are set by the place of a token in the order of the bytes, not by its id."""
    places = {token: at for at, (_, token) in enumerate(sorted(_spelled(vocabulary)))}

    class Wrong(GrammarMatcher):
        def allowed(self) -> list[TokenId]:
            return sorted(places[token] for token in super().allowed())

    return Wrong(Grammar(pattern), vocabulary)


def _spelled(vocabulary: Vocabulary) -> list[tuple[bytes, TokenId]]:
    return [(data, token) for token, data in vocabulary.tokens.items()]


@matching(asked("(ab)+", 0))
def grammar_mask_is_stale(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The mask is that of before the last token."""

    class Wrong(GrammarMatcher):
        stale: Sequence[TokenId] = ()

        def accept(self, token: TokenId) -> None:
            self.stale = super().allowed()
            super().accept(token)

        def allowed(self) -> list[TokenId]:
            return list(self.stale) if len(self._past) > 1 else super().allowed()

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("a", vocabulary=vocabulary_by_concatenation({b"b": 0, b"a": 1 << 32})))
def grammar_ids_of_32_bits(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """An id of more than 32 bits is never allowed."""

    class Wrong(GrammarMatcher):
        def allowed(self) -> list[TokenId]:
            return [token for token in super().allowed() if token < 1 << 32]

    return Wrong(Grammar(pattern), vocabulary)


# ---- the end of the text


class _Ending(GrammarMatcher):
    """A matcher with another rule for the end of the text."""

    def ends(self) -> bool:
        raise NotImplementedError

    @property
    def may_end(self) -> bool:
        return self.ends()


@matching(asked("ab", 0))
def grammar_ends_too_early(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The text may end after any token."""

    class Wrong(_Ending):
        def ends(self) -> bool:
            return len(self._past) > 1 or self.grammar.end in self._past[-1]

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("ab*", 0))
def grammar_ends_if_nothing_is_allowed(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The text may end only if no token is allowed any more."""

    class Wrong(_Ending):
        def ends(self) -> bool:
            return not self.allowed()

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("(ab)*"))
def grammar_has_no_empty_text(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The text may never end before the first token."""

    class Wrong(_Ending):
        def ends(self) -> bool:
            return len(self._past) > 1 and self.grammar.end in self._past[-1]

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("ab*", 0))
def grammar_matches_a_beginning(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """After a match anything may follow: the pattern is not tied to the end of the text."""
    return GrammarMatcher(Grammar(f"(?:{pattern})(?:.|\\n)*"), vocabulary)


@matching(asked("ab", vocabulary=spelled("a b c ab ca")))
def grammar_is_searched_for(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """Anything may stand before a match: the pattern is not tied to the start of the text."""
    return GrammarMatcher(Grammar(f"(?:.|\\n)*(?:{pattern})"), vocabulary)


# ---- taking tokens back


def _back(pattern: str, vocabulary: Vocabulary, count_of: Callable[[int], int]) -> GrammarMatcher:
    """Return a matcher that takes another number of tokens back."""

    class Wrong(GrammarMatcher):
        def rollback(self, count: int = 1) -> None:
            past = list(self._past)
            super().rollback(count)
            if count > 0:
                self._past = past[: max(1, len(past) - count_of(count))]

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("abc", 0, 1, "-1"))
def grammar_rollback_forgets_all(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """Taking tokens back starts again from the beginning."""
    return _back(pattern, vocabulary, lambda count: count + 1_000_000)


@matching(asked("abc", 0, "-1"))
def grammar_rollback_of_one_less(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """One token less is taken back."""
    return _back(pattern, vocabulary, lambda count: count - 1)


@matching(asked("abc", 0, 1, "-2"))
def grammar_rollback_of_one(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """One token is taken back, however many are asked for."""
    return _back(pattern, vocabulary, lambda count: min(count, 1))


@matching(asked("abc", 0, 1, 2, "-1"))
def grammar_rollback_of_one_more(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """One token more is taken back."""
    return _back(pattern, vocabulary, lambda count: count + 1)


@matching(asked("abab", 3, 3, "-1"))
def grammar_rollback_by_bytes(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The number is taken for one of bytes: the rest of the last token stays."""

    class Wrong(GrammarMatcher):
        def accept(self, token: TokenId) -> None:
            super().accept(token)
            self.last = self.vocabulary.token_bytes(token)

        def rollback(self, count: int = 1) -> None:
            super().rollback(count)
            if count == 1 and len(self.last) > 1:
                before = self._past[-1]
                self._past.append(self.grammar.after(self.last[:-1], before))

    return Wrong(Grammar(pattern), vocabulary)


@matching(asked("abc", 0, "-1", 3))
def grammar_mask_after_rollback_is_stale(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The mask is not made anew after a rollback."""

    class Wrong(GrammarMatcher):
        stale: Sequence[TokenId] | None = None

        def accept(self, token: TokenId) -> None:
            self.stale = None
            super().accept(token)

        def rollback(self, count: int = 1) -> None:
            self.stale = super().allowed()
            super().rollback(count)

        def allowed(self) -> list[TokenId]:
            return super().allowed() if self.stale is None else list(self.stale)

    return Wrong(Grammar(pattern), vocabulary)


# ---- automata


def _with(changed: type[Grammar]) -> Callable[[str, Vocabulary], GrammarMatcher]:
    return lambda pattern, vocabulary: GrammarMatcher(changed(pattern), vocabulary)


@matching(asked("ab|a[^\x00-\U0010ffff]|c[^\x00-\U0010ffff]"))
def grammar_dead_ends_not_seen(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A beginning is allowed if the automaton is in some state, whether the end can be reached."""

    class Wrong(Grammar):
        def _remove_dead_states(self) -> None:
            self._alive = set(range(len(self._edges)))

    return _with(Wrong)(pattern, vocabulary)


class _Repeating(Grammar):
    """A grammar that repeats parts another number of times."""

    def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
        raise NotImplementedError

    def _repeat(self, part: Expression, least: int, most: int | None, start: int) -> int:
        return super()._repeat(part, *self.instead(least, most), start)


@matching(asked("a+b"))
def grammar_plus_is_star(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A plus allows no repetition."""

    class Wrong(_Repeating):
        def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
            return (0, None) if (least, most) == (1, None) else (least, most)

    return _with(Wrong)(pattern, vocabulary)


@matching(asked("a?b", 0))
def grammar_question_is_star(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A question mark allows any number."""

    class Wrong(_Repeating):
        def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
            return (0, None) if (least, most) == (0, 1) else (least, most)

    return _with(Wrong)(pattern, vocabulary)


@matching(asked("a{2,3}", 0, 0))
def grammar_most_is_excluded(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The larger bound of a repetition is not reached."""

    class Wrong(_Repeating):
        def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
            return least, most - 1 if most is not None and most > max(least, 1) else most

    return _with(Wrong)(pattern, vocabulary)


@matching(asked("a{2,}b", 0, 0))
def grammar_at_least_is_exactly(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """`{m,}` is read as `{m}`."""

    class Wrong(_Repeating):
        def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
            return (least, least) if most is None and least > 1 else (least, most)

    return _with(Wrong)(pattern, vocabulary)


@matching(asked("a{300}", vocabulary=spelled(f"a {'a' * 64}")))
def grammar_repeats_in_a_byte(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The number of repetitions is kept in a byte."""

    class Wrong(_Repeating):
        def instead(self, least: int, most: int | None) -> tuple[int, int | None]:
            return least & 0xFF, most if most is None else most & 0xFF

    return _with(Wrong)(pattern, vocabulary)


class _Building(Grammar):
    """A grammar whose expressions are changed before they become states."""

    def instead(self, expression: Expression) -> Expression:
        raise NotImplementedError

    def _build(self, expression: Expression, start: int) -> int:
        return super()._build(self.instead(expression), start)


@matching(asked("ab|b"))
def grammar_first_alternative_only(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """Only the first alternative is tried."""

    class Wrong(_Building):
        def instead(self, expression: Expression) -> Expression:
            return ("in order", expression[1][:1]) if expression[0] == "either" else expression

    return _with(Wrong)(pattern, vocabulary)


@matching(asked(".", vocabulary=spelled("a \n")))
def grammar_dot_matches_line_feeds(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A dot matches a line feed."""

    class Wrong(_Building):
        def instead(self, expression: Expression) -> Expression:
            is_dot = expression == ("set", _NO_LINE_FEED)
            return ("set", _EVERYTHING) if is_dot else expression

    return _with(Wrong)(pattern, vocabulary)


@matching(asked("[^a]", vocabulary=spelled("a \n b")))
def grammar_negated_sets_lack_line_feeds(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """A negated set does not match a line feed."""

    class Wrong(_Building):
        def instead(self, expression: Expression) -> Expression:
            if expression[0] != "set" or expression[1] == ((10, 10),):
                return expression
            return "set", tuple(_without_line_feed(expression[1]))

    return _with(Wrong)(pattern, vocabulary)


def _without_line_feed(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    halves = [each for low, high in ranges for each in ((low, min(high, 9)), (max(low, 11), high))]
    return sorted({(low, high) for low, high in halves if low <= high})


@matching(asked(".", vocabulary=_BYTES))
def grammar_is_ascii(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """Sets hold characters of ASCII only."""

    class Wrong(_Building):
        def instead(self, expression: Expression) -> Expression:
            if expression[0] != "set" or not expression[1] or expression[1][0][0] > 0x7F:
                return expression
            cut = [(low, min(high, 0x7F)) for low, high in expression[1] if low <= 0x7F]
            return "set", tuple(cut)

    return _with(Wrong)(pattern, vocabulary)


class _Spelling(Grammar):
    """A grammar with other byte ranges for characters."""

    def ranges(self, data: bytes, last: bytes) -> list[tuple[int, int]]:
        raise NotImplementedError

    def _build(self, expression: Expression, start: int) -> int:
        if expression[0] != "set":
            return super()._build(expression, start)
        end = self._state()
        for low, high in expression[1]:
            for least, most in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST)):
                first, last = max(low, least), min(high, most)
                if first <= last:
                    state = start
                    *some, final = self.ranges(chr(first).encode(), chr(last).encode())
                    for pair in some:
                        state = self._edge(state, *pair, self._state())
                    self._edge(state, *final, end)
        return end


@matching(asked("[z-\u00e9]", 0xC2, vocabulary=_BYTES))
def grammar_ranges_byte_by_byte(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """The bytes of a range lie between those of its ends, each for itself."""

    class Wrong(_Spelling):
        def ranges(self, data: bytes, last: bytes) -> list[tuple[int, int]]:
            return [(min(pair), max(pair)) for pair in zip(data, last, strict=True)]

    return _with(Wrong)(pattern, vocabulary)


@matching(asked(".", 0xE0, vocabulary=_BYTES))
def grammar_any_continuation_byte(pattern: str, vocabulary: Vocabulary) -> GrammarMatcher:
    """After a first byte come any bytes from 80 to BF: overlong ones and surrogates, too."""

    class Wrong(_Spelling):
        def ranges(self, data: bytes, last: bytes) -> list[tuple[int, int]]:
            return [(data[0], last[0]), *[(0x80, 0xBF)] * (len(data) - 1)]

    return _with(Wrong)(pattern, vocabulary)
