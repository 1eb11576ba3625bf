"""Settings that hold for every test."""

from hypothesis import settings

# Deadlines measure the machine and not the code; how fast things are is for benchmarks.
settings.register_profile("tokenref", deadline=None)
settings.load_profile("tokenref")
