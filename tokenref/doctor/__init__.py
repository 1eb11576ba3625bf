"""`tokenref doctor`: test an author's program message by message, and explain each mistake."""
