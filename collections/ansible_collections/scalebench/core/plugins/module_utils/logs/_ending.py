"""The ending of a log: messages of crashes, kills and exhausted memory, and whether they count."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, Tuple

    Event = Tuple[int, str]

__all__ = ["WORDS", "judge", "scan"]

# (text, kind of ending), with the software that prints it. Of several kinds in one log the first
# in this order counts.
WORDS = (
    ("ut of memory", "out_of_memory"),  # CUDA, PyTorch, MXNet, OneFlow, Paddle, the kernel
    ("utOfMemory", "out_of_memory"),  # torch.OutOfMemoryError
    ("OOM when allocating", "out_of_memory"),  # TensorFlow
    ("RESOURCE_EXHAUSTED", "out_of_memory"),  # XLA
    ("ResourceExhausted", "out_of_memory"),  # TensorFlow, Paddle
    ("OUT_OF_MEMORY", "out_of_memory"),  # CUDA driver
    ("STATUS_ALLOC_FAILED", "out_of_memory"),  # cuBLAS, cuDNN
    ("bad_alloc", "out_of_memory"),  # C++
    ("t allocate memory", "out_of_memory"),  # "Cannot allocate memory", "can't allocate memory"
    ("not enough memory", "out_of_memory"),  # PyTorch's DefaultCPUAllocator
    ("oom-kill", "out_of_memory"),  # Slurm, the kernel
    ("oom_kill", "out_of_memory"),
    ("NanLossDuringTraining", "nan_loss"),  # TensorFlow's NanTensorHook
    ("NaN loss", "nan_loss"),
    ("loss = NaN", "nan_loss"),
    ("oss is nan", "nan_loss"),
    ("oss is NaN", "nan_loss"),
    ('error {"kind":"nan_loss"', "nan_loss"),  # our own trainers
    ('[scalebench] error {"', "traceback"),
    ("Traceback (most recent call last)", "traceback"),
    ("terminate called", "traceback"),  # C++
    ("Fatal Python error", "traceback"),
    ("KeyboardInterrupt", "killed"),
    ("exited on signal", "killed"),  # mpirun
    ("Killed", "killed"),  # the shell
    ("SIGKILL", "killed"),
    ("SIGTERM", "killed"),
    ("ermination signal", "killed"),  # Paddle
    ("CANCELLED AT", "killed"),  # Slurm
    ("egmentation fault", "killed"),
    ("core dumped", "killed"),
    ("exitcode: -9", "killed"),  # torchrun
)
# Messages of TensorFlow about an allocation that it then makes in another way.
HARMLESS = r"not a failure|ran out of memory trying to allocate|garbage_collection"
PREFIX = r"^(?:[^\[\n]{0,40}\[\d+,\d+\]<std\w{3}>:|\[\w+\d+\]:)"
SEARCHED = 20_000
_TO_LINE_END = re.compile(r"[^\n]*")


def scan(text: str) -> Iterator[Tuple[str, str, str]]:
    """Yield (kind, words, line) for the last occurrence of each of ``WORDS`` in a text."""
    for words, kind in WORDS:
        if words not in text:
            continue
        at = text.rfind(words)
        line = _line(text, at)
        if kind == "out_of_memory" and re.search(HARMLESS, line):
            continue
        if words.startswith("Traceback"):
            line = _raised(text, at) or line
        yield kind, words, line


def judge(
    events: Dict[str, Event], printed: int, ended: int, has_end: bool, loss_is_nan: bool
) -> Dict[str, str]:
    """Return ``kind`` and ``detail`` of the ending of a run.

    An error message counts if neither an observation nor the end of the run follows it. Exhausted
    memory also counts where other ranks still printed observations, if the format has an end line
    and it is missing.

    :param events: last event of each kind: position in the log, line.
    :param printed: position of the last observation, -1 for none.
    :param ended: position of the last line that only a complete run prints, -1 for none.
    :param has_end: whether complete runs of this format print an end line.
    :param loss_is_nan: whether the last loss is not a number.
    """
    after = max(printed, ended)
    kept = {kind: event for kind, event in events.items() if event[0] > after}
    memory = events.get("out_of_memory")
    if memory and has_end and memory[0] > ended:
        kept["out_of_memory"] = memory
    if "traceback" in kept and kept["traceback"][1].startswith("KeyboardInterrupt"):
        kept["killed"] = kept.pop("traceback")
    if loss_is_nan:
        kept.setdefault("nan_loss", (after, "the last loss printed is not a number"))
    for kind in dict.fromkeys(kind for _words, kind in WORDS):
        if kind in kept:
            return {"kind": kind, "detail": kept[kind][1]}
    return {"kind": "complete", "detail": ""}


def _line(text: str, at: int) -> str:
    line = _TO_LINE_END.match(text, text.rfind("\n", 0, at) + 1)
    return re.sub(PREFIX, "", line.group() if line else "").strip()[:500]


def _raised(text: str, at: int) -> str:
    """Return the line that names the exception, at the end of the traceback at ``at``."""
    for line in text[at : at + SEARCHED].split("\n")[1:]:
        words = re.sub(PREFIX, "", line)
        if words.strip() and not words.startswith((" ", "\t", "Traceback")):
            return words.strip()[:500]
    return ""
