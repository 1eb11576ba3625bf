"""A small language model, which counts what followed the last tokens.

Witten and Bell, "The zero-frequency problem: Estimating the probabilities of novel events in
adaptive text compression", 1991, method C (https://doi.org/10.1109/18.87000), as in Jelinek
and Mercer's interpolation. The rule, for a token w after the last tokens c, which are at most
order - 1, and c' without the oldest of them:

    p(w | c) = (n(c w) + t(c) * p(w | c')) / (n(c) + t(c))

    n(c)    how often c was followed by anything in the training text
    t(c)    by how many different tokens

Without any last tokens, p(w | c') is the same for all tokens of the vocabulary. If c never
occurred, p(w | c) = p(w | c'): the model *backs off*.

Logits
    ln(p * size): 0 for a token as likely as in a uniform distribution. So likely tokens have
    logits above 0 and unlikely ones below, as in the rows of a network. Logarithms of
    probabilities would all be below 0, and penalties that look at the sign would treat them
    all alike.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nsmallest
from math import log, log2

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_history, read_whole
from sampling_ref.row import TokenId


class NgramModel:
    """A back-off n-gram model, a `Model` for `generate`. It remembers what it has read.

    `tokens` is the text that it learns from, `size` the number of tokens in the vocabulary,
    and `order - 1` the number of last tokens that the next one depends on. Raises
    `ParameterError`, or `HistoryError`.

    >>> model = NgramModel([0, 1, 2, 0, 1, 2, 0, 1, 3], size=4, order=3)
    >>> [round(logit, 2) for logit in model([0, 1], 0)]  # 2 came twice after 0 1, and 3 once
    [-1.62, -1.62, 0.87, 0.2]
    """

    def __init__(self, tokens: Iterable[TokenId], size: int, order: int = 4) -> None:
        self.size = read_whole("size", size, 1)
        self.order = read_whole("order", order, 1)
        text = read_history(tokens, size, "tokens")
        if not text:
            raise ParameterError("tokens", text, "must hold at least one token")
        self._following: dict[tuple[TokenId, ...], Counter[TokenId]] = defaultdict(Counter)
        for place, token in enumerate(text):
            for length in range(min(order, place + 1)):
                self._following[tuple(text[place - length : place])][token] += 1
        self._following.default_factory = None
        self._totals = {context: each.total() for context, each in self._following.items()}
        self._read: list[TokenId] = []
        self._ranked = lru_cache(maxsize=None)(self._rank)
        # Text that repeats itself comes back to the same contexts.
        self._logits = lru_cache(maxsize=100)(self._logits_after)
        self._scaled = lru_cache(maxsize=100)(self._scaled_after)

    def __call__(self, tokens: list[TokenId], start_pos: int) -> list[float]:
        """Read tokens, the first of which has this position, and return the next row of logits."""
        if not 0 <= start_pos <= len(self._read):
            rule = f"must be at most {len(self._read)}, the number of tokens read"
            raise ParameterError("start_pos", start_pos, rule)
        self._read[start_pos:] = read_history(tokens, None, "tokens")
        return self.row(self._read)

    def row(self, history: Sequence[TokenId]) -> list[float]:
        """Return the logits of all tokens after a history."""
        return [*self._logits(self._contexts(history)[0])]

    def probability(self, history: Sequence[TokenId], token: TokenId) -> float:
        """Return the probability of one token after a history.

        >>> NgramModel([0, 1, 0, 1], size=2, order=2).probability([1], 0)
        0.75
        """
        return self._probability(self._contexts(history), token)

    def bits(self, prompt: Sequence[TokenId], tokens: Sequence[TokenId]) -> float:
        """Return the bits per token that the model needs for tokens after a prompt.

        This is the cross-entropy. 0 for no tokens.

        >>> model = NgramModel([0, 1, 0, 1], size=2, order=2)
        >>> round(model.bits([0], [1, 0]), 3), round(model.bits([0], [0, 0]), 3)
        (0.339, 2.585)
        """
        text = [*prompt, *tokens]
        places = range(len(prompt), len(text))
        context = self.order - 1
        total = sum(
            log2(self.probability(text[max(0, place - context) : place], text[place]))
            for place in places
        )
        return -total / len(places) if places else 0.0

    def likeliest(
        self, history: Sequence[TokenId], count: int
    ) -> tuple[tuple[TokenId, ...], tuple[float, ...]]:
        """Return the likeliest next tokens and their logits, the likeliest first.

        If some are equally likely, the lowest id is first.

        >>> tokens, logits = NgramModel([0, 1, 2, 0, 1, 2], size=4, order=3).likeliest([0, 1], 2)
        >>> tokens, [round(logit, 2) for logit in logits]
        ((2, 0), [1.31, -2.0])
        """
        return self._ranked(self._contexts(history)[0], count)

    def _contexts(self, history: Sequence[TokenId]) -> list[tuple[TokenId, ...]]:
        """Return the last tokens that occurred in the training text, from the most to none."""
        last = tuple(history[max(0, len(history) - self.order + 1) :])
        contexts = [last[place:] for place in range(len(last) + 1)]
        return [context for context in contexts if context in self._following]

    def _logits_after(self, context: tuple[TokenId, ...]) -> list[float]:
        return [log(each) for each in self._scaled(context)]

    def _scaled_after(self, context: tuple[TokenId, ...]) -> list[float]:
        """Return p * size of all tokens after a context that occurred."""
        shorter = self._scaled(context[1:]) if context else [1.0] * self.size
        following = self._following[context]
        kinds = len(following)
        row = [kinds * each for each in shorter]
        for token, times in following.items():
            row[token] += times * self.size
        total = self._totals[context] + kinds
        return [each / total for each in row]

    def _probability(self, contexts: Sequence[tuple[TokenId, ...]], token: TokenId) -> float:
        share = 1 / self.size
        for context in reversed(contexts):
            following = self._following[context]
            kinds = len(following)
            share = (following.get(token, 0) + kinds * share) / (self._totals[context] + kinds)
        return share

    def _rank(
        self, context: tuple[TokenId, ...], count: int
    ) -> tuple[tuple[TokenId, ...], tuple[float, ...]]:
        """Return the likeliest tokens after a context that occurred.

        A token that never followed it has a share of what it has after the shorter context, so
        that only the likeliest of those can be among the likeliest here.
        """
        contexts = self._contexts(context)
        followed = self._following[context]
        if context:
            others = self._ranked(self._contexts(context[1:])[0], count)[0]
        else:
            others = tuple(range(min(self.size, count + len(followed))))
        found = {token: self._probability(contexts, token) for token in {*followed, *others}}
        best = nsmallest(count, found, key=lambda token: (-found[token], token))
        return tuple(best), tuple(log(found[token] * self.size) for token in best)
