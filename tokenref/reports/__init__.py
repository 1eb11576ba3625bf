"""What a run looks like."""
