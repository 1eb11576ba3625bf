"""Vocabulary files: one file here per format, read and written."""
