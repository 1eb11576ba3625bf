"""The patterns that components hold, in the dialects of their engines."""
