"""Filters that are loaded once, before Ansible forks, and not again by every task on every node."""

from __future__ import annotations

DOCUMENTATION = r"""
name: shared_filters
type: aggregate
short_description: Load filters and tests once for all tasks
description:
  - Ansible runs a task on a node in a process of its own, and that process imports every filter
    of C(filter_plugins) when its first template has a filter. Here the parent has them before it
    forks; it prints nothing.
"""

import gc

from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, test_loader


class CallbackModule(CallbackBase):
    """Looks one plugin of each kind up, which loads all."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "shared_filters"

    def v2_playbook_on_start(self, playbook):
        """Load them: at this point the folders of all roles and collections are known."""
        filter_loader.get("ansible.builtin.default")
        test_loader.get("ansible.builtin.defined")
        # Else the first collection in every fork writes to, and so copies, all that is shared.
        gc.freeze()
