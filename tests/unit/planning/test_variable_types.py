"""Types of variables: what Ansible's check of arguments accepts, and roles cannot use."""

from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.scalebench.core.plugins.module_utils.planning.variable_types import (
    USUAL_PORT,
    option_types,
    unfit_variables,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import declared_types

ROOT = Path(__file__).resolve().parents[3]

OPTIONS = {
    "role_names": {"type": "list", "elements": "str"},
    "role_map": {"type": "dict"},
    "role_text": {},
    "role_path": {"type": "path"},
    "role_count": {"type": "int"},
    "role_seconds": {"type": "float"},
    "role_flag": {"type": "bool"},
    "role_raw": {"type": "raw"},
    "role_switch": {"choices": ["auto", "true", "false"]},
    "role_pairs": {"type": "list", "elements": "dict"},
}
FOLDERS = {"scalebench_work_dir": "/work"}
TYPES = option_types([{"main": {"options": OPTIONS}}])


def wrong(**variables):
    return unfit_variables({"gpu01": {**FOLDERS, **variables}}, TYPES)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("role_names", "ib0,ib1", "text, not a list of texts: write it as [one, two], with -e as"
         """ '{"role_names": ["one", "two"]}'"""),
        ("role_names", 5, "a whole number, not a list of texts: "),
        ("role_map", "a=b", "text, not a mapping: write it as {key: value}, with -e as"),
        ("role_map", ["a"], "a list, not a mapping: "),
        ("role_names", ["ib0", None], "a list with an element that is empty, not a list of texts"),
        ("role_names", [["ib0"]], "a list with an element that is a list, not a list of texts: "),
        ("role_text", ["ib0"], "a list, not text: write it as text in quotes"),
        ("role_text", 3.1, "a number, not text: write it as text in quotes"),
        ("role_path", 5, "a whole number, not text: write it as text in quotes (on the line"),
        ("slurm_time", 28800, "a whole number, not text: "),
        ("role_path", True, "a boolean, not text: "),
        ("role_path", {"a": "b"}, "a mapping, not text: "),
        ("campaign", 1.1, "a number, not text: write it as text in quotes"),
        ("campaign", True, "a boolean, not text: "),
        ("scalebench_no_proxy", ".example.org,10.0.0.0/8", "text, not a list of texts: "),
        ("scalebench_interface", 5, "a whole number, not text: "),
        ("scalebench_rdma_adapters", 5, "a whole number, not a list of texts: "),
        ("scalebench_gpus", 1.5, "a number, not numbers of GPUs: write it as [0, 2], with -e as"),
        ("exclude", [None], "a list with an element that is empty, not a list of texts: "),
        ("role_count", True, "a boolean, not a whole number: write it as digits"),
        ("role_count", 1.5, "a number, not a whole number: write it as digits"),
        ("scalebench_guest", [True], "a list, not a boolean: write it as true or false"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_told_with_the_way_to_write_it(name, value, said):
    (sentence,) = wrong(**{name: value})
    assert sentence.startswith(f"gpu01: {name} is {said}")


SWITCH = "neither true nor false: give one of them"


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("role_flag", ["y", "t", "maybe", "", 2, 1.0], SWITCH),
        ("preflight", ["n"], SWITCH),
        ("uninstall_beneath_work_allowed", ["y"], SWITCH),
        ("role_count", ["1h", "1.5", "", "-1", -1], "no whole number of 0 or more: give one in"),
        ("role_seconds", ["1h", "nan", "inf", "-0.5", float("nan")], "no number of 0 or more: "),
        ("campaign_rank_port", [99999, "0", "ssh"], "no whole number of 1 to 65535: give one"),
        ("ansible_port", ["abc"], "no whole number of 1 to 65535: give one"),
        ("host_baseline_huge_pages", [-2], "no whole number of -1 or more: "),
    ],
)
def test_a_value_out_of_its_range_is_told(name, values, said):
    for value in values:
        (sentence,) = wrong(**{name: value})
        assert sentence.startswith(f"gpu01: {name} is {said}"), value


@pytest.mark.parametrize("name", ["scalebench_work_dir", "scalebench_state_dir", "framework_dir"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("scalebench/work", "is no absolute path: begin it with /"),
        ("", "is no absolute path: begin it with /"),
        ("/", "is the root of the file system: name a folder below it"),
        ("//", "is the root of the file system: name a folder below it"),
        ("/opt/scalebench", ""),
        ("~/scalebench", ""),
        ("{{ folder }}/work", ""),
    ],
)
def test_a_folder_of_nodes_has_an_absolute_path(name, path, said):
    assert wrong(**{name: path}) == ([f"gpu01: {name} {said}"] if said else [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"cluster_ssh_directory": "/50%"},
            "cluster_ssh_directory has a %, which ssh takes for its",
        ),
        ({"scalebench_work_dir": '/"'}, 'scalebench_work_dir has a ", which ssh takes for its own'),
        ({"cluster_ssh_directory": ""}, "cluster_ssh_directory is no absolute path: begin it"),
        ({"dataset_directory": "data"}, "dataset_directory is no absolute path: begin it with /"),
        ({"campaign_results_dir": " "}, "campaign_results_dir is empty: name a folder"),
        ({"campaign_benchmarks_dir": ""}, "campaign_benchmarks_dir is empty: name a folder"),
        ({"campaign_cpu_threads": 0}, "campaign_cpu_threads is no whole number of 1 or more: give"),
        ({"campaign_cpu_processes": "0"}, "campaign_cpu_processes is no whole number of 1 or more"),
    ],
)
def test_what_no_role_could_work_with_is_told(given, said):
    types = declared_types()
    (problem,) = unfit_variables({"gpu01": {**FOLDERS, **given}}, types)
    assert problem.startswith(f"gpu01: {said}")
    usual = {"campaign_results_dir": "results", "cluster_ssh_directory": "/a b", **FOLDERS}
    assert unfit_variables({"gpu01": {**usual, "campaign_cpu_threads": 1}}, types) == []


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("cluster_ssh_port", (None, None), False), ("cluster_ssh_port", (10000, "10000"), False),
        ("cluster_ssh_port", (10001, None), True), ("cluster_ssh_port", (USUAL_PORT, None), False),
        ("cluster_ssh_port", (10001, 10002), True),
        ("cluster_ssh_port", ("{{ port }}", 10001), False),
        ("scalebench_carrier", ("slurm", None), True),
        ("scalebench_carrier", ("slurm", "slurm"), False),
        ("scalebench_carrier", ("ssh", None), False),
    ],
)  # fmt: skip
def test_the_cluster_has_one_port_and_one_carrier(name, given, said):
    nodes = {
        f"gpu0{at}": {**FOLDERS, **({name: value} if value else {})}
        for at, value in enumerate(given)
    }
    told = [f"{name} differs between the nodes: gpu"]
    assert [one[: len(told[0])] for one in unfit_variables(nodes, TYPES)] == (told if said else [])


def test_the_usual_port_is_the_default_of_the_role():
    defaults = yaml.safe_load((ROOT / "roles/cluster_ssh/defaults/main.yml").read_text())
    assert defaults["cluster_ssh_port"] == USUAL_PORT


@pytest.mark.parametrize("name", ["node 1", "q'uo", 'q"uo', "a\\b", "a\tb"])
def test_a_name_that_sshd_does_not_take_is_told(name):
    (problem,) = unfit_variables({name: FOLDERS, "n\xf6de": FOLDERS, "-n": FOLDERS}, TYPES)
    assert "its name has a blank, a quote or a backslash, which sshd does not take" in problem


@pytest.mark.parametrize(("choice", "said"), [("0-3", True), ("0,0", True), ([0, 2], False)])
def test_what_names_no_gpus_is_told(choice, said):
    expected = ["gpu01: scalebench_gpus names no GPUs: give true, false, or the numbers of"]
    assert [problem[: len(expected[0])] for problem in wrong(scalebench_gpus=choice)] == (
        expected if said else []
    )


def test_an_option_by_its_name_of_version_0_1_is_told_and_its_new_name_is_an_option():
    former = ("mlnx_ofed_peermem", "preflight_container", "stack_image_mirror")
    told = wrong(**dict.fromkeys(former, "auto"))
    assert [sentence.split(": ")[1] for sentence in told] == [
        f"{name} has another name since version 0.2" for name in former
    ]
    now = {sentence.split(": ")[2].split(",")[0] for sentence in told}
    assert now <= {*declared_types()} and not {*former} & {*declared_types()}


def test_a_server_under_two_names_is_told():
    nodes = {
        name: {**FOLDERS, "ansible_host": host, "ansible_port": port}
        for name, host, port in (
            ("n02", "10.0.0.2", 22), ("gpu02", "10.0.0.2", "22"), ("n03", "10.0.0.2", 23),
            ("n04", "{{ address }}", 22), ("n05", "{{ address }}", 22),
        )
    }  # fmt: skip
    (sentence,) = unfit_variables(nodes, TYPES)
    assert sentence == (
        "gpu02, n02 have the same ansible_host and ansible_port: one server is one node; keep one"
        " of the names"
    )
    (sentence,) = unfit_variables({"a": FOLDERS, "b": {**FOLDERS, "ansible_host": "a"}}, TYPES)
    assert sentence.startswith("a, b have")


@pytest.mark.parametrize(
    "name", [*(name for name in OPTIONS if name != "role_raw"), "scalebench_gpus", "exclude"]
)
def test_an_empty_line_of_yaml_is_no_value(name):
    assert wrong(**{name: None}) == [f"gpu01: {name} has no value: give it one, or leave it out"]


@pytest.mark.parametrize(
    "variables",
    [
        {"role_names": ["ib0"], "role_map": {"a": 1}, "role_text": "ib0", "role_path": "/a"},
        {"role_names": [], "role_map": {}, "role_text": ""},
        {"role_names": "{{ others }}", "role_map": "{% if a %}{{ b }}{% endif %}"},
        {"campaign": 20261128},
        {"campaign": ["test-*", 5]},
        {"campaign": "first"},
        {"role_text": 5, "role_names": [10000, "1-65535"], "role_pairs": [{"a": None}]},
        {"role_flag": True, "preflight": "False", "png": "on", "accept_changes": 0},
        {"role_seconds": "1.5", "cluster_ssh_port": "10000", "host_baseline_huge_pages": -1},
        {"role_seconds": 0, "role_count": 0, "ansible_port": "{{ port }}"},
        {"role_switch": False, "scalebench_gpus": [0, 2], "exclude": "node1,node2"},
        {"scalebench_gpus": False, "scalebench_rdma_adapters": "mlx5_0,mlx5_1"},
        {"role_raw": None, "role_count": "5", "another": None},
        # Of a site; cleanup.yml alone reads one of ours.
        {"results": "/data/results"},
    ],
)
def test_what_roles_take_is_not_told(variables):
    assert wrong(**variables) == []


def test_nodes_with_the_same_are_told_together_and_no_value_is_shown():
    nodes = {
        f"gpu{number:02}": {**FOLDERS, "role_names": f"secret{number}"} for number in range(1, 65)
    }
    (sentence,) = unfit_variables({**nodes, "localhost": {"role_names": ["a"]}}, TYPES)
    assert sentence.startswith("gpu[01-64]: role_names is text") and "secret" not in sentence


def test_every_variable_has_its_type_and_those_of_the_inventory_exist():
    types = declared_types()
    assert types["nvidia_driver_drain_command"] == "texts" and types["cuda_record"] == "dict"
    assert {types[name] for name in ("nvidia_driver_peermem", "container_engine_gpus")} == {
        "switch"
    }
    assert types["slurm_exclusive"] == "bool" and types["cell_timeout"] == "float"
    page = (ROOT / "docs/variables.md").read_text()
    # Options of playbooks, and Ansible's own.
    of_playbooks = {"exclude", "campaign", "preflight", "accept_changes", "png", "ansible_port"}
    of_playbooks.add("uninstall_beneath_work_allowed")
    for name in types.keys() - of_playbooks:
        assert f"| `{name}` |" in page, name


@pytest.mark.parametrize(
    ("option", "value"), [("role_names", "ib0,ib1"), ("role_map", "a=b"), ("role_text", ["ib0"])]
)
def test_ansibles_own_check_accepts_it_and_the_role_would_get_it_as_it_was(option, value):
    assert not ArgumentSpecValidator(OPTIONS).validate({option: value}).error_messages
    assert wrong(**{option: value})
