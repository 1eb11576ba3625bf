"""The stages of a sampler's chain and its draw, of one engine or of two side by side."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import partial
from html import escape
from importlib import import_module
from inspect import cleandoc
from itertools import chain, groupby, takewhile
from math import exp, inf, log
from statistics import pstdev, stdev
from typing import TYPE_CHECKING, Final

from sampling_ref import PROFILES
from sampling_ref.causes import Compared, Difference, Present, Side, moved_before, units_of
from sampling_ref.comparing import absence, comparison
from sampling_ref.tracing import RACES, first_looked_at, rules_of, surprises
from tokenref.commands.pictures import Named, lesson
from tokenref.commands.pictures.bars import Walked, bars, line_in_parts
from tokenref.commands.sampling import WORDS, Asked, next_mu_in_words
from tokenref.operations import ABOUT
from tokenref.visible import visible

if TYPE_CHECKING:
    from sampling_ref.engines.profile import Stage
    from sampling_ref.evaluation import Run
    from sampling_ref.tracing import Applied, Share


def _threshold(
    applied: "Applied", shares: "Sequence[Share]", walked: Walked | None
) -> float | None:
    """Return the probability, or running sum, at which a filter cuts, if it has such a number."""
    values = applied.values
    most = max(each.share for each in shares)
    found = None
    match applied.step:
        case "top_p" if values["base"] == "what is left" and values["boundary"] != "fitting":
            found = float(1 - values["p"] if walked == "upwards" else values["p"])
        case "min_p":
            found = float(values["m"]) * most
        case "typical":
            found = float(values["mass"])
        case "epsilon":
            found = float(values["cutoff"])
        case "eta":
            entropy = -sum(each.share * log(each.share) for each in shares if each.share)
            cutoff, scale = float(values["cutoff"]), values["scale"]
            found = min(cutoff, (cutoff**0.5 if scale is None else float(scale)) * exp(-entropy))
        case "xtc":
            found = float(values["threshold"])
        case "top_a":
            found = float(values["a"]) * most**2
        case "top_n_sigma":
            logits = [logit for logit in applied.before.floats() if logit != -inf]
            deviate = pstdev if values["deviation"] == "population" else stdev
            found = most * exp(-float(values["n"]) * deviate(logits)) if len(logits) > 1 else None
        case "mirostat_2":  # without a state: mu is still at its start
            found = 2 ** (-2 * float(values["tau"]))
    return found if found is None or found <= 1 else None


def _walked(applied: "Applied") -> Walked | None:
    """Return in which direction a filter adds probabilities, or None if it adds none."""
    if applied.changed or applied.values.get("boundary") == "fitting":
        return None  # fitting: the smallest of the tokens so far may leave
    if applied.step == "top_p":
        return "upwards" if applied.values["walked"] == "upwards" else "downwards"
    return "downwards" if applied.step == "typical" else None


def stage_picture(
    engine: Compared,
    applied: "Applied",
    stage: "Stage",
    *,
    first: bool = False,
    earlier: bool = False,
    folded: bool = False,
    downwards: bool = False,
    narrow: bool = False,
    named: Named | None = None,
) -> str:
    """Return one stage: what it does, what decides, and the row before or after it.

    `first` says that it is the first that differs from another engine's, and `earlier` that it is
    the cause of this, because the other engine has it later. A stage that is `folded`, or has no
    effect on the row, is one line until it is opened. `downwards`: running sums begin with the most
    probable token, also where the engine adds from the other end.
    """
    from sampling_ref.tracing import deciding_walk, running_shares, shortly

    made, run, _ = engine
    given = ", ".join(
        f"{name}={shortly(each)}"
        for name, each in applied.parameters.items()
        if name != "least"  # said by the engine's source, and rarely more than 1
    )
    rules = _rules_in_words(rules_of(applied, stage))
    source = f"Source: {escape(stage.source)}. " if stage.source else ""
    rule = cleandoc(import_module(f"sampling_ref.steps.{applied.step}").__doc__ or "")
    source = (
        f"<details><summary>The rule: <code>tokenref rules {applied.step}</code></summary>"
        f"<p>{source}</p><pre>{escape(rule)}</pre></details>{lesson(ABOUT[applied.step].lesson)}"
    )
    # A filter is shown by the row before it, in which it chooses; other steps by what they left.
    row = applied.after if applied.changed else applied.before
    drawing = ""
    if applied.kept:
        law = made.situation.numbers.law(row)
        removed = frozenset(applied.removed)
        by_token = dict(zip(row.tokens, law, strict=True))
        walk = (
            sorted(filter(by_token.get, by_token), key=by_token.__getitem__, reverse=True)
            if applied.changed
            else deciding_walk(applied, law)
        )
        walked = _walked(applied)
        first_ones = "most probable first" if applied.changed else first_looked_at(applied)
        if walked is None and first_ones != "as they stand":
            # Of equal tokens the lowest id is first, so that two engines have them in one order.
            walk = [token for _, equal in groupby(walk, by_token.get) for token in sorted(equal)]
        if downwards and walked == "upwards":
            walk, walked = walk[::-1], "downwards"
            first_ones = "most probable first, though the engine begins at the other end"
            rules.append("the picture begins at the other end")
        shares = running_shares(row.tokens, law, walk)
        threshold = None if applied.changed else _threshold(applied, shares, walked)
        when = "after" if applied.changed else "before"
        about = f"Probabilities {when} {applied.step}, {first_ones}"
        about += ", and their running sum" if walked else ""
        line = "" if threshold is None else f"; the dashed line is at {threshold:.4g}"
        measure, value, surprise = surprises(applied, law)
        if measure:
            unit = "nats" if applied.step == "typical" else "bits"
            line += f"; the lowest numbers are surprises in {unit}; {measure}: {value:.4g}"
        old = {}
        if applied.changed:
            old_law = made.situation.numbers.law(applied.before)
            old = dict(zip(applied.before.tokens, old_law, strict=True))
            about += "; the outlines are the probabilities before it"
        drawn = bars(
            shares,
            removed,
            threshold=threshold,
            about=about,
            before=old,
            walked=None if downwards else walked,
            summed=walked is not None,
            narrow=narrow,
            named=named,
            surprises=surprise,
        )
        drawing = f"<figure>{drawn}<figcaption>{escape(about + line)}.</figcaption></figure>"
    title = f"{applied.step}({given})"
    place = next(at for at, each in enumerate(run.applied, 1) if each is applied)
    idle = not applied.removed and not applied.changed
    count = len(applied.removed)
    effect = f"removes {count:,} token{'s' * (count != 1)}" if count else "has no effect here"
    effect = "changes the row" if applied.changed else effect
    where = f"{_called(engine)}, stage {place} of {len(run.applied)}: "
    where += "the first difference, " * first + effect + ", earlier than in the other" * earlier
    opened = " open" * (first or not (idle or folded))
    return (
        f'<section class="stage{" first" * first}{" earlier" * earlier}{" idle" * idle}" '
        f'data-stage="{escape(made.profile.name)} {applied.step}">'
        f'<details class="fold"{opened}><summary><h3>{escape(title)}</h3> '
        f'<span class="where">{escape(where)}</span></summary>'
        f"<p>{escape('; '.join([applied.why, *rules]))}</p>"
        f"{drawing}{source}</details></section>"
    )


def _called(engine: Compared) -> str:
    """Return the name of an engine, and whether its stages are no longer its own."""
    profile = engine[0].profile
    return "changed " * (profile.stages != PROFILES[profile.name].stages) + profile.name


def _rules_in_words(rules: Mapping[str, object]) -> list[str]:
    """Return the choices of a filter in words; not the rule for ties where it has no effect.

    >>> _rules_in_words({"equality": "kept", "ties": "lowest id"})
    ['a token exactly at the threshold is kept']
    >>> _rules_in_words({"ties": "lowest id", "boundary": "reach", "walked": "upwards"})
    ['of equal tokens: lowest id']
    """
    decides = "equality" not in rules and rules.get("boundary") != "fitting"
    words = [f"of equal tokens: {rules['ties']}"] if "ties" in rules and decides else []
    names = ["base", *(["boundary"] if rules.get("walked") != "upwards" else []), "equality"]
    chosen = [str(rules[name]) for name in names if name in rules]
    return words + [WORDS[each] for each in chosen if each in WORDS]


def draw_picture(engine: Compared, number: float | None, named: Named | None = None) -> str:
    """Return the draw: the probabilities as a line in its order, and the random number on it."""
    from sampling_ref.engines.draws import walk

    made, run, token = engine
    name = "" if token is None or named is None else f" {named(token)}"
    drawn = "" if token is None else f" Token {token}{name} is drawn."
    if learned := next_mu_in_words(engine):
        drawn += f" {learned[:1].upper()}{learned[1:]}."
    taught = ABOUT["draw"].lesson
    picture = ""
    if made.is_greedy:
        words = f"greedy, the largest logit; of equals: {made.profile.greedy.ties}"
    elif run.draw.method in RACES:
        taught = f"{taught.partition('#')[0]}#races"
        words = f"{run.draw.method}: each token has a random number of its own, so one number does "
        words += "not decide, and there is no picture"
    else:
        reaches = "exceeds" if run.draw.boundary == "exceed" else "reaches"
        order = (
            "of their ids" if run.draw.order == "vocabulary" else "in which the stages left them"
        )
        words = f"{run.draw.method}: it takes the first token, in the order {order}, at which the "
        words += f"running sum {reaches} the random number"
        law = made.situation.numbers.law(run.candidates)
        shares = dict(zip(run.candidates.tokens, law, strict=True))
        tokens = [run.candidates.tokens[place] for place in walk(run.candidates, run.draw.order)]
        parts = [((named or str)(each), Fraction(shares[each])) for each in tokens]
        chosen = None if token is None else tokens.index(token)
        about = "The probabilities as parts of a line, in the order of the draw"
        about += "" if number is None else f", and the random number {number:g}"
        picture = f"<figure>{line_in_parts(parts, chosen, number, about)}"
        picture += f"<figcaption>{escape(about)}.</figcaption></figure>"
    return (
        f'<section class="draw"><h3>draw</h3><p class="where">{escape(_called(engine))}</p>'
        f"<p>{escape(words)}.{escape(drawn)}</p>{picture}<details><summary>Random numbers"
        f"</summary><p>{escape(run.draw.uniform)}.</p></details>{lesson(taught)}</section>"
    )


LEGEND: Final = (
    "<p>Kept tokens are filled, removed ones are outlined. Where a filter adds probabilities, a "
    "line is their running sum. A dashed line is the number that is compared with.</p>"
)


def question(asked: Asked, notes: Sequence[str] = ()) -> str:
    """Return what was asked, notes about it, and how to read the pictures.

    >>> question(Asked("1,2", "0", settings=["top_k=<1>"]))[:63]
    '<p>Row: <code>1,2</code>. History: <code>0</code>. Parameters: '
    """
    given = ", ".join(asked.settings)
    return (
        f"<p>Row: <code>{escape(visible(asked.logits))}</code>. History: "
        f"<code>{escape(visible(asked.history)) or 'empty'}</code>. Parameters: "
        f"<code>{escape(visible(given)) or 'the defaults'}</code>.</p>"
        f"{''.join(f'<p>{escape(visible(each))}.</p>' for each in notes)}{LEGEND}"
    )


def row_pictures(
    engines: Sequence[Compared], uniforms: Sequence[float], named: Named | None = None
) -> Iterator[str]:
    """Yield each stage of an engine's chain, and the draw; or what two engines do."""
    number = uniforms[-1] if uniforms else None
    if len(engines) > 1:
        yield from _side_by_side(engines, number, named)
        return
    [engine] = engines
    for applied, stage in zip(engine[1].applied, engine[1].stages, strict=True):
        yield stage_picture(engine, applied, stage, named=named)
    yield draw_picture(engine, number, named)


def _plainly(line: str) -> str:
    """Return a line about a difference without the names of choices.

    >>> _plainly("choice ties: all in vllm, lowest id in sglang")
    'of equal tokens: all in vllm, lowest id in sglang'
    """
    plain = {
        "choice ties:": "of equal tokens:",
        "choice walked:": "in which direction probabilities are added:",
        "in the order: candidates": "in the order in which the stages left the tokens",
        "in the order: vocabulary": "in the order of the ids",
        "the running sum must reach": "until the running sum reaches the random number",
        "the running sum must exceed": "until the running sum exceeds the random number",
    }
    for name, words in plain.items():
        line = line.replace(name, words)
    return line


def _side_by_side(
    engines: Sequence[Compared], number: float | None, named: Named | None
) -> Iterator[str]:
    """Yield what two engines do, side by side; the first stage that differs is marked.

    Those before it, which do the same in both, are folded, but not if their order is the cause.
    """
    one, other = engines
    compared = comparison(one, other)
    found = next(iter(compared.differences), None)
    heading, *rest = compared.lines()
    aside = ("  other differences", *(["  differences of rounding"] if found else []))
    causes = [
        line
        for line in takewhile(lambda line: " leaves " not in line, rest)
        if not line.startswith(aside)
    ]
    names = [made.profile.name for made, _, _ in engines]
    folded = [line for line in rest if line not in causes]
    items, others = (
        "".join(f"<li>{escape(_plainly(line.strip()))}</li>" for line in lines)
        for lines in ([*_kept(names, found), *causes], folded)
    )
    yield (
        f'<section class="answer"><h2>{escape(heading)}</h2><ul>{items}</ul><details><summary>What '
        f"each engine does, and its source</summary><ul>{others}</ul></details></section>"
    )
    yield '<div class="sides">'
    first = [applied for side in (found.unit if found else ()) for applied, _ in side]
    moved = [applied for side in moved_before(compared.engines, found) for applied in side]
    before = bool(first)
    picture = partial(
        stage_picture, downwards=found is not None and found.kind == "order", named=named
    )
    for sides in _in_order([one[1], other[1]], found):
        for engine, side in zip(engines, sides, strict=True):
            if side is None:
                why = escape(absence(engine, next(each[0] for each in sides if each)))
                yield f'<section class="none"><p>{why}.</p></section>'
            else:
                marked = any(side[0] is each for each in first)
                before = before and not marked
                earlier = any(side[0] is each for each in moved)
                folds = before and not earlier
                yield picture(engine, *side, first=marked, earlier=earlier, folded=folds)
    for engine in engines:
        yield draw_picture(engine, number, named)
    yield "</div>"


def _kept(names: Sequence[str], found: Difference | None) -> Iterator[str]:
    """Yield which tokens each engine keeps at the first difference, if both have a filter there."""
    from sampling_ref.tracing import shortly

    last = [side[-1][0] for side in (found.unit if found else ()) if side]
    kept = [sorted(applied.kept) for applied in last if not applied.changed]
    if len(kept) == len(names):
        for name, tokens in zip(names, kept, strict=True):
            yield f"{name} keeps the tokens {shortly(tokens)}"


def _in_order(runs: "Sequence[Run]", found: Difference | None) -> Iterator[Sequence[Side]]:
    """Yield the stages of two engines, each in its own order, side by side where that can be.

    The first stages that differ, `found`, are side by side if both engines have them.
    """
    one, other = (list(zip(run.applied, run.stages, strict=True)) for run in runs)
    units = {id(each[0]): at for at, unit in enumerate(units_of(*runs)) for each in chain(*unit)}
    if found is None or not all(found.unit):
        yield from _columns(one, other, units)
        return
    places = [
        next(at for at, each in enumerate(column) if each[0] is side[0][0])
        for column, side in zip((one, other), found.unit, strict=True)
    ]
    yield from _columns(one[: places[0]], other[: places[1]], units)
    yield one[places[0]], other[places[1]]
    yield from _columns(one[places[0] + 1 :], other[places[1] + 1 :], units)


def _columns(
    one: "Sequence[Present]", other: "Sequence[Present]", units: Mapping[int, int]
) -> Iterator[Sequence[Side]]:
    """Yield two columns of stages, those that do the same side by side."""
    steps = [[units[id(applied)] for applied, _ in column] for column in (one, other)]
    begin = other_begin = 0
    for left, right, size in SequenceMatcher(None, steps[0], steps[1], False).get_matching_blocks():
        yield from ((each, None) for each in one[begin:left])
        yield from ((None, each) for each in other[other_begin:right])
        begin, other_begin = left + size, right + size
        yield from zip(one[left:begin], other[right:other_begin], strict=True)
