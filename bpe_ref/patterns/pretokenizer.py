r"""Cut a text into pieces, as an engine's regular expression does, whatever is installed here.

Definition
    The pieces of a text are the matches of the pattern, leftmost first, each starting where the
    one before it ended or later, in order. Text that no match covers is dropped, as tiktoken does
    (`find_iter`, tiktoken 0.14.0, src/lib.rs). A set such as `\p{L}` holds the code points that
    the chosen table gives it.

How
    `rust.py` reads a pattern, and the sets in it are those of the table. It is matched as a pattern
    in Oniguruma's dialect is, once that is read (see `expression.py`).

What the sources leave open
    A search that takes too long is a `PatternError`. The empty text has no pieces. A pattern that
    may match the empty text is rejected: tiktoken panics when it does. Surrogates, which no engine
    accepts, count as category Cs.

Source of the patterns' dialect: `rust.py`; of the tables: `unicode_tables.py`.
"""

from dataclasses import dataclass
from functools import lru_cache

from bpe_ref.errors import ParameterError
from bpe_ref.patterns.expression import Expression
from bpe_ref.patterns.nodes import has_boundary
from bpe_ref.patterns.rust import read
from bpe_ref.patterns.unicode_tables import TABLES


@dataclass(frozen=True)
class Pretokenizer:
    r"""A pattern together with the table that says what its sets hold.

    Attributes:
        pattern: a regular expression in tiktoken's dialect.
        tables: a name from `unicode_tables.TABLES`.

    Raises `PatternError` if the pattern is malformed, may match the empty text or cannot be
    pinned, `ParameterError` if there is no such table. Nothing is decoded or compiled before the
    first text.

    >>> Pretokenizer(r" ?\p{L}+|\s+").pieces("one two  three")
    ['one', ' two', '  ', 'three']

    """

    pattern: str
    tables: str = "unicode-16.0"

    def __post_init__(self) -> None:
        """Raise an error for a pattern that cannot be used."""
        if not isinstance(self.pattern, str):
            raise ParameterError("pattern", self.pattern, "must be a str")
        if self.tables not in TABLES:
            raise ParameterError("tables", self.tables, f"must be one of {', '.join(TABLES)}")
        read(self.pattern, TABLES[self.tables], decode=False)

    def pieces(self, text: str) -> list[str]:
        r"""Return the pieces of `text`, in order.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").pieces("Éa, Ǆ")
        ['Éa', 'Ǆ']
        """
        pieces = expression_of(self.pattern, self.tables).texts(text, between=False)
        if pieces is not None:
            return pieces
        return [text[start:stop] for start, stop in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        r"""Return where the pieces of `text` are, as half-open ranges of characters.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").spans("Éa, Ǆ")
        [(0, 2), (4, 5)]
        """
        return expression_of(self.pattern, self.tables).spans(text)


@lru_cache(maxsize=64)
def expression_of(pattern: str, tables: str) -> Expression:
    """Return what finds the matches of a pattern, of which a `Pretokenizer` is known to exist.

    >>> expression_of("a+", "unicode-16.0").spans("baa")
    [(1, 3)]
    """
    table = TABLES[tables]
    node = read(pattern, table)
    words = table.code_points("word") if has_boundary(node) else 0
    return Expression(pattern, node, words, runs_matter=False)
