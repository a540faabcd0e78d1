"""Whether nodes are fit to be measured, from what they tell of themselves."""
