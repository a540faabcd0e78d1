"""Runs a playbook of this project through ansible_runner."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import ansible_runner

ROOT = Path(__file__).resolve().parents[2]


def run_playbook(
    folder: Path,
    playbook: str,
    *arguments: str,
    inventory: str | None = None,
    ident: str | None = None,
    **variables: Any,
) -> Any:
    """Run a playbook and return the runner.

    :param folder: what ansible_runner keeps of run N, from 0, is in its ``runner/N``.
    :param playbook: its path from the root of this project.
    """
    own = folder / "runner" / str(len(list(folder.glob("runner/*"))))
    own.mkdir(parents=True)
    return ansible_runner.run(
        private_data_dir=str(own),
        project_dir=str(ROOT),
        playbook=playbook,
        inventory=inventory,
        ident=ident,
        cmdline=" ".join(arguments) or None,
        extravars=variables,
        quiet=True,
        # Otherwise ansible_runner takes over SIGTERM and SIGINT, also for the time after it.
        cancel_callback=lambda: False,
        envvars={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
