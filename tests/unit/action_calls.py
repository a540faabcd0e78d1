"""Actions called without a playbook, on this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from campaign_data import ROOT

TEMPLATES = [str(ROOT / "roles/report/templates")]
SPEEDS = {"1n1g": 24.0, "2n1g": 46.0}


def plugin(
    module: Any,
    args: dict[str, Any],
    check: bool = False,
    transport: str = "local",
    become: bool = False,
    **variables: Any,
) -> Any:
    """Return the action plugin of a module for a task with these arguments."""
    task = SimpleNamespace(args=args, async_val=0, check_mode=check, diff=False, become=become)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""), transport=transport)
    templar = SimpleNamespace(available_variables=variables, template=lambda value: value)
    return module.ActionModule(task, connection, None, None, templar, None)


def result(module: Any, args: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Return what the action returns."""
    return plugin(module, args, **given).run(task_vars={})


def report(**args: Any) -> dict[str, Any]:
    """Return arguments of scaling_report."""
    return {"templates": TEMPLATES, "plots": False, **args}
