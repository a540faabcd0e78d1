"""Code that runs on a node: processes, files, devices. The rest of module_utils is pure."""
