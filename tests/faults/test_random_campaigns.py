"""200 campaigns of random plans with random faults end consistent; the workload is a stand-in.

Everything else is real: plugins, modules, processes, signals. A failing campaign names its seed;
``pytest tests/faults/test_random_campaigns.py -k 'seed17-'`` runs it alone.
"""

from __future__ import annotations

import json
import multiprocessing
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import campaign_driver as driver
import pytest
import random_campaigns as made
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.running import frontier, search
from ansible_collections.scalebench.core.plugins.module_utils.running.record import ENDINGS
from ansible_collections.scalebench.core.plugins.plugin_utils import record_files
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import read_facts

SEEDS = range(200)
# At once: most of the time is waiting for limits, not computing.
AT_ONCE = 12


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """Start all chosen campaigns; return by seed what will come of each."""
    folder = tmp_path_factory.mktemp("campaigns")
    seeds = [
        item.callspec.params["seed"]
        for item in request.session.items
        if item.originalname == "test_a_campaign_ends_consistent"
    ]
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(AT_ONCE, mp_context=fork) as pool:
        yield {seed: pool.submit(run_campaign, seed, folder / str(seed)) for seed in seeds}


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_a_campaign_ends_consistent(outcomes, seed):
    assert outcomes[seed].result()["sessions"] > 0


def test_the_faults_made_every_ending(outcomes):
    if len(outcomes) < len(SEEDS):
        pytest.skip("not all campaigns were chosen")
    total = sum((outcome.result() for outcome in outcomes.values()), Counter())
    assert set(ENDINGS) <= set(total), total
    assert total["killed"] > len(SEEDS) / 4


def run_campaign(seed: int, folder: Path) -> Counter[str]:
    """Run one campaign, killed, damaged and resumed; return how often what happened.

    :raises AssertionError: it did not end consistent.
    """
    rng = random.Random(f"session {seed}")
    campaign = made.random_campaign(seed, folder)
    cuts: Counter[str] = Counter()
    sessions = killed = 0
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        sessions += 1
        touches = rng.randint(1, rng.choice((10, 60, 300, 1000)))
        killed += not driver.session(campaign, sessions, touches)
        cuts.update(made.damage(campaign, rng))
    stray = made.leave_stray(campaign, rng)
    if rng.random() < 0.7:
        made.mend(campaign)
    sessions += 1
    assert driver.session(campaign, sessions)
    stray.wait(timeout=1)
    found = Found(campaign)
    found.check_endings()
    found.check_attempts(killed, cuts)
    found.check_retries()
    found.check_skipped(cuts)
    assert made.living(campaign) == []
    driver.results(campaign)
    if {record["ending"] for record in found.records.values()} == {"ok"}:
        before = found.files()
        assert driver.session(campaign, sessions + 1)
        assert found.files() == before, "a campaign that is complete started something"
    endings = Counter(record["ending"] for record in found.every())
    return endings + Counter(sessions=sessions, killed=killed)


class Found:
    """What a campaign left, read from its files."""

    def __init__(self, campaign: driver.Campaign) -> None:
        self.campaign = campaign
        self.folder = campaign.results
        self.plan = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        self.records: dict[str, Any] = {}
        for path in sorted(self.folder.glob("logs/**/*.run.json")):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                # Cut in half; ``check_endings`` misses it where it was planned.
                continue
            assert path == (self.folder / record["log"]).with_suffix(".run.json")
            self.records[record["log"]] = record
        self.attempts = record_files.attempts(self.folder)

    def every(self) -> list[dict[str, Any]]:
        """Return all records, of final and of earlier attempts."""
        return [*self.records.values(), *(one for many in self.attempts.values() for one in many)]

    def files(self) -> dict[str, int]:
        """Return all files of the campaign but for its results, with the time they changed."""
        return {
            str(path): path.stat().st_mtime_ns
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.name.startswith("results.")
        }

    def check_endings(self) -> None:
        """Every planned repeat has one ending; an ok one has its log, with the speed it says."""
        sized = [cell for cell in self.plan["cells"] if cell["batch_size_per_device"] != "max"]
        for repeat in plan.repeats(sized):
            assert repeat["log"] in self.records, f"{repeat['log']} has no ending"
        for group in search.groups(self.plan["cells"]):
            self._check_search(group)
        for log, record in self.records.items():
            assert record["ending"] in ENDINGS
            assert record["reason"] or record["ending"] == "ok"
            if record["ending"] == "ok":
                method = {key: record["cell"][key] for key in ("warmup", "iterations")}
                expected = plan.expected_identity(record["cell"])
                facts = read_facts(
                    self.folder / log, "mean_after_warmup", method, lambda _own, e=expected: e
                )
                assert facts["throughput"] == record["facts"]["throughput"]

    def _check_search(self, group: list[dict[str, Any]]) -> None:
        """A search ended with a batch size whose repeats all have an ending, or says why not."""
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
        """Every start has its record, but for those in the moment of a kill and cut ones."""
        starts = Counter(
            line.split("/runs/random/")[1]
            for node in self.campaign.nodes
            for line in (self.campaign.work_dir(node) / "starts").read_text("utf-8").splitlines()
            if line.startswith("0 ")
        )
        kept = Counter(_run(record["log"]) for record in self.every() if _was_started(record))
        for run in {*starts, *kept}:
            lost = starts[run] - kept[run]
            assert 0 <= lost <= killed + cuts[run], f"{run}: {starts[run]} starts, {kept[run]} kept"
        for log, many in self.attempts.items():
            numbers = {path.name for path in (self.folder / log).parent.glob("*.out")}
            for number, record in enumerate(many, 1):
                if record["facts"]:
                    name = Path(log).with_suffix(f".attempt{number}.out").name
                    assert name in numbers, f"the output of {log}, attempt {number}, is lost"

    def check_retries(self) -> None:
        """No repeat ran more often in one session than the policy allows."""
        runs = Counter(
            (record["log"], record["session"])
            for record in self.every()
            if record["ending"] not in ("interrupted", "skipped", "unavailable")
        )
        most = max(self.campaign.retry["attempts"], self.campaign.requeue + 1)
        assert max(runs.values(), default=0) <= most

    def check_skipped(self, cuts: Counter[str]) -> None:
        """What is skipped has its reason, and what has the reason is skipped."""
        every = [record for record in self.every() if record.get("kind") != "search"]
        for one, other in combinations(sorted(every, key=lambda r: r["recorded"]), 2):
            if one["ending"] != "out_of_memory" or one["session"] != other["session"]:
                continue
            if other.get("why") or one["log"] in other.get("packed_with", ()):
                continue
            reason = frontier.skipped(other["cell"], [one["cell"]])
            assert not reason or other["ending"] == "skipped", f"{other['log']}: {reason}"
        for record in every:
            if record["ending"] == "skipped":
                ooms = [
                    one["cell"]
                    for one in self.every()
                    if one["ending"] == "out_of_memory" and one["session"] == record["session"]
                ]
                assert record["reason"].startswith("out of memory at ")
                assert cuts or frontier.skipped(record["cell"], ooms)


def _run(log: str) -> str:
    """Return what the workload calls the run of a log."""
    return log[len("logs/") : -len(".log")]


def _was_started(record: dict[str, Any]) -> bool:
    """Return whether the leading node began to run."""
    if not record["nodes"]:
        return False
    leading = record["nodes"][record["cell"]["node_names"][0]]
    return not leading["reason"].startswith("unreachable")
