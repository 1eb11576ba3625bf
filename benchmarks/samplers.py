"""How fast the sampler reference is, beside transformers on the CPU, in the same run.

    pip install '.[sampling-engines]'
    python benchmarks/samplers.py

Each round measures the engine and the reference one after the other, in the process's own
time, torch with one thread; what is printed is the median of the ratios. Rows are lists of
floats with 128,256 logits, as for Llama 3: normally distributed, peaked (one token has half
of the probability), and flat.
"""

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from transformers.generation.logits_process import (
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from sampling_ref import distribution, lz_penalty, sample, step

SIZE = 128_256
HISTORY = 64
CHAIN_TARGET = 4.0
TOP_P_TARGET = 5.0
GROWTH_TARGET = 1.5


def rows(random_numbers: random.Random) -> dict[str, list[float]]:
    """Return the rows by name; all numbers are 32-bit floats."""
    normal = [random_numbers.gauss(0, 3) for _ in range(SIZE)]
    flat = [random_numbers.gauss(0, 0.01) for _ in range(SIZE)]
    peaked = [random_numbers.gauss(0, 2) for _ in range(SIZE)]
    peaked[SIZE // 2] = math.log(math.fsum(map(math.exp, peaked)))
    as_given = {"normal": normal, "peaked": peaked, "flat": flat}
    return {name: torch.tensor(row).tolist() for name, row in as_given.items()}


def seconds(work: Callable[[], object]) -> float:
    """Return how much of the process's time one call takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ratio(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Return the median of ours / theirs, and the median time of ours in milliseconds."""
    ours()
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    times = statistics.median(mine for mine, _ in pairs) * 1000
    return statistics.median(mine / other for mine, other in pairs), times


def chains(
    row: list[float], history: list[int]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return Antigravity's default chain: ours, with a draw, and that of transformers."""
    scores, ids = torch.tensor([row]), torch.tensor([history])
    steps = [
        RepetitionPenaltyLogitsProcessor(1.1),
        TemperatureLogitsWarper(0.8),
        TopKLogitsWarper(40),
        TopPLogitsWarper(0.9),
    ]

    def theirs() -> object:
        processed = scores
        for each in steps:
            processed = each(ids, processed)
        return torch.multinomial(torch.softmax(processed, dim=-1), 1).item()

    return lambda: sample("antigravity", row, history, uniforms=[0.5]), theirs


def nuclei(row: list[float]) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return top-p 0.9 over the whole row: ours, and that of transformers."""
    scores, ids = torch.tensor([row]), torch.tensor([[0]])
    warper = TopPLogitsWarper(0.9)
    return lambda: step("transformers", "top_p", row, top_p=0.9), lambda: warper(ids, scores)


def line(what: str, target: float, measured: float, milliseconds: float) -> str:
    """Return a line of the table."""
    verdict = "met" if measured <= target else "missed"
    return f"{what:58} at most {target:<5} {measured:6.2f}  {milliseconds:8.1f} ms  {verdict}"


def lz_growth(row: Sequence[float], rounds: int) -> tuple[float, float]:
    """Return how much longer a step takes with a history a thousand times as long."""
    source = random.Random(5)
    histories = [[source.randrange(SIZE) for _ in range(length)] for length in (1000, 1_000_000)]
    short, long = ([*history[:-600], *([1, 2, 3] * 200)] for history in histories)
    return ratio(lambda: lz_penalty(row, long), lambda: lz_penalty(row, short), rounds)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per line; the median counts")
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    source = random.Random(0)
    history = [source.randrange(SIZE) for _ in range(HISTORY)]
    print(f"{'what':58} {'target':13} {'ratio':6}  {'ours':>11}  verdict")
    for name, row in rows(source).items():
        result = ratio(*chains(row, history), rounds)
        print(line(f"{name} row: Antigravity's chain, times transformers", CHAIN_TARGET, *result))
        result = ratio(*nuclei(row), rounds)
        print(line(f"{name} row: top-p 0.9, times transformers", TOP_P_TARGET, *result))
        if name == "normal":
            grown = lz_growth(row, min(rounds, 5))
            print(line("LZ penalty: 10^6 tokens of history, times 10^3", GROWTH_TARGET, *grown))
            whole = seconds(partial(distribution, "llama.cpp", row)) * 1000
            print(
                f"{'normal row: the whole chain of llama.cpp, probabilities':58} {whole:33.1f} ms"
            )


if __name__ == "__main__":
    main()
