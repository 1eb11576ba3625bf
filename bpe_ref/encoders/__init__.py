"""The encoders: from the symbols of one piece to its tokens. One file, one signature each.

Read them in this order: `naive` (the definition), `scan`, `heap`,
`prefix_table`, `backtracking`. They all compute the same function. `greedy`
and `minimal` do not, and are here for comparison. `table` has them all by name.
"""
