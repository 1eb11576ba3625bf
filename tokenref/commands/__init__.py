"""The commands of `tokenref`, by what they are about; `cli` puts them together."""
