"""The fixture of the local nodes."""

from local_nodes import cluster  # noqa: F401 (a fixture)
