"""Benchmark all_reduce beside a training through bench.yml: one campaign, that is continued."""

import json
import os
import re
import statistics
import subprocess

import pytest
import yaml
from local_nodes import ROOT, WHOLE, events, failures, ranks_of

from collectives.definitions import COLLECTIVES

SIZES = (1024, 262144, 4194304)
OPTIONS = {
    "campaign": "collectives",
    "benchmark": "pytorch,all_reduce",
    "topology": "1n1g,2n1g,3n1g",
}
LINE = re.compile(r"all_reduce (\d+) bytes \d+ duration ([0-9.]+) us .* busbw ([0-9.]+) MB/s")
TRAINED = re.compile(r"^iteration (\d+) .*throughput ([0-9.]+) images/s", re.MULTILINE)
RULES = [
    {"min_busbw": {"gloo": {str(SIZES[2]): 0.001}}, "where": {"topology": "3n*"}},
    {"min_busbw": {"NET/IB": 0.001}, "where": {"topology": "2n*"}},
]


@pytest.fixture(scope="module")
def measured(cluster):
    """Run the campaign, lose a repeat, and continue it; return the second runner and the folder."""
    benchmarks, folder = cluster.state / "benchmarks", cluster.results / "collectives"
    benchmarks.mkdir()
    for name in ("pytorch", "all_reduce"):
        content = yaml.safe_load((ROOT / f"benchmarks/{name}.yml").read_text())
        if name == "all_reduce":
            # As an option it would leave out the training, which has no such factor.
            content["recipes"]["portable"]["defaults"]["cpu"]["message_bytes"] = list(SIZES)
        (benchmarks / f"{name}.yml").write_text(json.dumps(content))
    options = {**OPTIONS, **WHOLE, "campaign_benchmarks_dir": str(benchmarks)}
    first = cluster.bench(**options)
    assert first.rc == 0, failures(first)
    (lost,) = folder.glob("logs/all_reduce/bz1/2n1g/*.run.json")
    lost.unlink()
    gate = folder / "gate.yml"
    gate.write_text(json.dumps({"rules": RULES}))
    again = cluster.bench(**{**options, "preflight": False}, predict="8n1g", gate=str(gate))
    return again, folder


def results(folder):
    return json.loads((folder / "results.json").read_text())


def said(runner):
    shown = (str(one.get("msg")) for one in events(runner, "ansible.builtin.debug"))
    return " ".join(" ".join(shown).split())


def test_the_figures_are_those_of_the_logs_by_hand(measured):
    _, folder = measured
    cells = [cell for cell in results(folder)["cells"] if cell["benchmark"] == "all_reduce"]
    by_hand = {}
    for cell in cells:
        if cell["topology"] == "1n1g":
            assert cell["state"] == "unavailable"
            continue
        (repeat,) = cell["repeats"]
        assert repeat["ending"] == "ok"
        lines = LINE.findall((folder / repeat["log"]).read_text())
        kept = [(float(time), float(rate)) for number, time, rate in lines if 1 < int(number) <= 4]
        assert len(kept) == 3
        ranks, size = cell["devices"], cell["own_factors"]["message_bytes"]
        for time, rate in kept:
            assert rate == pytest.approx(size / time * 2 * (ranks - 1) / ranks, rel=0.01, abs=1e-3)
        mean = statistics.harmonic_mean([rate for _, rate in kept])
        assert cell["median_speed"] == pytest.approx(mean, rel=0.001, abs=0.006)
        by_hand[size, cell["topology"]] = mean
    assert set(by_hand) == {(size, name) for size in SIZES for name in ("2n1g", "3n1g")}


def test_the_figures_of_the_training_are_those_of_its_logs_by_hand(measured):
    _, folder = measured
    facts = results(folder)["facts"]["pytorch"]["fp32"]["bz2"]["r50"]
    by_hand = {}
    for topology in OPTIONS["topology"].split(","):
        log = (folder / f"logs/pytorch/bz2/{topology}/r50_b2_fp32_1.log").read_text()
        printed = [float(value) for step, value in TRAINED.findall(log) if int(step) > 1]
        assert len(printed) == 3
        by_hand[topology] = round(statistics.fmean(printed) * 100) / 100
        assert facts[topology]["median_speed"] == by_hand[topology]
    assert len(set(by_hand.values())) == 3


def test_every_rank_trained_on_its_own_node(measured):
    _, folder = measured
    ranks = ranks_of((folder / "logs/pytorch/bz2/3n1g/r50_b2_fp32_1.log").read_text())
    assert [rank["node"] for rank in ranks] == ["node1", "node2", "node3"]
    assert len({rank["pid"] for rank in ranks}) == 3


@pytest.mark.usefixtures("measured")
def test_only_the_missing_repeat_ran_again(cluster):
    sessions = {}
    for run in cluster.records("collectives").values():
        if run["ending"] != "unavailable":
            assert run["ending"] == "ok"
            sessions.setdefault(run["session"], []).append(run["log"])
    assert sorted(map(len, sessions.values())) == [1, 8]
    (log,) = min(sessions.values(), key=len)
    assert log == "logs/all_reduce/bz1/2n1g/collective_b1_fp32_1.log"


def test_the_report_has_the_plot_the_fitted_line_and_the_transport(measured):
    _, folder = measured
    found = results(folder)
    assert "<svg" in (folder / "busbw.svg").read_text()
    text = (folder / "report.md").read_text()
    assert "## Collective operations" in text
    by_topology = {group["topology"]: group for group in found["collectives"]["groups"]}
    assert set(by_topology) == {"2n1g", "3n1g"}
    for group in by_topology.values():
        assert [one["bytes"] for one in group["sizes"]] == list(SIZES)
        fit = group["fit"]
        if fit["reason"]:
            continue
        for one in group["sizes"]:
            line = fit["latency_seconds"] + one["bytes"] * fit["seconds_per_byte"]
            assert line > 0
        assert f"latency {1e6 * fit['latency_seconds']:.1f} us" in text
    ways = {size: set() for size in SIZES}
    for cell in found["cells"]:
        if cell["benchmark"] == "all_reduce" and cell["topology"] != "1n1g":
            ways[cell["own_factors"]["message_bytes"]] |= set(cell["repeats"][0]["transport"])
    # Beside it, whatever else this machine has sent meanwhile, as to containers of other tests.
    assert "TCP/lo" in ways[SIZES[2]]
    # 1 KiB cannot be told from such traffic.
    assert ways[SIZES[0]]


def test_the_gate_holds_each_floor_against_the_fabric_that_was_taken(measured):
    again, folder = measured
    assert again.rc == 2
    assert "2 rule(s) of the gate undecided, which fails it" in failures(again)
    own, other = results(folder)["gate"]["rules"]
    assert {own["verdict"], other["verdict"]} == {"undecided"}
    # Of the largest message alone; one repeat decides nothing, as the unit tests' three do.
    (size,) = set(re.findall(r"bytes(\d+)", own["detail"]))
    assert int(size) == SIZES[2] and "one repeat shows no spread" in own["detail"]
    assert "2n1g: it went over gloo, and there are floors for NET/IB" in other["detail"]


def test_the_throughput_of_eight_nodes_is_predicted_from_both_benchmarks(measured):
    _, folder = measured
    (group,) = results(folder)["predictions"]["groups"]
    rows = {(row["kind"], row["topology"]): row for row in group["rows"]}
    assert ("parts", "3n1g") in rows and ("left_out", "3n1g") in rows
    asked = rows["asked", "8n1g"]
    assert asked["step_seconds"] > 0 or asked["reason"]
    assert "8n1g" in (folder / "report.md").read_text()


@pytest.fixture(scope="module")
def by_mpi(cluster):
    """Install mpi4py and measure two sizes by Open MPI; return the campaign's folder."""
    chosen = {"benchmark": "all_reduce", "recipe": "mpi"}
    installed = cluster.run("provision.yml", "--tags", "framework,workload", **chosen)
    assert installed.rc == 0, failures(installed)
    sizes = {"topology": "2n1g", "message_bytes": "1024,1048576"}
    done = cluster.bench(campaign="by-mpi", **chosen, **sizes)
    assert done.rc == 0, failures(done)
    return cluster.results / "by-mpi"


def test_open_mpi_measures_the_same(by_mpi):
    cells = results(by_mpi)["cells"]
    assert [cell["own_factors"]["message_bytes"] for cell in cells] == [1024, 1048576]
    for cell in cells:
        (repeat,) = cell["repeats"]
        log = (by_mpi / repeat["log"]).read_text()
        assert '"backend":"mpi"' in log and '"framework_version":"Open MPI v' in log
        lines = LINE.findall(log)
        assert len(lines) == 4
        # On two ranks the bus bandwidth is the algorithm's; durations are printed to 0.1 us.
        size = cell["own_factors"]["message_bytes"]
        mean = statistics.fmean(float(time) for number, time, _ in lines if int(number) > 1)
        assert cell["median_speed"] == pytest.approx(size / mean, rel=0.01)


def test_a_library_that_does_not_know_of_the_ranks_is_refused(by_mpi):
    program = [ROOT / ".state/venvs/mpi/bin/python", ROOT / "workloads/collectives/measure.py"]
    ended = subprocess.run(
        [*program, "--library=mpi", "--device=cpu"],
        env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "Open MPI v" in ended.stderr
    assert "knows of 1 rank(s), the launcher started 2" in ended.stderr


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_wrong_result_of_open_mpi_ends_the_job(by_mpi, tmp_path, name):
    (tmp_path / "program.py").write_text(
        f"import os, sys\nsys.path.insert(0, {str(ROOT / 'workloads')!r})\n"
        "from collectives import measure, mpi_operations\n"
        "fill = mpi_operations.Operation.fill\n"
        "def faulty(self):\n"
        "    fill(self)\n"
        "    self.buffer[0] += self.rank == int(os.environ['WRONG'])\n"
        "mpi_operations.Operation.fill = faulty\n"
        "from common.process import end_now\n"
        "end_now(measure.main())\n"
    )
    python = ROOT / ".state/venvs/mpi/bin/python"
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", "-x", "WRONG"]
    program = [python, tmp_path / "program.py", "--library=mpi", f"--collective={name}"]
    ended = {}
    for wrong in (-1, 0):
        ended[wrong] = subprocess.run(
            [*mpirun, *program, "--warmup=1", "--iterations=2", "--bytes=4096"],
            env={**os.environ, "WRONG": str(wrong)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert ended[-1].returncode == 0, ended[-1].stderr
    assert ended[0].returncode != 0
    assert '"kind":"wrong_result"' in ended[0].stdout
