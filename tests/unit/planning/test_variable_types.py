"""Types of variables: what Ansible's check of arguments accepts, and roles cannot use."""

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.scalebench.core.plugins.module_utils.planning.variable_types import (
    option_types,
    unfit_variables,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    declared_types,
    role_variables,
)

OPTIONS = {
    "role_names": {"type": "list", "elements": "str"},
    "role_map": {"type": "dict"},
    "role_text": {},
    "role_path": {"type": "path"},
    "role_count": {"type": "int"},
    "role_raw": {"type": "raw"},
}
TYPES = option_types([{"main": {"options": OPTIONS}}])


def wrong(**variables):
    return unfit_variables({"gpu01": variables}, TYPES)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("role_names", "ib0,ib1", "text, not a list: write it as [one, two], with -e as"
         """ '{"role_names": ["one", "two"]}'"""),
        ("role_names", 5, "a whole number, not a list: "),
        ("role_map", "a=b", "text, not a mapping: write it as {key: value}, with -e as"),
        ("role_map", ["a"], "a list, not a mapping: "),
        ("role_text", ["ib0"], "a list, not text: write it as text in quotes"),
        ("role_text", 3.1, "a number, not text: write it as text in quotes"),
        ("role_path", True, "a boolean, not text: "),
        ("role_path", {"a": "b"}, "a mapping, not text: "),
        ("scalebench_no_proxy", ".example.org,10.0.0.0/8", "text, not a list: "),
        ("scalebench_interface", True, "a boolean, not text: "),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_told_with_the_way_to_write_it(name, value, said):
    (sentence,) = wrong(**{name: value})
    assert sentence.startswith(f"gpu01: {name} is {said}")


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "role_raw"])
def test_an_empty_line_of_yaml_is_no_value(name):
    assert wrong(**{name: None}) == [f"gpu01: {name} has no value: give it one, or leave it out"]


@pytest.mark.parametrize(
    "variables",
    [
        {"role_names": ["ib0"], "role_map": {"a": 1}, "role_text": "ib0", "role_path": "/a"},
        {"role_names": [], "role_map": {}, "role_text": ""},
        {"role_names": "{{ others }}", "role_map": "{% if a %}{{ b }}{% endif %}"},
        {"role_text": 5, "scalebench_interface": 5},
        {"role_raw": None, "role_count": "5", "another": None},
    ],
)
def test_what_roles_take_is_not_told(variables):
    assert wrong(**variables) == []


def test_nodes_with_the_same_are_told_together_and_no_value_is_shown():
    nodes = {f"gpu{number:02}": {"role_names": f"secret{number}"} for number in range(1, 65)}
    (sentence,) = unfit_variables({**nodes, "login": {"role_names": ["a"]}}, TYPES)
    assert sentence.startswith("gpu[01-64]: role_names is text") and "secret" not in sentence


def test_every_variable_of_a_role_has_its_type_and_those_of_the_inventory_exist():
    types = declared_types()
    assert types["nvidia_driver_drain_command"] == "list" and types["cuda_record"] == "dict"
    assert {name for name in types if name.startswith("scalebench_")} <= role_variables() | {
        # Of playbooks and the inventories' connection.
        *("scalebench_ssh_arguments", "scalebench_no_proxy", "scalebench_mirrors"),
        *("scalebench_proxy", "scalebench_carrier", "scalebench_state_dir"),
    }
    unchecked = {"campaign_rdma_adapters", "preflight_infiniband_devices", "verify_claims"}
    assert not unchecked & types.keys()


@pytest.mark.parametrize(
    ("option", "value"), [("role_names", "ib0,ib1"), ("role_map", "a=b"), ("role_text", ["ib0"])]
)
def test_ansibles_own_check_accepts_it_and_the_role_would_get_it_as_it_was(option, value):
    assert not ArgumentSpecValidator(OPTIONS).validate({option: value}).error_messages
    assert wrong(**{option: value})
