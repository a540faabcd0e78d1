"""Variants that take turns on a local node: a longer step is named, an equal variant is not."""

import json
from itertools import groupby

import pytest
import yaml
from local_nodes import TIMED_STEPS, failures

# Steps are 5 ms.
VARIANTS = {
    "usual": None,
    "same": {"about": "the same again"},
    "slow": {"about": "steps that are 3 % longer", "environment": {"STEP_DELAY": "0.00015"}},
}
VERSIONS = {"v1": None, "v2": {}, "v3": {"arguments": ["--delay=0.00015"]}}


@pytest.fixture
def bench(cluster, tmp_path):
    """Return a function that runs bench.yml with the stand-in whose steps are slept."""

    def run(campaign, variants, **more):
        file = tmp_path / "variants.yml"
        file.write_text(yaml.safe_dump({"variants": variants}, sort_keys=False))
        given = {
            **TIMED_STEPS,
            "variants": str(file),
            "topology": "1n1g",
            "batch_size_per_device": 1,
            "iterations": 50,
            "cell_sample_interval": 0,
        }
        runner = cluster.bench(campaign=campaign, **{**given, **more})
        assert runner.rc == 0, failures(runner)
        return json.loads((cluster.results / campaign / "results.json").read_text())

    return run


def test_variants_take_turns_and_the_slow_one_is_named(bench, cluster):
    results = bench("variants", VARIANTS, repeats=8)
    records = sorted(cluster.records("variants").values(), key=lambda one: one["recorded"])
    ran = [(record["repeat"], record["cell"]["treatment"]) for record in records]
    rounds = [[treatment for _, treatment in some] for _, some in groupby(ran, lambda one: one[0])]
    assert [sorted(order) for order in rounds] == [sorted(VARIANTS)] * 8
    assert len({*map(tuple, rounds)}) > 1
    found = {cell["treatment"]: cell for cell in results["treatments"]["cells"]}
    slow, same = found["slow"], found["same"]
    assert (slow["finding"], slow["against"], slow["rounds"]) == ("slower", "usual", 8)
    assert slow["p_signed_rank"] == 2 / 2**8
    assert 0.96 < slow["low"] < slow["high"] < 0.98
    # An equal variant is called different in five of a hundred such campaigns, within the margin.
    assert same["finding"] in ("equivalent", "different within margin")
    report = (cluster.results / "variants/report.md").read_text()
    assert "steps that are 3 % longer" in report


def test_versions_are_bisected(bench):
    found = bench("bisected", VERSIONS, bisect=True, repeats=32)["bisection"]
    assert (found["first_slow"], found["finished"]) == ("v3", True)
    assert [(step["version"], step["verdict"]) for step in found["steps"]] == [
        ("v3", "slow"),
        ("v2", "not slow"),
    ]
