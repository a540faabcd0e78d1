"""A node with stand-in GPUs for tests: nvidia-smi in front of the PATH, over a profile's facts."""

import json
import os
import shutil
from pathlib import Path

GPUS = Path(__file__).resolve().parents[2] / "molecule/shared/stand_ins/gpus"
SHARED = Path(__file__).resolve().parents[3] / "shared/data"
# The captures of real GPUs that the profiles state facts of.
CAPTURES = {
    "8xH100": "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt",
    "1xH100_MIG": "linux-x86_64__nvidia-h100-mig__590.48.01.txt",
    "1xH200": "linux-x86_64__nvidia-h200__590.48.01.txt",
    "1xL40S": "linux-x86_64__nvidia-l40s__595.80.txt",
}


def install(folder, monkeypatch, profile, **facts):
    """Put the stand-in for nvidia-smi in front of the PATH.

    :param facts: what differs from the profile on every GPU, with ``_`` for the dots of a field.
    """
    described = json.loads((GPUS / f"{profile}.json").read_text())
    for name, value in facts.items():
        field = next(f for f in described["every_gpu"] if f.replace(".", "_") == name)
        described["every_gpu"][field] = value
    (folder / "gpus.json").write_text(json.dumps(described))
    for name in ("nvidia-smi", "fields.json"):
        shutil.copy(GPUS / name, folder / name)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_INS", str(folder))
    return folder
