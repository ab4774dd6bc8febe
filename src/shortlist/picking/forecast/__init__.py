"""What the list will bring, how sure that is, and whether it was kept."""
