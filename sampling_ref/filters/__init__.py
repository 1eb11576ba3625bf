"""Filters: which tokens stay possible. One file each; each returns the set of kept ids."""
