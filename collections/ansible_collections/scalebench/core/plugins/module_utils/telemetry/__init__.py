"""Telemetry of the nodes during a repeat, and the disturbances that it shows."""
