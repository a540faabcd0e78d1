"""Recipe nccl_tests of benchmark all_reduce: what mpirun starts on the reference cluster."""

import getopt
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
import yaml
from upstream_data import cells

ROOT = Path(__file__).resolve().parents[3]
STAND_IN = ROOT / "molecule/shared/stand_ins/all_reduce_perf"
PROGRAM = "/opt/nccl-tests/current/build/all_reduce_perf"


@pytest.fixture(scope="module")
def planned():
    return cells("all_reduce", "nccl_tests")


def test_each_size_is_a_cell_of_the_nodes_all_gpus(planned):
    assert {cell["topology"] for cell in planned.values()} == {"1n8g", "2n8g", "4n8g"}
    sizes = {cell["own_factors"]["message_bytes"] for cell in planned.values()}
    assert (min(sizes), max(sizes), len(planned)) == (1024, 1 << 30, 18)
    for cell in planned.values():
        assert cell["reading"]["reader"] == "nccl_tests"
        assert cell["reading"]["parameters"] == {"warmup": 0, "iterations": 1}


def test_the_program_takes_the_options(planned):
    """The names of its long options are the real one's: src/common.cu of 2.18.3."""
    spec = spec_from_loader("stand_in", SourceFileLoader("stand_in", str(STAND_IN)))
    stand_in = module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    known = stand_in.LONG
    (cell,) = [
        one
        for one in planned.values()
        if "bytes1073741824-" in one["directory"] + "-" and one["topology"] == "4n8g"
    ]
    words = cell["commands"]["v1"]["argv"]
    assert words.count(PROGRAM) == 4
    given = words[words.index(PROGRAM) + 1 : words.index(":")]
    options, rest = getopt.getopt(given, "", [f"{name}=" for name in known])
    assert rest == []
    assert dict(options) == {
        "--minbytes": "1073741824",
        "--maxbytes": "1073741824",
        "--warmup_iters": "5",
        "--iters": "20",
        "--ngpus": "1",
        "--datatype": "float",
        "--check": "1",
    }
    at = words.index("-np")
    assert words[at : at + 4] == ["-np", "8", "-host", "10.11.0.2:8"]


def test_the_role_links_what_the_recipe_starts():
    tasks = yaml.safe_load((ROOT / "roles/nccl/tasks/tests.yml").read_text())
    (link,) = [task for task in tasks if task["name"] == "Tests | Link the current version"]
    assert link["ansible.builtin.file"]["dest"] == "{{ nccl_tests_dir }}/current"
    defaults = yaml.safe_load((ROOT / "roles/nccl/defaults/main.yml").read_text())
    assert PROGRAM.startswith(defaults["nccl_tests_dir"] + "/current/")
