"""Prepares the process that Ansible forks: what is loaded, compiled and parsed once for all."""

from __future__ import annotations

DOCUMENTATION = r"""
name: prefork
type: aggregate
short_description: Prepare the process that Ansible forks for every task and node
description:
  - Ansible runs every task on every node in a process of its own. Each of them would import all
    filters and tests, those of Ansible included, which takes 0.06 s of CPU time. With this callback
    the parent process has imported them before it forks.
  - A C(provision.yml) that changes nothing on the four local nodes costs the controller half the
    CPU time that it costs without.
  - Python looks for cycles of objects after every few hundred new ones, in each of those processes.
    After every 100,000, a C(bench.yml) costs the controller a tenth less CPU time and 1 MB more
    memory.
  - Ansible compiles every template and condition again for every task and node. Those of this
    project are compiled once and kept in C(.state/templates). A C(bench.yml) on four local nodes
    takes a fifth less CPU time of the controller.
  - With C(scalebench_bytecode), which the nodes of this machine have, modules are sent with their
    bytecode, and what all of them import is parsed once, which takes 15 MB. Where the node's Python
    is of the controller's version, a module costs the node 0.11 s of CPU time instead of 0.20. It
    is 0.6 MB on its way instead of 0.2 MB.
"""

import gc
import os

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, test_loader
from ansible_collections.scalebench.core.plugins.plugin_utils.compiled_templates import (
    CompiledTemplates,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.module_payload import (
    KeptPayloads,
    prepare,
)


class CallbackModule(CallbackBase):
    """Prepares the process that forks when a playbook starts; prints nothing."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "prefork"

    _prepared = None
    _payloads = None
    _templates = None

    def v2_playbook_on_start(self, playbook):
        """Load all filters and tests, by one of each, and what was compiled earlier."""
        gc.set_threshold(100_000)
        # Images of Python set it. A module that comes by pipelining without ssh would be read byte
        # by byte, twice the CPU time of the rest; trainers have it from their launcher.
        os.environ.pop("PYTHONUNBUFFERED", None)
        if not self._templates:
            self._templates = CompiledTemplates()
            self._templates.use()
        filter_loader.get("ansible.builtin.default")
        test_loader.get("ansible.builtin.defined")

    def v2_playbook_on_play_start(self, play):
        """Have modules sent with their bytecode from the first play on that has hosts."""
        if self._prepared is None:
            self._prepared = _is_set(play, "scalebench_bytecode")
            if self._prepared:
                self._payloads = KeptPayloads()
                prepare(parse=not self._payloads.restore())

    def v2_playbook_on_stats(self, stats):
        """Keep what was built for the next playbook."""
        if self._templates:
            self._templates.keep()
        if self._payloads:
            self._payloads.keep()


def _is_set(play, variable):
    """Return whether the first node has a variable that is true; None where none are known yet.

    So it is in a play that --limit leaves without a host. What is wrong with its variables is told
    by the plays that use it.
    """
    try:
        known = play.get_variable_manager().get_vars(play=play, include_hostvars=True)
        if "hostvars" not in known:
            return None
        (first, *_) = known["groups"]["all"]
        return boolean(known["hostvars"][first].get(variable), strict=False)
    except Exception:
        return False
