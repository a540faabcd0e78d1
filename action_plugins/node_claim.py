"""Claims a node for this ansible-playbook, and takes over the claim of one that has ended."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.node.account import own_name
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import (
    HOLDER_VARIABLE,
    has_ended,
    identity,
)


class ActionModule(ActionBase):
    """Tells module node_claim which process claims the node and whether the holder has ended."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result; failed where another living campaign holds the node."""
        result = super().run(tmp, task_vars)
        holder = {**_this_playbook(), "job": task_vars.get("scalebench_carrier_job", "")}
        answer = self._ask(task_vars, holder=holder)
        other = answer.get("held_by")
        # A worker that a killed ansible-playbook left behind may claim the node in between.
        while other and self._has_ended(other, holder):
            answer = self._ask(task_vars, holder=holder, dead=other)
            other = answer.get("held_by") if not self._task.check_mode else None
        result.update(answer)
        owned_by, owner = answer.get("owned_by"), self._task.args.get("owner")
        if owned_by and owned_by != owner and not self._task.args.get("take_over"):
            result.update(
                failed=True,
                msg=f"{task_vars['inventory_hostname']} is provisioned by controller {owned_by},"
                f" whose inventory decides its packages, settings and sshd; this is {owner}. Ask"
                " there. To only use the node: --tags cluster_ssh -e scalebench_guest=true gives"
                " this controller access beside the owner's. To own it:"
                " -e scalebench_take_over=true",
            )
        if other:
            claim = f"{answer.get('held_in', self._task.args['work_dir'])}/claim.json"
            campaign = str(other.get("campaign"))
            what = campaign if campaign.endswith(".yml") else f"campaign {campaign}"
            result.update(
                failed=True,
                msg=f"{what} has been running on {task_vars['inventory_hostname']} since"
                f" {other.get('taken')}, as process {other.get('pid')} of"
                f" {other.get('controller')}. Wait for it, or end it; if that machine or"
                f" container is gone, remove {claim} on the node.",
            )
        return result

    def _has_ended(self, other, holder):
        """Return whether who holds the node has ended, on this machine or with a carrier's job."""
        is_over = getattr(self._connection, "is_over", lambda job: False)
        here = has_ended(other, holder.get("controller", ""))
        return here or bool(other.get("job") and is_over(other["job"]))

    def _ask(self, task_vars, **more):
        return self._execute_module(module_args={**self._task.args, **more}, task_vars=task_vars)


def _this_playbook():
    """Return what identifies this ansible-playbook, the parent of this worker process."""
    if HOLDER_VARIABLE in os.environ:
        # playbooks/release.yml, which callback claims runs for an ansible-playbook that ends.
        return json.loads(os.environ[HOLDER_VARIABLE])
    # An orphaned worker has another parent, which would never release the node.
    parent = multiprocessing.parent_process()
    process = identity(parent.pid) if parent else None
    if process is None or process["pid"] != os.getppid():
        raise AnsibleActionFail("the ansible-playbook that claims the node has ended")
    return {
        "controller": f"{own_name() or os.geteuid()}@{socket.gethostname()}",
        **process,
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
