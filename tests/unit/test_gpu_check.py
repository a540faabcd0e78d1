"""The parts of scripts/gpu-check that decide, and those that run and pack trials."""

import json
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from live_processes import alive

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import GPU_QUERY
from ansible_collections.scalebench.core.plugins.module_utils.node import nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import descendants
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import OPTIONS
from gpu_check import judge, trials
from gpu_check.judge import FAILED, PASSED, SKIPPED, FailedError, Outcome, SkippedError
from gpu_check.work import SIZES, Trial, Work, attempt, pack

ANSWERS = {switch: [dict.fromkeys(names, "0")] for switch, names in nvidia_smi.FIELDS.items()}
GPU = {"utilisation": {"min": 0, "mean": 80.0, "max": 97}, "memory_used_mib": {"mean": 9000.0},
       "power_w": {"mean": 500.0}, "name": "a GPU"}  # fmt: skip
SAMPLED = {"samples": 9, "sampling_seconds": 0.01, "gpus": [GPU]}


@pytest.fixture
def work(tmp_path, monkeypatch):
    # A trial ends all that is below this process, where other tests keep one with PyTorch.
    others = {one.pid for one in descendants(os.getpid())}
    monkeypatch.setattr(
        "gpu_check.work.descendants",
        lambda pid: [one for one in descendants(pid) if one.pid not in others],
    )
    work = Work(sys.executable, "cpu", tmp_path / "check", 60)
    work.begin("A")
    return work


def test_summary_counts_every_verdict():
    verdicts = (PASSED, FAILED, SKIPPED, PASSED)
    text = judge.summary([Outcome("A", "one", verdict, 1, "x" * 999) for verdict in verdicts])
    assert text.endswith("2 passed, 1 FAILED, 1 skipped\n")
    assert max(map(len, text.splitlines())) < 220


@pytest.mark.parametrize(
    ("ours", "verdict"), [([99.5, 99, 130], PASSED), ([98.9, 98.0, 99.0], FAILED)]
)
def test_ratio_is_of_the_medians_and_has_a_goal(ours, verdict):
    try:
        assert judge.ratio(ours, [100, 100, 50]).startswith("99.5 / 100.0 images/s = 0.995")
        found = PASSED
    except FailedError as error:
        found = FAILED
        assert "= 0.989, goal 0.99" in str(error)
    assert found == verdict


def test_throughput_is_of_a_campaigns_rule_and_a_crash_has_a_reason():
    with pytest.raises(FailedError):
        judge.throughput(
            "Traceback (most recent call last):\nRuntimeError: no kernel image\n", 1, 3
        )
    with pytest.raises(FailedError):
        judge.throughput("", 1, 3)


def test_a_field_that_a_driver_does_not_know_is_told_and_a_needed_one_fails():
    assert judge.known_fields(ANSWERS).endswith("unknown: none")
    lacking = {**ANSWERS, "--query-gpu": [{**ANSWERS["--query-gpu"][0], "fabric.state": None}]}
    assert judge.known_fields(lacking).endswith("unknown: --query-gpu=fabric.state")
    for name in GPU_QUERY:
        broken = {**ANSWERS, "--query-gpu": [{**ANSWERS["--query-gpu"][0], name: None}]}
        with pytest.raises(FailedError, match=re.escape(name)):
            judge.known_fields(broken)
    with pytest.raises(FailedError, match="lists no GPU"):
        judge.known_fields({**ANSWERS, "--query-gpu": []})


def test_telemetry_needs_samples_figures_and_a_busy_gpu():
    assert "'power_w': 500.0" in judge.telemetry(SAMPLED, True, True)
    idle = {**GPU, "utilisation": {"mean": 1.0, "max": 3}}
    assert judge.telemetry({**SAMPLED, "gpus": [idle]}, True, False)
    for broken in (
        {**SAMPLED, "samples": 0},
        {**SAMPLED, "gpus": [idle]},
        {**SAMPLED, "gpus": [{key: GPU[key] for key in ("utilisation", "name")}]},
        {"samples": 9, "sampling_seconds": 0.1, "gpu": "not sampled: no library"},
    ):
        with pytest.raises(FailedError):
            judge.telemetry(broken, True, True)


def test_bus_bandwidth_is_read_and_wrong_values_fail():
    # The lines of nccl-tests, src/common.cu.
    text = "# Out of bounds values : {}\n# Avg bus bandwidth    : 412.13 \n#\n"
    assert judge.bus_bandwidth(text.format("0 OK")).startswith("mean bus bandwidth 412.13 GB/s")
    for broken in (text.format("3 FAILED"), "", "# Avg bus bandwidth    : 412.13\n"):
        with pytest.raises(FailedError):
            judge.bus_bandwidth(broken)


def test_another_process_is_noticed_by_the_preflight_or_a_repeat():
    row = {"check": "GPU processes", "verdict": "fail", "found": "4711 python3"}
    quiet = {"disturbances": [], "reason": ""}
    seen = {**quiet, "disturbances": [{"kind": "other_process", "detail": "took 9 CPU seconds"}]}
    assert judge.noticed([row], [], True) == "preflight fail: 4711 python3"
    assert judge.noticed([], [quiet, seen], False) == "took 9 CPU seconds"
    for listed, error in ((True, FailedError), (False, SkippedError)):
        with pytest.raises(error):
            judge.noticed([{**row, "verdict": "pass"}, {**row, "check": "disk"}], [quiet], listed)


def test_a_campaign_is_measured_where_every_cell_has_all_its_repeats():
    cell = {"precision": "amp", "batch_size_per_device": 256, "median_speed": 3000.5,
            "repeats": [{}, {}], "state": "measured"}  # fmt: skip
    assert judge.measured([cell], 2) == "amp bz256: 3000.5 images/s, n=2 of 2, measured"
    for broken in ([], [cell, {**cell, "repeats": [{}]}], [{**cell, "state": "partial"}]):
        with pytest.raises(FailedError):
            judge.measured(broken, 2)


def fail(_):
    raise FailedError("no")


def skip(_):
    raise SkippedError("not here")


@pytest.mark.parametrize(
    ("run", "gpu_only", "verdict", "words"),
    [
        (lambda _: "1.5 images/s", "", PASSED, "1.5 images/s"),
        (fail, "", FAILED, "no"),
        (skip, "", SKIPPED, "not here"),
        (lambda _: {}["key"], "", FAILED, "KeyError: 'key'"),
        (fail, "no GPU", SKIPPED, "no GPU"),
    ],
)
def test_whatever_happens_in_a_trial_is_its_outcome(work, run, gpu_only, verdict, words):
    outcome = attempt(Trial("A", "one", run, gpu_only), work)
    assert (outcome.verdict, outcome.words) == (verdict, words)


@pytest.fixture
def own_time(monkeypatch):
    """Have seconds pass while a trial waits, and not while this test does."""
    passed = 0.0

    def sleep(seconds):
        nonlocal passed
        time.sleep(seconds)
        passed += seconds

    clock = SimpleNamespace(monotonic=lambda: passed, sleep=sleep)
    monkeypatch.setattr("gpu_check.work.time", clock)
    return clock


def test_a_trial_beyond_its_limit_is_ended_with_all_that_it_started(work, own_time):
    # The grandchild leaves the session of its parent, as torchrun's ranks do.
    command = ["sh", "-c", "setsid sleep 300 & sleep 300"]
    began = time.monotonic()
    outcome = attempt(Trial("A", "slow", lambda work: work.command("slow", command, 1)), work)
    assert (outcome.verdict, outcome.words) == (FAILED, "waited 1 s in vain for its end")
    assert time.monotonic() - began < 20
    assert [one for one in descendants(os.getpid()) if "sleep 300" in one.command] == []


INTERRUPTED_TWICE = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
import gpu_check.__main__ as check, gpu_check.work as module

def trial(work):
    process = work.start("stubborn", ["sh", "-c", "trap 'kill -2 $PPID' TERM; echo; while :; do"
                                      " sleep 0.1; done"])
    work.wait("its trap", lambda: process.output.read_bytes().endswith(b"\\n\\n"), 10)
    print("started", process.pid)
    os.kill(os.getpid(), signal.SIGTERM)

check.Work.ask = lambda *_, **__: "1.0"
check.all_trials = lambda sizes: [module.Trial("A", "one", trial)]
module.end_processes = partial(module.end_processes, grace=0.5)
sys.argv = ["check", "A", "--device=cpu", "--output", sys.argv[1]]
sys.exit(check.main())
"""


def test_a_second_signal_spares_nothing_that_a_trial_started(tmp_path):
    paths = (str(ROOT / name) for name in ("scripts", "collections", "workloads"))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_TWICE, tmp_path],
        env={**os.environ, "PYTHONPATH": ":".join(paths)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "")
    assert not alive(done.stdout.partition("started ")[2].split()[0])


def test_a_command_that_fails_says_why_and_leaves_its_output(work):
    for command, words in (
        (["sh", "-c", "echo one; echo two >&2; exit 3"], "exit code 3: two"),
        (["no-such-program"], "no-such-program: No such file or directory"),
    ):
        outcome = attempt(
            Trial("A", "x", lambda work, it=command: work.command("x/y", it, 9)), work
        )
        assert (outcome.verdict, outcome.words) == (FAILED, words)
    (first, _) = sorted(work.outputs.iterdir())
    assert first.name == "00 x_y.txt"
    assert first.read_text().endswith("\none\ntwo\n")


def test_report_gets_no_options_of_campaigns(work, monkeypatch):
    monkeypatch.setattr(work, "ask", lambda *_, **__: "")
    of_bench, of_report = (
        json.loads(work.playbook(name, campaign="matrix")[0][-1]) for name in ("bench", "report")
    )
    assert of_report["campaign"] == of_bench["campaign"] == "matrix"
    assert {*of_bench} & {*OPTIONS} >= {"warmup", "iterations", "topology"}
    assert not {*of_report} & {*OPTIONS}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "the time of this part is over"), (1, "the time of this part was over after 1 s")],
)
def test_what_the_end_of_the_part_prevents_or_cuts_is_skipped(work, own_time, seconds, words):
    work.until = own_time.monotonic() + seconds
    slow = Trial("A", "slow", lambda work: work.command("slow", ["sleep", "60"], 30))
    outcome = attempt(slow, work)
    assert (outcome.verdict, outcome.words) == (SKIPPED, words)


def test_programs_get_the_users_pythonpath_and_the_gpu_that_playbooks_use(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    work = Work(sys.executable, "gpu", tmp_path / "check", 60)
    echo = 'echo "$PYTHONPATH $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"'
    assert work.ask(["sh", "-c", echo]) == "/theirs 0 PCI_BUS_ID"
    found = {}
    monkeypatch.setattr(work, "ask", lambda command, **more: found.update({command[0]: more}))
    with pytest.raises(SkippedError, match="no Ansible"):
        work.playbook("bench")
    last = found[sys.executable]
    assert last["PYTHONPATH"] == f"{ROOT}/.state/gpu-check/site:/theirs"
    assert last["ANSIBLE_HOME"].startswith(str(work.folder))


@pytest.mark.parametrize(
    ("compiler", "reason"), [("/no", "No such file"), ("/bin/false", r"'-include', 'Python.h'")]
)
def test_compiled_training_is_skipped_without_a_compiler_or_python_h(work, compiler, reason):
    work.environment["CC"] = compiler
    with pytest.raises(SkippedError, match=reason):
        trials.require(work, "a C compiler and Python.h", trials.COMPILER)


def test_nvidia_smi_is_found_where_the_product_finds_it(work, monkeypatch):
    path = work.folder / "nvidia-smi"
    path.write_text("#!/bin/sh\necho $LD_LIBRARY_PATH\n")
    path.chmod(0o755)
    monkeypatch.setattr(nvidia_smi, "_FOLDERS", {str(work.folder): "/its/lib"})
    monkeypatch.setenv("PATH", "/none")
    monkeypatch.setattr(work, "python", "true")
    trials.facts(work)
    (asked,) = work.outputs.glob("*nvidia-smi -q -x.txt")
    assert asked.read_text().startswith(f"$ {path} -q -x\n/its/lib")


def test_the_archive_has_the_outputs_and_not_the_state(work):
    for name in ("A/00 x.txt", "campaigns/c/results.json", "state/venv/big", "data/small/1.jpg"):
        path = work.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    with tarfile.open(pack(work.folder)) as tar:
        names = [member.name for member in tar if member.isfile()]
    assert names == ["check/A/00 x.txt", "check/campaigns/c/results.json"]


# What issue and review ask for (the review's last section), by part.
ASKED = {
    "A": {"facts", "fields of nvidia-smi", "sampler, idle", "sampler, training", "largest batch"},
    "B": {"provision, preflight", "bench.yml", "report.yml", "squatter", "kill and resume",
          "bench.yml / bare trainer"},
    "C": {"NCCL group of one", "two gloo ranks", "nccl-tests", "real data", "real data, DALI",
          "time to train"},
}  # fmt: skip


@pytest.mark.parametrize("device", SIZES)
def test_every_trial_of_the_review_is_there_once(device):
    sizes = SIZES[device]
    asked = [(part, name) for part, names in ASKED.items() for name in names]
    for batch in sizes.batches:
        for precision in ("tf32", "fp32", "amp", "bf16"):
            asked.append(("A", f"{precision} bz{batch} channels-last"))
            asked.append(("A", f"{precision} bz{batch} no-channels-last"))
    for batch in (sizes.batches[-1], 32):
        asked += [("C", f"{way} bz{batch}") for way in ("eager", "--cuda-graphs", "--compile")]
    found = trials.all_trials(sizes)
    assert sorted((one.part, one.name) for one in found) == sorted(asked)
    # On a CPU the script still tries all of the playbooks.
    assert not any(one.gpu_only for one in found if one.part == "B")
