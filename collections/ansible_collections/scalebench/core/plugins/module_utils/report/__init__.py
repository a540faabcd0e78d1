"""Results in words, tables, plots and the formats of other programs."""
