#!/usr/bin/python
"""Door to MU claims: reads the logs of published claims and says which claims they bear out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: published_claims_info
short_description: Compute published figures again from their logs
description:
  - For each claim of a document reads its logs, applies its strategy and its statistic, and says
    what was claimed, what comes out, the difference and the rule.
  - A log that is missing or gives no figure makes the claim V(impossible), with the reason.
  - Reads in check mode as well; changes nothing.
options:
  log_dir:
    description:
      - Folder of the logs. Where the document names a folder of its own that is not in it, the
        logs are sought in O(log_dir) itself.
    type: path
    required: true
  document:
    description: The claims, as in C(published/claims/); its README says what a document may hold.
    type: dict
    required: true
  name:
    description: What messages call the document.
    type: str
    default: document
author:
  - Scalebench contributors
seealso:
  - module: training_log_facts
"""

EXAMPLES = r"""
- name: Compute DLPerf's TensorFlow 2 table again
  published_claims_info:
    log_dir: logs
    document: "{{ lookup('ansible.builtin.file', claims) | from_yaml }}"
  vars:
    claims: published/claims/dlperf_tensorflow2.yml
  register: verified

- name: Compute one figure again
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
  description: The claims in their order.
  type: list
  elements: dict
  returned: success
  sample:
    - {id: 1n8g, claimed: 2458.74, recomputed: 2458.74, difference: 0.0, verdict: confirmed,
       as_expected: true, rule: "dlperf_tf2, median of 5 logs, numpy_2", reason: "", note: "",
       logs: [1n8g/rn50_b128_fp32_1.log]}
confirmed:
  description: Number of claims that come out as printed.
  type: int
  returned: success
  sample: 12
differs:
  description: Number of claims that come out otherwise.
  type: int
  returned: success
  sample: 0
impossible:
  description: Number of claims that could not be computed.
  type: int
  returned: success
  sample: 0
logs_found:
  description: Number of logs that the claims' patterns match.
  type: int
  returned: success
  sample: 30
as_expected:
  description: Whether every claim has the verdict that its document expects.
  type: bool
  returned: success
  sample: true
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.published.claim_verdicts import (
    judge_claims,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.claims import claims_of


def figure_of(log_dir: Path, path: Path, claim: dict[str, Any]) -> dict[str, Any]:
    """Read one log by the rule of a claim."""
    name = str(path.relative_to(log_dir))
    try:
        with path.open("rb") as file:
            pieces = iter(lambda: file.read(1 << 18), b"")
            reading = logs.read(pieces, reader=claim["reader"], name=name)
        facts = log_facts(reading, claim["strategy"], claim["parameters"], path=name)
    except (OSError, ValueError) as error:
        return {"path": name, "value": None, "reason": str(error), "strategy": ""}
    value = facts[claim["figure"]]
    reason = facts["reason"] or f"the log gives no {claim['figure']}"
    return {
        "path": name,
        "value": value,
        "reason": "" if value is not None else reason,
        "strategy": facts["strategy"]["name"],
    }


def logs_of(log_dir: Path, claim: dict[str, Any]) -> list[Path]:
    """Return the logs that a claim names, in order."""
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
        module.fail_json(msg=f"{log_dir} is no folder: set log_dir to the folder of the logs")
    try:
        claims = claims_of(module.params["document"], module.params["name"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    found = {
        claim["id"]: [figure_of(log_dir, path, claim) for path in logs_of(log_dir, claim)]
        for claim in claims
        if claim["logs"]
    }
    number = len({log["path"] for read in found.values() for log in read})
    title = module.params["document"].get("title") or module.params["name"]
    module.exit_json(changed=False, title=title, logs_found=number, **judge_claims(claims, found))


if __name__ == "__main__":
    main()
