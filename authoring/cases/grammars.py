"""Cases about grammar masks: which tokens may follow, if the text has to match a pattern."""

# A question and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from authoring.cases.blame import blamed, finds
from authoring.cases.draft import Draft, refuses
from authoring.cases.vocabularies import vocabulary_named
from bpe_ref import Vocabulary
from tokenref.questions.sequences import GrammarCall, GrammarMaskInput

SPEC: Final = "docs/sampling.md#grammar-masks"

Call: TypeAlias = bytes | int
"""The bytes of a token that is accepted, or how many tokens are taken back."""

NOTHING: Final = "[^\x00-\U0010ffff]"
"""A set that no character is in."""

JSON: Final = '\\{"name":"[^"\\\\\n]*"(,"age":(0|[1-9][0-9]*))?\\}'
DATE: Final = "[0-9]{4}\\-(0[1-9]|1[0-2])\\-(0[1-9]|[12][0-9]|3[01])"

Row: TypeAlias = tuple[str, str, str, Sequence[Call], str]
"""A slug, a vocabulary, a pattern, calls, and why the question is asked."""

TOKENS: Final[Sequence[Row]] = (
    ("one-letter", "readme", "a", [b"a"], "Only one token fits; after it nothing does, and the text may end."),
    ("tokens-inside", "readme", "abc", [b"a", b"b", b"c"], "Every token that the text can begin with is allowed, however it is cut."),
    ("longer-than-the-rest", "readme", "ac", [b"a"], "A token that goes on beyond the text is not allowed, although it begins well."),
    ("whole-text-at-once", "readme", "acbb", [b"acbb"], "One token is the whole text."),
    ("not-by-the-first-byte", "readme", "a[ab]", [b"a"], "A token must fit with all of its bytes: ac begins like ab."),
    ("two-ways", "readme", "(ab|a)c", [b"a"], "Both ways through the pattern count: after a, b and c may follow."),
    ("both-at-once", "readme", "ab?b?c", [b"a", b"b"], "After ab it is open which of the two b it was."),
    ("first-alternative-is-shorter", "readme", "a|ab|abb", [b"a", b"b"], "The first alternative matches, and the others may still be meant."),
    ("ends-in-the-middle", "readme", "(a|acb)*", [b"ac", b"b"], "A token ends inside an alternative."),
    ("across-repetitions", "readme", "(ab)*", [b"ab", b"a", b"b"], "A token may reach from one repetition into the next."),
    ("loop-in-a-loop", "readme", "((a|b)*c)*", [b"a", b"cbb"], "A repetition of repetitions."),
    ("runs", "doubles", "a{5}", [b"aa", b"aa", b"a"], "Of five letters, four are there: the token of two letters is too long."),
    ("runs-odd", "doubles", "(aa)*a", [b"a", b"a"], "An odd number of letters, in tokens of one and two."),
    ("long-tokens", "long_token", "a{20}", [b"aaaaaaaa", b"aaaaaaaa"], "Tokens of up to 64 letters against what is left of 20."),
    ("ids-are-not-places", "shuffled_ids", "(abc|cab)+", [b"ab"], "Ids that are in another order than the tokens' bytes."),
    ("ids-with-holes", "holes", "(abc|cab)+", [b"cab", b"c"], "Ids with holes between them."),
    ("large-ids", "pair_ids_beyond_u32", "c|ab", [b"c"], "An id of more than 32 bits may be allowed."),
    ("large-ids-among-others", "pair_ids_beyond_u32", "[abc]+", [b"a"], "An id of more than 32 bits among small ones."),
    ("large-ids-alone", "pair_ids_beyond_u32", "ab(c)*", [b"ab"], "Only an id of more than 32 bits may follow, or the end."),
    ("zero-bytes", "zero_bytes", "(a\x00)*", [b"a\x00", b"a"], "A zero byte is a character like any other."),
    ("no-token-for-the-rest", "missing_bytes", "ac|ab", [b"a"], "The text ac has no tokens, but a continuation in bytes is one: a is allowed, and then only b."),
    ("no-token-at-all", "missing_bytes", "ac", [b"a"], "After a no token is allowed, and the text may not end: a row with nothing left."),
    ("no-token-later", "missing_bytes", "b(c|d)|a", [], "After b the text could only go on with bytes that have no tokens; b is allowed nevertheless."),
    ("no-token-ever", "missing_bytes", "(a|b)*c", [b"b"], "No text of the language has tokens; its beginnings are allowed nevertheless."),
    ("special-tokens", "specials_prefix", "(<\\|a\\|>)+", [b"<"], "The text of a special token is spelled by ordinary tokens; the special token itself is no text."),
    ("a-token-of-the-pretokenizer", "only_lowercase", "(abcd)+", [b"ab", b"cd"], "A mask does not care how the text would be cut before it is encoded."),
)  # fmt: skip

ENDS: Final[Sequence[Row]] = (
    ("empty-text", "readme", "(ab)*", [], "The text may end before the first token if the empty text is in the language."),
    ("not-the-empty-text", "readme", "(ab)+", [], "The text may not end before the first token."),
    ("only-the-empty-text", "readme", "", [], "Only the empty text matches: no token is allowed, and the text may end."),
    ("end-and-go-on", "readme", "ab*", [b"a", b"b", b"bb"], "The text may end after each token, and may go on as well."),
    ("end-only-at-the-end", "readme", "abb", [b"a", b"bb"], "The text may end only when all of it is there, not as soon as it can be completed."),
    ("end-at-an-alternative", "readme", "a|abb", [b"a", b"b", b"b"], "The text may end, then not, then again."),
    ("end-inside-a-token", "readme", "(acb)*", [b"ac", b"b"], "Not at the end of a token, but at the end of a repetition may the text end."),
    ("not-after-a-match", "readme", "ab", [b"ab"], "The whole text must match: what follows a match is not free."),
    ("end-with-nothing-left", "one_letter", "a{2}", [b"a", b"a"], "When nothing is allowed any more, the text may end."),
    ("optional-end", "readme", "ab?c?", [b"a"], "Two optional letters are left, and the text may end before them."),
)  # fmt: skip

QUANTIFIERS: Final[Sequence[Row]] = (
    ("star", "readme", "a*b", [b"a", b"a"], "A star allows none and any number."),
    ("plus", "readme", "a+b", [], "A plus needs one: b may not come first."),
    ("question", "readme", "a?b", [b"a"], "A question mark allows one, and not two."),
    ("exactly", "readme", "(bb){2}", [b"bb", b"b"], "Exactly two repetitions of two letters."),
    ("exactly-0", "readme", "a{0}b", [], "No repetition: the letter is not there."),
    ("at-least", "readme", "b{2,}c", [b"bb"], "At least two: after two letters, both another one and the end of them may follow."),
    ("at-least-more", "readme", "b{2,}c", [b"bb", b"bb"], "At least two: four are not too many."),
    ("from-to", "readme", "b{1,3}", [b"b", b"b"], "From one to three: after two letters one more may follow, and not two."),
    ("from-to-last", "readme", "b{1,3}", [b"bb", b"b"], "From one to three: after three letters the text must end."),
    ("from-0-to", "doubles", "a{0,3}", [b"aa"], "From none to three letters, in tokens of one and two."),
    ("many", "long_token", "a{300}", [b"a" * 64], "More repetitions than a byte counts: 300."),
    ("many-at-least", "long_token", "a{257,}", [b"a"], "More repetitions than a byte counts, at least: after one of 257 the text may not end."),
    ("many-at-most", "long_token", "a{0,260}", [b"a" * 8], "More repetitions than a byte counts, at most: 252 may follow after 8 of 260."),
    ("at-least-three", "doubles", "a{3,}", [b"aa", b"aa"], "At least three: after four there is no upper bound."),
    ("binds-to-one-letter", "readme", "ab*", [b"a"], "A quantifier belongs to the letter before it, not to all of them."),
    ("binds-to-the-group", "readme", "(ab)*c", [b"ab"], "A quantifier behind a group belongs to the whole group."),
    ("alternatives-bind-weakly", "readme", "ab|cb", [b"a"], "A bar separates all that stands on its sides."),
    ("empty-alternative", "readme", "(a|)c", [], "An alternative may be empty."),
    ("nested", "readme", "((a|b){2}c){1,2}", [b"ab", b"c"], "Repetitions of groups with repetitions."),
)  # fmt: skip

BYTES: Final[Sequence[Row]] = (
    ("dot", "utf8_parts", ".", [], "A dot allows the first bytes of all characters, except a line feed, and no byte that begins none."),
    ("dot-second-of-e0", "utf8_parts", ".", [b"\xe0"], "After E0 only A0 to BF may follow: anything else would be overlong."),
    ("dot-second-of-ed", "utf8_parts", ".", [b"\xed"], "After ED only 80 to 9F may follow: there are no surrogates."),
    ("dot-second-of-f0", "utf8_parts", ".", [b"\xf0"], "After F0 only 90 to BF may follow."),
    ("dot-second-of-f4", "utf8_parts", ".", [b"\xf4"], "After F4 only 80 to 8F may follow: Unicode ends there."),
    ("dot-in-a-character", "utf8_parts", ".", [b"\xe4", b"\xbd"], "Two of three bytes: the text may not end inside a character."),
    ("two-dots", "utf8_parts", "..", [b"\xc3", b"\xa9"], "After a whole character the next one begins."),
    ("letters-of-two-bytes", "utf8_parts", "[\u00e0-\u00ff]+", [b"\xc3"], "Letters from U+00E0 to U+00FF share their first byte."),
    ("range-across-lengths", "utf8_parts", "[z-\u00e9]", [b"\xc3"], "A range from one byte to two: up to A9 after C3."),
    ("range-across-lengths-start", "utf8_parts", "[z-\u00e9]", [], "The same range at the start: no byte below z, and no first byte above C3."),
    ("range-of-three-bytes", "utf8_parts", "[\u4f00-\u5100]", [b"\xe4"], "A range whose first and last characters have other second bytes."),
    ("range-of-three-bytes-last", "utf8_parts", "[\u4f00-\u5100]", [b"\xe5", b"\x84"], "The last character of a range has the lowest third byte."),
    ("not-a-letter", "utf8_parts", "[^a-z]", [], "A negated set allows a line feed, and all characters of more bytes."),
    ("not-a-character", "utf8_parts", "[^\u4f60]", [b"\xe4", b"\xbd"], "A negated set lacks one character, which only its last byte shows."),
    ("line-feed", "end_of_text", ".*", [b"a"], "A dot does not match a line feed."),
    ("line-feed-in-a-set", "end_of_text", "[^b]*", [b"\n"], "A negated set matches a line feed."),
    ("escapes", "byte_order", "\\n\\r\\t\\\\\\.", [b"\n", b"\r", b"\t"], "Three control characters and two signs, escaped."),
    ("signs", "byte_order", "[\\^\\-\\]]\\+\\(", [b"-"], "Signs that mean something elsewhere, escaped."),
    ("sets-mean-signs", "byte_order", "[.*+?]{2}", [b"*"], "In square brackets, a dot and quantifiers are plain signs."),
    ("emoji", "utf8_parts", "\U0001f600?!", [b"\xf0", b"\x9f", b"\x98"], "A character of four bytes, byte by byte."),
)  # fmt: skip

ROLLBACKS: Final[Sequence[Row]] = (
    ("back-one", "readme", "abcb", [b"a", b"b", 1], "The last token is taken back: the mask is that of before."),
    ("back-two", "readme", "abcb", [b"a", b"b", b"c", 2], "Two tokens are taken back at once."),
    ("back-to-the-start", "readme", "(ab)+", [b"ab", b"a", 2], "All tokens are taken back: the text may not end any more."),
    ("back-and-another-way", "readme", "(ab|ac)b", [b"ab", 1, b"ac", b"b"], "Another token is accepted in place of the one that was taken back."),
    ("back-by-tokens-not-bytes", "readme", "acbbab", [b"acbb", b"a", 1], "One token is taken back, whatever its length: the token before has four bytes."),
    ("back-a-long-token", "readme", "acbbab", [b"acbb", 1], "A token of four bytes is taken back whole."),
    ("back-twice", "readme", "abcbb", [b"a", b"b", b"c", 1, 1], "One token is taken back, and then another one."),
    ("back-three", "readme", "abcbb", [b"a", b"b", b"c", b"b", 3], "Three tokens of four are taken back."),
    ("back-a-token-of-two", "readme", "abab", [b"ab", b"ab", 1], "The second of two equal tokens of two bytes is taken back whole."),
    ("back-none", "readme", "ab", [b"a", 0], "No token is taken back: nothing changes."),
    ("back-after-the-end", "readme", "a", [b"a", 1], "After the end of the text its last token is taken back, and may come again."),
    ("back-in-a-character", "utf8_parts", "\u00e9\u4f60", [b"\xc3", b"\xa9", b"\xe4", 1], "A token that began a character is taken back."),
)  # fmt: skip

DEAD: Final[Sequence[Row]] = (
    ("dead-alternative", "readme", f"ab|c{NOTHING}", [], "One alternative needs a character that does not exist: its first token is not allowed."),
    ("dead-end-of-a-loop", "readme", f"a(b|c{NOTHING})*", [b"a"], "A way round the loop that cannot be completed."),
    ("dead-repetition", "readme", f"(ac{NOTHING})*b", [], "A repetition that can only happen no time at all."),
    ("dead-after-a-choice", "readme", f"a(bb{NOTHING}|bc)", [b"a"], "Two alternatives begin alike, and one of them is dead one byte later."),
)  # fmt: skip

REAL: Final[Sequence[Row]] = (
    ("json", "tiny", JSON, [b'{"', b"name"], "An object of JSON: after its first key begins."),
    ("json-key", "tiny", JSON, [], "An object of JSON at its start."),
    ("date", "tiny", DATE, [b"2", b"0"], "A date: digits, of which two are there."),
    ("choice", "tiny", "(yes|no|not sure)\\.?", [b"no"], "A choice of three answers, one of which begins another."),
    ("number", "tiny", "\\-?(0|[1-9][0-9]*)(\\.[0-9]+)?", [b"1"], "A number: it may end, go on, or get a fraction."),
    ("words", "tiny", "( ?(the|there|then|this))+", [b" the"], "Words that begin alike, in tokens of all lengths."),
)  # fmt: skip

REFUSED: Final[Sequence[tuple[str, str, str, Sequence[Call], Sequence[int], str, str]]] = (
    ("token-not-allowed", "readme", "ab", [], [2], "INVALID_PARAMETER", "A token is accepted that the grammar does not allow."),
    ("token-too-long", "readme", "acb", [], [8], "INVALID_PARAMETER", "A token is accepted that goes on beyond the text."),
    ("token-after-the-end", "readme", "a", [b"a"], [0], "INVALID_PARAMETER", "A token is accepted after the end of the text."),
    ("unknown-id", "readme", "a*", [], [9], "UNKNOWN_ID", "An id is accepted that no token has."),
    ("negative-id", "readme", "a*", [], [-1], "UNKNOWN_ID", "A negative id is accepted."),
    ("special-token", "specials_prefix", ".*", [], [1000], "INVALID_PARAMETER", "A special token is accepted where its text would fit."),
    ("back-too-far", "readme", "a*", [b"a", 2], [], "INVALID_PARAMETER", "Two tokens are taken back where there is only one."),
    ("back-a-negative-number", "readme", "a*", [b"a", -1], [], "INVALID_PARAMETER", "A negative number of tokens is taken back."),
    ("not-closed", "readme", "(a", [], [], "INVALID_PARAMETER", "A group in the pattern is not closed."),
    ("nothing-to-repeat", "readme", "*a", [], [], "INVALID_PARAMETER", "There is nothing to repeat."),
    ("empty-set", "readme", "[]", [], [], "INVALID_PARAMETER", "A set in the pattern has no characters."),
    ("range-backwards", "readme", "[b-a]", [], [], "INVALID_PARAMETER", "A range ends before it begins."),
    ("bounds-backwards", "readme", "a{3,2}", [], [], "INVALID_PARAMETER", "At most is less than at least."),
    ("matches-nothing", "readme", NOTHING, [], [], "INVALID_PARAMETER", "The pattern matches no text at all."),
)  # fmt: skip

FLAGS: Final = {
    "tokens": (TOKENS, ("GrammarMask",)),
    "ends": (ENDS, ("GrammarEnd",)),
    "quantifiers": (QUANTIFIERS, ("GrammarMask",)),
    "bytes": (BYTES, ("GrammarBytes",)),
    "rollbacks": (ROLLBACKS, ("GrammarRollback",)),
    "dead_ends": (DEAD, ("GrammarDeadEnd",)),
    "real": (REAL, ("GrammarMask",)),
}
"""The rows of each topic, and the flags of its cases."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for topic, (rows, flags) in FLAGS.items():
        for slug, vocabulary, pattern, calls, why in rows:
            asked = question(vocabulary_named(vocabulary), pattern, calls)
            yield Draft(
                op="grammar_mask",
                topic=topic,
                slug=slug,
                vocabulary=vocabulary,
                request=asked,
                why=why,
                flags=flags,
                spec=SPEC,
                purposes=finds("grammar_mask", blamed("grammar_mask", vocabulary, asked)),
            )
    for slug, vocabulary, pattern, calls, ids, code, why in REFUSED:
        asked = question(vocabulary_named(vocabulary), pattern, calls)
        more = [GrammarCall(accept=id_) for id_ in ids]
        yield Draft(
            op="grammar_mask",
            topic="refused",
            slug=slug,
            vocabulary=vocabulary,
            request=GrammarMaskInput(pattern=pattern, calls=[*asked.calls, *more]),
            why=why,
            flags=["GrammarMask"],
            spec=SPEC,
            purposes=(refuses(code),),
        )


def question(vocabulary: Vocabulary, pattern: str, calls: Sequence[Call]) -> GrammarMaskInput:
    """Return a question about tokens that are named by their bytes.

    >>> question(vocabulary_named("doubles"), "a*", [b"aa", 1]).calls
    [GrammarCall(accept=1, rollback=UNSET), GrammarCall(accept=UNSET, rollback=1)]
    """
    made = [
        GrammarCall(accept=vocabulary.ids[call.decode("latin-1")])
        if isinstance(call, bytes)
        else GrammarCall(rollback=call)
        for call in calls
    ]
    return GrammarMaskInput(pattern=pattern, calls=made)
