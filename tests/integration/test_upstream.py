"""The published programs themselves, on local nodes: provisioned, trained, read and reported.

Their sources, and DLPerf's extractors, are those of ../shared/upstream; they need Python 3.7. The
longer of these tests run with ``SCALEBENCH_LONG_TESTS=1``.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import find
from local_nodes import ROOT, failures
from trainers import LONG

SHARED = Path(os.environ.get("SCALEBENCH_SHARED", ROOT.parent / "shared")) / "upstream"
SETS = ("tensorflow_upstream_cpu", "mxnet_horovod_seed", "paddle_seed")
# The programs fix these: TensorFlow's hook leaves out 20 iterations, MXNet's command makes 120.
METHOD = {"warmup": 20, "iterations": 100}
TRAINED = {"tensorflow_ngc/bz2-real-upstream", "mxnet_ngc/bz4-recordio-real-upstream"}
PADDLE = "paddle/bz8-real-upstream"
EXTRACTORS = {
    "tensorflow_ngc": "NVIDIADeepLearningExamples/TensorFlow/Classification/ConvNets/resnet50v1.5"
    "/extract_tensorflow_logs.py",
    "paddle": "PaddlePaddle/resnet50v1.5/extract_paddle_logs.py",
}


@pytest.fixture(scope="module")
def provisioned(cluster, tmp_path_factory):
    """Provision the programs for all tests; return the options of their campaigns."""
    if not (SHARED / "MANIFEST.csv").is_file():
        pytest.skip("../shared/upstream is not there: published programs are kept outside")
    if find(["3.7"])[0] is None:
        pytest.skip("there is no Python 3.7, which the published programs need")
    options = {
        "benchmark": "tensorflow_ngc,mxnet_ngc,paddle,tensorflow_time2train",
        "recipe": "upstream",
        "dataset": "small",
        # More than 100 evaluation batches of 2, which the published --warmup_steps leaves out.
        "dataset_images": {"train": 50, "val": 27},
        "scalebench_data_dir": str(tmp_path_factory.mktemp("data") / "small"),
        "framework_source_archives": str(pack_sources(tmp_path_factory.mktemp("archives"))),
    }
    done = cluster.run("provision.yml", "--tags", "framework,workload,dataset", **options)
    assert done.rc == 0, failures(done)
    for name in SETS:
        reason = ROOT / f".state/venvs/{name}/unavailable"
        if reason.exists():
            pytest.skip(f"{name}: {reason.read_text()}")
    kept = ("recipe", "scalebench_data_dir")
    return {**{key: options[key] for key in kept}, "repeats": 1, "preflight": False}


def pack_sources(folder: Path) -> Path:
    """Pack the sources, checked against their list, as an air-gapped site keeps them."""
    sources: dict[tuple[str, str], list[str]] = {}
    for row in csv.DictReader((SHARED / "MANIFEST.csv").open()):
        place = f"{row['repo'].replace('/', '+')}@{row['commit'][:12]}/{row['path']}"
        if (SHARED / place).is_file():
            assert (SHARED / place).stat().st_size == int(row["bytes"]), place
            sources.setdefault((row["repo"], row["commit"]), []).append(place)
    for (repository, commit), places in sources.items():
        top = f"{repository.split('/')[1]}-{commit}"
        with tarfile.open(folder / f"{top}.tar.gz", "w:gz") as archive:
            for place in places:
                archive.add(SHARED / place, arcname=f"{top}/{place.split('/', 1)[1]}")
    return folder


def cells_of(folder):
    """Return the cells of a campaign by the folder of their logs."""
    cells = json.loads((folder / "results.json").read_text())["cells"]
    return {f"{cell['benchmark']}/{cell['variant']}": cell for cell in cells}


def extracted(extractor, logs, folder):
    """Return what one of DLPerf's extractors finds in a folder of logs."""
    script = SHARED / "Oneflow-Inc+DLPerf@c89430bac64f" / extractor
    subprocess.run(
        [sys.executable, script, "--log_dir", logs, "--output_dir", folder],
        check=True, capture_output=True,
    )  # fmt: skip
    return json.loads((folder / f"{logs.name}_result.json").read_text())["r50"]


@LONG
@pytest.mark.parametrize("topology", ["1n1g", "2n1g"])
def test_the_programs_train_and_their_extractors_agree(cluster, provisioned, topology, tmp_path):
    campaign = f"published-{topology}"
    done = cluster.run(
        "bench.yml", **provisioned, **METHOD, campaign=campaign, topology=topology, data="real",
        benchmark="tensorflow_ngc,mxnet_ngc,paddle",
    )  # fmt: skip
    folder = cluster.results / campaign
    assert done.rc == 0, failures(done)
    cells = cells_of(folder)
    alone = topology == "1n1g"
    measured = {name for name, cell in cells.items() if cell["median_speed"]}
    assert measured == TRAINED | ({PADDLE} if alone else set())
    assert set(cells) == TRAINED | {PADDLE}
    assert alone or "exchanges gradients on GPUs only" in json.dumps(cells[PADDLE])
    for name in measured & {PADDLE, "tensorflow_ngc/bz2-real-upstream"}:
        extractor = EXTRACTORS[name.split("/")[0]]
        theirs = extracted(extractor, folder / "logs" / name, tmp_path)[topology]
        assert round(cells[name]["median_speed"], 2) == theirs["average_speed"]


@LONG
def test_synthetic_data_needs_no_files(cluster, provisioned):
    done = cluster.run(
        "bench.yml", **provisioned, **METHOD, campaign="synthetic", data="synthetic",
        benchmark="tensorflow_ngc,mxnet_ngc",
    )  # fmt: skip
    assert done.rc == 0, failures(done)
    assert all(cell["median_speed"] for cell in cells_of(cluster.results / "synthetic").values())


@LONG
def test_time_to_train_ends_with_an_evaluation(cluster, provisioned):
    done = cluster.run(
        "bench.yml", **provisioned, campaign="to-accuracy", benchmark="tensorflow_time2train",
        epochs=1,
    )  # fmt: skip
    folder = cluster.results / "to-accuracy"
    assert done.rc == 0, failures(done)
    (cell,) = cells_of(folder).values()
    assert cell["median_speed"]
    (log,) = folder.glob("logs/**/*.log")
    assert re.search(r"\(\) top1_accuracy : [0-9.]+ *top5_accuracy", log.read_text())
