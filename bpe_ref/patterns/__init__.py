"""Regular expressions of two dialects, read and matched without their engines.

    a pattern of tiktoken   --rust--> nodes of sets
    a pattern of Oniguruma  --oniguruma.reading--> nodes --oniguruma.folding--> nodes of sets
    nodes of sets  --translation--> a pattern for `re` or `regex`, where one means exactly the same
                   --machine--> a backtracking machine: the definition, and what has no translation

`expression` puts the last two together, for whatever searches.
"""
