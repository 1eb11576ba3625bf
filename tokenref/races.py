"""The draws by noise among the rules: what campaigns ask about them, and how they are judged."""

from typing import Final

from tokenref.rules import RACES, choices_of, rule_names

RACE_PROFILES: Final = tuple(
    name
    for name in rule_names("draw")
    if (choices_of("draw", name) or {}).get("method") in {*RACES, "torch race", "torch walk"}
)
"""The rules of draws by noise, and of torch's draws, as profiles."""
