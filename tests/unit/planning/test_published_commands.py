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
    if cell["recipe"] == "dlperf":
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
    return record(folder, ["bash", str(script), *arguments, "1", cell["precision"]])[0]


SCRIPTS = {
    ("tensorflow_ngc", "upstream"): tensorflow,
    ("tensorflow_time2train", "upstream"): time_to_train,
    ("tensorflow_time2train", "upstream_accuracy"): time_to_train,
    ("oneflow", "upstream"): oneflow,
    ("oneflow", "dlperf"): oneflow,
    ("oneflow", "dlperf_0_1_9"): oneflow,
    ("mxnet_ngc", "upstream"): mxnet,
    ("paddle", "upstream"): paddle,
    ("paddle", "upstream_static_loss_scale"): paddle,
}


def rendered(cell: dict[str, Any]) -> Counter[str]:
    """Return the leading node's command without the programs that keep it below its supervisor."""
    command = cell["commands"]["v1"]
    words = command["argv"]
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
    return {
        "CUDA_VISIBLE_DEVICES": [gpus],
        "WORLD_SIZE": [str(nodes)],
        # NCCL takes exact names from version 2.5 on.
        "NCCL_SOCKET_IFNAME": ["ib0" if cell["benchmark"] == "mxnet_ngc" else "=ib0"],
        "--host": [f"{address}:{each}" for address in addresses],
        "--node_ips": [",".join(addresses)],
        "--num_examples": [str(images)],
        "--selected_gpus": [gpus],
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
        folder = tmp_path_factory.mktemp("scripts")
        for place, (name, cell) in enumerate(cells(*key).items()):
            published = script(folder / str(place), cell)
            left, of_cell = explain(rows, " ".join(key), name, published, cell)
            used |= of_cell
            unexplained[key].update({name: left} if left else {})
    return unexplained, used


@pytest.mark.parametrize("key", SCRIPTS, ids="-".join)
def test_every_difference_from_the_published_command_is_documented(key, compared):
    assert compared[0][key] == {}


def test_every_row_of_the_table_describes_a_difference(compared):
    rows = table()
    assert [row for place, row in enumerate(rows) if place not in compared[1]] == []
    assert len(rows) > 20


@pytest.mark.parametrize("key", SCRIPTS, ids="-".join)
def test_patches_and_images_are_those_of_the_published_files(key):
    used = recipe(*key)
    for source in used["sources"]:
        owner = "+".join(source["repository"].rsplit("/", 2)[1:])
        folder = SHARED / f"upstream/{owner}@{source['version'][:12]}"
        if folder.is_dir():
            for patch in source.get("patches", ()):
                lines = (folder / patch["file"]).read_text().splitlines()
                assert lines[patch["line"] - 1].strip() == patch["from"]
            if "container" in used:
                name, _, build = used["container"]["build"].partition("/")
                assert name == source["name"]
                assert used["container"]["image"] in (folder / build / "Dockerfile").read_text()
