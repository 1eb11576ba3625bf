"""`tokenref play`: the page in a browser, and the server against wrong and foreign requests."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner

from bpe_ref import Tokenizer
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.models.word_piece import WordPiece
from sampling_ref import PROFILES, lz_penalty
from sampling_ref.numbers.softmax import softmax
from sampling_ref.speculative import acceptance_rate, verify_chain
from tests.browser import Browser
from tokenref.cli import main
from tokenref.commands.play import LONGEST_BODY, Playground, slider, tokenizers
from tokenref.small_model import model, probabilities, tokenizer

ROOT = Path(__file__).parent.parent
PAIR = {"vocabulary": "odd", "encoder": "neighbours", "left": "abc", "right": "d"}
ROW = {"engine": "vllm", "other": "", "row": "3,2,1", "history": "", "uniform": "0.5"}


@pytest.fixture(scope="module")
def server() -> Iterator[Playground]:
    """Start the server on a free port."""
    words = Tokenizer(WordPiece({"[UNK]": 0, "a": 1, "##bb": 2}))
    playground = Playground(0, tokenizers(["tiny"]) | {"words": words})
    thread = threading.Thread(target=playground.serve_forever, daemon=True)
    thread.start()
    yield playground
    playground.shutdown()
    playground.server_close()
    thread.join()


def test_a_file_without_a_pattern_is_given_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.tiktoken"
    write_tiktoken({bytes([byte]): byte for byte in range(256)}, file)
    found = tokenizers([str(file)], "gpt2")[str(file)]
    assert found.pieces("a b") == ["a", " b"]
    refused = CliRunner().invoke(main, ["play", "--pattern", "gpt2", "--port", "0"])
    assert refused.exit_code == 2
    assert refused.stderr.startswith("tokenref: --pattern must not be given for tiny")


def ask(
    server: Playground, method: str, path: str, body: bytes | str = "", **headers: str
) -> tuple[int, str]:
    """Send one request, and return the status and the text of the answer."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, path, body or None, {k.title(): v for k, v in headers.items()})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def asked(server: Playground, view: str, **question: Any) -> tuple[int, str]:
    return ask(server, "POST", f"/{view}", json.dumps(question))


def test_a_browser_that_leaves_early_is_no_error(
    server: Playground, capfd: pytest.CaptureFixture[str]
) -> None:
    for error, said in (
        (BrokenPipeError(), ""),
        (ConnectionResetError(), ""),
        (KeyError(), "KeyError"),
    ):
        try:
            raise error  # noqa: TRY301 - as the server calls it
        except Exception:  # noqa: BLE001
            server.handle_error(None, ("127.0.0.1", 1))
        found = capfd.readouterr().err
        assert said in found
        assert bool(said) == bool(found)


# ---- answers


def test_a_text_becomes_tokens_and_pieces_and_a_piece_its_merges(server: Playground) -> None:
    status, answer = asked(server, "tokens", vocabulary="tiny", text="unbelievable <b>")
    assert status == 200
    assert answer.count("data-piece") == 4
    assert "<b>" not in answer
    status, answer = asked(server, "merges", vocabulary="tiny", piece="unbelievable")
    assert (status, answer.count("<tr")) == (200, 7)


def test_one_engine_or_two_are_shown(server: Playground) -> None:
    status, answer = asked(server, "sample", **ROW, settings={"top_k": "2", "top_p": ""})
    assert status == 200
    assert "keeps the 2 most probable tokens" in answer
    two = {**ROW, "other": "llama.cpp", "history": "0 1"}
    status, answer = asked(server, "sample", **two, settings={"temperature": "1"})
    assert status == 200
    assert 'class="sides"' in answer
    greedy = asked(server, "sample", **{**ROW, "engine": "llama.cpp"}, settings={"temp": "0"})[1]
    assert "<p>keeps the first of the largest logits" in greedy, "it is not divided by 0"


def test_the_random_number_is_drawn_beside_an_engine_that_draws_by_a_race(
    server: Playground,
) -> None:
    places = set()
    for uniform in ("0.1", "0.4", "0.9"):
        two = {**ROW, "engine": "llama.cpp", "other": "transformers", "uniform": uniform}
        status, answer = asked(server, "sample", **two)
        assert status == 200
        places.update(re.findall(r'class="mark" x1="([^"]+)"', answer))
        assert answer.count('class="merged"') == 1
        assert len(re.findall(r"Token \d is drawn", answer)) == 1
    assert len(places) == 3


def test_a_stage_that_needs_a_random_number_takes_the_same_one(server: Playground) -> None:
    settings = {"xtc_probability": "0.5", "xtc_threshold": "0.1"}
    for uniform, removed in (("0.4", 1), ("0.6", 0)):
        question = {**ROW, "engine": "llama.cpp", "uniform": uniform, "settings": settings}
        status, answer = asked(server, "sample", **question)
        assert status == 200
        xtc = answer[answer.index("<h3>xtc") :].partition("</section>")[0]
        assert xtc.count('class="removed"') == removed


def test_the_row_of_the_model_is_whole_and_its_tokens_have_their_ids(server: Playground) -> None:
    tokens = tokenizer().encode("Every sampler, the normalization, the normalization, the")
    question = {**ROW, "row": "model", "engine": "transformers", "settings": {"top_k": "5"}}
    question["history"] = ",".join(map(str, tokens))
    status, answer = asked(server, "sample", **question)
    assert status == 200
    row = model().row(tokens)
    kept = sorted(range(len(row)), key=row.__getitem__)[-5:]
    first = answer.partition("</section>")[0]
    assert sorted(map(int, re.findall(r"<title>token (\d+): \S+ kept", first))) == (sorted(kept))
    status, answer = asked(server, "sample", **{**ROW, "row": "model", "history": "2004"})
    assert (status, answer) == (422, "the history must have ids below 2,004 of the model, got 2004")


def test_stages_are_left_out_and_moved(server: Playground) -> None:
    steps = [stage.step for stage in PROFILES["sglang"].stages]
    places = [steps.index(step) for step in ("min_p", "top_k", "temperature")]
    settings = {"top_k": "2", "min_p": "0.1", "top_p": "0.5", "temperature": "2"}
    question = {**ROW, "engine": "sglang", "settings": settings, "chains": {"sglang": places}}
    status, answer = asked(server, "sample", **question)
    assert status == 200
    assert re.findall(r"<section[^>]*>(?:<details[^>]*><summary>)?<h3>(\w+)", answer) == [
        "min_p",
        "top_k",
        "temperature",
        "draw",
    ]


@pytest.mark.parametrize("engine", PROFILES)
def test_sliders_have_allowed_values_only(engine: str) -> None:
    for parameter in PROFILES[engine].parameters:
        ends = slider(parameter)
        if ends:
            steps = round((ends["high"] - ends["low"]) / ends["step"])
            assert steps >= 1
            values = [ends["low"] + step * ends["step"] for step in range(1, steps)]
            assert all(map(parameter.domain.holds, [*values, ends["low"], ends["high"]]))


@pytest.mark.parametrize("engine", PROFILES)
def test_sliders_reach_the_default_and_probabilities_no_further_than_1(engine: str) -> None:
    for parameter in PROFILES[engine].parameters:
        ends, usual = slider(parameter), parameter.default
        if not ends:
            continue
        if usual is not None and parameter.domain.low <= usual < 1000:
            assert ends["low"] <= usual <= ends["high"], parameter.name
        if parameter.name in {"top_p", "min_p", "typical_p", "typical", "tfs", "xtc_threshold"}:
            assert 0 <= ends["low"] < ends["high"] <= 1
            assert ends["step"] <= 0.01
        if parameter.name == "top_k":
            assert ends["low"] >= -1


def test_a_keystroke_is_answered_within_a_tenth_of_a_second(server: Playground) -> None:
    """The text has 2,000 characters; the median of a few, because tests run beside each other."""
    text = ("The quick brown fox jumps over it. " * 60)[:2000]
    times = []
    for number in range(7):
        begun = perf_counter()
        assert asked(server, "tokens", vocabulary="tiny", text=f"{number}{text}"[:2000])[0] == 200
        times.append(perf_counter() - begun)
    assert median(times) < 0.1


def test_the_fast_test_undoes_merges_and_the_definition_contradicts_it(server: Playground) -> None:
    status, answer = asked(server, "merges", **PAIR)
    assert status == 200
    assert answer.count("token border") == 2
    assert "abc is undone; c and d would merge into cd, but too late: the two tokens fit" in answer
    assert "become ab + cd. The fast test is wrong, because abc is improper" in answer
    pair = {**PAIR, "vocabulary": "tiny", "left": "\u2423the", "right": " the"}
    assert "The fast test is right" in asked(server, "merges", **pair)[1]


def test_a_special_token_is_a_piece_and_spaces_of_pieces_are_seen(server: Playground) -> None:
    status, answer = asked(server, "tokens", vocabulary="tiny", text="a <|endoftext|> b")
    assert status == 200
    assert re.findall(r"<button[^>]*>([^<]*)", answer) == [
        *("a", "\u2423", "&lt;|endoftext|&gt;", "\u2423b")
    ]
    status, answer = asked(server, "merges", vocabulary="tiny", piece="<|endoftext|>")
    assert "it is the special token 2000" in answer


def test_below_each_piece_is_the_alternative_that_cut_it(server: Playground) -> None:
    answer = asked(server, "tokens", vocabulary="tiny", text="It's 12  <|endoftext|>\u0301!")[1]
    pieces = re.findall(r"data-piece=[^>]*>([^<]*)(?:<small>(\d)</small>)?</button>", answer)
    assert pieces == [
        *(("It", "1"), ("&#x27;s", "0"), ("\u2423", "7"), ("12", "2"), ("\u2423\u2423", "4")),
        *(("&lt;|endoftext|&gt;", ""), ("\u25cc\u0301!", "3")),
    ]
    assert "<br>2 <code>\\p{N}{1,3}+</code> up to three digits<br>3 <code>\u2423?[" in answer
    assert "<br>5" not in answer
    assert (
        "<small>" not in asked(server, "tokens", vocabulary="words", text="a")[1].split("data-")[1]
    )


def test_the_piece_that_is_open_first_has_merges(server: Playground) -> None:
    answer = asked(server, "tokens", vocabulary="tiny", text="\u0f00 unbelievable")[1]
    assert re.findall(r'data-piece="([^"]*)" data-first', answer) == [" unbelievable"]


# ---- what is refused


@pytest.mark.parametrize(
    ("view", "question", "says"),
    [
        ("tokens", {"vocabulary": "tiny", "text": "a" * 20_001}, "at most 20,000 characters"),
        ("tokens", {"vocabulary": "/etc/passwd", "text": "a"}, "the vocabulary must be one of"),
        ("tokens", {"vocabulary": "tiny", "text": 3}, "text must be text, got int"),
        ("merges", {"vocabulary": "tiny", "piece": "a" * 2000}, "at most 1000 characters"),
        ("merges", {"vocabulary": "tiny", "piece": "a", "encoder": "x"}, "the encoder must be one"),
        ("sample", {**ROW, "row": "1,nan"}, "nan"),
        ("sample", {**ROW, "row": "in"}, "numbers separated by commas"),
        ("sample", {**ROW, "row": "README.md"}, "numbers separated by commas"),
        ("sample", {**ROW, "row": "0," * 6000 + "0"}, "at most 5,000 numbers"),
        ("sample", {**ROW, "engine": "nobody"}, "nobody"),
        ("sample", {**ROW, "engine": ""}, "the engine must be one of transformers, llama.cpp, "),
        ("sample", {**ROW, "history": "x"}, "the history must be token ids separated by commas"),
        ("sample", {**ROW, "history": "1_0"}, "the history must be token ids"),
        ("sample", {**ROW, "row": "1_0,2"}, "numbers separated by commas, or model, got '1_0,2'"),
        ("sample", {**ROW, "row": "\u0661,2"}, "numbers separated by commas"),
        ("merges", {**PAIR, "left": "zz"}, "two neighbours must be tokens of the vocabulary"),
        ("sample", {**ROW, "uniform": "much"}, "the random number must be a number"),
        ("sample", {**ROW, "settings": {"top_p": "2"}}, "top_p must"),
        ("sample", {**ROW, "settings": {"nothing": "2"}}, "nothing"),
        ("sample", {**ROW, "settings": 3}, "settings must map"),
        ("sample", {**ROW, "chains": 3}, "chains must map engines"),
        ("sample", {**ROW, "chains": {"vllm": "0"}}, "the stages of vllm must be a list"),
        ("sample", {**ROW, "chains": {"vllm": [0, 0]}}, "different numbers from 0 to 11"),
        ("sample", {**ROW, "chains": {"vllm": [12]}}, "different numbers from 0 to 11, got 12"),
        ("sample", {**ROW, "chains": {"vllm": [True]}}, "a list of whole numbers"),
        ("elsewhere", {}, "there is no view"),
    ],
)
def test_wrong_input_is_one_sentence(
    server: Playground, view: str, question: dict[str, Any], says: str
) -> None:
    status, answer = asked(server, view, **question)
    assert status == 422
    assert says in answer
    assert len(answer) < 500
    assert "\n" not in answer


@pytest.mark.parametrize("body", ["", "[]", "3", "{", "\xff", "[" * 100_000])
def test_a_question_that_is_no_object_is_refused(server: Playground, body: str) -> None:
    status, answer = ask(server, "POST", "/tokens", body.encode("latin-1"))
    assert status in {411, 422}
    assert answer.startswith("a question must ")


def test_a_body_that_is_too_long_is_refused_with_a_sentence(server: Playground) -> None:
    status, answer = ask(server, "POST", "/tokens", b"a" * 10_000_000)
    assert (status, answer) == (413, f"what is typed must have at most {LONGEST_BODY:,} bytes")
    assert asked(server, "tokens", vocabulary="tiny", text="a")[0] == 200


@pytest.mark.parametrize("length", ["-1", "x", "1_0", "\u00b2"])
def test_a_wrong_length_is_refused(server: Playground, length: str) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest("POST", "/tokens")
    connection.putheader("Content-Length", length.encode("latin-1"))
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/tokens")])
def test_requests_of_other_origins_are_refused(
    server: Playground, method: str, path: str, headers: dict[str, str]
) -> None:
    status, answer = ask(server, method, path, '{"vocabulary":"tiny","text":"a"}', **headers)
    assert status == 403
    assert answer.startswith("this server answers ")


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/play.py", "/etc/passwd"])
def test_no_other_file_is_given(server: Playground, path: str) -> None:
    assert ask(server, "GET", path)[0] == 404


def test_the_server_listens_on_this_machine_only(server: Playground) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_a_sentence(server: Playground) -> None:
    result = CliRunner().invoke(main, ["play", "--port", str(server.server_port)])
    assert result.exit_code == 2
    assert f"--port {server.server_port} cannot be used" in result.output


def test_the_command_prints_the_address_and_ends_with_control_c() -> None:
    script = (  # a shell lets programs in the background ignore interrupts
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from tokenref.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "play", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"open http://127\.0\.0\.1:\d+/ in a browser; Ctrl-C ends this\n", line)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


LZ = {"past": "a b a b a", "strength": "0.5", "window": "64", "buffer": "3", "variant": "corrected"}


def test_the_penalty_shows_window_match_and_next_tokens(server: Playground) -> None:
    status, answer = asked(
        server, "penalties", **LZ | {"past": "<b>" + " the normalization," * 3 + " the"}
    )
    assert status == 200
    assert "<b>" not in answer
    assert "in the buffer; the longest match has 3 tokens" in answer
    assert answer.count("match") >= 6
    assert answer.count("data-next") > 5
    assert answer.count("class=now") == 1
    assert answer.count("<small>extends the match</small>") == 1
    assert all(name in answer for name in ("repetition 1.2", "frequency 0.3", "DRY 0.8"))
    assert "Orange frame: the longest match" in answer
    for past in ("", "a", "\u4f60" * 40):
        assert asked(server, "penalties", **LZ | {"past": past})[0] == 200


def test_the_next_token_of_a_loop_is_in_the_table_although_nothing_followed_its_only_copy(
    server: Playground,
) -> None:
    loop = {"past": "a" + " b a" * 4 + " b", "buffer": "4"}  # the nearest copy has d = 1
    _, answer = asked(server, "penalties", **LZ | loop)
    assert "the window (d = 1); nothing followed it, so no token extends the match." in answer
    [[case, bits]] = re.findall(
        r"<small>260</small> <small>(.*?)</small>.*?</td><td>(.*?)</td>", answer
    )
    assert (case, bits) == ("in the window", "+1.00")


@pytest.mark.parametrize("variant", ["corrected", "paper", "fork_march"])
def test_the_numbers_of_the_penalty_are_those_of_the_function(
    server: Playground, variant: str
) -> None:
    question = LZ | {"past": "the normalization, the normalization, the", "variant": variant}
    _, answer = asked(server, "penalties", **question)
    tokens = tokenizer().encode(question["past"])
    row = model().row(tokens)
    sizes: Any = {"strength": 0.5, "window": 64, "buffer": 3, "variant": variant}
    changed = lz_penalty(row, tokens, **sizes)
    table = answer.partition("<table")[2]
    lines = re.findall(
        r"<small>(\d+)</small>.*?</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", table
    )
    assert len(lines) >= 12
    for token, logit, bits, after in lines:
        assert float(logit) == pytest.approx(row[int(token)], abs=0.006)
        assert float(after) == pytest.approx(float(changed[int(token)]), abs=0.006)
        assert float(bits) == pytest.approx((float(after) - float(logit)) / 0.5, abs=0.03)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"strength": "nan"}, "the strength must be from 0 to 10, got nan"),
        ({"strength": "x"}, "the strength must be a number, got 'x'"),
        ({"window": "1.5"}, "the window must be a whole number, got '1.5'"),
        ({"window": "-1"}, "window must be"),
        ({"buffer": "0"}, "buffer must be"),
        ({"variant": "best"}, "variant must be one of"),
        ({"past": "a" * 20_001}, "past must have at most 20,000 characters, got 20,001"),
    ],
)
def test_wrong_sizes_of_the_penalty_are_one_sentence(
    server: Playground, given: dict[str, str], sentence: str
) -> None:
    status, answer = asked(server, "penalties", **LZ | given)
    assert status == 422
    assert sentence in answer
    assert "\n" not in answer


DRAFT = {
    "target": "0.5, 0.375, 0.125",
    "draft": "0.125, 0.125, 0.75",
    "before": "The sum of all",
    "drafted": "0.6",
    "accepted": "0.4",
    "replaced": "0.3",
}


def test_a_draft_is_accepted_or_replaced_as_the_functions_say(server: Playground) -> None:
    p, q = [[float(each) for each in DRAFT[name].split(",")] for name in ("target", "draft")]
    seen = set()
    for drafted, token in (("0.0", 0), ("0.2", 1), ("0.25", 2), ("0.999", 2)):
        for accepted in ("0.1", "0.166", "0.167", "0.9"):
            for replaced in ("0.59", "0.61"):
                given = {"drafted": drafted, "accepted": accepted, "replaced": replaced}
                status, answer = asked(server, "speculative", **DRAFT | given)
                assert status == 200
                assert f"falls on token {token}." in answer
                numbers = [float(accepted), float(replaced)]
                verified = verify_chain([p, p], [q], [token], numbers)
                if verified.accepted:
                    assert "is below that: the draft is the next token" in answer
                    assert "It is not needed here" in answer
                else:
                    assert f"falls on token {verified.tokens[0]}. This is the next" in answer
                seen.add((token, verified.accepted, verified.tokens[0]))
    assert seen == {(0, 1, 0), (1, 1, 1), (2, 1, 2), (2, 0, 0), (2, 0, 1)}


@pytest.mark.parametrize(
    "rows",
    [
        {},
        {"target": "1,2,3,4,5,0,7", "draft": "3,1,0,4,6,6,6"},
        {"target": "model", "draft": "model"},
    ],
)
def test_what_is_accepted_and_replaced_sums_to_the_target(
    server: Playground, rows: dict[str, str]
) -> None:
    status, answer = asked(server, "speculative", **DRAFT | rows)
    assert status == 200
    table = answer.partition("<table")[2].partition("</table>")[0]
    lines = [
        [float(Fraction(cell)) for cell in re.findall("<td>(.*?)</td>", line)]
        for line in table.split("<tr>")[2:]
    ]
    assert len(lines) >= 4
    for p, q, kept, given, total in lines:
        assert total == p == pytest.approx(kept + given, rel=0.001)
        assert kept <= q
    assert lines[-1][:2] == [1, 1]
    if "model" in rows.values():
        tokens = tokenizer().encode(DRAFT["before"])
        rate = acceptance_rate(*(softmax(model(order).row(tokens)) for order in (4, 2)))
        assert lines[-1][2] == pytest.approx(float(rate), abs=1e-4)
        assert "<title>\u2423the, p: 0.307" in answer


@pytest.mark.parametrize("accepted", ["0.1", "0.4"])
@pytest.mark.parametrize(
    "further", ["0.2, 0.9", "0.1, 0.4, 0.7, 0.1", "0.1, 0.4, 0.7, 0.2, 0.3, 0"]
)
@pytest.mark.parametrize("replaced", ["0.3", "0.7", "0.9"])
def test_a_chain_of_drafts_is_verified_as_the_function_says(
    server: Playground, accepted: str, further: str, replaced: str
) -> None:
    """The first draft is token 2, with probability 1/6 accepted, tokens 0 and 1 always are."""
    p, q = [[float(each) for each in DRAFT[name].split(",")] for name in ("target", "draft")]
    question = DRAFT | {"accepted": accepted, "further": further, "replaced": replaced}
    status, answer = asked(server, "speculative", **question)
    assert status == 200
    pairs = [float(each) for each in ("0.6", accepted, *further.split(","))]
    drafted = [0 if u < 0.125 else 1 if u < 0.25 else 2 for u in pairs[::2]]
    count = len(drafted)
    numbers = [*pairs[1::2], float(replaced)]
    verified = verify_chain([p] * (count + 1), [q] * count, drafted, numbers)
    captions = re.findall(r"<figcaption>Draft \d: token (\d)", answer)
    assert captions == [str(each) for each in drafted]
    looked = re.findall(r"<h3>\d+\. Draft \d: (\w+)</h3>", answer)
    rejected = ["rejected"] * (verified.accepted < count)
    assert looked == ["accepted"] * verified.accepted + rejected
    assert ("the residual replaces" in answer) == bool(rejected)
    assert ("a bonus token follows" in answer) != bool(rejected)
    drafts, result = re.findall(r"<p>(?:Drafts|Result): (.*?)</p>", answer)
    ids = r"<small>(\d+)</small>"
    assert [int(each) for each in re.findall(ids, drafts)] == drafted
    assert tuple(int(each) for each in re.findall(ids, result)) == verified.tokens
    assert drafts.count("refused") == count - verified.accepted
    assert f"falls on token {verified.tokens[-1]}" in answer


def test_each_row_of_a_chain_of_the_model_sees_the_drafts_before_it(server: Playground) -> None:
    rows = {"target": "model", "draft": "model", "drafted": "0.41", "accepted": "0.3"}
    further = {"further": "0.427, 0.2, 0.146, 0.7"}
    status, answer = asked(server, "speculative", **DRAFT | rows | further)
    assert status == 200
    before = tokenizer().encode(DRAFT["before"])
    drafted = [int(each) for each in re.findall(r"<figcaption>Draft \d: token (\d+)", answer)]
    assert tokenizer().decode(drafted) == " the tokens."
    for place, token in enumerate(drafted):
        p, q = (probabilities(order, [*before, *drafted[:place]])[token] for order in (4, 2))
        assert f"has p = {p:.4g} and q = {q:.4g}. " in answer


def test_equal_rows_are_never_rejected(server: Playground) -> None:
    status, answer = asked(server, "speculative", **DRAFT | {"target": "1,3", "draft": "2,6"})
    assert status == 200
    assert "p and q are equal: nothing is ever rejected, and nothing is left." in answer
    assert "min(1, p / q) = 1." in answer


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"target": "1,2"}, "target and draft must have the same length, got 2 and 3"),
        ({"target": "model"}, "target and draft must have the same length, got 2004 and 3"),
        ({"target": "1,x"}, "the target must be numbers separated by commas, or model, got '1,x'"),
        ({"draft": "1,2,-1"}, "draft[2] must be finite and not negative, got -1.0"),
        ({"draft": "0,0,0"}, "all are zero"),
        ({"draft": "nan,0,0"}, "draft[0] must be finite and not negative, got nan"),
        ({"draft": "0," * 6000 + "0"}, "the draft must have at most 5,000 numbers"),
        ({"accepted": "1"}, "uniforms[1] must be in [0, 1), got 1.0"),
        ({"replaced": "much"}, "the random number must be a number, got 'much'"),
        ({"before": "a" * 20_001}, "before must have at most 20,000 characters, got 20,001"),
        ({"further": "0.1"}, "further drafts must be two for each of at most 8, separated by"),
        ({"further": "0.1, x"}, "separated by commas, got '0.1, x'"),
        ({"further": "0," * 17 + "0"}, "must be two for each of at most 8"),
        ({"further": "0, 1"}, "uniforms[1] must be in [0, 1), got 1.0"),
        ({"further": "1, 0"}, "uniforms[1] must be in [0, 1), got 1.0"),
        ({"further": "0, 0", "target": "1,2"}, "target and draft must have the same length, got 2"),
    ],
)
def test_wrong_rows_of_a_draft_are_one_sentence(
    server: Playground, given: dict[str, str], sentence: str
) -> None:
    status, answer = asked(server, "speculative", **DRAFT | given)
    assert status == 422
    assert sentence in answer
    assert "\n" not in answer


# ---- in a browser


@pytest.fixture
def window(window: Browser, server: Playground) -> Browser:
    """Open the page in a window."""
    window.post("url", {"url": f"http://127.0.0.1:{server.server_port}/"})
    window.until("return document.querySelector('.token') !== null")
    return window


def typed(window: Browser, field: str, text: str) -> None:
    """Type a text into a field, and wait for the answer."""
    before = window.run("return document.body.dataset.answered")
    window.run(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', { bubbles: true }));"
        "field.dispatchEvent(new Event('change', { bubbles: true }));",
        field,
        text,
    )
    window.until(f"return document.body.dataset.answered !== '{before}'")


def shown(window: Browser, selector: str) -> int:
    count: int = window.run("return document.querySelectorAll(arguments[0]).length", selector)
    return count


def test_tokens_and_the_merges_of_a_piece_are_shown(window: Browser) -> None:
    typed(window, "text", "unbelievable <img src=x onerror=alert(1)>")
    assert shown(window, "#answer img") == 0
    heading = "return document.querySelector('#steps h2').textContent"
    assert window.run(heading) == "Piece unbelievable", "the first with several tokens"
    assert shown(window, "#steps tr") == 7
    window.click("#answer button[data-piece=' <']")
    window.until(
        "return document.querySelector('#steps h2').textContent.startsWith('Piece \u2423<')"
    )
    typed(window, "text", "a hello")
    assert "hello" in window.run(heading), "a piece that is no longer in the text is closed"
    typed(window, "text", "a")
    assert shown(window, "#steps tr") == 0


def test_the_vocabulary_of_the_book_is_offered(window: Browser) -> None:
    typed(window, "vocabulary", "book")
    window.until("return document.querySelector('#steps h2').textContent === 'Piece abacb'")
    seen = {}
    for encoder, text in (
        ("heap", "abacb"),
        ("backtracking", "abacb"),
        ("prefix_table", "abacb"),
        ("prefix_table", "abb"),
    ):
        typed(window, "encoder", encoder)
        if text != "abacb":
            typed(window, "text", text)
        steps = window.run("return document.getElementById('steps').textContent")
        words = [word in steps for word in ("stale", "step back", "are crossed out")]
        seen[encoder, text] = (shown(window, "#steps .refused"), *words)
    assert window.run("return document.querySelector('[data-piece]').offsetHeight") == 0
    assert seen == {
        ("heap", "abacb"): (0, True, False, False),
        ("backtracking", "abacb"): (2, False, True, True),
        ("prefix_table", "abacb"): (3, False, False, True),
        ("prefix_table", "abb"): (2, False, False, True),
    }, "the steps show all that the captions speak of"
    typed(window, "vocabulary", "tiny")
    typed(window, "text", "my own text")
    typed(window, "vocabulary", "book")
    assert window.run("return document.getElementById('text').value") == "my own text"
    assert "byte 0x6D" in window.run("return document.getElementById('wrong').textContent")
    assert all("(Unprocessable Entity)" in entry["message"] for entry in window.log("browser"))


def test_a_model_without_steps_of_an_encoder_has_tokens_and_a_sentence(window: Browser) -> None:
    typed(window, "encoder", "heap")
    typed(window, "vocabulary", "words")
    typed(window, "text", "abb")
    wrong = "return document.getElementById('wrong').textContent"
    assert window.run(wrong) == (
        "the steps of heap are shown for models that merge bytes only, and this one does not: "
        "choose the definition, which is naive"
    )
    names = "return [...document.querySelectorAll('#answer .token')].map((e) => e.innerText)"
    assert window.run(names) == ["a\n1", "##bb\n2"]
    assert window.run("return document.querySelector('main').className") == ""
    assert shown(window, "#steps tr") == 0
    typed(window, "encoder", "naive")
    assert shown(window, "#steps tr") == 2
    assert window.run("return document.getElementById('wrong').hidden")
    assert all("(Unprocessable Entity)" in entry["message"] for entry in window.log("browser"))


def test_the_slider_is_next_to_the_draw_and_seen_with_every_stage(window: Browser) -> None:
    box = "document.querySelector(arguments[0]).getBoundingClientRect()"
    assert window.run(f"return {box}.height", "#drawn") == 0, "the first view is of tokens"
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    window.run("document.querySelector('.stage').scrollIntoView()")
    assert 0 < window.run(f"return {box}.top", "#drawn") < window.run("return innerHeight")
    window.run("document.querySelector('.draw').scrollIntoView()")
    between = window.run(f"return {box}.bottom", ".draw") - window.run(
        f"return {box}.top", "#drawn"
    )
    assert abs(between) < 20
    was = window.run("return document.querySelector('.draw').innerHTML")
    typed(window, "uniform", "0.9")
    assert window.run("return document.querySelector('.draw').innerHTML") != was


def test_a_race_has_no_slider_and_the_page_says_why(window: Browser) -> None:
    hidden = "return ['drawn', 'race'].map((id) => document.getElementById(id).hidden)"
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    typed(window, "engine", "vllm")
    assert window.run(hidden) == [True, False]
    assert "no picture" in window.run("return document.querySelector('.draw').textContent")
    typed(window, "engine", "llama.cpp")
    assert window.run(hidden) == [False, True]


def test_defaults_of_both_engines_are_shown_and_common_parameters_are_first(
    window: Browser,
) -> None:
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    top_k = "document.querySelector('#parameters input[aria-label=top_k]')"
    assert window.run(f"return [{top_k}.value, {top_k}.className]") == ["6", ""]
    window.run("location.hash = 'view=sampling&engine=vllm'")
    window.settle()
    typed(window, "other", "llama.cpp")
    fields = "return [...document.querySelectorAll('#parameters label')].map((e) => e.textContent)"
    assert [text.split()[0] for text in window.run(fields)] == [
        *("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
    ]
    assert "top_k default 0 in vllm, 40 in llama.cpp" in window.run(fields)
    assert window.run(f"return [{top_k}.value, {top_k}.className]") == ["0", "unset"]


def test_what_two_engines_call_otherwise_is_one_slider_that_sets_both(window: Browser) -> None:
    window.run("location.hash = 'view=sampling&engine=vllm&other=llama.cpp&row=3,2,1'")
    window.until("return document.querySelectorAll('.sides').length === 1")
    slide = "const slider = document.querySelector('#parameters input[aria-label=temperature]');"
    slide += "slider.value = 2; slider.dispatchEvent(new Event('change', { bubbles: true }))"
    label = "return document.querySelector('#parameters label').textContent"
    assert window.run(label).startswith("temperature called temp in llama.cpp; default 1")
    window.run(slide)
    headings = "return [...document.querySelectorAll('.stage h3')].map((h) => h.textContent)"
    window.until(f"{headings}.includes('temperature(temperature=2)')")
    assert window.run(headings).count("temperature(temperature=2)") == 2
    window.run("document.getElementById('other').value = ''")
    typed(window, "engine", "llama.cpp")
    window.until(f"{label}.startsWith('temp ')")
    assert window.run("return document.querySelector('#parameters input').value") == "2"


def test_a_change_is_enough_where_a_program_fills_in_the_page(window: Browser) -> None:
    change = "document.getElementById('text').value = 'unbelievable';"
    change += "document.getElementById('text').dispatchEvent(new Event('change', {bubbles: true}))"
    window.run(change)
    window.until("return document.querySelector('#steps h2').textContent === 'Piece unbelievable'")
    answered = "return document.body.dataset.answered"
    before = window.run(answered)
    window.run(change)
    window.settle(200)
    assert window.run(answered) == before, "nothing has changed: an open section stays open"


def test_the_text_of_the_chapter_about_loops_is_the_one_with_which_the_page_begins(
    window: Browser,
) -> None:
    chapter = (ROOT / "docs" / "book" / "loops.md").read_text("utf-8")
    [expression] = re.findall(r"^>>> loop = tokenizer\.encode\((.*)\)$", chapter, re.MULTILINE)
    page = "const e = document.getElementById(arguments[0]); return e.defaultValue"
    assert window.run(page, "past") == eval(expression)  # noqa: S307 - of a page of this project
    [buffer] = re.findall(r"lz_penalty\(row, loop, strength=strength, buffer=(\d+)\)", chapter)
    assert window.run(page, "buffer") == buffer
    assert "goes on with ` n`" in chapter


def test_the_steps_of_each_encoder_are_walked_forwards_and_backwards(window: Browser) -> None:
    visible = "return document.querySelectorAll('#steps tr:not([hidden])').length"
    assert window.run(visible) == 1, "what is next is a question to the reader"
    typed(window, "text", "unbelievable")
    window.until("return document.querySelectorAll('#steps tr').length === 7")
    assert window.run(visible) == 1
    window.click("#all")
    assert window.run(visible) == 7
    typed(window, "text", "believable")
    assert window.run(visible) == shown(window, "#steps tr") > 3, "it stays at the end"
    window.click("#all")
    assert window.run(visible) == 1
    typed(window, "text", "unbelievable")
    assert window.run(visible) == 1
    window.click("#all")
    pressed = "return [...document.querySelectorAll('[aria-pressed=true][data-piece]')]"
    assert window.run(f"{pressed}.map((e) => e.dataset.piece)") == ["unbelievable"]
    window.click("#back")
    window.click("#back")
    assert window.run(visible) == 5
    window.click("#on")
    assert window.run("return document.getElementById('at').textContent") == "5 of 6"
    assert "step=5" in window.run("return location.href")
    for encoder, says in [
        ("heap", "is stale"),
        ("prefix_table", "is the whole prefix"),
        ("backtracking", "together they become"),
    ]:
        typed(window, "encoder", encoder)
        assert says in window.run("return document.getElementById('steps').textContent")
    window.click("#all")
    steps = window.run(visible)
    window.click("#back")
    address = window.run("return location.href")
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('#steps tr').length > 0")
    assert window.run(visible) == steps - 1
    window.click("#show-sampling")
    window.until("return document.getElementById('stepper').hidden")


def test_engines_are_compared_and_the_address_has_the_state(
    window: Browser, server: Playground
) -> None:
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    typed(window, "engine", "vllm")
    typed(window, "other", "llama.cpp")
    typed(window, "row", "3,2,2,1,0.5")
    window.until("return document.querySelectorAll('.sides').length === 1")
    address = window.run("return location.href")
    assert "other=llama.cpp" in address
    stages = window.run("return document.getElementById('answer').textContent")
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('.sides').length === 1")
    assert window.run("return document.getElementById('answer').textContent") == stages
    assert window.run("return document.getElementById('sampling').hidden") is False


def test_the_example_shows_at_a_glance_why_two_engines_keep_different_tokens(
    window: Browser,
) -> None:
    window.size(1280, 900)
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    window.click("#example a:last-of-type")
    window.until("return document.querySelectorAll('.stage.first').length === 2")
    answer = window.run("return document.querySelector('.answer').innerText")
    assert "They differ at top_p" in answer
    assert "llama.cpp keeps the tokens 1 3" in answer
    assert "transformers keeps the tokens 2 3" in answer
    assert "of equal tokens: the first after its sort" in answer
    bottom = "return document.querySelector('.answer').getBoundingClientRect().bottom"
    assert window.run(bottom) < 900
    heights = "return [...document.querySelectorAll('.sides figure')].map((e) => e.offsetHeight)"
    assert [each > 0 for each in window.run(heights)[:4]] == [False, False, True, True]


def test_what_decides_is_seen_without_scrolling_and_other_stages_are_one_line(
    window: Browser, server: Playground
) -> None:
    state = "view=sampling&engine=llama.cpp&other=transformers&row=1,1,1,1&p.top_p=0.5"
    address = f"http://127.0.0.1:{server.server_port}/#{state}"
    window.size(1280, 800)
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('.stage.first').length === 2")
    box = "document.querySelector(arguments[0]).getBoundingClientRect()"
    for seen in ("#row", "#parameters", ".answer", ".stage.first svg"):
        assert window.run(f"return {box}.top", seen) > 0
        assert (
            window.run(f"return {box}.bottom - at('drawn').getBoundingClientRect().top", seen) <= 0
        )
    folded = ".idle > .fold > summary"
    assert window.run(f"return {box}.height", ".idle") < 40
    assert window.run("return document.querySelector(arguments[0]).innerText", folded).endswith(
        "llama.cpp, stage 1 of 4: has no effect here"
    )
    to_it = f"document.querySelector('{folded}').scrollIntoView({{ block: 'center' }})"
    opened = "return document.querySelector('.idle > .fold').open"
    picture = f"return {box}.height"
    for key in ("", "\ue007"):
        assert window.run(opened) is False
        if key:
            window.run(f"document.querySelector('{folded}').focus()")
            window.press(key)
        else:
            window.run(to_it)
            window.click(folded)
        assert window.run(opened) is True
        assert window.run(picture, ".idle figure") > 100
        typed(window, "uniform", "0.5")
        assert window.run(opened) is True, "it stays open when a slider moves"
        window.run(to_it)
        window.click(folded)
        assert window.run(opened) is False
    window.size(390, 844, phone=True)
    window.run(to_it)
    window.click(folded)
    assert window.run(opened) is True
    assert window.run("return document.documentElement.scrollWidth") <= 390


def test_an_example_shows_that_the_order_of_steps_decides(window: Browser) -> None:
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    window.click("#example a")
    window.until("return document.querySelectorAll('.stage.first').length === 2")
    answer = window.run("return document.querySelector('.answer').innerText")
    assert "They differ in the order of their stages" in answer
    assert "llama.cpp keeps the tokens 0 1\n" in answer
    assert "transformers keeps the tokens 0 1 2\n" in answer
    row = "gets the flatter row with the probabilities 0.455,"
    assert f"top_p of transformers is after temperature, and {row}" in answer
    assert "top_p of llama.cpp gets the row with the probabilities 0.644, 0.237," in answer
    earlier = "return [...document.querySelectorAll('.earlier figure')].map((e) => e.offsetHeight)"
    assert [each > 0 for each in window.run(earlier)] == [True], "the temperature is open"
    field = "#parameters div:has([aria-label=top_k]) input[placeholder]"
    usual = window.run("return document.querySelector(arguments[0]).placeholder", field)
    assert usual == "40 or 50", "the field has room for both defaults"


@pytest.mark.parametrize(
    ("view", "name"), [("sampling", "engine"), ("sampling", "other"), ("tokens", "vocabulary")]
)
def test_what_the_address_chooses_and_no_list_has_is_one_sentence(
    window: Browser, view: str, name: str
) -> None:
    window.go(f"view={view}&{name}=nonsense")
    window.until("return !document.getElementById('wrong').hidden")
    said = window.run("return document.getElementById('wrong').textContent")
    assert said.startswith(f"{name} must be one of t")
    assert said.endswith(", got nonsense")
    assert window.run("return document.querySelector('main').className") == ""
    shown = {"engine": "llama.cpp", "other": "", "vocabulary": "tiny"}[name]
    assert window.run("return document.getElementById(arguments[0]).value", name) == shown
    typed(window, *{"sampling": ("row", "1,2"), "tokens": ("text", "a")}[view])
    window.until("return document.getElementById('wrong').hidden")


def test_the_tables_are_as_wide_as_a_phone_and_large_on_a_projector(window: Browser) -> None:
    window.size(380, 800, phone=True)
    for rows in ("", "&target=model&draft=model"):
        window.go(f"view=speculative{rows}")
        window.until("return document.querySelectorAll('.drafts tr').length > 4")
        table = "document.querySelector('table.numbers')"
        assert window.run(f"return {table}.scrollWidth <= {table}.clientWidth"), "the last column"
    for width, height, least in ((1280, 720, 20), (1024, 768, 18)):
        window.size(width, height)
        window.go("view=penalties&present=1&step=1")
        window.until("return document.querySelectorAll('.penalties tr').length > 10")
        size = "getComputedStyle(document.querySelector('.penalties td')).fontSize"
        assert window.run(f"return parseFloat({size})") >= least
        assert window.run("return document.documentElement.scrollHeight") <= height
        assert window.run(
            "const e = document.querySelector('.penalties'); return e.scrollWidth <= e.clientWidth"
        )


def test_stages_are_switched_off_and_moved_and_parameters_slide(window: Browser) -> None:
    names = "[...document.querySelectorAll('.fold > summary > h3')].map((e) => e.innerText)"
    steps = f"return {names}.map((text) => text.split('(')[0])"
    window.run("location.hash = 'view=sampling&engine=sglang'")
    window.until("return document.querySelectorAll('.stage').length > 0")
    for name, value in [("top_k", "2"), ("min_p", "0.25")]:
        before = window.run("return document.body.dataset.answered")
        window.run(
            f"const slider = document.querySelector('#parameters input[aria-label={name}]');"
            f"slider.value = {value}; slider.dispatchEvent(new Event('input', {{ bubbles: true }}))"
        )
        window.until(f"return document.body.dataset.answered !== '{before}'")
    assert window.run(steps)[-2:] == ["top_k", "min_p"]
    window.size(1280, 720)
    window.run("document.getElementById('order').open = true")
    top = "return document.querySelector('#answer section').getBoundingClientRect().top"
    assert window.run(top) < 500, "what a change does is seen beside the list"
    line = "#chains li:has(button[aria-label='min_p earlier'])"
    for click, left in [
        ("[aria-label='min_p earlier']", ["min_p", "top_k"]),  # before top_p, which is off, too
        (f"{line} input", ["top_k"]),
    ]:
        before = window.run("return document.body.dataset.answered")
        window.click(click)
        window.until(f"return document.body.dataset.answered !== '{before}'")
        assert window.run(steps)[-len(left) :] == left
        where = window.run("return document.querySelector('.stage .where').textContent")
        assert where.startswith("changed sglang, stage 1 of ")
        pale = "[...document.querySelectorAll('.unused label')].map((e) => e.innerText.trim())"
        used = window.run(f"return ['top_p', 'top_k'].map((e) => !{pale}.includes(e))")
        assert used == [False, True]
    address = window.run("return location.href")
    assert "p.min_p=0.25" in address
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('.stage').length > 0")
    assert "min_p" not in window.run(steps)
    window.click("#chains div > button")
    window.until("return document.querySelectorAll('.stage').length > 1")
    assert window.run(steps)[-2:] == ["top_k", "min_p"]


def test_the_model_writes_a_text_by_clicks_and_the_penalty_changes_the_next_token(
    window: Browser,
) -> None:
    best = "return document.querySelector('tr.now button').dataset.next"
    window.click("#show-penalties")
    window.until("return document.querySelectorAll('.token.buffer').length > 0")
    assert shown(window, ".token.match") == 4, "the page begins with a loop"
    window.size(1280, 720)
    row = "return document.querySelectorAll('.numbers tr')[5].getBoundingClientRect().bottom"
    assert window.run(row) < 720, "the best of them are seen without scrolling"
    framed = "return document.querySelector('tr.now').textContent"
    assert "extends the match" in window.run(framed), "which the usual strength does not leave"
    cases = window.run(
        "return [...document.querySelectorAll('.numbers th small:last-child')]"
        ".map((e) => e.textContent)"
    )
    assert set(cases) == {"extends the match", "in the window", "new"}
    assert len(cases) == shown(window, ".numbers tr") - 1
    assert window.run(framed).endswith("match of 17"), "DRY has a match of its own"
    assert "what followed a copy: \u2423n" in window.run("return document.body.textContent")
    typed(window, "strength", "0.5")
    assert "extends the match" not in window.run(framed)
    typed(window, "past", "the normalization, the normalization, the normalization, the")
    typed(window, "buffer", "4")
    typed(window, "strength", "0")
    expected = window.run(best)
    assert shown(window, ".token.match") >= 8
    window.click("tr.now button")
    window.until(f"return document.getElementById('past').value.endsWith('the{expected}')")
    typed(window, "past", "the normalization, the normalization, the normalization, the")
    typed(window, "strength", "1")
    assert window.run(best) != expected
    address = window.run("return location.href")
    assert "view=penalties" in address
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('.token.match').length > 0")
    assert window.run("return document.getElementById('strength').value") == "1"
    window.click("button[data-history]")
    window.until("return /more tokens/.test(document.getElementById('answer').textContent)")
    assert window.run("return document.getElementById('row').value") == "model"
    assert "more tokens" in window.run("return document.getElementById('answer').textContent")


def test_a_token_is_drafted_rejected_and_replaced_by_moving_random_numbers(window: Browser) -> None:
    says = "return document.querySelectorAll('.stage')[arguments[0]].textContent"
    window.click("#show-speculative")
    window.until("return document.querySelectorAll('.stage').length === 4")
    window.size(1280, 720)
    ends = "[...document.querySelectorAll('.stage')].map((e) => e.getBoundingClientRect().bottom)"
    assert max(window.run(f"return {ends}")[:3]) < 720, "the three steps are seen at once"
    assert "not below that: rejected" in window.run(says, 1)
    assert "falls on token 0. This is the next token" in window.run(says, 2)
    typed(window, "replaced", "0.7")
    assert "falls on token 1. This is the next token" in window.run(says, 2)
    window.run("document.getElementById('accepted').focus()")
    window.press(*["\ue00e"] * 5)  # page up and down move the slider by a tenth
    window.press(*["\ue00f"] * 8)
    window.until(f"{says}.includes('below that: the draft is the next token')", 1)
    assert window.run("return document.querySelector('#accepted + output').textContent") == "0.1"
    typed(window, "drafted", "0.1")
    assert "falls on token 0" in window.run(says, 0)
    address = window.run("return location.href")
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('.stage').length === 4")
    assert "falls on token 0" in window.run(says, 0)
    typed(window, "target", "model")
    typed(window, "draft", "model")
    assert "(" in window.run(says, 0), "the text of the token"
    window.click("#present")
    seen = "return [...document.querySelectorAll('.stage')].filter((e) => e.offsetHeight).length"
    assert window.run(seen) == 1
    window.press(*["\ue014"] * 3)
    assert window.run("return document.getElementById('at').textContent") == "3 of 3"
    window.press("\ue00c")
    assert window.run(seen) == 4
    assert all("(Unprocessable Entity)" in entry["message"] for entry in window.log("browser"))


def test_chains_of_drafts_are_examples_that_can_be_walked(window: Browser) -> None:
    headings = "return [...document.querySelectorAll('.stage h3')].map((e) => e.textContent)"
    endings = {"accepted, accepted, replaced": "rejected", "all accepted": "accepted"}
    window.click("#show-speculative")
    window.until("return document.querySelectorAll('.stage').length === 4")
    for number, (name, last) in enumerate(endings.items()):
        link = f"#speculative a:nth-of-type({number + 1})"
        assert name in window.run("return document.querySelector(arguments[0]).textContent", link)
        window.click(link)
        window.until(f"{headings}.some((each) => each.includes('Draft 3: {last}'))")
        found = window.run(headings)
        assert found[:3] == [
            *("1. The small model drafts 3 tokens", "2. Draft 1: accepted", "3. Draft 2: accepted")
        ]
        assert found[-1] == "6. The result"
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    window.size(1280, 720)
    window.click("#present")
    for number in range(6):
        seen = "[...document.querySelectorAll('.stage')].filter((e) => e.offsetHeight)"
        assert window.run(f"return {seen}.map((e) => e.querySelector('h3').textContent[0])") == [
            str(number + 1)
        ]
        assert window.run("return document.documentElement.scrollHeight") <= 720
        window.press("\ue014")


def test_wrong_input_is_a_sentence_on_the_page_and_nothing_breaks(window: Browser) -> None:
    typed(window, "text", "a" * 10_000_000)
    assert window.run("return document.getElementById('wrong').textContent") == (
        "text must have at most 20,000 characters, got 10,000,000"
    )
    assert window.run("return location.href.length") < 1000
    faded = "return getComputedStyle(document.getElementById('answer')).opacity"
    assert float(window.run(faded)) < 0.5, "it is the answer to an earlier question"
    typed(window, "text", "abc")
    assert window.run("return document.getElementById('wrong').hidden") is True
    assert float(window.run(faded)) == 1
    window.run("document.getElementById('text').value = ''")
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")


def test_the_first_picture_of_samplers_removes_something(window: Browser) -> None:
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    assert window.run("return document.querySelectorAll('.stage')[0].querySelector('.removed')")
    sliders = "return document.querySelector('#parameters input[aria-label=top_p]').offsetHeight"
    assert window.run(sliders) > 0
    assert window.run("return document.getElementById('set').textContent") == "top_k 6, top_p 0.9"


def test_the_page_is_presented_from_the_first_step_with_keys_and_in_other_colours(
    window: Browser,
) -> None:
    typed(window, "text", "unbelievable")
    window.size(640, 400, phone=False)
    window.click("#present")
    at = "return document.getElementById('at').textContent"
    assert window.run(at) == "0 of 6"
    for element in ("#text", "h1"):
        assert window.run(f"return document.querySelector('{element}').offsetHeight") == 0
    assert window.run("return document.querySelector('#steps').getBoundingClientRect().y") < 200
    answer = "return document.getElementById('answer').offsetHeight"
    assert window.run(answer) == 0, "it would give the tokens away"
    window.press("\ue014", "\ue014", "\ue014", "\ue012")
    assert window.run(at) == "2 of 6"
    assert window.run("return document.querySelector('tr.now').getBoundingClientRect().y") < 400
    size = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
    assert window.run(size, "tr.now td:last-child") >= 24
    assert window.run(size, "tr.now small") >= 16
    left = "return document.querySelector(arguments[0]).getBoundingClientRect().x"
    assert window.run(left, "tr.now td:last-child") == window.run(left, "tr.now td")
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = window.run(paper)
    window.click("#theme")
    assert window.run(paper) != light
    address = window.run("return location.href")
    window.post("url", {"url": "about:blank"})
    window.post("url", {"url": address})
    window.until("return document.querySelectorAll('#steps tr').length > 0")
    assert (window.run(at), window.run(paper) != light) == ("2 of 6", True)
    window.dark(dark=True)
    window.click("#theme")
    assert window.run(paper) == light
    window.press(*["\ue014"] * 4)
    assert window.run(answer) > 0
    window.press("\ue00c")
    assert window.run("return document.querySelector('#text').offsetHeight") > 0


def test_stages_are_presented_one_at_a_time_from_the_first_difference(window: Browser) -> None:
    at = "return document.getElementById('at').textContent"
    seen = (
        "return [...document.querySelectorAll('#answer section')].filter((e) => e.offsetHeight)"
        ".map((e) => e.querySelector('h2, h3, p').textContent.split('(')[0])"
    )
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    every = window.run(seen)
    assert every == ["top_k", "top_p", "min_p", "temperature", "draw"]
    idle = "return [...document.querySelectorAll('.idle summary h3')].map((e) => e.textContent)"
    assert [each.partition("(")[0] for each in window.run(idle)] == ["min_p"]
    window.click("#present")
    assert [window.run(at), window.run(seen)] == ["0 of 3", ["top_k"]]
    for name in ("top_p", "temperature", "draw"):
        window.press("\ue014")
        assert window.run(seen) == [name], "stages without an effect are left out"
    assert "Escape" in window.run("return document.getElementById('present').textContent")
    window.press("\ue00c")
    assert window.run(seen) == every
    window.click("#present")
    window.click("#show-penalties")
    window.until("return document.querySelectorAll('.token.buffer').length > 0")
    assert [window.run(at), window.run(seen)] == ["0 of 2", ["The text"]]
    window.press("\ue014")
    assert window.run(seen) == ["The next token"]
    window.press("\ue014")
    assert window.run(seen) == ["The penalties"]
    two = "engine=vllm&other=llama.cpp&row=1,2,2,3&p.top_k=2&p.temperature=1&present=1"
    window.run("location.hash = arguments[0]", f"view=sampling&{two}")
    window.until("return document.querySelectorAll('.stage.first').length > 0")
    heading = window.run("return document.querySelector('h2').textContent")
    assert window.run(seen) == [heading, "top_k", "top_k"]
    window.press("\ue014")
    assert window.run(seen) == ["top_k", "top_k"]
    before = window.run(at)
    window.press("\ue014")
    assert window.run(seen) == ["draw", "draw"]
    assert window.run("return document.querySelector('.stage.first').offsetHeight") == 0
    window.press("\ue012")
    assert window.run(at) == before
    window.press(*["\ue014"] * 20)
    assert window.run(seen) == ["draw", "draw"]


def test_the_cause_and_its_pictures_are_the_first_screen(window: Browser) -> None:
    window.size(1280, 720)
    order = "engine=transformers&other=llama.cpp&row=3,2,1,0&p.temperature=2&p.top_p=0.8&present=1"
    window.go(f"view=sampling&{order}")
    window.until("return document.querySelectorAll('.stage.first').length === 2")
    shown = "[...document.querySelectorAll('#answer svg')].filter((e) => e.getClientRects().length)"
    assert window.run("return document.getElementById('at').textContent") == "0 of 4"
    assert window.run("return document.querySelector('.answer').offsetHeight") > 0
    bottoms = window.run(f"return {shown}.map((each) => each.getBoundingClientRect().bottom)")
    assert len(bottoms) == 2
    assert max(bottoms) <= 720
    window.press("\ue014")
    assert window.run(f"return {shown}.length") == 1, "the temperature, which comes earlier"
    for _ in range(4):
        assert window.run("return document.documentElement.scrollHeight") == 720
        window.press("\ue014")


@pytest.mark.parametrize("number", [1, 2])
def test_the_pictures_of_an_example_are_seen_without_scrolling(
    window: Browser, number: int
) -> None:
    window.size(1280, 720)
    window.click("#show-sampling")
    window.click(f"#example a:nth-of-type({number})")
    window.until("return document.querySelectorAll('.stage.first').length === 2")
    assert window.run("return document.querySelector('#parameters').offsetHeight") > 0
    edges = "[...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect())"
    [answer] = window.run(f"return {edges}.map((e) => e.bottom)", ".answer")
    pictures = window.run(f"return {edges}.map((e) => [e.top, e.bottom, e.height])", ".first svg")
    assert len(pictures) == 2
    for top, bottom, height in pictures:
        assert answer < top < bottom <= 720
        assert height > 150


def test_an_address_without_a_text_has_one_of_its_vocabulary(window: Browser) -> None:
    window.go("encoder=neighbours&vocabulary=odd&left=abc&right=d")
    window.until("return document.getElementById('steps').textContent.includes('abc and d fit?')")
    assert window.run("return document.getElementById('text').value") == "abcd"
    assert window.run("return document.getElementById('pair').offsetHeight") > 0
    window.go("encoder=neighbours&vocabulary=odd&left=abc&right=d&text=xyz")
    assert window.run("return document.getElementById('wrong').hidden") is False
    assert window.run("return document.getElementById('text').value") == "xyz"
    assert window.run("return document.getElementById('pair').offsetHeight") > 0
    assert "422" in window.log("browser")[0]["message"]


def test_bars_of_the_model_have_the_texts_of_the_tokens(window: Browser) -> None:
    window.go("view=sampling&engine=llama.cpp&row=model&history=10,20,30")
    bars = "document.querySelectorAll('.stage svg text > title')"
    window.until(f"return {bars}.length > 4")
    likely = max(enumerate(model().row([10, 20, 30])), key=lambda each: each[1])[0]
    assert window.run(f"return {bars}[0].textContent") == tokenizer().decode([likely])
    window.go("view=sampling&engine=llama.cpp&row=3,2,1&history=")
    window.until(f"return {bars}.length === 0")


def test_two_neighbours_are_chosen_and_examples_belong_to_the_vocabulary(window: Browser) -> None:
    typed(window, "encoder", "neighbours")
    says = "return document.getElementById('steps').textContent"
    assert "Do be and li fit?" in window.run(says)
    typed(window, "vocabulary", "odd")
    window.until(f"{says}.includes('Do abc and d fit?')")
    typed(window, "left", "ab")
    assert "Do ab and d fit?" in window.run(says)
    assert "left=ab" in window.run("return location.href")


def test_numbers_of_the_penalties_stay_in_one_line_on_a_phone(window: Browser) -> None:
    window.size(390, 844, phone=True)
    window.click("#show-penalties")
    window.until("return document.querySelectorAll('.numbers td').length > 0")
    heights = "return [...document.querySelectorAll('.numbers td')].map((e) => e.offsetHeight)"
    assert max(window.run(heights)) < 70, "a token may have a second line"
    assert window.run("return document.documentElement.scrollWidth") <= 390
    table = "document.querySelector('table.numbers')"
    assert window.run(f"return {table}.scrollWidth - {table}.clientWidth") <= 0, "all are seen"
    lefts = (
        "[...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect().right)"
    )
    heads = window.run(f"return {lefts}", ".numbers th[scope=col]")[1:]
    assert window.run(f"return {lefts}", "tr.now td") == pytest.approx(heads, abs=5)


def test_merges_are_seen_without_scrolling_on_a_small_screen(window: Browser) -> None:
    window.size(1280, 720)
    window.click("#on")
    bottom = "return document.querySelectorAll('#steps tr')[1].getBoundingClientRect().bottom"
    assert 0 < window.run(bottom) < 720


def test_the_step_that_is_framed_is_seen_on_a_small_screen(window: Browser) -> None:
    window.size(1280, 720)
    window.go("view=tokens&vocabulary=tiny&text=unbelievable&encoder=backtracking")
    window.until("return document.querySelectorAll('#steps tr').length > 8")
    assert window.run("return scrollY") == 0, "only who goes to a step is led there"
    box = "document.querySelector(arguments[0]).getBoundingClientRect()"

    def is_seen() -> bool:
        window.until("return document.querySelectorAll('tr.now').length === 1")
        top, bottom, bar = window.run(
            f"return [{box}.top, {box}.bottom, at('stepper').getBoundingClientRect().bottom]",
            "tr.now",
        )
        return bool(0 < bar <= top < bottom <= 720)

    last = int(window.run("return at('step').max"))
    for _ in range(last):
        window.press("\ue014")
        assert is_seen()
    for _ in range(last):
        window.click("#back")
        assert is_seen()
    window.click("#on")
    assert is_seen()
    window.click("#all")
    assert window.run("return at('step').value") == str(last)
    assert is_seen()


def test_each_link_in_the_notes_of_a_lecture_shows_what_it_says(
    window: Browser, server: Playground
) -> None:
    links = set[str]()
    for page in (ROOT / "authoring" / "lectures").glob("*.md"):
        links |= {*re.findall(r"\(http://127.0.0.1:8321/#(.*?)\)", page.read_text("utf-8"))}
    assert len(links) == 9
    for link in links:
        window.post("url", {"url": "about:blank"})
        window.post("url", {"url": f"http://127.0.0.1:{server.server_port}/#{link}"})
        window.until("return document.body.dataset.answered && !at('stepper').hidden")
        assert window.run("return at('wrong').hidden"), link
        for name, value in parse_qsl(link):
            if name not in {"view", "present"} and not name.startswith("p."):
                assert window.run("return at(arguments[0]).value", name) == value
        view, *_ = (value for name, value in parse_qsl(link) if name == "view")
        assert window.run("return [view, presenting()]") == [view, True]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_number_of_the_step_is_one_line_beside_a_slider(window: Browser, width: int) -> None:
    window.size(width, 800, phone=width < 500)
    window.click("#present")
    assert window.run("return at('at').parentElement.offsetHeight") < 90
    assert window.run("return at('step').offsetWidth") > width / 2


def test_a_picture_is_on_the_first_screen_of_a_phone(window: Browser, server: Playground) -> None:
    window.size(390, 844, phone=True)
    for other in ("", "transformers"):
        state = f"view=sampling&engine=llama.cpp&other={other}&p.top_k=6&p.top_p=0.9"
        window.post("url", {"url": "about:blank"})
        window.post("url", {"url": f"http://127.0.0.1:{server.server_port}/#{state}"})
        window.until("return document.querySelectorAll('.stage').length > 0")
        top = "return document.querySelector('#answer section').getBoundingClientRect().top"
        assert window.run(top) < 844 - 100
    assert window.run("return document.getElementById('set').offsetHeight") > 0
    window.click("#show-tokens")
    window.until("return document.querySelectorAll('#steps tr').length > 0")
    assert (
        window.run("return document.querySelector('#steps tr').getBoundingClientRect().top") < 844
    )


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_a_phone_and_a_desk(window: Browser, width: int) -> None:
    window.size(width, 900, phone=width < 500)
    window.click("#show-sampling")
    window.until("return document.querySelectorAll('.stage').length > 0")
    assert window.run("return document.documentElement.scrollWidth") <= width
    window.click("#show-speculative")
    for row in ("0.5, 0.375, 0.125", "model"):
        for name in ("target", "draft"):
            typed(window, name, row)
        assert window.run("return document.querySelectorAll('.drafts .stage').length") == 4
        assert window.run("return document.documentElement.scrollWidth") <= width
    assert all("(Unprocessable Entity)" in entry["message"] for entry in window.log("browser"))
