"""Contestants, the folds they race on, and the combination that comes of it."""
