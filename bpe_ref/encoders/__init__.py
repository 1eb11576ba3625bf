"""The encoders: from the symbols of one piece to its tokens. One file, one signature each.

Read them in this order: `naive` (the definition), `scan`, `vocabulary.heap` (which is there because
`vocabulary.compatibility` builds on it), `prefix_table`, `backtracking`. They all compute the same
function. `greedy` and `minimal` do not, and are here for comparison; `dropout` leaves merges out at
random. `table` has all by name.
"""
