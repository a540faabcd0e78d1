"""Statistics that know nothing of training."""
