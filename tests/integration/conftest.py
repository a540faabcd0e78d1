"""The fixtures of the local nodes."""

import pytest
from local_nodes import cluster, ended_playbooks, pytorch  # noqa: F401 (fixtures)


@pytest.fixture(scope="session", autouse=True)
def installed(pytorch):  # noqa: F811 (a fixture)
    """Install PyTorch before the first test: some look for it and would be skipped without."""
