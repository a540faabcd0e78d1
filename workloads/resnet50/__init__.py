"""ResNet-50 v1.5: a trainer for each framework, and what the trainers share.

Run `train_<framework>.py`. Once the command line has been checked, it imports
`<framework>_training.py` and with it the framework. What does not depend on the model is in the
package ``common``.
"""
