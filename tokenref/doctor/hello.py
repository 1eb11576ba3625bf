"""What the answer to hello says: what the program is, and what it wants to be asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from tokenref.doctor.finding import Finding
from tokenref.doctor.hints import near
from tokenref.protocol.messages import HelloAnswer
from tokenref.record import SAMPLER_OPS, Case, op_of
from tokenref.rules import rule_names

__all__ = ["about_hello", "profiles_of"]


def profiles_of(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Return the profiles that the records of each operation have."""
    found: dict[str, set[str]] = {}
    for case in cases:
        found.setdefault(op_of(case), set()).add(case.profile)
    return found


def about_hello(hello: HelloAnswer, profiles: Mapping[str, AbstractSet[str]]) -> Iterator[Finding]:
    """Say what the program is, and which of what it names no record asks for.

    `profiles` are those of each operation that are in the records.
    """
    language = f", {hello.impl.language}" if hello.impl.language else ""
    yield Finding(
        "ok",
        "hello",
        f"it is {hello.impl.name} {hello.impl.version}{language}; "
        f"operations: {', '.join(hello.ops) or 'none'}",
    )
    if not hello.ops:
        yield Finding(
            "problem",
            "hello",
            "without any operation nothing can be asked",
            right='"ops":{"encode":{"profiles":["definition"]}}',
        )
    for op, ability in hello.ops.items():
        if op not in profiles:
            yield Finding("note", op, "the fixtures have no record of this operation")
            continue
        yield from _about_profiles(op, ability.profiles, sorted(profiles[op]))


def _about_profiles(op: str, named: Sequence[str], known: Sequence[str]) -> Iterator[Finding]:
    """Say which of the profiles that the program names are in no record."""
    asked = set(known) & set(named)
    rules = set(rule_names(op)) if asked and op in SAMPLER_OPS else set()
    rare = [profile for profile in named if profile not in asked and profile in rules]
    if rare:
        verb = "rule that it names has" if len(rare) == 1 else "rules that it names have"
        said = f"{len(rare)} {verb} no record; only `tokenref fuzz` asks for them"
        yield Finding("note", op, said, hint=", ".join(rare)[:400])
    for profile in named:
        if profile not in asked and profile not in rare:
            yield Finding(
                "note" if asked else "problem",
                op,
                f"no record of {op} has the profile {profile!r}{near(profile, known)}",
                hint=f"profiles of {op}: {', '.join(known)}"[:400],
            )
