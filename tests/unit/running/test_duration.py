"""-e duration=: rounds of repeats until they have run for so long."""

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.running.elapsed import (
    seconds_under_load,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from campaign_data import benchmarks, cluster

START = datetime(2026, 11, 1, tzinfo=UTC)


class Campaign:
    """A campaign whose repeats take 30 s each, one after another, with 5 s between them."""

    def __init__(self, **options):
        parsed = parse_options({"repeats": 2, "topology": "1n1g,2n1g", **options})
        self.cells = plan.build(benchmarks(), parsed, cluster(4))["cells"]
        self.policy = policy(parsed, {"retry": {}, "requeue": 0})
        self.records, self.now = {}, START

    def left(self):
        ledger = Ledger("c", self.records, {}, "s")
        return outstanding(self.cells, ledger, self.policy)["repeats"]

    def end(self, repeat, ending="ok"):
        self.now += timedelta(seconds=35)
        self.records[repeat["log"]] = {
            "cell": repeat["cell"], "repeat": repeat["repeat"], "kind": "measured",
            "ending": ending, "session": "s", "recorded": self.now.isoformat(),
            "seconds": 30.0, "facts": {"throughput": 10.0},
        }  # fmt: skip

    def run(self, fails=lambda repeat: False):
        rounds = 0
        while repeats := self.left():
            rounds += 1
            for repeat in repeats:
                self.end(repeat, "invalid" if fails(repeat) else "ok")
        return rounds


def test_cells_are_repeated_in_rounds_until_the_time_is_over():
    campaign = Campaign(duration="10min")
    looks = campaign.run()
    counts = [
        sum(record["cell"]["topology"] == topology for record in campaign.records.values())
        for topology in ("1n1g", "2n1g")
    ]
    # 20 repeats of 30 s are 600 s.
    assert counts == [10, 10]
    assert seconds_under_load(campaign.records.values()) == 600
    # Each look reads every record, and Ansible nests one round in the other.
    assert looks <= 3
    order = [record["cell"]["topology"] for record in campaign.records.values()]
    assert order == ["1n1g", "2n1g"] * 10


def test_an_interrupted_campaign_makes_up_only_what_is_missing():
    campaign = Campaign(duration="10min")
    for repeat in campaign.left():
        campaign.end(repeat)
    for repeat in campaign.left()[:5]:
        campaign.end(repeat)
    campaign.run()
    assert 600 <= seconds_under_load(campaign.records.values()) <= 660


def test_a_cell_that_fails_again_and_again_is_left_out():
    campaign = Campaign(duration="10min")
    campaign.run(fails=lambda repeat: repeat["cell"]["nodes"] == 2 and repeat["repeat"] > 2)
    by_nodes = [record["cell"]["nodes"] for record in campaign.records.values()]
    assert by_nodes.count(1) >= 10
    campaign = Campaign(duration="1h")
    campaign.run(fails=lambda repeat: True)
    assert len(campaign.records) == 4


def test_the_last_repeats_are_those_of_the_highest_numbers():
    campaign = Campaign(duration="1h", topology="1n1g", repeats=12)
    for repeat in campaign.left():
        campaign.end(repeat, "ok" if repeat["repeat"] < 10 else "invalid")
    # As files are listed: 1, 10, 11, 12, 2, 3.
    campaign.records = dict(sorted(campaign.records.items()))
    assert campaign.left() == []


def test_without_a_duration_the_number_of_repeats_is_fixed():
    campaign = Campaign()
    campaign.run()
    assert len(campaign.records) == 4


@pytest.mark.parametrize("value", ["8", "0h", "-1h", "8 hours", "31d", "h", "1e3h", ""])
def test_a_duration_needs_its_unit(value):
    with pytest.raises(ValueError, match=r"-e duration=.*90s, 30min, 8h or 2d"):
        parse_options({"duration": value})


def test_duration_and_half_width_exclude_each_other():
    with pytest.raises(ValueError, match="give one of them"):
        Campaign(duration="1h", half_width="0.02")


def test_repeats_at_the_same_time_count_once():
    def record(minute, seconds):
        return {"recorded": (START + timedelta(minutes=minute)).isoformat(), "seconds": seconds}

    assert seconds_under_load([record(1, 60), record(1, 30), record(2, 90)]) == 120
    assert seconds_under_load([record(1, 60), {"seconds": 5.0}, {"recorded": "then"}]) == 65
