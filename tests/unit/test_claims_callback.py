"""What callback claims gives back when ansible-playbook ends, and how it asks for it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.utils.path import unfrackpath
from campaign_data import ROOT

from playbooks.callback_plugins import claims


@pytest.fixture
def callback(monkeypatch):
    """Return the callback, and a list of what it started in place of ansible-playbook."""
    started, secrets, told_by_name = [], [], []

    def run(command, env, pass_fds, **_):
        named = {"--become-password-file", "--connection-password-file"} & {*command}
        for switch in sorted(named):
            at = command.index(switch)
            # As Ansible's arguments do.
            path = unfrackpath(command.pop(at + 1))
            assert os.path.exists(path) and os.stat(path).st_mode & 0o77 == 0
            told_by_name.append((switch, Path(path).read_bytes()))
        told = {pipe: os.read(pipe, 100) for pipe in pass_fds}
        words = [f"{name}/dev/fd/{pipe}" for pipe in told for name in ("", "site@", "default@")]
        command = [word for word in command if word not in words]
        started.append((command, json.loads(env[claims.HOLDER_VARIABLE])))
        secrets.extend(told.values())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(claims, "run_to_end", run)
    monkeypatch.setattr(claims.atexit, "register", lambda function: None)
    monkeypatch.setattr(claims, "keep_interrupts", lambda: None)
    given = {"inventory": ("inventory/mine",), "extra_vars": ("precision=amp", "@vars.yml")}
    monkeypatch.setattr(claims.context, "CLIARGS", given)
    return SimpleNamespace(
        plugin=claims.CallbackModule(), started=started, secrets=secrets, named=told_by_name
    )


def told(callback, host, action="node_claim", event="ok", state="taken", **answer):
    """Tell the callback the start and the result of a task."""
    variables = {"scalebench_carrier_job": "7"} if host.startswith("slurm") else {}
    named = SimpleNamespace(get_name=lambda: host, get_vars=lambda: variables)
    task = SimpleNamespace(action=action, args={"state": state}, get_name=lambda: action)
    callback.plugin.v2_runner_on_start(named, task)
    result = SimpleNamespace(task=task, host=named, result=answer)
    if event:
        getattr(callback.plugin, f"v2_runner_on_{event}")(result)


def play(callback, become=None, **variables):
    started = SimpleNamespace(get_vars=lambda: variables, become=become)
    callback.plugin.v2_playbook_on_play_start(started)


def test_what_is_still_held_is_given_back_once_in_the_name_of_its_holder(callback):
    play(callback)
    for host in ("node1", "node2", "node3"):
        told(callback, host, holds=True)
    told(callback, "node2", holds=False)
    told(callback, "node4", action="ansible.builtin.debug", holds=True)
    callback.plugin.v2_playbook_on_stats(None)
    callback.plugin.give_back()
    ((command, holder),) = callback.started
    # As the action plugin, in a worker of this process, names it.
    assert holder["pid"] == os.getpid() and holder["start"] > 0 and holder["boot_id"]
    assert command[1:4] == ["-m", "ansible", "playbook"]
    assert command[4].endswith("playbooks/release.yml") and os.path.isfile(command[4])
    assert command[5:] == [
        *("--limit", "node1,node3", "-i", "inventory/mine"),
        *("-e", "precision=amp", "-e", "@vars.yml"),
    ]


def test_a_claim_that_was_taken_through_the_systems_sshd_is_given_back_through_it(callback):
    play(callback, scalebench_first_contact=True)
    told(callback, "node1", holds=True)
    callback.plugin.give_back()
    assert callback.started[0][0][-2:] == ["-e", "scalebench_first_contact=true"]


def test_a_claim_that_root_took_for_another_account_is_given_back_by_root(callback):
    play(callback, become=True, scalebench_first_contact=True)
    told(callback, "node1", holds=True)
    play(callback)
    callback.plugin.give_back()
    assert callback.started[0][0][-2:] == ["-e", "release_become=true"]


def test_what_root_claimed_is_given_back_by_root_whatever_came_later(callback):
    play(callback, become=True, scalebench_first_contact=True)
    told(callback, "node1", holds=True)
    told(callback, "node2", holds=True)
    play(callback)
    told(callback, "node1", holds=True)
    # A campaign took the work folder in between.
    told(callback, "node2", event="failed", held_by={"campaign": "night"})
    told(callback, "local1", holds=True)
    callback.plugin.give_back()
    given = [(command[6], command[-1]) for command, _ in callback.started]
    assert given == [("node1,node2", "release_become=true"), ("local1", "@vars.yml")]


def test_a_provisioning_that_ends_early_is_recorded_by_root_through_the_systems_sshd(callback):
    play(callback, become=True, scalebench_first_contact=True)
    for host in ("node1", "node2", "node3", "node4"):
        told(callback, host, holds=False)
    told(callback, "node1", action="system_changes", state="begun")
    told(callback, "node2", action="system_changes", state="begun", event="failed")
    told(callback, "node3", action="system_changes", state="begun")
    told(callback, "node5", holds=True)
    play(callback)
    told(callback, "node1", holds=True)
    told(callback, "node6", holds=True)
    told(callback, "node3", action="system_changes", state="recorded")
    callback.plugin.v2_playbook_on_stats(None)
    callback.plugin.give_back()
    as_root = ["-e", "scalebench_first_contact=true", "-e", "release_become=true"]
    first, second = [command for command, _ in callback.started]
    assert (first[6], first[-4:]) == ("node1,node5", as_root)
    assert (second[6], second[-2:]) == ("node6", ["-e", "@vars.yml"])


def test_a_task_of_root_that_was_interrupted_is_named(callback, monkeypatch):
    said = []
    monkeypatch.setattr(callback.plugin._display, "warning", said.append)
    play(callback, become=True)
    for host in ("node1", "node2", "node3", "node4"):
        told(callback, host, action="system_changes", state="begun", event="ok")
    for host, event in (("node1", ""), ("node2", ""), ("node3", "unreachable"), ("node4", "ok")):
        told(callback, host, action="service", event=event)
    told(callback, "node5", action="shell", event="")
    callback.plugin.give_back()
    (words,) = said
    assert words.startswith("node[1-2]: service: interrupted, and may still run there")


def test_nothing_is_recorded_after_check_mode(callback, monkeypatch):
    monkeypatch.setitem(claims.context.CLIARGS, "check", True)
    told(callback, "node1", action="system_changes", state="begun", event="")
    callback.plugin.give_back()
    assert callback.started == []


def test_passwords_and_vaults_of_the_run_are_handed_on_by_pipe(callback, monkeypatch):
    vaults = SimpleNamespace(secrets=[("site", SimpleNamespace(bytes=b"vault's"))])
    monkeypatch.setattr(claims.VaultSecretsContext, "current", lambda **_: vaults)
    monkeypatch.setitem(claims.context.CLIARGS, "remote_user", "ubuntu")
    monkeypatch.setitem(claims.context.CLIARGS, "ssh_common_args", "-o ProxyJump=bastion")
    callback.plugin.set_play_context(SimpleNamespace(password="ssh's", become_pass="sudo's"))
    told(callback, "node1", holds=True)
    callback.plugin.give_back()
    ((command, _),) = callback.started
    words = ["--user=ubuntu", "--ssh-common-args=-o ProxyJump=bastion"]
    assert command[-5:] == [
        *words, "--vault-id", "--connection-password-file", "--become-password-file"
    ]  # fmt: skip
    assert callback.secrets == [b"vault's"]
    assert callback.named == [
        ("--become-password-file", b"sudo's"), ("--connection-password-file", b"ssh's")
    ]  # fmt: skip
    # They stand in no argument, which other accounts could read, and the pipes are closed.
    assert not any("sudo's" in word or "vault's" in word for word in command)


def test_a_claim_that_has_no_answer_yet_is_given_back_and_a_refused_one_is_not(callback):
    told(callback, "node1", event="")
    told(callback, "node2", event="failed", held_by={"campaign": "night"})
    # Its release is skipped.
    told(callback, "node2", event="", state="released")
    callback.plugin.give_back()
    assert callback.started[0][0][6] == "node1"


def test_nothing_is_given_back_after_check_mode(callback, monkeypatch):
    monkeypatch.setitem(claims.context.CLIARGS, "check", True)
    told(callback, "node1", event="")
    callback.plugin.give_back()
    assert callback.started == []


def test_nothing_is_started_where_all_was_released_or_in_a_worker(callback, monkeypatch):
    told(callback, "node1", holds=True)
    told(callback, "node1", holds=False)
    callback.plugin.give_back()
    told(callback, "node1", holds=True)
    monkeypatch.setattr(claims.os, "getpid", lambda: 1)
    callback.plugin.give_back()
    assert callback.started == []


def test_a_node_that_was_not_given_back_is_reported(callback, monkeypatch):
    def run(command, **_):
        return subprocess.CompletedProcess(command, 4, "node1: UNREACHABLE", "")

    words = []
    monkeypatch.setattr(claims, "run_to_end", run)
    monkeypatch.setattr(callback.plugin._display, "warning", words.append)
    told(callback, "node1", holds=True)
    callback.plugin.give_back()
    assert words == [
        "not all of node1 were given back; the next run of this controller takes over what it held."
        " node1: UNREACHABLE"
    ]


def test_a_node_of_slurm_is_not_given_back_since_it_went_with_its_job(callback):
    told(callback, "slurm1", holds=True)
    callback.plugin.give_back()
    assert callback.started == []


def test_the_release_of_unreachable_nodes_does_not_start_itself_again(callback, monkeypatch):
    monkeypatch.setenv(claims.HOLDER_VARIABLE, "{}")
    told(callback, "node1", event="")
    callback.plugin.give_back()
    assert callback.started == []


def words_of(script):
    """Return what a program prints that may import the collection."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_signal_that_nohup_ignores_stays_ignored():
    script = (
        "import signal;"
        "from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import *;"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        # A shell without job control has programs in the background ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler); keep_interrupts();"
        "print(*(signal.getsignal(one) in (signal.SIG_IGN, signal.SIG_DFL)"
        " for one in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)))"
    )
    assert words_of(script) == ["True", "False", "False"]


def test_what_the_first_signal_began_is_not_cut_off_by_another():
    """A session that is closed sends SIGTERM and SIGHUP."""
    script = (
        "import os, signal;"
        "from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import *\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
        "  if not os.fork():\n"
        "    signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler); keep_interrupts()\n"
        "    try: signal.raise_signal(number)\n"
        "    except KeyboardInterrupt: pass\n"
        "    for other in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):\n"
        "      signal.raise_signal(other)\n"
        "    os._exit(7)\n"
        "  print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    assert words_of(script) == ["7", "7", "7"]
