"""The questions of records and their answers, one module per subject."""
