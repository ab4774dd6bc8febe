"""shortlist against the models that people use now, on the same splits."""
