"""Mutants that lose count while a text grows, shrinks, and grows again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from authoring.mutants.mutant import Mutant, Witness, mutant, spelled
from bpe_ref import ENCODERS, EagerEncoder, TokenId, Vocabulary
from tokenref.engines.tools import Tools

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
        """Keep so many bytes."""
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
    """Encode the new bytes together with so many tokens next to them."""
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


def longest_suffix(state: Wrong, part: bytes) -> list[TokenId]:
    """Take the longest token that ends here, whether it fits the ones before or not."""
    text = state.text + part
    ends = {content: token for token, content in state.vocabulary.tokens.items()}
    tokens: list[TokenId] = []
    while text:
        content = max((c for c in ends if text.endswith(c)), key=len)
        tokens.insert(0, ends[content])
        text = text[: -len(content)]
    return tokens


def longest_prefix(state: Wrong, part: bytes) -> list[TokenId]:
    """Take the longest token that begins here, whether it fits the next ones or not."""
    text = part + state.text
    starts = {content: token for token, content in state.vocabulary.tokens.items()}
    tokens: list[TokenId] = []
    while text:
        content = max((c for c in starts if text.startswith(c)), key=len)
        tokens.append(starts[content])
        text = text[len(content) :]
    return tokens


# ---- what becomes of them when it is cut


def whole_tokens(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Drop whole tokens until no more than so many bytes are left."""
    ids = list(state.ids)
    while len(spelling_of(state.vocabulary, ids)) > length:
        ids.pop(0 if state.at_front else -1)
    return spelling_of(state.vocabulary, ids), ids


def tokens_as_they_were(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Keep the tokens that lie in what is left, and encode the rest of it alone."""
    _, ids = whole_tokens(state, length)
    size = len(spelling_of(state.vocabulary, ids))
    if state.at_front:
        text = state.text[len(state.text) - length :]
        return text, encoded(state.vocabulary, text[: length - size]) + ids
    text = state.text[:length]
    return text, ids + encoded(state.vocabulary, text[size:])


def stale_count(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Cut the text and forget to cut the tokens."""
    return state.text[:length], state.ids


def wrong_end(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Keep the bytes at the end that grows."""
    text = state.text[:length] if state.at_front else state.text[len(state.text) - length :]
    return text, encoded(state.vocabulary, text)


def zero_ignored(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Take 0 for "no length given"."""
    text = state.text[: length or None]
    return text, encoded(state.vocabulary, text)


def always_cleared(state: Wrong, length: int) -> tuple[bytes, list[TokenId]]:
    """Start anew where nothing is to be cut off."""
    text = state.text[:length] if length < len(state.text) else b""
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


def all_but(count: int) -> Callable[[Vocabulary, bytes, list[TokenId]], int]:
    """Return the rule "all tokens but the last few"."""
    return lambda _vocabulary, _text, tokens: len(tokens) - count


def longest_token_ago(vocabulary: Vocabulary, text: bytes, tokens: list[TokenId]) -> int:
    """Call certain what ends as many bytes before the end as the longest token has."""
    limit = len(text) - max(map(len, vocabulary.tokens.values()))
    size = count = 0
    for token in tokens:
        size += len(vocabulary.tokens[token])
        count += size <= limit
    return count


@dataclass
class NoTail:
    """A right eager encoder that loses its tail."""

    right: EagerEncoder

    def extend(self, data: bytes, /) -> list[TokenId]:
        """Add bytes."""
        return self.right.extend(data)

    def finish(self) -> list[TokenId]:
        """Lose the rest."""
        return []


@dataclass
class _Turned(Wrong):
    """Puts bytes that are pushed together in front in the wrong order."""

    at_front: bool = True

    def extend(self, piece: Iterable[int]) -> None:
        super().extend(bytes(piece)[::-1])


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


def _appending(name: str, story: str, witness: Witness, **mistakes: Any) -> Mutant:
    tools = Tools(append_encoder=partial(Wrong, **mistakes))
    return mutant(f"append-{name}", story, witness, tools=tools)


def _prepending(name: str, story: str, witness: Witness, **mistakes: Any) -> Mutant:
    tools = Tools(prepend_encoder=partial(Wrong, at_front=True, **mistakes))
    return mutant(f"prepend-{name}", story, witness, tools=tools)


def _eager(name: str, story: str, witness: Witness, make: Callable[[Vocabulary], Any]) -> Mutant:
    return mutant(f"eager-{name}", story, witness, tools=Tools(eager_encoder=make))


GROWING: Final = (
    _appending(
        "only-what-is-new",
        "What is pushed is encoded alone and its tokens added: counts per piece, summed up "
        "(the second way that the README of GitHub's bpe warns of).",
        grows("a aa", "append", "a", "a"),
        grown=only_what_is_new,
    ),
    _appending(
        "parts-alone",
        "Each part that is pushed at once is encoded alone; own.",
        grows("a aa", "append", "aa", "a", "a"),
        grown=only_what_is_new,
        one_by_one=False,
    ),
    _appending(
        "last-token-again",
        "Only the last token is encoded again with the new byte; own.",
        grows(_README, "append", "abacbb"),
        grown=partial(again_from, 1),
    ),
    _appending(
        "last-two-again",
        "Only the last two tokens are encoded again with the new byte, as a fixed window of "
        "tokens does (chonkie-inc/tokie pops from a window of eight).",
        grows("a b c d cd bcd abcd", "append", "abcd"),
        grown=partial(again_from, 2),
    ),
    _appending(
        "never-fewer",
        "Counts are taken to rise with the text: an append that lowers the count is not seen.",
        grows(_README, "append", "abacbb"),
        grown=never_fewer,
    ),
    _appending(
        "longest-suffix",
        "The longest token that ends here is taken without asking whether it fits the one before.",
        grows("a aa", "append", "aaa"),
        grown=longest_suffix,
    ),
    _appending(
        "truncated-tokens",
        "Truncating drops whole tokens, and with the last one bytes that should stay; own.",
        grows("a aa", "append", "aa", 1),
        cut=whole_tokens,
    ),
    _appending(
        "tokens-as-they-were",
        "After truncating, the tokens before the cut stay what they were in the longer text; own.",
        grows("a b ab aa", "append", "aab", 2),
        cut=tokens_as_they_were,
    ),
    _appending(
        "stale-count",
        "Truncating cuts the text and not the tokens; the next call goes on from there; own.",
        grows("a aa", "append", "aaa", 1),
        cut=stale_count,
    ),
    _appending(
        "wrong-end",
        "Truncating keeps the last bytes instead of the first; own.",
        grows("a b", "append", "ab", 1),
        cut=wrong_end,
    ),
    _appending(
        "zero-ignored",
        "Truncating to 0 does nothing: 0 is taken for no length; own.",
        grows("a b", "append", "ab", 0),
        cut=zero_ignored,
    ),
    _appending(
        "cleared",
        "Truncating to the present length clears everything; own.",
        grows("a b", "append", "ab", 2),
        cut=always_cleared,
    ),
    _appending(
        "tokens-backwards",
        "The way back through the last tokens is returned as it is walked: last token first; own.",
        grows("a b", "append", "ab"),
        listed=lambda ids: ids[::-1],
    ),
    _prepending(
        "only-what-is-new",
        "What is put in front is encoded alone and its tokens added; own.",
        grows("a aa", "prepend", "a", "a"),
        grown=only_what_is_new,
    ),
    _prepending(
        "first-token-again",
        "Only the first token is encoded again with the new byte; own.",
        grows("a aa", "prepend", "aaaa"),
        grown=partial(again_from, 1),
    ),
    _prepending(
        "longest-prefix",
        "The longest token that starts here is taken without asking whether it fits the next: "
        "greedy from the left.",
        grows("a aa aaa", "prepend", "aaaa"),
        grown=longest_prefix,
    ),
    _prepending(
        "never-fewer",
        "Counts are taken to rise with the text, also in front; own.",
        grows("a aa aaaa", "prepend", "aaaa"),
        grown=never_fewer,
    ),
    _prepending(
        "truncated-tokens",
        "Truncating drops whole tokens in front; own.",
        grows("a aa", "prepend", "aa", 1),
        cut=whole_tokens,
    ),
    _prepending(
        "wrong-end",
        "Truncating keeps the first bytes, which were pushed last; own.",
        grows("a b", "prepend", "ab", 1),
        cut=wrong_end,
    ),
    _prepending(
        "tokens-backwards",
        "Tokens are returned in the order in which the text grew: last token first; own.",
        grows("a b", "prepend", "ab"),
        listed=lambda ids: ids[::-1],
    ),
    mutant(
        "prepend-bytes-backwards",
        "Bytes pushed together are put in front one by one in reading order, which turns them "
        "round: the crate's `extend` wants them reversed, and a caller forgets it.",
        grows("a b ab", "prepend", "ab"),
        tools=Tools(prepend_encoder=_Turned),
    ),
    _eager(
        "all-but-the-last",
        "All tokens but the last one are called certain; own.",
        becomes_certain(_README, "abacb", "b"),
        partial(WrongEager, known=all_but(1)),
    ),
    _eager(
        "all-but-two",
        "All tokens but the last two are called certain; own.",
        becomes_certain("a b", "abab"),
        partial(WrongEager, known=all_but(2)),
    ),
    _eager(
        "longest-token-ago",
        "What lies back as far as the longest token is long is called certain; it is neither "
        "always certain nor certain only then.",
        becomes_certain("a b ab", "ba"),
        partial(WrongEager, known=longest_token_ago),
    ),
    _eager(
        "only-at-the-end",
        "Nothing is given before the end; own.",
        becomes_certain("a b", "a", "b"),
        partial(WrongEager, known=lambda _vocabulary, _text, _tokens: 0),
    ),
    _eager(
        "no-tail",
        "What is still open at the end is lost: there is no flush; own.",
        becomes_certain("a aa", "a"),
        lambda vocabulary: NoTail(EagerEncoder(vocabulary)),
    ),
)
"""Mutants of `append`, `prepend` and `eager`."""
