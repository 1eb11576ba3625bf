"""tokenref: the correctness oracle for byte-pair tokenizers.

record        one golden record, its file, its digest
glossary      the flags, each with the bug it hunts
cases/        the generators: each case says and asserts why it exists
fill          writes the fixtures, or compares them byte for byte
catalogue     finds the fixtures, their vocabularies, and a selection of cases
engines/      the programs under test, each behind the same small interface
judge         compares one answer with one record
known         the differences that are known, with reason and link
runner        drives one engine through a selection
corpus        compares whole encodings of a user's own text
mutants/      small wrong tokenizers that the fixtures must tell from the right one
attestation   what real engines say of the records, as pages of the documentation
reports/      what a run looks like: terminal, JSON lines
fetching      downloads a vocabulary, digest checked
commands/     the commands, by what they are about
cli           the `tokenref` command: all of them, and what exit codes mean
"""
