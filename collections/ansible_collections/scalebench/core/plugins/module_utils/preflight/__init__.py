"""Whether nodes are fit to be measured, judged by the facts that they report."""
