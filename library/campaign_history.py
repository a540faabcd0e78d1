"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_history
short_description: Compute the trends of all campaigns, with change points and outliers
description:
  - An action plugin that runs on the controller. It reads the C(results.json) of every campaign in
    a folder, written by this version of Scalebench or an earlier one.
  - Writes C(history.html), C(history.md), C(history.csv), C(history.json) and a plot for each trend
    of two or more campaigns, if they differ. C(docs/results-files.md) describes the files.
  - Removes plots of earlier runs that are no longer written; it knows them by their names,
    C(trend-<cell>-<eight hexadecimal digits>.svg).
  - A folder whose results cannot be read, or were written by a newer version, is reported with the
    reason; the other campaigns are not affected.
options:
  results_dir:
    description: Folder of the campaigns.
    type: path
    required: true
  output_dir:
    description: Folder for the output files.
    type: path
    required: true
  templates:
    description: Folders of the templates C(history.html.j2) and C(page.html.j2).
    type: list
    elements: path
    required: true
  select:
    description:
      - By V(benchmark), V(model), V(precision), V(variant) or V(topology), a list of the values to
        show. An empty list selects all values.
    type: dict
    default: {}
  plots:
    description: Whether to draw plots, which needs matplotlib on the controller.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Reads, computes and draws; writes nothing.
  diff_mode:
    support: full
    description: Shows what changes in the files.
seealso:
  - module: scaling_report
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Show the trend of the speed on four nodes
  campaign_history:
    results_dir: results
    output_dir: results/history
    templates: [roles/history/templates, roles/report/templates]
    select:
      topology: [4n8g]
  register: history

- name: Fail if the latest campaign changed a level
  ansible.builtin.assert:
    that: history.changes | selectattr('campaign', 'equalto', latest) | length == 0
"""

RETURN = r"""
table:
  description: Table with one row per trend, for a terminal of 100 columns.
  returned: success
  type: str
campaigns:
  description: Number of campaigns that were read.
  returned: success
  type: int
  sample: 12
changes:
  description:
    - The change points. C(cell) names the trend, C(campaign) and C(created) the first campaign
      after the change. C(before) and C(after) are the levels in the trend's unit. C(changed) lists
      the differences between its provenance and that of the campaign before.
  returned: success
  type: list
  elements: dict
  sample:
    - cell: pytorch fp32 bz128 4n8g
      index: 10
      campaign: 20261121-043453
      created: "2026-11-21T04:34:55Z"
      before: 9348.2
      after: 8861.0
      changed:
        - {what: gpus driver version, nodes: [node1], baseline: "535.54", now: "550.90"}
      not_recorded: []
left_out:
  description: C(folder) and C(reason) of each campaign that could not be used.
  returned: success
  type: list
  elements: dict
  sample: []
paths:
  description: Files that were written, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [results/history/history.html]
removed:
  description: Plots that were removed, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: []
"""
