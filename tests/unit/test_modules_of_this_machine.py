"""Modules that read or keep a node, run on this machine with its own programs."""

import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import (
    dataset_files,
    interpreters,
    repeat,
    runs,
)
from ansible_collections.scalebench.core.plugins.module_utils.node import (
    kernel_parameters as kernel,
)
from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import judge
from written_logs import write_log

from library import (
    dali_index,
    dataset_info,
    kernel_parameters,
    listener_info,
    nccl_info,
    node_claim,
    node_fingerprint_facts,
    nvidia_driver_info,
    pci_devices_info,
    preflight_facts,
    published_claims_info,
    python_interpreter_info,
    python_wheel,
    scalebench_sshd,
    ssh_key_pairs,
    ssh_reach_info,
    training_log_facts,
    training_run,
    training_run_end,
)

TFRECORD = (3).to_bytes(8, "little") + bytes(4) + b"abc" + bytes(4)


def gone(*_):
    raise ValueError("it is gone")


def denied(*_, **__):
    raise PermissionError(13, "Permission denied", "/there/x")


def test_missing_key_pairs_are_made_once_in_a_private_folder(run, tmp_path):
    folder = tmp_path / "keys"
    given = {"folder": str(folder), "names": ["host_ed25519"], "comment": "node1"}
    checked = run(ssh_key_pairs, check=True, **given)
    assert (checked["changed"], checked["made"]) == (True, ["host_ed25519"])
    assert checked["public"] == {"host_ed25519": ""} and not folder.exists()
    made = run(ssh_key_pairs, **given)
    assert made["public"]["host_ed25519"].endswith(" node1")
    assert folder.stat().st_mode & 0o777 == 0o700
    again = run(ssh_key_pairs, **given)
    assert (again["changed"], again["made"], again["public"]) == (False, [], made["public"])
    folder.chmod(0o755)
    assert run(ssh_key_pairs, **given)["changed"]
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "host_ed25519.pub").unlink()
    assert run(ssh_key_pairs, **given)["made"] == ["host_ed25519"]
    renewed = run(ssh_key_pairs, renew=True, **given)
    assert renewed["made"] == ["host_ed25519"] and renewed["public"] != made["public"]
    failed = run(ssh_key_pairs, **{**given, "names": ["host_nonsuch"]})
    assert failed["failed"] and "ssh-keygen for" in failed["msg"]


def test_host_keys_that_version_0_1_left_with_the_clients_files_are_removed(run, tmp_path):
    clients, host = tmp_path / "sshd", tmp_path / "sshd_host"
    names = [str(host / "host_ed25519"), "id_ed25519"]
    given = {"folder": str(clients), "names": names, "comment": "node1"}
    run(ssh_key_pairs, **given)
    old = [clients / f"host_{name}" for name in ("ed25519", "ed25519.pub", "rsa", "rsa.pub")]
    for path in old:
        path.touch()
    assert run(ssh_key_pairs, check=True, **given)["changed"] and all(map(Path.exists, old))
    assert run(ssh_key_pairs, **given)["changed"]
    assert sorted(path.name for path in clients.iterdir()) == ["id_ed25519", "id_ed25519.pub"]
    assert (host / "host_ed25519").exists()
    assert not run(ssh_key_pairs, **given)["changed"]


def test_the_pairs_of_several_nodes_are_made_in_one_call_and_a_folder_of_another_is_named(
    run, tmp_path
):
    nodes = [tmp_path / "node1", tmp_path / "node2"]
    pairs = [
        {"folder": f"{node}/sshd", "names": [f"{node}/sshd/id_ed25519"], "comment": node.name,
         "own_folder": str(node)}
        for node in nodes
    ]  # fmt: skip
    made = run(ssh_key_pairs, each=pairs)
    assert made["changed"] and made["made"] == [f"{node}/sshd/id_ed25519" for node in nodes]
    assert [key.split()[2] for key in made["public"].values()] == ["node1", "node2"]
    (nodes[0] / "sshd/id_ed25519").unlink()
    again = run(ssh_key_pairs, each=pairs)
    assert again["made"] == made["made"][:1]
    assert again["public"][made["made"][1]] == made["public"][made["made"][1]]
    (nodes[1] / "node.json").write_text('{"hostname": "elsewhere"}')
    refused = run(ssh_key_pairs, each=pairs)["msg"]
    assert refused.startswith(f"{nodes[1]}/sshd: the folder is of machine elsewhere")
    folder = pairs[0]["folder"]
    assert "names, comment" in run(ssh_key_pairs, folder=folder)["msg"]
    assert "comment, names" in run(ssh_key_pairs, each=[{"folder": folder}])["msg"]
    assert "mutually exclusive: folder|each" in run(ssh_key_pairs, folder=folder, each=pairs)["msg"]


@pytest.fixture
def sshd(run, tmp_path):
    """Return the arguments of an sshd on a free port of this machine; end it afterwards."""
    if not os.access("/usr/sbin/sshd", os.X_OK):
        pytest.skip("no sshd here")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    keys = {"folder": str(tmp_path), "names": ["host_ed25519"], "comment": "x"}
    run(ssh_key_pairs, **keys)
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host_ed25519\n"
        f"PidFile {tmp_path}/sshd.pid\nUsePAM no\n"
    )
    given = {"config": str(tmp_path / "sshd_config"), "address": "127.0.0.1", "port": port}
    yield given
    run(scalebench_sshd, state="stopped", **given)


def test_an_sshd_runs_with_the_configuration_as_it_is_now(run, tmp_path, sshd):
    checked = run(scalebench_sshd, check=True, **sshd)
    assert (checked["changed"], checked["pid"], checked["ended"]) == (True, 0, [])
    started = run(scalebench_sshd, **sshd)
    assert started["changed"] and started["pid"] == int((tmp_path / "sshd.pid").read_text())
    with socket.create_connection(("127.0.0.1", sshd["port"]), 5) as there:
        assert there.recv(4) == b"SSH-"
    same = run(scalebench_sshd, **sshd)
    assert (same["changed"], same["pid"], same["ended"]) == (False, started["pid"], [])
    with (tmp_path / "sshd_config").open("a") as config:
        config.write("LogLevel VERBOSE\n")
    again = run(scalebench_sshd, **sshd)
    assert again["changed"] and started["pid"] in again["ended"]
    assert again["pid"] not in (0, started["pid"])
    run(ssh_key_pairs, folder=str(tmp_path), names=["host_ed25519"], comment="y", renew=True)
    assert run(scalebench_sshd, check=True, **sshd)["changed"]
    stopped = run(scalebench_sshd, state="stopped", **sshd)
    assert stopped["changed"] and stopped["pid"] == 0 and again["pid"] in stopped["ended"]
    assert not run(scalebench_sshd, state="stopped", **sshd)["changed"]


def test_an_sshd_that_cannot_start_says_why(run, tmp_path, sshd):
    with socket.create_server(("127.0.0.1", sshd["port"])):
        taken = run(scalebench_sshd, **sshd)
    assert f"port {sshd['port']} on 127.0.0.1 is taken by process {os.getpid()}" in taken["msg"]
    with (tmp_path / "sshd_config").open("a") as config:
        config.write("Nonsense yes\n")
    assert "Bad configuration option: Nonsense" in run(scalebench_sshd, **sshd)["msg"]


def test_one_of_several_sshds_that_cannot_start_does_not_stop_the_others(run, tmp_path, sshd):
    broken = {**sshd, "config": str(tmp_path / "broken/sshd_config")}
    (tmp_path / "broken").mkdir()
    Path(broken["config"]).write_text("Nonsense yes\n")
    failed = run(scalebench_sshd, each=[broken, sshd])
    assert failed["msg"].startswith(f"{broken['config']}: sshd -t -f {broken['config']}")
    started = run(scalebench_sshd, each=[sshd])
    assert not started["changed"] and started["pid"] == int((tmp_path / "sshd.pid").read_text())
    stopped = run(scalebench_sshd, state="stopped", each=[broken, sshd])
    assert stopped["changed"] and started["pid"] in stopped["ended"]
    assert "address, port" in run(scalebench_sshd, config=sshd["config"])["msg"]
    assert "address, port" in run(scalebench_sshd, each=[{"config": sshd["config"]}])["msg"]


def test_parameters_of_the_kernel_are_set_where_they_differ(run, tmp_path, monkeypatch):
    monkeypatch.setattr(
        kernel_parameters, "KernelParameters", lambda: kernel.KernelParameters(str(tmp_path))
    )
    (tmp_path / "net").mkdir()
    (tmp_path / "net/a").write_text("1\n")
    (tmp_path / "net/b").write_text("4096 87380\t6291456\n")
    wanted = {"values": {"net.a": 2, "net.b": "4096 87380 6291456", "net.absent": 1}}
    diff = {"before": "net.a = 1\n", "after": "net.a = 2\n"}
    checked = run(kernel_parameters, check=True, **wanted)
    assert (checked["changed"], checked["diff"], checked["foreign"]) == (True, diff, [])
    assert (tmp_path / "net/a").read_text() == "1\n"
    assert run(kernel_parameters, **wanted)["diff"] == diff
    assert (tmp_path / "net/a").read_text() == "2"
    assert not run(kernel_parameters, **wanted)["changed"]
    monkeypatch.setattr(kernel.KernelParameters, "set", gone)
    failed = run(kernel_parameters, values={"net.a": 3})["msg"]
    assert failed == "net.a=3: it is gone. Correct the value in the playbook."
    monkeypatch.setattr(kernel.KernelParameters, "differing", denied)
    failed = run(kernel_parameters, values={"net.a": 3})["msg"]
    assert failed == "/there/x: cannot be read: Permission denied"


def test_the_version_of_nccl_or_why_it_cannot_be_used(run, monkeypatch):
    asked = []
    monkeypatch.setattr(nccl_info, "version_code", lambda name: asked.append(name) or 22703)
    assert run(nccl_info)["version"] == "2.27.3" and asked == ["libnccl.so.2"]
    monkeypatch.setattr(nccl_info, "version_code", gone)
    assert run(nccl_info)["msg"] == "NCCL cannot be used: libnccl.so.2: it is gone"


HOLDER = {"controller": "c", "boot_id": "b", "pid": 1, "start": 2}


def test_a_node_is_taken_from_nobody_or_the_dead_and_released(run, tmp_path):
    work = {"work_dir": str(tmp_path / "w")}
    mine = {**work, "campaign": "mine", "holder": HOLDER}
    other = {**work, "campaign": "other", "holder": {**HOLDER, "pid": 9}}
    assert run(node_claim, check=True, **mine)["held_by"] is None
    assert not (tmp_path / "w").exists()
    assert run(node_claim, **mine)["held_by"] is None
    held = run(node_claim, check=True, **other)["held_by"]
    assert held.items() >= {"campaign": "mine", **HOLDER}.items()
    assert run(node_claim, **other)["held_by"] == held
    assert not run(node_claim, state="released", **other)["changed"]
    assert run(node_claim, **other, dead=HOLDER)["held_by"] is None
    released = run(node_claim, state="released", **other)
    assert (released["changed"], released["held_by"], released["ended"]) == (True, None, [])


def test_first_runs_on_a_node_without_a_work_folder_exclude_each_other(run, tmp_path):
    system, work = tmp_path / "system", tmp_path / "work"
    both = {"work_dir": str(work), "system_dir": str(system), "existing": True}
    both["user"] = pwd.getpwuid(os.getuid()).pw_name
    anna = {**both, "campaign": "provision.yml", "holder": HOLDER, "owner": "anna"}
    bert = {**anna, "holder": {**HOLDER, "pid": 9}, "owner": "bert"}
    assert run(node_claim, check=True, **anna)["holds"] is False and not system.exists()
    assert run(node_claim, **anna)["holds"]
    assert system.stat().st_mode & 0o777 == 0o700 and not work.exists()
    assert run(node_claim, **bert)["owned_by"] == "anna"
    taken_over = {**bert, "take_over": True}
    for check in (True, False):
        refused = run(node_claim, check=check, **taken_over)
        assert (refused["held_by"]["pid"], refused["held_in"]) == (HOLDER["pid"], str(system))
    # The work folder comes in the middle of the first run, which claims it next, as the account.
    work.mkdir()
    assert run(node_claim, **taken_over)["held_in"] == str(system)
    assert [*work.iterdir()] == []
    user = {key: anna[key] for key in ("work_dir", "campaign", "holder")}
    assert run(node_claim, **user)["holds"]
    assert run(node_claim, state="released", **{**anna, "owner": ""})["changed"]
    assert not [*tmp_path.glob("*/claim.json")]
    assert run(node_claim, **taken_over)["holds"]
    assert run(node_claim, **anna)["owned_by"] == "bert"


def started(environment):
    """Start a program that the kernel shows with its environment: Popen returns a little sooner."""
    process = subprocess.Popen(["sleep", "91"], env=environment)
    shown = Path(f"/proc/{process.pid}/environ")
    while not shown.read_bytes():
        time.sleep(0.01)
    return process


def test_who_takes_a_node_ends_what_was_left_and_waits_for_what_is_watched(run, tmp_path):
    given = {"work_dir": str(tmp_path), "campaign": "c", "holder": HOLDER, "patience": 0.1}
    environment = {"SCALEBENCH_RUN": f"{tmp_path}/runs/old"}
    left = started(environment)
    try:
        with runs.attended(str(tmp_path), f"{tmp_path}/runs/old"):
            busy = run(node_claim, **given)
        assert f"{tmp_path}/runs/old is running here, started by another" in busy["msg"]
        assert f"its processes here ({left.pid})" in busy["msg"]
        assert left.poll() is None
        assert left.poll() is None
        ended = run(node_claim, **given)
        assert ended["changed"] and ended["ended"] == [f"{left.pid} sleep 91"]
        assert left.wait(30) == -15
    finally:
        left.kill()
        left.wait()
    assert run(node_claim, **given)["ended"] == []


def test_who_does_not_hold_a_node_ends_nothing_on_it(run, tmp_path):
    work = {"work_dir": str(tmp_path)}
    run(node_claim, **work, campaign="mine", holder=HOLDER)
    with started({"SCALEBENCH_RUN": f"{tmp_path}/runs/now"}) as training:
        other = {**work, "campaign": "other", "holder": {**HOLDER, "pid": 9}}
        assert run(node_claim, state="released", **other)["ended"] == []
        assert training.poll() is None
        training.kill()


def test_the_forms_of_a_data_set_and_their_indexes(run, tmp_path):
    given = {"data_dir": str(tmp_path), "kind": "small"}
    forms = run(dataset_info, **given)["forms"]
    assert {form["state"] for form in forms.values()} == {"absent"}
    (tmp_path / "tfrecord").mkdir()
    names = [f"train-{at:05d}-of-00008" for at in range(8)]
    names += [f"validation-{at:05d}-of-00002" for at in range(2)]
    for name in names:
        (tmp_path / "tfrecord" / name).write_bytes(TFRECORD)
    form = run(dataset_info, **given)["forms"]["tfrecord"]
    assert (form["state"], form["files"], form["bytes"]) == ("complete", 10, 10 * len(TFRECORD))
    (tmp_path / "tfrecord" / names[3]).write_bytes(TFRECORD + TFRECORD[:15])
    assert run(dataset_info, **given)["forms"]["tfrecord"]["state"] == "complete"
    every = run(dataset_info, every_record=True, **given)["forms"]["tfrecord"]
    assert every["state"] == "incomplete" and names[3] in every["problems"][0]
    (tmp_path / "tfrecord" / names[3]).write_bytes(TFRECORD)
    checked = run(dali_index, check=True, data_dir=str(tmp_path))
    assert checked["changed"] and len(checked["made"]) == 10
    assert not (tmp_path / "dali_idx").exists()
    made = run(dali_index, data_dir=str(tmp_path))["made"]
    assert made == checked["made"]
    assert Path(made[0]).read_text() == f"0 {len(TFRECORD)}\n"
    assert not run(dali_index, data_dir=str(tmp_path))["changed"]
    assert run(dataset_info, **given)["forms"]["dali_idx"]["state"] == "complete"
    (tmp_path / "tfrecord" / names[3]).write_bytes(TFRECORD[:15])
    assert names[3] in run(dali_index, data_dir=str(tmp_path))["msg"]


@pytest.mark.parametrize("shared", [False, True])
def test_indexes_of_a_set_that_is_shared_or_cannot_be_written_are_elsewhere(
    run, tmp_path, monkeypatch, shared
):
    site, own = tmp_path / "site", tmp_path / "work/dali_idx/site"
    (site / "tfrecord").mkdir(parents=True)
    (site / "tfrecord/train-00000-of-00008").write_bytes(TFRECORD)
    given = {"data_dir": str(site), "own_dir": str(own), "shared": shared}
    if not shared:
        # Root may write to whatever is not mounted read-only.
        monkeypatch.setattr(dataset_files.os, "access", lambda path, mode: False)
    made = run(dali_index, **given)
    assert made["made"] == [f"{own}/train-00000-of-00008"] and made["index_dir"] == str(own)
    assert not (site / "dali_idx").exists()
    monkeypatch.undo()
    # The next run finds them there.
    assert not run(dali_index, data_dir=str(site), own_dir=str(own))["changed"]
    found = run(dataset_info, data_dir=str(site), kind="small", index_dir=str(own))
    assert found["forms"]["dali_idx"]["files"] == 1
    (site / "tfrecord/train-00000-of-00008").write_bytes(TFRECORD * 2)
    found = run(dataset_info, data_dir=str(site), kind="small", index_dir=str(own))
    assert "its index ends at byte" in str(found["forms"]["dali_idx"]["problems"])
    chosen = run(dali_index, **given, index_dir=str(tmp_path / "there"))
    assert chosen["index_dir"] == str(tmp_path / "there")
    # Those of the site are used as they are.
    run(dali_index, data_dir=str(site))
    assert run(dali_index, **given)["index_dir"] == str(site / "dali_idx")


@pytest.mark.parametrize("module", [dataset_info, dali_index])
def test_a_data_set_that_cannot_be_read_is_named(run, monkeypatch, module):
    monkeypatch.setattr(module, "look" if module is dataset_info else "missing_indexes", denied)
    given = {"kind": "small"} if module is dataset_info else {}
    assert run(module, data_dir="/there", **given)["msg"] == "/there/x: Permission denied"


def test_a_run_has_ended_once_nobody_attends_it(run, tmp_path):
    given = {"work_dir": str(tmp_path), "run": f"{tmp_path}/r", "patience": 0.1}
    assert run(training_run_end, **given).items() >= {"ended": True, "log": None}.items()
    (tmp_path / "r.log").touch()
    with runs.attended(str(tmp_path), f"{tmp_path}/r"):
        assert not run(training_run_end, **given)["ended"]
        assert not run(training_run_end, check=True, **{**given, "patience": 60})["ended"]
    found = run(training_run_end, **given)
    assert (found["ended"], found["log"]) == (True, f"{tmp_path}/r.log")


def test_an_interpreter_is_found_or_what_was_looked_at(run):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = run(python_interpreter_info, versions=["9.9", version])
    assert found["version"] == version and os.access(found["path"], os.X_OK)
    assert found["platform"] == interpreters.platform_tag()
    missing = run(python_interpreter_info, versions=["9.9", "9.8"])
    assert missing["path"] is None
    assert missing["reason"].startswith("needs Python 9.9 or 9.8 (looked at python9.9 on the PATH")
    here = os.uname().machine
    assert run(python_interpreter_info, versions=[version], machines=[here])["path"]
    elsewhere = run(python_interpreter_info, versions=[version], machines=["vax", "pdp11"])
    assert elsewhere["path"] is None
    assert elsewhere["reason"].startswith("needs a machine of vax or pdp11, for which alone")
    assert elsewhere["reason"].endswith(f"(this one is {here})")


def test_an_environment_is_filled_if_it_is_as_it_was_recorded(run, tmp_path):
    given = {"versions": ["9.9"], "environment": str(tmp_path / "venv"), "requirements": ["a==1"]}
    found = run(python_interpreter_info, **given)
    assert (found["filled"], found["is_filled"]) == (None, False)
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    (tmp_path / "venv/filled").write_bytes(b"\xff")
    found = run(python_interpreter_info, **given)
    assert found["filled"] and not found["is_filled"]
    (tmp_path / "venv/filled").write_text(found["filled"] + "\n")
    assert run(python_interpreter_info, **given)["is_filled"]
    assert not run(python_interpreter_info, **{**given, "requirements": ["a==2"]})["is_filled"]


def test_only_a_check_takes_an_interpreter_whose_ensurepip_may_come_before(
    run, tmp_path, monkeypatch
):
    (tmp_path / "python9.9").write_text(
        "#!/bin/sh\ncase $2 in *ensurepip*) echo no ensurepip >&2; exit 1; esac; echo 9.9\n"
    )
    (tmp_path / "python9.9").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run(python_interpreter_info, versions=["9.9"])["path"] is None
    found = run(python_interpreter_info, check=True, versions=["9.9"])
    assert (found["path"], found["version"]) == (str(tmp_path / "python9.9"), "9.9")
    assert run(python_interpreter_info, check=True, versions=["9.8"])["path"] is None


def test_a_wheel_is_built_only_where_there_is_none(run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(python_wheel, "build_wheel", lambda *given: asked.append(given) or "/w.whl")
    given = {
        "python": "/p", "requirement": "x==1", "folder": str(tmp_path), "environment": {"A": 1},
    }  # fmt: skip
    assert run(python_wheel, check=True, **given)["changed"] and not asked
    built = run(python_wheel, **given)
    assert (built["changed"], built["path"]) == (True, "/w.whl")
    assert asked == [("/p", "x==1", {"A": "1"}, str(tmp_path))]
    (tmp_path / "x-1.whl").touch()
    kept = run(python_wheel, **given)
    assert (kept["changed"], kept["path"]) == (False, f"{tmp_path}/x-1.whl")
    (tmp_path / "x-1.whl").unlink()
    monkeypatch.setattr(python_wheel, "build_wheel", gone)
    assert run(python_wheel, **given)["msg"] == "it is gone"


def test_devices_and_drivers_are_read_below_the_folder_that_is_given(run, tmp_path, monkeypatch):
    assert run(pci_devices_info, sysfs=str(tmp_path))["devices"] == []
    asked = []
    monkeypatch.setattr(nvidia_driver_info, "driver", lambda path: asked.append(path) or {"a": 1})
    monkeypatch.setattr(nvidia_driver_info, "cuda_state", lambda: "state")
    monkeypatch.setattr(nvidia_driver_info, "cuda_problem", lambda *given: ("what", "", str(given)))
    found = run(nvidia_driver_info)
    assert (found["a"], asked, "cuda_problem" in found) == (1, ["/sys"], False)
    found = run(nvidia_driver_info, sysfs="/s", cuda_devices=0)
    assert (found["cuda_problem"], asked[1]) == ("what: ('state', 0)", "/s")


def test_a_log_is_read_on_the_node(run, tmp_path):
    write_log(tmp_path / "a.log")
    assert run(training_log_facts, path=[str(tmp_path / "a.log")])["reader"] == "scalebench"
    (tmp_path / "empty").mkdir()
    assert "no log in it" in run(training_log_facts, path=[str(tmp_path / "empty")])["msg"]


def test_a_node_asks_the_others_under_its_own_name(run, monkeypatch):
    monkeypatch.setattr(ssh_reach_info, "unreachable", lambda *given: {"node2": str(given)})
    given = {"config": "/c", "nodes": ["node1", "node2"], "node": "node1"}
    assert run(ssh_reach_info, **given)["refused"] == {
        "node2": "('/c', ['node1', 'node2'], 'node1')"
    }
    monkeypatch.setattr(ssh_reach_info, "unreachable", gone)
    assert run(ssh_reach_info, **given)["msg"] == "it is gone"


def test_the_fingerprint_of_this_machine(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SCALEBENCH_NODE", "node1")
    monkeypatch.setattr(node_fingerprint_facts, "pci_devices", lambda vendor: [{"vendor": vendor}])
    pythons = {"pytorch": sys.executable, "paddle": "/none/python", "none": ""}
    given = {"work_dir": str(tmp_path / "later"), "pythons": pythons, "gpus": False}
    left = started({"SCALEBENCH_RUN": f"{tmp_path}/later/r"})
    try:
        found = run(node_fingerprint_facts, images={"pytorch": "i"}, **given)
    finally:
        left.kill()
        left.wait()
    facts = found["fingerprint"]
    assert (facts["node"], facts["hostname"]) == ("node1", socket.gethostname())
    assert 1 <= facts["cores"] <= len(os.sched_getaffinity(0))
    assert facts["kernel"] == os.uname().release
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["gpus"] == []
    free = shutil.disk_usage(tmp_path).free / 2**20
    assert facts["disk_free_mib"] == pytest.approx(free, rel=0.05)
    assert {name: one["image"] for name, one in facts["frameworks"].items()} == {
        "pytorch": "i", "paddle": None, "none": None,
    }  # fmt: skip
    assert list(found["unusable"]) == ["paddle"]
    assert found["pci"] == [{"vendor": "10de"}]
    # Of `framework: none` the module's own.
    assert found["pythons"] == {**pythons, "none": sys.executable}
    assert found["runs"] == {f"{tmp_path}/later/r": [left.pid]}
    assert found["data_dir"] == ""
    found = run(node_fingerprint_facts, data_dir=str(tmp_path), **given)
    assert (found["data_dir"], found["runs"]) == (str(tmp_path), {})


def test_what_preflight_asks_of_a_node(run, tmp_path, monkeypatch):
    monkeypatch.setattr(preflight_facts, "unreachable", lambda *given: {"b": "refused"})
    (tmp_path / "authorized_keys").write_text("k\n")
    config = str(tmp_path / "ssh_config")
    given = {"nodes": ["a", "b"], "node": "a", "ssh_config": config, "gpus": False}
    found = run(preflight_facts, **given)
    assert found["peers"] == {"a": "", "b": "refused"}
    assert found["authorized_keys"] == hashlib.sha256(b"k\n").hexdigest()
    assert (found["gpu_health"], found["cuda"], found["gpu_processes"]) == ([], None, [])
    assert (found["image"], found["container_infiniband"]) == (None, None)
    assert found["container_verbs"] and found["clock"] > 1.7e9
    inside = {
        "x": {"image": "i1", "devices": ["mlx5_0", "mlx5_1"], "verbs": True},
        "y": {"image": "i2", "devices": ["mlx5_1"], "verbs": False},
    }
    monkeypatch.setattr(
        preflight_facts.fitness, "container", lambda engine, name: inside[name] | {"e": engine}
    )
    found = run(preflight_facts, containers=["x", "y"], gpus=False)
    assert (found["image"], found["container_infiniband"]) == ("i1, i2", ["mlx5_1"])
    assert (found["container_verbs"], found["peers"]) == (False, None)
    for name, answer in (
        ("gpu_health", [{"index": 0}]), ("gpu_processes", ["p"]), ("container", None),
    ):  # fmt: skip
        monkeypatch.setattr(preflight_facts.fitness, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(preflight_facts.nvidia_smi, "roll_call", lambda: (["1"], "remark"))
    monkeypatch.setattr(preflight_facts, "cuda_state", lambda: "state")
    found = run(preflight_facts)
    assert (found["gpu_health"], found["gpu_processes"]) == ([{"index": 0}], ["p"])
    assert (found["cuda"], found["gpus_silent"], found["gpu_remarks"]) == ("state", ["1"], "remark")
    monkeypatch.setattr(preflight_facts, "unreachable", gone)
    assert run(preflight_facts)["msg"] == "it is gone"


def test_the_preflight_can_rely_on_what_this_machine_says_of_itself(run, tmp_path):
    given = {"work_dir": str(tmp_path), "gpus": False}
    facts = run(preflight_facts, **given)
    facts["fingerprint"] = run(node_fingerprint_facts, **given)["fingerprint"]
    (tmp_path / "images").mkdir()
    facts["dataset"] = run(dataset_info, data_dir=str(tmp_path), kind="small")["forms"]
    assert judge({"node1": {**facts, "clock_skew": [0.0, 0.1]}})["counts"]["fail"] == 0


def test_what_listens_where_the_node_should_is_named(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {"address": "127.0.0.1", "port": server.getsockname()[1]}
        taken = run(listener_info, **given)
    assert taken["own"] and f"process {os.getpid()} (" in taken["listener"]
    assert (run(listener_info, **given).items()) >= {"own": True, "listener": ""}.items()
    assert run(listener_info, **{**given, "address": "192.0.2.1"})["own"] is False


def test_a_run_is_supervised_with_its_arguments_and_recorded(run, tmp_path, monkeypatch):
    asked = {}

    def supervise(argv, log, environment, timeout, stall, **given):
        asked.update(
            given, argv=argv, log=log, environment=environment, timeout=timeout, stall=stall
        )
        return {"ending": "ok"}

    monkeypatch.setattr(repeat, "supervise", supervise)
    monkeypatch.setattr(repeat, "device_users", lambda environment: ["user"])
    given = {
        "argv": ["x"], "environment": {"A": 1}, "work_dir": str(tmp_path), "directory": "runs",
        "name": "r", "timeout": 60, "stall": 30, "memory_mib": 5, "rank": 0,
    }  # fmt: skip
    checked = run(training_run, check=True, **given)
    assert checked["skipped"] and checked["msg"] == "would run x" and not asked
    found = run(training_run, **given)
    path = f"{tmp_path}/runs/r"
    assert found["changed"] and (found["ending"], found["strays"]) == ("ok", 0)
    assert found["device_users"] == ["user"] and found["log"] == asked["log"] == f"{path}.log"
    assert (asked["timeout"], asked["stall"], asked["memory_mib"]) == (60, 30, 5)
    assert (asked["controller"], asked["sample_interval"]) == (1, 2)
    assert asked["folder"] == f"{path}.files" and not os.path.exists(asked["folder"])
    assert asked["environment"].items() >= {"A": "1", "SCALEBENCH_RUN": path}.items()
    record = json.loads(Path(f"{path}.run.json").read_text())
    assert record["env"] == {"A": "1"} and record["rank"] == 0 and record["argv"] == ["x"]
    assert record.items() <= found.items()
    # Only the first rank prints.
    run(training_run, **{**given, "rank": 1})
    assert asked["stall"] == 0
    monkeypatch.setattr(repeat, "device_users", gone)
    assert run(training_run, **given)["msg"] == f"{path}: it is gone"


def test_claims_are_judged_by_the_logs_of_their_folder(run, tmp_path):
    speeds = {}
    for name in ("1n1g/b", "1n1g/a", "2n1g/a"):
        speeds[name] = write_log(tmp_path / f"logs/{name}.log", name[:4])
    (tmp_path / "logs/2n1g/b.log").write_text("nothing")
    common = {"strategy": "mean", "statistic": "single"}
    document = {
        "schema": 1, "folder": "logs", "common": common,
        "claims": [
            {"id": "one", "logs": "1n1g/*.log", "claimed": 1.0, "statistic": "mean"},
            {"id": "two", "logs": "2n1g/b.log", "claimed": 1.0},
            {"id": "three", "logs": "2n1g/a.log", "claimed": 1.0, "figure": "memory"},
            {"id": "four", "of": "one", "over": "one", "claimed": 1.0},
        ],
    }  # fmt: skip
    found = run(published_claims_info, log_dir=str(tmp_path), document=document, name="table")
    assert (found["changed"], found["title"], found["logs_found"]) == (False, "table", 4)
    one, two, three, four = found["claims"]
    means = [round(fmean(speeds[f"1n1g/{name}"]), 2) for name in "ab"]
    assert one["logs"] == ["logs/1n1g/a.log", "logs/1n1g/b.log"]
    assert one["recomputed"] == pytest.approx(fmean(means)) and four["recomputed"] == 1.0
    assert "mean of 2 logs" in one["rule"]
    assert "logs/2n1g/b.log: no known format" in two["reason"]
    assert "logs/2n1g/a.log: the log has no memory" in three["reason"]
    titled = {**document, "title": "A title", "folder": "elsewhere"}
    found = run(published_claims_info, log_dir=str(tmp_path / "logs"), document=titled)
    assert (found["title"], found["logs_found"]) == ("A title", 4)
    failed = run(published_claims_info, log_dir=str(tmp_path / "none"), document=document)
    assert "none is not a folder: set log_dir" in failed["msg"]
    failed = run(published_claims_info, log_dir=str(tmp_path), document={}, name="x.yml")
    assert failed["msg"].startswith("claims, x.yml.schema: None")
