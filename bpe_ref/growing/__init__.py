"""Encodings of texts that grow, shrink and are cut, one file per question."""
