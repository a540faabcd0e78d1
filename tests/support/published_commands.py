"""The commands of the published scripts: the scripts run, and stand-ins note what they would start.

Scripts are those of ../shared/upstream and the text of ../shared/seeds. Stand-ins of ``python3``,
``mpirun``, ``mpiexec`` and ``horovodrun`` write down their words and exported variables and start
nothing; ``bash`` finds the scripts where the published container has them, ``sleep`` does not wait.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SHARED = Path(os.environ.get("SCALEBENCH_SHARED", Path(__file__).resolve().parents[3] / "shared"))
EXAMPLES = "NVIDIA+DeepLearningExamples@"
DLPERF = SHARED / "upstream/Oneflow-Inc+DLPerf@c89430bac64f"
TENSORFLOW = (
    DLPERF / "NVIDIADeepLearningExamples/TensorFlow/Classification/ConvNets/resnet50v1.5/scripts"
)
PADDLE = DLPERF / "PaddlePaddle/resnet50v1.5/scripts"
ONEFLOW = DLPERF / "OneFlow/Classification/ConvNets/resnet50v1.5/scripts"
MXNET = SHARED / f"upstream/{EXAMPLES}99b1c898cead/MxNet/Classification/RN50v1.5"
# The program of each effort; the words before it belong to the launcher.
PROGRAMS = ("main.py", "train.py", "of_cnn_train_val.py", "run_pretraining.py")
# Variables by which the published scripts are told what to run, and the shell's and Python's own.
_NOT_EXPORTED = (
    *("USE_DALI", "USE_XLA", "RESULTS_DIR", "DATA_DIR", "NODE1", "NODE2", "NODE3", "NODE4", "PORT"),
    *("SHLVL", "_", "PWD", "OLDPWD", "LC_CTYPE"),
)
_RECORDER = """#!/bin/sh
{ printf '%s\\n' "${0##*/}"; for word; do printf '%s\\n' "$word"; done; printf '=\\n'
  env; printf '==\\n'; } >> "$RECORD"
"""


class Published(NamedTuple):
    """One command: words before the program, words after it, exported variables."""

    launcher: list[str]
    arguments: list[str]
    environment: dict[str, str]


# Of BERT, and of ResNet-50 beyond the reference efforts; what ../shared may not have.
FURTHER = {
    ("bert", "upstream_pytorch"): DLPERF / "NVIDIADeepLearningExamples/PyTorch/BERT/scripts",
    ("bert", "upstream_tensorflow"): (
        DLPERF / "NVIDIADeepLearningExamples/TensorFlow/LanguageModeling/BERT/scripts"
    ),
    **{
        ("bert", f"upstream_oneflow{version}"): DLPERF / "OneFlow/LanguageModeling/BERT/scripts"
        for version in ("", "_0_2_0", "_0_2_0_without_clip", "_0_3_1")
    },
    **{
        ("bert", f"upstream_paddle{kind}"): DLPERF / "PaddlePaddle/bert/scripts"
        for kind in ("", "_static_loss_scale")
    },
    ("pytorch", "upstream"): DLPERF / "NVIDIADeepLearningExamples/PyTorch/resnet50v1.5/scripts",
    ("mxnet_ngc", "dlperf"): DLPERF / "NVIDIADeepLearningExamples/MxNet/Classification/RN50v1.5",
    ("oneflow", "dlperf_0_3_1"): ONEFLOW,
}


def missing() -> str:
    """Return what of the published material is absent; empty if nothing is."""
    needed = (TENSORFLOW, PADDLE, ONEFLOW, MXNET, SHARED / "seeds")
    return ", ".join(str(path) for path in needed if not path.is_dir())


def record(
    folder: Path, command: list[str], *, python: bool = False, **variables: str
) -> list[Published]:
    """Run a published script; return what it would have started, in order.

    :param folder: an empty folder, two levels below one that the script may write to.
    :param command: the script and its arguments.
    :param python: whether the script starts the trainer as ``python``.
    """
    programs = folder / "bin"
    programs.mkdir(parents=True)
    work = folder / "a/b"
    work.mkdir(parents=True, exist_ok=True)
    for name in ("python3", "mpirun", "mpiexec", "horovodrun"):
        _program(programs / name, _RECORDER)
    _program(programs / "sleep", "#!/bin/sh\n")
    # /workspace/rn50v15_tf/resnet50v1.5/training is where the report has its scripts copied to.
    _program(
        programs / "bash",
        '#!/bin/sh\nscript=$1; shift\n[ -e "$script" ] || script="$SCRIPTS/${script##*/}"\n'
        'exec /bin/bash "$script" "$@"\n',
    )
    # For a shebang with `env python`. By a link, Python would not find its environment's packages.
    real = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    _program(programs / "python", _RECORDER if python else real)
    base = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "RECORD": str(folder / "record"),
        "SCRIPTS": str(TENSORFLOW),
    }
    given = {**base, **variables}
    subprocess.run(command, cwd=work, env=given, check=True, capture_output=True, timeout=60)
    text = (folder / "record").read_text()
    return [_published(block, base) for block in text.split("==\n")[:-1]]


def edited(folder: Path, script: Path, *changes: tuple[str, str]) -> Path:
    """Return a copy of a script with the changes that its report asks the reader to make."""
    text = script.read_text()
    for old, new in changes:
        assert old in text, f"{script} has no {old!r}"
        text = text.replace(old, new)
    copy = folder / script.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text)
    return copy


def seed_block(number: str, containing: str) -> str:
    """Return the code block of a reference effort's report that contains a text."""
    (path,) = (SHARED / "seeds").glob(f"{number}_*.txt")
    blocks = re.findall(r"```\w*\n(.*?)```", path.read_text(errors="replace"), flags=re.DOTALL)
    return next(block for block in blocks if containing in block)


def items(words: list[str], joined: bool) -> Counter[str]:
    """Count options with their values as ``--name=value``, however they are written.

    :param joined: of an option with one dash, as mpirun takes it, the second is added.
    """
    made: list[str] = []
    for word in words:
        if word.startswith("-") and not re.fullmatch(r"-[0-9.]+", word):
            made.append("-" + word if joined and not word.startswith("--") else word)
        elif made:
            made[-1] += (" " if "=" in made[-1] else "=") + word
        else:
            made.append(word)
    return Counter(made)


def split_at_program(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words before the program, without its interpreter, and those after it."""
    at = next(place for place, word in enumerate(words) if word.rsplit("/")[-1] in PROGRAMS)
    launcher = [word for word in words[:at] if not re.search(r"(^|/)python3?$", word)]
    return launcher, words[at + 1 :]


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _published(block: str, base: dict[str, str]) -> Published:
    words, _, variables = block.partition("=\n")
    launcher, arguments = split_at_program(words.splitlines())
    exported = dict(line.split("=", 1) for line in variables.splitlines() if "=" in line)
    for name in (*base, *_NOT_EXPORTED):
        exported.pop(name, None)
    return Published(launcher, arguments, exported)


def environment_of(words: dict[str, str]) -> Counter[str]:
    """Count variables as ``NAME=value``."""
    return Counter(f"{name}={value}" for name, value in words.items())
