"""The questions that records ask and the answers they have: one module per subject."""
