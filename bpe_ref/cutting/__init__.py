"""Counting and cutting for whole tokenizers, in characters of the original text."""
