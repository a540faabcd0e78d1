"""Verifies and unpacks the archive of a campaign."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.plugin_utils import archive_reading
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_signing import (
    verify_signature,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)


class ActionModule(ControllerAction):
    """Implements module campaign_unarchive."""

    ARGUMENTS: ClassVar = {
        "archive": {"type": "path", "required": True},
        "directory": {"type": "path", "default": ""},
        "allowed_signers": {"type": "path", "default": ""},
        "signer": {"type": "str", "default": ""},
    }

    def answer(self, args):
        """Unpack the archive unless that was done before; return the campaign and its folder."""
        archive = Path(args["archive"])
        signature, sha256 = verify_signature(archive, args["allowed_signers"], args["signer"])
        campaign, sums = archive_reading.head(archive, sha256)
        folder = Path(os.path.abspath(args["directory"] or f"result/{campaign}"))
        unpacked = archive_reading.unpacked_before(archive, sums, folder)
        if unpacked or self._task.check_mode:
            archive_reading.verify(archive, sha256=sha256)
        else:
            archive_reading.unpack(archive, folder, sha256)
        return {
            "changed": not unpacked,
            "campaign": campaign,
            "directory": str(folder),
            "signature": signature,
        }
