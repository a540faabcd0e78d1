"""Test nodes: systemd containers with fixed addresses, reached over ssh like servers."""
