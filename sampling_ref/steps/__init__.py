"""The closed list of steps: each function of this package, as a link of a chain."""
