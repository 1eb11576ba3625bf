"""The 32-bit version is, bit for bit and step for step, what a Rust program computes.

`antigravity.rs` beside this file is that program, of our own, written from the published
description. It is compiled here; without a Rust compiler these tests are skipped.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isnan, nan
from pathlib import Path
from random import Random
from struct import pack, unpack

import pytest

from sampling_ref.errors import RowError
from sampling_ref.generation import Times
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.orders import last_greatest
from tests.sampling.antigravity_stages import Settings, stages
from tests.texts import CAMPAIGN

RUSTC = shutil.which("rustc")
pytestmark = pytest.mark.skipif(RUSTC is None, reason="needs rustc, the Rust compiler")

NONE_DRAWN = "none"
JUST_BELOW_1 = 1 - 2.0**-24

Answer = Callable[[list[str]], list[str]]


@pytest.fixture(scope="module", params=[("-O",), ()], ids=["optimised", "plain"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Compile the program; return a function from its requests to its answers."""
    source = Path(__file__).with_name("antigravity.rs")
    binary = tmp_path_factory.mktemp("antigravity") / "antigravity"
    command = [str(RUSTC), "--edition", "2021", *request.param, "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True)

    def answer(requests: list[str]) -> list[str]:
        text = "".join(f"{line}\n" for line in requests)
        done = subprocess.run([binary], input=text, capture_output=True, check=True, text=True)
        return done.stdout.splitlines()

    return answer


@dataclass(frozen=True)
class Call:
    row: list[float]
    history: list[int]
    r: float
    settings: Settings


def bits(number: float) -> str:
    return f"{unpack('<I', pack('<f', number))[0]:08x}"


def request(call: Call) -> str:
    settings = call.settings
    numbers = (settings.temperature, settings.top_p, settings.repetition_penalty, call.r)
    patterns = " ".join(bits(to_binary32(number)) for number in numbers)
    history = " ".join(map(str, call.history))
    row = " ".join(map(bits, call.row))
    return f"sample {patterns} {settings.top_k} {settings.repetition_window} : {history} : {row}"


def answer_of(call: Call) -> str:
    """Say what the program should say, from the 32-bit version's stages."""
    told = stages(call.row, call.history, call.r, call.settings, precision="f32")
    parts = [" ".join(bits(float(x)) for x in told.penalised)]
    parts += [" ".join(bits(float(x)) for x in row) for row in (told.scaled, told.probabilities)]
    parts += [" ".join(map(str, tokens)) for tokens in (told.top_k, told.top_p)]
    parts += [NONE_DRAWN if told.is_exhausted else str(told.token)]
    return ";".join(parts)


def assert_same(program: Answer, calls: list[Call]) -> list[str]:
    answers = program(list(map(request, calls)))
    assert len(answers) == len(calls)
    for call, told in zip(calls, answers, strict=True):
        assert told.split(";") == answer_of(call).split(";"), call
    return answers


def rows(random: Random) -> Iterator[list[float]]:
    """Yield rows of every kind, 32-bit numbers, at least one of them finite."""
    while True:
        size = random.choice([1, 2, 3, 7, 20, 40, 60, 150])
        tied = [random.choice([-1.0, -0.0, 0.0, 0.5, 1.0]) for _ in range(size)]
        normal = [random.gauss(0, 4) for _ in range(size)]
        flat = [random.gauss(0, 0.01) for _ in range(size)]
        wide = [random.uniform(-120, 120) for _ in range(size)]
        nearly = [1 + random.randrange(4) * 2.0**-23 for _ in range(size)]
        tiny = [random.choice([-1, 1]) * random.random() * 2.0**-125 for _ in range(size)]
        for row in (tied, normal, flat, wide, nearly, tiny):
            if random.random() < 0.2:
                row[random.randrange(size)] = random.choice([30.0, 80.0, 110.0])
            if random.random() < 0.3:
                for token in random.sample(range(size), size // 2):
                    row[token] = -inf
            if max(row) > -inf:
                yield list(map(to_binary32, row))


def settings_of(random: Random) -> Settings:
    return Settings(
        temperature=random.choice([0, 0.8, 0.8, 1, 0.01, 0.5, 1.7, 40.0, random.random() + 0.05]),
        top_p=random.choice([0.9, 0.9, 0, 1, 0.5, 0.25, random.random()]),
        top_k=random.choice([40, 40, 1, 2, 5, 100]),
        repetition_penalty=random.choice([1.1, 1.1, 1, 2, 0.5, 1 + random.random()]),
        repetition_window=random.choice([64, 64, 0, 1, 4]),
    )


def calls(seed: int, count: int) -> list[Call]:
    random = Random(seed)
    drawn = rows(random)
    made = []
    for _ in range(count):
        row = next(drawn)
        length = random.choice([0, 1, 5, 30, 90])
        favoured = random.randrange(len(row))
        history = [random.choice([favoured, random.randrange(len(row))]) for _ in range(length)]
        r = random.choice([0.0, JUST_BELOW_1, 0.5, random.randrange(2**24) * 2.0**-24])
        made.append(Call(row, history, r, settings_of(random)))
    return made


def test_every_step_of_every_row_has_the_bits_of_the_rust_program(program: Answer) -> None:
    answers = assert_same(program, calls(seed=CAMPAIGN, count=3000 * CAMPAIGN))
    assert {NONE_DRAWN, "0", "1", "2"} <= {answer.split(";")[-1] for answer in answers}


def test_a_row_of_a_vocabulary_has_the_bits_of_the_rust_program(program: Answer) -> None:
    random = Random(5)
    row = [to_binary32(random.gauss(0, 3)) for _ in range(20_000)]
    history = [random.randrange(len(row)) for _ in range(100)]
    assert_same(program, [Call(row, history, r, Settings()) for r in (0.0, 0.7, JUST_BELOW_1)])


def test_temperature_0_finds_the_last_greatest_of_any_bits_as_rust_does(program: Answer) -> None:
    random = Random(6)
    odd = [nan, -nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.0**-149]
    made = []
    for _ in range(1000 * CAMPAIGN):
        row = [random.choice(odd) for _ in range(random.randrange(1, 6))]
        if random.random() < 0.3:  # any pattern, but for NaNs that would signal
            pattern = random.randrange(2**32)
            (number,) = unpack("<f", pack("<I", pattern))
            row.append(number if number == number else unpack("<f", pack("<I", pattern | 2**22))[0])  # noqa: PLR0124 - NaN
        made.append(Call(row, [], 0.5, Settings(temperature=0)))
    answers = program(list(map(request, made)))
    assert [int(told.split(";")[-1]) for told in answers] == [last_greatest(x.row) for x in made]
    decent = [call for call in made if -inf < max(call.row) < inf and not any(map(isnan, call.row))]
    history = [random.randrange(8) for _ in range(3)]
    again = [
        Call(call.row, [token % len(call.row) for token in history], 0.5, call.settings)
        for call in decent
    ]
    assert_same(program, again)


def flat_rows(count: int) -> list[Call]:
    """Draw rows of 40 tokens that all stay, each with the largest random number there is."""
    random = Random(7)
    settings = Settings(temperature=1, top_p=1)
    return [
        Call([to_binary32(random.gauss(0, 1)) for _ in range(40)], [], JUST_BELOW_1, settings)
        for _ in range(count)
    ]


def test_in_a_quarter_of_rows_of_40_candidates_the_largest_random_number_reaches_none(
    program: Answer,
) -> None:
    flat = flat_rows(1000 * CAMPAIGN)
    answers = assert_same(program, flat)
    exhausted = sum(answer.endswith(NONE_DRAWN) for answer in answers) / len(flat)
    assert 0.15 < exhausted < 0.35


def test_where_this_package_refuses_a_row_the_program_draws_nothing(program: Answer) -> None:
    hot = Settings(temperature=0.1, repetition_penalty=0.5)
    broken = [
        Call([3e38, 1.0], [], 0.5, hot),  # infinite after the temperature
        Call([3e38, 1.0], [0], 0.5, Settings(repetition_penalty=0.5)),  # after the penalty
        Call([-3e38, -3e38], [], 0.5, hot),  # all impossible after the temperature
        Call([nan, 1.0], [], 0.5, Settings()),
        Call([inf, 1.0], [], 0.5, Settings()),
        Call([-inf, -inf], [], 0.5, Settings()),
    ]
    for call, told in zip(broken, program(list(map(request, broken))), strict=True):
        assert told.endswith(NONE_DRAWN)
        with pytest.raises(RowError):
            answer_of(call)


def test_the_report_has_the_digits_that_rust_prints(program: Answer) -> None:
    random = Random(8)
    pairs = [(random.random() * 2, random.random() / 10) for _ in range(500)]
    pairs += [(place / 8000, place / 80_000) for place in range(200)]  # ties of the last digit
    expected, requests = [], []
    for first, mean in pairs:
        expected.append(Times(first, (mean,)).report(as_published=True).replace("\n", "|"))
        words = (unpack("<Q", pack("<d", seconds * 1000))[0] for seconds in (first, mean))
        requests.append("format " + " ".join(f"{word:016x}" for word in words))
    expected.append(Times(0.0, ()).report(as_published=True).replace("\n", "|"))
    requests.append(f"format {0:016x} {0x7FF8 << 48:016x}")
    assert program(requests) == expected
