"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_tree_results
short_description: Compute results from any tree of training logs
description:
  - An action plugin on the controller. It takes benchmark, precision, batch size, variant, topology
    and repeat from the paths, reads every log in the format it has, and writes C(results.json),
    C(results.csv), C(junit.xml), C(scalebench.prom) and
    C(<last component of log_dir>_result.json), where they differ.
  - The folders are C([<benchmark>/][bz<batch>[-<variant>]/]<N>n<G>g/), at any depth, and the names
    C(<model>_b<batch>_<precision>_<i>.log); or the names alone say it, as in
    C(<model>_bs<batch>_<precision>_<mode>_N<nodes>C<cards>_log), with the cards of all nodes, and
    C(<name>_gpu<cards>_<precision>_bs<batch>.txt).
  - A file whose path says none of that, and a log that cannot be read or that contradicts its path,
    is named with the reason and spoils nothing else.
options:
  log_dir:
    description: The tree.
    type: path
    required: true
  output_dir:
    description: Where to write.
    type: path
    required: true
  strategy:
    description:
      - Rule from the observations of a log to its throughput.
      - V(auto) is the usual one of the format.
    type: str
    default: auto
  parameters:
    description: Parameters of the strategy.
    type: dict
    default: {}
  conditions:
    description:
      - What the logs do not tell and you know, such as C(gpu) (V100-SXM2-16GB), C(data) (real or
        synthetic), C(data_backend) (native or dali), C(image_size), C(xla), C(model) and
        C(framework). It is stored and told in the report.
      - What path and format of a log tell goes before, except for the model.
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
    description: Reads and computes; writes nothing.
  diff_mode:
    support: full
    description: Shows what changes in the files.
seealso:
  - module: campaign_results
  - module: training_log_facts
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Compute the results of an old tree by the time stamps of its logs
  log_tree_results:
    log_dir: logs/ngc/tensorflow/resnet50
    output_dir: result
    strategy: wall_clock
  register: old
"""

RETURN = r"""
output:
  description: What the originals' scripts printed.
  returned: success
  type: str
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
  sample: result
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
