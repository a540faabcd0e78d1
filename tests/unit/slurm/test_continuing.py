"""The nodes of a campaign that is continued where some of its own are gone."""

import copy

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan, plan_changes
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, continuing
from campaign_data import benchmarks, cluster


@pytest.mark.parametrize(
    ("state", "there"),
    [
        *(("IDLE", 1), ("ALLOCATED", 1), ("MIXED+PLANNED", 1), ("IDLE+POWERED_DOWN", 1)),
        *(("DOWN", 0), ("DOWN*", 0), ("IDLE+DRAIN", 0), ("ALLOCATED+DRAIN", 0)),
        *(("IDLE+NOT_RESPONDING", 0), ("IDLE*+NOT_RESPONDING", 0), ("IDLE+FAIL", 0)),
        *(("IDLE*", 0), ("FUTURE", 0), ("IDLE+REBOOT_ISSUED", 0)),
    ],
)
def test_a_node_that_slurm_gives_to_nobody_is_not_asked_for(state, there):
    (node,) = answers.nodes(f"NodeName=n1 CPUTot=2 State={state} Reason=x")
    assert continuing.usable([node]) == ["n1"] * there
    assert continuing.usable([node], ["n2", "n1"]) == []


def test_other_hosts_have_the_names_of_the_nodes_they_stand_in_for():
    names = continuing.names_of_hosts
    planned = {name: name for name in ("n1", "n2", "n3")}
    assert names(planned, ["n1", "n4", "n5"]) == {"n1": "n1", "n4": "n2", "n5": "n3"}
    assert names(planned, ["n1", "n2"]) == {"n1": "n1", "n2": "n2"}
    assert names({}, ["n1"]) == {"n1": "n1"}
    assert names({"n1": "n1"}, ["n1", "n9"]) == {"n1": "n1", "n9": "n9"}
    # One that was planned with another host of that name's place.
    assert names({"n1": "n1", "n2": "n3"}, ["n1", "n3"]) == {"n1": "n1", "n3": "n2"}
    assert names({"n1": "n3", "n2": "n2"}, ["n1", "n2"]) == {"n1": "n1", "n2": "n2"}


@pytest.fixture
def plans():
    """Return a plan of two nodes, and one where another machine is the first of them."""
    nodes = cluster(2)
    other = copy.deepcopy(nodes)
    other["node1"]["address"] = nodes["node1"]["address"] + "9"
    other["node1"]["fingerprint"].update(hostname="spare", machine_id="other")
    options = parse_options({"topology": "1n1g,2n1g"})
    return [plan.build(benchmarks(), options, given) for given in (nodes, other)]


def test_a_campaign_goes_on_where_a_host_of_the_same_hardware_stands_in(plans):
    kept, wanted = plans
    others = plan_changes.replaced({"node1": "spare", "node2": "node2"}, {})
    assert others == {"node1": "node1 was replaced by spare, of the same hardware"}
    assert plan_changes.replaced({"node1": "spare"}, {"node1": "spare"}) == {}
    new = plan_changes.replaced({"node1": "spare"})
    assert new == {"node1": "node1 was replaced by spare, since the preflight failed"}
    back = plan_changes.replaced({"node1": "node1"}, {"node1": "spare"})
    assert back == {"node1": "spare was replaced by node1, of the same hardware"}
    plan_changes.check_same("c", kept, wanted, (), others)
    with pytest.raises(ValueError, match="node1: hostname was"):
        plan_changes.check_same("c", kept, wanted)


def test_ranks_of_mpi_go_on_too_where_srun_starts_them():
    definitions = benchmarks()
    for recipe in definitions["pytorch"]["recipes"].values():
        recipe["launcher"] = "mpirun"
    made = []
    for host, address in (("node1", "10.11.0.2"), ("spare", "10.11.7.9")):
        nodes = cluster(2, interface="")
        for name, known_as in (("node1", host), ("node2", "node2")):
            nodes[name]["slurm"] = {"path": "srun", "mpi": "pmix", "host": known_as}
        nodes["node1"]["address"] = address
        options = parse_options({"benchmark": "pytorch", "topology": "2n1g"})
        made.append(plan.build(definitions, options, nodes))
    words = made[1]["cells"][0]["commands"]["node1"]["argv"]
    assert "--nodelist=spare,node2" in words
    assert plan_changes.differences(*made, {"node1"}) == []
    assert plan_changes.differences(*made) != []


@pytest.mark.parametrize(("key", "value"), [("cores", 1), ("cpu_model", "another")])
def test_other_hardware_is_refused(plans, key, value):
    kept, wanted = plans
    wanted["nodes"]["node1"][key] = value
    with pytest.raises(ValueError, match=f"node1: {key} was"):
        plan_changes.check_same("c", kept, wanted, (), {"node1"})


def test_another_command_is_refused_there_too(plans):
    kept, wanted = plans
    wanted["cells"][0]["commands"]["node1"]["argv"].append("--other")
    with pytest.raises(ValueError, match="--other"):
        plan_changes.check_same("c", kept, wanted, (), {"node1"})
