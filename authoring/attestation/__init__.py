"""What real engines say about the golden records, as pages of the documentation.

A record that a real engine confirms is worth more than one that only the
reference vouches for. So the real engines are run over all records, and what
comes out is written down: how each of them fared, where they are known to
differ, and which records none of them could confirm.
"""
