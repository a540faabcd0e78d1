"""What was promised of a cluster, tested by what was measured."""
