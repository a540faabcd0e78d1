"""The published programs' own argument parsers take every rendered cell."""

from __future__ import annotations

import json
import subprocess
import sys

import parse_published
import pytest
from published_commands import SHARED, split_at_program
from upstream_data import cells

UPSTREAM = SHARED / "upstream"
EXAMPLES = "NVIDIA+DeepLearningExamples@"
CONVNETS = "TensorFlow/Classification/ConvNets"
PARSERS = {
    ("tensorflow_ngc", "upstream"): ("tensorflow", f"{EXAMPLES}fed7ba99cde9/{CONVNETS}"),
    ("tensorflow_time2train", "upstream"): ("tensorflow", f"{EXAMPLES}99b1c898cead/{CONVNETS}"),
    ("tensorflow_time2train", "upstream_accuracy"): (
        "tensorflow",
        f"{EXAMPLES}99b1c898cead/{CONVNETS}",
    ),
    ("mxnet_ngc", "upstream"): (
        "mxnet",
        f"{EXAMPLES}99b1c898cead/MxNet/Classification/RN50v1.5",
    ),
    ("paddle", "upstream"): (
        "paddle",
        "PaddlePaddle+models@b71cf6322ad8/PaddleCV/image_classification",
    ),
    ("paddle", "upstream_static_loss_scale"): (
        "paddle",
        "PaddlePaddle+models@b71cf6322ad8/PaddleCV/image_classification",
    ),
}
BERT_OF_ONEFLOW = "Oneflow-Inc+OneFlow-Benchmark@{}/LanguageModeling/BERT"
BERT_OF_PADDLE = "PaddlePaddle+models@b71cf6322ad8/PaddleNLP/pretrain_language_models/BERT"
# These programs may not be in ../shared; test_published_options.py has their options' names.
PARSERS.update(
    {
        ("mxnet_ngc", "dlperf"): (
            "mxnet",
            f"{EXAMPLES}e470c2150abf/MxNet/Classification/RN50v1.5",
        ),
        ("pytorch", "upstream"): (
            "pytorch",
            f"{EXAMPLES}5cc03caa153f/PyTorch/Classification/ConvNets",
        ),
        ("bert", "upstream_pytorch"): (
            "pytorch_bert",
            f"{EXAMPLES}793b92dca704/PyTorch/LanguageModeling/BERT",
        ),
        ("bert", "upstream_tensorflow"): (
            "tensorflow_bert",
            f"{EXAMPLES}fed7ba99cde9/TensorFlow/LanguageModeling/BERT",
        ),
        ("bert", "upstream_oneflow"): ("oneflow_bert", BERT_OF_ONEFLOW.format("8a78044ae126")),
        ("bert", "upstream_oneflow_0_2_0"): (
            "oneflow_bert",
            BERT_OF_ONEFLOW.format("638d8f42aa06"),
        ),
        ("bert", "upstream_oneflow_0_2_0_without_clip"): (
            "oneflow_bert",
            BERT_OF_ONEFLOW.format("638d8f42aa06"),
        ),
        ("bert", "upstream_oneflow_0_3_1"): (
            "oneflow_bert",
            BERT_OF_ONEFLOW.format("854ddd06b49d"),
        ),
        ("bert", "upstream_paddle"): ("paddle_bert", BERT_OF_PADDLE),
        ("bert", "upstream_paddle_static_loss_scale"): ("paddle_bert", BERT_OF_PADDLE),
    }
)
# Options of OneFlow-Benchmark by commit: a list in ../shared, which leaves out calls over several
# lines. These were read in Classification/cnns/config.py at the same commits.
SEVERAL_LINES = {"--use_fp16", "--channel_last", "--loss_print_every_n_iter"}
ONEFLOW = {
    "upstream": ("892f87e6cb39", SEVERAL_LINES),
    "dlperf_0_1_9": ("8a78044ae126", SEVERAL_LINES),
    "dlperf": (
        "638d8f42aa06",
        {*SEVERAL_LINES, "--use_xla", "--pad_output", "--fuse_bn_relu", "--fuse_bn_add_relu"},
    ),
}
# An abbreviation of --num_epochs, which argparse completes.
ABBREVIATED = {"--num_epoch"}
# NVIDIA's main.py has --momentum.
WRITTEN_OUT = {"--mom=0.125": "--momentum=0.125"}


def arguments(benchmark: str, recipe: str) -> dict[str, list[str]]:
    """Return the program's arguments on the leading node, by cell."""
    made = {}
    for name, cell in cells(benchmark, recipe).items():
        words = cell["commands"]["v1"]["argv"]
        words = words[words.index("mpirun") :] if "mpirun" in words else words
        words = words[: words.index(":")] if ":" in words else words
        words = split_at_program(words)[1]
        made[name] = [WRITTEN_OUT.get(word, word) for word in words]
    return made


def refusals(kind: str, folder: str, commands: dict[str, list[str]]) -> dict[str, str]:
    """Return what the published parser says of the commands that it refuses."""
    place = UPSTREAM / folder
    if not place.is_dir():
        pytest.skip(f"not there: {place}")
    asked = {"kind": kind, "folder": str(place), "commands": list(commands.values())}
    done = subprocess.run(
        [sys.executable, "-B", parse_published.__file__],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = zip(commands, json.loads(done.stdout))
    return {name: answer for name, answer in answers if answer}


@pytest.mark.parametrize(("key", "parser"), PARSERS.items(), ids="-".join)
def test_the_published_parser_takes_every_cell(key, parser):
    assert refusals(*parser, arguments(*key)) == {}


@pytest.mark.parametrize(("key", "parser"), PARSERS.items(), ids="-".join)
def test_the_published_parser_refuses_what_it_does_not_know(key, parser):
    first = next(iter(arguments(*key).values()))
    wrong = {"unknown": [*first, "--no_such_option=1"], "abbreviated": [*first, "--batch"]}
    assert set(refusals(*parser, wrong)) == {"unknown", "abbreviated"}


@pytest.mark.parametrize(("recipe", "source"), ONEFLOW.items())
def test_every_option_is_one_of_oneflow_benchmark(recipe, source):
    commit, more = source
    listed = SHARED / f"data/vocabulary/oneflow-benchmark-{commit}.txt"
    if not listed.exists():
        pytest.skip(f"not there: {listed}")
    known = {*listed.read_text().split(), *more, *ABBREVIATED}
    for words in arguments("oneflow", recipe).values():
        assert {word.partition("=")[0] for word in words} <= known


def test_the_commit_that_the_report_names_refuses_the_later_script():
    """Why recipe dlperf is at the tag, and not at 8a78044."""
    listed = SHARED / "data/vocabulary/oneflow-benchmark-8a78044ae126.txt"
    if not listed.exists():
        pytest.skip(f"not there: {listed}")
    known = {*listed.read_text().split(), *SEVERAL_LINES, *ABBREVIATED}
    given = {
        word.partition("=")[0]
        for words in arguments("oneflow", "dlperf").values()
        for word in words
    }
    assert {"--optimizer", "--momentum", "--label_smoothing"} <= given - known
