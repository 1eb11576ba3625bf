"""One static HTML file with all results, to browse and search."""
