"""A sampler with a memory, as an engine has it: history, adaptive state, random stream."""

from collections.abc import Mapping
from copy import copy
from math import inf
from typing import Any, get_args

from sampling_ref.engines.profile import Profile
from sampling_ref.errors import HistoryError, ParameterError, RandomNumberError, RowError, shown
from sampling_ref.evaluation import Precision, evaluation, read_profile
from sampling_ref.parameters import is_whole, read_choice, read_history
from sampling_ref.random.sources import Given, Randomness, Streams, TorchStream, Uniforms
from sampling_ref.row import AnyHistory, AnyRow, TokenId, read_logits
from sampling_ref.tracing import Trace


class Sampler:
    """One engine's sampler over the tokens of one text.

    `sample` returns a token and accepts nothing by itself, as a program may want to throw
    the token away; `accept` makes a token part of the history. With a `seed`, llama.cpp
    and torch on a CPU are followed along their own random streams; otherwise each
    `sample` takes the random numbers that it is given.

    `precision` is "f32" for a seeded sampler, which follows the engine itself, and "exact"
    for all others, if nothing else is said.

    >>> sampler = Sampler("llama.cpp", seed=7, prompt=[0], repeat_penalty=2.0, top_k=1)
    >>> sampler.sample([3.0, 2.0])
    1
    >>> sampler.accept(1)
    >>> sampler.state["history"]
    (0, 1)
    >>> sampler
    <Sampler 'llama.cpp', repeat_penalty=2.0, top_k=1, f32, seeded, 2 tokens>
    """

    def __init__(
        self,
        profile: str,
        seed: int | None = None,
        prompt: AnyHistory = (),
        *,
        precision: Precision | None = None,
        **params: Any,
    ) -> None:
        self._profile = read_profile(profile)
        self._precision: Precision = precision or ("exact" if seed is None else "f32")
        read_choice("precision", self._precision, get_args(Precision))
        self._parameters = self._profile.read(params)
        self._history = read_history(prompt, None, "prompt")
        self._prompt_length = len(self._history)
        self._stream = None if seed is None else own_stream(self._profile, seed)
        self._memory: dict[str, Any] = {}
        self._size: int | None = None
        self._pending: tuple[TokenId, Mapping[str, Any]] | None = None
        self._trace = Trace(())

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with containers of its own, so that a copy goes its own way."""
        own = {name: copy(vars(self)[name]) for name in ("_history", "_memory", "_stream")}
        return {**vars(self), **own, "_profile": self._profile.name}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take a state over."""
        vars(self).update(state)
        self._profile = read_profile(state["_profile"])

    def __repr__(self) -> str:
        """Return the engine, the parameters that differ from its defaults, and the state."""
        defaults = self._profile.read({})
        changed = [
            f", {name}={shown(value)}"
            for name, value in self._parameters.items()
            if value != defaults[name]
        ]
        return (
            f"<Sampler {self._profile.name!r}{''.join(changed)}, {self._precision}, "
            f"{'seeded' if self._stream else 'no seed'}, {len(self._history)} tokens>"
        )

    def sample(self, logits: AnyRow, uniforms: Uniforms = ()) -> TokenId:
        """Return the next token for a row of logits; nothing is accepted yet.

        `uniforms` are the random numbers for this token, if the sampler has no seed.
        """
        given = Given(uniforms)
        if self._stream is not None and given.left():
            raise RandomNumberError("uniforms must not be given to a sampler that has a seed")
        row = read_logits(logits)
        if self._size is None:  # no token of the prompt was compared with a row yet
            read_history(self._history[: self._prompt_length], len(row), "prompt")
        elif self._size != len(row):
            raise RowError(f"logits must have {self._size} numbers, as before, got {len(row)}")
        made = evaluation(
            self._profile,
            row,
            self._history,
            self._parameters,
            prompt_length=self._prompt_length,
            uniforms=self._stream or given,
            state=dict(self._memory),
            precision=self._precision,
        )
        self._size = len(row)
        run = made.run()
        token = made.draw(run)
        self._trace = run.trace
        self._pending = None
        for applied in run.applied:
            rule = applied.rule
            if rule.remember is None:
                continue
            about = made.situation, applied.values
            noted = rule.remember(applied.before, applied.after, *about, token)
            if rule.remembers_at == "draw":
                self._memory |= noted
            else:
                self._pending = token, noted
        return token

    def accept(self, token: TokenId) -> None:
        """Make a token part of the history."""
        token = token.tolist() if hasattr(token, "tolist") else token
        if not is_whole(token, most=inf if self._size is None else self._size - 1):
            rule = "" if self._size is None else f" below {self._size}"
            raise HistoryError(f"token must be a token id{rule}, got {shown(token)}")
        if self._pending is not None:
            drawn, noted = self._pending
            self._memory |= noted if drawn == token else {}
        self._pending = None
        self._history.append(token)

    @property
    def trace(self) -> Trace:
        """What each step did to the row of the last `sample`."""
        return self._trace

    @property
    def state(self) -> dict[str, Any]:
        """Everything that the next token depends on besides its row."""
        return {
            **self._memory,
            "history": tuple(self._history),
            "prompt_length": self._prompt_length,
            "words_taken": 0 if self._stream is None else self._stream.taken(),
        }


def own_stream(profile: Profile, seed: int) -> Randomness:
    """Return an engine's own random numbers with a seed. Raises `ParameterError`.

    >>> own_stream(read_profile("llama.cpp"), 42).uniform("xtc", "f32")
    0.3745401203632355
    """
    own = profile.draw.own_stream
    if own == "libstdc++ mt19937":
        return Streams(seed)
    if own == "torch mt19937":
        return TorchStream(seed)
    rule = f"must be None for {profile.name}, whose own random stream is not known here"
    raise ParameterError("seed", seed, rule)
