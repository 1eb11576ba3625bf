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
from time import perf_counter

from sampling_ref.errors import ParameterError
from sampling_ref.generation.events import Event, Finished, Prefilled, Reason, Times, Token
from sampling_ref.generation.parts import Choice, Decoder, Model, Sampler, Texts, chooser, decoding
from sampling_ref.parameters import is_whole, read_history, read_number, read_token_set, read_whole
from sampling_ref.row import TokenId, plain


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
    Arguments are checked at once: `HistoryError` for what are no token ids, else `ParameterError`.
    `RowError` if the model returns no row.

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
    tokens = read_history(prompt, None, "prompt")
    read_whole("max_seq_len", max_seq_len, 1)
    if not 1 <= len(tokens) <= max_seq_len:
        rule = f"must have between 1 token and the {max_seq_len} that the cache holds"
        raise ParameterError("prompt", len(tokens), rule)
    push, finish = decoding(decoder)
    wanted = read_whole("num_tokens", num_tokens, 0)

    def is_full(position: int) -> bool:
        place = position if current_pos is None else current_pos()
        physical = plain(place)
        if not is_whole(physical):
            raise ParameterError("current_pos", place, "must return a whole number of at least 0")
        return physical >= max_seq_len

    return _events(
        tokens,
        model,
        chooser(sampler),
        push,
        finish,
        stops=read_token_set(plain(stop_ids), None, "stop_ids"),
        wanted=2**64 if as_published and wanted == 0 else wanted,
        is_full=is_full,
        clock=clock,
        started=started,
        as_published=as_published,
    )


def _events(
    prompt: list[TokenId],
    model: Model,
    choose: Choice,
    push: Callable[[TokenId], str],
    finish: Callable[[], str],
    *,
    stops: frozenset[TokenId],
    wanted: int,
    is_full: Callable[[int], bool],
    clock: Callable[[], float],
    started: float | None,
    as_published: bool,
) -> Iterator[Event]:
    """Yield the events of a loop whose arguments were read."""
    if wanted == 0:
        yield Finished("number of tokens", finish(), (), Times(None, ()))
        return
    before = clock() if started is None else started
    tokens = list(prompt)
    logits = model(list(prompt), 0)
    yield Prefilled(len(prompt), clock() - before)

    seconds: list[float] = []  # of each token: since the one before it, or since the start
    reason: Reason | None = None
    while reason is None:
        token = choose(logits, list(tokens))
        now = clock()
        seconds.append(now - before)
        before = now
        is_stop = token in stops and not (as_published and len(seconds) == 1)
        text = "" if is_stop and not as_published else push(token)
        yield Token(token, text, len(tokens), seconds[-1])
        tokens.append(token)
        position = len(tokens) - 1
        if is_stop:
            reason = "stop token"
        elif len(seconds) >= wanted:
            reason = "number of tokens"
        elif is_full(position):
            reason = "full cache"
        else:
            logits = model([token], position)

    times = Times(seconds[0], tuple(seconds[1:]), as_published=as_published)
    yield Finished(reason, finish(), tuple(tokens[len(prompt) :]), times)
