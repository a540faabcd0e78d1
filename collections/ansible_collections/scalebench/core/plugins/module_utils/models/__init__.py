"""What a model costs: FLOPs of a unit by named formulas, and the peaks of devices."""
