"""What plan.json keeps of a campaign that goes on after its trainers changed."""

import json

from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_changes import (
    software_changes,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.provenance import provenance
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from campaign_data import benchmarks, cluster


def test_a_change_is_decided_once_and_stays_in_the_plan(tmp_path):
    plans = []
    for digest in ("aa", "bb"):
        nodes = cluster(1)
        nodes["node1"]["workload"] = {"train.py": digest}
        plans.append(plan.build(benchmarks(), parse_options({"topology": "1n1g"}), nodes))
    (tmp_path / "plan.json").write_text(json.dumps(plans[0]))
    kept = campaign_files.kept_plan(tmp_path)
    changes = software_changes(kept, plans[1])
    campaign_files.note_changes(tmp_path, kept, plans[1], changes)
    noted = campaign_files.kept_plan(tmp_path)
    assert software_changes(noted, plans[1]) == []
    assert noted["cells"] == kept["cells"]
    (continued,) = provenance(noted, [], [])["continued"]
    assert continued["changes"] == ["trainer train.py changed"]
    assert continued["at"].endswith("Z")
