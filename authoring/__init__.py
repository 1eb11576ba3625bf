"""Programs that produce the data tokenref ships. `python -m authoring --help` lists them.

cases/              the generators of golden records: each case says why it exists, and proves it
tokenizer_files/    the tokenizer.json files that the records use
data/               tables of cases, as TOML
fixtures, kept_records      write the golden records; records that campaigns found
mutants/            seeded bugs, and the gate that shows that the records detect them
attestation/        what real engines answer, and the pages that show it
engines_page        the page about the engines' profiles
tables/             the tables in `bpe_ref/data`, measured from engines

Nothing here is installed, and nothing in `tokenref` imports it.
"""
