"""What the user said of the list: values, limits, entities, times; and the list that keeps it."""
