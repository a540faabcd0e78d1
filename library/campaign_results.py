"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_results
short_description: Compute the results of a campaign from its files
description:
  - An action plugin that runs on the controller. It reads C(plan.json), every C(*.run.json) and the
    logs of a campaign's folder, and writes C(results.json), C(results.csv), C(junit.xml) and
    C(scalebench.prom) there, if they differ.
  - A failed repeat is a result with a reason. A file that cannot be read is listed in the results;
    the other files are not affected.
options:
  directory:
    description: The campaign's folder.
    type: path
    required: true
  published:
    description:
      - Folder of documents with published results to compare with, see P(published#lookup); empty
        for no comparison.
    type: path
    default: ""
extends_documentation_fragment:
  - scalebench.core.verdicts
attributes:
  check_mode:
    support: full
    description:
      - Reads and computes; writes nothing. The task is skipped if the folder does not exist yet.
  diff_mode:
    support: full
    description: Shows what changes in the files.
seealso:
  - module: log_tree_results
  - module: training_log_facts
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Compute the results of a campaign
  campaign_results:
    directory: results/first
  register: first

- name: Check the speed-up of two nodes against a threshold
  ansible.builtin.assert:
    that: first.facts.pytorch.fp32.bz4.r50["2n1g"].speedup > 1.5
"""

RETURN = r"""
facts:
  description:
    - Average speed, median speed and speed-up by benchmark, precision, variant, model and topology,
      with the keys of the reference efforts.
    - A missing value is null; the cell in C(results.json) has the reason.
  returned: success
  type: dict
  sample:
    pytorch:
      fp32:
        bz4:
          r50:
            1n1g: {average_speed: 24.1, batch_size_per_device: 4, median_speed: 24.2, speedup: 1.0}
            2n1g: {average_speed: 44.0, batch_size_per_device: 4, median_speed: 44.1, speedup: 1.82}
table:
  description: Speed-up table with remarks, for a terminal of 100 columns.
  returned: success
  type: str
folder:
  description: Folder of the files.
  returned: success
  type: str
  sample: results/first
paths:
  description: Files that were written, or would be in check mode.
  returned: success
  type: list
  elements: str
counts:
  description:
    - Number of cells, of repeats that are planned, ok, failed, unavailable, skipped or not_run, and
      of files that belong to no cell (unmatched).
  returned: success
  type: dict
  sample: {cells: 3, planned: 9, ok: 8, failed: 1, unavailable: 0, skipped: 0, not_run: 0}
failures:
  description:
    - The repeats that failed or were unavailable, and searches without a result, each with C(log),
      C(ending) and C(reason). Skipped repeats are not listed.
  returned: success
  type: list
  elements: dict
  sample: []
gate:
  description:
    - C(broken_rules), a message for each broken rule of the gate, and C(failures), the failed
      repeats that no rule allows.
    - Without a gate no rule is broken, and C(failures) has all failed repeats.
  returned: success
  type: dict
  sample: {broken_rules: [], failures: []}
series:
  description: Input of M(scaling_plot).
  returned: success
  type: list
  elements: dict
parts:
  description: The sections of C(report.md) as Markdown, by name.
  returned: success
  type: dict
"""
