"""From the records of a campaign to its cells, speed-ups and checks."""
