"""The generators of golden records: each case says and asserts why it exists."""
