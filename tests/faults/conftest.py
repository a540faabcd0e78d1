"""The fixtures of the local nodes."""

from local_nodes import cluster, ended_playbooks, pytorch  # noqa: F401 (fixtures)
