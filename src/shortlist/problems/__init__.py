"""What is being solved: losses, thresholds, row operators, and the problems made of them."""
