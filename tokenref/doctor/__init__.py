"""`tokenref doctor`: a first-time author's program, message by message, each mistake explained."""
