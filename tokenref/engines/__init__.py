"""The programs under test, each behind the same small interface."""
