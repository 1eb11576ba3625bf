"""tokenref: test tokenizers and samplers against golden records, and show how they work.

Read in this order:

errors, files     errors that end a command; reading files of the user
record, verdicts, questions/, floats     a golden record: question, answer, how answers are judged
operations, rules     operations and flags of records; rules of samplers, by name
record_files, catalogue, subjects     the fixtures: files, vocabularies, selections
answers, engines/     what an engine is; the reference and real engines behind that interface
judge, judging_samplers, known     compare an answer with a record
rounding/     which answers about samplers rounding may change
protocol/     any program as an engine, through pipes or files
runner, corpus     run an engine on records, or on a text
reports/     results: a terminal, JSON lines, JUnit XML, one HTML page
doctor/, skeletons/     help authors of engines
strategies/, fuzzing/     random questions, and campaigns that find and shrink failures
pytest/, pytest_plugin     golden records and helpers for test suites
goldens, fetching     a user's own golden records; downloading vocabularies
commands/, cli     the `tokenref` command
"""
