"""The page that shows all engine profiles side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sampling_ref import PROFILES, STEPS, Profile
from sampling_ref.tracing import draw_in_words
from tokenref.commands.sampling import choices_in_words, default_in_words, stage_choices_in_words

BEGINNING: Final = """\
# How engines sample

This page compares fourteen engines, step by step. Each engine is described by a profile in
`sampling_ref/engines`: frozen data, with the place in the engine's source for each line. The page
is generated from the profiles by `python -m authoring profiles`.

A step has one name on this page, whatever the engine calls it. `sampling_ref.step`,
`distribution`, `sample` and `Sampler` use the profiles; their parameters have the engine's own
names.
"""

OPEN_POINTS: Final = """\
These tables show what each engine does at the points that a step leaves open. Every choice is
listed, including those that are the step's default (see "The names of the steps" below).
"""

CLOSED_LIST: Final = """\
This list is complete. Your own chain (`sampling_ref.chain`) can use these steps with the
parameters and choices listed here.
"""


def engines_page(profiles: Mapping[str, Profile] = PROFILES) -> str:
    """Return the page that shows all profiles side by side."""
    records = list(profiles.values())
    parts = [
        BEGINNING,
        _heading("Sources"),
        _table(
            ("profile", "engine", "repository", "version"),
            [(f"`{one.name}`", one.title, one.repository, one.version) for one in records],
        ),
        _heading("The order of the steps"),
        _table(
            ("profile", "steps, first to last", "draw"),
            [(f"`{one.name}`", _order(one), draw_in_words(one.draw)) for one in records],
        ),
        _heading("When an engine draws nothing"),
        _table(
            (
                "profile",
                "greedy if",
                "among equal tokens it chooses",
                "steps that it still applies",
            ),
            [
                (
                    f"`{one.name}`",
                    one.greedy.condition,
                    one.greedy.ties,
                    ", ".join(one.greedy.after) or "none",
                )
                for one in records
                if one.greedy.condition
            ],
        ),
        _heading("Which log-probabilities are reported"),
        _table(
            ("profile", "name, the default first", "logits after", "source"),
            [
                (
                    f"`{one.name}`",
                    way.name,
                    way.after if isinstance(way.after, str) else ", ".join(way.after),
                    way.source,
                )
                for one in records
                for way in one.logprobs
            ],
        ),
        _heading("The same step in different engines"),
        OPEN_POINTS,
        *(_step_section(name, records) for name in STEPS),
        _heading("Parameters"),
        *(_parameter_section(one) for one in records),
        _heading("The names of the steps"),
        CLOSED_LIST,
        _table(
            ("step", "parameters", "choices, the default first", "what it does"),
            [
                (
                    f"`{step.name}`",
                    ", ".join(f"`{name}`" for name in step.parameters) or "none",
                    choices_in_words(step.choices) or "none",
                    step.why.replace("{", "").replace("}", ""),
                )
                for step in STEPS.values()
            ],
        ),
    ]
    return "\n".join(parts)


def _order(profile: Profile) -> str:
    steps: list[str] = []
    for stage in profile.stages:
        if not steps or steps[-1] != stage.step:
            steps.append(stage.step)
    return " → ".join(steps)


def _step_section(name: str, profiles: Sequence[Profile]) -> str:
    rows = [
        (
            f"`{profile.name}`",
            ", ".join(f"{ours}: `{theirs}`" for ours, theirs in stage.takes.items()) or "none",
            stage_choices_in_words(stage) or "none",
            stage.off_if or "never",
            " ".join(part for part in (stage.note, stage.source) if part),
        )
        for profile in profiles
        for stage in profile.stages
        if stage.step == name
    ]
    if not rows:
        return ""
    columns = ("profile", "parameters", "choices", "skipped if", "note and source")
    return f"### `{name}`\n\n{_table(columns, rows)}"


def _parameter_section(profile: Profile) -> str:
    rows = [
        (
            f"`{parameter.name}`",
            ", ".join(f"`{alias}`" for alias in profile.aliases_of(parameter.name)) or "none",
            f"`{default_in_words(parameter)}`",
            str(parameter.domain),
            parameter.width,
            f"{profile.engine_rules.get(parameter.name, '')} {parameter.source}".strip(),
        )
        for parameter in profile.parameters
    ]
    columns = (
        "parameter",
        "also",
        "default",
        "allowed here",
        "stored as",
        "the engine's own rule, source",
    )
    notes = "".join(f"\n{note}\n" for note in profile.notes)
    return f"### {profile.title}\n\n{_table(columns, rows)}{notes}"


def _heading(text: str) -> str:
    return f"\n## {text}\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
