"""playbooks/verify.yml: claims checked against logs, without a cluster."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# Folder of the public logs named in published/claims; they are not part of this project.
PUBLIC_LOGS = Path(os.environ.get("SCALEBENCH_PUBLIC_LOGS", ROOT.parent / "shared/logs"))
SPEEDS = {"1n1g": [100.25, 101.75, 99.5], "1n8g": [750.5, 748.25, 760.0]}


def verify(*arguments, cwd=ROOT):
    return subprocess.run(
        [
            Path(sys.executable).parent / "ansible-playbook",
            ROOT / "playbooks/verify.yml",
            *arguments,
        ],
        cwd=cwd,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def log(speed):
    """Return a synthetic log in the format of the TensorFlow 2 official models."""
    line = (
        "I0826 15:13:29.256277 140405777909504 keras_utils.py:133] TimeHistory: {} seconds, "
        "{} examples/second between steps {} and {}\n"
    )
    steps = [(0, 100, speed / 3), (100, 200, speed - 0.5), (200, 300, speed + 0.5)]
    return "".join(line.format(39.13, round(s, 2), a, b) for a, b, s in steps)


@pytest.fixture
def tree(tmp_path):
    """Write logs of two topologies and claims about them; return the folder and the claims."""
    for topology, speeds in SPEEDS.items():
        (tmp_path / "logs" / topology).mkdir(parents=True)
        for index, speed in enumerate(speeds, 1):
            (tmp_path / "logs" / topology / f"r50_b128_fp32_{index}.log").write_text(log(speed))
    claims = {
        "schema": 1,
        "title": "A synthesised table",
        "common": {"strategy": "dlperf_tf2", "statistic": "median", "rounding": "numpy_2"},
        "claims": [
            {"id": "one", "logs": "1n1g/*.log", "claimed": 100.25},
            {"id": "eight", "logs": "1n8g/*.log", "claimed": 750.5},
            {"id": "ratio", "of": "eight", "over": "one", "rounding": "numpy_2", "claimed": 7.49},
        ],
    }
    write(tmp_path, claims)
    return tmp_path, claims


def write(folder, claims):
    (folder / "claims.yml").write_text(yaml.safe_dump(claims))


def test_claims_that_hold_are_printed_and_end_well(tree):
    folder, _ = tree
    run = verify("-e", "log_dir=logs", "-e", "claims=claims.yml", cwd=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "A synthesised table" in run.stdout
    assert "| eight |   750.5 |      750.5 |        0.0 | confirmed | dlperf_tf2" in run.stdout
    assert "3 claims: 3 confirmed, 0 differs, 0 impossible" in run.stdout


def test_a_claim_that_does_not_hold_is_an_error_after_the_table(tree):
    folder, claims = tree
    claims["claims"][2]["claimed"] = 7.94
    write(folder, claims)
    run = verify("-e", f"log_dir={folder}/logs", "-e", f"claims={folder}/claims.yml")
    assert run.returncode == 2
    assert "| ratio |    7.94 |       7.49 |      -0.45 | differs" in run.stdout
    assert "ratio: differs, not expected." in run.stdout
    assert "another verdict than expected" in run.stdout
    run = verify(
        *("-e", f"log_dir={folder}/logs", "-e", f"claims={folder}/claims.yml"),
        *("-e", '{"verify_fail": false}', "--check"),
    )
    assert run.returncode == 0 and "differs" in run.stdout


def test_logs_that_are_broken_or_missing_are_stated(tree):
    folder, _ = tree
    (folder / "logs/1n1g/r50_b128_fp32_2.log").write_text("nothing known\n")
    for path in (folder / "logs/1n8g").iterdir():
        path.unlink()
    run = verify("-e", f"log_dir={folder}/logs", "-e", f"claims={folder}/claims.yml")
    assert run.returncode == 2
    assert (
        "one: impossible, not expected. 1 of 3 logs give no figure; 1n1g/r50_b128_fp32_2.log"
        in run.stdout
    )
    assert "eight: impossible, not expected. no log matches 1n8g/*.log" in run.stdout
    assert "3 claims: 0 confirmed, 0 differs, 3 impossible" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Set log_dir to the folder of the logs (now '')"),
        (["-e", "log_dir=nowhere"], "Set log_dir to the folder of the logs (now 'nowhere')"),
        (["-e", "log_dir=.", "-e", "claims=nowhere.yml"], "(missing: "),
        (["-e", "log_dir=."], "No claim has logs in ."),
    ],
)
def test_wrong_input_says_what_to_set(arguments, message, tmp_path):
    run = verify(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert message in " ".join(run.stdout.split())


@pytest.mark.skipif(
    not PUBLIC_LOGS.is_dir(), reason=f"no public logs at {PUBLIC_LOGS} (SCALEBENCH_PUBLIC_LOGS)"
)
def test_every_published_claim_has_the_expected_verdict():
    run = verify("-e", f"log_dir={PUBLIC_LOGS}")
    assert run.returncode == 0, run.stdout[-3000:]
    assert run.stdout.count("| confirmed |") == 90
    assert run.stdout.count("| differs   |") == 6
