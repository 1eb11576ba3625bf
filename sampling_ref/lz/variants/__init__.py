"""The variants of the LZ penalty: what the paper prints, what it means, what was published.

Each module has one function: the history, the number of tokens in the vocabulary and the
two sizes go in, a `Changes` comes out, which is added to the logits.
"""
