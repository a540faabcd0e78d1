"""Nodes for tests: systemd containers with fixed addresses, reached by ssh like any server."""
