"""How rows are stored and compared: operators, kernels, caches, duplicates."""
