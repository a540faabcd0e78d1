"""The BERT trainer itself, run by an interpreter that has PyTorch."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import flops_per_token
from torch_trainers import FOLDER, facts, fork, losses, run

TRAINER = "transformer/train_bert.py"
SHORT = ("--warmup=1", "--iterations=5", "--device=cpu", "--sequence-length=32")
# Trains on a text in which the same byte is around most bytes.
OF_RUNS = f"""
import runpy
import transformer.tokens
transformer.tokens.own_sources = lambda: bytes(97 + place // 300 for place in range(7800))
runpy.run_path({TRAINER!r}, run_name="__main__")
"""


def answers(script: str) -> list[str]:
    """Return the lines that a script prints which has the model's names."""
    head = (
        "import torch\n"
        "from transformer.bert import Bert\n"
        "from transformer.bert_recipe import SIZES, prediction_slots, sequence_flops\n"
    )
    ended = fork("-c", head + script)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_the_parameters_are_those_that_were_published():
    """Base and large with both heads; Turc et al. 2019, table 1, has 4.4 and 110.1 million.

    Without the heads the encoder of base has 109,482,240: what is more are the transformation
    before the output layer (590,592 and 1,536), the words' biases (30,522), and the next sentence
    (1,538). The matrix of the output layer is that of the embedding.
    """
    counted = answers(
        "for name, vocabulary in [*((name, 30522) for name in SIZES), ('base', 30528)]:\n"
        "    with torch.device('meta'):\n"
        "        model = Bert(SIZES[name], vocabulary)\n"
        "    size, tables = SIZES[name], (model.words, model.places, model.segments)\n"
        "    print(name, sum(weight.numel() for weight in model.parameters()),\n"
        "          sum(table.weight.numel() for table in tables),\n"
        "          size.parameters(vocabulary), size.embedding_parameters(vocabulary))\n",
    )
    assert counted == [
        "tiny 4433468 3972608 4433468 3972608",
        "base 110106428 23835648 110106428 23835648",
        "large 336226108 31780864 336226108 31780864",
        "base 110111042 23840256 110111042 23840256",
    ]


def test_the_operations_are_those_that_pytorch_counts():
    """In the math form of attention, and on the meta device: PyTorch counts none on a CPU."""
    lines = answers(
        "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        "for name, length in (('tiny', 128), ('tiny', 512), ('base', 128), ('large', 512)):\n"
        "    slots = prediction_slots(length)\n"
        "    with torch.device('meta'), sdpa_kernel(SDPBackend.MATH):\n"
        "        model = Bert(SIZES[name], 30522)\n"
        "        tokens = torch.zeros(2, length, dtype=torch.long)\n"
        "        masked = torch.zeros(2, slots, dtype=torch.long)\n"
        "        with FlopCounterMode(display=False) as counter:\n"
        "            loss = model(tokens, tokens, masked, masked, tokens[:, 0])\n"
        "            loss.backward()\n"
        "    counted = counter.get_total_flops() / 2\n"
        "    print(counted == sequence_flops(SIZES[name], length, 30522), counted)\n",
    )
    assert lines == [
        "True 823205376.0",
        "True 3825884160.0",
        "True 69928989696.0",
        "True 1019952685056.0",
    ]


def test_one_rank_learns_without_warnings(python):
    ended = run([python, TRAINER, *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    header = facts(ended.stdout, "header")
    assert (header["world_size"], header["backend"]) == (1, None)
    assert header["model"]["parameters"] == 4433468
    own = {"model_size": "tiny", "sequence_length": 32, "sharding": "ddp"}
    assert header["own_factors"] == {
        **own,
        **dict.fromkeys(("text", "dropout", "activation_checkpointing", "compile"), False),
    }
    # At first every word and both answers are as likely: ln 30522 + ln 2.
    assert losses(ended.stdout)[0] == pytest.approx(11.02, abs=0.15)
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 0.3
    assert " sequences/s " in ended.stdout


def test_it_learns_more_of_a_text_than_how_frequent_its_bytes_are():
    """Of a text that is soon learnt: how much it learns of the trainers' sources, in 300 steps,
    changes with each edit of them.
    """
    words = ("--iterations=100", "--batch-size=16", "--learning-rate=0.003", "--text")
    ended = fork("-c", OF_RUNS, *SHORT, *words)
    assert ended.returncode == 0, ended.stderr
    known = facts(ended.stdout, "header")["text_entropy"] + math.log(2)
    assert known == pytest.approx(math.log(26) + math.log(2), abs=1e-5)
    assert statistics.fmean(losses(ended.stdout)[-10:]) < known - 0.5


def test_the_figures_follow_from_the_steps_and_the_header():
    """Each again by the project's own formulas, from the header and the printed times."""
    ended = fork(TRAINER, *SHORT)
    model, found = facts(ended.stdout, "header")["model"], facts(ended.stdout, "end")["figures"]
    times = [float(line.split()[10]) for line in ended.stdout.splitlines() if " step_time " in line]
    rate = 4 * 5 / sum(times[1:])
    done = 32 * flops_per_token("bert_pretraining", model) * rate
    assert found["flops_per_second"] == pytest.approx(done, rel=1e-4)
    share = done / found["peak_flops_per_second"]
    assert found["mfu"] == {"stated": pytest.approx(share, rel=1e-4)}
    assert found["step_seconds_p50"] == pytest.approx(sorted(times[1:])[2], abs=1e-6)
    assert set(found["first_step"]) == {"launch", "import", "build", "first_step"}


@pytest.fixture(scope="module")
def alone():
    """Return what one rank prints."""
    return fork(TRAINER, *SHORT, "--batch-size=4", "--text").stdout


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        (TRAINER, ["the highest, to which it rises over the first 1% of the steps", "falls to 0"]),
        ("transformer/train_decoder.py", ["constant; unset: that of the size"]),
        ("resnet50/train_pytorch.py", ["constant; unset: 0.256 for every 256 images"]),
    ],
)
def test_the_help_says_what_the_learning_rate_does(trainer, words):
    ended = subprocess.run(
        [sys.executable, FOLDER / trainer, "--help"], capture_output=True, text=True, check=False
    )
    (help_text,) = [
        " ".join(part.split())
        for part in ended.stdout.split("\n  --")
        if "learning-rate" in part[:15]
    ]
    assert all(word in help_text for word in words), help_text
    assert ("constant" in help_text) == ("constant" in words[0])


def by_two_ranks(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Train on the global batch of `alone` by two ranks."""
    return fork(TRAINER, *SHORT, "--batch-size=2", "--text", *arguments, ranks=2)


@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_two_ranks_have_the_loss_of_one_at_the_same_global_batch(alone, sharding):
    together = by_two_ranks(f"--sharding={sharding}")
    assert together.returncode == 0, together.stderr
    assert len(losses(alone)) == 6
    assert losses(together.stdout) == pytest.approx(losses(alone), abs=2e-5)
    header, end = facts(together.stdout, "header"), facts(together.stdout, "end")
    assert (header["global_batch_size"], header["backend"]) == (4, "gloo")
    assert end["weights_equal"] is True


def test_sharded_weights_that_are_gathered_as_bf16_lose_little(alone):
    together = by_two_ranks("--sharding=fsdp", "--precision=bf16")
    assert together.returncode == 0, together.stderr
    assert losses(together.stdout) != losses(alone)
    assert losses(together.stdout) == pytest.approx(losses(alone), abs=0.03)


def test_another_seed_has_another_loss(alone):
    other = fork(TRAINER, *SHORT, "--batch-size=4", "--text", "--seed=2")
    assert losses(other.stdout) != pytest.approx(losses(alone), abs=2e-3)


def test_checkpointing_changes_no_loss(alone):
    again = fork(TRAINER, *SHORT, "--batch-size=4", "--text", "--activation-checkpointing")
    assert losses(again.stdout) == pytest.approx(losses(alone), abs=2e-5)


def test_compiled_blocks_have_the_same_loss(python, alone, tmp_path):
    """By Inductor, the default, whose C++ is compiled here: its files are looked for."""
    ended = run(
        [
            # Without its pool of processes, each of which imports PyTorch, and without the programs
            # that try this CPU's instructions, half of the time.
            *("env", f"TORCHINDUCTOR_CACHE_DIR={tmp_path}", "TORCHINDUCTOR_COMPILE_THREADS=1"),
            "TORCHINDUCTOR_VEC_ISA_OK=1",
            *(python, TRAINER, *SHORT),
            *("--batch-size=4", "--text", "--compile"),
        ]
    )
    if "--compile needs" in ended.stderr:
        pytest.skip(ended.stderr.splitlines()[-1])
    assert ended.returncode == 0, ended.stderr
    assert list(tmp_path.rglob("*.so")) and list(tmp_path.rglob("*.cpp"))
    assert facts(ended.stdout, "header")["own_factors"]["compile"] is True
    assert losses(ended.stdout) == pytest.approx(losses(alone), abs=2e-4)


@pytest.mark.parametrize("precision", ["amp", "bf16"])
def test_other_precisions_are_autocast(precision):
    # Few: without AVX-512 PyTorch takes fifty times as long for bf16.
    ended = fork(TRAINER, *SHORT, "--iterations=1", f"--precision={precision}", "--dropout")
    assert (ended.returncode, ended.stderr) == (0, "")
    header = facts(ended.stdout, "header")
    assert (header["precision"], header["autocast_dtype"]) == (precision, "bfloat16")
    assert header["own_factors"]["dropout"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sequence-length=513"], "--sequence-length 513: BERT has 512 positions"),
        (["--sequence-length=7"], "two segments need 8"),
        (["--vocabulary=1000"], "--vocabulary 1000: at least 30522"),
        (["--size=small"], "--size: invalid choice: 'small'"),
        (["--precision=amp", "--sharding=fsdp"], "--precision amp does not scale the loss"),
    ],
)
def test_a_bad_value_is_named(arguments, words):
    ended = subprocess.run(
        [sys.executable, FOLDER / TRAINER, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert words in ended.stderr
