"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report_page
short_description: Write report.html, the report as one page, and report.md
description:
  - An action plugin that runs on the controller. It reads C(results.json) and, if they exist,
    C(plan.json), the run records, the plots of M(scaling_plot) and the last lines of the logs of
    repeats without a throughput.
  - The page loads no other resources, and its content security policy forbids it. All values are
    escaped, control characters are removed, long texts are cut, and known forms of secrets in log
    lines are replaced.
options:
  folder:
    description: Folder with C(results.json), where the files are written.
    type: path
    required: true
  templates:
    description: Folder of C(report.html.j2), C(page.html.j2), C(report.css) and C(report.js).
    type: path
    required: true
  markdown:
    description: The text of C(report.md).
    type: str
    required: true
  log_dir:
    description: Root folder of the logs, for results of M(log_tree_results); empty for a campaign.
    type: path
    default: ""
  plots:
    description: Whether to include the plots in O(folder) in the page.
    type: bool
    default: true
attributes:
  check_mode:
    support: partial
    description: Writes nothing; does not compute the page if C(results.json) does not exist yet.
  diff_mode:
    support: full
    description: Shows what changes in the files.
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
  description: Files that were written, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: [results/first/report.html]
"""
