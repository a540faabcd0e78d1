"""Parts of trainers that do not depend on the model.

Modules named after a framework import it; all others need the standard library only. All but those
for PyTorch and Paddle run on Python 3.7, which the oldest supported frameworks need.
"""
