"""How Ansible and the nodes reach a node: addresses, ports, ssh; nothing is dialled."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from lookup_plugins import controller, node_address

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"scalebench_work_dir": "/opt/scalebench", "scalebench_state_dir": "/var/empty"}
EXAMPLE = "inventory/example/group_vars/nodes/ansible.yml"
BASTION = "-o ProxyJump=admin@bastion.example"


def said(tmp_path, inventory, *arguments, roles=(), shown=(), hosts="nodes", task=None, **keys):
    """Return by host the values of expressions in a play, after the defaults of some roles.

    :param task: shows others; ``keys`` are the play's.
    """
    task = task or {"ansible.builtin.debug": {"msg": {name: f"{{{{ {name} }}}}" for name in shown}}}
    # The argument specs are validated, and no task of the role runs.
    given = [{"role": name, "tags": "never"} for name in roles]
    play = [{"hosts": hosts, "gather_facts": False, "roles": given, "tasks": [task], **keys}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", inventory, tmp_path / "play.yml",
         *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
             "ANSIBLE_LOOKUP_PLUGINS": str(ROOT / "lookup_plugins")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(\S+) \| SUCCESS => (\{.*?^\})", done.stdout, re.MULTILINE | re.DOTALL)
    return {name: json.loads(text).get("msg") for name, text in found}


def written(tmp_path, hosts, **variables):
    """Write an inventory of some hosts; return its path."""
    groups = {"nodes": {"hosts": hosts, "vars": {**PLACES, **variables}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({**groups, "local_nodes": {}}))
    return tmp_path / "hosts.yml"


@pytest.fixture
def cluster(tmp_path):
    """Return a copy of the inventory of the reference cluster, of which node1 was provisioned."""
    shutil.copytree(ROOT / "inventory/v100", tmp_path / "inventory/mine")
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh/known_hosts").write_text("[10.11.0.2]:10000 ssh-ed25519 AAAA\n")
    return tmp_path / "inventory/mine"


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_both_sshds_are_reached_by_the_bastion(tmp_path, cluster, arguments):
    given = {"scalebench_ssh_arguments": BASTION, "scalebench_state_dir": str(tmp_path)}
    for first in (True, False):
        extra = json.dumps({**given, "scalebench_first_contact": first})
        shown = ("ansible_port", "ansible_ssh_common_args")
        told = said(tmp_path, cluster, *arguments, "-e", extra, shown=shown)["node1"]
        # The cluster's own options first, as ssh takes the first value that it finds.
        assert told["ansible_ssh_common_args"].endswith(BASTION)
        assert told["ansible_port"] == (22 if first else 10000)
        strict = f"""UserKnownHostsFile='"{tmp_path}/ssh/known_hosts"'"""
        assert (strict in told["ansible_ssh_common_args"]) is not first


def test_check_mode_goes_where_the_node_listens(tmp_path, cluster):
    extra = json.dumps({"scalebench_state_dir": str(tmp_path)})
    told = said(tmp_path, cluster, "--check", "-e", extra, shown=["ansible_port"])
    assert {name: values["ansible_port"] for name, values in told.items()} == {
        "node1": 10000, "node2": 22, "node3": 22, "node4": 22,
    }  # fmt: skip


def test_check_mode_logs_in_as_who_exists_there(tmp_path, cluster):
    text = (ROOT / "docs/your-site.md").read_text()
    (lines,) = re.findall(r"^cluster_ssh_user: bench\nansible_user: .*", text, re.MULTILINE)
    assert lines.splitlines()[1] in (ROOT / EXAMPLE).read_text()
    (cluster / "group_vars/nodes/who.yml").write_text(lines)
    for arguments in (("--check",), ()):
        extra = json.dumps({"scalebench_state_dir": str(tmp_path)})
        told = said(tmp_path, cluster, *arguments, "-e", extra, shown=["ansible_user"])
        later = "ubuntu" if arguments else "bench"
        assert {name: values["ansible_user"] for name, values in told.items()} == {
            "node1": "bench", "node2": later, "node3": later, "node4": later,
        }  # fmt: skip


def test_more_controllers_do_not_lock_out_the_one_of_this_run(tmp_path):
    given = {
        "host_baseline_controllers": ["192.0.2.50"],
        "__host_baseline_connection": {"stdout": "192.0.2.99 50000 192.0.2.1 22\r\n"},
    }
    inventory = written(tmp_path, {"node1": {"ansible_host": "192.0.2.1"}}, **given)
    shown = ["__host_baseline_controllers"]
    (values,) = said(tmp_path, inventory, roles=["host_baseline"], shown=shown).values()
    assert values[shown[0]] == ["192.0.2.50", "192.0.2.99"]
    tasks = (ROOT / "roles/host_baseline/tasks/firewall.yml").read_text()
    assert not re.search(r"(?<!__)host_baseline_controllers", tasks)


# A play on localhost is left out then.
NOT_LOCALHOST = ("--limit", "nodes")


def inventory_checked(tmp_path, groups, *arguments, told=True):
    inventory = {name: {"hosts": dict.fromkeys(hosts)} for name, hosts in groups.items()}
    inventory["nodes"]["vars"] = {"scalebench_work_dir": "/work"} if told else {}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    return checked([*arguments, "-i", tmp_path / "hosts.yml"])


def checked(arguments, playbook=ROOT / "playbooks/inventory_check.yml"):
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", playbook, *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_a_variable_of_a_wrong_type_ends_the_run_also_with_limit(tmp_path):
    given = json.dumps({"scalebench_no_proxy": "a,b", "campaign_cpu_threads": "{{ 1 }}"})
    groups = {"nodes": ("gpu01", "gpu02")}
    done = inventory_checked(tmp_path, groups, "-e", given, "--limit", "gpu02")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu02: scalebench_no_proxy is text, not a list" in " ".join(done.stdout.split())


def test_the_type_of_an_encrypted_variable_is_checked_too(tmp_path):
    vault = VaultLib([("default", VaultSecret(b"a password"))])
    # Ansible does not template what it decrypts.
    given = {"preflight": "maybe", "scalebench_work_dir": "{{ place }}/x", "campaign_name": "a"}
    encrypted = {
        name: {"__ansible_vault": vault.encrypt(text).decode()} for name, text in given.items()
    }
    (tmp_path / "password").write_text("a password")
    arguments = ["-e", json.dumps(encrypted), "--vault-password-file", tmp_path / "password"]
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    words = "gpu01: preflight is neither true nor false: give one of them gpu01:"
    assert f"{words} scalebench_work_dir is no absolute path" in " ".join(done.stdout.split())


def test_a_port_that_is_none_is_told_with_its_hosts(tmp_path):
    """Also where it is what Ansible would connect to."""
    node = {"cluster_ssh_port": "ssh", "ansible_port": "{{ cluster_ssh_port }}"}
    done = checked(["-i", written(tmp_path, {"gpu01": node})])
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu01: cluster_ssh_port is no whole number of 1 to 65535" in (
        " ".join(done.stdout.split())
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (None, ""), ("127.0.0.3", ""), ("127.0.0.3 ", "127.0.0.4: ansible_host=127.0.0.3 . Role"),
        ("127.2", "127.0.0.4: ansible_host=127.2. Role"), ("10.0.0.1", "ansible_host=10.0.0.1."),
    ],
)  # fmt: skip
def test_local_nodes_have_addresses_of_loopback_or_such_names(tmp_path, address, said):
    node = {"ansible_host": address} if address else {}
    hosts = {"127.0.0.2": {}, "127.0.0.4": node}
    inventory = written(tmp_path, hosts, ansible_connection="local", local_cluster_sshd=False)
    play = [{"hosts": "nodes", "gather_facts": False, "roles": ["local_cluster"]}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    done = checked(["-i", inventory], tmp_path / "play.yml")
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in done.stdout


def test_an_inventory_without_the_folder_of_scalebench_is_told_what_to_copy(tmp_path):
    done = inventory_checked(tmp_path, {"nodes": ("gpu01", "gpu02")}, told=False)
    assert done.returncode == 2, done.stdout + done.stderr
    words = "gpu[01-02]: scalebench_work_dir is not set: copy inventory/example for servers"
    assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("without_root", "local", "code"),
    [((), (), 0), (("gpu01", "gpu02"), (), 0), (("gpu01",), (), 2), (("gpu01",), ("gpu02",), 0)],
)
def test_servers_with_and_without_root_in_one_cluster_are_refused(
    tmp_path, without_root, local, code
):
    groups = {"nodes": ("gpu01", "gpu02"), "unprivileged_nodes": without_root, "local_nodes": local}
    done = inventory_checked(tmp_path, groups, *NOT_LOCALHOST)
    assert done.returncode == code, done.stdout + done.stderr
    words = "gpu01 in group unprivileged_nodes, and gpu02 not: put all hosts"
    assert (words in " ".join(done.stdout.split())) is (code == 2)


@pytest.mark.parametrize(
    ("folder", "connection", "code"),
    [
        ('"quoted"', "ssh", 2),
        ("50% off", "ssh", 2),
        ("50% off", "local", 0),
        ("it's", "ssh", 0),
        ("back\\slash", "ssh", 0),
    ],
)
def test_a_state_folder_whose_path_ssh_would_change_is_refused(tmp_path, folder, connection, code):
    given = {"scalebench_state_dir": str(tmp_path / folder), "ansible_connection": connection}
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, "-e", json.dumps(given))
    assert done.returncode == code, done.stdout + done.stderr
    refused = f"{folder}: ssh cannot be given a path"
    assert (refused in " ".join(done.stdout.split())) is (code == 2)


def test_a_state_folder_that_is_no_text_on_one_node_is_told_by_its_type(tmp_path):
    hosts = {"gpu01": {"scalebench_state_dir": ["{{ no }}"]}, "gpu02": {}}
    done = checked(["-i", written(tmp_path, hosts)])
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu01: scalebench_state_dir is a list, not text" in " ".join(done.stdout.split())


def test_the_nodes_of_one_key_are_of_one_state_folder(tmp_path):
    sources = []
    for name in ("first", "second"):
        hosts = {f"{name}{number}": None for number in (1, 2)}
        variables = {"scalebench_work_dir": "/work", "scalebench_state_dir": "{{ inventory_dir }}"}
        (tmp_path / name).mkdir()
        file = tmp_path / name / "hosts.yml"
        file.write_text(json.dumps({"nodes": {"hosts": hosts}}))
        (file.parent / "group_vars").mkdir()
        (file.parent / "group_vars/nodes.yml").write_text(json.dumps(variables))
        sources += ["-i", file]
    done = checked(sources)
    assert done.returncode == 2, done.stdout + done.stderr
    said = "".join(done.stdout.split())
    folders = [f"{name}[1-2]:{tmp_path}/{name}" for name in ("first", "second")]
    assert f"differsbetweenthenodes:{';'.join(folders)}.Put" in said


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("ANSIBLE_STRATEGY", "free", "strategy free: the nodes of a cell start together"),
        ("ANSIBLE_STRATEGY", "host_pinned", "strategy host_pinned: the nodes of a cell start"),
        ("ANSIBLE_STRATEGY", "debug", ""),
        ("ANSIBLE_TASK_TIMEOUT", "600", "task_timeout 600: tasks take as long as a training"),
        ("carrier", "pigeon", "carrier pigeon: there is none of that name"),
    ],
)
def test_settings_that_a_campaign_cannot_have_are_refused(
    tmp_path, monkeypatch, setting, value, said
):
    monkeypatch.setenv(setting, value)
    given = ("-e", f"{setting}={value}") if setting == "carrier" else ()
    only = (*NOT_LOCALHOST, "--tags", "cell")
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given, *only)
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())
    assert said or f"strategy {value}: the nodes" not in done.stdout


def test_all_that_is_wrong_with_inventory_and_settings_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    monkeypatch.setenv("ANSIBLE_TASK_TIMEOUT", "600")
    groups = {"nodes": ("gpu01", "gpu02"), "unprivileged_nodes": ("gpu01",)}
    # No path: whatever reads it as one must not be asked.
    given = json.dumps({"scalebench_state_dir": ["x"]})
    done = inventory_checked(tmp_path, groups, "-e", given, *NOT_LOCALHOST)
    assert done.returncode == 2, done.stdout + done.stderr
    words = (
        "strategy free: the nodes of a cell",
        "Ansible configuration in use task_timeout 600: tasks take as long",
        "limits a repeat gpu01 in group unprivileged_nodes",
        "inventory of each part gpu[01-02]: scalebench_state_dir is a list, not text",
    )
    said = " ".join(done.stdout.split())
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"carrier": "ssh"}, ""),
        ({"carrier": "slurm"}, "the nodes come from Slurm, and gpu01, gpu02 in group nodes of"),
        ({"carrier": "slurm", "slurm_time": 5400}, "localhost: slurm_time is a whole number"),
    ],
)
def test_nodes_of_an_inventory_beside_those_of_slurm_are_refused(tmp_path, given, said):
    arguments = ["-i", written(tmp_path, {"gpu01": {}, "gpu02": {}}), "-e", json.dumps(given)]
    done = checked(arguments, ROOT / "playbooks/allocate.yml")
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


SEMANAGE = """#!/bin/sh
# The words of policycoreutils 3.4, on a policy that gives 10000 to another service.
echo "$2" >> {calls}
for port in "$@"; do :; done
case "$2" in
--list) echo 'ndmp_port_t                    tcp      10000'
    echo 'unreserved_port_t              tcp      61000-65535, 1024-32767'
    cat {ports} 2>/dev/null || true ;;
--add)
    if [ "$port" = 10000 ]; then echo "ValueError: Port tcp/10000 already defined" >&2; exit 1; fi
    echo "ssh_port_t                     tcp      $port, 22" > {ports} ;;
--modify)
    if [ "$port" != 10000 ]; then echo "ValueError: Port tcp/$port is not defined" >&2; exit 1; fi
    echo "ssh_port_t                     tcp      $port, 22" > {ports} ;;
esac
"""


@pytest.mark.parametrize(
    ("port", "asked"), [(10000, ["--list", "--modify"]), (10022, ["--list", "--add"])]
)
def test_selinux_lets_sshd_have_a_port_of_another_service_and_one_of_none(tmp_path, port, asked):
    calls, ports = tmp_path / "calls", tmp_path / "ports"
    program = tmp_path / "semanage"
    program.write_text(SEMANAGE.format(calls=calls, ports=ports))
    program.chmod(0o755)
    block = yaml.safe_load((ROOT / "roles/cluster_ssh/tasks/service.yml").read_text())[0]
    assert block["block"][0]["distribution_packages"]["name"] == ["policycoreutils-python-utils"]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False,
            "vars": {"cluster_ssh_port": port, "ansible_python_interpreter": sys.executable},
            "environment": {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
            "tasks": block["block"][1:]}  # fmt: skip
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    for expected in (asked, [*asked, "--list"]):  # The second run only looks.
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", tmp_path / "play.yml"],
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert calls.read_text().split() == expected


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("Debian", ["g++", "git", "libopenmpi-dev", "openmpi-bin"]),
        ("RedHat", ["gcc-c++", "git", "openmpi", "openmpi-devel"]),
    ],
)
def test_programs_have_the_names_of_the_distributions_packages(tmp_path, family, expected):
    found = {"path": None}
    mpi = {"mpirun": "openmpi-bin", "mpicxx": "libopenmpi-dev"}
    named = {"git": "git", **mpi, "g++": "g++", "cmake": "cmake"}
    programs = {**dict.fromkeys(named, found), "cmake": {"path": "/usr/bin/cmake"}}
    given = {"__framework_programs": {"programs": programs}, "__framework_set": {"programs": named}}
    facts = {"ansible.builtin.set_fact": {"os_family": family, "cacheable": True}}
    inventory = written(tmp_path, {"node1": {}}, **given)
    shown = ["__framework_lacking"]
    (told,) = said(
        tmp_path, inventory, roles=["framework"], shown=shown, pre_tasks=[facts]
    ).values()
    assert told[shown[0]] == expected


def test_programs_are_installed_with_sudo_where_the_user_has_it(tmp_path):
    groups = {
        "nodes": {"hosts": {"gpu01": {}, "gpu02": {}, "here": {}}},
        "unprivileged_nodes": {"hosts": {"gpu02": {}}},
        "local_nodes": {"hosts": {"here": {}}},
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(groups))
    tasks = yaml.safe_load((ROOT / "roles/framework/tasks/programs.yml").read_text())
    given, same = [task["vars"] for task in tasks[1]["block"] if "vars" in task]
    assert given == same
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    (play,) = [play for play in plays if play["name"] == "Provision the nodes"]
    shown = {"ansible.builtin.debug": {"msg": "{{ [ansible_become, scalebench_first_contact] }}"}}
    told = said(tmp_path, tmp_path / "hosts.yml", task={**shown, "vars": given}, vars=play["vars"])
    assert told == {"gpu01": [True, True], "gpu02": [False, False], "here": [False, False]}


def test_a_node_without_an_address_stops_no_other(tmp_path):
    hosts = {"node1": {"ansible_host": "192.0.2.1"}, "node2": {"ansible_host": "2001:db8::2"}}
    inventory = written(tmp_path, hosts)
    template = ROOT / "roles/cluster_ssh/templates/ssh_config_hosts.j2"
    shown = ["host_baseline_hosts", f"lookup('ansible.builtin.template', '{template}')"]
    roles = ["host_baseline", "cluster_ssh"]
    told = said(tmp_path, inventory, "--limit", "node1", roles=roles, shown=shown)
    assert told["node1"][shown[0]] == {"node1": "192.0.2.1"}
    assert told["node1"][shown[1]] == "Host node1\n    HostName 192.0.2.1\n"
    with pytest.raises(AssertionError, match="Set scalebench_address of node2"):
        said(tmp_path, inventory, "--limit", "node2", roles=roles, shown=shown)


def test_a_part_of_the_nodes_knows_the_whole_group(tmp_path):
    hosts = {
        "node1": {"ansible_host": "192.0.2.1"},
        "node2": {"ansible_host": "198.51.100.7", "scalebench_address": "10.0.0.2"},
        # Its name alone, as an address: a test must not ask a name server.
        "192.0.2.3": None,
    }
    shown = ("host_baseline_hosts", "host_baseline_port_sources", "cluster_ssh_members",
             "cluster_ssh_listen_address", "campaign_address")  # fmt: skip
    told = said(
        tmp_path, written(tmp_path, hosts), "--limit", "node1:node2",
        roles=["host_baseline", "cluster_ssh", "campaign"], shown=shown,
    )  # fmt: skip
    assert set(told) == {"node1", "node2"}
    addresses = {"node1": "192.0.2.1", "node2": "10.0.0.2", "192.0.2.3": "192.0.2.3"}
    for name, values in told.items():
        assert values["host_baseline_hosts"] == addresses
        assert set(values["host_baseline_port_sources"]) == {*addresses.values()}
        assert set(values["cluster_ssh_members"]) == {*hosts}
        assert values["cluster_ssh_listen_address"] == addresses[name]
        assert values["campaign_address"] == addresses[name]


@pytest.mark.parametrize("user", ["root", "ubuntu"])
def test_the_service_runs_as_the_account_that_may_log_in(tmp_path, user):
    unit = ROOT / "roles/cluster_ssh/templates/scalebench-sshd.service.j2"
    shown = [f"lookup('ansible.builtin.template', '{unit}')", "cluster_ssh_use_pam"]
    inventory = written(tmp_path, {"node1": {"ansible_host": "192.0.2.1"}}, ansible_user=user)
    (values,) = said(tmp_path, inventory, roles=["cluster_ssh"], shown=shown).values()
    lines = values[shown[0]].splitlines()
    assert ("User=ubuntu" in lines) is (user == "ubuntu")
    # systemd would give it to the user, and the system's sshd refuses that.
    assert ("RuntimeDirectory=sshd" in lines) is (user == "root")
    assert values["cluster_ssh_use_pam"] is (user == "root")


@pytest.fixture
def address_of(monkeypatch):
    """Return the function of the lookup, with name servers that know three names."""
    known = {"gpu01": "10.0.0.1", "gpu02": "127.0.1.1", "localhost": "127.0.0.1"}

    def resolve(name, port, family, kind):
        if name not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        assert family == socket.AF_INET
        return [(family, kind, 6, "", (known[name], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return node_address.address_of


@pytest.mark.parametrize(
    ("hostvars", "address"),
    [
        ({}, "10.0.0.1"),
        ({"ansible_host": "192.0.2.9"}, "192.0.2.9"),
        ({"ansible_host": "gpu.example", "scalebench_address": "10.0.0.7"}, "10.0.0.7"),
        ({"ansible_host": "localhost"}, "127.0.0.1"),
    ],
)
def test_nodes_reach_each_other_by_addresses(address_of, hostvars, address):
    assert address_of("gpu01", hostvars) == address


def test_nodes_that_are_all_this_machine_need_no_address(address_of):
    assert address_of("unknown", {}, alone=True) == "127.0.0.1"


@pytest.mark.parametrize(
    ("connections", "address"), [(("local", "local"), "127.0.0.1"), (("local", "ssh"), "")]
)
def test_one_node_of_this_machine_among_others_needs_an_address(
    address_of, monkeypatch, connections, address
):
    hostvars = {
        name: {"ansible_connection": connection}
        for name, connection in zip(("unknown", "gpu01"), connections, strict=True)
    }
    variables = {
        "hostvars": hostvars, "groups": {"nodes": [*hostvars]}, "inventory_hostname": "gpu01"
    }  # fmt: skip
    looked_up = node_address.LookupModule()
    monkeypatch.setattr(looked_up, "set_options", lambda **_options: None)
    monkeypatch.setattr(looked_up, "get_option", {"lenient": True}.get)
    assert looked_up.run(["unknown", "gpu01"], variables) == [address, "10.0.0.1"]
    variables["inventory_hostname"] = "unknown"
    if not address:
        with pytest.raises(Exception, match="Set scalebench_address of unknown"):
            looked_up.run(["unknown"], variables)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("2001:db8::1", "an IPv6 address"),
        ("gpu02", "gpu02 has 127.0.1.1, is an address of this machine"),
        ("gpu03", "no address"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_with_the_remedy(address_of, name, reason):
    with pytest.raises(Exception, match=f"{reason}.*Set scalebench_address of {name}"):
        address_of(name, {})


def test_an_ipv6_address_is_refused_with_the_remedy():
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible", "localhost", "-c", "local",
         "-e", f"ansible_python_interpreter={sys.executable}",
         "-m", "listener_info", "-a", "address=::1 port=10000"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "::1 is no IPv4 address: set scalebench_address" in done.stdout, done.stdout


WAYS_OUT = {
    "scalebench_proxy": "http://me:a$b@proxy.example:3128",
    "scalebench_mirrors": {"downloads": "https://files.example/"},
    "python_bootstrap_archive": {
        "version": "3.11.9", "sha256": "0" * 64,
        "url": "https://www.example.org/python.tar.gz",
    },
}  # fmt: skip


MIRRORS = {
    "none": {},
    "pip": {"pip": "https://pypi.example"},
    "both": {"pip": "https://pypi.example", "downloads": "x"},
}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """Return what role framework adds to pip's index on three nodes, each with its mirrors."""
    folder = tmp_path_factory.mktemp("mirrors")
    stack = {"frameworks": {"pytorch": {"url": "https://download.example/whl"}}}
    given = {"stack_definition": stack, "__framework_name": "pytorch"}
    hosts = {name: {"scalebench_mirrors": mirrors} for name, mirrors in MIRRORS.items()}
    inventory = written(folder, hosts, **given)
    return said(folder, inventory, roles=["framework"], shown=["__framework_index"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", "https://download.example/whl"),
        ("pip", ""),
        ("both", "https://download.example/whl"),
    ],
)
def test_a_mirror_of_pip_alone_has_the_packages_of_the_second_index_too(indexes, name, expected):
    assert indexes[name] == {"__framework_index": expected}


def listed(tmp_path, *arguments, **variables):
    """Return what playbooks/site_files.yml lists, without connecting to a node."""
    inventory = written(tmp_path, {"gpu01": {"ansible_host": "192.0.2.1"}}, **variables)
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", inventory,
         ROOT / "playbooks/site_files.yml", *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    *_, found = re.findall(r"^\S.*?(\{.*?^\})", done.stdout, re.MULTILINE | re.DOTALL)
    return json.loads(found)["msg"].splitlines()


def test_the_files_of_a_site_without_network_are_listed(tmp_path):
    found = listed(tmp_path, "-e", "benchmark=pytorch", stack_name="v100-2026")
    whole = yaml.safe_load((ROOT / "stacks/v100-2026.yml").read_text())
    own = whole["frameworks"]["pytorch"]
    for package in own["packages"]:
        assert f"pip {package} with all it requires, from {own['url']}" in found
    # Those of the stack take the place of the framework's own.
    assert len([line for line in found if line.startswith("pip torch==")]) == 1
    url = whole["nccl_tests"]["url"]
    assert f"downloads {url} as {url[len('https://') :]}" in found


def test_published_programs_need_repositories_and_images_but_not_on_cpus(tmp_path):
    arguments = ("-e", "benchmark=mxnet_ngc", "-e", "recipe=upstream")
    found = listed(tmp_path, *arguments)
    (recipe,) = [
        yaml.safe_load((ROOT / "benchmarks/mxnet_ngc.yml").read_text())["recipes"]["upstream"]
    ]
    assert f"images {recipe['container']['image']}" in found
    for source in recipe["sources"]:
        assert any(line.startswith(f"git {source['repository']} (") for line in found)


@pytest.fixture
def before_python(tmp_path):
    """Return a function that runs a script of role python_bootstrap with programs of the test."""
    programs, state = tmp_path / "bin", tmp_path / "state"
    programs.mkdir()
    for name, script in {
        "dpkg-query": f"echo 'ii  packages libc6:amd64'; cat {tmp_path}/installed 2>/dev/null",
        "apt-get": f"env > {tmp_path}/env; echo 'ii  packages python3' > {tmp_path}/installed",
        "curl": f"env > {tmp_path}/env; echo $* > {tmp_path}/curl; exit 22",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    place = tmp_path / "opt/scalebench/python"
    given = {**WAYS_OUT, "python_bootstrap_directory": str(place)}

    def script_ended(name):
        inventory = written(tmp_path, {"node1": {}}, **given)
        (told,) = said(tmp_path, inventory, roles=["python_bootstrap"], shown=[name]).values()
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        script = told[name].replace("/var/lib/scalebench", str(state))
        assert str(state) in script
        done = subprocess.run(["sh", "-c", script], env={"PATH": path}, check=False)
        env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
        return done.returncode, env, (state / "python_bootstrap").read_text().splitlines()

    return script_ended


def test_python_is_installed_through_the_proxy_and_listed_for_uninstall(before_python):
    code, env, new = before_python("__python_bootstrap_install")
    assert (code, new) == (0, ["packages python3"])
    assert env["https_proxy"] == WAYS_OUT["scalebench_proxy"]
    assert env["NEEDRESTART_MODE"] == "l"


def test_an_archive_of_python_comes_from_the_mirror_and_a_failure_leaves_nothing(
    before_python, tmp_path
):
    code, env, new = before_python("__python_bootstrap_unpack")
    assert code == 22 and env["http_proxy"] == WAYS_OUT["scalebench_proxy"]
    assert "https://files.example/www.example.org/python.tar.gz" in (tmp_path / "curl").read_text()
    # Not the folder of the half-done work, but the one that was made for it.
    assert new == [f"folders {tmp_path}/opt"]
    assert not (tmp_path / "opt/scalebench/python.new").exists()


def test_raw_tasks_of_servers_have_no_environment_of_which_ansible_would_warn(tmp_path):
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    given = [play for play in plays if "environment" in play]
    assert len(given) == 2
    tasks = [
        task
        for role in ("python_bootstrap", "cluster_ssh", "host_baseline")
        for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))
        for task in yaml.safe_load(path.read_text())
        if "ansible.builtin.raw" in task
    ]
    assert len(tasks) == 6
    raw = {"name": "raw", "ansible.builtin.raw": "true", "delegate_to": "localhost"}
    empty = [{**raw, "vars": task["vars"]} for task in tasks]
    plain = {key: given[0][key] for key in ("vars", "environment")}
    for number, some in enumerate((empty, [raw])):
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, **plain}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": some}]))
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", tmp_path / "play.yml"],
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                 "ANSIBLE_STDOUT_CALLBACK": "default"},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert ("raw module does not support the environment" in done.stderr) is (number == 1)


def test_a_state_folder_of_another_account_is_refused_with_a_way_out(tmp_path):
    (tmp_path / "state").touch()
    given = ["-e", f"scalebench_state_dir={tmp_path}/state/x"]
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given)
    assert done.returncode == 2, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert f"{tmp_path}/state/x: {controller.account()} cannot write there; run this as the" in said
    assert inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given, "--check").returncode == 0


def test_who_can_create_files_where(tmp_path):
    looked_up = controller.LookupModule().run
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "mine/file").touch()
    (tmp_path / "mine/lost").symlink_to(tmp_path / "nowhere")
    may = {".": True, "a/b": True, "file": False, "file/a": False, "lost": False, "lost/a": False}
    for path, writable in may.items():
        assert looked_up(["writes"], path=str(folder / path)) == [writable]
    for path in ("~/a", "$HOME/a", "~", "$HOME"):
        assert looked_up(["writes"], path=path) == [True]
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            assert looked_up(["writes"], path="/a/b") == [False]
            assert looked_up(["writes"], path="/tmp/a") == [True]
        finally:
            os.seteuid(0)


def test_the_controller_is_named_as_its_programs_name_it(monkeypatch):
    lookup = controller.LookupModule()
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for command in (["id", "-un"], ["uname", "-n"])
    ]
    assert lookup.run(["account", "host"]) == said
    monkeypatch.setattr(controller.os, "geteuid", lambda: 2**31 - 2)
    with pytest.raises(controller.AnsibleLookupError, match="has no name: add it to /etc/passwd"):
        lookup.run(["account"])
