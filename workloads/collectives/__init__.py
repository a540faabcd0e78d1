"""Collective operations of torch.distributed, timed and checked: run `measure.py`."""
