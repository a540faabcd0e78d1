"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_tree_results
short_description: Compute results from any tree of training logs
description:
  - An action plugin that runs on the controller. It derives benchmark, precision, batch size,
    variant, topology and repeat from the paths, detects the format of every log, and writes
    C(results.json), C(results.csv), C(junit.xml), C(scalebench.prom) and
    C(<last component of log_dir>_result.json), if they differ.
  - The folders are named C([<benchmark>/][bz<batch>[-<variant>]/]<N>n<G>g/), at any depth, and the
    logs C(<model>_b<batch>_<precision>_<i>.log). Alternatively the file name alone has all of it,
    as in C(<model>_bs<batch>_<precision>_<mode>_N<nodes>C<cards>_log), where C(cards) counts the
    devices of all nodes, and C(<name>_gpu<cards>_<precision>_bs<batch>.txt).
  - A file whose path has another form, and a log that cannot be read or contradicts its path, is
    listed with the reason; the other files are not affected.
options:
  log_dir:
    description: Root folder of the logs.
    type: path
    required: true
  output_dir:
    description: Folder for the output files.
    type: path
    required: true
  conditions:
    description:
      - Conditions that the logs do not state, such as C(gpu) (V100-SXM2-16GB), C(data) (real or
        synthetic), C(data_backend) (native or dali), C(image_size), C(xla), C(model) and
        C(framework). They are stored in the results and shown in the report.
      - Conditions derived from path and format of a log take precedence, except for the model.
    type: dict
    default: {}
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
  description: Text in the form that the scripts of the reference efforts print.
  returned: success
  type: str
facts:
  description: See RV(campaign_results#module:facts).
  returned: success
  type: dict
table:
  description: Speed-up table with remarks, for a terminal of 100 columns.
  returned: success
  type: str
folder:
  description: Folder of the files.
  returned: success
  type: str
  sample: result
paths:
  description: Files that were written, or would be in check mode.
  returned: success
  type: list
  elements: str
counts:
  description: See RV(campaign_results#module:counts).
  returned: success
  type: dict
failures:
  description: See RV(campaign_results#module:failures).
  returned: success
  type: list
  elements: dict
gate:
  description: See RV(campaign_results#module:gate).
  returned: success
  type: dict
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
