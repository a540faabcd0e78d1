"""Every rendered cell against the published scripts, word by word.

Each difference is a row of the table in docs/upstream-recipes.md, with its reason; a row that
describes no difference is an error too.
"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from published_commands import (
    FURTHER,
    MXNET,
    ONEFLOW,
    PADDLE,
    SHARED,
    TENSORFLOW,
    Published,
    edited,
    environment_of,
    items,
    missing,
    record,
    seed_block,
    split_at_program,
)
from upstream_data import cells, recipe

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/upstream-recipes.md"
HEADING = "## Every difference of a command"
GPUS = {"1": "0", "2": "0,1", "4": "0,1,2,3", "8": "0,1,2,3,4,5,6,7"}
pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not there: {missing()}")


class Row(NamedTuple):
    """A row of the table: patterns of recipes, of cells and of both sides of the difference."""

    recipes: list[str]
    cells: list[str]
    published: list[str]
    ours: list[str]


def table() -> list[Row]:
    """Return the rows of the document's table."""
    text = DOCUMENT.read_text().split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = []
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            *parts, reason = [re.findall(r"`([^`]+)`", column) for column in columns[:4]] + [
                columns[4].strip(" |")
            ]
            assert reason, f"no reason: {line}"
            rows.append(Row(*parts))
    return rows


def tensorflow(folder: Path, cell: dict[str, Any]) -> Published:
    """Effort 000: run_*.sh; without DALI, or with synthetic data, the script they call."""
    nodes, per_node = cell["nodes"], str(cell["devices_per_node"])
    batch, precision = str(cell["batch_size_per_device"]), cell["precision"]
    flags = {"USE_XLA": "1"} if cell["xla"] else {}
    if cell["data_backend"] == "dali":
        script = {1: "run_single_node.sh", 2: "run_two_node.sh", 4: "run_multi_node.sh"}[nodes]
        arguments = [batch, precision, "120", "1"]
        made = record(folder, ["bash", str(TENSORFLOW / script), *arguments], **flags)
        at = {"1": 0, "4": 1, "8": 2}[per_node] if nodes == 1 else 0
        return made[at]
    synthetic = [("--data_dir=${DATA_DIR}/tfrecords", "")] if cell["data"] == "synthetic" else []
    script = edited(folder / "edited", TENSORFLOW / "single_node_train.sh", *synthetic)
    arguments = ["/workspace/rn50v15_tf", "/data", per_node, "120", batch, precision, "1"]
    return record(folder, ["bash", str(script), *arguments], **flags)[0]


def time_to_train(folder: Path, cell: dict[str, Any]) -> Published:
    """Effort 001: the two commands in its report."""
    block = seed_block("001", f"--num_iter={cell['epochs']}")
    return _shell(folder, block)


def _shell(folder: Path, text: str, *arguments: str) -> Published:
    script = folder / "script.sh"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(text)
    return record(folder, ["bash", str(script), *arguments])[0]


def oneflow(folder: Path, cell: dict[str, Any]) -> Published:
    """Effort 002: the script in its report, and that of DLPerf."""
    batch, nodes, per_node = (
        str(cell[key]) for key in ("batch_size_per_device", "nodes", "devices_per_node")
    )
    if cell["recipe"] in ("dlperf", "dlperf_0_3_1"):
        script = ONEFLOW / "rn50_train.sh"
        addresses = ",".join(f"10.11.0.{place + 2}" for place in range(cell["nodes"]))
        return record(folder, ["bash", str(script), nodes, per_node, batch, addresses])[0]
    text = seed_block("002", "of_cnn_train_val.py").replace(
        "BSZ_PER_DEVICE=128", f"BSZ_PER_DEVICE={batch}"
    )
    return _shell(folder, text, nodes, per_node)


def mxnet(folder: Path, cell: dict[str, Any]) -> Published:
    """Effort 003: benchmark.py, which starts the runner."""
    dtype = {"fp32": "float32", "fp16": "float16"}[cell["precision"]]
    count = str(cell["nodes"] * cell["devices_per_node"])
    command = ["python", str(MXNET / "benchmark.py"), "--executable", str(MXNET / "runner")]
    command += ["-n", count, "-b", str(cell["batch_size_per_device"]), "--dtype", dtype]
    command += ["-o", "report", "-i", "500", "-e", "3", "-w", "1", "--num-examples", "32000"]
    return record(folder, ["env", *command, "--mode", "train"])[0]


def paddle(folder: Path, cell: dict[str, Any]) -> Published:
    """Effort 004: the scripts that run_*.sh call, with the edits that the report asks for."""
    changes = [("--use_dynamic_loss_scaling=true", "--use_dynamic_loss_scaling=false")]
    changes = changes if cell["recipe"] == "upstream_static_loss_scale" else []
    changes += [("USE_DALI=false", "USE_DALI=true")] if cell["data_backend"] == "dali" else []
    kind = "single_node_train.sh" if cell["nodes"] == 1 else "multi_node_train.sh"
    script = edited(folder / "edited", PADDLE / kind, *changes)
    arguments = ["resnet50", GPUS[str(cell["devices_per_node"])]]
    arguments += [str(cell["batch_size_per_device"]), "224"]
    if cell["nodes"] > 1:
        addresses = [f"10.11.0.{place + 2}" for place in range(cell["nodes"])]
        arguments += [",".join(addresses), addresses[0]]
    return record(folder, ["bash", str(script), *arguments, "1", _place(cell)[3]])[0]


def _place(cell: dict[str, Any]) -> tuple[str, str, str, str, list[str]]:
    """Return nodes, GPUs of a node, batch size, precision in DLPerf's words, and addresses."""
    nodes, per_node, batch = (
        str(cell[key]) for key in ("nodes", "devices_per_node", "batch_size_per_device")
    )
    precision = "fp32" if cell["precision"] == "fp32" else "fp16"
    return nodes, per_node, batch, precision, [f"10.11.0.{at + 2}" for at in range(cell["nodes"])]


def pytorch_bert(folder: Path, cell: dict[str, Any]) -> Published:
    """The script that run_*.sh call; it needs a folder that has the configuration."""
    nodes, per_node, batch, precision, _ = _place(cell)
    code = folder / "code"
    code.mkdir(parents=True)
    (code / "bert_config.json").touch()
    script = FURTHER["bert", "upstream_pytorch"] / "single_node_train.sh"
    arguments = [batch, nodes, "10.11.0.2", "29500", per_node, "150", precision, "1", "6e-3"]
    return record(folder, ["bash", str(script), *arguments, str(code)])[0]


def tensorflow_bert(folder: Path, cell: dict[str, Any]) -> Published:
    """The scripts that run_*.sh call, but for their `rm -rf /results/*`."""
    nodes, per_node, batch, precision, addresses = _place(cell)
    data = folder / "a/b/data"
    data.mkdir(parents=True)
    (data / "bert_config.json").touch()
    name = "run_pretraining_adam.sh" if nodes == "1" else "multi_node_run_pretraining_adam.sh"
    script = FURTHER["bert", "upstream_tensorflow"] / name
    script = edited(folder / "edited", script, ("rm -rf /results/*", ":"))
    arguments = ["data", per_node, batch, "120", precision, str(cell["xla"]).lower()]
    arguments += [",".join(f"{one}:8" for one in addresses)] if nodes != "1" else []
    results = str(folder / "results")
    return record(folder, ["bash", str(script), *arguments, "1"], RESULTS_DIR=results)[0]


def oneflow_bert(folder: Path, cell: dict[str, Any]) -> Published:
    """The script of all reports."""
    nodes, per_node, batch, _, addresses = _place(cell)
    script = FURTHER["bert", "upstream_oneflow"] / "bert_base_pretrain.sh"
    arguments = [nodes, per_node, batch, ",".join(addresses)]
    return record(folder, ["bash", str(script), *arguments])[0]


def paddle_bert(folder: Path, cell: dict[str, Any]) -> Published:
    """The scripts that run_*.sh call, with the edit that the report asks for."""
    nodes, per_node, batch, precision, addresses = _place(cell)
    fixed = cell["recipe"] == "upstream_paddle_static_loss_scale"
    changes = [("dynamic_loss_scaling ${use_dynamic_loss_scaling}", "dynamic_loss_scaling false")]
    name = "single_node_train.sh" if nodes == "1" else "multi_node_train.sh"
    script = FURTHER["bert", "upstream_paddle"] / name
    script = edited(folder / "edited", script, *(changes if fixed else []))
    if nodes == "1":
        arguments = ["bert_base", GPUS[per_node], batch]
    else:
        ends = [f"{one}:29500" for one in addresses]
        arguments = ["bert_base", batch, GPUS[per_node], ",".join(ends), ends[0]]
    return record(folder, ["bash", str(script), *arguments, "1", precision], python=True)[0]


def pytorch(folder: Path, cell: dict[str, Any]) -> Published:
    """The script that run_*.sh call."""
    nodes, per_node, batch, precision, addresses = _place(cell)
    script = FURTHER["pytorch", "upstream"] / "single_node_train.sh"
    arguments = ["/workspace/rn50", "/data/image", nodes, per_node, addresses[0], "29500", batch]
    command = ["bash", str(script), *arguments, "150", precision, "1"]
    return record(folder, command, python=True)[0]


def mxnet_dlperf(folder: Path, cell: dict[str, Any]) -> Published:
    """The script that run_test.sh calls; the report's second table is without --amp."""
    nodes, per_node, batch, precision, addresses = _place(cell)
    changes = [("--dtype float16 --amp", "--dtype float16")] if cell["precision"] == "fp16" else []
    script = edited(folder / "edited", FURTHER["mxnet_ngc", "dlperf"] / "runner.sh", *changes)
    variables = {f"NODE{at}": address for at, address in enumerate(addresses, 1)}
    variables["DATA_DIR"] = "/data/imagenet/train-val-recordio-passthrough"
    arguments = ["resnetv15", batch, "120", GPUS[per_node], nodes, precision, "1"]
    return record(folder, ["bash", str(script), *arguments], PORT="10001", **variables)[0]


SCRIPTS = {
    ("tensorflow_ngc", "upstream"): tensorflow,
    ("tensorflow_time2train", "upstream"): time_to_train,
    ("tensorflow_time2train", "upstream_accuracy"): time_to_train,
    ("oneflow", "upstream"): oneflow,
    ("oneflow", "dlperf"): oneflow,
    ("oneflow", "dlperf_0_1_9"): oneflow,
    ("oneflow", "dlperf_0_3_1"): oneflow,
    ("mxnet_ngc", "upstream"): mxnet,
    ("paddle", "upstream"): paddle,
    ("paddle", "upstream_static_loss_scale"): paddle,
    ("bert", "upstream_pytorch"): pytorch_bert,
    ("bert", "upstream_tensorflow"): tensorflow_bert,
    ("bert", "upstream_oneflow"): oneflow_bert,
    ("bert", "upstream_oneflow_0_2_0"): oneflow_bert,
    ("bert", "upstream_oneflow_0_2_0_without_clip"): oneflow_bert,
    ("bert", "upstream_oneflow_0_3_1"): oneflow_bert,
    ("bert", "upstream_paddle"): paddle_bert,
    ("bert", "upstream_paddle_static_loss_scale"): paddle_bert,
    ("pytorch", "upstream"): pytorch,
    ("mxnet_ngc", "dlperf"): mxnet_dlperf,
}
# What is not there is left out, with the rows of the table that are about nothing else.
ABSENT = {key for key, folder in FURTHER.items() if not folder.is_dir()}


def rendered(cell: dict[str, Any]) -> Counter[str]:
    """Return the leading node's command without the programs that keep it below its supervisor."""
    command = cell["commands"]["v1"]
    words = command["argv"]
    if "/tmp/scalebench" in words:
        words = words[words.index("/tmp/scalebench") + 1 :]
    words = words[words.index("mpirun") :] if "mpirun" in words else words
    # The parts for the other nodes have the same program.
    contexts = " \n".join(words).split(" \n: \n")
    (launcher, arguments), *others = [
        split_at_program(context.split(" \n")) for context in contexts
    ]
    assert all(other[1] == arguments for other in others)
    found = items(launcher, joined=True)
    for other in others:
        # The parts have options in common.
        found |= items(other[0], joined=True)
    return found + items(arguments, joined=False) + environment_of(command["env"])


def _matches(item: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(item, pattern) for pattern in patterns)


def values_of(cell: dict[str, Any]) -> dict[str, list[str]]:
    """Return the values that patterns of our side stand for in a cell, by option or variable."""
    nodes, each = cell["nodes"], cell["devices_per_node"]
    gpus = GPUS[str(each)]
    addresses = [f"10.11.0.{place + 2}" for place in range(nodes)]
    images = 120 * cell["batch_size_per_device"] * nodes * each
    exact = (cell["benchmark"], cell["recipe"]) != ("mxnet_ngc", "upstream")
    sources = f"/opt/scalebench/sources/{cell['benchmark']}-{cell['recipe']}"
    paddle_data = f"{sources}/models/PaddleNLP/pretrain_language_models/BERT/data/demo_config"
    return {
        "CUDA_VISIBLE_DEVICES": [gpus],
        "WORLD_SIZE": [str(nodes)],
        # NCCL takes exact names from version 2.5 on.
        "NCCL_SOCKET_IFNAME": ["=ib0" if exact else "ib0"],
        "--host": [f"{address}:{each}" for address in addresses],
        "--node_ips": [",".join(addresses)],
        "--num_examples": [str(images)],
        "--selected_gpus": [gpus],
        "--bert_config_path": [f"{paddle_data}/bert_config.json"],
        "--vocab_path": [f"{paddle_data}/vocab.txt"],
    }


def explain(
    rows: list[Row], recipe: str, name: str, published: Published, cell: dict[str, Any]
) -> tuple[set[str], set[int]]:
    """Return the differences that no row explains, and the places of the rows that explain some."""
    ours = rendered(cell)
    theirs = items(published.launcher, joined=True) + items(published.arguments, joined=False)
    theirs += environment_of(published.environment)
    gone, added = theirs - ours, ours - theirs
    # A word twice, and a value that is not that of the cell, stay unexplained whatever a row says.
    patterns = values_of(cell)
    wrong = {f"+ {item}, {count} times more" for item, count in added.items() if count > 1}
    used = set()
    for place, row in enumerate(rows):
        if not (_matches(recipe, row.recipes) and _matches(name, row.cells)):
            continue
        before = {item for item in gone if _matches(item, row.published)}
        after = {item for item in added if _matches(item, row.ours)}
        if bool(before) == bool(row.published) and bool(after) == bool(row.ours):
            used.add(place)
            gone, added = set(gone) - before, set(added) - after
            for option in (pattern.split("=")[0] for pattern in row.ours if "*" in pattern):
                found = {item for item in after if item.startswith(f"{option}=")}
                exact = {f"{option}={value}" for value in patterns[option]}
                wrong |= {f"~ {item}" for item in found ^ exact}
    return wrong | {f"- {item}" for item in gone} | {f"+ {item}" for item in added}, used


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Return by recipe the unexplained differences of its cells, and the rows that were used."""
    rows, used, unexplained = table(), set(), {}
    for key, script in SCRIPTS.items():
        unexplained[key] = {}
        if key in ABSENT:
            continue
        folder = tmp_path_factory.mktemp("scripts")
        for place, (name, cell) in enumerate(cells(*key).items()):
            published = script(folder / str(place), cell)
            left, of_cell = explain(rows, " ".join(key), name, published, cell)
            used |= of_cell
            unexplained[key].update({name: left} if left else {})
    return unexplained, used


@pytest.mark.parametrize("key", SCRIPTS, ids="-".join)
def test_every_difference_from_the_published_command_is_documented(key, compared):
    if key in ABSENT:
        pytest.skip(f"not there: {FURTHER[key]}")
    assert compared[0][key] == {}


def test_every_row_of_the_table_describes_a_difference(compared):
    rows = table()
    there = [" ".join(key) for key in SCRIPTS if key not in ABSENT]
    about = [row for row in rows if any(_matches(name, row.recipes) for name in there)]
    assert [row for row in about if rows.index(row) not in compared[1]] == []
    assert len(rows) > 20


@pytest.mark.parametrize("key", SCRIPTS, ids="-".join)
def test_patches_and_images_are_those_of_the_published_files(key):
    used = recipe(*key)
    for source in used["sources"]:
        owner = "+".join(source["repository"].rsplit("/", 2)[1:])
        folder = SHARED / f"upstream/{owner}@{source['version'][:12]}"
        if folder.is_dir() and key not in ABSENT:
            for patch in source.get("patches", ()):
                lines = (folder / patch["file"]).read_text().splitlines()
                assert lines[patch["line"] - 1].strip() == patch["from"]
            if "container" in used:
                name, _, build = used["container"]["build"].partition("/")
                assert name == source["name"]
                dockerfile = (folder / build / "Dockerfile").read_text()
                for patch in source.get("patches", ()):
                    dockerfile = dockerfile.replace(patch["from"], patch["to"])
                assert used["container"]["image"] in dockerfile
