"""Gives nodes back that this ansible-playbook still holds when it ends, in whatever way."""

from __future__ import annotations

DOCUMENTATION = r"""
name: claims
type: aggregate
short_description: Release the nodes that an ansible-playbook still holds when it ends
description:
  - A play releases the nodes at its end. Nodes that failed or were lost, and all nodes after
    Ctrl-C, are not reached by it. Until their holder's next run nobody else could use them.
  - So C(playbooks/release.yml) is run for what is left, with the inventory, the variables, the
    passwords and the vaults of this run, for at most two minutes. A controller that is killed or
    loses its power cannot do so; its own next run takes over what it held.
"""

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ansible import context
from ansible.module_utils.common.text.converters import to_bytes
from ansible.parsing.vault import VaultSecretsContext
from ansible.plugins.callback import CallbackBase
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import (
    HOLDER_VARIABLE,
    identity,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import folded
from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import (
    keep_interrupts,
    run_to_end,
)

RELEASE = Path(__file__).resolve().parents[1] / "playbooks/release.yml"
PATIENCE_SECONDS = 120
# Passwords come by pipe, and nobody answers.
NOTHING_ASKED = dict.fromkeys(
    ("ANSIBLE_ASK_PASS", "ANSIBLE_BECOME_ASK_PASS", "ANSIBLE_ASK_VAULT_PASS"), "false"
)
# Options of this run by which nodes are reached, and their switches.
WAY_IN = {
    "private_key_file": "--private-key",
    "remote_user": "--user",
    "connection": "--connection",
    "timeout": "--timeout",
    "ssh_common_args": "--ssh-common-args",
    "sftp_extra_args": "--sftp-extra-args",
    "scp_extra_args": "--scp-extra-args",
    "ssh_extra_args": "--ssh-extra-args",
    "become_method": "--become-method",
    "become_user": "--become-user",
}


def _claims(task):
    """Return whether a task claims or releases a node."""
    return task.action.rpartition(".")[2] == "node_claim"


class CallbackModule(CallbackBase):
    """Remembers who holds what; prints only what it gives back."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "claims"

    def __init__(self):
        super().__init__()
        self._held = set()
        # Whether this play goes through the system's sshd, and is root; and how a claim was taken.
        self._first_contact = self._root = self._through_system = self._as_root = False
        self._passwords = {}
        self._process = os.getpid()
        atexit.register(self.give_back)
        keep_interrupts()

    def set_play_context(self, play_context):
        """Note the passwords that were typed or read from files when this run began."""
        self._passwords = {
            "--connection-password-file": play_context.password,
            "--become-password-file": play_context.become_pass,
        }

    def v2_playbook_on_play_start(self, play):
        """Note how the play connects."""
        self._first_contact = bool(play.get_vars().get("scalebench_first_contact"))
        self._root = bool(play.become)

    def v2_runner_on_start(self, host, task):
        """Note a claim that may be taken: Ctrl-C may come before its answer."""
        # Nodes of a job cannot be reached without it; the holder's next run takes over.
        of_job = "scalebench_carrier_job" in host.get_vars()
        # A release that is skipped has no answer: that of a node which another holds.
        takes = _claims(task) and task.args.get("state") != "released"
        if takes and not of_job and not context.CLIARGS.get("check"):
            self._held.add(host.get_name())
            self._through_system, self._as_root = self._first_contact, self._root

    def v2_runner_on_ok(self, result):
        """Note a claim that was taken or released."""
        if _claims(result.task) and not result.result.get("holds"):
            self._held.discard(result.host.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        """Forget a node that somebody else holds or owns."""
        if _claims(result.task):
            self._held.discard(result.host.get_name())

    def v2_playbook_on_stats(self, stats):
        """Give back what failed nodes hold."""
        self.give_back()

    def give_back(self):
        """Release the nodes that are still held; also after Ctrl-C, when Python ends."""
        nodes = sorted(self._held)
        # A worker of Ansible is a copy of this process. And release.yml, which this starts,
        # must not start itself again for nodes that it cannot reach.
        if not nodes or os.getpid() != self._process or HOLDER_VARIABLE in os.environ:
            return
        self._say(self._display.display, f"Giving back {folded(nodes)}")
        secrets = self.secrets()
        try:
            done = run_to_end(
                [*self.command(nodes), *(word for switch in secrets.values() for word in switch)],
                env={
                    **os.environ,
                    **NOTHING_ASKED,
                    HOLDER_VARIABLE: json.dumps(identity(os.getpid())),
                },
                pass_fds=list(secrets),
                timeout=PATIENCE_SECONDS,
            )
            # After Ctrl-C until here they are given back once more, when Python ends.
            self._held.clear()
        except (OSError, subprocess.TimeoutExpired) as error:
            self._held.clear()
            self._say(self._display.warning, f"{folded(nodes)}: not given back: {error}")
            return
        finally:
            for pipe in secrets:
                os.close(pipe)
        if done.returncode or "UNREACHABLE" in done.stdout:
            self._say(
                self._display.warning,
                f"not all of {folded(nodes)} were given back; the next run of this controller takes"
                f" over what it held. {done.stdout[-2000:]}",
            )

    @staticmethod
    def _say(way, text):
        # Ctrl-C ended the program too that the output went to, such as tee.
        with suppress(OSError):
            way(text)

    def command(self, nodes):
        """Return the command that releases nodes, with inventory and variables of this run."""
        given = context.CLIARGS
        words = [sys.executable, "-m", "ansible", "playbook", str(RELEASE), "--limit"]
        words.append(",".join(nodes))
        for switch, key in (("-i", "inventory"), ("-e", "extra_vars")):
            words += [word for value in given.get(key) or () for word in (switch, str(value))]
        # With = , as arguments for ssh begin with a dash.
        words += [f"{switch}={given[key]}" for key, switch in WAY_IN.items() if given.get(key)]
        if self._through_system:
            words += ["-e", "scalebench_first_contact=true"]
        return [*words, "-e", "release_become=true"] if self._as_root else words

    def secrets(self):
        """Return words of the command by pipe: passwords, of vaults too, that nobody types twice.

        Pipes, because a file would stay on the disk after a loss of power, and other accounts read
        the words of a command.
        """
        current = VaultSecretsContext.current(optional=True)
        vaults = current.secrets if current else []
        held = [("--vault-id", f"{name}@", secret.bytes) for name, secret in vaults]
        held += [(switch, "", to_bytes(word)) for switch, word in self._passwords.items() if word]
        words = {}
        for switch, name, secret in held:
            # A pipe holds 64 KiB, more than any password.
            pipe, inlet = os.pipe()
            os.write(inlet, secret)
            os.close(inlet)
            words[pipe] = [switch, f"{name}/dev/fd/{pipe}"]
        return words
