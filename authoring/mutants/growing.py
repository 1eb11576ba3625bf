"""Mutants that lose count while a text grows, shrinks, and grows again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, Final

from authoring.mutants.mutant import Mutant, Witness, mutant, replacing_tool, spelled
from bpe_ref import ENCODERS, TokenId, Vocabulary
from bpe_ref.growing.eager import EagerEncoder
from tokenref.engines.reference import ReferenceEngine, Tools

Encoded = Callable[[Vocabulary, bytes, list[TokenId]], list[TokenId]]
"""What the tokens become: of the vocabulary, the whole text, and the tokens of the text before."""


def encoded(vocabulary: Vocabulary, text: bytes) -> list[TokenId]:
    """Return the right tokens of a text.

    >>> encoded(spelled("a aa"), b"aaa")
    [1, 0]
    """
    return ENCODERS["heap"](vocabulary, vocabulary.symbols(text))


def spelling_of(vocabulary: Vocabulary, tokens: Iterable[TokenId]) -> bytes:
    """Return the bytes of tokens."""
    return b"".join(vocabulary.tokens[token] for token in tokens)


@dataclass
class Wrong:
    """An encoder that grows, in the simplest way, with places for mistakes.

    The right one: `Wrong(vocabulary)`, which encodes everything anew after each call.
    """

    vocabulary: Vocabulary
    at_front: bool = False
    one_by_one: bool = True
    """Whether `grown` is asked after every byte, or once for what is pushed."""

    grown: Callable[["Wrong", bytes], list[TokenId]] | None = None
    """What the tokens are after bytes were added; the state still has those before."""

    cut: Callable[["Wrong", int], tuple[bytes, list[TokenId]]] | None = None
    """What text and tokens are after `truncate`."""

    listed: Callable[[list[TokenId]], list[TokenId]] = list
    counted: Callable[[list[TokenId]], int] = len
    text: bytes = b""
    ids: list[TokenId] = field(default_factory=list)

    @property
    def token_count(self) -> int:
        """How many tokens there are."""
        return self.counted(self.ids)

    def tokens(self) -> list[TokenId]:
        """Return the tokens."""
        return self.listed(self.ids)

    def extend(self, piece: Iterable[int]) -> None:
        """Add bytes, given in the order of the text."""
        content = bytes(piece)
        parts = [content[at : at + 1] for at in range(len(content))]
        if not self.one_by_one:
            parts = [content] if content else []
        for part in reversed(parts) if self.at_front else parts:
            text = part + self.text if self.at_front else self.text + part
            if self.grown is None:
                self.ids = encoded(self.vocabulary, text)
            else:
                self.ids = self.grown(self, part)
            self.text = text

    def truncate(self, length: int) -> None:
        """Keep this number of bytes."""
        if self.cut is not None:
            self.text, self.ids = self.cut(self, length)
            return
        self.text = self.text[len(self.text) - length :] if self.at_front else self.text[:length]
        self.ids = encoded(self.vocabulary, self.text)


# ---- what becomes of the tokens when the text grows


def only_what_is_new(state: Wrong, part: bytes) -> list[TokenId]:
    """Encode the new bytes alone, and never merge them with what is there."""
    new = encoded(state.vocabulary, part)
    return new + state.ids if state.at_front else state.ids + new


def again_from(tokens: int, state: Wrong, part: bytes) -> list[TokenId]:
    """Encode the new bytes together with this number of tokens next to them."""
    near = state.ids[:tokens] if state.at_front else state.ids[-tokens:]
    far = state.ids[tokens:] if state.at_front else state.ids[:-tokens]
    text = spelling_of(state.vocabulary, near)
    if state.at_front:
        return encoded(state.vocabulary, part + text) + far
    return far + encoded(state.vocabulary, text + part)


def never_fewer(state: Wrong, part: bytes) -> list[TokenId]:
    """Keep the count where the new tokens are fewer."""
    text = part + state.text if state.at_front else state.text + part
    new = encoded(state.vocabulary, text)
    return new + new[-1:] * (len(state.ids) - len(new))


# ---- what becomes of them when it is cut


def whole_tokens(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Drop whole tokens until at most this number of bytes is left."""
    ids = list(state.ids)
    while len(spelling_of(state.vocabulary, ids)) > length:
        ids.pop(0 if state.at_front else -1)
    return spelling_of(state.vocabulary, ids), ids


def wrong_end(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Keep the bytes at the end that grows."""
    text = state.text[:length] if state.at_front else state.text[len(state.text) - length :]
    return text, encoded(state.vocabulary, text)


# ---- eager encoders


@dataclass
class WrongEager:
    """An encoder that gives tokens by a rule of its own: `known` says how many are certain."""

    vocabulary: Vocabulary
    known: Callable[[Vocabulary, bytes, list[TokenId]], int]
    text: bytes = b""
    given: int = 0

    def extend(self, data: bytes, /) -> list[TokenId]:
        """Add bytes; return the tokens that the rule calls certain."""
        self.text += data
        return self._up_to(self.known)

    def finish(self) -> list[TokenId]:
        """Return the rest."""
        return self._up_to(lambda _vocabulary, _text, tokens: len(tokens))

    def _up_to(self, known: Callable[[Vocabulary, bytes, list[TokenId]], int]) -> list[TokenId]:
        tokens = encoded(self.vocabulary, self.text)
        until = max(self.given, known(self.vocabulary, self.text, tokens))
        new = tokens[self.given : until]
        self.given = until
        return new


# ---- witnesses


def grows(tokens: str, op: str, *calls: str | int) -> Witness:
    """Return a witness: a text is pushed, a number is what is left.

    >>> grows("a aa", "append", "aa", 1).request
    {'calls': [{'push': '6161'}, {'truncate': 1}]}
    """
    rows: list[dict[str, Any]] = [
        {"push": call.encode().hex()} if isinstance(call, str) else {"truncate": call}
        for call in calls
    ]
    return Witness(spelled(tokens), op, {"calls": rows})


def becomes_certain(tokens: str, *pushes: str) -> Witness:
    """Return a witness: a text in parts."""
    return Witness(spelled(tokens), "eager", {"pushes": [push.encode().hex() for push in pushes]})


_README: Final = "a b c ab cb ac bb cbb acbb"


def appending(
    mistake: str, witness: Witness, **more: Any
) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function is a mistake (a field of `Wrong`) of `AppendEncoder`."""
    return _growing("append_encoder", mistake, witness, **more)


def prepending(mistake: str, witness: Witness) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function is a mistake (a field of `Wrong`) of `PrependEncoder`."""
    return _growing("prepend_encoder", mistake, witness, at_front=True)


def _growing(
    tool: str, mistake: str, witness: Witness, **more: Any
) -> Callable[[Callable[..., Any]], Mutant]:
    def engine(label: str, wrong: Callable[..., Any]) -> ReferenceEngine:
        fields: dict[str, Any] = {mistake: wrong, **more}
        tools: dict[str, Any] = {tool: partial(Wrong, **fields)}
        return ReferenceEngine(label, tools=Tools(**tools))

    return mutant(witness, engine)


def eager(
    witness: Witness,
) -> Callable[[Callable[[Vocabulary, bytes, list[TokenId]], int]], Mutant]:
    """Return a decorator: the function says how many tokens an `EagerEncoder` calls certain."""

    def engine(
        label: str, known: Callable[[Vocabulary, bytes, list[TokenId]], int]
    ) -> ReferenceEngine:
        return ReferenceEngine(label, tools=Tools(eager_encoder=partial(WrongEager, known=known)))

    return mutant(witness, engine)


@appending("grown", grows("a aa", "append", "a", "a"))
def append_only_what_is_new(state: Wrong, part: bytes) -> list[TokenId]:
    """What is pushed is encoded alone and its tokens added: counts per piece, summed up (the second
    way that the README of GitHub's bpe warns of).
    """
    return only_what_is_new(state, part)


@appending("grown", grows("a aa", "append", "aa", "a", "a"), one_by_one=False)
def append_parts_alone(state: Wrong, part: bytes) -> list[TokenId]:
    """Each part that is pushed at once is encoded alone."""
    return only_what_is_new(state, part)


@appending("grown", grows(_README, "append", "abacbb"))
def append_last_token_again(state: Wrong, part: bytes) -> list[TokenId]:
    """Only the last token is encoded again with the new byte."""
    return again_from(1, state, part)


@appending("grown", grows("a b c d cd bcd abcd", "append", "abcd"))
def append_last_two_again(state: Wrong, part: bytes) -> list[TokenId]:
    """Only the last two tokens are encoded again with the new byte, as a fixed window of tokens
    does (chonkie-inc/tokie pops from a window of eight).
    """
    return again_from(2, state, part)


@appending("grown", grows(_README, "append", "abacbb"))
def append_never_fewer(state: Wrong, part: bytes) -> list[TokenId]:
    """Counts are taken to rise with the text: an append that lowers the count is not seen."""
    return never_fewer(state, part)


@appending("grown", grows("a aa", "append", "aaa"))
def append_longest_suffix(state: Wrong, part: bytes) -> list[TokenId]:
    """The longest token that ends here is taken without asking whether it fits the one before."""
    text = state.text + part
    ends = {content: token for token, content in state.vocabulary.tokens.items()}
    tokens: list[TokenId] = []
    while text:
        content = max((c for c in ends if text.endswith(c)), key=len)
        tokens.insert(0, ends[content])
        text = text[: -len(content)]
    return tokens


@appending("cut", grows("a aa", "append", "aa", 1))
def append_truncated_tokens(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating drops whole tokens, and with the last one bytes that should stay."""
    return whole_tokens(state, length)


@appending("cut", grows("a b ab aa", "append", "aab", 2))
def append_tokens_as_they_were(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """After truncating, the tokens before the cut stay what they were in the longer text."""
    _, ids = whole_tokens(state, length)
    size = len(spelling_of(state.vocabulary, ids))
    if state.at_front:
        text = state.text[len(state.text) - length :]
        return text, encoded(state.vocabulary, text[: length - size]) + ids
    text = state.text[:length]
    return text, ids + encoded(state.vocabulary, text[size:])


@appending("cut", grows("a aa", "append", "aaa", 1))
def append_stale_count(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating cuts the text and not the tokens; the next call goes on from there."""
    return state.text[:length], state.ids


@appending("cut", grows("a b", "append", "ab", 1))
def append_wrong_end(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating keeps the last bytes instead of the first."""
    return wrong_end(state, length)


@appending("cut", grows("a b", "append", "ab", 0))
def append_zero_ignored(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating to 0 does nothing: 0 is taken for no length."""
    text = state.text[: length or None]
    return text, encoded(state.vocabulary, text)


@appending("cut", grows("a b", "append", "ab", 2))
def append_cleared(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating to the present length clears everything."""
    text = state.text[:length] if length < len(state.text) else b""
    return text, encoded(state.vocabulary, text)


@appending("listed", grows("a b", "append", "ab"))
def append_tokens_backwards(ids: list[TokenId]) -> list[TokenId]:
    """The way back through the last tokens is returned as it is walked: last token first."""
    return ids[::-1]


@prepending("grown", grows("a aa", "prepend", "a", "a"))
def prepend_only_what_is_new(state: Wrong, part: bytes) -> list[TokenId]:
    """What is put in front is encoded alone and its tokens added."""
    return only_what_is_new(state, part)


@prepending("grown", grows("a aa", "prepend", "aaaa"))
def prepend_first_token_again(state: Wrong, part: bytes) -> list[TokenId]:
    """Only the first token is encoded again with the new byte."""
    return again_from(1, state, part)


@prepending("grown", grows("a aa aaa", "prepend", "aaaa"))
def prepend_longest_prefix(state: Wrong, part: bytes) -> list[TokenId]:
    """The longest token that starts here is taken without asking whether it fits the next: greedy
    from the left.
    """
    text = part + state.text
    starts = {content: token for token, content in state.vocabulary.tokens.items()}
    tokens: list[TokenId] = []
    while text:
        content = max((c for c in starts if text.startswith(c)), key=len)
        tokens.append(starts[content])
        text = text[len(content) :]
    return tokens


@prepending("grown", grows("a aa aaaa", "prepend", "aaaa"))
def prepend_never_fewer(state: Wrong, part: bytes) -> list[TokenId]:
    """Counts are taken to rise with the text, also in front."""
    return never_fewer(state, part)


@prepending("cut", grows("a aa", "prepend", "aa", 1))
def prepend_truncated_tokens(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating drops whole tokens in front."""
    return whole_tokens(state, length)


@prepending("cut", grows("a b", "prepend", "ab", 1))
def prepend_wrong_end(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Truncating keeps the first bytes, which were pushed last."""
    return wrong_end(state, length)


@prepending("listed", grows("a b", "prepend", "ab"))
def prepend_tokens_backwards(ids: list[TokenId]) -> list[TokenId]:
    """Tokens are returned in the order in which the text grew: last token first."""
    return ids[::-1]


@replacing_tool("prepend_encoder", grows("a b ab", "prepend", "ab"))
def prepend_bytes_backwards(vocabulary: Vocabulary) -> Wrong:
    """Bytes pushed together are put in front one by one in reading order, which turns them round:
    the crate's `extend` wants them reversed, and a caller forgets it.
    """

    class Turned(Wrong):
        def extend(self, piece: Iterable[int]) -> None:
            super().extend(bytes(piece)[::-1])

    return Turned(vocabulary, at_front=True)


@eager(becomes_certain(_README, "abacb", "b"))
def eager_all_but_the_last(_: Vocabulary, __: bytes, tokens: list[TokenId]) -> int:
    """All tokens but the last one are called certain."""
    return len(tokens) - 1


@eager(becomes_certain("a b", "abab"))
def eager_all_but_two(_: Vocabulary, __: bytes, tokens: list[TokenId]) -> int:
    """All tokens but the last two are called certain."""
    return len(tokens) - 2


@eager(becomes_certain("a b ab", "ba"))
def eager_longest_token_ago(vocabulary: Vocabulary, text: bytes, tokens: list[TokenId]) -> int:
    """What lies back as far as the longest token is long is called certain; it is neither always
    certain nor certain only then.
    """
    limit = len(text) - max(map(len, vocabulary.tokens.values()))
    ends = accumulate(len(vocabulary.tokens[token]) for token in tokens)
    return sum(end <= limit for end in ends)


@eager(becomes_certain("a b", "a", "b"))
def eager_only_at_the_end(_: Vocabulary, __: bytes, ___: list[TokenId]) -> int:
    """Nothing is given before the end."""
    return 0


@replacing_tool("eager_encoder", becomes_certain("a aa", "a"))
def eager_no_tail(vocabulary: Vocabulary) -> EagerEncoder:
    """What is still open at the end is lost: there is no flush."""

    class NoTail(EagerEncoder):
        def finish(self) -> list[TokenId]:
            return []

    return NoTail(vocabulary)


@replacing_tool("eager_encoder", becomes_certain("a aa", "a", ""))
def eager_empty_push_is_the_end(vocabulary: Vocabulary) -> EagerEncoder:
    """Pushing nothing is taken for the end of the text: what is open becomes certain."""

    class Ending(EagerEncoder):
        def extend(self, piece: Iterable[int]) -> list[TokenId]:
            content = bytes(piece)
            return super().extend(content) if content else self.finish()

    return Ending(vocabulary)
