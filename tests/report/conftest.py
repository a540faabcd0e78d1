"""The fixtures of the local nodes and of the browser."""

from browser import browser, open_file  # noqa: F401 (fixtures)
from local_nodes import cluster, ended_playbooks, pytorch  # noqa: F401 (fixtures)
