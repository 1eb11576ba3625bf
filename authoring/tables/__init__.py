"""Scripts that build the tables in `bpe_ref` from Unicode and other published data."""
