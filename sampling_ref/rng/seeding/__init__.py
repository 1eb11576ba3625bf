"""How seeds become states: what several generators share, below the generators themselves."""
