"""What nodes and code were, and how a campaign travels without its secrets."""
