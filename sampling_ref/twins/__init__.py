"""Engines in 32 bits, operation by operation, as links of a chain."""
