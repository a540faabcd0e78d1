"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_results
short_description: Compute the results of a campaign from its files
description:
  - An action plugin on the controller. It reads C(plan.json), every C(*.run.json) and the logs of a
    campaign's folder, and writes C(results.json), C(results.csv), C(junit.xml) and
    C(scalebench.prom) there, where they differ.
  - A repeat that failed is a result with its reason. A file that cannot be read is named in the
    results and spoils nothing else.
options:
  directory:
    description: The campaign's folder.
    type: path
    required: true
  strategy:
    description:
      - Rule from the observations of a log to its throughput; C(auto) is the one that the benchmark
        of a cell names.
    type: str
    default: auto
  parameters:
    description: Parameters of the strategy; warm-up and iterations are the cell's if not given.
    type: dict
    default: {}
  published:
    description:
      - Folder of documents with published results to compare with, see P(published#lookup); empty
        for no comparison.
    type: str
    default: ""
extends_documentation_fragment:
  - scalebench.core.verdicts
attributes:
  check_mode:
    support: full
    description: Reads and computes; writes nothing. A folder that is not there yet is skipped.
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

- name: Hold the speed-up of two nodes against a threshold
  ansible.builtin.assert:
    that: first.facts.pytorch.fp32.bz4.r50["2n1g"].speedup > 1.5
"""

RETURN = r"""
facts:
  description:
    - The seeds' facts, nested by benchmark, precision and variant.
    - A value that there is not is null; the reason stands in C(results.json), in the cell.
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
  description: The speed-up table with its remarks, for a terminal of 100 columns.
  returned: success
  type: str
folder:
  description: Where the files are.
  returned: success
  type: str
  sample: results/first
paths:
  description: The files that were written, or would be.
  returned: success
  type: list
  elements: str
counts:
  description:
    - Number of cells, of repeats planned, ok, failed, unavailable, skipped and not_run, and of
      files unmatched.
  returned: success
  type: dict
  sample: {cells: 3, planned: 9, ok: 8, failed: 1, unavailable: 0, skipped: 0, not_run: 0}
failures:
  description:
    - The repeats that failed or were unavailable, and searches without an answer, each with C(log),
      C(ending) and C(reason). A repeat that was skipped is none.
  returned: success
  type: list
  elements: dict
  sample: []
gate:
  description:
    - Verdict on the gate with C(broken_rules), a line each, and C(failures), the failed repeats
      that no rule of it allows.
    - Without a gate no rule is broken, and all failed repeats are left.
  returned: success
  type: dict
  sample: {broken_rules: [], failures: []}
series:
  description: What the plots show, for M(scaling_plot).
  returned: success
  type: list
  elements: dict
parts:
  description: The parts of C(report.md), Markdown each.
  returned: success
  type: dict
"""
