"""What is still to run, after every kind of ending."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from campaign_data import benchmarks, cluster

NOW = "now"


class Campaign:
    """A campaign whose repeats end as the test says."""

    def __init__(self, requeue=0, retry=None, **options):
        parsed = parse_options(options)
        self.cells = plan.build(benchmarks(), parsed, cluster(4))["cells"]
        self.policy = policy(parsed, {"retry": retry or {}, "requeue": requeue})
        self.records, self.attempts, self.session = {}, {}, ""
        self.clock = 0

    def left(self):
        ledger = Ledger("c", self.records, self.attempts, self.session)
        return outstanding(self.cells, ledger, self.policy)

    def end(self, repeat, ending="ok", session=NOW, throughput=10.0, **more):
        self.clock += 1
        log = repeat["log"]
        if log in self.records:
            self.attempts.setdefault(log, []).append(self.records[log])
        self.records[log] = {
            "cell": repeat["cell"],
            "ending": ending,
            "session": session,
            "recorded": f"{self.clock:04}",
            "kind": repeat.get("kind", "measured"),
            "facts": {"throughput": throughput} if ending == "ok" else None,
            **more,
        }

    def run(self, endings=lambda repeat: "ok"):
        """End all that is to run until nothing is; return the logs in order."""
        ran = []
        while True:
            left = self.left()
            self.session = NOW
            for repeat in left["given_up"]:
                self.end(repeat, repeat["ending"])
            if not left["repeats"]:
                return ran
            for repeat in left["repeats"]:
                ran.append(repeat["log"].rpartition("/")[2])
                self.end(repeat, endings(repeat))


def test_only_repeats_without_an_ok_record_are_missing():
    campaign = Campaign(topology="1n1g", repeats=3)
    first, second, third = campaign.left()["repeats"]
    campaign.end(first)
    campaign.end(second, "crashed", session="yesterday")
    assert [repeat["log"] for repeat in campaign.left()["repeats"]] == [second["log"], third["log"]]


@pytest.mark.parametrize("ending", ["crashed", "stalled", "timeout", "launch_failed"])
def test_endings_by_chance_are_retried_once(ending):
    campaign = Campaign(topology="1n1g", repeats=1)
    assert campaign.run(lambda repeat: ending) == ["r50_b2_fp32_1.log"] * 2
    assert campaign.run(lambda repeat: ending) == []


@pytest.mark.parametrize("ending", ["out_of_memory", "nan_loss", "invalid", "interrupted"])
def test_endings_caused_by_the_cell_are_not_retried(ending):
    campaign = Campaign(topology="1n1g", repeats=1)
    assert campaign.run(lambda repeat: ending) == ["r50_b2_fp32_1.log"]


def test_a_retry_that_goes_well_settles_the_repeat():
    campaign = Campaign(topology="1n1g", repeats=1)
    endings = iter(["crashed", "ok"])
    assert len(campaign.run(lambda repeat: next(endings))) == 2
    assert [record["ending"] for record in campaign.records.values()] == ["ok"]


def test_attempts_at_a_repeat_are_counted():
    campaign = Campaign(topology="1n1g", repeats=1)
    (repeat,) = campaign.left()["repeats"]
    for number in (1, 2, 3):
        ledger = Ledger("c", campaign.records, campaign.attempts)
        assert ledger.attempt(repeat["log"]) == number
        campaign.end(repeat, "crashed")


def test_retrying_stops_when_all_fails():
    campaign = Campaign(topology="1n1g", repeats=6, retry={"give_up_after": 3})
    assert len(campaign.run(lambda repeat: "crashed")) == 6
    assert "6 attempts in a row failed" in campaign.left()["remarks"][0]


def test_retrying_stops_in_a_cell_that_always_fails_while_another_goes_well():
    retry = {"give_up_after": 3, "attempts": 3}
    campaign = Campaign(topology="1n1g,2n1g", repeats=4, retry=retry)
    ran = campaign.run(lambda repeat: "crashed" if repeat["cell"]["nodes"] == 1 else "ok")
    assert len(ran) == 8


def test_a_cell_of_which_nothing_ever_ran_gets_no_more_repeats():
    campaign = Campaign(topology="1n1g", repeats=2, half_width=0.05, max_repeats=6)
    campaign.cells[0]["unavailable"] = "node1: there is no such file"
    assert campaign.run() == []
    assert len(campaign.records) == 2
    assert campaign.left() == {"repeats": [], "given_up": [], "remarks": []}


def test_larger_batches_of_the_same_cell_are_skipped():
    campaign = Campaign(topology="1n1g,2n1g", batch_size_per_device="8,4", repeats=1)
    first = campaign.left()["repeats"]
    campaign.session = NOW
    small = next(repeat for repeat in first if repeat["log"].endswith("1n1g/r50_b4_fp32_1.log"))
    campaign.end(small, "out_of_memory")
    left = campaign.left()
    assert [(one["log"], one["ending"], one["reason"]) for one in left["given_up"]] == [
        ("logs/pytorch/bz8/1n1g/r50_b8_fp32_1.log", "skipped", "out of memory at 4")
    ]
    assert len(left["repeats"]) == 2


def test_a_cell_that_cannot_run_here_is_unavailable():
    campaign = Campaign(topology="1n1g", repeats=2)
    campaign.cells[0]["unavailable"] = "node1: there is no such file"
    left = campaign.left()
    assert left["repeats"] == []
    assert {one["ending"] for one in left["given_up"]} == {"unavailable"}


def test_a_node_that_is_lost_costs_what_needs_it_until_it_is_back():
    campaign = Campaign(topology="1n1g,2n1g", repeats=2)
    large = next(cell for cell in campaign.cells if cell["nodes"] == 2)
    first, second, *_ = campaign.left()["repeats"]
    campaign.session = NOW
    campaign.end(first)
    campaign.end(second, "launch_failed")
    large["unavailable"] = "node2: lost"
    assert len(campaign.run()) == 1
    endings = sorted(record["ending"] for record in campaign.records.values())
    assert endings == ["launch_failed", "ok", "ok", "unavailable"]
    assert campaign.left()["repeats"] == []
    del large["unavailable"]
    again = [(repeat["repeat"], repeat["why"]) for repeat in campaign.left()["repeats"]]
    assert again == [(1, "launch_failed: attempt 2 of 2 follows"), (2, "")]


def test_a_disturbed_measurement_is_queued_again_as_often_as_asked():
    for times, expected in ((0, 1), (2, 3)):
        campaign = Campaign(topology="1n1g", repeats=1, requeue=times)
        ran = 0
        while campaign.left()["repeats"]:
            repeat = campaign.left()["repeats"][0]
            campaign.session = NOW
            campaign.end(repeat, disturbances=[{"kind": "other_process"}])
            ran += 1
        assert ran == expected


def test_adaptive_repeats_go_on_until_the_interval_is_narrow():
    campaign = Campaign(topology="1n1g", repeats=3, half_width=0.05, max_repeats=12)
    speeds = iter([10.0, 10.1, 9.9, 10.0, 10.05, 9.95, 10.0])
    for _ in range(12):
        left = campaign.left()
        campaign.session = NOW
        if not left["repeats"]:
            break
        for repeat in left["repeats"]:
            campaign.end(repeat, throughput=next(speeds))
    assert len(campaign.records) == 6
    assert "6 repeats: ±1.00%, asked for ±5.00%" in campaign.left()["remarks"][0]


def test_the_figure_of_a_repeat_that_failed_does_not_count():
    campaign = Campaign(topology="1n1g", repeats=3, half_width=0.05, max_repeats=12)
    *good, last = plan.repeats([{**campaign.cells[0], "repeats": 7}])
    for repeat in good:
        campaign.end(repeat)
    campaign.session = NOW
    campaign.end(last, "invalid", facts={"throughput": 50.0})
    left = campaign.left()
    assert left["repeats"] == []
    assert "6 repeats: ±0.00%, asked for ±5.00%" in left["remarks"][0]


def test_adaptive_repeats_end_at_the_maximum_whatever_failed():
    campaign = Campaign(topology="1n1g", repeats=3, half_width=0.01, max_repeats=7)
    campaign.run(lambda repeat: "invalid" if repeat["repeat"] == 5 else "ok")
    assert len(campaign.records) == 7


def test_a_maximum_without_a_half_width_is_refused():
    with pytest.raises(ValueError, match="ask for them with -e half_width="):
        Campaign(max_repeats=9)
    with pytest.raises(ValueError, match="at most 4 repeats: 6 are needed"):
        Campaign(half_width=0.1, max_repeats=4).left()


@pytest.mark.parametrize("threshold", [1, 5, 23, 64, 200])
def test_the_largest_batch_is_searched_on_the_widest_topology_and_then_measured(threshold):
    campaign = Campaign(topology="1n1g,4n1g", batch_size_per_device="max", repeats=2)

    def ending(repeat):
        size = repeat["cell"]["batch_size_per_device"]
        return "out_of_memory" if size > threshold else "ok"

    ran = campaign.run(ending)
    searched = [name for name in ran if name.endswith("_search.log")]
    assert len(searched) < 18
    cells = [record["cell"] for log, record in campaign.records.items() if "_search" not in log]
    measured = {(cell["topology"], cell["batch_size_per_device"]) for cell in cells}
    assert measured == {("1n1g", threshold), ("4n1g", threshold)}
    assert ran[len(searched) :] == [f"r50_b{threshold}_fp32_{i}.log" for i in (1, 1, 2, 2)]


def test_a_search_that_never_runs_out_of_memory_ends_at_the_largest_batch():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max", repeats=1)
    *_, last = campaign.run()
    assert last == "r50_b65536_fp32_1.log"


def test_a_batch_that_ran_out_of_memory_after_all_sends_the_search_below_it():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max", repeats=1)

    def end(repeat):
        size, kind = repeat["cell"]["batch_size_per_device"], repeat["kind"]
        fits = size <= (28 if kind == "search" else 26)
        # What module repeat_record makes of it.
        more = {} if fits or kind == "search" else {"kind": "search"}
        campaign.end(repeat, "ok" if fits else "out_of_memory", **more)
        return size, kind

    ran = []
    campaign.session = NOW
    while repeats := campaign.left()["repeats"]:
        ran += [end(repeat) for repeat in repeats]
    assert [size for size, kind in ran if kind == "measured"] == [28, 27, 26]
    assert ran.count((4, "search")) == 1
    measured = [one for one in campaign.records.values() if one["kind"] == "measured"]
    assert [one["cell"]["batch_size_per_device"] for one in measured] == [26]


def test_a_search_that_cannot_run_stops_no_other_one():
    campaign = Campaign(topology="1n1g", precision="fp32,amp", batch_size_per_device="max")
    campaign.run(lambda one: "ok" if one["cell"]["batch_size_per_device"] < 7 else "out_of_memory")
    for cell in campaign.cells:
        cell.update({"unavailable": "it is gone"} if cell["precision"] == "fp32" else {})
    searched = {log: one for log, one in campaign.records.items() if one["kind"] == "search"}
    campaign.records = {log: one for log, one in searched.items() if "amp" in log}
    left = campaign.left()
    assert {one["cell"]["precision"] for one in left["given_up"]} == {"fp32"}
    assert {one["cell"]["precision"] for one in left["repeats"]} == {"amp"}


def test_a_search_is_not_made_again_by_a_later_session():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max", repeats=1)
    campaign.run(lambda one: "ok" if one["cell"]["batch_size_per_device"] < 7 else "out_of_memory")
    campaign.session = "tomorrow"
    assert campaign.left()["repeats"] == []


@pytest.mark.parametrize(("ending", "again"), [("out_of_memory", False), ("crashed", True)])
def test_a_later_session_tries_again_what_a_search_did_not_settle(ending, again):
    campaign = Campaign(topology="1n1g", batch_size_per_device="max")
    (probe,) = campaign.left()["repeats"]
    campaign.end(probe, ending, session="yesterday")
    logs = [repeat["log"] for repeat in campaign.left()["repeats"]]
    assert (logs == [probe["log"]]) is again


def test_a_search_that_fails_otherwise_is_reported_and_measures_nothing():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max")
    assert campaign.run(lambda repeat: "invalid") == ["r50_b2_fp32_search.log"]
    assert "the search for the largest batch ended: invalid at 2" in campaign.left()["remarks"][0]


def test_a_sample_of_packed_repeats_runs_again_alone():
    campaign = Campaign(topology="1n1g", repeats=4, packing="nodes")
    for repeat in campaign.left()["repeats"]:
        campaign.end(repeat, packed_with=["another.log"])
    campaign.session = NOW
    (alone,) = campaign.left()["repeats"]
    assert (alone["kind"], alone["name"][-6:]) == ("alone", "_alone")
    assert alone["log"].endswith("_alone.log")
    campaign.end(alone)
    assert campaign.left()["repeats"] == []


def test_an_adaptive_repeat_whose_record_was_lost_runs_again():
    campaign = Campaign(topology="1n1g", repeats=2, half_width=0.01, max_repeats=6)
    for index, repeat in enumerate(plan.repeats([{**campaign.cells[0], "repeats": 4}])):
        if index != 2:
            campaign.end(repeat)
    (left,) = campaign.left()["repeats"]
    assert left["repeat"] == 3


def test_a_probes_log_is_read_by_its_own_counts():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max")
    (probe,) = campaign.left()["repeats"]
    cell = probe["cell"]
    assert cell["reading"]["parameters"] == {
        "warmup": cell["warmup"],
        "iterations": cell["iterations"],
    }
    assert cell["iterations"] < campaign.cells[0]["iterations"]


def test_counts_fixed_by_the_benchmarks_rule_hold_for_a_probe_too():
    campaign = Campaign(topology="1n1g", batch_size_per_device="max")
    campaign.cells[0]["reading"]["parameters"]["warmup"] = 0
    (probe,) = campaign.left()["repeats"]
    assert probe["cell"]["reading"]["parameters"]["warmup"] == 0
