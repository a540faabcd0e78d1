"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnosis_report
short_description: Name what is slow by the logs of benchmark diagnose
description:
  - An action plugin that runs on the controller. It reads the logs of the complete repeats of a
    campaign of benchmark C(diagnose) and tells slow devices, nodes, links and groups apart.
  - Writes C(diagnosis.json), C(diagnosis.html), C(diagnosis.md) and C(diagnosis.prom) into the
    campaign's folder, if they differ. C(docs/diagnose.md) describes the method.
options:
  campaign_dir:
    description: Folder of the campaign; empty for what a diagnosis of O(nodes) would measure.
    type: path
    default: ""
  groups:
    description: Names of nodes by the name of a group that may be slow, such as those of a switch.
    type: dict
    default: {}
  nodes:
    description: Number of nodes, where there is no campaign yet.
    type: int
    default: 0
  templates:
    description: Folders of the templates C(diagnosis.html.j2) and C(page.html.j2).
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    support: full
    description: Reads and computes; writes nothing.
  diff_mode:
    support: full
    description: Shows what changes in the files.
seealso:
  - module: scaling_report
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Name what is slow
  diagnosis_report:
    campaign_dir: results/20261123-051000
    groups:
      rack1: [node1, node2]
    templates: [roles/diagnosis/templates, roles/report/templates]
  register: diagnosis
"""

RETURN = r"""
text:
  description: The result for a terminal of 100 columns, or what would be measured.
  returned: success
  type: str
headline:
  description: The result in a sentence or two; empty where nothing was measured.
  returned: success
  type: str
  sample: "Suspects: node1 - node4 (slow link)."
without:
  description:
    - What leaves out the suspects as C(-e exclude=). Empty where nothing was measured, or nobody
      would be left.
  returned: success
  type: str
  sample: results/20261123-051000/diagnosis.json
verdict:
  description:
    - V(slow) with a suspect; without one V(undecided) where a deficit of more than 30 percent would
      not have been seen, else V(sound). Empty where nothing was measured.
  returned: success
  type: str
  sample: slow
suspects:
  description:
    - What is slow. C(kind) is V(node), V(device), V(network), V(link), V(uplink), V(group) or
      V(fabric), C(subject) its name. Of each test in C(deficits) C(deficit) is by how many percent
      it is slower, C(low) and C(high) the interval of 95 %, C(p) corrected for all comparisons.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: link
      subject: node1 - node4
      what: slow link
      action: check the route
      deficits: [{test: pair_transfer, deficit: 20.3, low: 18.1, high: 22.4, p: 1.2e-09}]
paths:
  description: Files that were written, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [results/20261123-051000/diagnosis.json]
"""
