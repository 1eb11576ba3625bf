r"""A pattern as instructions for the machine.

Definition
    `one` matches a character of a set; `split` goes on at `first`, and at `second` if that fails;
    `jump` goes on at `first`. `save` writes the place in the text into a register. `greedy` and
    `lazy` decide by the count in register `numbers[0]` whether to go round (`first`) or on
    (`second`). `stalled` leaves the loop if the body matched nothing. `atomic`, `ahead`, `behind`
    and their negatives run what begins at `first` up to a `match`, and go on at `second`. What is
    named by one character is a place.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from bpe_ref.oniguruma.nodes import (
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
from bpe_ref.unicode_tables import CodePoints

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
