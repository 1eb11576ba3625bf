r"""Oniguruma's regular expressions, read and matched without Oniguruma.

    pattern --reading--> nodes --folding--> nodes of plain sets
            --translation--> a pattern for `re` or `regex`, where one means exactly the same
            --machine--> a backtracking machine: the definition, and whatever has no translation

`matching.compile_oniguruma` puts these together.
"""
