"""From benchmark files, options and nodes to cells, their repeats and waves."""
