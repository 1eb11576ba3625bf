"""Small wrong tokenizers and samplers that the fixtures must tell from the right ones.

A mutant is one decorated function. Its name is that of the function. Its docstring describes the
mistake and names the projects where it was seen, if it is not invented. Its decorator says what the
function replaces and gives a question that shows the mistake.

mutant      the decorators for vocabularies, and small vocabularies for the questions
pipelines   the decorators for whole tokenizers
samplers    the decorators for samplers
own_numbers an engine that draws with its own random numbers, for mutants that do so wrongly
table       all mutants by name; the other modules define them
gate        runs the mutants over the fixtures: who survives?
page        the page docs/mutants.md
printing    the report of the gate in the terminal
"""
