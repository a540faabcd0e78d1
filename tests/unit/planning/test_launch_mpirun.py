"""mpirun and horovodrun: one part of the command line a node, one interface, one binding."""

import itertools
import json
import shlex

import campaign_data
import pytest
from job_data import AWKWARD, launched


def parts(argv):
    """Return mpirun's own words and those for each node."""
    words = argv[argv.index("--") + 1 :]
    first = words.index("-np")
    found, own = [[]], words[:first]
    for word in words[first:]:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return own, found


def test_each_node_hosts_its_ranks_and_the_leading_one_mpirun():
    made = launched("mpirun", 2)
    host = ["/venv/bin/python", "/opt/workloads/launch/host_ranks.py", "--job=10.11.0.2:29500"]
    assert made["node2"]["argv"] == [*host, "--node=node2"]
    assert made["node1"]["argv"][:4] == [*host, "--node=node1"]
    assert made["node1"]["argv"][4] == "--ssh-config=/opt/ssh_config"
    assert peers(made) == [
        {
            "join": ["/venv/bin/python", "/opt/workloads/launch/join_ranks.py"],
            "nodes": {"10.11.0.2": "node1", "10.11.0.3": "node2"},
        }
    ]


def peers(made):
    return json.loads(made["node1"]["argv"][5].partition("=")[2])


def test_what_the_leading_node_is_told_of_many_others_fits_in_one_word():
    words = launched("mpirun", 2048)["node1"]["argv"]
    # MAX_ARG_STRLEN: execve(2).
    assert max(map(len, words)) < 32 * 4096


def test_each_node_has_its_own_paths_and_slots():
    nodes = campaign_data.cluster(2)
    nodes["node2"].update(workload_dir="/other dir", pythons={"pytorch": "/other/python"})
    made = launched("mpirun", per_node=2, nodes=nodes)
    assert [one["nodes"] for one in peers(made)] == [{"10.11.0.2": "node1"}, {"10.11.0.3": "node2"}]
    own, (first, second) = parts(made["node1"]["argv"])
    assert own[0] == "mpirun"
    assert first == [
        *["-np", "2", "-host", "10.11.0.2:2", "-wdir", "/opt/workloads"],
        *["/venv/bin/python", "/opt/workloads/train.py"],
    ]
    assert second == [
        *["-np", "2", "-host", "10.11.0.3:2", "-wdir", "/other dir"],
        *["/other/python", "/other dir/train.py"],
    ]


def test_there_is_one_binding_policy_and_no_way_round_host_keys():
    own, _ = parts(launched("mpirun")["node1"]["argv"])
    assert [own[i + 1] for i, word in enumerate(own) if word == "--bind-to"] == ["none"]
    assert not any("StrictHostKeyChecking" in word for word in own)


def parameter(own, name):
    return own[own.index(name) + 1]


def test_both_layers_use_the_inventorys_interface():
    own, _ = parts(launched("mpirun")["node1"]["argv"])
    assert parameter(own, "btl_tcp_if_include") == "ib0"
    assert parameter(own, "oob_tcp_if_include") == "ib0"


def test_ssh_stays_by_the_option_that_all_versions_have():
    assert "--leave-session-attached" in parts(launched("mpirun")["node1"]["argv"])[0]


@pytest.mark.parametrize("launcher", ["mpirun", "horovodrun"])
def test_open_mpi_5_has_the_parameters_of_all_nodes_and_of_its_daemons_as_variables(launcher):
    for command in launched(launcher)["node1"], launched(launcher)["node2"]:
        given = command["env"]
        assert given["OMPI_MCA_btl_tcp_if_include"] == given["PRTE_MCA_prte_if_include"] == "ib0"
        assert given["OMPI_MCA_mpi_yield_when_idle"] == "1"
        assert given["PRTE_MCA_plm_ssh_no_tree_spawn"] == "1"
        assert given["PMIX_MCA_mca_base_param_files"] == "none"


@pytest.mark.parametrize(("count", "wanted"), [(128, None), (129, "129")])
def test_ssh_to_more_nodes_than_open_mpi_allows_at_once_is_asked_for(count, wanted):
    made = launched("mpirun", count)["node1"]
    own, _ = parts(made["argv"])
    given = dict(itertools.pairwise(own)).get("plm_rsh_num_concurrent")
    assert (given, made["env"].get("PRTE_MCA_plm_ssh_num_concurrent")) == (wanted, wanted)
    variables = launched("horovodrun", count)["node1"]["env"]
    assert variables.get("OMPI_MCA_plm_rsh_num_concurrent") == wanted


def test_parameters_and_variables_of_a_recipe_reach_every_node():
    words = ["--tag-output", "-mca", "coll", "^hcoll", "-x", "A=1", "--display-map"]
    arguments = {"arguments": words}
    own, found = parts(launched("mpirun", 3, launcher_options=arguments)["node1"]["argv"])
    assert own[-len(words) :] == words
    again = ["-mca", "coll", "^hcoll", "-x", "A=1", "-np"]
    assert [part[:6] == again for part in found] == [False, True, True]


def test_daemons_of_nodes_that_share_a_machine_choose_their_interface():
    nodes = campaign_data.cluster(2, machine="same", interface="lo")
    given = launched("mpirun", nodes=nodes)["node1"]["env"]
    assert "PRTE_MCA_plm_ssh_no_tree_spawn" in given
    assert "PRTE_MCA_prte_if_include" not in given


def test_one_node_has_no_daemons():
    given = launched("mpirun", 1)["node1"]["env"]
    assert not [name for name in given if name.startswith(("PRTE_", "PMIX_"))]


def test_interfaces_that_differ_are_found_by_their_addresses():
    nodes = campaign_data.cluster(2)
    nodes["node2"]["interface"] = "ens3"
    own, _ = parts(launched("mpirun", nodes=nodes)["node1"]["argv"])
    assert parameter(own, "btl_tcp_if_include") == "10.11.0.2/31"


def test_without_interface_and_addresses_the_inventory_is_asked_for_one():
    nodes = campaign_data.cluster(2)
    for name, node in nodes.items():
        node.update(interface="", address=name)
    with pytest.raises(ValueError, match=r"between node\[1-2\]: set scalebench_interface"):
        launched("mpirun", nodes=nodes)


def test_a_network_is_no_name_for_the_other_libraries():
    nodes = campaign_data.cluster(1)
    nodes["node1"]["interface"] = "10.11.0.0/24"
    made = launched("mpirun", nodes=nodes)["node1"]
    assert parameter(parts(made["argv"])[0], "oob_tcp_if_include") == "10.11.0.0/24"
    assert "NCCL_SOCKET_IFNAME" not in made["env"]


def test_ranks_on_cpus_let_others_run_and_may_be_more_than_the_cores():
    own, _ = parts(launched("mpirun")["node1"]["argv"])
    assert "--oversubscribe" in own
    assert parameter(own, "mpi_yield_when_idle") == "1"


def test_no_value_is_split_or_quoted():
    awkward = [word for word in AWKWARD if word != ":"]
    _, (first,) = parts(launched("mpirun", 1, arguments=awkward)["node1"]["argv"])
    assert first[-len(awkward) :] == awkward


def test_a_lone_colon_would_end_mpiruns_command():
    with pytest.raises(ValueError, match="mine/bz4: mpirun takes ':' for the end of a command"):
        launched("mpirun", arguments=[":"])


def test_root_may_run_it_by_the_flag_that_every_version_knows():
    made = launched("mpirun")
    assert "--allow-run-as-root" in parts(made["node1"]["argv"])[0]
    for command in made.values():
        assert not [name for name in command["env"] if name.startswith("OMPI_ALLOW")]


def test_horovodrun_starts_one_command_on_all_hosts():
    made = launched("horovodrun", 2, per_node=8)
    argv = made["node1"]["argv"]
    assert argv[argv.index("--") + 1 :] == [
        *["horovodrun", "-np", "16", "-H", "10.11.0.2:8,10.11.0.3:8"],
        *["/venv/bin/python", "/opt/workloads/train.py"],
    ]
    assert made["node2"]["argv"][-1] == "--node=node2"
    assert made["node1"]["env"]["OMPI_MCA_btl_tcp_if_include"] == "ib0"
    assert made["node1"]["env"]["OMPI_MCA_oob_tcp_if_include"] == "ib0"


def test_horovodrun_refuses_nodes_with_other_paths():
    nodes = campaign_data.cluster(2)
    nodes["node2"]["workload_dir"] = "/elsewhere"
    with pytest.raises(ValueError, match="horovodrun starts one command on every node"):
        launched("horovodrun", nodes=nodes)


def by_srun(launcher="mpirun", per_node=2, arguments=(), hosts=("n7", "n3"), **recipe):
    """Return the commands on two nodes of a job of Slurm's."""
    nodes = campaign_data.cluster(2)
    for node, host in zip(nodes.values(), hosts, strict=True):
        node["slurm"] = {"path": "/usr/bin/srun", "mpi": "pmix", "host": host}
    given = {"launcher_options": {"arguments": list(arguments)}, **recipe}
    return launched(launcher, per_node=per_node, nodes=nodes, **given)


@pytest.mark.parametrize("launcher", ["mpirun", "horovodrun"])
def test_on_nodes_of_slurm_srun_starts_the_ranks_and_not_ssh(launcher):
    made = by_srun(launcher)
    host = ["/venv/bin/python", "/opt/workloads/launch/host_ranks.py", "--job=10.11.0.2:29500"]
    assert made["node2"]["argv"] == [*host, "--node=n3", "--ranks=2"]
    words = made["node1"]["argv"]
    assert words[:6] == [*host, "--node=n7", "--ranks=2", "--"]
    assert {"--nodelist=n7,n7,n3,n3", "--mpi=pmix", "--ntasks=4"} <= {*words}
    assert words[-6:] == [
        *["/venv/bin/python", "/opt/workloads/launch/join_ranks.py", "10.11.0.2:29500", "-", "60"],
        "exec /venv/bin/python /opt/workloads/train.py",
    ]
    assert not any("ssh" in word for word in words)
    for command in made.values():
        assert command["env"]["OMPI_MCA_btl_tcp_if_include"] == "ib0"
        assert not [name for name in command["env"] if "rsh" in name or "oob" in name]


def test_without_a_process_manager_of_mpi_systems_mpirun_starts_the_ranks_of_a_node():
    nodes = campaign_data.cluster(1)
    nodes["node1"]["slurm"] = {"path": "/usr/bin/srun", "mpi": "", "host": "n7"}
    assert "mpirun" in launched("mpirun", nodes=nodes)["node1"]["argv"]


def test_words_for_mpirun_become_variables_and_options_of_srun():
    words = ["-mca", "coll", "^hcoll", "--gmca", "a", "b c", "-x", "A=1=2", "-x", "HOME"]
    made = by_srun(arguments=[*words, "--bind-to", "none", "-tag-output", "--oversubscribe"])
    assert "--label" in made["node1"]["argv"] and "--unbuffered" not in made["node1"]["argv"]
    for command in made.values():
        given = {"OMPI_MCA_coll": "^hcoll", "OMPI_MCA_a": "b c", "A": "1=2"}
        assert given.items() <= command["env"].items()
        assert "HOME" not in command["env"]


@pytest.mark.parametrize(
    ("launcher", "words", "named"),
    [
        ("mpirun", ["--bind-to", "core"], "mpirun's --bind-to"),
        ("mpirun", ["--report-bindings"], "mpirun's --report-bindings"),
        ("mpirun", ["-mca", "pml"], "mpirun's -mca"),
        ("horovodrun", ["-x", "A=1"], "horovodrun's -x"),
    ],
)
def test_a_word_without_a_counterpart_is_refused_by_name(launcher, words, named):
    with pytest.raises(ValueError, match=f"mine/bz4: {named} in launcher_options means nothing"):
        by_srun(launcher, arguments=words)


def test_srun_starts_one_command_on_all_nodes_and_no_value_is_split():
    awkward = [word for word in AWKWARD if word != ":"]
    command = by_srun(program=["{python}", "a.py", *awkward])
    assert shlex.split(command["node1"]["argv"][-1])[3:] == awkward
    nodes = campaign_data.cluster(2)
    for node in nodes.values():
        node["slurm"] = {"path": "srun", "mpi": "pmix", "host": "n"}
    nodes["node2"]["workload_dir"] = "/elsewhere"
    with pytest.raises(ValueError, match="srun starts one command on every node"):
        launched("mpirun", nodes=nodes)
