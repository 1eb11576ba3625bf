"""The commands of `tokenref`, one module per subject."""
