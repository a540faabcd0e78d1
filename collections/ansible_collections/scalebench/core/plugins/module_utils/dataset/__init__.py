"""Data sets in the layouts of the five frameworks: their files, and whether they are complete."""
