"""What a carrier that is not ssh is told, and what it tells about a repeat that it ended."""

from __future__ import annotations

import threading
from typing import Any

from ansible.errors import AnsibleConnectionFailure

__all__ = ["STOPPED", "EndedByCarrierError", "told_of"]

# Set while what this worker started on its node is ended: a carrier tries nothing again. A worker
# is a process of its own, with one task of one node.
STOPPED = threading.Event()


class EndedByCarrierError(AnsibleConnectionFailure):
    """A node's command did not end by itself, and the carrier knows why.

    :param ending: how a repeat that it carried ended: ``records.endings``.
    :param reason: why, with the node.
    :param over: whether nothing more can be started on any node.
    :param lingers: whether the command may still run, and ends by itself.
    """

    def __init__(self, ending: str, reason: str, over: bool, lingers: bool = False) -> None:
        super().__init__(reason)
        self.ending, self.reason, self.over, self.lingers = ending, reason, over, lingers


def told_of(error: AnsibleConnectionFailure) -> dict[str, Any]:
    """Return what an error says about a repeat, as a result of module training_run.

    With ssh that is only that the node was lost.
    """
    lost = {"unreachable": True, "msg": str(error)}
    if isinstance(error, EndedByCarrierError):
        lost.update(ending=error.ending, reason=error.reason, carrier_over=error.over)
    return lost
