r"""Match by backtracking, step by step: what a pattern means.

The program
-----------

A pattern is written as instructions for the machine.

Definition
    `one` matches a character of a set; `split` goes on at `first`, and at `second` if that fails;
    `jump` goes on at `first`. `save` writes the place in the text into a register. `greedy` and
    `lazy` decide by the count in register `numbers[0]` whether to go round (`first`) or on
    (`second`). `stalled` leaves the loop if the body matched nothing. `atomic`, `ahead`, `behind`
    and their negatives run what begins at `first` up to a `match`, and go on at `second`. What is
    named by one character is a place.

The machine
-----------

Definition
    The nodes are written as instructions. A thread is a place in the instructions, a place in the
    text, and registers. An instruction that leaves a choice puts the thread for its second
    possibility on a stack and goes on with the first; one that fails goes on with the thread on
    top. So the match is the first in the order of preference: branches from the left, greedy
    repetition as often as can be. What is atomic, or looks ahead or behind, runs on a stack of
    its own and leaves no choices. A repetition without bound ends when its body matched the
    empty text.

    Look-behind tries the starts from the nearest to the farthest, each time to match up to here.
    `\G` is where the search began. `\K` moves the start of the match.

Representation
    Characters are stand-ins, sets are sets of them. Registers are a tuple: the count of each
    repetition, where its body began, the ends of each captured group, and where the match starts.

Bounded
    Each instruction takes one of the steps that the caller allows; when they are used up,
    `OutOfStepsError` is raised.

Source: https://github.com/kkos/oniguruma, doc/RE, src/regexec.c; the form follows Russ Cox,
"Regular Expression Matching: the Virtual Machine Approach", 2009,
https://swtch.com/~rsc/regexp/regexp2.html
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from bpe_ref.patterns.oniguruma.nodes import (
    Again,
    Atomic,
    Capture,
    Choice,
    Keep,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Sequence,
    width,
)
from bpe_ref.patterns.unicode_tables import CodePoints

KEPT = 0
"""The register of the start of the match."""


class Step(NamedTuple):
    """An instruction: its name, and whatever it needs."""

    name: str
    chars: frozenset[str] = frozenset()
    first: int = 0
    second: int = 0
    numbers: tuple[int, ...] = ()


@dataclass
class Program:
    """Instructions, how many registers they need, and the set of letters of words."""

    steps: list[Step] = field(default_factory=list)
    registers: int = 1
    words: frozenset[str] = frozenset()


def write_program(
    node: Node, narrowed: Callable[[CodePoints], frozenset[str]], words: CodePoints
) -> Program:
    """Return the instructions for a node; `narrowed` gives the stand-ins of a set."""
    program = Program(words=narrowed(words))
    _Writer(program, narrowed, {}).write(node)
    program.steps.append(Step("match"))
    return program


@dataclass(frozen=True)
class _Writer:
    program: Program
    narrowed: Callable[[CodePoints], frozenset[str]]
    captures: dict[int, int]  # the first register of each group

    def add(self, step: Step) -> int:
        self.program.steps.append(step)
        return len(self.program.steps) - 1

    def here(self) -> int:
        return len(self.program.steps)

    def register(self, count: int) -> int:
        self.program.registers += count
        return self.program.registers - count

    def capture(self, number: int) -> int:
        if number not in self.captures:
            self.captures[number] = self.register(2)
        return self.captures[number]

    def write(  # noqa: C901, PLR0912 -- one branch for each kind of node
        self, node: Node
    ) -> None:
        steps = self.program.steps
        match node:
            case One(members, also):
                if also:
                    strings = tuple(Sequence(tuple(map(One, string))) for string in also)
                    self.write(Choice((One(members), *strings)))
                else:
                    self.add(Step("one", self.narrowed(members)))
            case Sequence(items):
                for item in items:
                    self.write(item)
            case Choice(branches):
                jumps = []
                for branch in branches[:-1]:
                    split = self.add(Step("split"))
                    self.write(branch)
                    jumps.append(self.add(Step("jump")))
                    steps[split] = Step("split", first=split + 1, second=self.here())
                self.write(branches[-1])
                for jump in jumps:
                    steps[jump] = Step("jump", first=self.here())
            case Repeat():
                self.repeat(node)
            case Capture(number, body):
                register = self.capture(number)
                self.add(Step("save", first=register + 1))
                self.write(body)
                self.add(Step("captured", first=register))
            case Again(numbers):
                self.add(Step("again", numbers=tuple(map(self.capture, numbers))))
            case Atomic(body):
                self.inner(Step("atomic"), body, "match")
            case Look(body, behind, negative):
                least, most = width(body) if behind else (0, 0)
                name = ("not " if negative else "") + ("behind" if behind else "ahead")
                numbers = (least, -1 if most is None else most)
                self.inner(Step(name, numbers=numbers), body, "match here" if behind else "match")
            case Place(name):
                self.add(Step(name))
            case Keep():
                self.add(Step("save", first=KEPT))

    def inner(self, step: Step, body: Node, end: str) -> None:
        """Write a body that runs on a stack of its own; the step says where to go on."""
        start = self.add(step)
        self.write(body)
        self.add(Step(end))
        self.program.steps[start] = step._replace(first=start + 1, second=self.here())

    def repeat(self, node: Repeat) -> None:
        body, least, most, greedy = node.body, node.least, node.most, node.greedy
        if most == 0:
            return
        counter, began = self.register(1), self.register(1)
        may_stall = most is None and width(body)[0] == 0
        self.add(Step("count", first=counter, second=0))
        name = "greedy" if greedy else "lazy"
        loop = self.add(Step(name))
        if may_stall:
            self.add(Step("save", first=began))
        self.write(body)
        if may_stall:
            stalled = self.add(Step("stalled"))
        self.add(Step("again from", first=counter, second=loop))
        numbers = (counter, least, -1 if most is None else most)
        self.program.steps[loop] = Step(name, first=loop + 1, second=self.here(), numbers=numbers)
        if may_stall:
            self.program.steps[stalled] = Step("stalled", first=began, second=self.here())


Registers: TypeAlias = tuple[int, ...]


class OutOfStepsError(Exception):
    """The steps allowed are used up."""


class Machine:
    """One search: a text of stand-ins and the original, and the steps left."""

    def __init__(self, program: Program, standing: str, text: str, steps: int) -> None:
        self.program = program
        self.standing = standing
        self.text = text
        self.left = steps
        self.began = 0

    def search(self, start: int) -> tuple[int, int] | None:
        """Return the first match that starts at `start` or later.

        Raises `OutOfStepsError`.
        """
        self.began = start
        for at in range(start, len(self.text) + 1):
            registers = (at, *([-1] * (self.program.registers - 1)))
            found = self.run(0, at, registers, at)
            if found is not None:
                return found[1][KEPT], found[0]
        return None

    def run(  # noqa: C901, PLR0912, PLR0915 -- one branch for each instruction
        self, counter: int, at: int, registers: Registers, here: int
    ) -> tuple[int, Registers] | None:
        """Run from an instruction to its end; return where in the text it ends, or None."""
        steps, text = self.program.steps, self.standing
        stack: list[tuple[int, int, Registers]] = []
        while True:
            self.left -= 1
            if self.left < 0:
                raise OutOfStepsError
            step = steps[counter]
            counter += 1
            matched = True
            match step.name:
                case "one":
                    matched = at < len(text) and text[at] in step.chars
                    at += 1
                case "split":
                    stack.append((step.second, at, registers))
                case "jump":
                    counter = step.first
                case "greedy" | "lazy":
                    number, least, most = step.numbers
                    count = registers[number]
                    if count == most:
                        counter = step.second
                    elif count >= least:
                        ways = (step.first, step.second)
                        counter, other = ways if step.name == "greedy" else ways[::-1]
                        stack.append((other, at, registers))
                case "count":
                    registers = _with(registers, step.first, step.second)
                case "again from":
                    registers = _with(registers, step.first, registers[step.first] + 1)
                    counter = step.second
                case "stalled":
                    if registers[step.first] == at:
                        counter = step.second
                case "save":
                    registers = _with(registers, step.first, at)
                case "captured":
                    began = registers[step.first + 1]
                    # Start and end are set at once: inside the group its former text is found.
                    registers = _with(registers, step.first, began << 32 | at)
                case "again":
                    length = self.captured_again(step.numbers, at, registers)
                    matched = length is not None
                    at += length or 0
                case "atomic" | "ahead":
                    found = self.run(step.first, at, registers, at)
                    matched = found is not None
                    if found is not None:
                        end, registers = found
                        at = end if step.name == "atomic" else at
                    counter = step.second
                case "behind":
                    found = self.run_behind(step, at, registers)
                    matched = found is not None
                    registers = registers if found is None else found[1]
                    counter = step.second
                case "not ahead":
                    matched = self.run(step.first, at, registers, at) is None
                    counter = step.second
                case "not behind":
                    matched = self.run_behind(step, at, registers) is None
                    counter = step.second
                case "match":
                    return at, registers
                case "match here":
                    if at == here:
                        return at, registers
                    matched = False
                case _:
                    matched = self.is_place(step.name, at)
            if not matched:
                if not stack:
                    return None
                counter, at, registers = stack.pop()

    def run_behind(self, step: Step, at: int, registers: Registers) -> tuple[int, Registers] | None:
        """Match up to `at`, from the nearest start to the farthest."""
        least, most = step.numbers
        farthest = 0 if most < 0 else max(0, at - most)
        for start in range(at - least, farthest - 1, -1):
            found = self.run(step.first, start, registers, at)
            if found is not None:
                return found
        return None

    def captured_again(self, numbers: tuple[int, ...], at: int, registers: Registers) -> int | None:
        """Return the length of the captured text, if it comes next."""
        for number in reversed(numbers):
            both = registers[number]
            if both >= 0:
                captured = self.text[both >> 32 : both & 0xFFFFFFFF]
                if self.text.startswith(captured, at):
                    self.left -= len(captured)
                    return len(captured)
        return None

    def is_place(self, name: str, at: int) -> bool:
        """Tell whether this is the place."""
        text, words = self.standing, self.program.words
        end = len(text)
        match name:
            case "^":
                return at == 0 or (at < end and text[at - 1] == "\n")
            case "$":
                return at == end or text[at] == "\n"
            case "A":
                return at == 0
            case "z":
                return at == end
            case "Z":
                return at == end or (at == end - 1 and text[at] == "\n")
            case "G":
                return at == self.began
        before = at > 0 and text[at - 1] in words
        after = at < end and text[at] in words
        return (before != after) == (name == "b")


def _with(registers: Registers, number: int, value: int) -> Registers:
    return (*registers[:number], value, *registers[number + 1 :])
