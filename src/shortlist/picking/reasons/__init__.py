"""Why a row is on the list, and which columns matter."""
