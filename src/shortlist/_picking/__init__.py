"""How `pick` compares models at a budget and what it returns."""
