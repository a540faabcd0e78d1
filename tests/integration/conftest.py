"""The local nodes that these tests run on."""

from local_nodes import cluster  # noqa: F401 (a fixture)
