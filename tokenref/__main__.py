"""`python -m tokenref` is the `tokenref` command."""

from tokenref.cli import main

main()
