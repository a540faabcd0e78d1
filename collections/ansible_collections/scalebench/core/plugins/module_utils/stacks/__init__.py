"""Which versions of GPU software go together, and with which hardware."""
