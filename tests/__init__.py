"""The claims of this project, as tests. The list of their names reads as a specification."""
