"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report_page
short_description: Write report.html, the whole report as one page, and report.md
description:
  - An action plugin on the controller. It reads C(results.json), and where they are there
    C(plan.json), the run records, the plots of M(scaling_plot) and the last lines of the logs of
    repeats that gave no speed.
  - The page loads nothing from anywhere, and its policy forbids it to. Every value is escaped,
    control characters and long texts are cut, and known forms of secrets in log lines are replaced.
options:
  folder:
    description: The folder with C(results.json), where the page is written.
    type: path
    required: true
  templates:
    description: The folder of C(report.html.j2), C(page.html.j2), C(report.css) and C(report.js).
    type: path
    required: true
  markdown:
    description: The text of C(report.md), written beside the page.
    type: str
    required: true
  log_dir:
    description: The tree of logs, where the results are those of one; empty for a campaign.
    type: str
    default: ""
  plots:
    description: Whether the plots that lie in the folder belong on the page.
    type: bool
    default: true
attributes:
  check_mode:
    support: partial
    description: Writes nothing; shows no page where C(results.json) is not written yet.
  diff_mode:
    support: full
    description: Shows what changes in the page.
seealso:
  - module: campaign_results
  - module: log_tree_results
  - module: scaling_plot
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Write the page of a campaign
  report_page:
    folder: results/first
    templates: roles/report/templates
    markdown: "{{ lookup('ansible.builtin.template', 'report.md.j2') }}"
"""

RETURN = r"""
report:
  description: Path of the page.
  returned: always
  type: str
  sample: results/first/report.html
paths:
  description: What was written, or would be.
  returned: always
  type: list
  elements: str
  sample: [results/first/report.html]
"""
