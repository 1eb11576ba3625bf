"""Likely causes of failures.

A cause is named if it explains nearly all failures that it is about, in this order:

===============================  ===================  =============================================
cause                            module               to add one
===============================  ===================  =============================================
the program is slow or hangs     `questions`          see `too_slow`
a seeded bug, a rule, an engine  `signatures`         add a mutant in `authoring/mutants`, and run
                                                      `python -m authoring mutants`
the question is misread          `misread_questions`  add a function and its name in `QUESTIONS`
a parameter is misread           `misread_questions`  add a line in `_PERTURBED`
the answer becomes another one   `wrong_answers`      add a function and its name in `ANSWERS`
a sum, a mask, a row of a batch  `mistakes`           add a line in `SUMS`, `MASKS` or `OTHER_ROWS`
a fact about wrong answers       `facts`,             yield it in the function about this answer
                                 `row_facts`
a property of what fails         `questions`          add a function and its name in `PROPERTIES`
===============================  ===================  =============================================

`diagnose` asks for all of them. `misreadings` lets the reference answer what is misread.
"""

import os
from collections.abc import Callable
from typing import Final, TypeVar

_T = TypeVar("_T")

RAISES: Final = "TOKENREF_HINTS_RAISE"
"""The environment variable with which the errors of hints are raised, as in the project's tests."""


def try_hint(find: Callable[[], _T]) -> _T | None:
    """Return what a hint finds, or None if it raises: an answer may have any form.

    >>> try_hint(lambda: "a fact")
    'a fact'
    """
    try:
        return find()
    except Exception:
        if os.environ.get(RAISES):
            raise
        return None
