"""Requests as a file: the messages of a run, for a program that runs somewhere else.

The keys are numbers in the order of the file, and so are the ids of runs and
loads, so that judging a million answers needs a few bytes for each. What a key
stands for is not in the file: judging finds it by the question itself.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from bpe_ref import Vocabulary
from tokenref.batches import LARGEST, batches
from tokenref.catalogue import Catalogue
from tokenref.protocol.heavy import parts
from tokenref.protocol.loading import Loading, load_tokenizer, load_vocabulary
from tokenref.protocol.messages import PROTO
from tokenref.record import Case, op_of
from tokenref.subjects import TokenizerFile

PathOf = Callable[[Loading], str]
"""Where the program finds a vocabulary or a tokenizer."""


def export(
    cases: Sequence[Case],
    catalogue: Catalogue,
    fixtures: str,
    path_of: PathOf,
    *,
    seed: int = 0,
    repeat: int = 1,
    largest: int = LARGEST,
) -> Iterator[bytes]:
    """Yield the lines of a file of requests, the canaries among them; each case `repeat` times.

    `fixtures` is the digest of the manifest. Vocabularies must be there: see `present`.
    """
    asked = [*cases] * repeat + [*catalogue.canaries]
    asked = [case for case in asked if not isinstance(catalogue.subject(case.vocab), str)]
    about = {"fixtures": fixtures, "cases": len(asked), "seed": seed}
    yield _line({"cmd": "hello", "proto": PROTO, "about": about})
    key = run = load = 0
    loaded: str | None = None
    for batch in batches(asked, seed, largest):
        together = [asked[number] for number in batch]
        first = together[0]
        message = {"cmd": "run", "id": "", "op": op_of(first), "profile": first.profile}
        loading = _loading(catalogue, first)
        if loading is not None:
            message[loading.kind] = loading.digest
            if loading.digest != loaded:
                loaded = loading.digest
                yield _line(
                    {
                        "cmd": "load",
                        "id": f"l{load}",
                        loading.kind: loaded,
                        "path": path_of(loading),
                    }
                )
                load += 1
        requests = [msgspec.to_builtins(case.input) for case in together]
        for part in parts(requests, largest):
            questions = []
            for request in requests[part]:
                questions.append({"k": str(key), "in": request})
                key += 1
            yield _line(message | {"id": f"b{run}", "cases": questions})
            run += 1
    yield _line({"cmd": "bye"})


def _loading(catalogue: Catalogue, case: Case) -> Loading | None:
    """Return what a case needs to be loaded, if anything."""
    subject = catalogue.subject(case.vocab)
    if isinstance(subject, Vocabulary):
        return load_vocabulary(subject, catalogue.name(case.vocab))
    if isinstance(subject, TokenizerFile):
        return load_tokenizer(subject.content, subject.name)
    return None


def _line(message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"
