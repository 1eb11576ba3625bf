"""Campaigns of random questions: an engine against the reference.

question, drawn_questions     which question has which number
comparing     what the reference says, what the engine says, and whether that differs
smaller_questions, smaller_vocabularies, shrinking     the smallest question that still differs
findings, journal     what was found, and the file that has it
campaign, executors     all questions of a shard, here or on many machines
merging, promoting     shards put together; a finding becomes a golden record
"""
