"""Model files as earlier versions have written them, one folder for each format and its ends."""
