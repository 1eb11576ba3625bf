"""A runner's screen: the text as it comes, why it ended, and how long it took."""

from collections.abc import Callable, Iterable

from sampling_ref.errors import ParameterError
from sampling_ref.generation.events import Event, Finished, Prefilled, Token


def print_now(text: str) -> None:
    """Print a part of a line, and let it be seen at once."""
    print(text, end="", flush=True)  # noqa: T201 - a runner's output


def show(
    events: Iterable[Event],
    write: Callable[[str], object] = print_now,
    *,
    as_published: bool = False,
) -> Finished:
    """Write what happens, and return the last event.

    Published, the line about the prompt is not there.

    >>> from sampling_ref.generation.times import Times
    >>> end = Finished("full cache", "", (7, 8), Times(0.5, (0.25,)))
    >>> events = [Prefilled(3, 0.5), Token(7, "Hel", 3, 0.5), Token(8, "lo", 4, 0.25), end]
    >>> show(events) is end
    Prompt: 3 tokens in 500.00 ms
    Hello
    [Stopped: Max context length reached]
    TTFT: 500.00 ms
    Avg TBT: 250.00 ms (4.0 tokens/sec)
    True
    """
    for event in events:
        if isinstance(event, Prefilled):
            if not as_published:
                write(f"Prompt: {event.tokens} tokens in {event.seconds * 1000:.2f} ms\n")
        elif isinstance(event, Token):
            if event.text:
                write(event.text)
        else:
            reason = f"\n{event.message}\n" if event.message else "\n"
            write(f"{event.text}{reason}{event.times.report(as_published=as_published)}\n")
            return event
    raise ParameterError("events", events, "must end with Finished")
