"""Any program as an engine: messages as JSON lines, over pipes or in files."""
