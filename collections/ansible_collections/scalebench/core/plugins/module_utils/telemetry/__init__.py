"""What the nodes did during a repeat, and what disturbed it."""
