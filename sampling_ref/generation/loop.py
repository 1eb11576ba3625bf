"""The loop that turns a model into text: read the prompt, then choose one token at a time.

The documentation of the Antigravity runner, chapter 5 "Tokenizer & Sampling", sections 5.2
and 5.5; the program is https://github.com/hedone21/llm_rs2, `src/bin/generate.rs`. The rule:

    Prefill: the model reads the whole prompt at once, and the first token is chosen.
    Decode: the model reads the token chosen last, and the next one is chosen; again and
    again, until a stop token was chosen, or the wanted number of tokens, or until the cache
    has no place for what the model would read next.

What this leaves open, or says in its code alone:

Two positions
    The logical position of a token is its place in the text, and always grows by one. The
    physical one is its place in the cache, and can be less once the model has evicted
    something. The model is told the first; the cache is full by the second. It is asked
    before each token that is read, so a token is never chosen that could not have been.
The first token
    The published code does not compare it with the stop tokens, and goes on after one.
    Here it is compared.
The stop token
    It is chosen, counted and timed like any other, and it is the last of the tokens. The
    published code also hands it to the decoder (which skips special tokens, so that it
    usually prints nothing). Here it has no text.
No tokens wanted
    The published code makes one token, and then counts down from 0 - 1. Without overflow
    checks, as programs are built for use, that is 2^64 - 1 more. Here 0 means 0, and the
    model is not asked.
Clock
    It is read when the loop begins, after the prompt is read, and after each choice. What
    the caller does with an event falls into the next interval, as printing does in the
    runner. The runner's clock also covers the tokenizer: hand in the moment as `started`.
A prompt
    needs at least one token, and as many places in the cache as it has tokens.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from sampling_ref.errors import ParameterError
from sampling_ref.generation.events import Event, Finished, Prefilled, Reason, Times, Token
from sampling_ref.generation.parts import (
    Choice,
    Decoder,
    Model,
    Sampler,
    Texts,
    chooser,
    decoding,
    read_index,
    read_tokens,
)
from sampling_ref.parameters import read_number, read_whole
from sampling_ref.row import TokenId


def generate(
    model: Model,
    prompt: Iterable[TokenId],
    sampler: Sampler | Choice,
    *,
    num_tokens: int = 20,
    stop_ids: TokenId | Iterable[TokenId] = (),
    max_seq_len: int = 2048,
    decoder: Decoder | Texts | None = None,
    current_pos: Callable[[], int] | None = None,
    clock: Callable[[], float] = perf_counter,
    started: float | None = None,
    as_published: bool = False,
) -> Iterator[Event]:
    """Yield what happens while the model continues the prompt.

    `model(tokens, start_pos)` returns the row of logits after the last of these tokens.
    `sampler(logits, history)` chooses a token, or is an object with `sample` and `accept`.
    `decoder` has `push` and `finish`, or is a function from a token to its text.
    `current_pos()` is the number of tokens in the model's cache, where that is not their
    number in the text. `clock()` and `started` are in seconds. `as_published` does what the
    published code does where this package does better.
    Arguments are checked at once: `ParameterError`, and `RowError` for what is no row.

    >>> def successor(tokens, start_pos):  # a model that counts: after 2 comes 3
    ...     return [1.0 if token == tokens[-1] + 1 else 0.0 for token in range(5)]
    >>> def greedy(logits, history):
    ...     return logits.index(max(logits))
    >>> *_, last = generate(successor, [0, 1], greedy, num_tokens=8, stop_ids=4)
    >>> last.tokens, last.reason
    ((2, 3, 4), 'stop token')
    """
    if not callable(model):
        raise ParameterError("model", model, "must be callable")
    if not callable(clock):
        raise ParameterError("clock", clock, "must be callable")
    if current_pos is not None and not callable(current_pos):
        raise ParameterError("current_pos", current_pos, "must be callable, or None")
    if started is not None:
        read_number("started", started)
    tokens = read_tokens("prompt", prompt)
    read_whole("max_seq_len", max_seq_len, 1)
    if not 1 <= len(tokens) <= max_seq_len:
        rule = f"must have between 1 token and the {max_seq_len} that the cache holds"
        raise ParameterError("prompt", len(tokens), rule)
    stops = [stop_ids] if read_index(stop_ids) is not None else stop_ids
    push, finish = decoding(decoder)
    loop = _Loop(
        model=model,
        choose=chooser(sampler),
        push=push,
        finish=finish,
        stops=frozenset(read_tokens("stop_ids", stops)),
        num_tokens=read_whole("num_tokens", num_tokens, 0),
        max_seq_len=max_seq_len,
        current_pos=current_pos,
        clock=clock,
        as_published=as_published,
    )
    return _events(loop, tokens, started)


@dataclass(frozen=True)
class _Loop:
    """The arguments of `generate`, read."""

    model: Model
    choose: Choice
    push: Callable[[TokenId], str]
    finish: Callable[[], str]
    stops: frozenset[TokenId]
    num_tokens: int
    max_seq_len: int
    current_pos: Callable[[], int] | None
    clock: Callable[[], float]
    as_published: bool

    def ends_before(self, chosen: int, position: int) -> Reason | None:
        """Say why no token may be read at this position, when so many are chosen."""
        wanted = self.num_tokens
        if self.as_published and wanted == 0:
            wanted = 2**64
        if chosen >= wanted:
            return "number of tokens"
        place = position if self.current_pos is None else self.current_pos()
        physical = read_index(place)
        if physical is None:
            raise ParameterError("current_pos", place, "must return a whole number")
        return "full cache" if physical >= self.max_seq_len else None

    def ends_after(self, token: TokenId, chosen: int) -> bool:
        """Return whether this token, number `chosen` of all, stops the loop."""
        return token in self.stops and not (self.as_published and chosen == 1)

    def text_of(self, token: TokenId, *, is_last: bool) -> str:
        """Return the text that the token brings; a token that stops has none of its own."""
        return "" if is_last and not self.as_published else self.push(token)


def _events(loop: _Loop, prompt: list[TokenId], started: float | None) -> Iterator[Event]:
    if loop.num_tokens == 0 and not loop.as_published:
        yield Finished("number of tokens", loop.finish(), (), Times(None, ()))
        return
    before = loop.clock() if started is None else started
    tokens = list(prompt)
    logits = loop.model(list(prompt), 0)
    yield Prefilled(len(prompt), loop.clock() - before)

    seconds: list[float] = []  # of each token: since the one before it, or since the start
    reason: Reason | None = None
    while reason is None:
        token = loop.choose(logits, list(tokens))
        now = loop.clock()
        seconds.append(now - before)
        before = now
        is_last = loop.ends_after(token, len(seconds))
        yield Token(token, loop.text_of(token, is_last=is_last), len(tokens), seconds[-1])
        tokens.append(token)
        position = len(tokens) - 1
        reason = "stop token" if is_last else loop.ends_before(len(seconds), position)
        if reason is None:
            logits = loop.model([token], position)

    chosen = tuple(tokens[len(prompt) :])
    times = Times(seconds[0], tuple(seconds[1:]), as_published=loop.as_published)
    yield Finished(reason, loop.finish(), chosen, times)
