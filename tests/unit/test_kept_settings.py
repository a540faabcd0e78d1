"""What a site has set on its servers, as roles find it and leave it."""

import base64
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml
from ansible.modules import blockinfile
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).resolve().parents[2]


def evaluated(text, **variables):
    """Return what Ansible makes of a text in a role or playbook."""
    return Templar(loader=DataLoader(), variables=variables).template(trust_as_template(text))


def test_needrestart_only_lists_services_whichever_play_installs():
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    installing = [play for play in plays if {"host_baseline", "framework"} & roles(play)]
    assert len(installing) == 2
    for play in installing:
        assert environment(play)["NEEDRESTART_MODE"] == "l"


def environment(play, *groups):
    texts = {
        name: trust_as_template(value) if isinstance(value, str) else value
        for name, value in play["vars"].items()
    }
    known = {"scalebench_work_dir": "/opt/scalebench", "group_names": list(groups)}
    return evaluated(play["environment"], **texts, **known)


def test_pip_keeps_what_it_downloads_in_the_work_folder_but_on_the_users_own_machine():
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    (play,) = [play for play in plays if "framework" in roles(play)]
    for group in ("nodes", "unprivileged_nodes"):
        assert environment(play, group)["PIP_CACHE_DIR"] == "/opt/scalebench/pip"
    assert "PIP_CACHE_DIR" not in environment(play, "nodes", "local_nodes")


def roles(play):
    return {role["role"] for role in play.get("roles", [])}


def play(tmp_path, role, part, *options, hosts="localhost", **given):
    """Apply a part of a role to this machine, as far as the variables let it, as each host."""
    steps = [{"ansible.builtin.include_role": {"name": role, "tasks_from": part}}]
    steps.append({"ansible.builtin.debug": {"msg": "the rest is shown"}})
    (tmp_path / "play.yml").write_text(
        yaml.safe_dump([{"hosts": hosts, "gather_facts": False, "tasks": steps}])
    )
    # As for the local nodes: what Ansible sends is built and compiled once, not once a test.
    given = {"ansible_python_interpreter": sys.executable, "scalebench_bytecode": True, **given}
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", f"{hosts},", "-c", "local",
         *options, "-e", json.dumps(given), tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             "ANSIBLE_ACTION_PLUGINS": f"{tmp_path}:{ROOT}/action_plugins"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("deb [signed-by=/k] http://127.0.0.1:9/deb/$(ARCH) /", True),
        ("URIs: http://127.0.0.1:9/deb/amd64/", True),
        ("# deb http://127.0.0.1:9/deb/amd64 /", False),
    ],
)
def test_a_list_of_the_site_stays_and_is_used(tmp_path, line, kept):
    site = tmp_path / "nvidia-container-toolkit.list"
    site.write_text(f"{line}\n")
    code, output = play(
        tmp_path, "apt_repository", "main",
        __apt_repository_folders=[str(tmp_path)],
        apt_repository_url="http://127.0.0.1:9/deb/amd64",
        apt_repository_key_url="http://127.0.0.1:9/key.asc",
        apt_repository_fingerprints=["A" * 40],
        apt_repository_setting="fingerprints",
        apt_repository_keyring=str(tmp_path / "ours.asc"),
        apt_repository_list=str(tmp_path / "ours.list"),
    )  # fmt: skip
    assert site.read_text() == f"{line}\n"
    assert not (tmp_path / "ours.list").exists() and not (tmp_path / "ours.asc").exists()
    # Nobody listens where the keyring would be.
    assert (code == 0) is kept, output
    assert ("has http://127.0.0.1:9/deb/amd64 already and stays" in output) is kept


@pytest.mark.parametrize("check", [["--check"], []])
def test_a_clock_daemon_in_the_way_is_named_with_both_ways_out(tmp_path, check):
    (tmp_path / "distribution_packages.py").write_text(
        "from ansible.plugins.action import ActionBase\n"
        "class ActionModule(ActionBase):\n"
        "    def run(self, tmp=None, task_vars=None):\n"
        "        return {'failed': True, 'msg': 'chrony would remove packages'}\n"
    )
    code, output = play(
        tmp_path, "host_baseline", "chrony_configured", *check,
        __host_baseline_chrony_conf=str(tmp_path / "chrony.conf"),
        __host_baseline_chrony_sources=str(tmp_path / "ours.sources"),
        __host_baseline_chrony_include="",
        __host_baseline_chrony_service="chrony",
        __host_baseline_container=True,
        ansible_facts={"virtualization_type": "container"},
    )  # fmt: skip
    words = " ".join(output.split())
    assert "chrony would remove packages" in words
    assert "host_baseline_clock_replace_allowed=true" in words
    assert "host_baseline_chrony=false" in words
    assert (code == 0) is bool(check), output
    assert ("the rest is shown" in words) is bool(check)


def test_a_check_announces_the_accounts_of_docker_where_there_is_no_docker_yet(tmp_path):
    code, output = play(
        tmp_path, "container_engine", "docker", "--check",
        __container_engine_daemon_file=str(tmp_path / "daemon.json"),
        __container_engine_there="",
        __container_engine_needs={},
        container_engine_daemon={},
        container_engine_daemon_replace_allowed=False,
        container_engine_users=["root"],
    )  # fmt: skip
    assert code == 0, output
    assert "root: in group docker, once Docker is installed" in output
    assert "Add accounts to its group" not in output


def test_a_check_announces_the_small_set_where_ansibles_pip_has_no_packaging_yet(tmp_path):
    venv.create(tmp_path / "bare")
    code, output = play(
        tmp_path, "dataset", "small", "--check",
        ansible_python_interpreter=str(tmp_path / "bare/bin/python"),
        __dataset_python=[f"{sys.version_info.major}.{sys.version_info.minor}"],
        dataset_directory=str(tmp_path / "sets/small"),
        dataset_environment=str(tmp_path / "environment"),
        dataset_images={"train": 2, "val": 1},
        dataset_workload_dir=str(tmp_path),
        scalebench_work_dir=str(tmp_path),
    )  # fmt: skip
    assert code == 0, output
    assert "would change: dataset : Small | Install Pillow" in output
    assert "would change: dataset : Small | Create the images in every form" in output


@pytest.mark.parametrize(
    ("role", "file", "module", "register"),
    [
        ("container_engine", "toolkit_RedHat", "dnf", "__container_engine_repository"),
        ("mlnx_ofed", "doca_RedHat", "dnf", "__mlnx_ofed_repository"),
        ("container_engine", "toolkit_Debian", "dpkg_selections", "__container_engine_installed"),
        ("mlnx_ofed", "doca_Debian", "dpkg_selections", "__mlnx_ofed_doca"),
        ("nvidia_packages", "install_Debian", "dpkg_selections", "__nvidia_packages_installed"),
    ],
)
def test_a_check_does_not_look_for_what_it_only_announces(role, file, module, register):
    """dnf fails without the package's repository, dpkg without the package."""
    tasks = yaml.safe_load((ROOT / f"roles/{role}/tasks/{file}.yml").read_text())
    tasks += [inner for task in tasks for inner in task.get("block", [])]
    (task,) = [task for task in tasks if f"ansible.builtin.{module}" in task]
    when = task["when"] if isinstance(task["when"], list) else [task["when"]]
    assert register in [task.get("register") for task in tasks]

    def done(check, changed):
        known = {"ansible_check_mode": check, register: {"changed": changed}}
        known |= {"apt_repository_known": True, "__container_engine_toolkit_known": True}
        known["container_engine_toolkit_version"] = "1.18.2"
        return all(evaluated(f"{{{{ {condition} }}}}", **known) for condition in when)

    assert not done(check=True, changed=True)
    assert done(check=True, changed=False) and done(check=False, changed=True)


def test_versions_are_unlocked_where_nothing_was_ever_locked(run, tmp_path):
    tasks = yaml.safe_load((ROOT / "roles/nvidia_packages/tasks/absent.yml").read_text())
    (given,) = [task["ansible.builtin.blockinfile"] for task in tasks if "Unlock" in task["name"]]
    locks = tmp_path / "versionlock.list"
    assert run(blockinfile, **{**given, "path": str(locks)})["changed"] is False
    assert not locks.exists()


def test_ofeds_installer_finds_what_it_does_not_install_itself_on_the_rhel_family():
    needed = yaml.safe_load((ROOT / "roles/mlnx_ofed/vars/RedHat.yml").read_text())
    assert {"tcl", "tk", "gcc-gfortran"} <= {*needed["__mlnx_ofed_needed"]}


def test_a_check_holds_no_package_that_it_only_announces():
    tasks = yaml.safe_load((ROOT / "roles/host_baseline/tasks/holds_Debian.yml").read_text())
    held = evaluated(
        tasks[-1]["loop"],
        host_baseline_held_packages=["chrony", "openssh-server"],
        ansible_facts={"packages": {"openssh-server": []}},
    )
    assert held == ["openssh-server"]


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("[main]\ngpgcheck=1\n", "libnccl"),
        ("[main]\nexcludepkgs = kernel*, lustre*\n", "kernel*,lustre*,libnccl"),
        ("[main]\nexclude=kernel* libnccl\n", "kernel*,libnccl"),
    ],
)
def test_what_dnf_excludes_for_the_site_stays(text, excluded):
    tasks = yaml.safe_load((ROOT / "roles/host_baseline/tasks/holds_RedHat.yml").read_text())
    *_, task = tasks
    found = {"content": base64.b64encode(text.encode()).decode()}
    variables = {key: trust_as_template(value) for key, value in task["vars"].items()}
    line = evaluated(
        task["ansible.builtin.lineinfile"]["line"],
        host_baseline_held_packages=["libnccl"],
        __host_baseline_dnf=found,
        **variables,
    )
    assert line == f"excludepkgs={excluded}"


@pytest.mark.parametrize(
    ("path", "sockets", "other"),
    [
        (None, "0: 00000002 00000000 00010000 0001 01 2143 /run/podman/podman.sock\n", []),
        ("/snap/bin/docker.dockerd", "", ["/snap/bin/docker.dockerd"]),
        (
            None,
            "0: 00000002 00000000 00010000 0001 01 21434 /run/docker.sock\n"
            "0: 00000003 00000000 00000000 0001 03 21435 /run/docker.sock\n",
            ["/run/docker.sock"],
        ),
    ],
)
def test_docker_without_its_daemon_in_path_is_found(path, sockets, other):
    values = yaml.safe_load((ROOT / "roles/container_engine/vars/main.yml").read_text())
    found = evaluated(
        values["__container_engine_other"],
        __container_engine_programs={"programs": {"/snap/bin/docker.dockerd": {"path": path}}},
        __container_engine_sockets={"content": base64.b64encode(sockets.encode()).decode()},
    )
    assert found == other


@pytest.mark.parametrize(("choice", "used"), [(False, 0), ("false", 0), (True, 1)])
def test_gpus_that_are_not_to_be_used_get_neither_driver_nor_toolkit(choice, used):
    gpu = {
        "slot": "0000:1a:00.0",
        "vendor": "0x10de",
        "device": "0x2330",
        "device_class": "0x030200",
    }
    tasks = yaml.safe_load((ROOT / "roles/stack/tasks/main.yml").read_text())
    key = "ansible.builtin.set_fact"
    facts = [task[key]["stack_hardware"] for task in tasks if key in task]
    engine = yaml.safe_load((ROOT / "roles/container_engine/vars/main.yml").read_text())
    variables = {
        "scalebench_gpus": choice,
        "hardware_pci": {"devices": [gpu]},
        "__stack_driver": {},
        "ansible_facts": {"os_family": "Debian", "distribution_major_version": "12"},
    }
    assert len(evaluated(facts[0], **variables)["gpus"]) == used
    assert len(evaluated(engine["__container_engine_gpus"], **variables)) == used


@pytest.mark.parametrize(
    ("modes", "kept"), [(["Enabled"] * 2, True), (["Enabled", "Disabled"], False), ([], False)]
)
def test_a_persistence_daemon_that_does_its_work_is_left_alone(tmp_path, monkeypatch, modes, kept):
    smi = tmp_path / "nvidia-smi"
    smi.write_text(
        "#!/bin/sh\n"
        '[ "$1 $2" = "--query-gpu=persistence_mode --format=csv,noheader" ] || exit 2\n'
        + "".join(f"echo {mode}\n" for mode in modes)
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    code, output = play(
        tmp_path, "nvidia_driver", "services", "--check",
        stack_hardware={"gpus": [{"architecture": ""}] * 2, "nvswitches": [], "hcas": [],
                        "driver_loaded": None},
        stack_definition={},
    )  # fmt: skip
    assert code == 0, output
    assert ("Write the persistence daemon's unit" not in output) is kept, output


@pytest.mark.parametrize(
    ("there", "images", "indexes"),
    [
        ([True, False, False], "/data/images", "/data/dali_idx"),
        ([True, True, True], "/data/images", "/opt/scalebench/dali_idx/data"),
        ([False, True, False], "/data", "/data/dali_idx"),
        ([False, False, False], "/data/images", "/data/dali_idx"),
    ],
)
def test_a_container_gets_images_and_indexes_from_where_they_are(there, images, indexes):
    texts = yaml.safe_load((ROOT / "roles/framework/vars/main.yml").read_text())
    node = texts["__framework_container_node"]
    known = {
        "framework_data_dir": "/data",
        "scalebench_work_dir": "/opt/scalebench",
        "__framework_data": {"results": [{"stat": {"exists": one}} for one in there]},
        **{
            name: trust_as_template(texts[name])
            for name in ("__framework_places", "__framework_there")
        },
    }
    assert evaluated(node["images_dir"], **known) == images
    assert evaluated(node["index_dir"], **known) == indexes
    chosen = evaluated(node["index_dir"], dataset_index_dir="/scratch/dali", **known)
    assert chosen == "/scratch/dali"


def test_folders_of_our_own_are_recorded_and_those_that_the_nodes_share_are_not():
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    (play,) = [play for play in plays if "host_baseline" in roles(play)]
    (begun,) = [
        task["system_changes"] for task in play["pre_tasks"] if "system_changes" in task
    ]  # fmt: skip
    named = ("__framework_folders", "__workload_folder", "__dataset_folder")
    known = {
        **{name: trusted(play["vars"][name]) for name in named},
        **dict.fromkeys(
            ("nvidia_driver_download_dir", "mlnx_ofed_download_dir", "nccl_download_dir"), "/cache"
        ),
        "scalebench_work_dir": "/opt/scalebench",
        "nccl_tests_dir": "/opt/nccl-tests",
        "framework_dir": "/srv/venvs",
        "workload_dir": "/srv/workloads",
        "dataset": "small",
        "scalebench_data_dir": "/srv/small",
    }
    ours = {"/opt/scalebench", "/cache", "/opt/nccl-tests"}
    elsewhere = {"/srv/venvs", "/opt/scalebench/sources", "/srv/workloads", "/srv/small"}
    assert {*evaluated(begun["folders"], **known)} == ours | elsewhere
    shared = dict.fromkeys(("framework_shared", "workload_shared", "dataset_shared"), "true")
    assert {*evaluated(begun["folders"], **known, **shared)} == ours
    # A data set of the site is none of ours.
    assert "/srv/small" not in evaluated(begun["folders"], **{**known, "dataset": "imagenet"})


def trusted(value):
    if isinstance(value, list):
        return [trust_as_template(one) for one in value]
    return trust_as_template(value)


def test_our_own_containers_do_not_keep_uninstall_from_removing_them():
    plays = yaml.safe_load((ROOT / "playbooks/uninstall.yml").read_text())
    (task,) = [
        task for task in plays[1]["tasks"] if "__uninstall_disturbed" in task.get("vars", {})
    ]  # fmt: skip
    left = evaluated(
        task["vars"]["__uninstall_disturbed"],
        __uninstall_work={"gpu_users": ["process 7 (a) on a GPU"],
                          "containers": ["container 3f2a9c01d77e", "container site-db"]},
        __uninstall_own={"known_as": ["container ours", "container 3f2a9c01d77e"]},
    )  # fmt: skip
    assert left == ["process 7 (a) on a GPU", "container site-db"]


def of_role(role, name, **known):
    """Return a variable of a role as Ansible evaluates it beside others."""
    texts = yaml.safe_load((ROOT / f"roles/{role}/vars/main.yml").read_text())
    others = {
        key: trust_as_template(value) for key, value in texts.items() if isinstance(value, str)
    }
    return evaluated(texts[name], **{**others, **known})


@pytest.mark.parametrize(
    ("allowed", "user_space", "flags"),
    [
        (False, False, ["-q", "--without-fw-update"]),
        ("false", "true", ["-q", "--without-fw-update", "--user-space-only"]),
        ("true", False, ["-q", "--without-fw-update", "--force"]),
    ],
)
def test_the_installer_of_ofed_removes_packages_of_the_site_only_where_allowed(
    allowed, user_space, flags
):
    known = {"mlnx_ofed_replace_allowed": allowed, "mlnx_ofed_user_space_only": user_space}
    given = ["--distro", "ubuntu22.04"]
    assert (
        of_role("mlnx_ofed", "__mlnx_ofed_install_flags", mlnx_ofed_installer_arguments=[], **known)
        == flags
    )
    # The last of two that contradict counts: adapters keep their firmware.
    assert (
        of_role(
            "mlnx_ofed", "__mlnx_ofed_install_flags", mlnx_ofed_installer_arguments=given, **known
        )
        == given + flags
    )


@pytest.mark.parametrize(
    ("family", "architecture", "given", "home", "headers"),
    [
        ("Debian", "x86_64", "", "/usr/lib/x86_64-linux-gnu/openmpi",
         ["/usr/lib/x86_64-linux-gnu/openmpi/include"]),
        ("Debian", "aarch64", "", "/usr/lib/aarch64-linux-gnu/openmpi",
         ["/usr/lib/aarch64-linux-gnu/openmpi/include"]),
        ("RedHat", "x86_64", "", "/usr/lib64/openmpi",
         ["/usr/lib64/openmpi/include", "/usr/include/openmpi-x86_64"]),
        ("RedHat", "x86_64", "/opt/mpi", "/opt/mpi", ["/opt/mpi/include"]),
    ],
)  # fmt: skip
def test_nccl_tests_are_compiled_with_the_distributions_mpi_or_the_sites(
    family, architecture, given, home, headers
):
    known = {
        "nccl_tests_mpi": given,
        "ansible_facts": {"os_family": family, "architecture": architecture},
    }
    assert of_role("nccl", "__nccl_tests_mpi", **known) == home
    assert of_role("nccl", "__nccl_tests_headers", **known) == headers


def test_a_reboot_that_takes_too_long_is_told_from_one_that_was_refused():
    told = of_role(
        "nvidia_driver", "__nvidia_driver_not_rebooted", __nvidia_driver_node="gpu01",
        ansible_failed_result={"rebooted": True, "msg": "Timed out waiting for last boot time."},
    )  # fmt: skip
    assert told.startswith("gpu01 did not come back from its reboot: Timed out waiting for last")
    assert "set nvidia_driver_reboot_timeout" in told


@pytest.mark.parametrize("drain", [["true", "{node}"], []])
def test_a_node_that_does_not_come_back_is_not_resumed_and_the_message_says_how(tmp_path, drain):
    """Ansible refuses to reboot this machine."""
    code, output = play(
        tmp_path, "nvidia_driver", "reboot_node",
        __nvidia_driver_node="localhost",
        __nvidia_driver_drained={"gpu_users": [], "containers": []},
        nvidia_driver_drain_command=drain,
        nvidia_driver_resume_command=["resume", "{node}", "now"],
        scalebench_work_dir=str(tmp_path),
        stack_name="cpu",
    )  # fmt: skip
    words = " ".join(output.split())
    assert code == 2, output
    assert "localhost was not rebooted: Running " in words
    assert "set nvidia_driver_reboot_timeout" not in words
    left = (
        "It is still drained; run this again, or resume it yourself once it works: resume localhost"
    )
    assert (left in words) is bool(drain)
    assert "Resume localhost" not in words


def test_nodes_are_rebooted_one_by_one_and_each_fails_itself(tmp_path):
    """Ansible refuses to reboot this machine."""
    for host in ("gpu1", "gpu3"):
        (tmp_path / host / "module/nouveau").mkdir(parents=True)
    code, output = play(
        tmp_path, "nvidia_driver", "reboot", hosts="gpu1,gpu2,gpu3",
        hardware_sysfs=str(tmp_path) + "/{{ inventory_hostname }}",
        nvidia_driver_record={"version": "580.159.04"},
        nvidia_driver_reboot_allowed=True,
        nvidia_driver_drain_command=["true", "{node}"],
        __nvidia_driver_running={"gpu_users": [], "containers": []},
        __nvidia_driver_drained={"gpu_users": [], "containers": []},
        __nvidia_driver_installed=False,
        __nvidia_driver_peermem_required=False,
        scalebench_work_dir=str(tmp_path),
        stack_name="cpu",
    )  # fmt: skip
    assert code == 2, output
    turns = re.findall(
        r"(changed|FAILED gpu\d): nvidia_driver : Reboot \| (?:Drain|Report .* of) (gpu\d)", output
    )
    first, second = turns[0][1], turns[-1][1]
    assert {first, second} == {"gpu1", "gpu3"}
    assert turns == [
        *(("changed", first), (f"FAILED {first}", first)),
        *(("changed", second), (f"FAILED {second}", second)),
    ]
    assert "gpu1 was not rebooted: " in output and "gpu3 was not rebooted: " in output
    # What follows is done where the driver is right.
    assert "the rest is shown" in output and re.search(r"\ngpu2 .* failed=0 ", output)


def test_a_rebooted_node_has_the_time_of_a_large_server():
    (block,) = [
        task["block"]
        for task in yaml.safe_load((ROOT / "roles/nvidia_driver/tasks/reboot_node.yml").read_text())
        if "block" in task
    ]
    given = block[0]["ansible.builtin.reboot"]["reboot_timeout"]
    default = yaml.safe_load((ROOT / "roles/nvidia_driver/defaults/main.yml").read_text())
    assert evaluated(given, **default) == 1800


@pytest.mark.parametrize("given", ["", "/opt/mine/python"])
def test_framework_none_runs_where_the_probe_runs_whatever_was_discovered_before(given):
    pythons = of_role(
        "campaign", "__campaign_pythons",
        __campaign_check={"frameworks": ["pytorch", "none"]},
        ansible_facts={"discovered_interpreter_python": "/usr/bin/python3.11"},
        campaign_framework_dir="/venvs",
        campaign_python=given,
    )  # fmt: skip
    assert pythons == {"pytorch": given or "/venvs/pytorch/bin/python", "none": given}


BEST, OLDER = "sntrup761x25519-sha512", ["curve25519-sha256", "curve25519-sha256@libssh.org"]


@pytest.mark.parametrize(
    ("known", "chosen", "old_clients", "offered"),
    [
        ([*OLDER, BEST], [], False, [BEST]),
        ([*OLDER, BEST], [], True, [BEST, *OLDER]),
        (OLDER, [], False, OLDER),
        ([*OLDER, BEST], OLDER[:1], True, OLDER[:1]),
    ],
)
def test_old_key_exchanges_are_offered_where_asked_for_or_nothing_else_is_known(
    known, chosen, old_clients, offered
):
    found = of_role(
        "cluster_ssh", "__cluster_ssh_kex",
        __cluster_ssh_known_kex={"stdout_lines": known},
        __cluster_ssh_older_kex=OLDER,
        cluster_ssh_key_exchanges=chosen,
        cluster_ssh_old_clients=old_clients,
    )  # fmt: skip
    assert found == offered


UNLOADED, RESTARTED = "modprobe -r nvidia_peermem", "systemctl restart openibd.service"


@pytest.mark.parametrize(
    ("loaded", "in_use", "steps"),
    [
        (False, False, [RESTARTED]),
        (True, False, [UNLOADED, RESTARTED, "modprobe nvidia_peermem"]),
        (True, True, [UNLOADED]),
    ],
)
def test_openibd_is_restarted_without_nvidia_peermem_which_is_loaded_again(
    tmp_path, monkeypatch, loaded, in_use, steps
):
    module, programs = tmp_path / "sys/module/nvidia_peermem", tmp_path / "bin"
    log = tmp_path / "log"
    for folder in (module if loaded else module.parent, programs):
        folder.mkdir(parents=True)
    removal = "echo modprobe: FATAL: Module nvidia_peermem is in use. >&2; exit 1"
    texts = {
        "modprobe": f"""[ "$1" != -r ] || {{ {removal if in_use else f"rmdir {module}"}; exit; }}
            mkdir {module}""",
        "modinfo": "exit 1",
        # What Ansible reads of a unit, and that the service would fail beneath the module.
        "systemctl": f"""case $1 in
            show) printf 'Id=openibd.service\\nLoadState=loaded\\nActiveState=active\\n' ;;
            restart) [ ! -d {module} ] ;;
            esac""",
    }
    for name, text in texts.items():
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {log}\n{text}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    code, output = play(
        tmp_path, "mlnx_ofed", "restart",
        hardware_sysfs=str(tmp_path / "sys"),
        __mlnx_ofed_running={"gpu_users": [], "containers": []},
        mlnx_ofed_release={"source": "mlnx_ofed", "version": "24.10-4.1.4.0"},
    )  # fmt: skip
    words = " ".join(output.split())
    done = [
        line
        for line in log.read_text().splitlines()
        if line.startswith(("modprobe", "systemctl restart"))
    ]
    assert code == (2 if in_use else 0), output
    assert ("Module nvidia_peermem is in use. OFED 24.10-4.1.4.0 is installed" in words) is in_use
    assert done == steps
