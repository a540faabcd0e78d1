"""Why a node will not do."""

from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    node_problems,
)

WELL = {"unusable": {}, "fingerprint": {"disk_free_mib": 900}}
PYTHONS = {"pytorch": "/no/python", "mxnet": "/venv/bin/python"}


def problems(probe, pythons=PYTHONS):
    return node_problems(probe, "10.0.0.2 port 10000", "/var/tmp/scalebench", 500, pythons)


def test_a_node_that_will_do_has_none():
    assert problems(WELL) == []


def test_each_problem_says_what_to_do():
    (unreachable,) = problems({"unreachable": True, "msg": "timed out"})
    assert unreachable.startswith("10.0.0.2 port 10000 cannot be reached: timed out. Run ansible-")
    (full,) = problems({**WELL, "fingerprint": {"disk_free_mib": 3}})
    assert full.startswith("3 MiB are free at /var/tmp/scalebench, 500 are needed")


def test_a_missing_framework_matters_only_when_no_other_is_there():
    one = {**WELL, "unusable": {"pytorch": "there is no such file"}}
    assert problems(one) == []
    (none,) = problems(one, {"pytorch": "/no/python"})
    assert none.startswith("the interpreter of pytorch, /no/python: there is no such file.")
