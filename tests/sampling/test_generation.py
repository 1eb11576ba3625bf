"""The loop reads the prompt once, then one token at a time, and stops where it says."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import printed
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.tokenizer import tokenizer_of
from sampling_ref import sample
from sampling_ref.errors import HistoryError, ParameterError, RowError
from sampling_ref.generation import (
    CACHE_FULL,
    Event,
    Finished,
    Prefilled,
    Times,
    Token,
    generate,
    show,
)
from tests.texts import drawn

SIZE = 10


@dataclass
class Counting:
    """A model after whose token 3 comes 4; it remembers what it was asked.

    It has a cache of its own, and with `window` evicts all but the newest entries.
    """

    calls: list[tuple[list[int], int]] = field(default_factory=list)
    window: int | None = None
    current_pos: int = 0

    def __call__(self, tokens: list[int], start_pos: int) -> list[float]:
        self.calls.append((tokens, start_pos))
        self.current_pos += len(tokens)
        if self.window is not None:
            self.current_pos = min(self.current_pos, self.window)
        return [float(token == (tokens[-1] + 1) % SIZE) for token in range(SIZE)]


def greedy(logits: Sequence[float], history: Sequence[int]) -> int:
    assert history
    return sample(
        "antigravity", logits, history, uniforms=[0.5], temperature=0, repetition_penalty=1
    )


def ticking(seconds: float = 0.25) -> Callable[[], float]:
    """Return a clock that goes on by so much each time it is read."""
    ticks = count()
    return lambda: seconds * next(ticks)


def finished(events: Iterable[Event]) -> Finished:
    *_, last = events
    assert isinstance(last, Finished)
    return last


def tokens_of(events: Iterable[Event]) -> list[Token]:
    return [event for event in events if isinstance(event, Token)]


def test_the_prompt_is_read_at_once_and_then_one_token_at_a_time() -> None:
    model = Counting()
    finished(generate(model, [5, 6, 7], greedy, num_tokens=3))
    assert model.calls == [([5, 6, 7], 0), ([8], 3), ([9], 4)]  # the last token is never read


def test_events_come_in_order_with_positions_that_grow_by_one() -> None:
    events = list(generate(Counting(), [5, 6], greedy, num_tokens=3, clock=ticking()))
    assert events == [
        Prefilled(2, 0.25),
        Token(7, "", 2, 0.5),
        Token(8, "", 3, 0.25),
        Token(9, "", 4, 0.25),
        Finished("number of tokens", "", (7, 8, 9), Times(0.5, (0.25, 0.25))),
    ]


def test_nothing_happens_before_the_first_event_is_asked_for() -> None:
    model = Counting()
    events = generate(model, [1], greedy)
    assert model.calls == []
    next(events)
    assert len(model.calls) == 1


@pytest.mark.parametrize("number", range(1, 6))
def test_it_stops_after_the_number_of_tokens(number: int) -> None:
    end = finished(generate(Counting(), [0], greedy, num_tokens=number))
    assert end.tokens == tuple(range(1, number + 1))
    assert (end.reason, end.message) == ("number of tokens", "")


def test_the_defaults_are_those_of_the_command_line() -> None:
    assert len(finished(generate(Counting(), [0], greedy)).tokens) == 20
    long = finished(generate(Counting(), [0], lambda *_: 0, num_tokens=10_000))
    assert (long.reason, len(long.tokens)) == ("full cache", 2048)


def test_no_tokens_wanted_means_that_the_model_is_not_asked() -> None:
    model = Counting()
    assert list(generate(model, [0], greedy, num_tokens=0)) == [
        Finished("number of tokens", "", (), Times(None, ()))
    ]
    assert model.calls == []


@pytest.mark.parametrize("stop_ids", [4, [4], (9, 4), {4}, iter([4])])
def test_it_stops_at_a_stop_token_which_is_its_last(stop_ids: Any) -> None:
    model = Counting()
    end = finished(generate(model, [1], greedy, stop_ids=stop_ids))
    assert (end.reason, end.tokens) == ("stop token", (2, 3, 4))
    assert [call[0] for call in model.calls] == [[1], [2], [3]]


def test_a_stop_token_in_the_prompt_stops_nothing() -> None:
    assert finished(generate(Counting(), [4, 5], greedy, num_tokens=2, stop_ids=4)).tokens == (6, 7)


def test_the_first_token_is_a_stop_token_unless_as_published() -> None:
    loop = partial(generate, prompt=[3], sampler=greedy, num_tokens=3, stop_ids=4)
    assert finished(loop(Counting())).tokens == (4,)
    assert finished(loop(Counting(), as_published=True)).tokens == (4, 5, 6)
    assert finished(loop(Counting(), prompt=[2], as_published=True)).tokens == (3, 4)


def test_a_stop_token_has_no_text_unless_as_published() -> None:
    loop = partial(generate, prompt=[1], sampler=greedy, stop_ids=3, decoder=str)
    assert [event.text for event in tokens_of(loop(Counting()))] == ["2", ""]
    assert [event.text for event in tokens_of(loop(Counting(), as_published=True))] == ["2", "3"]


@pytest.mark.parametrize(("places", "tokens"), [(2, (3,)), (3, (3, 4)), (4, (3, 4, 5))])
def test_it_stops_when_the_cache_has_no_place_for_the_next_token(
    places: int, tokens: tuple[int, ...]
) -> None:
    model = Counting()
    end = finished(generate(model, [1, 2], greedy, max_seq_len=places))
    assert (end.reason, end.message, end.tokens) == ("full cache", CACHE_FULL, tokens)
    assert model.current_pos == places


def test_the_number_of_tokens_is_compared_before_the_cache() -> None:
    end = finished(generate(Counting(), [1, 2], greedy, max_seq_len=3, num_tokens=2))
    assert end.reason == "number of tokens"


def test_a_stop_token_comes_before_the_full_cache() -> None:
    end = finished(generate(Counting(), [1, 2], greedy, max_seq_len=2, stop_ids=3))
    assert end.reason == "stop token"


def test_the_physical_position_decides_and_the_logical_one_is_told() -> None:
    model = Counting(window=3)
    end = finished(
        generate(
            model,
            [1, 2],
            greedy,
            num_tokens=6,
            max_seq_len=4,
            current_pos=lambda: model.current_pos,
        )
    )
    assert end.reason == "number of tokens"
    assert [start for _, start in model.calls] == [0, 2, 3, 4, 5, 6]
    full = finished(generate(Counting(), [1], greedy, max_seq_len=4, current_pos=lambda: 4))
    assert (full.reason, full.tokens) == ("full cache", (2,))


def test_as_published_0_tokens_count_down_from_2_to_the_64() -> None:
    end = finished(
        generate(Counting(), [0], greedy, num_tokens=0, max_seq_len=30, as_published=True)
    )
    assert (end.reason, len(end.tokens)) == ("full cache", 30)


@dataclass
class Accepting:
    """A sampler that counts, and knows only what it was told."""

    seen: list[int] = field(default_factory=list)

    def sample(self, logits: Sequence[float]) -> int:
        return len(self.seen) % len(logits)

    def accept(self, token: int) -> None:
        self.seen.append(token)


def test_a_sampler_with_a_memory_accepts_every_token_that_is_chosen() -> None:
    sampler = Accepting()
    assert finished(generate(Counting(), [7], sampler, num_tokens=3)).tokens == (0, 1, 2)
    assert sampler.seen == [0, 1, 2]


def test_a_sampler_that_is_a_function_is_given_the_whole_history() -> None:
    histories = []

    def choose(logits: Sequence[float], history: list[int]) -> int:
        histories.append(list(history))
        history.clear()  # its own copy
        return len(logits) - 1

    finished(generate(Counting(), [7, 8], choose, num_tokens=2))
    assert histories == [[7, 8], [7, 8, 9]]


def test_the_published_sampler_runs_in_the_loop() -> None:
    numbers = iter([0.0, 0.5, 0.999])

    def choose(logits: Sequence[float], history: Sequence[int]) -> int:
        return sample("antigravity", logits, history, uniforms=[next(numbers)])

    def model(tokens: list[int], start_pos: int) -> list[float]:
        return [2.0, 1.0, float(start_pos), float(len(tokens))]

    assert finished(generate(model, [0, 0], choose, num_tokens=3)).tokens == (3, 0, 1)


# Text ---------------------------------------------------------------------------------------


TINY = tokenizer_of(tiny_vocabulary())
END = tiny_vocabulary().special_tokens["<|endoftext|>"]


def reciting(ids: Sequence[int], size: int) -> Callable[[list[int], int], list[float]]:
    """Return a model that continues any prompt of one token with these tokens."""

    def model(tokens: list[int], start_pos: int) -> list[float]:
        row = [0.0] * size
        row[ids[start_pos + len(tokens) - 1]] = 1.0
        return row

    return model


def largest(logits: Sequence[float], history: Sequence[int]) -> int:
    assert history
    return logits.index(max(logits))


@drawn(40)
@given(st.text(min_size=1, max_size=20))
def test_the_texts_joined_are_what_the_tokenizer_decodes(text: str) -> None:
    ids = [*TINY.encode(text), END]
    events = list(
        generate(
            reciting(ids, END + 1),
            [0],
            largest,
            num_tokens=len(ids) + 1,
            stop_ids=END,
            decoder=TINY.stream(),
        )
    )
    end = finished(events)
    assert end.tokens == tuple(ids)
    assert "".join(event.text for event in tokens_of(events)) + end.text == text


def test_text_that_waits_comes_at_the_end() -> None:
    ids = list(b"a\xc3\xa9\xe2\x82")
    vocabulary = {token: tiny for tiny, token in enumerate(tiny_vocabulary().tokens.values())}
    tokens = [vocabulary[bytes([byte])] for byte in ids]
    events = list(
        generate(
            reciting(tokens, END + 1), [0], largest, num_tokens=len(ids), decoder=TINY.stream()
        )
    )
    assert [event.text for event in tokens_of(events)] == ["a", "", "é", "", ""]
    assert finished(events).text == "\ufffd"


LLAMA_LIKE = b"""{
  "model": {"type": "BPE", "merges": [],
            "vocab": {"\xe2\x96\x81Hi": 0, "\xe2\x96\x81": 1, "<0xC3>": 2, "<0xA9>": 3, "!": 4}},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "\xe2\x96\x81"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
}"""


def test_the_stream_decoder_of_a_tokenizer_json_works_in_the_loop() -> None:
    pipeline = parse_tokenizer_json(LLAMA_LIKE, "test")
    ids = [0, 1, 2, 3, 4, 2]
    events = list(generate(reciting(ids, 5), [0], largest, num_tokens=6, decoder=pipeline.stream()))
    assert [event.text for event in tokens_of(events)] == ["Hi", " ", "", "", "é!", ""]
    assert finished(events).text == pipeline.decode(ids)[-1] == "\ufffd"


def test_a_decoder_may_be_a_function_that_has_no_text_yet() -> None:
    ids = [*TINY.encode("Hi, löwe"), *TINY.encode("!")]
    step = partial(DecodeStream().step, TINY)
    events = list(generate(reciting(ids, END + 1), [0], largest, num_tokens=len(ids), decoder=step))
    assert "".join(event.text for event in tokens_of(events)) == "Hi, löwe!"


def test_a_decoder_that_is_a_function_and_gives_none_gives_no_text() -> None:
    events = generate(Counting(), [0], greedy, num_tokens=2, decoder=lambda token: None)  # noqa: ARG005 - a decoder
    assert [event.text for event in tokens_of(events)] == ["", ""]


def test_the_texts_are_those_that_the_tokenizer_prints() -> None:
    ids = TINY.encode("streams of text: äöü")
    events = generate(
        reciting(ids, END + 1), [0], largest, num_tokens=len(ids), decoder=TINY.stream()
    )
    texts = [event.text for event in events if isinstance(event, Token) and event.text]
    assert texts == list(printed(TINY.stream(), ids))


# Times and what is printed ------------------------------------------------------------------


def test_times_run_from_the_start_and_from_token_to_token() -> None:
    readings = iter([10.0, 12.0, 12.5, 13.0, 15.0])
    events = list(generate(Counting(), [1], greedy, num_tokens=3, clock=lambda: next(readings)))
    assert events[0] == Prefilled(1, 2.0)
    assert finished(events).times == Times(2.5, (0.5, 2.0))


def test_the_start_may_lie_before_the_loop() -> None:
    events = list(generate(Counting(), [1], greedy, num_tokens=1, clock=lambda: 12.0, started=9.5))
    assert events[0] == Prefilled(1, 2.5)
    assert finished(events).times == Times(2.5, ())


def test_the_interval_before_a_stop_token_counts() -> None:
    end = finished(generate(Counting(), [1], greedy, stop_ids=3, clock=ticking(1.0)))
    assert end.times == Times(2.0, (1.0,))


def test_the_real_clock_runs() -> None:
    times = finished(generate(Counting(), [1], greedy, num_tokens=4)).times
    assert times.to_first is not None
    assert times.to_first > 0
    assert len(times.between) == 3
    assert min(times.between) >= 0


def test_the_mean_is_that_of_the_intervals_and_the_rate_its_inverse() -> None:
    times = Times(1.0, (0.25, 0.5, 0.75))
    assert (times.mean, times.tokens_per_second) == (0.5, 2.0)
    assert (Times(1.0, ()).mean, Times(1.0, ()).tokens_per_second) == (None, None)
    assert (Times(1.0, (0.0,)).mean, Times(1.0, (0.0,)).tokens_per_second) == (0.0, None)


@pytest.mark.parametrize("as_published", [False, True])
def test_the_report_has_the_published_form(as_published: bool) -> None:
    times = Times(0.24532, (0.0381, 0.0382))
    expected = "TTFT: 245.32 ms\nAvg TBT: 38.15 ms (26.2 tokens/sec)"
    assert times.report(as_published=as_published) == expected


@pytest.mark.parametrize(
    ("times", "better", "as_published"),
    [
        (
            Times(0.5, ()),
            "TTFT: 500.00 ms\nAvg TBT: none, a single token has no interval",
            "TTFT: 500.00 ms\nAvg TBT: NaN ms (NaN tokens/sec)",
        ),
        (
            Times(0.5, (0.0, 0.0)),
            "TTFT: 500.00 ms\nAvg TBT: 0.00 ms (too short for the clock)",
            "TTFT: 500.00 ms\nAvg TBT: 0.00 ms (inf tokens/sec)",
        ),
        (
            Times(None, ()),
            "TTFT: none, no token was generated",
            "TTFT: 0.00 ms\nAvg TBT: NaN ms (NaN tokens/sec)",
        ),
    ],
)
def test_where_no_mean_exists_a_sentence_says_so_unless_as_published(
    times: Times, better: str, as_published: str
) -> None:
    assert times.report() == better
    assert times.report(as_published=True) == as_published


def shown(events: Iterator[Event], *, as_published: bool = False) -> str:
    parts: list[str] = []
    last = show(events, parts.append, as_published=as_published)
    assert isinstance(last, Finished)
    return "".join(parts)


def test_a_screen_shows_the_prompt_the_text_and_the_times() -> None:
    events = generate(Counting(), [1, 2], greedy, num_tokens=3, decoder=str, clock=ticking(0.125))
    assert shown(events) == (
        "Prompt: 2 tokens in 125.00 ms\n345\nTTFT: 250.00 ms\nAvg TBT: 125.00 ms (8.0 tokens/sec)\n"
    )


def test_a_full_cache_is_shown_with_the_published_message() -> None:
    events = generate(
        Counting(), [1, 2], greedy, max_seq_len=2, decoder=str, clock=ticking(), as_published=True
    )
    assert shown(events, as_published=True) == (
        "3\n"
        "[Stopped: Max context length reached]\n"
        "TTFT: 500.00 ms\n"
        "Avg TBT: NaN ms (NaN tokens/sec)\n"
    )


def test_the_rest_of_the_text_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    end = Finished("stop token", "\ufffd", (1,), Times(0.5, ()))
    events: list[Event] = [Token(1, "a", 0, 0.5), end]
    assert show(events) == end
    assert capsys.readouterr().out.startswith("a\ufffd\nTTFT: 500.00 ms\n")


def test_events_without_an_end_are_an_error() -> None:
    with pytest.raises(ParameterError, match=r"^events must end with Finished, got "):
        show(iter([Prefilled(1, 0.5)]), lambda _: None)


# Bad input ----------------------------------------------------------------------------------


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"model": 3}, "model must be callable, got 3"),
    ({"sampler": 3}, "sampler must be callable, or have sample and accept, got 3"),
    ({"decoder": 3}, "decoder must be callable, or have push and finish, got 3"),
    ({"clock": 3}, "clock must be callable, got 3"),
    ({"current_pos": 3}, "current_pos must be callable, or None, got 3"),
    ({"prompt": []}, "prompt must have between 1 token and the 2048 that the cache holds, got 0"),
    (
        {"prompt": [1] * 3, "max_seq_len": 2},
        "prompt must have between 1 token and the 2 that the cache holds, got 3",
    ),
    ({"prompt": "text"}, "prompt must be a sequence of token ids, got str"),
    ({"prompt": {4}}, "prompt must be a sequence of token ids, got set"),
    ({"prompt": {4: 1}}, "prompt must be a sequence of token ids, got dict"),
    ({"prompt": 4}, "prompt must be a sequence of token ids, got int"),
    ({"prompt": [1, -1]}, "prompt[1] must be a token id, got -1"),
    ({"prompt": [1.0]}, "prompt[0] must be a token id, got 1.0"),
    ({"prompt": [True]}, "prompt[0] must be a token id, got True"),
    ({"num_tokens": -1}, "num_tokens must be a whole number of at least 0, got -1"),
    ({"num_tokens": 1.5}, "num_tokens must be a whole number of at least 0, got 1.5"),
    ({"max_seq_len": 0}, "max_seq_len must be a whole number of at least 1, got 0"),
    ({"stop_ids": -4}, "stop_ids[0] must be a token id, got -4"),
    ({"stop_ids": "</s>"}, "stop_ids must be a sequence of token ids, got str"),
    ({"stop_ids": ["</s>"]}, "stop_ids[0] must be a token id, got '</s>'"),
    ({"stop_ids": None}, "stop_ids must be a sequence of token ids, got NoneType"),
    ({"started": "now"}, "started must be a finite number, got 'now'"),
    ({"started": inf}, "started must be a finite number, got inf"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD_ARGUMENTS)
def test_a_bad_argument_is_one_sentence_at_once(arguments: dict[str, Any], sentence: str) -> None:
    good: dict[str, Any] = {"model": Counting(), "prompt": [1], "sampler": greedy}
    with pytest.raises((HistoryError, ParameterError)) as caught:
        generate(**{**good, **arguments})
    assert str(caught.value) == sentence


@pytest.mark.parametrize("token", [SIZE, -1, 1.0, None, True, "1"])
@pytest.mark.parametrize("has_memory", [False, True])
def test_a_sampler_that_returns_no_token_of_the_row_is_an_error(
    token: Any, has_memory: bool
) -> None:
    class Broken(Accepting):
        def sample(self, logits: Sequence[float]) -> int:
            assert logits
            wrong: int = token
            return wrong

    broken = Broken()
    sampler: Any = broken if has_memory else lambda *_: token
    events = generate(Counting(), [1], sampler)
    with pytest.raises(ParameterError) as caught:
        list(events)
    assert str(caught.value) == f"sampler must return a token id below {SIZE}, got {token!r}"
    assert broken.seen == []


def test_a_model_that_returns_no_row_is_an_error() -> None:
    with pytest.raises(RowError, match=r"^the model must return a row of logits, got int$"):
        list(generate(lambda _tokens, _start: 7, [1], greedy))


@pytest.mark.parametrize("place", [None, 1.5, -1, "2", True])
def test_a_physical_position_that_is_no_number_is_an_error(place: Any) -> None:
    rule = "must return a whole number of at least 0"
    with pytest.raises(ParameterError, match=f"^current_pos {rule}, got "):
        list(generate(Counting(), [1], greedy, current_pos=lambda: place))


def test_tokens_of_other_libraries_are_taken() -> None:
    numpy = pytest.importorskip("numpy", reason="needs numpy")

    def model(tokens: list[int], start_pos: int) -> Any:
        assert all(type(token) is int for token in tokens)
        return numpy.eye(SIZE)[(tokens[-1] + start_pos) % SIZE]

    end = finished(
        generate(model, numpy.array([1, 2]), lambda row, _: row.argmax(), stop_ids=numpy.int64(7))
    )
    assert all(type(token) is int for token in end.tokens)


def test_what_ran_as_published_is_reported_as_published() -> None:
    lines: list[str] = []
    events = generate(
        lambda _tokens, _position: [0.0, 1.0],
        [0],
        lambda _logits, _history: 1,
        num_tokens=1,
        as_published=True,
    )
    show(events, lines.append)
    assert lines[-1].endswith("Avg TBT: NaN ms (NaN tokens/sec)\n")
