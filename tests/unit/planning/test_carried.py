"""Cells that a carrier other than ssh cannot start."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.carried import (
    check_carried,
    minutes_needed,
    offered_cells,
    too_long,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_changes import (
    differences,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.provenance import origin
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from campaign_data import benchmarks


def cell(**more):
    """Return what is read of a cell, of torchrun on two nodes."""
    return {"directory": "a", "over_ssh": False, "nodes": 2, "framework_set": "pytorch", **more}


def test_ssh_carries_everything():
    check_carried([cell(over_ssh=True), cell(framework_set=None)], "ssh", {})


def test_slurm_carries_what_every_node_starts_itself():
    check_carried([cell(), cell(over_ssh=True, nodes=1)], "slurm", {"mpi": ""})


def test_slurm_carries_mpi_and_containers_where_its_srun_starts_them():
    check_carried([cell(over_ssh=True)], "slurm", {"mpi": "pmix"})
    check_carried([cell(framework_set=None)], "slurm", {"containers": True})


@pytest.mark.parametrize(
    ("other", "srun", "problem"),
    [
        ({"over_ssh": True}, {"containers": True}, "b: its launcher .* neither pmix nor pmi2"),
        ({"framework_set": None}, {"mpi": "pmix"}, "b: it runs in a container"),
        (
            {"framework_set": None, "over_ssh": True, "nodes": 1},
            {"mpi": "pmix", "containers": True},
            "b: it runs MPI in a container",
        ),
    ],
)
def test_what_needs_ssh_is_refused_with_what_to_choose(other, srun, problem):
    with pytest.raises(ValueError, match=problem + ".* scalebench_carrier=ssh only. Choose"):
        check_carried([cell(), cell(directory="b", **other)], "slurm", srun)


def test_a_plan_that_takes_longer_than_the_nodes_are_there_is_told():
    assert too_long("c", 100, 100) == []
    assert too_long("c", 100, 0) == []
    (remark,) = too_long("c", 7200, 600)
    assert remark.startswith("the missing repeats take about 2 h 00 min, and the nodes are there")
    assert "for 10 min 00 s: " in remark
    assert "-e campaign=c" in remark


def test_a_campaign_does_not_go_on_by_another_carrier():
    """Limits and binding of Slurm are not those of ssh; a plan without the key is one of ssh."""
    empty = {"nodes": {}, "cells": []}
    by_slurm = {**empty, "carrier": "slurm"}
    assert differences(empty, {**empty, "carrier": "ssh"}) == []
    assert differences(by_slurm, by_slurm) == []
    assert differences(empty, by_slurm) == ["its nodes were reached by ssh, are by slurm"]


def test_the_report_names_the_carrier():
    results = build_results({"nodes": {}, "cells": [], "carrier": "slurm"}, [])
    assert "Nodes reached by: slurm" in origin(results)
    del results["provenance"]["carrier"]
    assert not any("reached" in line for line in origin(results))


def offered(options, times=None, done=(), gpus=0, carrier="slurm"):
    """Return the minutes for a campaign on two nodes that a carrier offers."""
    nodes = [{"name": name, "gpus": gpus} for name in ("n1", "n2")]
    known = parse_options(options)
    cells = offered_cells(benchmarks(), known, nodes, 1)
    check_carried(cells, carrier, {})
    return minutes_needed(cells, known, times or {}, done)


TWO_CELLS = {"benchmark": "pytorch", "topology": "1n1g,2n1g", "repeats": 3, "iterations": 7}


def timed(seconds):
    """Return the times of earlier repeats of each of the two cells."""
    nodes = [{"name": name, "gpus": 0} for name in ("n1", "n2")]
    cells = offered_cells(benchmarks(), parse_options(TWO_CELLS), nodes, 1)
    assert len(cells) == 2
    return {plan.timing_key(cell): [seconds] for cell in cells}


def test_a_time_limit_follows_from_earlier_repeats_with_a_margin():
    # 6 repeats of 95 s and 5 s around each, half as much again, and ten minutes: 1500 s.
    assert offered(TWO_CELLS, timed(95)) == 25
    assert offered({**TWO_CELLS, "topology": "1n1g"}, timed(95)) == 18
    nodes = [{"name": name, "gpus": 0} for name in ("n1", "n2")]
    cells = offered_cells(benchmarks(), parse_options(TWO_CELLS), nodes, 1)
    logs = [repeat["log"] for repeat in plan.repeats(cells)]
    assert offered(TWO_CELLS, timed(95), done=logs[:2]) == 20


@pytest.mark.parametrize(
    "options",
    [
        {**TWO_CELLS, "half_width": "0.05", "max_repeats": 9},
        {**TWO_CELLS, "topology": "1n5g"},
    ],
)
def test_without_a_known_time_there_is_no_limit(options):
    assert offered(options, timed(95)) is None


def test_a_container_is_refused_before_anything_waits_in_the_queue():
    options = {"benchmark": "tensorflow_ngc", "recipe": "upstream", "topology": "1n1g"}
    with pytest.raises(ValueError, match="it runs MPI in a container"):
        offered(options, gpus=8)
    assert offered(options, gpus=8, carrier="ssh") is None
