"""Gives nodes back that this ansible-playbook still holds when it ends, in whatever way."""

from __future__ import annotations

DOCUMENTATION = r"""
name: claims
type: aggregate
short_description: Release the nodes that an ansible-playbook still holds when it ends
description:
  - A play releases the nodes at its end. Nodes that failed or were lost, and all nodes after
    Ctrl-C, SIGTERM or a closed terminal, are not reached by it. Until their holder's next run
    nobody else could use them.
  - So C(playbooks/release.yml) is run for what is left, with the inventory, the variables, the
    passwords and the vaults of this run, for at most two minutes. Where C(provision.yml) had begun
    to record the changes of a server, that ends the record too, as root, for C(uninstall.yml).
  - A controller that is killed or loses its power cannot do so; its own next run takes over what it
    held.
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
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
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import (
    by_words,
    folded,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import (
    keep_interrupts,
    run_to_end,
)

RELEASE = Path(__file__).resolve().parents[1] / "release.yml"
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


def _claims(task, module="node_claim"):
    """Return whether a task claims or releases a node, or runs another module."""
    return task.action.rpartition(".")[2] == module


def _records(task):
    """Return what a task does with the record of a server's changes, begun or recorded."""
    return task.args.get("state") if _claims(task, "system_changes") else None


class CallbackModule(CallbackBase):
    """Remembers who holds what; prints only what it gives back."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "claims"

    def __init__(self):
        super().__init__()
        # Whether this play is root and goes through the system's sshd; and how claims were taken.
        self._way = (False, False)
        self._held = {}
        # Servers whose changes are not recorded yet.
        self._begun = set()
        # The task that each node is at.
        self._running = {}
        self._passwords = {}
        self._writers, self._folder = [], ""
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
        through_system = play.get_vars().get("scalebench_first_contact")
        self._way = (bool(play.become), bool(through_system))

    def v2_runner_on_start(self, host, task):
        """Note a claim that may be taken: Ctrl-C may come before its answer."""
        # Nodes of a job cannot be reached without it; the holder's next run takes over.
        of_job = "scalebench_carrier_job" in host.get_vars()
        checks = context.CLIARGS.get("check")
        # A release that is skipped has no answer: that of a node which another holds.
        takes = _claims(task) and task.args.get("state") != "released"
        name = host.get_name()
        self._running[name] = task.get_name()
        if takes and not of_job and not checks:
            # What root claimed, only root gives back, with what the account claimed later.
            self._held[name] = max(self._way, self._held.get(name, self._way))
        if _records(task) == "begun" and not checks:
            self._begun.add(name)

    def v2_runner_on_ok(self, result):
        """Note a claim that was taken or released, and a finished record."""
        self._running.pop(result.host.get_name(), None)
        if _claims(result.task) and not result.result.get("holds"):
            self._held.pop(result.host.get_name(), None)
        if _records(result.task) == "recorded":
            self._begun.discard(result.host.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        """Forget a node that somebody else holds or owns, or whose record did not begin.

        But not what root claimed before.
        """
        name = result.host.get_name()
        self._running.pop(name, None)
        if _claims(result.task) and self._held.get(name) == self._way:
            del self._held[name]
        if _records(result.task) == "begun":
            self._begun.discard(name)

    def v2_runner_on_skipped(self, result):
        """Note that a task has ended."""
        self._running.pop(result.host.get_name(), None)

    v2_runner_on_unreachable = v2_runner_on_skipped

    def v2_playbook_on_stats(self, stats):
        """Give back what failed nodes hold."""
        self.give_back()

    def give_back(self):
        """Release the nodes that are still held; also after Ctrl-C, when Python ends."""
        # A worker of Ansible is a copy of this process. And release.yml, which this starts,
        # must not start itself again for nodes that it cannot reach.
        if os.getpid() != self._process or HOLDER_VARIABLE in os.environ:
            return
        # A campaign's runs end with the connection; what root's modules began goes on.
        interrupted = [(name, task) for name, task in self._running.items() if name in self._begun]
        for words in by_words(interrupted):
            said = "interrupted, and may still run there: wait for it before the next run"
            self._say(self._display.warning, f"{words}: {said}")
        ways = {**self._held, **dict.fromkeys(self._begun, (True, True))}
        for way in sorted({*ways.values()}, reverse=True):
            self._give_back_by(way, sorted(name for name, one in ways.items() if one == way))

    def _give_back_by(self, way, nodes):
        self._say(self._display.display, f"Giving back {folded(nodes)}")
        secrets = self.secrets()
        command = [*self.command(nodes, *way), *(word for one in secrets.values() for word in one)]
        try:
            done = run_to_end(
                [*command, *self.passwords()],
                env={
                    **os.environ,
                    **NOTHING_ASKED,
                    HOLDER_VARIABLE: json.dumps(identity(os.getpid())),
                },
                pass_fds=list(secrets),
                timeout=PATIENCE_SECONDS,
            )
            # After Ctrl-C until here they are given back once more, when Python ends.
            self._forget(nodes)
        except (OSError, subprocess.TimeoutExpired) as error:
            self._forget(nodes)
            self._say(self._display.warning, f"{folded(nodes)}: not given back: {error}")
            return
        finally:
            for pipe in secrets:
                os.close(pipe)
            self._end_writers()
        if done.returncode:
            self._say(
                self._display.warning,
                f"not all of {folded(nodes)} were given back; the next run of this controller takes"
                f" over what it held. {done.stdout[-2000:]}",
            )

    def _forget(self, nodes):
        self._begun.difference_update(nodes)
        for name in nodes:
            self._held.pop(name, None)

    @staticmethod
    def _say(way, text):
        # Ctrl-C ended the program too that the output went to, such as tee.
        with suppress(OSError):
            way(text)

    def command(self, nodes, as_root, through_system):
        """Return the command that releases nodes, with inventory and variables of this run.

        :param as_root: release as root, and record what provisioning changed.
        :param through_system: connect to the system's sshd.
        """
        given = context.CLIARGS
        words = [sys.executable, "-m", "ansible", "playbook", str(RELEASE), "--limit"]
        words.append(",".join(nodes))
        for switch, key in (("-i", "inventory"), ("-e", "extra_vars")):
            words += [word for value in given.get(key) or () for word in (switch, str(value))]
        # With = , as arguments for ssh begin with a dash.
        words += [f"{switch}={given[key]}" for key, switch in WAY_IN.items() if given.get(key)]
        if through_system:
            words += ["-e", "scalebench_first_contact=true"]
        return [*words, "-e", "release_become=true"] if as_root else words

    def secrets(self):
        """Return words of the command by pipe: passwords, of vaults too, that nobody types twice.

        Pipes, because a file would stay on the disk after a loss of power, and other accounts read
        the words of a command.
        """
        current = VaultSecretsContext.current(optional=True)
        vaults = current.secrets if current else []
        words = {}
        for name, secret in vaults:
            # A pipe holds 64 KiB, more than any password.
            pipe, inlet = os.pipe()
            os.write(inlet, secret.bytes)
            os.close(inlet)
            words[pipe] = ["--vault-id", f"{name}@/dev/fd/{pipe}"]
        return words

    def passwords(self):
        """Return words of the command as :meth:`secrets`, by pipes with a name.

        For Ansible follows links in the paths of these two, and where /dev/fd leads is no path.
        """
        words = []
        for switch, word in self._passwords.items():
            if word:
                self._folder = self._folder or tempfile.mkdtemp()
                words += [switch, os.path.join(self._folder, switch)]
                os.mkfifo(words[-1], 0o600)
                # Waits for the reader; Ctrl-C must not end it.
                writer = subprocess.Popen(
                    ["sh", "-c", 'exec cat >"$0"', words[-1]],
                    stdin=subprocess.PIPE, start_new_session=True,
                )  # fmt: skip
                writer.stdin.write(to_bytes(word))
                writer.stdin.close()
                self._writers.append(writer)
        return words

    def _end_writers(self):
        for writer in self._writers:
            writer.kill()
            writer.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._writers, self._folder = [], ""
