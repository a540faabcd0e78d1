"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: comparison_check
short_description: Check a baseline and a gate before a campaign runs
description:
  - An action plugin that runs on the controller. It reads baseline and gate as M(scaling_report)
    does after the campaign, and fails if one cannot be used. It compares nothing and writes
    nothing. Of planned cells it says which deficit can be found against the baseline.
options:
  campaign_dir:
    description: Folder of the campaign to compare; empty for a new one.
    type: path
    default: ''
  cells:
    description: Planned cells, of which at least one must be in the baseline; empty for no check.
    type: list
    elements: dict
    default: []
  nodes:
    description: Fingerprints of the nodes by name, by whose hardware V(last:4) chooses.
    type: dict
    default: {}
  predict:
    description: Topologies with commas to predict, which are refused if one is no topology.
    type: str
    default: ""
extends_documentation_fragment:
  - scalebench.core.verdicts
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
seealso:
  - module: scaling_report
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
  description: Description of baseline and gate.
  returned: success
  type: str
  sample: "Baseline: first, 3 cell(s)"
"""
