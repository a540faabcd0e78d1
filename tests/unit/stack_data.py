"""The stacks of stacks/ and the hardware that they meet, for the tests that lean on them."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "stacks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))


def stack(name: str) -> dict[str, Any]:
    """Return one stack as its file has it, fresh each time."""
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text())


def node(architecture="volta", hcas=(), nvswitches=0, driver_loaded=None) -> dict[str, Any]:
    """Return hardware as filter gpu_hardware does: 8 GPUs of one architecture."""
    gpus = [{"address": f"0000:{n}", "model": "x", "architecture": architecture} for n in range(8)]
    return {
        "gpus": gpus if architecture else [],
        "nvswitches": [{"address": "0000:05", "model": "NVSwitch 3"}] * nvswitches,
        "hcas": [{"address": "0000:06", "model": model} for model in hcas],
        "driver_loaded": driver_loaded,
    }
