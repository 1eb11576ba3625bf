"""What the reference answers about speculative decoding."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.speculative.block import verify_block
from sampling_ref.speculative.chain import verify_by_matching, verify_chain
from sampling_ref.speculative.residual import ensemble, residual
from sampling_ref.speculative.target_only import verify_target_only
from sampling_ref.speculative.tree import read_children, verify_tree
from sampling_ref.speculative.typical import best_typical_candidate
from tokenref.floats import nearest, pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import Choices, all_choices

Request: TypeAlias = Mapping[str, Any]
Out: TypeAlias = Mapping[str, Any]


def _speculative(choices: Choices, request: Request) -> Out:
    chosen = all_choices("speculative", choices)
    method = chosen["method"]
    params = unpack_parameters(request["params"])
    target, draft = ([unpack(row) for row in request[name]] for name in ("target", "draft"))
    tokens, uniforms = list(request["tokens"]), unpack(request["uniforms"])
    allowed = _SPECULATIVE_PARAMETERS[method]
    for name in sorted(params.keys() - allowed):
        raise ParameterError(name, params[name], f"must not be given for {method}")
    judge = {name: chosen[name] for name in _SPECULATIVE_CHOICES[method]}
    if method == "typical":
        return _typical(target, tokens, params)
    if method in {"chain", "block"}:
        verify = verify_chain if method == "chain" else verify_block
        rows = _mixed(target, draft, params["weight"]) if "weight" in params else target
        found = verify(rows, draft, tokens, uniforms, **judge)
    elif method == "matching":
        found = verify_by_matching(target, tokens, uniforms)
    else:
        parents = params.pop("parents", list(range(len(tokens))))
        if method == "tree":
            found = verify_tree(target, draft, tokens, parents, uniforms, **judge)
        else:
            found = verify_target_only(target, tokens, parents, uniforms, **params)
    return {"accepted": found.accepted, "tokens": list(found.tokens)}


_SPECULATIVE_PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "chain": frozenset({"weight"}),
    "block": frozenset(),
    "tree": frozenset({"parents"}),
    "target only": frozenset({"parents", "threshold_single", "threshold_acc"}),
    "matching": frozenset(),
    "typical": frozenset({"parents", "epsilon", "delta"}),
}

_SPECULATIVE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "chain": ("equality", "undrafted", "if_equal"),
    "block": ("equality",),
    "tree": ("equality",),
    "target only": (),
    "matching": (),
    "typical": (),
}


def _mixed(target: list[Any], draft: list[Any], weight: Any) -> list[Any]:
    """Return the mixture where there is a draft, and the target's own row for the bonus."""
    mixed = [ensemble(mine, offered, weight) for mine, offered in zip(target, draft, strict=False)]
    return [*mixed, *target[len(mixed) :]]


def _typical(target: list[Any], tokens: list[int], params: dict[str, Any]) -> Out:
    """Return the best of the ways from the beginning of a tree to its ends."""
    parents = params.pop("parents", list(range(len(tokens))))
    children = read_children(parents, len(tokens))
    ways = []
    for end in (node for node in range(1, len(tokens) + 1) if not children[node]):
        way = [end]
        while parents[way[0] - 1]:
            way.insert(0, parents[way[0] - 1])
        ways.append(way)
    rows = [[target[parents[node - 1]] for node in way] for way in ways]
    candidates = [[tokens[node - 1] for node in way] for way in ways]
    best, length = best_typical_candidate(rows, candidates, **params)
    return {"accepted": length, "tokens": candidates[best][:length]}


def _residual(choices: Choices, request: Request) -> Out:
    chosen = all_choices("residual", choices)
    for name, value in sorted(request.get("params", {}).items()):
        raise ParameterError(name, value, "must not be given for a residual")
    target, draft = unpack(request["target"]), unpack(request["draft"])
    shares = residual(target, draft, if_equal=chosen["if_equal"])
    dtype = type_of(request["target"])
    return {"probs": pack([nearest(share, dtype) for share in shares], dtype)}


SPECULATIVE: Final[Mapping[str, Callable[[Choices, Request], Out]]] = MappingProxyType(
    {"speculative": _speculative, "residual": _residual}
)
"""What answers each operation, from the choices of its rule and the request."""
