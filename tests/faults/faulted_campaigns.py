"""Campaigns that faults strike: their options, endings and resume."""

from local_nodes import TIMED_STEPS, failures, wait_until

TWO = {"topology": "2n1g", "iterations": 15, "campaign_retry": {"attempts": 1}}
# 10 s of steps.
SLEPT = {**TIMED_STEPS, "iterations": 2000}


def ending(cluster, campaign):
    """Return ending and reason of the only repeat of a campaign."""
    (record,) = cluster.records(campaign).values()
    return record["ending"], record["reason"]


def resume(cluster, campaign, options):
    """Run the campaign again without the fault and require that every repeat is ok."""
    resumed = cluster.bench(campaign=campaign, **options)
    assert resumed.rc == 0, failures(resumed)
    assert {record["ending"] for record in cluster.records(campaign).values()} == {"ok"}
    assert cluster.running() == []


def wait_for_training(cluster, campaign, nodes):
    """Wait until all nodes train and the third iteration is printed; return the ranks by node."""
    logs = f"node1/runs/{campaign}/**/*_1.log"
    wait_until(
        lambda: any("iteration 3 " in p.read_text() for p in cluster.state.glob(f"nodes/{logs}")),
    )
    # Ranks of the stand-in do not wait for each other.
    wait_until(lambda: set(cluster.ranks()) == nodes)
    return cluster.ranks()


def finish(playbook):
    """Wait for a background ansible-playbook; return its exit status and output."""
    out, _ = playbook.communicate(timeout=400)
    return playbook.returncode, out
