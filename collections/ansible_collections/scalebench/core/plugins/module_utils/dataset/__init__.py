"""Data sets in the forms of the five systems: what belongs to one, and whether it is there."""
