"""Exact arithmetic with exponentials and logarithms of rational numbers."""
