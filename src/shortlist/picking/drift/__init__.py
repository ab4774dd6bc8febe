"""Whether the candidates are like the history."""
