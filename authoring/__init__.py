"""Programs that produce the data tokenref ships: cases, mutants, attestation, pages and tables.

Nothing here is installed, and nothing in `tokenref` imports it.
"""
