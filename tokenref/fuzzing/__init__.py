"""Campaigns of random questions that compare an engine with the reference.

plan, drawn_questions     what a campaign asks, and which question has which number
comparing     the reference's answer as a record, the engine's answer, and the outcome
smaller_questions, shrinking     find the smallest failure
findings     what was found, and which findings are likely the same bug
journal, campaign     the file of a campaign; running all groups of a shard
printing, promoting     show findings; turn them into golden records
"""
