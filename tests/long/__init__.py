"""What only shows after a while, or when machines fail; see ``python -m tests.long``."""
