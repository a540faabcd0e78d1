"""What sharding must not change: number formats and weights; and what is gathered together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch_trainers import FOLDER, fork, losses

SHORT = ("--warmup=1", "--iterations=2", "--device=cpu", "--sequence-length=8")
# The trainer itself, and beside it the formats of every module's weights and results, in the
# forward pass, and of what the optimiser has.
WATCHED = """
import json, os
from pathlib import Path
from common.figures import FirstStep
from common.process import end_now
import torch
from transformer import training, {trainer}
found = {{}}
def note(*what):
    found[" ".join(map(str, what))] = None
class Watched(training.Step):
    def __init__(self, model, *rest):
        super().__init__(model, *rest)
        for module in model.modules():
            module.register_forward_pre_hook(before)
            module.register_forward_hook(after)
    def __call__(self, *inputs):
        loss = super().__call__(*inputs)
        for weight in self.weights:
            state = {{key: value.dtype for key, value in self.optimizer.state[weight].items()}}
            note("kept", weight.dtype, weight.grad.dtype, sorted(map(str, state.items())))
        return loss
def before(module, inputs):
    for name, weight in module.named_parameters(recurse=False):
        note("forward", type(module).__name__.removeprefix("FSDP"), name, weight.dtype)
def after(module, inputs, result):
    if isinstance(result, torch.Tensor) and result.dim():
        note("result", type(module).__name__.removeprefix("FSDP"), result.dtype)
training.Step = Watched
status = {trainer}.main(FirstStep())
own = "{{WORLD_SIZE}}-{{RANK}}.json".format(**{{"WORLD_SIZE": 1, "RANK": 0, **os.environ}})
Path(__file__).with_name(own).write_text(json.dumps(sorted(found)))
end_now(status)
"""
TRAINERS = ("train_decoder", "train_bert")


def started(folder: Path, program: str, *options: str, ranks: int = 1):
    """Run a program on so many ranks."""
    file = folder / "program.py"
    file.write_text(program)
    return fork(file, *options, ranks=ranks, PYTHONPATH=str(FOLDER))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_one_rank_computes_in_the_formats_of_two(tmp_path, trainer):
    """Else a speed-up compares two programs: autocast keeps sums and norms in fp32."""
    trained = {}
    for ranks in (1, 2):
        options = (*SHORT, "--sharding=fsdp", "--precision=bf16", f"--batch-size={4 // ranks}")
        program = WATCHED.format(trainer=trainer)
        ended = started(tmp_path, program, *options, ranks=ranks)
        assert ended.returncode == 0, ended.stderr
        trained[ranks] = losses(ended.stdout)
    found, *others = (
        json.loads((tmp_path / f"{rank}.json").read_text()) for rank in ("1-0", "2-0", "2-1")
    )
    assert others == [found, found]
    assert "forward Linear weight torch.bfloat16" in found
    assert "result Embedding torch.bfloat16" in found
    assert all(
        line.startswith("kept torch.float32 torch.float32") for line in found if "kept" in line
    )
    assert trained[1] == pytest.approx(trained[2], abs=0.01)


GATHERED = """
import json, torch
from common import pytorch_ranks as ranks
from torch.distributed.tensor import DTensor
from transformer.sizes import Size
from transformer.decoder import Decoder
from transformer.training import shard
with torch.device("meta"):
    model = Decoder(Size(2, 32, 4, 2, 48, 64), 16)
shard(model, "bf16", torch.device("cpu"))
model.to_empty(device="cpu")
model.initialise(1)
PARTS = {"embedding": model.embedding, "block": model.blocks[0].feed_forward.gate,
         "norm": model.norm, "classifier": model.classifier}
def gathered():
    return [name for name, part in PARTS.items() if not isinstance(part.weight, DTensor)]
seen = {}
model.embedding.register_forward_pre_hook(lambda *_: seen.update(embedding=gathered()))
PARTS["block"].register_forward_pre_hook(lambda *_: seen.update(block=gathered()))
model.norm.register_forward_pre_hook(lambda *_: seen.update(norm=gathered()))
tokens = torch.zeros(2, 16, dtype=torch.long)
loss = model(tokens, tokens)
seen["after"] = gathered()
loss.backward()
seen["end"] = gathered()
print(json.dumps(seen))
"""


def test_embedding_and_classifier_are_gathered_apart(tmp_path):
    """Each when it is needed; what the backward pass begins with stays."""
    ended = started(tmp_path, GATHERED)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "embedding": ["embedding"],
        "block": ["block"],
        "norm": ["norm", "classifier"],
        "after": ["norm", "classifier"],
        "end": [],
    }


DIFFERENT_SEED = """
import os, sys
from common.figures import FirstStep
from common.process import end_now
from transformer import train_decoder
sys.argv.append("--seed=" + os.environ["RANK"])
end_now(train_decoder.main(FirstStep()))
"""
# A stand-in for a collective that delivers something else: rank 1 gathers one number changed.
CHANGED = """
import os
from common.figures import FirstStep
from common.process import end_now
from torch.distributed.tensor import DTensor
from transformer import train_decoder
whole = DTensor.full_tensor
def changed(self, **options):
    tensor = whole(self, **options).clone()
    if os.environ["RANK"] == "1":
        tensor[-1] += 1e-6
    return tensor
DTensor.full_tensor = changed
end_now(train_decoder.main(FirstStep()))
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (DIFFERENT_SEED, "the first weights of ranks 1 are not those of rank 0"),
        (CHANGED, "rank 1 gathers other weights than ranks 1 hold"),
    ],
    ids=["drawn", "gathered"],
)
def test_sharded_ranks_without_the_same_weights_are_told(tmp_path, program, words):
    ended = started(tmp_path, program, *SHORT, "--sharding=fsdp", "--batch-size=1", ranks=2)
    assert ended.returncode != 0
    assert '"kind":"weights_differ"' in ended.stdout
    assert words in ended.stdout
