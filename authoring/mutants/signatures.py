"""Signatures of likely causes: the mutants, the other rules of each step, and the rules of engines.

The gate runs them all. `tokenref.diagnosis` compares the failures of an engine with them.
"""

import lzma
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from authoring.mutants.gate import GateReport, Trial
from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import Request, SamplersWithHandler, question
from sampling_ref import PROFILES
from tokenref.answers import Answer, Crashed
from tokenref.diagnosis.signatures import PATH, Kind, Known, Signature
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.record import SAMPLER_OPS, canonical_json
from tokenref.result import answer_digest, digest
from tokenref.rules import STANDARD, choices_of, points, rule_name, slug


def _of_points() -> Iterator[Mutant]:
    """Yield an engine for each choice of each step that it makes instead of the right one."""
    for op in SAMPLER_OPS:
        for point, choices in points(op).items():
            for choice in choices:
                part = f"{point.replace('_', '-')}.{slug(choice)}"
                yield _another(f"{part} of {op}", {op: {point: choice}})


def _of_engines() -> Iterator[Mutant]:
    """Yield an engine that answers questions about the standard rules as another engine."""
    for profile in PROFILES.values():
        steps = {stage.step: stage.choices for stage in reversed(profile.stages)}
        known = {
            op: {
                point: choice
                for point, choice in choices.items()
                if choice in points(op).get(point, ())
            }
            for op, choices in steps.items()
            if op in SAMPLER_OPS
        }
        yield _another(profile.name, known, only_standard=True)


def _another(
    name: str, rules: Mapping[str, Mapping[str, Any]], *, only_standard: bool = False
) -> Mutant:
    """Return an engine that makes other choices in some operations."""

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        asked, other = choices_of(op, session.profile), rules.get(op)
        if asked is None or other is None:
            return session.answer(op, request)
        try:
            name = rule_name(op, **{**asked, **other})
        except ValueError:  # the point is not open
            return session.answer(op, request)
        return SamplerSession(name, session.tools).answer(op, request)

    engine = SamplersWithHandler(name, handle=handle)
    profiles = frozenset([STANDARD]) if only_standard else None
    witness = question(next(iter(rules)), {})
    return Mutant(name, name, engine, witness, frozenset(rules), profiles)


OTHER_RULES: Final = (*_of_points(), *_of_engines())


def known(report: GateReport) -> Known:
    """Return the signatures of everything that the gate ran and that a record rejects."""
    found = [_signature("bug", trial) for trial in report.trials]
    found += [
        _signature("engine" if trial.mutant.name in PROFILES else "rule", trial)
        for trial in report.others
    ]
    return Known([each for each in found if each.answers], frozenset(map(digest, report.left_out)))


_CRASHED: Final = answer_digest("", Crashed(""))
"""The digest of no answer: another program with the mistake need not crash where a mutant does."""


def _signature(kind: Kind, trial: Trial) -> Signature:
    first, *_ = trial.mutant.description.split(". ")
    answers = {
        digest(record): answer for record, answer in trial.answers.items() if answer != _CRASHED
    }
    return Signature(kind, trial.mutant.name, first.rstrip("."), answers)


def write_signatures(report: GateReport, *, only_check: bool) -> bool:
    """Write the signatures, or compare them; return whether the file has this content now."""
    data = pack_known(known(report))
    if PATH.is_file() and lzma.decompress(PATH.read_bytes()) == data:
        return True
    click.echo(
        f"{PATH.name} {'differs from what would be written' if only_check else 'is written'}"
    )
    if not only_check:
        PATH.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return not only_check


def pack_known(known: Known) -> bytes:
    """Return the content of the file before compression; the inverse of `unpack_known`.

    >>> from tokenref.diagnosis.signatures import unpack_known
    >>> known = Known([Signature("bug", "a-bug", "It is wrong.", {"00000001": "0a0b"})])
    >>> unpack_known(pack_known(known)) == known
    True
    """
    found = list(known.causes)
    records = sorted({record for each in found for record in each.answers})
    place = {record: at for at, record in enumerate(records)}
    causes = []
    for each in found:
        answers = sorted((place[record], answer) for record, answer in each.answers.items())
        steps = [
            at - before
            for (at, _), (before, _) in zip(answers, [(0, ""), *answers[:-1]], strict=True)
        ]
        of_answers = "".join(answer for _, answer in answers)
        causes.append([each.kind, each.name, each.says, steps, of_answers])
    content = {"format": 1, "records": "".join(records), "causes": causes}
    return canonical_json({**content, "left_out": "".join(sorted(known.left_out))})
