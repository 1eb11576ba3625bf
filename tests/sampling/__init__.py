"""Claims about `sampling_ref`."""
