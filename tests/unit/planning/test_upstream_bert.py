"""BERT as DLPerf published it, and ResNet-50 beyond the reference efforts: matrices and readings.

Words of commands: test_published_commands.py and, where the scripts are not there,
test_published_options.py. Expected values are those of the reports.
"""

from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.published.compare import (
    compare_published,
)
from log_lines import lines
from published_data import rows
from upstream_data import ADDRESSES, cells, recipe

FRAMEWORKS = Path(__file__).resolve().parents[3] / "roles/framework/vars/frameworks"
SIX = ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
FIVE, FOUR = (*SIX[:1], *SIX[2:]), (*SIX[:1], *SIX[3:])
ONEFLOW = ("dlperf_bert_oneflow", {"warmup": 19, "iterations": 100})
PADDLE = ("dlperf_bert_paddle", {"warmup": 20, "iterations": 100})
# By recipe: series (precision, batch size, XLA, topologies), repeats, reader, strategy.
REPORTS = {
    ("bert", "upstream_pytorch"): (
        {("fp32", 32, False, FIVE), ("fp32", 48, False, FIVE)}
        | {("amp", 64, False, FIVE), ("amp", 96, False, FIVE)},
        5,
        "bert_pytorch",
        ("dlperf_bert_pytorch", {"warmup": 20, "iterations": 100}),
    ),
    ("bert", "upstream_tensorflow"): (
        {("fp32", 32, False, FIVE), ("fp32", 48, False, FIVE), ("amp", 64, False, FIVE)}
        | {("amp", 64, True, FIVE), ("amp", 96, True, FIVE)},
        5,
        "bert_tensorflow",
        ("dlperf_bert_tensorflow_time", {"warmup": 20, "iterations": 100}),
    ),
    ("bert", "upstream_oneflow"): (
        {("fp32", batch, False, FOUR) for batch in (96, 64, 48, 32, 24)},
        7,
        "bert_oneflow",
        ONEFLOW,
    ),
    ("bert", "upstream_oneflow_0_2_0"): (
        {("fp32", batch, False, FOUR) for batch in (96, 64, 32)}
        | {("amp", batch, False, FOUR) for batch in (160, 128, 64)},
        7,
        "bert_oneflow",
        ONEFLOW,
    ),
    ("bert", "upstream_oneflow_0_2_0_without_clip"): (
        {("fp32", 96, False, FOUR), ("fp32", 32, False, FOUR)}
        | {("amp", 160, False, FOUR), ("amp", 64, False, FOUR)},
        7,
        "bert_oneflow",
        ONEFLOW,
    ),
    ("bert", "upstream_oneflow_0_3_1"): (
        {("amp", batch, False, FOUR) for batch in (160, 128, 64)},
        7,
        "bert_oneflow",
        ONEFLOW,
    ),
    ("bert", "upstream_paddle"): (
        {("fp32", batch, False, SIX) for batch in (32, 64, 96)}
        | {("amp", batch, False, FIVE) for batch in (64, 128, 160)},
        5,
        "bert_paddle",
        PADDLE,
    ),
    ("bert", "upstream_paddle_static_loss_scale"): (
        {("amp", 64, False, FIVE)},
        5,
        "bert_paddle",
        PADDLE,
    ),
    ("pytorch", "upstream"): (
        {("fp32", 128, False, FIVE), ("amp", 256, False, FIVE)},
        5,
        "pytorch_ngc",
        ("dlperf_pytorch_time", {"warmup": 20, "iterations": 100}),
    ),
    ("mxnet_ngc", "dlperf"): (
        {("fp32", 128, False, SIX), ("amp", 256, False, FIVE), ("fp16", 256, False, FIVE)},
        7,
        "mxnet_speedometer",
        ("dlperf_mxnet_time", {"warmup": 20, "iterations": 100}),
    ),
    ("oneflow", "dlperf_0_3_1"): (
        {("amp", 256, False, FOUR)},
        7,
        "oneflow",
        ("dlperf_oneflow", {"warmup": 20, "iterations": 100}),
    ),
}
COMMITS = {
    ("bert", "upstream_pytorch"): "793b92dca704df9399e94b5632e17ad88e551444",
    ("bert", "upstream_tensorflow"): "fed7ba99cde958fda12c9e81d12b3d7e738e0590",
    ("bert", "upstream_oneflow"): "8a78044ae126ceac30b541a4ec6b630bdfb53aea",
    ("bert", "upstream_oneflow_0_2_0"): "638d8f42aa064486a4268a388f2bd1e9762c98b3",
    ("bert", "upstream_oneflow_0_2_0_without_clip"): "638d8f42aa064486a4268a388f2bd1e9762c98b3",
    ("bert", "upstream_oneflow_0_3_1"): "854ddd06b49dfd43b1233ef7f0800947ba633bb2",
    ("bert", "upstream_paddle"): "b71cf6322ad8bd293c052cbbe45f7a382fcb73ae",
    ("bert", "upstream_paddle_static_loss_scale"): "b71cf6322ad8bd293c052cbbe45f7a382fcb73ae",
    ("pytorch", "upstream"): "5cc03caa153faab7a2c3b1b5b5d63663f06ce1b4",
    ("mxnet_ngc", "dlperf"): "e470c2150abf4179f873cabad23945bbc920cc5f",
    ("oneflow", "dlperf_0_3_1"): "854ddd06b49dfd43b1233ef7f0800947ba633bb2",
}


@pytest.fixture(scope="module")
def planned():
    return {key: cells(*key) for key in {**REPORTS, **PUBLISHED}}


@pytest.mark.parametrize("key", REPORTS, ids="-".join)
def test_the_matrix_and_the_rule_are_the_reports(planned, key):
    series, repeats, reader, rule = REPORTS[key]
    expected = {(*one[:3], topology) for one in series for topology in one[3]}
    found = [
        tuple(cell[name] for name in ("precision", "batch_size_per_device", "xla", "topology"))
        for cell in planned[key].values()
    ]
    assert sorted(found) == sorted(expected)
    for cell in planned[key].values():
        assert (cell["repeats"], cell["reading"]["reader"]) == (repeats, reader)
        assert (cell["reading"]["strategy"], cell["reading"]["parameters"]) == rule


@pytest.mark.parametrize("key", COMMITS, ids="-".join)
def test_the_code_is_that_of_the_report(key):
    (source,) = recipe(*key)["sources"]
    assert source["version"] == COMMITS[key]


def test_tensorflows_image_is_built_with_a_package_of_its_python():
    (patch,) = recipe("bert", "upstream_tensorflow")["sources"][0]["patches"]
    assert patch == {
        "file": "TensorFlow/LanguageModeling/BERT/Dockerfile",
        "line": 17,
        "from": "RUN pip3 install /workspace/pubmed_parser",
        "to": "RUN git -C /workspace/pubmed_parser checkout"
        " 963a025a7aa00774cd7f0d2c783c5125e7a1050d && pip3 install /workspace/pubmed_parser",
    }


def test_every_cell_of_bert_is_bert_base_with_sequences_of_128(planned):
    of_bert = {"model_size": "base", "sequence_length": 128, "dropout": True, "sharding": "ddp"}
    for (benchmark, name), made in planned.items():
        without_clip = {"without_clip": True} if name.endswith("without_clip") else {}
        for cell in made.values() if benchmark == "bert" else ():
            stated = {key: value for key, value in cell["own_factors"].items() if value}
            assert stated == {**of_bert, **without_clip}


PUBLISHED = {
    ("bert", "upstream_pytorch"): "dlperf_bert_pytorch_ngc",
    ("bert", "upstream_tensorflow"): "dlperf_bert_tensorflow_ngc",
    ("bert", "upstream_oneflow"): "dlperf_bert_oneflow_0822",
    ("bert", "upstream_oneflow_0_2_0"): "dlperf_bert_oneflow_v0_2_0",
    ("bert", "upstream_oneflow_0_2_0_without_clip"): "dlperf_bert_oneflow_v0_2_0",
    ("bert", "upstream_oneflow_0_3_1"): "dlperf_bert_oneflow_v0_3_1",
    ("bert", "upstream_paddle"): "dlperf_bert_paddle",
    ("bert", "upstream_paddle_static_loss_scale"): "dlperf_bert_paddle",
    ("pytorch", "upstream"): "dlperf_pytorch_ngc",
    ("oneflow", "dlperf_0_3_1"): "dlperf_oneflow_v0_3_1",
    ("paddle", "upstream"): "reference_004_paddle",
    ("paddle", "upstream_static_loss_scale"): "reference_004_paddle",
}


def printed(reader, words):
    """Return what a program that states how the loss is scaled prints of its arguments."""
    if reader in ("bert_paddle", "paddle_fluid"):
        colon = {"bert_paddle": ": ", "paddle_fluid": " : "}[reader]
        flags = [word.removeprefix("--").replace("=", colon) for word in words if "=" in word]
        return "\n".join(flags) + "\n"
    options = {
        "bert_pytorch": f'Config : ["Namespace(fp16={"--fp16" in words}, loss_scale=0.0)"]',
        "pytorch_ngc": f"amp : {'--amp' in words}  static_loss_scale : 1 "
        f" dynamic_loss_scale : {'--dynamic-loss-scale' in words} ",
    }
    return f"DLL 2020-09-24 02:12:08.99 - PARAMETER {options.get(reader, '')}\n"


@pytest.mark.parametrize("key", PUBLISHED, ids="-".join)
def test_every_cell_has_its_published_row(planned, key):
    for cell in planned[key].values():
        reader, words = cell["reading"]["reader"], cell["commands"]["v1"]["argv"]
        measured = {
            **cell,
            "gpu": "Tesla V100-SXM2-16GB",
            "unit": "sequences/s" if key[0] == "bert" else "images/s",
            "runs": [1.0, 1.1],
        }
        # What only some of the reports state, and some programs print.
        stated = logs.read(printed(reader, words) + "".join(lines(reader)), reader)["identity"]
        if "loss_scaling" in stated:
            measured["loss_scaling"] = stated["loss_scaling"]
        nearest = compare_published(measured, rows(PUBLISHED[key]))[0]
        # Whether the report's runs on several nodes had DALI is not known.
        dali = key[0] == "paddle" and cell["data_backend"] == "dali" and cell["nodes"] > 1
        assert nearest["verdict"] == ("not_known" if dali else "comparable"), nearest["why"]
        assert nearest["published"].endswith(cell["topology"])
        assert ("noclip" in nearest["published"]) == key[1].endswith("without_clip")


@pytest.mark.parametrize("key", [("bert", "upstream_oneflow_0_3_1"), ("oneflow", "dlperf_0_3_1")])
def test_oneflow_is_not_compared_with_a_version_that_scales_the_loss_otherwise(planned, key):
    for cell in planned[key].values():
        assert cell["loss_scaling"] == "dynamic"
        measured = {**cell, "gpu": "V100-SXM2-16GB", "loss_scaling": None, "runs": [1.0, 1.1]}
        (nearest,) = compare_published(measured, rows(PUBLISHED[key]))
        assert nearest["why"] == "loss_scaling: not stated"
    earlier = planned["bert", "upstream_oneflow_0_2_0"].values()
    assert not [cell for cell in earlier if "loss_scaling" in cell]


@pytest.mark.parametrize("key", [key for key in PUBLISHED if "oneflow" in "".join(key)])
def test_oneflow_is_installed_in_the_version_of_the_rows(key):
    packages = FRAMEWORKS / f"{recipe(*key)['framework_set']}.yml"
    versions = {row["framework_version"] for row in rows(PUBLISHED[key])}
    # Without the commit behind an @.
    installed = yaml.safe_load(packages.read_text())["__framework_set"]["packages"]
    assert [f"oneflow=={version[1:].partition('@')[0]}" for version in versions] == installed[:1]


def test_pytorch_launches_each_node_with_its_rank(planned):
    cell = planned["bert", "upstream_pytorch"]["bz96-real-dropout/4n8g amp"]
    for rank, command in enumerate(cell["commands"].values()):
        words = command["argv"][command["argv"].index("/tmp/scalebench") + 1 :]
        assert words[:8] == [
            *["python3", "-m", "torch.distributed.launch", "--nnodes=4", f"--node_rank={rank}"],
            *["--nproc_per_node=8", "--master_addr=10.11.0.2", "--master_port=29500"],
        ]
        assert words[8] == "/workspace/bert/run_pretraining.py"
    cell = planned["pytorch", "upstream"]["bz256-dali-real/2n8g amp"]
    words = cell["commands"]["v2"]["argv"]
    at = words.index("/workspace/rn50/multiproc.py")
    assert words[at - 1 : at + 3] == ["python3", words[at], "--nnodes=2", "--node_rank=1"]
    # Of one node's images, whatever their number.
    assert {"--lr=2.048", "/workspace/rn50/main.py", "/data/image"} <= {*words}


def test_paddle_counts_tokens_and_meets_at_the_nodes_endpoints(planned):
    made = planned["bert", "upstream_paddle"]
    cell = made["bz96-real-dropout/2n8g fp32"]
    ends = [f"{address}:29500" for address in ADDRESSES[:2]]
    for end, command in zip(ends, cell["commands"].values(), strict=True):
        assert {"--batch_size=12288", "--is_distributed=true"} <= {*command["argv"]}
        assert command["env"]["worker_endpoints"] == ",".join(ends)
        assert command["env"]["current_endpoint"] == end
        assert command["env"]["NCCL_IB_DISABLE"] == "1"
    alone = made["bz160-real-dropout/1n8g amp"]["commands"]["v1"]
    assert {"--batch_size=20480", "--is_distributed=false"} <= {*alone["argv"]}
    assert not {"worker_endpoints", "NCCL_IB_DISABLE"} & alone["env"].keys()


def test_tensorflow_is_without_horovod_on_one_gpu_alone(planned):
    with_horovod = {
        cell["topology"]
        for cell in planned["bert", "upstream_tensorflow"].values()
        if "--horovod" in cell["commands"]["v1"]["argv"]
    }
    assert with_horovod == {*FIVE[1:]}
