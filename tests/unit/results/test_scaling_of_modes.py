"""Speed-ups of weak and strong scaling: each against its own base, never mixed."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.promises import unlike
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.undecidable import (
    undecidable,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_frameworks import (
    across_frameworks,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    check_gate,
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import conditions
from ansible_collections.scalebench.core.plugins.module_utils.layout.groups import (
    cell_groups,
    group_title,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import judge
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import base_topology
from report_data import campaign

WEAK = {"1n1g": [10.0, 10.1, 9.9], "2n1g": [19.0, 19.1, 18.9]}
STRONG = {"2n1g": [40.0, 40.2, 39.8], "3n1g": [], "4n1g": [60.0, 60.2, 59.8]}


def strong(speeds, size=32, **changes):
    """Return plan and records of one global batch size."""
    changes = {"variant": f"gb{size}-strong", "scaling": "strong", **changes}
    plan, runs = campaign(speeds, global_batch_size=size, **changes)
    for cell in plan["cells"]:
        cell["batch_size_per_device"] = -(-size // cell["nodes"])
    return plan, runs


def together(*campaigns):
    plans, runs = zip(*campaigns)
    cells = [cell for plan in plans for cell in plan["cells"]]
    return build_results({**plans[0], "cells": cells}, [one for some in runs for one in some])


def of(results, scaling):
    chosen = [cell for cell in results["cells"] if (cell["scaling"] or "weak") == scaling]
    return {cell["topology"]: cell for cell in chosen}


BOTH = together(campaign(WEAK), strong(STRONG))


def test_strong_scaling_is_relative_to_the_smallest_topology_of_the_same_global_batch():
    cells = of(BOTH, "strong")
    assert (cells["2n1g"]["speedup"], cells["2n1g"]["efficiency"]) == (1.0, 1.0)
    assert (cells["4n1g"]["speedup"], cells["4n1g"]["efficiency"]) == (1.5, 0.75)
    assert cells["4n1g"]["speedup_interval"]["low"] == pytest.approx(1.5, abs=0.03)


def test_weak_scaling_is_relative_to_one_device_whatever_else_ran():
    assert of(BOTH, "weak")["2n1g"]["speedup"] == 1.9
    alone = together(campaign({"2n1g": [20.0]}), strong({"1n1g": [10.0]}))
    assert of(alone, "weak")["2n1g"]["speedup"] is None
    assert "no speed of 1n1g" in of(alone, "weak")["2n1g"]["speedup_reason"]


def test_two_global_batches_are_never_one_speedup():
    made = together(strong({"1n1g": [10.0]}, 16), strong({"2n1g": [30.0]}, 32))
    assert [cell["speedup"] for cell in made["cells"]] == [1.0, 1.0]


def test_the_base_divides_and_stays_the_base_when_it_failed():
    (plan, _) = strong({"3n1g": [], "2n1g": [], "4n1g": []}, size=32)
    assert base_topology(plan["cells"]) == "2n1g"
    made = together(strong({"2n1g": [None], "4n1g": [60.0]}))
    assert "no speed of 2n1g" in of(made, "strong")["4n1g"]["speedup_reason"]


def test_facts_have_the_batch_of_each_topology():
    facts = BOTH["facts"]["pytorch"]["fp32"]
    assert [one["batch_size_per_device"] for one in facts["gb32-strong"]["r50"].values()] == [
        *(16, 11, 8)
    ]
    assert {one["batch_size_per_device"] for one in facts["bz4"]["r50"].values()} == {4}


def test_superlinear_strong_scaling_is_possible():
    speeds = {"1n1g": [10.0, 10.0], "2n1g": [25.0, 25.0]}
    made = together(campaign(speeds), strong(speeds))
    assert of(made, "weak")["2n1g"]["state"] == "invalid"
    assert (of(made, "strong")["2n1g"]["state"], of(made, "strong")["2n1g"]["speedup"]) == (
        *("measured", 2.5),
    )
    checks = together(strong(speeds))["provenance"]["checks"]
    assert not checks["invalid_cell"]
    assert not checks["warning"]


def test_topologies_stand_in_their_order():
    backwards = {**BOTH, "cells": BOTH["cells"][::-1]}
    for cells in cell_groups(backwards):
        nodes = [cell["nodes"] for cell in cells]
        assert nodes == sorted(nodes) and len(set(nodes)) > 1


def test_titles_say_which():
    titles = [group_title(cells) for cells in cell_groups(BOTH)]
    assert titles == [
        "pytorch fp32 bz4: r50, batch size 4 per device",
        "pytorch fp32 gb32-strong: r50, global batch size 32, strong scaling",
    ]


@pytest.mark.parametrize(
    ("where", "verdict", "detail"),
    [
        ({}, "passed", "2 cell(s)"),
        ({"scaling": "strong"}, "broken", "4n1g: efficiency 0.75 ["),
        ({"scaling": "*"}, "broken", "gb32-strong 4n1g: efficiency 0.75 ["),
    ],
)
def test_a_gate_on_scaling_is_about_weak_cells_unless_it_names_the_mode(where, verdict, detail):
    cells = [cell for cell in BOTH["cells"] if cell["topology"] != "3n1g"]
    rules = check_gate({"rules": [{"min_efficiency": 0.9, "where": where}]}, with_baseline=False)
    (rule,) = judge_gate({**BOTH, "cells": cells}, rules, "x")["rules"]
    assert (rule["verdict"], detail in rule["detail"]) == (verdict, True), rule["detail"]


def test_an_acceptance_of_strong_scaling_needs_its_base():
    line = {"metric": "min_speedup", "value": 1.4, "where": {"scaling": "strong"}}
    promises = {"campaign": {}, "lines": [line]}
    (plan, _) = strong(STRONG)
    cells = [{**cell, "repeats": 3} for cell in plan["cells"]]
    assert undecidable(promises, cells, {}, 0, True) == []
    (said,) = undecidable(promises, cells[:1], {}, 0, True)
    assert "2n1g is compared with itself" in said


def test_every_promised_mode_and_global_batch_has_a_cell():
    stated = {"scaling": "weak,strong", "global_batch_size": "32,64"}
    assert unlike(stated, stated, BOTH["cells"]) == ["global_batch_size: no cell has 64"]
    assert unlike({"scaling": "weak"}, {"scaling": ["weak"]}, of(BOTH, "weak").values()) == []
    only = [*of(BOTH, "strong").values()]
    assert unlike({"scaling": "weak"}, {"scaling": "weak"}, only) == ["scaling: no cell has weak"]


def test_history_and_baselines_keep_the_modes_apart():
    strong_cell, weak_cell = of(BOTH, "strong")["2n1g"], of(BOTH, "weak")["2n1g"]
    assert conditions(strong_cell, {})["scaling"] == "strong"
    # A cell of version 0.1 has neither key.
    old = {key: weak_cell[key] for key in weak_cell if key not in ("scaling", "global_batch_size")}
    assert conditions(old, {}) == conditions(weak_cell, {})
    with pytest.raises(ValueError, match="no cell is in both"):
        compare_campaigns(together(strong(STRONG)), [together(campaign(WEAK))], 0.02, "x")


def test_one_name_in_two_modes_is_not_compared():
    here = together(strong({"1n1g": [10.0, 10.1]}, variant="bz4"))
    compared = compare_campaigns(here, [together(campaign({"1n1g": [10.0, 10.1]}))], 0.02, "x")
    assert "scaling weak in the baseline, strong here" in str(compared)
    assert not compared["cells"]


def test_a_published_row_is_weak_unless_it_says_otherwise():
    cell, row = of(BOTH, "strong")["2n1g"], {"model": "r50", "nodes": 2, "devices_per_node": 1}
    assert "scaling: strong measured, weak published" in judge(cell, row)["why"]
    assert "scaling" not in judge(of(BOTH, "weak")["2n1g"], row)["why"]
    stated = {**row, "scaling": "strong", "global_batch_size": 32}
    assert "scaling" not in judge(cell, stated)["why"]


def test_frameworks_side_by_side_have_a_table_for_each_mode():
    both = [(campaign(WEAK, benchmark=name), strong(STRONG, benchmark=name)) for name in "ab"]
    tables = across_frameworks([together(*(one for pair in both for one in pair))])
    assert [(table["scaling"], table["global_batch_size"]) for table in tables] == [
        ("weak", None),
        ("strong", 32),
    ]
    assert [row["topology"] for row in tables[1]["rows"]] == ["2n1g", "3n1g", "4n1g"]
    assert tables[1]["rows"][2]["speedup"] == {"a": 1.5, "b": 1.5}


def test_the_time_of_a_step_has_the_base_over_the_devices_as_its_ideal():
    (group,) = BOTH["strong_scaling"]["groups"]
    assert (group["variant"], group["base"], group["global_batch_size"]) == (
        *("gb32-strong", "2n1g", 32),
    )
    two, four = group["cells"]
    assert (two["topology"], two["step_seconds"]) == ("2n1g", 32 / 40)
    assert (two["ideal_step_seconds"], two["karp_flatt"]) == (32 / 40, None)
    assert (four["step_seconds"], four["ideal_step_seconds"]) == pytest.approx((32 / 60, 0.4))
    # A speed-up of 1.5 on twice the devices.
    assert four["karp_flatt"] == pytest.approx((1 / 1.5 - 1 / 2) / (1 - 1 / 2))
    share = group["serial_share"]
    assert share["low"] < share["share"] < share["high"]
    assert share["share"] == pytest.approx(1 / 3, abs=0.001)


def test_a_step_has_more_tokens_than_sequences():
    made = together(strong({"1n1g": [1000.0], "2n1g": [1500.0]}, units_per_sample=100))
    assert made["strong_scaling"]["groups"][0]["cells"][0]["step_seconds"] == 3.2


def test_oversubscribed_cells_say_nothing_about_the_serial_share():
    plan, runs = strong({"1n1g": [10.0] * 3, "2n1g": [16.0] * 3, "4n1g": [3.0] * 3})
    for one in runs:
        one["oversubscribed"] = one["cell"]["topology"] == "4n1g"
    (group,) = build_results(plan, runs)["strong_scaling"]["groups"]
    assert (len(group["cells"]), group["serial_share"]["n"]) == (3, 6)
    assert group["serial_share"]["share"] == pytest.approx(0.25)


def test_without_its_base_a_group_has_times_only():
    made = together(strong({"1n1g": [None], "2n1g": [10.0, 10.1], "4n1g": [15.0, 15.1]}))
    (group,) = made["strong_scaling"]["groups"]
    assert {one["ideal_step_seconds"] for one in group["cells"]} == {None}
    assert group["serial_share"]["share"] is None


def test_results_of_weak_scaling_have_no_such_key():
    assert "strong_scaling" not in together(campaign(WEAK))
