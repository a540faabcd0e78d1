"""Check that 100 random campaigns with random faults end in a consistent state, and some by Slurm.

The workload is a stand-in, and so are Slurm's programs; plugins, modules, processes and signals are
real. The name of a failing test contains carrier and seed; ``pytest
tests/faults/test_random_campaigns.py -k 'ssh-seed17-'`` runs it alone. ``SSH_CAMPAIGNS=200
SLURM_CAMPAIGNS=100`` in the environment runs as many of each.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import campaign_driver as driver
import pytest
import random_campaigns
import slurm_stand_ins
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from ansible_collections.scalebench.core.plugins.module_utils.running import search
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import read_facts

CAMPAIGNS = [
    *(("ssh", seed) for seed in range(int(os.environ.get("SSH_CAMPAIGNS", "100")))),
    *(("slurm", seed) for seed in range(int(os.environ.get("SLURM_CAMPAIGNS", "20")))),
]
# Number of parallel campaigns: most of the time is spent waiting for time limits.
PARALLEL = 12


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """Start all selected campaigns; return their futures by carrier and seed."""
    folder = tmp_path_factory.mktemp("campaigns")
    selected = [
        item.callspec.params["which"]
        for item in request.session.items
        if item.originalname == "test_a_campaign_ends_consistent"
    ]
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(PARALLEL, mp_context=fork) as pool:
        yield {which: pool.submit(run_campaign, *which, folder) for which in selected}


@pytest.mark.parametrize("which", CAMPAIGNS, ids=lambda which: f"{which[0]}-seed{which[1]}-")
def test_a_campaign_ends_consistent(outcomes, which):
    assert outcomes[which].result()["sessions"] > 0


@pytest.mark.parametrize("carrier", ["ssh", "slurm"])
def test_the_faults_made_every_ending(outcomes, carrier):
    planned = [which for which in CAMPAIGNS if which[0] == carrier]
    found = [outcomes[which].result() for which in planned if which in outcomes]
    if len(found) < len(planned):
        pytest.skip("not all campaigns were selected")
    total = sum(found, Counter())
    assert total["killed"] > len(found) / 4
    if carrier == "slurm":
        assert total["job over"]
        assert total["ended by Slurm"] > len(found) / 10
        return
    # NCCL connects GPUs only; test_record.py has the rule for this ending.
    assert set(ending_names()) - {"wrong_transport"} <= set(total), total


def run_campaign(carrier: str, seed: int, below: Path) -> Counter[str]:
    """Run, kill, damage and resume one campaign; return the number of endings and of sessions.

    :raises AssertionError: its final state is not consistent.
    """
    rng = random.Random(f"session {seed}")
    campaign = random_campaigns.random_campaign(seed, below / f"{carrier}{seed}", carrier)
    cuts: Counter[str] = Counter()
    ended: Counter[str] = Counter()

    def session(killed_after: int | None = None) -> str:
        how = driver.session(campaign, ended.total() + 1, killed_after)
        ended[how] += 1
        return how

    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        session(rng.randint(1, rng.choice((10, 60, 300, 1000))))
        cuts.update(random_campaigns.damage(campaign, rng))
    stray = random_campaigns.start_stray(campaign, rng)
    if rng.random() < 0.7:
        random_campaigns.remove_faults(campaign)
    # A job that is over is followed by another; its faults are used up.
    while (how := session()) == "job over":
        assert ended["job over"] < 50
    assert how == "complete"
    stray.wait(timeout=30)
    finished = FinishedCampaign(campaign)
    finished.check_endings()
    finished.check_attempts(ended["killed"], cuts)
    finished.check_retries()
    finished.check_skipped(cuts)
    assert random_campaigns.running_commands(campaign) == []
    end = time.monotonic() + 30
    while left := slurm_stand_ins.left(campaign.slurm):
        assert time.monotonic() < end, left
        time.sleep(0.1)
    driver.results(campaign)
    if {record["ending"] for record in finished.records.values()} == {"ok"}:
        before = finished.files()
        assert session() == "complete"
        assert finished.files() == before, "a complete campaign started something"
    endings = Counter(record["ending"] for record in finished.every())
    endings["ended by Slurm"] = sum(map(_slurm_ended, finished.every()))
    return endings + ended + Counter(sessions=ended.total())


class FinishedCampaign:
    """The files that a campaign left, with checks of their consistency."""

    def __init__(self, campaign: driver.Campaign) -> None:
        self.campaign = campaign
        self.folder = campaign.results
        self.plan = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        self.records: dict[str, Any] = {}
        for path in sorted(self.folder.glob("logs/**/*.run.json")):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                # Cut in half; ``check_endings`` reports it if it was planned.
                continue
            assert path == (self.folder / record["log"]).with_suffix(".run.json")
            self.records[record["log"]] = record
        self.attempts = campaign_files.attempts(self.folder)

    def every(self) -> list[dict[str, Any]]:
        """Return the records of all attempts, final and earlier ones."""
        return [
            *self.records.values(),
            *(record for records in self.attempts.values() for record in records),
        ]

    def files(self) -> dict[str, int]:
        """Return the modification times of all files of the campaign except its results."""
        return {
            str(path): path.stat().st_mtime_ns
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.name.startswith("results.")
        }

    def check_endings(self) -> None:
        """Every planned repeat has one ending; for ``ok`` the log gives the recorded throughput."""
        sized = [cell for cell in self.plan["cells"] if cell["batch_size_per_device"] != "max"]
        for repeat in plan.repeats(sized):
            assert repeat["log"] in self.records, f"{repeat['log']} has no ending"
        for group in search.groups(self.plan["cells"]):
            self._check_search(group)
        for log, record in self.records.items():
            assert record["ending"] in ending_names()
            assert record["reason"] or record["ending"] == "ok"
            if record["ending"] == "ok":
                method = {key: record["cell"][key] for key in ("warmup", "iterations")}
                expected = plan.expected_identity(record["cell"])
                facts = read_facts(
                    self.folder / log,
                    self.folder,
                    "mean_after_warmup",
                    method,
                    lambda _own, e=expected: e,
                )
                assert facts["throughput"] == record["facts"]["throughput"]

    def _check_search(self, group: list[dict[str, Any]]) -> None:
        """A search ended with a batch size whose repeats all have an ending, or with a reason."""
        probes = [record for record in self.records.values() if record.get("kind") == "search"]
        if any(record["ending"] not in ("ok", "out_of_memory") for record in probes):
            return
        fitting = [p["cell"]["batch_size_per_device"] for p in probes if p["ending"] == "ok"]
        if not fitting:
            assert min(p["cell"]["batch_size_per_device"] for p in probes) == 1
            return
        for repeat in plan.repeats([search.concrete(cell, max(fitting)) for cell in group]):
            assert repeat["log"] in self.records, f"{repeat['log']} has no ending"

    def check_attempts(self, killed: int, cuts: Counter[str]) -> None:
        """Every start has a record, except starts at the moment of a kill and cut records."""
        starts = Counter(
            line.split("/runs/random/")[1]
            for node in self.campaign.nodes
            for line in (self.campaign.work_dir(node) / "starts").read_text("utf-8").splitlines()
            if line.startswith("0 ")
        )
        kept = Counter(_run(record["log"]) for record in self.every() if _was_started(record))
        # These may have ended before they wrote a line.
        unsure = Counter(
            _run(record["log"])
            for record in self.every()
            if _slurm_ended(record) or record["ending"] in ("stalled", "timeout")
        )
        for run in {*starts, *kept}:
            lost = starts[run] - kept[run]
            assert -unsure[run] <= lost <= killed + cuts[run], (
                f"{run}: {starts[run]} starts, {kept[run]} kept, {unsure[run]} unsure",
                [record for record in self.every() if _run(record["log"]) == run],
            )
        for log, records in self.attempts.items():
            names = {path.name for path in (self.folder / log).parent.glob("*.out")}
            for number, record in enumerate(records, 1):
                if record["facts"]:
                    name = Path(log).with_suffix(f".attempt{number}.out").name
                    assert name in names, f"the output of {log}, attempt {number}, is lost"

    def check_retries(self) -> None:
        """No repeat ran more often in a session than the retry policy allows."""
        runs = Counter(
            (record["log"], record["session"])
            for record in self.every()
            if record["ending"] not in ("interrupted", "skipped", "unavailable")
        )
        most = max(self.campaign.retry["attempts"], self.campaign.requeue + 1)
        assert max(runs.values(), default=0) <= most

    def check_skipped(self, cuts: Counter[str]) -> None:
        """A repeat is skipped exactly if a smaller batch of its cell ran out of memory."""
        every = [record for record in self.every() if record.get("kind") != "search"]
        for earlier, later in combinations(sorted(every, key=lambda r: r["recorded"]), 2):
            if earlier["ending"] != "out_of_memory" or earlier["session"] != later["session"]:
                continue
            if later.get("why") or earlier["log"] in later.get("packed_with", ()):
                continue
            reason = search.skipped(later["cell"], [earlier["cell"]])
            assert not reason or later["ending"] == "skipped", f"{later['log']}: {reason}"
        for record in every:
            if record["ending"] == "skipped":
                ooms = [
                    other["cell"]
                    for other in self.every()
                    if other["ending"] == "out_of_memory" and other["session"] == record["session"]
                ]
                assert record["reason"].startswith("out of memory at ")
                assert cuts or search.skipped(record["cell"], ooms)


def _run(log: str) -> str:
    """Return the name of the run of a log, as the workload records it."""
    return log[len("logs/") : -len(".log")]


def _was_started(record: dict[str, Any]) -> bool:
    """Return whether the repeat was started on the leading node."""
    if not record["nodes"]:
        return False
    leading = record["nodes"][record["cell"]["node_names"][0]]
    return not leading["reason"].startswith("unreachable")


def _slurm_ended(record: dict[str, Any]) -> bool:
    """Return whether Slurm ended the repeat on one of its nodes."""
    return any("Slurm job" in node["reason"] for node in record["nodes"].values())
