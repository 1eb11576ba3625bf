"""Small wrong tokenizers, each with its story, that the fixtures must tell from the right one.

mutant         what a mutant is, and the witness that shows it
merging        wrong orders, wrong queues, wrong shortcuts
cutting        wrong pieces
vocabularies   tokens lost or mixed up on loading
special        special tokens found too often, too seldom, or with their surroundings
decoding       wrong ways back, and wrong counts
pipelines      whole tokenizers: what their mutants are made of, and one module per kind
table          all of them by name
gate           runs them over the fixtures: who survives?
"""
