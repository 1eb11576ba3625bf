"""Sampling in readable Python: from a row of logits to a token."""
