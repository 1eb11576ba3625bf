"""Adaptive samplers: their filter depends on what was drawn before. State in, state out."""
