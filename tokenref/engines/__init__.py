"""The engines under test, each behind the interface of `tokenref.answers`."""
