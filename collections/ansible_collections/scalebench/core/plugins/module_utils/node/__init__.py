"""What touches a node: its processes, its sockets, its facts. The rest of module_utils is pure."""
