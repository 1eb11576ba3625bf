"""Arithmetics as values of one protocol, and the exact decisions below them.

protocol                              what rules may ask: `Numbers`, `Row`, thresholds, walks
exact                                 exact logits, exact weights
plain32, torch32, llama32             32-bit floats in plain order, torch's, llama.cpp's
orders                                the orders of equals; the largest numbers of a row
reaching, thresholds, entropies       where sums reach a share, what lies above a threshold
mass, totals, softmax                 weights as floats with a bound; totals as real numbers
exponential_sums, logarithm_sums      the signs of sums, which are always decided
reals, enclosures                     computable real numbers and correctly rounded floats
binary32, glibc                       32-bit floats and glibc's functions of them
"""
