#!/usr/bin/python
"""Recomputes published figures from their logs and compares them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: published_claims_info
short_description: Recompute published figures from their logs
description:
  - For each claim of a document, reads its logs, applies its strategy and its statistic, and
    returns the claimed and the recomputed figure, their difference and the rule.
  - If a log is missing or gives no figure, the verdict is V(impossible), with the reason.
  - Changes nothing; works in check mode.
options:
  log_dir:
    description:
      - Folder of the logs. If a claim names a subfolder that does not exist, its logs are searched
        in O(log_dir) itself.
    type: path
    required: true
  document:
    description: The claims, in the format described in C(published/claims/README.md).
    type: dict
    required: true
  name:
    description: Name of the document in messages.
    type: str
    default: document
author:
  - Scalebench contributors
seealso:
  - module: training_log_facts
"""

EXAMPLES = r"""
- name: Recompute DLPerf's TensorFlow 2 table
  published_claims_info:
    log_dir: logs
    document: "{{ lookup('ansible.builtin.file', claims) | from_yaml }}"
  vars:
    claims: published/claims/dlperf_tensorflow2.yml
  register: verified

- name: Recompute one figure
  published_claims_info:
    log_dir: logs/tensorflow/resnet50
    document:
      schema: 1
      claims:
        - id: 1n8g
          logs: 1n8g/*.log
          strategy: dlperf_tf2
          statistic: median
          rounding: numpy_2
          claimed: 2458.74
"""

RETURN = r"""
title:
  description: The document's title, or its name.
  type: str
  returned: success
  sample: DLPerf, TensorFlow 2.3 official models
claims:
  description: The claims, in the order of the document.
  type: list
  elements: dict
  returned: success
  sample:
    - {id: 1n8g, claimed: 2458.74, recomputed: 2458.74, difference: 0.0, verdict: confirmed,
       as_expected: true, rule: "dlperf_tf2, median of 5 logs, numpy_2", reason: "", note: "",
       logs: [1n8g/rn50_b128_fp32_1.log]}
confirmed:
  description: Number of claims whose recomputed figure agrees.
  type: int
  returned: success
  sample: 12
differs:
  description: Number of claims whose recomputed figure differs.
  type: int
  returned: success
  sample: 0
impossible:
  description: Number of claims that could not be computed.
  type: int
  returned: success
  sample: 0
logs_found:
  description: Number of logs that match the patterns of the claims.
  type: int
  returned: success
  sample: 30
as_expected:
  description: Whether every claim has the verdict that the document expects.
  type: bool
  returned: success
  sample: true
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.published.claims import (
    claims_of,
    judge_claims,
)


def figure_of(log_dir: Path, path: Path, claim: dict[str, Any]) -> dict[str, Any]:
    """Return the figure of one log by the rule of a claim, or the reason why there is none."""
    name = str(path.relative_to(log_dir))
    try:
        with path.open("rb") as file:
            pieces = iter(lambda: file.read(1 << 18), b"")
            reading = logs.read(pieces, reader=claim["reader"], name=name)
        facts = log_facts(reading, claim["strategy"], claim["parameters"], path=name)
    except (OSError, ValueError) as error:
        return {"path": name, "value": None, "reason": str(error), "strategy": ""}
    value = facts[claim["figure"]]
    reason = facts["reason"] or f"the log has no {claim['figure']}"
    return {
        "path": name,
        "value": value,
        "reason": "" if value is not None else reason,
        "strategy": facts["strategy"]["name"],
    }


def logs_of(log_dir: Path, claim: dict[str, Any]) -> list[Path]:
    """Return the logs of a claim, sorted by path."""
    folder = log_dir / claim["folder"]
    return sorted((folder if folder.is_dir() else log_dir).glob(claim["logs"]))


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "log_dir": {"type": "path", "required": True},
            "document": {"type": "dict", "required": True},
            "name": {"type": "str", "default": "document"},
        },
        supports_check_mode=True,
    )
    log_dir = Path(module.params["log_dir"])
    if not log_dir.is_dir():
        module.fail_json(msg=f"{log_dir} is not a folder: set log_dir to the folder of the logs")
    try:
        claims = claims_of(module.params["document"], module.params["name"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    figures = {
        claim["id"]: [figure_of(log_dir, path, claim) for path in logs_of(log_dir, claim)]
        for claim in claims
        if claim["logs"]
    }
    paths = {log["path"] for logs_of_claim in figures.values() for log in logs_of_claim}
    title = module.params["document"].get("title") or module.params["name"]
    module.exit_json(
        changed=False, title=title, logs_found=len(paths), **judge_claims(claims, figures)
    )


if __name__ == "__main__":
    main()
