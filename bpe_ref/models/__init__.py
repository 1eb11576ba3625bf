"""Models: from a piece of text to tokens."""
