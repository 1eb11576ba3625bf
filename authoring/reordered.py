"""A profile of a sampler with one step elsewhere: what mutants do, and what cases must notice."""

from dataclasses import replace

from sampling_ref import Profile

__all__ = ["with_step_at"]


def with_step_at(profile: Profile, step: str, place: int) -> Profile:
    """Return a profile in which the stages of one step stand at another place: -1 is the last.

    >>> from sampling_ref import PROFILES
    >>> vllm = PROFILES["vllm"]
    >>> for place in (0, 1, -1):
    ...     steps = [stage.step for stage in with_step_at(vllm, "min_p", place).stages]
    ...     steps.index("min_p") - (len(steps) if place < 0 else 0)
    0
    1
    -1
    """
    those = [stage for stage in profile.stages if stage.step == step]
    rest = [stage for stage in profile.stages if stage.step != step]
    at = place if place >= 0 else len(rest) + 1 + place
    return replace(profile, stages=(*rest[:at], *those, *rest[at:]))
