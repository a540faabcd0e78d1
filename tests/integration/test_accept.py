"""playbooks/accept.yml on a local node: what it tells before, its verdicts, and its archive."""

import json
import shutil
import subprocess

import pytest
from local_nodes import TIMED_STEPS, failures

# Steps of 5 ms for longer than the second without faults.
PROMISES = """
about: one local node, briefly
campaign:
  {benchmark: timed_steps, topology: 1n1g, repeats: 3, warmup: 1, iterations: 300,
   batch_size_per_device: 2}
lines:
  - min_throughput: LEAST
    where: {topology: 1n1g}
  - no_faults: 1s
  - preflight: warn
  - stack: {os: "*"}
"""
# All but the benchmark, which the acceptance names.
STAND_IN = {key: value for key, value in TIMED_STEPS.items() if key != "benchmark"}


def promise(folder, least, more=""):
    path = folder / "promised.yml"
    path.write_text(PROMISES.replace("LEAST", str(least)) + more)
    return str(path)


def printed(runner):
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] == "runner_on_ok" and "res" in event["event_data"]
    )


def test_check_tells_what_will_run_and_what_cannot_be_decided(cluster, tmp_path):
    more = "".join(
        f"  - min_throughput: 1\n    where: {{topology: {topology}}}\n"
        for topology in ("4n8g", "9n*")
    )
    path = promise(tmp_path, 1, more)
    done = cluster.run("accept.yml", "--check", **STAND_IN, acceptance=path, campaign="checked")
    assert done.rc == 0, failures(done)
    text = printed(done)
    assert "1 cell(s), 3 repeat(s), 3 to run in an unknown time" in text
    below = text.partition("These lines stay undecided, so that nothing can be accepted:\n")[2]
    lines = [line.partition(" is selected")[0] for line in below.splitlines()[:2]]
    assert lines == [
        f"  min_throughput: 1 of topology {topology}: no cell of the campaign"
        for topology in ("4n8g", "9n*")
    ]
    assert not (cluster.results / "checked").exists()


@pytest.fixture(scope="module")
def accepted(cluster, tmp_path_factory):
    """Return a folder with the signed archive of an acceptance, and the key that may sign."""
    folder = tmp_path_factory.mktemp("accepted")
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / "key")]
    subprocess.run(command, check=True)
    words = (folder / "key.pub").read_text()
    (folder / "allowed").write_text(f'vendor namespaces="scalebench-acceptance" {words}')
    given = {"acceptance": promise(folder, 0.5), "sign_key": str(folder / "key")}
    done = cluster.run("accept.yml", campaign="handover", **STAND_IN, **given)
    assert done.rc == 0, failures(done)
    assert "accepted (4 pass, 0 fail, 0 undecided)" in printed(done)
    for path in cluster.results.glob("handover.tar.gz*"):
        shutil.copy(path, folder)
    return folder


def test_the_archive_is_verified_and_judged_again_elsewhere(cluster, accepted):
    given = {
        "archive": str(accepted / "handover.tar.gz"),
        "output_dir": str(accepted / "there"),
        "allowed_signers": str(accepted / "allowed"),
    }
    done = cluster.run("report.yml", **given)
    assert done.rc == 0, failures(done)
    text = printed(done)
    assert "signature for vendor with ED25519" in text
    assert "accepted (4 pass, 0 fail, 0 undecided)" in text
    assert "not what the logs give" not in text
    archive = accepted / "handover.tar.gz"
    archive.write_bytes(archive.read_bytes() + b"\0")
    assert cluster.run("report.yml", **given).rc == 2


def test_a_promise_that_is_missed_ends_with_its_verdict(cluster, accepted, tmp_path):
    shutil.copytree(cluster.results / "handover", cluster.results / "missed")
    (cluster.results / "missed/acceptance.json").unlink()
    path = promise(tmp_path, 1_000_000)
    done = cluster.run("report.yml", acceptance=path, campaign="missed")
    assert done.rc == 2
    assert "not accepted: see the lines above" in failures(done)
    results = json.loads((cluster.results / "missed/results.json").read_text())
    row = results["acceptance"]["lines"][0]
    assert row["verdict"] == "fail"
    assert row["low"] < row["measured"] < row["high"] < 1_000_000


def test_options_and_keys_are_checked_before_anything_runs(cluster, tmp_path):
    path = promise(tmp_path, 1)
    done = cluster.run("accept.yml", **STAND_IN, acceptance=path, campaign="wrong", repeats=9)
    assert "-e repeats: the acceptance states the options" in failures(done)
    key = str(tmp_path / "nothing")
    done = cluster.run("accept.yml", **STAND_IN, acceptance=path, campaign="wrong", sign_key=key)
    assert "nothing: no such file" in failures(done)
    assert not (cluster.results / "wrong").exists()
