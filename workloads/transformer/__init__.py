"""Transformers in PyTorch: a decoder, and the layers that other transformers share with it.

Written from the papers that the modules name. Run `train_decoder.py`; what does not depend on the
model is in the package ``common``.
"""
