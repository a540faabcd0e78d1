"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: comparison_check
short_description: Check a baseline and a gate before a campaign runs
description:
  - An action plugin on the controller. It reads both as M(campaign_results) will after the campaign
    and fails where one cannot be used; it compares nothing and writes nothing.
options:
  campaign_dir:
    description: Folder of the campaign that is to be compared; empty for a new one.
    type: str
    default: ''
  cells:
    description: Cells that are planned, of which one must be in the baseline; none for no check.
    type: list
    elements: dict
    default: []
  strategy:
    description: Rule from the observations of a log to its throughput, for a baseline of logs.
    type: str
    default: auto
  parameters:
    description: Parameters of that rule.
    type: dict
    default: {}
extends_documentation_fragment:
  - scalebench.core.verdicts
attributes:
  check_mode:
    support: full
    description: Does the same.
seealso:
  - module: campaign_results
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Refuse a gate that cannot be used
  comparison_check:
    gate: gates/default.yml
"""

RETURN = r"""
text:
  description: Baseline and gate in words.
  returned: success
  type: str
  sample: "Baseline: first, 3 cell(s)"
"""
