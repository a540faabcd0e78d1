"""The PyTorch trainer itself, run by an interpreter that has PyTorch."""

from __future__ import annotations

import ast
import json
import os
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import nvidia_smi
from torch_trainers import FOLDER, facts, fork, losses, run
from trainers import LONG, free_port

SHORT = ("--warmup=1", "--iterations=5", "--device=cpu")
# torch.cuda stands in for GPUs that this machine lacks: their number, names and capabilities.
STAND_IN_GPUS = """
import sys
from types import SimpleNamespace
import torch
from common import pytorch_ranks
from common.ranks import Place
from common.report_lines import StoppedError

def fail(reason):
    raise RuntimeError(reason)

torch.version.cuda = torch.version.cuda or "13.0"
pytorch_ranks.GPU_SIGNS = ("/proc",)
def use(architectures, *gpus, reason=""):
    torch.cuda.init = (lambda: fail(reason)) if reason else lambda: None
    torch.cuda.device_count = lambda: len(gpus)
    torch.cuda.get_arch_list = lambda: architectures
    torch.cuda.get_device_properties = lambda index: gpus[index]
    torch.cuda.get_device_capability = lambda device: (gpus[0].major, gpus[0].minor)
    torch.cuda.get_device_name = lambda device: gpus[0].name
def show(action, *arguments):
    try:
        print(action(*arguments))
    except StoppedError as error:
        print(error.kind, error)
V100 = SimpleNamespace(name="Tesla V100-SXM2-16GB", major=7, minor=0)
H100 = SimpleNamespace(name="NVIDIA H100 80GB HBM3", major=9, minor=0)
CU126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90".split()
CU130 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120".split()
choose, check = pytorch_ranks.choose_device, pytorch_ranks.check_precision
"""


def test_the_model_is_resnet50_version_1_5():
    ended = fork(
        "-c",
        "from resnet50.pytorch_training import Bottleneck, ResNet50\n"
        "model = ResNet50()\n"
        "print(sum(weight.numel() for weight in model.parameters()))\n"
        "for block in model.modules():\n"
        "    if isinstance(block, Bottleneck):\n"
        "        print(*(c.stride[0] for c in (block.conv1, block.conv2, block.conv3)))\n",
    )
    count, *strides = ended.stdout.splitlines()
    assert count == "25557032"
    assert len(strides) == 3 + 4 + 6 + 3
    assert [index for index, stride in enumerate(strides) if stride == "1 2 1"] == [3, 7, 13]
    assert set(strides) == {"1 1 1", "1 2 1"}


def test_row_major_sgd_equals_sgd():
    ended = fork(
        "-c",
        "import torch\n"
        "from resnet50.pytorch_training import RowMajorSGD\n"
        "def train(kind, **options):\n"
        "    torch.manual_seed(1)\n"
        "    weight = torch.nn.Parameter(torch.randn(6, 5, 3, 3).contiguous(\n"
        "        memory_format=torch.channels_last))\n"
        "    optimizer = kind([weight], 0.1, 0.9, weight_decay=0.01, **options)\n"
        "    for _ in range(3):\n"
        "        optimizer.zero_grad()\n"
        "        (weight * torch.randn(6, 5, 3, 3)).sum().backward()\n"
        "        optimizer.step()\n"
        "    return weight\n"
        "same = train(RowMajorSGD, fused=True), train(torch.optim.SGD, foreach=False)\n"
        "print(torch.allclose(*same))\n",
    )
    assert ended.stdout == "True\n", ended.stderr


def test_one_rank_learns_without_warnings(python):
    ended = run([python, "resnet50/train_pytorch.py", *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    header = facts(ended.stdout, "header")
    assert (header["parameters"], header["world_size"], header["backend"]) == (25557032, 1, None)
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1
    assert facts(ended.stdout, "end")["iterations"] == 6


def test_the_convolution_kernel_does_not_change_the_loss():
    first = [
        losses(fork("resnet50/train_pytorch.py", "--warmup=0", "--iterations=1", kernel).stdout)[0]
        for kernel in ("--onednn", "--no-onednn")
    ]
    assert first[0] == pytest.approx(first[1], abs=1e-3)


def test_two_nodes_end_with_the_same_weights(python):
    port = free_port("127.0.0.2")
    command = [python, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    command += ["--master-addr=127.0.0.2", f"--master-port={port}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    words = (*SHORT, "--iterations=2")
    nodes = [
        subprocess.Popen(
            [*command, f"--node-rank={rank}", "resnet50/train_pytorch.py", *words],
            cwd=FOLDER,
            env={**environment, "SCALEBENCH_NODE": f"node{rank + 1}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    (leader, leader_errors), (other, other_errors) = [node.communicate() for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], leader_errors + other_errors
    assert leader_errors + other == ""
    # The leader's agent may end, and its store with it, while the other still waits at the exit
    # barrier: torchrun reports it at length and succeeds.
    assert other_errors == "" or "Error waiting on exit barrier" in other_errors
    assert '"rank":1,"local_rank":0,"node":"node2"' in leader
    header = facts(leader, "header")
    assert (header["global_batch_size"], header["nodes"], header["backend"]) == (8, 2, "gloo")
    assert facts(leader, "end")["weights_equal"] is True


def test_amp_reads_real_images(python, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    if run([python, "-c", "import PIL"]).returncode != 0:
        pytest.skip(f"{python} has no Pillow")
    for name in ("ant", "bee"):
        folder = tmp_path / "images/train" / name
        folder.mkdir(parents=True)
        for index in range(2):
            image.effect_noise((50, 40), 64).convert("RGB").save(folder / f"{index}.png")
    # Without AVX-512 PyTorch takes a hundred times as long for bf16.
    real = (*SHORT, "--precision=amp", "--batch-size=2")
    real += ("--data=real", f"--data-dir={tmp_path}", "--workers=1")
    ended = fork("resnet50/train_pytorch.py", *real)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert facts(ended.stdout, "header")["autocast_dtype"] == "bfloat16"
    assert "iteration 6 epoch 2 " in ended.stdout
    broken = tmp_path / "images/train/bee/1.png"
    broken.write_bytes(b"no image")
    ended = fork("resnet50/train_pytorch.py", *real)
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["detail"].startswith(f"cannot decode {broken}")


DALI_EPOCHS = """
import sys
from argparse import Namespace
from pathlib import Path
import torch
from common.ranks import Place
from resnet50.images import CHANNEL_DEVIATION, CHANNEL_MEAN, labelled_images
from resnet50.pytorch_data import from_folder_by_dali

folder, layout = Path(sys.argv[1]), getattr(torch, sys.argv[2])
options = Namespace(batch_size=2, image_size=16, workers=1, seed=3, data_dir=folder)
mean, deviation = torch.tensor(CHANNEL_MEAN), torch.tensor(CHANNEL_DEVIATION)
for rank in range(2):
    feed = from_folder_by_dali(
        labelled_images(folder), options, Place(rank, 2), torch.device("cpu"), layout
    )
    for _ in range(4):
        epoch, batch, images, labels = next(feed)
        assert images.shape == (2, 3, 16, 16) and labels.dtype == torch.int64
        assert images.is_contiguous(memory_format=layout)
        for image, label in zip(images, labels):
            red = round(float((image[:, 8, 8] * deviation + mean)[0]))
            print(rank, epoch, batch, red, int(label))
"""


@pytest.fixture
def grey_images(tmp_path):
    """Return a data set of nine images in three classes; the value of their pixels tells them."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    for number in range(9):
        folder = tmp_path / f"images/train/{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        image.new("RGB", (40, 30), (10 + number * 20,) * 3).save(folder / f"{number}.png")
    return tmp_path


@pytest.fixture
def dali(python):
    if run([python, "-c", "import nvidia.dali.plugin.pytorch"]).returncode != 0:
        pytest.skip(f"{python} has no DALI: pip install nvidia-dali-cuda120, which needs no GPU")
    return python


@pytest.mark.parametrize("layout", ["channels_last", "contiguous_format"])
def test_dali_gives_each_image_to_one_rank_an_epoch(dali, grey_images, layout):
    ended = run([dali, "-c", DALI_EPOCHS, str(grey_images), layout])
    seen = [tuple(map(int, line.split())) for line in ended.stdout.splitlines()]
    assert len(seen) == 16, ended.stderr
    for _, _, _, red, label in seen:
        assert ((red - 10) // 20) % 3 == label
        assert (red - 10) % 20 in (0, 1, 19)
    orders = []
    for epoch in (0, 1):
        mine = [entry for entry in seen if entry[1] == epoch]
        assert [entry[:3] for entry in mine] == [
            (rank, epoch, batch) for rank in (0, 1) for batch in (0, 0, 1, 1)
        ]
        orders.append([entry[3] for entry in mine])
    # One of nine fills no batch on every rank. The order changes.
    assert sorted(orders[0]) == sorted(orders[1])
    assert len(set(orders[0])) == 8
    assert orders[0] != orders[1]


def test_training_with_dali_states_it_and_names_a_broken_image(dali, grey_images):
    real = (*SHORT, "--data=real", f"--data-dir={grey_images}", "--data-backend=dali")
    ended = run([dali, "resnet50/train_pytorch.py", *real])
    assert ended.returncode == 0, ended.stderr
    assert facts(ended.stdout, "header")["data_backend"] == "dali"
    assert "iteration 6 epoch 2 " in ended.stdout
    (grey_images / "images/train/0/0.png").write_bytes(b"no image")
    ended = run([dali, "resnet50/train_pytorch.py", *real])
    assert (ended.returncode, facts(ended.stdout, "error")["kind"]) == (1, "bad_data")


def test_dali_that_is_missing_is_named(python, grey_images):
    if run([python, "-c", "import nvidia.dali"]).returncode == 0:
        pytest.skip("DALI is there")
    words = ("--data=real", f"--data-dir={grey_images}", "--data-backend=dali")
    ended = run([python, "resnet50/train_pytorch.py", *words])
    assert ended.returncode == 2
    assert "pip install nvidia-dali-cuda" in ended.stderr


def test_bf16_is_autocast_and_fp32_is_ieee():
    for precision, dtype in (("bf16", "bfloat16"), ("fp32", None)):
        small = ("--iterations=1", "--batch-size=2", "--image-size=16")
        words = (*SHORT, *small, f"--precision={precision}")
        ended = fork("resnet50/train_pytorch.py", *words)
        assert (ended.returncode, ended.stderr) == (0, "")
        header = facts(ended.stdout, "header")
        assert (header["precision"], header["autocast_dtype"]) == (precision, dtype)
        # A CPU has none of a GPU's libraries.
        assert [header[key] for key in ("cuda", "cudnn", "nccl", "capability")] == [None] * 4


def test_a_model_is_not_compiled_without_a_compiler(python):
    ended = run(["env", "PATH=/none", python, "resnet50/train_pytorch.py", *SHORT, "--compile"])
    assert ended.returncode == 2 and "--compile needs a C++ compiler" in ended.stderr


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=LONG)])
def test_a_compiled_model_trains(backend):
    """Up to the graphs of both passes; with Inductor, the default, it takes a minute more."""
    program = (
        "import sys, torch\n"
        "from resnet50 import train_pytorch\n"
        "compiled = torch.compile\n"
        "def compile(model):\n"
        "    print('compiled', type(model).__name__)\n"
        f"    return compiled(model, backend='{backend}')\n"
        "torch.compile = compile\n"
        "sys.exit(train_pytorch.main())\n"
    )
    ended = fork("-c", program, *SHORT, "--compile")
    if "--compile needs" in ended.stderr:
        pytest.skip(ended.stderr.splitlines()[-1])
    assert ended.returncode == 0, ended.stderr
    assert "compiled ResNet50\n" in ended.stdout
    assert facts(ended.stdout, "header")["compile"] is True
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--precision=tf32", "compute capability 8.0"),
        ("--cuda-graphs", "--cuda-graphs needs a GPU"),
    ],
)
def test_what_a_cpu_cannot_do_is_refused(option, words):
    ended = fork("resnet50/train_pytorch.py", *SHORT, option)
    error = facts(ended.stdout, "error")
    assert (ended.returncode, error["kind"]) == (1, "no_device")
    assert words in error["detail"]


def test_tf32_is_set_in_both_interfaces_of_pytorch():
    """torch.compile reads the older and the newer one, and PyTorch refuses a contradiction."""
    ended = fork(
        "-c",
        "import torch\n"
        "from common.pytorch_ranks import use_tf32\n"
        "for allowed in (True, False, True):\n"
        "    use_tf32(allowed)\n"
        "    print(torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32,\n"
        "          torch.backends.cuda.matmul.fp32_precision,\n"
        "          torch.backends.cudnn.conv.fp32_precision == 'tf32')\n",
    )
    on, off = "high True tf32 True", "highest False ieee False"
    assert (ended.stdout.splitlines(), ended.stderr) == ([on, off, on], "")


def test_a_gpu_computes_in_tf32_for_that_precision_only():
    script = STAND_IN_GPUS + (
        "from resnet50.pytorch_training import apply_settings, choose_settings\n"
        "from resnet50.train_pytorch import make_parser\n"
        "torch.cuda.set_device = lambda device: None\n"
        "use(CU126, H100)\n"
        "for precision in ('fp32', 'tf32', 'amp', 'bf16'):\n"
        "    words = ['--device', 'gpu', '--precision', precision, '--threads', '1']\n"
        "    options = make_parser().parse_args(words)\n"
        "    apply_settings(choose_settings(options, Place()), options)\n"
        "    print(precision, torch.backends.cuda.matmul.allow_tf32,\n"
        "          torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark)\n"
    )
    ended = fork("-c", script)
    assert ended.stdout.splitlines() == [
        *("fp32 False False True", "tf32 True True True"),
        *("amp False False True", "bf16 False False True"),
    ], ended.stderr


def test_a_gpu_s_libraries_and_capability_are_told():
    script = STAND_IN_GPUS + (
        "import json\n"
        "use(CU126, V100)\n"
        "torch.version.cuda = '12.6'\n"
        "torch.backends.cudnn.version = lambda: 91002\n"
        "torch.cuda.nccl = SimpleNamespace(version=lambda: (2, 27, 5))\n"
        "print(json.dumps(pytorch_ranks.cuda_facts(torch.device('cuda', 0))))\n"
        "torch.backends.cudnn.version = lambda: 8902\n"
        "print(pytorch_ranks.library_versions()['cudnn'])\n"
    )
    ended = fork("-c", script)
    told, older = ended.stdout.splitlines() or [ended.stderr, ""]
    assert json.loads(told) == {
        "cuda": "12.6",
        "cudnn": "9.10.2",
        "nccl": "2.27.5",
        "capability": "7.0",
        "architectures": "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90",
    }
    assert older == "8.9.2"


def test_the_trainer_looks_for_the_signs_of_a_gpu_that_the_nodes_look_for():
    """It cannot import the project's modules; without torch the file can still be read."""
    tree = ast.parse((FOLDER / "common/pytorch_ranks.py").read_text())
    (signs,) = [
        ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and one.targets[0].id == "GPU_SIGNS"
    ]
    assert signs == nvidia_smi.SIGNS


def test_any_sign_of_a_gpu_keeps_a_rank_from_training_on_the_cpu(tmp_path):
    (tmp_path / "nvidia3").touch()
    script = STAND_IN_GPUS + (
        "use(CU130, reason='Found no NVIDIA driver')\n"
        "for pattern in sys.argv[1:]:\n"
        "    pytorch_ranks.GPU_SIGNS = ('/no/such', pattern)\n"
        "    show(choose, 'auto', Place())\n"
    )
    ended = fork("-c", script, f"{tmp_path}/nvidia[0-9]*", f"{tmp_path}/nvidia[a-z]*")
    refused, trained = ended.stdout.splitlines() or [ended.stderr, ""]
    assert refused.startswith("no_device")
    assert trained == "cpu"


def test_the_architectures_are_those_of_pytorch_s_wheels():
    script = STAND_IN_GPUS + (
        "table = getattr(torch.cuda, 'PYTORCH_RELEASES_CODE_CC', None)\n"
        "for version, ours in (('12.6', CU126), ('13.0', CU130)):\n"
        "    known = table and table[version]\n"
        "    known = known['x86_64'] if isinstance(known, dict) else known\n"
        "    print(known is None or known == {int(name[3:]) for name in ours})\n"
    )
    ended = fork("-c", script)
    assert ended.stdout == "True\nTrue\n", ended.stderr


def test_a_gpu_that_pytorch_cannot_use_is_named_with_the_reason():
    script = STAND_IN_GPUS + (
        "use(CU130, V100)\nshow(choose, 'gpu', Place())\n"
        "use(CU126, V100)\nshow(choose, 'gpu', Place())\n"
        "use(CU130, H100)\nshow(choose, 'auto', Place())\n"
        "show(choose, 'gpu', Place(1, 2, 1, 2))\n"
        "use(CU130, H100, reason='Error 802: system not yet initialized\\nmore')\n"
        "show(choose, 'gpu', Place())\n"
        "use(CU130, reason='Found no NVIDIA driver')\nshow(choose, 'auto', Place())\n"
        "show(choose, 'cpu', Place())\n"
    )
    ended = fork("-c", script)
    lines = ended.stdout.splitlines()
    assert len(lines) == 7, ended.stderr
    assert (
        "has no code for Tesla V100-SXM2-16GB (compute capability 7.0), only for sm_75" in lines[0]
    )
    assert "frameworks.pytorch" in lines[0]
    assert lines[1:3] == ["cuda:0", "cuda:0"]
    assert "no GPU for rank 1 of the 2 on this node (1 GPUs)" in lines[3]
    assert lines[4].endswith("(1 GPUs): Error 802: system not yet initialized")
    assert "no_device" in lines[5]
    assert lines[5].endswith("Found no NVIDIA driver")
    assert lines[6] == "cpu"


def test_a_precision_needs_a_gpu_that_computes_in_it():
    script = STAND_IN_GPUS + (
        "gpu = torch.device('cuda', 0)\n"
        "for device in (V100, H100):\n"
        "    use(CU126, device)\n"
        "    for precision in ('fp32', 'tf32', 'amp', 'bf16'):\n"
        "        show(check, precision, gpu)\n"
    )
    ended = fork("-c", script)
    lines = ended.stdout.splitlines()
    assert len(lines) == 8, ended.stderr
    assert [line == "None" for line in lines] == [True, False, True, False, *[True] * 4]
    assert lines[1].endswith("this rank has Tesla V100-SXM2-16GB (7.0)")


def test_channels_last_is_for_tensor_cores_and_fp32_on_a_cpu():
    script = STAND_IN_GPUS + (
        "from resnet50.pytorch_training import choose_settings\n"
        "from resnet50.train_pytorch import make_parser\n"
        "for device, architectures in (('gpu', CU126), ('cpu', CU126)):\n"
        "    for gpu, precision in (\n"
        "        (V100, 'fp32'), (V100, 'amp'), (H100, 'tf32'), (H100, 'fp32')\n"
        "    ):\n"
        "        use(architectures, gpu)\n"
        "        words = ['--device', device, '--precision', precision]\n"
        "        if (device, precision) != ('cpu', 'tf32'):\n"
        "            settings = choose_settings(make_parser().parse_args(words), Place())\n"
        "            print(device, precision, settings.channels_last)\n"
    )
    ended = fork("-c", script)
    assert ended.stdout.splitlines() == [
        *("gpu fp32 False", "gpu amp True", "gpu tf32 True", "gpu fp32 False"),
        *("cpu fp32 True", "cpu amp False", "cpu fp32 True"),
    ], ended.stderr


@pytest.mark.parametrize("option", ["--onednn", "--no-onednn"])
def test_an_option_for_cpus_is_refused_on_a_gpu(option):
    script = STAND_IN_GPUS + (
        "from resnet50.pytorch_training import choose_settings\n"
        "from resnet50.train_pytorch import make_parser\n"
        "use(CU126, V100)\n"
        f"choose_settings(make_parser().parse_args(['--device', 'gpu', '{option}']), Place())\n"
    )
    assert "--onednn and --no-onednn need --device cpu" in fork("-c", script).stderr


def test_a_nan_loss_ends_the_run():
    ended = fork("resnet50/train_pytorch.py", *SHORT, "--learning-rate=1e30")
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


def test_a_missing_gpu_is_reported():
    if fork("-c", "import torch; assert torch.cuda.is_available()").returncode == 0:
        pytest.skip("there is a GPU")
    ended = fork("resnet50/train_pytorch.py", "--device=gpu")
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"
