"""Which line tells why a run failed."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import telling_line

TORCHRUN = """usage: pytorch.py [-h]
pytorch.py: error: --data-dir: . has 1 images
Traceback (most recent call last):
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
  traceback : To enable traceback see: errors.html
============================================================
"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (TORCHRUN, "pytorch.py: error: --data-dir: . has 1 images"),
        (
            "step 1\ntorch.OutOfMemoryError: CUDA out of memory.\nRuntimeError: reset by peer\n",
            "torch.OutOfMemoryError: CUDA out of memory.",
        ),
        ("step 1\nKilled\n-----\n", "Killed"),
        ("progress 10%\rprogress 20%\r", "progress 20%"),
        ("\n\n---\n", ""),
        ("x" * 999, "x" * 300),
    ],
)
def test_the_telling_line_is_the_first_error_or_the_last_words(output, line):
    assert telling_line(output) == line
