"""From the observations of a log, or a tree of logs, to the throughput of a repeat."""
