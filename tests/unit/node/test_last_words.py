"""Which line tells why a run failed."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import telling_line

KEY = (
    f"-----BEGIN OPENSSH PRIVATE {'KEY'}-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAA\n"
    f"QyNTUxOQAAACD\n-----END OPENSSH PRIVATE {'KEY'}-----\n"
)
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
        ("x" * 300, "x" * 300),
        ("error: " + 99 * "abcd ", ("error: " + 99 * "abcd ")[:296] + " ..."),
        ("error:\t" + 99 * "abcd\t", ("error:\t" + 99 * "abcd\t")[:296] + " ..."),
        # A part of a word may be a part of a secret, in which nobody recognises it.
        ("error: " + 56 * "abcd " + "https://bob:hunter2@host/", "error: " + 56 * "abcd " + "..."),
        (301 * "x", "a word of 301 characters"),
        (f"step 1\n{KEY}step 2\n{KEY}", "step 2"),
        (f"step 1\n{KEY[40:]}", ""),
        (f"step 1\n{KEY[40:]}step 2\n{KEY[:60]}", "step 2"),
        (f"step 1\n{KEY[:60]}", "step 1"),
        (f"step 1\n{KEY[:60]}\nCUDA out of memory", "CUDA out of memory"),
        (f"step 1\n{KEY}".replace("\n", "\n[1,0]<stdout>:"), "[1,0]<stdout>:"),
    ],
)
def test_the_telling_line_is_the_first_error_or_the_last_words(output, line):
    assert telling_line(output) == line
