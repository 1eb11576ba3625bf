"""Errors that end a command with one sentence. The class decides the exit code."""


class InputError(Exception):
    """An argument, an option or a file that cannot be used. The exit code is 2."""


class InvalidRunError(Exception):
    """A run, a file of records or of results that proves nothing. The exit code is 3."""
