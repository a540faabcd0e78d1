"""No DALI: only the names that published programs import from it where they do not use it.

DALI's operators of the published programs decode on a GPU, and its plug-ins are built for one
release of each framework. On a node without GPUs the programs read their data by other means, but
import DALI all the same. Whatever is used of it raises an error.
"""

import sys
from types import ModuleType

__all__ = ["Unusable"]


class Unusable:
    """Stands for a class of DALI; programs derive from it, and cannot create one."""

    def __init__(self, *_arguments, **_options):
        """Refuse.

        :raises RuntimeError: always.
        """
        raise RuntimeError("there is no DALI on this node: choose another data backend")


_NAMES = {
    "ops": {},
    "pipeline": {"Pipeline": Unusable},
    "plugin": {},
    "plugin.mxnet": {"DALIClassificationIterator": Unusable},
    "plugin.tf": {},
    # Defaults of parameters.
    "types": {"NCHW": None, "NHWC": None},
}
for _name, _contents in _NAMES.items():
    _module = ModuleType(f"{__name__}.{_name}", __doc__)
    vars(_module).update(_contents)
    sys.modules[_module.__name__] = _module
    if "." not in _name:
        globals()[_name] = _module
