"""One static HTML file: what engines make of the records, to look up and to search."""
