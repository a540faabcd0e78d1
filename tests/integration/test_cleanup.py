"""cleanup.yml on local nodes: what old campaigns left goes, what is claimed or not chosen stays."""

import json

import pytest
from local_nodes import events, failures

NODES = ("node1", "node2", "node3", "node4")


@pytest.fixture
def campaigns(cluster):
    """Put the folders of two campaigns where bench.yml does; node3 is claimed for the second."""
    runs = {node: cluster.state / f"nodes/{node}/runs" for node in NODES}
    for folder in (*runs.values(), cluster.results):
        for name in ("cleanup-tried", "cleanup-running"):
            (folder / name).mkdir(parents=True)
            nodes = NODES if name == "cleanup-running" else NODES[:1]
            plan = {"nodes": {node: {} for node in nodes}}
            (folder / name / "plan.json").write_text(json.dumps(plan))
    claim = cluster.state / "nodes/node3/claim.json"
    claim.write_text(
        json.dumps({"boot_id": "b", "pid": 1, "start": 1, "campaign": "cleanup-running"})
    )
    yield {**runs, "results": cluster.results}
    claim.unlink()


def left(campaigns):
    return {
        where: sorted(path.name for path in folder.glob("cleanup-*"))
        for where, folder in campaigns.items()
    }


def test_runs_and_then_results_are_removed(cluster, campaigns):
    before = left(campaigns)
    shown = cluster.run("cleanup.yml")
    assert shown.rc == 0, failures(shown)
    would = cluster.run("cleanup.yml", "--check", campaign="cleanup-*", results=True)
    assert (would.rc, left(campaigns)) == (0, before)
    assert sum(would.stats["changed"].values()) == len(NODES) + 1
    # --limit leaves localhost out.
    limited = ("--limit", "node1", "--check")
    refused = cluster.run("cleanup.yml", *limited, campaign="cleanup-*", older_then=30)
    assert "did you mean 'older_than'?" in failures(refused)

    removed = cluster.run("cleanup.yml", campaign="cleanup-*")
    assert removed.rc == 0, failures(removed)
    after = left(campaigns)
    assert {node: after[node] for node in NODES} == {
        node: ["cleanup-running"] if node == "node3" else [] for node in NODES
    }
    assert after["results"] == before["results"]

    # node3, which holds the claim, is not asked.
    part = cluster.run(
        "cleanup.yml", "--limit node1,node2", "--check", campaign="cleanup-*", results=True
    )
    assert part.rc == 0, failures(part)
    summaries = [result["summary"] for result in events(part, "old_campaigns")]
    assert any("1 would be removed, " in one and "(cleanup-tried)" in one for one in summaries)
    unknown = "1 kept, it may run on node[3-4], not asked (--limit, or unreachable), "
    assert any(unknown in one for one in summaries)

    also_here = cluster.run("cleanup.yml", campaign="cleanup-*", results=True)
    assert also_here.rc == 0, failures(also_here)
    # node3 is claimed for it.
    assert left(campaigns)["results"] == ["cleanup-running"]
    summaries = [result["summary"] for result in events(also_here, "old_campaigns")]
    assert any(one.startswith("1 removed, ") and "(cleanup-tried)" in one for one in summaries)
