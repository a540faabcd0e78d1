"""The fixtures of the local nodes."""

from local_nodes import cluster, pytorch  # noqa: F401 (fixtures)
