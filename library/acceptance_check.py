"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: acceptance_check
short_description: Check what was promised before it is measured
description:
  - An action plugin that runs on the controller. It reads a file that states what was promised, and
    returns the options of the campaign that it takes. It changes nothing.
options:
  acceptance:
    description: The file, or the name of a file in O(acceptances_dir).
    type: str
    required: true
  acceptances_dir:
    description: Folder of such files.
    type: path
    default: acceptance
  benchmarks_dir:
    description: Folder of the benchmark files, whose own factors are options of a campaign too.
    type: path
    default: benchmarks
  campaign_dir:
    description: Folder of the campaign; if it exists, it must have been begun with the same lines.
    type: path
    default: ""
  sign_key:
    description: ssh key that will sign the archive; it must be able to sign. Empty for none.
    type: path
    default: ""
  variables:
    description: The extra variables, among which no option of the campaign but C(duration) may be.
    type: dict
    default: {}
  plan:
    description: What module campaign_plan returned; empty before there is a plan.
    type: dict
    default: {}
  nodes:
    description: Fingerprints of the nodes by name, for RV(undecidable).
    type: dict
    default: {}
  preflight:
    description: Whether the nodes are examined.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Reads only.
seealso:
  - module: campaign_plan
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Check an acceptance
  acceptance_check:
    acceptance: local
  register: promised
"""

RETURN = r"""
options:
  description: Options of the campaign.
  returned: success
  type: dict
  sample: {topology: [1n1g], repeats: 5}
promises:
  description: Name and content of the file, as they are kept with the campaign.
  returned: success
  type: dict
  sample: {file: local, content: {}}
text:
  description: What was promised, a line each.
  returned: success
  type: str
  sample: "Acceptance: local"
undecidable:
  description: The lines that the plan cannot decide, each with the reason; empty without a plan.
  returned: success
  type: list
  elements: str
  sample: ["min_throughput: 1 of topology 4n8g: no cell of the campaign is selected"]
"""
