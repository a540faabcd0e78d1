"""BERT: what the published programs print, and what DLPerf's own extractors make of it.

DLPerf's logs are archives on a server, so no real log is here: the programs' own printing code runs
with invented times (``published_bert_printers.py``). Programs and scripts are those of
``shared/upstream`` beside this tree.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_log_tree
from log_lines import lines
from published_commands import SHARED

UPSTREAM = SHARED / "upstream"
DLPERF = UPSTREAM / "Oneflow-Inc+DLPerf@c89430bac64f"
NVIDIA = "NVIDIADeepLearningExamples/{}"
PRINTERS = Path(__file__).parents[1] / "published_bert_printers.py"


class Program(NamedTuple):
    """A published trainer, its arguments for a cell, and DLPerf's scripts with our rules."""

    folder: str
    arguments: str
    log: str
    scripts: dict[str, str]


PROGRAMS = {
    "tensorflow": Program(
        "NVIDIA+DeepLearningExamples@fed7ba99cde9/TensorFlow/LanguageModeling/BERT",
        "--train_batch_size={batch} --num_train_steps=120",
        "bert_b{batch}_fp32_{repeat}.log",
        {
            NVIDIA.format("TensorFlow/LanguageModeling/BERT/extract_tensorflow_logs.py"): (
                "dlperf_bert_tensorflow"
            ),
            NVIDIA.format("TensorFlow/LanguageModeling/BERT/extract_tensorflow_logs_time.py"): (
                "dlperf_bert_tensorflow_time"
            ),
        },
    ),
    "pytorch": Program(
        "NVIDIA+DeepLearningExamples@793b92dca704/PyTorch/LanguageModeling/BERT",
        "--train_batch_size={batch} --max_steps=150",
        "bert-base-adam-training_b{batch}_fp32_{repeat}.log",
        {NVIDIA.format("PyTorch/BERT/extract_pytorch_logs_time.py"): "dlperf_bert_pytorch"},
    ),
    "paddle": Program(
        "PaddlePaddle+models@b71cf6322ad8/PaddleNLP/pretrain_language_models/BERT",
        "--is_distributed {several} --batch_size {tokens} --max_seq_len 128 --skip_steps 1"
        " --num_train_steps 120 --verbose true",
        "bert_b{batch}_fp32_{repeat}.log",
        {"PaddlePaddle/bert/extract_paddle_logs.py": "dlperf_bert_paddle"},
    ),
    "oneflow": Program(
        "Oneflow-Inc+OneFlow-Benchmark@638d8f42aa06/LanguageModeling/BERT",
        "--batch_size_per_device={batch} --iter_num=140 --loss_print_every_n_iter=20"
        " --num_nodes={nodes} --gpu_num_per_node={per_node} --data_dir=/data",
        "bert_base_b{batch}_fp32_{repeat}.log",
        {"OneFlow/LanguageModeling/BERT/extract_bert_result.py": "dlperf_bert_oneflow"},
    ),
}
PAIRS = [(name, script) for name, program in PROGRAMS.items() for script in program.scripts]
CASES = {"1n1g": (1, 1), "2n8g": (2, 8)}


def printed(name, seconds, nodes, per_node, batch=32):
    """Return what rank 0 of a program prints."""
    program = PROGRAMS[name]
    folder = UPSTREAM / program.folder
    for needed in (folder, DLPERF / "OneFlow/LanguageModeling", DLPERF / "PaddlePaddle/bert"):
        if not needed.is_dir():
            pytest.skip(f"not there: {needed}")
    ends = [f"10.11.0.{at + 2}:9999" for at in range(nodes)]
    environment = {
        **os.environ,
        **{"RANK": "0", "SIZE": str(nodes * per_node), "DEVICES": str(per_node)},
        **{"worker_endpoints": ",".join(ends), "current_endpoint": ends[0]},
        "BESIDE": str(UPSTREAM / "NVIDIA+dllogger@0478734ff7be"),
    }
    given = program.arguments.format(
        batch=batch,
        tokens=batch * 128,
        several=str(nodes > 1).lower(),
        nodes=nodes,
        per_node=per_node,
    )
    command = [sys.executable, str(PRINTERS), name, str(folder), str(seconds), *given.split()]
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def extracted(script, folder, tmp_path):
    """Return the throughput of each case that DLPerf's script gives."""
    command = [sys.executable, str(DLPERF / script)]
    if script.startswith("OneFlow"):
        command.append(f"--benchmark_log_dir={folder}")
    else:
        # PyTorch's report gives the script these, and not its defaults; others have no others.
        command += [f"--log_dir={folder}", f"--output_dir={tmp_path}"]
        command += ["--warmup_batches=20", "--train_batches=120"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if script.startswith("OneFlow"):
        table = done.stdout.split("Filtered Result")[1]
        rows = re.findall(r"\| (\d) \| (\d) \| \d+ \| ([\d.]+) \| ([\d.]+) \|", table)
        return {f"{n}n{g}g": (float(speed), float(up)) for n, g, speed, up in rows}
    (models,) = json.loads((tmp_path / f"{folder.name}_result.json").read_text()).values()
    return {case: (made["median_speed"], made["speedup"]) for case, made in models.items()}


@pytest.mark.parametrize(("name", "script"), PAIRS)
def test_our_rule_gives_the_figures_of_dlperfs_script(name, script, tmp_path):
    folder = tmp_path / "bert"
    for case, (nodes, per_node) in CASES.items():
        (folder / case).mkdir(parents=True)
        for repeat in (1, 2):
            seconds = 0.2 + 0.013 * repeat + 0.01 * nodes * per_node
            log = PROGRAMS[name].log.format(batch=32, repeat=repeat)
            (folder / case / log).write_text(printed(name, seconds, nodes, per_node))
    theirs = extracted(script, folder, tmp_path)
    results = read_log_tree(str(folder), PROGRAMS[name].scripts[script], {}).results
    ours = {cell["topology"]: cell for cell in results["cells"]}
    assert ours.keys() == theirs.keys() == CASES.keys()
    for case, cell in ours.items():
        assert {one["ending"]: one["reason"] for one in cell["repeats"]} == {"ok": ""}
        assert (cell["median_speed"], cell["speedup"]) == theirs[case]
        assert {one["unit"] for one in cell["repeats"]} == {"sequences/s"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("fp16=True, loss_scale=0.0", "dynamic"),
        ("fp16=True, loss_scale=128.0", "static"),
        ("fp16=False, loss_scale=0.0", None),
        ("fp16=True", None),
    ],
)
def test_pytorchs_arguments_say_how_the_loss_is_scaled(options, expected):
    head = f'DLL 2020-09-24 02:12:08.99 - PARAMETER Config : ["Namespace(amp=False, {options})"]\n'
    assert (
        logs.read(head + "".join(lines("bert_pytorch")))["identity"].get("loss_scaling") == expected
    )


def test_oneflows_rule_on_the_lines_that_dlperf_shows():
    """Two real lines and the settings, in the docstring of extract_bert_result.py."""
    text = (
        "batch_size_per_device = 24\ngpu_num_per_node = 1\nnum_nodes = 1\n"
        "step: 19, total_loss: 9.725, mlm_loss: 8.960, nsp_loss: 0.766, throughput: 54.982"
        " 1598056519.8844702\n"
        "step: 119, total_loss: 8.010, mlm_loss: 7.331, nsp_loss: 0.679, throughput: 139.896"
        " 1598056537.0029895\n"
    )
    found = strategies.apply(logs.read(text), "auto")
    assert (found["strategy"]["name"], found["throughput"]) == ("dlperf_bert_oneflow", 140.2)


def test_paddles_steps_are_nothing_without_the_batch_of_a_node():
    text = (
        "epoch: 1, progress: 1/1, step: 1, loss: 10.6, ppl: 19930.37, next_sent_acc: 0.5,"
        " speed: 4.000000 steps/s, file: demo_wiki_train_50.gz\n"
    ) * 3
    with pytest.raises(ValueError, match="no throughput printed"):
        strategies.apply(logs.read(text), "mean")
    known = {"batch_size_per_device": 32, "world_size": 16, "nodes": 2}
    # Those of all nodes, so that they count with the sequences of one.
    assert strategies.apply(logs.read(text, known=known), "mean")["throughput"] == 4 * 32 * 8
    del known["nodes"]
    with pytest.raises(ValueError, match="no throughput printed"):
        strategies.apply(logs.read(text, known=known), "mean")
    stated = logs.read(f"Device count 8\n{text}", known=known)
    assert strategies.apply(stated, "mean")["throughput"] == 4 * 32 * 8
    alone = logs.read(text, known={**known, "world_size": 1})
    assert strategies.apply(alone, "mean")["throughput"] == 4 * 32
