"""The lines of our own trainers around iterations in the forms of their frameworks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.logs import scalebench
from ansible_collections.scalebench.core.plugins.module_utils.logs._lines import interval
from ansible_collections.scalebench.core.plugins.module_utils.models.figures import (
    differences,
    figures_of,
)
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import (
    CONVENTIONS,
    flops_per_token,
    utilisation,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import RankWaits
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import broken
from cpu_time import check_proportion
from log_lines import LINE, lines

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests/fixtures/logs"
# Logs of campaigns on two cores: file -> reader, warm-up and mean of the iterations after it
# (reckoned by hand from the lines), part of the identity.
REAL = {
    "mxnet/dist_sync_2n1g.log": (
        "mxnet_speedometer",
        (2, 5.35),
        {"framework": "mxnet", "world_size": 2, "ranks_seen": 2, "backend": "dist_sync"},
    ),
    "mxnet/horovod_2n1g.log": (
        "mxnet_speedometer",
        (2, 3.25),
        {"framework": "mxnet", "world_size": 2, "ranks_seen": 2, "backend": "horovod"},
    ),
    "oneflow/graph_2n1g.log": (
        "oneflow",
        (1, 2.77),
        {"framework": "oneflow", "world_size": 2, "ranks_seen": 2, "nodes": 2},
    ),
    "paddle/launch_2n1g.log": (
        "paddle_fluid",
        (1, 5.48),
        {"framework": "paddle", "world_size": 2, "ranks_seen": 2, "backend": "gloo"},
    ),
    "pytorch/bert_2n1g.log": (
        "scalebench",
        (2, 11.22),
        {"framework": "pytorch", "model": "bert", "sharding": "fsdp", "text": True},
    ),
    "pytorch/llama_fsdp_2n1g.log": (
        "scalebench",
        (1, 235.35),
        {"framework": "pytorch", "model": "llama", "sharding": "fsdp", "units_per_sample": 32},
    ),
    "tensorflow/horovod_2n1g.log": (
        "tensorflow_ngc_train",
        (5, 4.71),
        {"framework": "tensorflow", "world_size": 2, "ranks_seen": 2, "backend": "mpi"},
    ),
}
FORMS = sorted(set(LINE) - {"ai_rank", "bert_pytorch", "bert_tensorflow", "tensorflow_official"})
SPEEDS = sorted(set(FORMS) - {"paddle_fluid"})
HEADER = {
    "format": 1,
    "model": "resnet50_v1.5",
    "framework": "of the header",
    "world_size": 2,
    "nodes": 2,
    "devices_per_node": 1,
    "precision": "fp32",
    "batch_size_per_device": 4,
    "global_batch_size": 8,
    "image_size": 32,
    "data": "synthetic",
    "warmup": 20,
    "iterations": 100,
    "learning_rate": 0.002,
}
END = (
    '[scalebench] end {"iterations":120,"seconds":61.2,"peak_memory_mib":812.4,'
    '"weights_checksum":"5e1c","weights_equal":true}\n'
)


def opening(tag: str = "") -> str:
    places = [{"rank": rank, "node": f"node{rank + 1}"} for rank in range(2)]
    return f"{tag}[scalebench] header {json.dumps(HEADER)}\n" + "".join(
        f"{tag}[scalebench] rank {json.dumps(place)}\n" for place in places
    )


def log(name: str, count: int = 120, end: str = END) -> str:
    return opening() + "".join(lines(name, count)) + end


@pytest.mark.parametrize("name", FORMS)
def test_the_header_is_the_identity_and_the_end_line_the_summary(name):
    reading = logs.read(log(name))
    assert (reading["reader"], reading["own_trainer"]) == (name, True)
    assert reading["ending"] == {"kind": "complete", "detail": ""}
    identity = {key: HEADER[key] for key in HEADER if key not in ("format", "learning_rate")}
    assert reading["identity"] == {**identity, "ranks_seen": 2}
    assert reading["summary"]["weights_checksum"] == "5e1c"
    assert len(reading["observations"]) == 120


@pytest.mark.parametrize("name", SPEEDS)
def test_a_contradicted_cell_has_no_throughput(name):
    facts = log_facts(logs.read(log(name)), "auto", expect={"precision": "fp32", "world_size": 2})
    assert facts["strategy"]["name"] == "mean_after_warmup"
    assert (facts["count"], facts["memory"], facts["reason"]) == (100, 812.4, "")
    facts = log_facts(logs.read(log(name)), expect={"precision": "amp"})
    assert (facts["valid"], facts["throughput"]) == (False, None)
    assert facts["reason"] == "the log says precision fp32, expected amp"


@pytest.mark.parametrize("name", FORMS)
def test_a_rank_that_did_not_say_where_it_runs_is_missed(name):
    text = log(name).replace("[scalebench] rank", "nothing", 1)
    cell = {"nodes": 2, "devices_per_node": 1, "batch_size_per_device": 4}
    found = broken(cell, log_facts(logs.read(text)))
    assert {"rule": "ranks", "detail": "ranks_seen is 1, planned were 2"} in found


@pytest.mark.parametrize("name", FORMS)
def test_a_log_without_its_end_line_is_truncated(name):
    ending = logs.read(log(name, end=""))["ending"]
    assert ending == {"kind": "truncated", "detail": "no line with '[scalebench] end '"}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("kind", "ending"), [("nan_loss", "nan_loss"), ("bad_data", "traceback")])
def test_an_error_line_is_the_ending(name, kind, ending):
    error = f'[scalebench] error {{"kind":"{kind}","detail":"x.png","rank":1}}'
    reading = logs.read(log(name, 30, error + "\n"))
    assert reading["ending"] == {"kind": ending, "detail": error}


@pytest.mark.parametrize("name", FORMS)
def test_two_jobs_in_one_log_are_two_runs(name):
    runs = logs.read(log(name, 30) + log(name, 40))["runs"]
    assert [(run["count"], run["own_trainer"]) for run in runs] == [(30, True), (40, True)]


def test_launchers_tag_the_lines():
    text = opening("[1,0]<stdout>:")
    text += "".join(f"[1,0]<stdout>:{line}" for line in lines("tensorflow_ngc_train", 120))
    reading = logs.read(text + "[1,0]<stdout>:" + END)
    assert (reading["identity"]["ranks_seen"], reading["ending"]["kind"]) == (2, "complete")


@pytest.mark.parametrize("name", FORMS)
def test_a_log_of_others_keeps_what_it_says_itself(name):
    reading = logs.read("".join(lines(name)))
    assert not reading["own_trainer"]
    assert reading["identity"].get("framework") != HEADER["framework"]


def test_speedometer_prints_the_metrics_behind_the_speed():
    start = "2026-11-21 12:00:01,742:INFO: Epoch[0] Batch [{n}-{n}]\tSpeed: 301.5 samples/sec"
    for tail, accuracy, loss in (
        ("", None, None),
        ("\tLR: 0.0039936\t", None, None),
        ("\tLR: 0.0039936\tloss=6.911000", None, 6.911),
        ("\taccuracy=0.125000\tloss=6.911000", 0.125, 6.911),
    ):
        text = "".join(start.format(n=n) + tail + "\n" for n in range(3))
        last = logs.read(text)["observations"][2]
        assert (last["step"], last["accuracy"], last["loss"]) == (2, accuracy, loss)


@pytest.mark.parametrize("name", REAL)
def test_a_log_of_a_campaign_gives_its_reading(name):
    reader, (warmup, throughput), identity = REAL[name]
    reading = logs.read((FIXTURES / name).read_bytes(), name=name)
    assert (reading["reader"], reading["ending"]["kind"]) == (reader, "complete")
    said = reading["identity"]
    assert {key: said[key] for key in identity} == identity
    if said["model"] not in ("bert", "llama"):
        assert (said["model"], said["parameters"]) == ("resnet50_v1.5", 25557032)
    iterations = said["iterations"]
    facts = log_facts(reading, parameters={"warmup": warmup, "iterations": iterations})
    assert (facts["throughput"], facts["count"]) == (throughput, iterations)
    assert len(reading["observations"]) == warmup + iterations == reading["summary"]["iterations"]
    assert reading["summary"]["weights_equal"] is True


def test_the_figures_of_a_trainer_are_those_of_its_steps():
    text = (FIXTURES / "pytorch/llama_fsdp_2n1g.log").read_text()
    facts = log_facts(logs.read(text), parameters={"warmup": 1, "iterations": 3})
    figures, model = facts["summary"]["figures"], facts["identity"]["architecture"]
    assert (facts["unit"], figures["step_seconds_p50"]) == ("tokens/s", 0.477865)
    # 2 x 2 sequences of 32 tokens in each of three steps.
    rate = 2 * 2 * 32 * 3 / (0.778223 + 0.477865 + 0.467630)
    assert facts["harmonic_throughput"] == pytest.approx(rate, rel=1e-4)
    for convention, share in figures["mfu"].items():
        flops = flops_per_token(CONVENTIONS[convention], model)
        mfu = utilisation(flops, rate, 2, figures["peak_flops_per_second"])
        assert share == pytest.approx(mfu, rel=1e-4)


def test_of_bert_mfu_is_by_the_products_that_its_benchmark_states():
    text = (FIXTURES / "pytorch/bert_2n1g.log").read_text()
    facts = log_facts(logs.read(text), parameters={"warmup": 2, "iterations": 6})
    printed = facts["summary"]["figures"]
    cell = {
        **{"nodes": 2, "devices_per_node": 1, "unit": "sequences/s", "precision": "fp32"},
        "model_data": yaml.safe_load((ROOT / "benchmarks/bert.yml").read_text())["model"],
    }
    assert facts["unit"] == "sequences/s"
    assert list(differences(cell, facts)) == []
    again = figures_of(cell, {**facts, "summary": {"figures": {**printed, "mfu": {}}}})
    assert again["mfu"] == {"stated": pytest.approx(printed["mfu"]["stated"], rel=1e-3)}
    wrong = {**printed, "mfu": {**printed["mfu"], "stated": 0.06}}
    found = list(differences(cell, {**facts, "summary": {"figures": wrong}}))
    assert len(found) == 1 and "MFU (stated) of 0.06" in found[0]


WAITS = '[scalebench] waits {"rank":1,"node":"node2","every":2,"wait_seconds":[0.1,0.2],'


def test_lines_on_waits_are_facts_of_their_own():
    text = (FIXTURES / "pytorch/bert_2n1g.log").read_text()
    before, end = text.split("[scalebench] end ")
    line = WAITS + '"step_seconds":0.5}\n'
    made = f"{before}{line.replace('2', '1')}{line}[scalebench] end {end}"
    facts = log_facts(logs.read(made), parameters={"warmup": 2, "iterations": 6})
    assert [rank["node"] for rank in facts["waits"]] == ["node1", "node2"]
    assert facts["waits"][1]["wait_seconds"] == [0.1, 0.2]
    assert "waits" not in facts["summary"]
    cut = log_facts(logs.read(f"{before}{line[:-5]}\n[scalebench] end {end}"))
    assert "waits" not in cut
    wrong = line.replace("[0.1,", '["x",')
    with pytest.raises(ValueError, match=r"waits.wait_seconds\[0\] is 'x', not a number"):
        logs.read(f"{before}{wrong}[scalebench] end {end}")


def test_what_a_line_on_waits_lacks_is_said_on_python_3_8_too(monkeypatch):
    monkeypatch.delattr(RankWaits, "__required_keys__")
    with pytest.raises(ValueError, match="has no every, node, rank, step_seconds, wait_seconds"):
        scalebench.note_waits("[scalebench] waits {}\n", {})


def test_of_too_many_lines_on_waits_the_first_count(monkeypatch):
    monkeypatch.setattr(scalebench, "_MOST_RANKS", 2)
    line = WAITS + '"step_seconds":0.5}\n'
    summary = {}
    for count in (1, 2, 2):
        scalebench.note_waits(line, summary)
        assert len(summary["waits"]) == count


def test_the_most_frequent_gap_is_found_in_time_that_grows_with_the_lines():
    def gaps(count):
        return [number * (number + 1) / 2 for number in range(count)]

    assert interval([0, 10, 20, 25], None) == 10
    short, long = ((gaps(count), None) for count in (2_000, 8_000))
    check_proportion(interval, short, long)
