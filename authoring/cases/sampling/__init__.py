"""The cases about samplers: each module has those of one topic."""
