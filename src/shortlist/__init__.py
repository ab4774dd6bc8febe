"""shortlist: learn the top of the list."""
