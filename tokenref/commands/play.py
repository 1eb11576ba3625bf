"""`tokenref play`: a local page on which merges and samplers can be tried.

The page asks this program at every keystroke, and shows the pictures of `tokenref explain`. The
server listens on the loopback address only. It answers requests that its own page makes: a
page of another origin is refused by the header `Origin`, and a foreign name that leads to this
machine by the header `Host`. It reads no files but those that it was started with.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final, TypeAlias, cast, get_args

import click

from bpe_ref import Tokenizer, tokenizer_of
from bpe_ref.tiny import SMALL, small_vocabulary
from sampling_ref import PROFILES
from sampling_ref.engines.profile import Parameter
from sampling_ref.lz.variants import Variant
from sampling_ref.tracing import RACES
from tokenref.commands import sampling
from tokenref.commands.pictures.chains import row_pictures
from tokenref.commands.pictures.drafts import drafts_pictures
from tokenref.commands.pictures.lz import LzSizes, lz_picture
from tokenref.commands.pictures.merges import merges_of_pieces, neighbours, tokens_by_piece
from tokenref.commands.text import PATTERN, loaded, say_notes
from tokenref.errors import InputError, exit_code
from tokenref.small_model import DRAFT_ORDER, ORDER, model, probabilities, tokenizer

LONGEST_BODY: Final = 1 << 20
LONGEST_TEXT: Final = 20_000
LONGEST_ROW: Final = 200_000
LONGEST_NEIGHBOUR: Final = 200
MOST_UNIFORMS: Final = 8
MOST_LOGITS: Final = 5_000
MOST_STRENGTH: Final = 10

_DRAIN: Final = 64 << 20
"""A longer body is not read to its end, so that the sentence about it may not arrive."""

FILES: Final[Mapping[str, tuple[str, str]]] = {
    "/": ("play.html", "text/html"),
    "/play.js": ("play.js", "text/javascript"),
    "/pictures.css": ("pictures.css", "text/css"),
}

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Asked: TypeAlias = Mapping[str, Any]


@click.command()
@click.option(
    "--vocabulary",
    "names",
    multiple=True,
    default=("tiny",),
    show_default=True,
    help="A name or a path to choose from on the page; may be repeated.",
)
@PATTERN
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8321, show_default=True, help="0: any."
)
def play(names: tuple[str, ...], pattern: str | None, port: int) -> None:
    """Serve a local page on which merges and samplers can be tried.

    It prints the address, which you open in a browser. Everything runs in this program, and works
    without a network. Ctrl-C ends it.
    """
    found = tokenizers(names, pattern)
    for each in found.values():
        say_notes(each.notes)
    server = Playground(port, found)
    try:
        click.echo(f"open http://127.0.0.1:{server.server_port}/ in a browser; Ctrl-C ends this")
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.server_close()


def tokenizers(names: Iterable[str], pattern: str | None = None) -> dict[str, Tokenizer]:
    """Return the tokenizers with these names or paths, and those of the book."""
    found = {name: loaded(name, pattern=pattern) for name in names}
    return found | {name: tokenizer_of(small_vocabulary(name)) for name in SMALL}


class Views:
    """What the page shows, with the vocabularies that can be chosen on it."""

    def __init__(self, tokenizers: Mapping[str, Tokenizer]) -> None:
        self.tokenizers = dict(tokenizers)

    def answer(self, view: str, content: bytes) -> tuple[HTTPStatus, str]:
        """Return the answer to a question in JSON, or a sentence that says what is wrong with it.

        >>> views = Views({})
        >>> views.answer("tokens", b"[]")[1]
        'a question must be a JSON object in UTF-8'
        """
        try:
            return HTTPStatus.OK, self.shown(view, question_of(content))
        except Exception as error:
            if exit_code(error) is None:  # a bug
                raise
            return HTTPStatus.UNPROCESSABLE_ENTITY, str(error)

    def choices(self) -> dict[str, Any]:
        """Return what can be chosen on the page: vocabularies, engines and their parameters."""
        engines = {
            profile.name: {
                "parameters": {
                    each.name: {
                        "usual": sampling.default_in_words(each),
                        "aliases": profile.aliases_of(each.name),
                        **slider(each),
                    }
                    for each in profile.parameters
                },
                "stages": [each.step for each in profile.stages],
                "race": profile.draw.method in RACES,
            }
            for profile in PROFILES.values()
        }
        return {
            "vocabularies": list(self.tokenizers),
            "engines": engines,
            "variants": list(get_args(Variant)),
        }

    def shown(self, view: str, asked: Asked) -> str:
        """Return the part of the page that answers a question. Raises `InputError`."""
        views: Mapping[str, Callable[[Asked], str]] = {
            "tokens": self.tokens,
            "merges": self.merges,
            "sample": sample_view,
            "speculative": speculative_view,
            "penalties": penalties_view,
        }
        if view not in views:
            raise InputError(f"there is no view {view!r:.40}")
        return views[view](asked)

    def tokens(self, asked: Asked) -> str:
        """Return the tokens of a text, each piece a button."""
        return tokens_by_piece(self.tokenizer(asked), text_of(asked, "text", LONGEST_TEXT))

    def merges(self, asked: Asked) -> str:
        """Return the merges of one piece, the steps of another encoder, or a test of two tokens."""
        encoder = text_of(asked, "encoder", 100) or "naive"
        if encoder == "neighbours":
            pair = [text_of(asked, side, LONGEST_NEIGHBOUR) for side in ("left", "right")]
            return neighbours(self.tokenizer(asked), *pair)
        pieces = [text_of(asked, "piece", LONGEST_TEXT)]
        return "".join(merges_of_pieces(self.tokenizer(asked), pieces, encoder))

    def tokenizer(self, asked: Asked) -> Tokenizer:
        """Return the tokenizer that was chosen, which is one of those the server has."""
        name = text_of(asked, "vocabulary", 1000)
        if name not in self.tokenizers:
            known = ", ".join(self.tokenizers)
            raise InputError(f"the vocabulary must be one of {known}, got {name!r:.40}")
        return self.tokenizers[name]


def in_the_browser(names: Iterable[str]) -> Callable[[str, str], list[object]]:
    """Return the function that the page calls if Python runs in the browser.

    It returns whether a question was answered, and the answer or a sentence.

    >>> in_the_browser(["tiny"])("nothing", "{}")
    [False, "there is no view 'nothing'"]
    """
    views = Views(tokenizers(names))

    def answered(view: str, content: str) -> list[object]:
        if view == "choices":
            return [True, json.dumps(views.choices())]
        status, text = views.answer(view, content.encode())
        return [status == HTTPStatus.OK, text]

    return answered


class Playground(ThreadingHTTPServer):
    """The server of the page, on the loopback address."""

    daemon_threads = True

    def __init__(self, port: int, tokenizers: Mapping[str, Tokenizer]) -> None:
        """Listen on a port. Raises `InputError` if that is impossible."""
        self.views = Views(tokenizers)
        try:
            super().__init__(("127.0.0.1", port), Answering)
        except OSError as error:
            raise InputError(f"--port {port} cannot be used: {error.strerror or error}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a browser that left before it had its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def text_of(asked: Asked, name: str, longest: int) -> str:
    """Return a text of a question. Raises `InputError`.

    >>> text_of({"text": "ab"}, "text", 2)
    'ab'
    >>> text_of({"text": "abc"}, "text", 2)
    Traceback (most recent call last):
    tokenref.errors.InputError: text must have at most 2 characters, got 3
    """
    text = asked.get(name, "")
    if not isinstance(text, str):
        raise InputError(f"{name} must be text, got {type(text).__name__}")
    if len(text) > longest:
        raise InputError(f"{name} must have at most {longest:,} characters, got {len(text):,}")
    return text


FINE: Final[Mapping[str, float]] = {
    **dict.fromkeys(("top_p", "min_p", "typical_p", "typical", "tfs", "top_h", "top_a"), 0.01),
    **dict.fromkeys(("xtc_probability", "xtc_threshold", "mirostat_eta"), 0.01),
    **dict.fromkeys(("adaptive_target", "adaptive_decay"), 0.01),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), 0.001),
}
"""Parameters whose sliders have small steps, of which a hundred reach as far as is useful."""


def slider(parameter: Parameter) -> dict[str, float]:
    """Return the useful range of a parameter that is a number, and the step of its slider.

    An engine may allow more: the field beside the slider takes every allowed value.

    >>> from sampling_ref import PROFILES
    >>> slider(PROFILES["vllm"].parameter("top_p"))
    {'low': 0.01, 'high': 1.0, 'step': 0.01}
    >>> slider(PROFILES["llama.cpp"].parameter("mirostat_tau"))
    {'low': 0.0, 'high': 10.0, 'step': 0.05}
    """
    domain, name = parameter.domain, parameter.name
    usual = 0 if parameter.default is None else parameter.default
    kind: type[int | float]
    step: float
    most: float
    match domain.kind:
        case "whole":
            kind, step, least, most = int, 1, 0, min(max(40, 2 * usual), 200)
        case "number" if name in FINE:
            kind, step, least, most = float, FINE[name], 0, 100 * FINE[name]
        case "number":
            kind, step, least, most = float, 0.05, 0, 2 if usual < 1.5 else 2 * usual
            if "freq" in name or "pres" in name:  # which may also reward
                least = -2
        case _:
            return {}
    low = kind(max(domain.low, min(least, usual)))
    high = kind(min(domain.high, most))
    low, high = (low + step * (not domain.holds(low)), high - step * (not domain.holds(high)))
    return {"low": low, "high": high, "step": step}


def chains_of(asked: Asked) -> dict[str, list[int]]:
    """Return the stages of each engine that are on, in order. Raises `InputError`.

    >>> chains_of({"chains": {"vllm": [1, 0]}})
    {'vllm': [1, 0]}
    """
    chains = asked.get("chains", {})
    if not isinstance(chains, Mapping):
        raise InputError("chains must map engines to the numbers of their stages")
    for engine, places in chains.items():
        if not isinstance(places, list) or not all(type(place) is int for place in places):
            raise InputError(f"the stages of {engine:.40} must be a list of whole numbers")
    return dict(chains)


def sample_view(asked: Asked) -> str:
    """Return what one engine does with a row, or two side by side."""
    engines = [text_of(asked, "engine", 100), text_of(asked, "other", 100)]
    if not engines[0]:
        raise InputError(f"the engine must be one of {', '.join(PROFILES)}, got ''")
    tokens = sampling.read_tokens(text_of(asked, "history", LONGEST_TEXT), "the history")
    numbers = row_of(asked, "row", lambda: model_row(tokens))
    of_model = text_of(asked, "row", LONGEST_ROW).strip() == "model"
    named = tokenizer().show_token if of_model else None
    settings = asked.get("settings", {})
    if not isinstance(settings, Mapping):
        raise InputError("settings must map names to values")
    typed = [f"{name}={value}" for name, value in settings.items() if value != ""]
    chains = chains_of(asked)
    row = sampling.Asked(
        ",".join(map(repr, numbers)),
        ",".join(map(str, tokens)),
        settings=typed,
        # A stage that needs a random number takes one, and the draw takes the next.
        uniforms=[number_of(asked, "uniform", float)] * MOST_UNIFORMS,
    )
    made = sampling.compared_engines([name for name in engines if name], row, chains, races=False)
    return "".join(row_pictures(made, row.uniforms, named))


def row_of(asked: Asked, name: str, of_model: Callable[[], Sequence[float]]) -> Sequence[float]:
    """Return a row of a question: typed numbers, or that of the model. Raises `InputError`.

    >>> row_of({"row": "1, 2"}, "row", list), row_of({"row": "model"}, "row", lambda: [3.0])
    ([1.0, 2.0], [3.0])
    """
    typed = text_of(asked, name, LONGEST_ROW)
    if typed.count(",") >= MOST_LOGITS:
        raise InputError(f"the {name} must have at most {MOST_LOGITS:,} numbers")
    if typed.strip() == "model":
        return of_model()
    try:
        return sampling.read_numbers(typed, float)
    except ValueError:  # a command would take it for the name of a file
        raise InputError(
            f"the {name} must be numbers separated by commas, or model, got {typed!r:.40}"
        ) from None


def model_row(tokens: Sequence[int]) -> list[float]:
    """Return the logits of the small model after some tokens. Raises `InputError`.

    >>> len(model_row([1, 2]))
    2004
    """
    size = model().size
    wrong = [token for token in tokens if not 0 <= token < size]
    if wrong:
        raise InputError(f"the history must have ids below {size:,} of the model, got {wrong[0]}")
    return model().row(tokens)


RANDOM: Final = ("uniform", "drafted", "accepted", "replaced")
"""The fields that are random numbers."""


def number_of(asked: Asked, name: str, kind: Callable[[str], sampling.Number]) -> sampling.Number:
    """Return a number of a question. Raises `InputError`.

    >>> number_of({"window": "8"}, "window", int)
    8
    """
    typed = text_of(asked, name, 30)
    try:
        [number] = sampling.read_numbers(typed, kind)
    except ValueError:
        words = "a whole number" if kind is int else "a number"
        shown = "random number" if name in RANDOM else name
        raise InputError(f"the {shown} must be {words}, got {typed!r}") from None
    return number


MOST_DRAFTS: Final = 8

DRAFTS: Final = {"target": ORDER, "draft": DRAFT_ORDER}
"""The rows of the view about drafts, and the order of the model that each can be taken from."""


def speculative_view(asked: Asked) -> str:
    """Return how one token is drafted, and accepted or replaced, or several in a row."""
    before = tokenizer().encode(text_of(asked, "before", LONGEST_TEXT), special="ordinary")

    def after(name: str, drafted: Sequence[int]) -> Sequence[float]:
        return row_of(asked, name, lambda: probabilities(DRAFTS[name], [*before, *drafted]))

    uniforms = [number_of(asked, name, float) for name in RANDOM[1:]]
    of_model = "model" in {text_of(asked, name, LONGEST_ROW).strip() for name in DRAFTS}
    named = tokenizer().show_token if of_model else str
    target, draft = (partial(after, name) for name in DRAFTS)
    return "".join(drafts_pictures(target, draft, uniforms, further_drafts(asked), named))


def further_drafts(asked: Asked) -> list[tuple[float, float]]:
    """Return the random numbers of the drafts behind the first, two for each. Raises `InputError`.

    >>> further_drafts({"further": "0.1, 0.4, 0.7, 0.2"})
    [(0.1, 0.4), (0.7, 0.2)]
    """
    typed = text_of(asked, "further", 1000).strip()
    try:
        numbers = sampling.read_numbers(typed, float) if typed else []
    except ValueError:
        numbers = [0.0]
    if len(numbers) % 2 or len(numbers) > 2 * MOST_DRAFTS:
        raise InputError(
            f"the random numbers of further drafts must be two for each of at most {MOST_DRAFTS}, "
            f"separated by commas, got {typed!r:.40}"
        )
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def penalties_view(asked: Asked) -> str:
    """Return a text with window and match of the LZ penalty, and how it changes the next token."""
    strength = number_of(asked, "strength", float)
    if not 0 <= strength <= MOST_STRENGTH:
        raise InputError(f"the strength must be from 0 to {MOST_STRENGTH}, got {strength:g}")
    window, buffer = number_of(asked, "window", int), number_of(asked, "buffer", int)
    sizes = LzSizes(strength, window, buffer, text_of(asked, "variant", 30))
    tokens = tokenizer().encode(text_of(asked, "past", LONGEST_TEXT), special="ordinary")
    return lz_picture(tokenizer(), tokens, model(), sizes)


def question_of(content: bytes) -> Asked:
    """Return the question in the body of a request. Raises `InputError`.

    >>> question_of(b'{"text": "a"}')
    {'text': 'a'}
    """
    try:
        asked = json.loads(content)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise InputError("a question must be a JSON object in UTF-8")
    return asked


class Answering(BaseHTTPRequestHandler):
    """Answers one request of the page."""

    timeout = 10
    server_version = "tokenref"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with one of the page's files, or with what can be chosen."""
        if not self._is_own():
            return
        path = self.path.partition("?")[0]
        if path == "/choices":
            content = json.dumps(self._playground.views.choices()).encode()
            self._say(HTTPStatus.OK, content, "application/json")
        elif path in FILES:
            name, kind = FILES[path]
            content = files("tokenref.commands").joinpath(name).read_bytes()
            self._say(HTTPStatus.OK, content, kind)
        else:
            self._say(HTTPStatus.NOT_FOUND, b"there is no such page")

    def do_POST(self) -> None:
        """Answer a question of the page: the view is the path, what was typed is JSON."""
        content = self._body()
        if not self._is_own() or content is None:
            return
        try:
            status, answer = self._playground.views.answer(self.path.removeprefix("/"), content)
        except Exception as error:
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal error: {error!r}".encode())
            raise
        kind = "text/html" if status == HTTPStatus.OK else "text/plain"
        self._say(status, answer.encode(errors="replace"), kind)

    @property
    def _playground(self) -> Playground:
        return cast("Playground", self.server)

    def _is_own(self) -> bool:
        """Return whether the request is the page's own; if not, refuse it."""
        hosts = [f"{name}:{self._playground.server_port}" for name in ("127.0.0.1", "localhost")]
        origin = self.headers.get("Origin")
        is_here = self.headers.get("Host") in hosts
        is_own = is_here and (origin is None or origin in [f"http://{host}" for host in hosts])
        if not is_own:
            only = b"its own page" if is_here else b"on its own address"
            self._say(HTTPStatus.FORBIDDEN, b"this server answers " + only + b" only")
        return is_own

    def _body(self) -> bytes | None:
        """Return the body of a request, or None if it is too long, which is said."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            self._say(HTTPStatus.LENGTH_REQUIRED, b"a question must have a length")
            return None
        if int(length[:20]) > LONGEST_BODY:
            left = min(int(length[:20]), _DRAIN)
            while left > 0 and (part := self.rfile.read(min(left, LONGEST_BODY))):
                left -= len(part)
            sentence = f"what is typed must have at most {LONGEST_BODY:,} bytes"
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence.encode())
            return None
        return self.rfile.read(int(length))

    def _say(self, status: HTTPStatus, content: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if status != HTTPStatus.OK:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
        """Print nothing: a line for every keystroke helps nobody."""
