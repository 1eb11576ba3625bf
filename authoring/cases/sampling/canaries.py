"""All records about samplers with wrong answers: a run that passes one compares nothing."""

from authoring.cases.sampling.canaries_draws import draw_canaries
from authoring.cases.sampling.canaries_filters import filter_canaries
from authoring.cases.sampling.canaries_own_draws import own_draw_canaries
from authoring.cases.sampling.canaries_rows import row_canaries
from tokenref.record import Case


def sampler_canaries() -> list[Case]:
    """Return the records, always in the same order.

    >>> {case.id.split("/")[0] for case in sampler_canaries()}
    {'canary'}
    """
    return [*filter_canaries(), *row_canaries(), *draw_canaries(), *own_draw_canaries()]
