"""How fast it is: `python benchmarks/run.py` measures, README.md explains."""
