"""Fingerprints of nodes, and archives of campaigns without secrets."""
