r"""What may stand where: behind which nodes a quantifier, in look-behind which nodes.

Where the definition differs from the words
    The engine hides from look-behind what follows the place, if its width is not fixed; it
    refuses `$` and most looks there, sometimes. So look-behind is taken only where all of that
    makes no difference: sets, sequences, choices, repetitions, captures and `^ \A \b \B`; if it is
    negative, without captures; and not a sequence that may be empty, such as `a?b*`, which the
    engine refuses with "undefined error code".

Source: https://github.com/kkos/oniguruma, src/regparse.c, src/regcomp.c, and tokenizers 0.23.3.
"""

from bpe_ref.oniguruma.nodes import (
    Again,
    Atomic,
    Capture,
    Choice,
    Keep,
    Look,
    Node,
    Place,
    Sequence,
    children,
    width,
)


def may_be_repeated(node: Node) -> bool:
    """Tell whether a quantifier may follow: not behind a place, nor a choice of places.

    >>> may_be_repeated(Place("A"))
    False
    """
    match node:
        case Place() | Look() | Keep():
            return False
        case Choice(branches):
            return all(map(may_be_repeated, branches))
    return True


def may_look(look: Look) -> bool:
    """Tell whether we can say what this look means.

    >>> may_look(Look(Place("z"), behind=True, negative=False))
    False
    """
    return not look.behind or _may_be_behind(look.body, negative=look.negative)


def _may_be_behind(node: Node, *, negative: bool) -> bool:
    match node:
        case Atomic() | Look() | Keep() | Again():
            return False
        case Capture() if negative:
            return False
        case Sequence(items) if len(items) > 1 and width(node)[0] == 0 != width(node)[1]:
            return False
        case Place(name):
            return name in "^AbB"
    return all(_may_be_behind(child, negative=negative) for child in children(node))
