"""Penalties and masks: each maps a row and a history to a new row.

All have one shape: `name(logits, history, parameters, *, choices)`. A history that a step
does not look at is read all the same, so that a wrong one is always an error.
"""
