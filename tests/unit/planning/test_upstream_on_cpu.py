"""Recipe upstream without GPUs: every word of a command that differs from the GPU's, and no other.

docs/upstream-recipes.md has the same list.
"""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
)
from campaign_data import benchmarks, cluster
from upstream_data import v100_nodes

SAME = {"batch_size_per_device": 4, "image_size": 224, "precision": "fp32", "warmup": 20}
ENVIRONMENT = {"OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}


def words_of(name, nodes, program, **options):
    """Return the words after the program on the leading node, and its environment."""
    given = {"benchmark": name, "recipe": "upstream", **SAME, **options}
    asked = parse_options(given, own=declared_factors(benchmarks()))
    (cell,) = plan.build(benchmarks(), asked, nodes)["cells"]
    command = cell["commands"][cell["node_names"][0]]
    places = [place for place, word in enumerate(command["argv"]) if word.endswith(program)]
    words = command["argv"][places[0] + 1 :]
    return words[: words.index(":")] if ":" in words else words, command["env"]


def cpu_nodes():
    nodes = cluster(2)
    for node in nodes.values():
        sets = ("tensorflow_upstream_cpu", "mxnet_horovod_seed", "paddle_seed")
        node["pythons"] = {name: f"/venvs/{name}/bin/python" for name in sets}
        node.update(data_dir="/data", sources_dir="/sources")
    return nodes


TENSORFLOW = (
    {
        "--results_dir=/tmp/scalebench/results",
        "--data_dir=/data/tfrecords",
        "--use_dali",
        "--data_idx_dir=/data/dali_idx",
    },
    {"--results_dir=results", "--data_dir=/data/tfrecord"},
)
RECORDS = "/data/imagenet/train-val-recordio-passthrough"
MXNET = (
    {
        "--data-backend=dali-gpu",
        "--benchmark-iters=500",
        "--log=/tmp/scalebench/train.log",
        "--report=/tmp/scalebench/report.json",
        f"--data-train={RECORDS}/train.rec",
        f"--data-train-idx={RECORDS}/train.idx",
        f"--data-val={RECORDS}/val.rec",
        f"--data-val-idx={RECORDS}/val.idx",
    },
    {
        "--data-backend=mxnet",
        "--benchmark-iters=40",
        "--log=train.log",
        "--report=report.json",
        "--data-train=/data/recordio/train.rec",
        "--data-train-idx=/data/recordio/train.idx",
        "--data-val=/data/recordio/val.rec",
        "--data-val-idx=/data/recordio/val.idx",
    },
)
CASES = [
    ("tensorflow_ngc", "main.py", {"data_backend": "dali"}, {}, TENSORFLOW),
    ("mxnet_ngc", "train.py", {"data_backend": "dali"}, {"data_backend": "recordio"}, MXNET),
    ("paddle", "train.py", {}, {}, (set(), {"--use_gpu=False"})),
]
ADDED = {
    "tensorflow_ngc": {"PYTHONPATH", "OMPI_MCA_mpi_yield_when_idle"},
    "mxnet_ngc": {"PYTHONPATH", "MXNET_MKLDNN_ENABLED", "OMPI_MCA_mpi_yield_when_idle"},
    "paddle": set(),
}


@pytest.mark.parametrize(("name", "program", "on_gpu", "on_cpu", "differing"), CASES)
@pytest.mark.parametrize("topology", ["1n1g", "2n1g"])
def test_no_other_word_differs(name, program, on_gpu, on_cpu, differing, topology):
    common = {"data": "real", "data_backend": "native", "topology": topology}
    gpu, of_gpu = words_of(name, v100_nodes(), program, **{**common, **on_gpu})
    cpu, of_cpu = words_of(name, cpu_nodes(), program, **{**common, **on_cpu})
    removed, added = differing
    own = {"--data_dir=/datasets/ImageNet/images", "--data_dir=/data/images"}
    assert set(gpu) - set(cpu) - own == removed
    assert set(cpu) - set(gpu) - own == added
    others = {key for key in {*of_gpu, *of_cpu} if of_gpu.get(key) != of_cpu.get(key)}
    network = {key for key in others if key.endswith("_IFNAME") or key.startswith("NCCL_")}
    assert others - network - ENVIRONMENT == ADDED[name]


def test_more_than_one_rank_of_paddle_is_unavailable():
    for topology in ("2n1g", "1n2g"):
        nodes = cpu_nodes()
        for node in nodes.values():
            node["devices"] = 2
        asked = parse_options({"benchmark": "paddle", "recipe": "upstream", "topology": topology})
        (cell,) = plan.with_unavailable(plan.build(benchmarks(), asked, nodes)["cells"], nodes)
        assert "exchanges gradients on GPUs only" in cell["unavailable"]
        assert cell["excused"]
