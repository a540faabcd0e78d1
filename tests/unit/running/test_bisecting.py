"""A campaign that bisects versions: what runs next, what is refused, what the report says."""

import copy
import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.bisect import (
    bisect_line,
    bisected,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import plan_text
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from campaign_data import benchmarks, cluster

NAMES = ("v1", "v2", "v3", "v4", "v5")


def planned(names=NAMES, **options):
    known = benchmarks()
    content = {**copy.deepcopy(known["pytorch"]), "variants": dict.fromkeys(names)}
    known["pytorch"] = check_benchmark(content, "a.yml")
    given = parse_options({"topology": "1n1g", "bisect": "true", **options})
    return plan.build(known, given, cluster(2), None, "seed")


class Campaign:
    """A campaign in which versions from ``first_slow`` on are 3 % slower."""

    def __init__(self, first_slow="v4", failing=(), **options):
        self.made = planned(**options)
        self.first_slow, self.failing = first_slow, failing
        self.records, self.order = {}, []
        self.chance = random.Random(1)

    def step(self, count=None):
        """Run what is outstanding, or the first of it; return how many repeats ran."""
        rules = policy(self.made["options"], {"retry": {}, "requeue": 0})
        ledger = Ledger("c", self.records, {}, "session")
        left = outstanding(self.made["cells"], ledger, rules, self.made["seed"])["repeats"]
        for repeat in left[:count]:
            self.run(repeat)
        return len(left[:count])

    def run(self, repeat):
        treatment = repeat["cell"]["treatment"]
        ratio = 0.97 if self.first_slow and treatment >= self.first_slow else 1.0
        fails = (treatment, repeat["repeat"]) in self.failing
        ratio *= 0.5 if fails else 1
        speed = round(100 * ratio * (1 + self.chance.gauss(0, 0.002)), 2)
        self.order.append((repeat["repeat"], treatment))
        self.records[repeat["log"]] = {
            "cell": repeat["cell"],
            "repeat": repeat["repeat"],
            "log": repeat["log"],
            "ending": "invalid" if fails else "ok",
            "reason": "x" if fails else "",
            "facts": {"throughput": speed, "unit": "images/s"},
            "session": "session",
            "seconds": 1.0,
            "kind": "measured",
        }

    def end(self):
        while self.step():
            assert len(self.order) < 1000
        return self

    @property
    def results(self):
        made = build_results({**self.made, "campaign": "c"}, [*self.records.values()])
        return {**made, "bisection": bisected(made)}


@pytest.mark.parametrize("first_slow", NAMES[1:])
def test_only_the_versions_that_decide_are_measured_in_turns_with_the_first(first_slow):
    campaign = Campaign(first_slow).end()
    found = campaign.results["bisection"]
    assert (found["first_slow"], found["finished"]) == (first_slow, True)
    assert found["versions"] == [*NAMES]
    rounds = [step["rounds"] for step in found["steps"]]
    assert len(campaign.order) == 2 * sum(rounds)
    for number in range(1, sum(rounds) + 1):
        both = [treatment for at, treatment in campaign.order if at == number]
        assert len({*both}) == 2
        assert "v1" in both
    assert len({one for _, one in campaign.order}) == 1 + len(found["steps"])
    firsts = [treatment == "v1" for _, treatment in campaign.order[::2]]
    assert 0 < sum(firsts) < len(firsts)


class ByTime(Campaign):
    """The rule's mean of rates does not show what slow steps cost; the time of the steps does."""

    def run(self, repeat):
        super().run(repeat)
        facts = self.records[repeat["log"]]["facts"]
        strategy = {"name": "mean_after_warmup", "parameters": {}}
        facts.update(harmonic_throughput=facts["throughput"], throughput=100.0, strategy=strategy)


def test_the_time_of_the_steps_decides():
    campaign = ByTime("v4").end()
    assert campaign.results["bisection"]["first_slow"] == "v4"


def test_an_interrupted_bisection_goes_on_where_it_was():
    whole, parts = Campaign().end(), Campaign()
    while parts.step(3):
        if len(parts.records) == 3:
            assert not parts.results["bisection"]["finished"]
            assert "not finished" in terminal_table(parts.results)
    assert parts.order == whole.order
    assert parts.results["bisection"] == whole.results["bisection"]


def test_rounds_in_which_a_repeat_failed_are_left_out():
    campaign = Campaign(failing={("v5", 2), ("v1", 3)}).end()
    found = campaign.results["bisection"]
    assert found["first_slow"] == "v4"
    assert len(campaign.order) == 2 * sum(step["rounds"] for step in found["steps"])


def test_nothing_is_named_where_nothing_is_slow():
    campaign = Campaign(first_slow=None, repeats=8).end()
    found = campaign.results["bisection"]
    assert (found["first_slow"], found["candidates"]) == (None, [*NAMES[1:]])
    assert len(campaign.order) == 16
    assert "it is not shown that v5 is slower than v1" in terminal_table(campaign.results)


def test_what_was_shown_is_not_denied_where_the_step_after_it_is_undecided():
    found = {
        "versions": ["v1", "v2", "v3", "v4"],
        "first_slow": None,
        "candidates": ["v2", "v3", "v4"],
        "finished": True,
        "steps": [
            {"version": "v4", "verdict": "slow", "rounds": 4},
            {"version": "v2", "verdict": "undecided", "rounds": 8},
        ],
    }
    line = "bisecting: undecided; the first slow version is among v2, v3, v4 (2 step(s), 12 rounds)"
    assert bisect_line({"bisection": found}) == line


def test_the_report_tells_steps_and_error():
    campaign = Campaign().end()
    text = terminal_table(campaign.results)
    assert "bisecting: v4 is the first slow version, -" in " ".join(text.split())
    assert "wrong in at most 5% of" in " ".join(text.split())
    (section,) = [one for one in page(campaign.results)["before"] if one["ident"] == "bisection"]
    assert len(section["tables"][0]["rows"]) == len(campaign.results["bisection"]["steps"])


def test_the_plan_says_that_repeats_are_not_fixed():
    planned_cells = {"campaign": "c", "cells": planned()["cells"], "repeats": 8, "waves": []}
    none = {"missing": 0, "measured": 0, "seconds": 0, "packing": "none", "not_run": []}
    text = plan_text({**planned_cells, **none})
    assert "pytorch/bz2-v1/1n1g/r50_b2_fp32: as many as bisecting takes of" in text


def test_without_bisect_there_is_no_bisection():
    made = build_results({"campaign": "c", "cells": planned()["cells"]}, [])
    assert bisected(made) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topology": "1n1g,2n1g"}, "there are 5 variant.s. of 2 cell.s.:"),
        ({"treatment": "v1"}, "there are 1 variant.s. of 1 cell.s.:"),
        ({"duration": "1h"}, "-e duration=1h and -e bisect=true"),
        ({"repeats": "3"}, "-e repeats=3: with -e bisect=true it is the number of rounds"),
        ({"half_width": "0.02"}, "-e half_width=0.02"),
    ],
)
def test_what_cannot_be_bisected_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        planned(**options)


def test_a_campaign_without_variants_cannot_be_bisected():
    options = parse_options({"topology": "1n1g", "bisect": True})
    with pytest.raises(ValueError, match=r"there are 0 variant.s. of 1 cell.s.:"):
        plan.build(benchmarks(), options, cluster(1))
