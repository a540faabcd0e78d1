"""Which versions of GPU software work together, and with which hardware."""
