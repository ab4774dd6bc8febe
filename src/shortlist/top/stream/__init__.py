"""TopPush and PatMat on rows that are read block by block."""
